//! What the system is like.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{RouteError, TABLES};

/// A system, to ask.
pub(super) trait System {
    /// Value of a setting, as sysctl names it; none if there is no such.
    fn read(&self, setting: &str) -> Option<String>;

    /// Names of the network interfaces.
    fn interfaces(&self) -> Vec<String>;

    /// What `nft` lists of all edges' tables.
    fn tables(&self) -> Result<String, RouteError>;
}

/// The system that this process runs on, in its network namespace.
pub(super) struct Real;

impl System for Real {
    fn read(&self, setting: &str) -> Option<String> {
        Some(std::fs::read_to_string(path(setting)).ok()?.trim().to_owned())
    }

    fn interfaces(&self) -> Vec<String> {
        let found = std::fs::read_dir("/proc/sys/net/ipv4/conf").into_iter().flatten();
        let names = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| !matches!(&**name, "all" | "default")).collect();
        names.sort();
        names
    }

    fn tables(&self) -> Result<String, RouteError> {
        let all = nft(&["list", "tables", "inet"])?;
        let names = all.lines().filter_map(|line| line.split_whitespace().nth(2));
        // One may vanish meanwhile.
        let tables = names.filter(|name| name.starts_with(TABLES));
        Ok(tables.filter_map(|name| nft(&["list", "table", "inet", name]).ok()).collect())
    }
}

/// What nft answers.
fn nft(words: &[&str]) -> Result<String, RouteError> {
    let output = Command::new("nft").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(RouteError::NoNft)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(RouteError::Refused(said.lines().next().unwrap_or_default().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `net.ipv4.ip_forward` is a file.
pub(super) fn path(setting: &str) -> PathBuf {
    let swapped = setting.chars().map(|letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    PathBuf::from("/proc/sys").join(swapped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_an_interfaces_name_are_none_of_a_path() {
        let expected = "/proc/sys/net/ipv4/conf/eth0.7/forwarding";
        assert_eq!(path("net.ipv4.conf.eth0/7.forwarding"), PathBuf::from(expected));
    }
}
