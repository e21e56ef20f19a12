//! The memory of a process, as the system counts it.

use anyhow::{Context, Result};
use nix::unistd::Pid;

/// Resident memory that a process has now (VmRSS), in bytes.
///
/// # Errors
/// The system does not tell.
pub fn resident(process: Pid) -> Result<u64> {
    field(process, "VmRSS:")
}

/// Most resident memory that a process had so far (VmHWM), in bytes.
pub(super) fn peak_resident(process: Pid) -> Result<u64> {
    field(process, "VmHWM:")
}

fn field(process: Pid, name: &'static str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: u64 = kilobytes.with_context(|| format!("no {name}"))?.trim().parse()?;
    Ok(kilobytes * 1024)
}
