//! A network namespace of the test's own: its interfaces and ports collide with no others.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, setns, unshare};

use crate::missing::{self, Missing};

/// A network namespace without a name: an open file holds it, so the system removes it together
/// with its interfaces as soon as the last holder and the last process inside are gone. Clones hold
/// the same one.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// Whether this process may make namespaces.
    pub fn find() -> Result<(), Missing> {
        missing::root("make a network namespace")?;
        missing::program("ip", "iproute2").map(drop)
    }

    /// A new namespace with only the loopback interface, up.
    ///
    /// # Errors
    /// Where the right is missing (see [`Namespace::find`]).
    pub fn new() -> Result<Namespace> {
        let made = on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        let namespace = Namespace(Arc::new(made.context("cannot make a network namespace")?));
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Does `work` on a thread inside the namespace: sockets that it opens stay there wherever they
    /// are used.
    ///
    /// # Errors
    /// Where the namespace cannot be entered.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        on_thread(|| {
            self.join()?;
            Ok(work())
        })
        .context("cannot enter the network namespace")
    }

    /// Runs `ip` with these words inside.
    ///
    /// # Errors
    /// With what `ip` said when it failed.
    pub fn ip(&self, words: &str) -> Result<()> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let ip = missing::program("ip", "iproute2")?;
        let output = self.enter(|| Command::new(&ip).args(&words).output())?;
        let output = output.with_context(|| format!("cannot run {}", ip.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "ip {}: {said}", words.join(" "));
        Ok(())
    }

    /// Lets it forward IPv4 packets from one interface to another, as a router does.
    ///
    /// # Errors
    /// Where the setting cannot be written.
    pub fn forward(&self) -> Result<()> {
        let write = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        self.enter(write)?.context("cannot switch forwarding on")
    }

    /// Path at which `ip` finds it: an interface can be moved there as long as this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Moves the calling thread, and what it will spawn, into the namespace.
    pub(crate) fn join(&self) -> io::Result<()> {
        setns(&*self.0, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
    }
}

/// A thread of its own, because a thread that changed its namespace must not be used for anything
/// else.
fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::available;

    #[test]
    fn the_same_port_is_free_in_another_namespace() {
        let Some(()) = available(Namespace::find()) else { return };
        let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = outside.local_addr().unwrap();
        assert!(UdpSocket::bind(port).is_err());
        let namespace = Namespace::new().unwrap();
        let inside = namespace.enter(|| UdpSocket::bind(port)).unwrap();
        assert!(inside.is_ok(), "{inside:?}");
    }
}
