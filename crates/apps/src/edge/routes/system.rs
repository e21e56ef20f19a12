//! Connections, addresses and settings of the system.

use std::io;

/// Questions to the operating system, which tests answer themselves.
pub(super) trait System {
    /// Names of the network interfaces.
    fn interfaces(&self) -> Vec<String>;

    /// The connections of TCP that the kernel has, in lines as in /proc/net/tcp.
    fn connections(&self) -> io::Result<String>;
}

/// The system that this process runs on, in the network namespace of the calling thread.
pub(super) struct Real;

impl System for Real {
    fn interfaces(&self) -> Vec<String> {
        let found = std::fs::read_dir("/proc/sys/net/ipv4/conf").into_iter().flatten();
        let names = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| !matches!(&**name, "all" | "default")).collect();
        names.sort();
        names
    }

    fn connections(&self) -> io::Result<String> {
        let mut text = std::fs::read_to_string("/proc/thread-self/net/tcp")?;
        // A system without IPv6 has none.
        text.push_str(&std::fs::read_to_string("/proc/thread-self/net/tcp6").unwrap_or_default());
        Ok(text)
    }
}
