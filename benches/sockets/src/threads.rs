//! Processor time of the threads of this process.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Result;

/// Nanoseconds that a thread has used, by its folder below /proc; none once it has ended.
pub fn spent(thread: &Path) -> Result<Option<u64>> {
    let Ok(text) = std::fs::read_to_string(thread.join("schedstat")) else { return Ok(None) };
    Ok(Some(text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?))
}

/// Processor time of each thread at the last mark, in nanoseconds, by its number.
#[derive(Default)]
pub struct Threads(BTreeMap<u64, u64>);

impl Threads {
    /// Nanoseconds that the thread has used that used the most since the last mark.
    pub fn busiest(&mut self) -> Result<u64> {
        let mut most = 0;
        for entry in std::fs::read_dir("/proc/self/task")? {
            let entry = entry?;
            let number = entry.file_name().to_string_lossy().parse()?;
            // A thread that has just ended has no file any more.
            let Some(used) = spent(&entry.path())? else { continue };
            let before = self.0.insert(number, used).unwrap_or(0);
            most = most.max(used.saturating_sub(before));
        }
        Ok(most)
    }
}
