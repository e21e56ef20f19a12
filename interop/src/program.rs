//! Peers that are programs of this machine: usrsctp, FreeBSD's SCTP in userspace, and pion, the one
//! of Go.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::missing::{self, Missing};
use crate::namespace::Namespace;
use crate::plan::EchoPlan;
use crate::process::Process;
use crate::report::{Report, Served};
use crate::{ECHO_PORT, build};

/// Protocol that carries SCTP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encapsulation {
    /// IP protocol 132; needs root.
    Raw,
    /// Datagrams of UDP (RFC 6951).
    Udp {
        /// The UDP port of this peer.
        local: u16,
        /// The UDP port to which a client sends; a server learns it from what arrives.
        remote: u16,
    },
}

impl Encapsulation {
    fn ports(self) -> [String; 2] {
        let (local, remote) = match self {
            Encapsulation::Raw => (0, 0),
            Encapsulation::Udp { local, remote } => (local, remote),
        };
        [local.to_string(), remote.to_string()]
    }
}

/// A peer's program, built: client or server (`peers/agent.c` and `peers/pion`).
#[derive(Clone, Debug)]
pub struct Program {
    name: &'static str,
    path: PathBuf,
}

impl Program {
    /// usrsctp.
    ///
    /// # Errors
    /// Where the library or the compiler is not installed, or the program does not build.
    pub fn usrsctp() -> Result<Program, Missing> {
        missing::program("setpriv", "util-linux")?;
        missing::file("/usr/include/usrsctp.h", "not there (Debian package libusrsctp-dev)")?;
        let sources = ["agent.c", "usrsctp_stack.c"];
        let path = build::compile(&sources, "usrsctp_peer", &["-lusrsctp"]);
        let path = path.map_err(|error| Missing(format!("{error:#}")))?;
        Ok(Program { name: "usrsctp", path })
    }

    /// pion; over UDP only. The first build fetches its modules.
    ///
    /// # Errors
    /// Where Go is not installed, or the program does not build.
    pub fn pion() -> Result<Program, Missing> {
        missing::program("setpriv", "util-linux")?;
        let path = build::go("pion", "pion_peer").map_err(|error| Missing(format!("{error:#}")))?;
        Ok(Program { name: "pion", path })
    }

    /// Runs `plan` against the server at `to` (SCTP port 7; pion knows 5000 alone) and waits for
    /// the end.
    ///
    /// # Errors
    /// With the client's output, where the association fails, hangs, or does not end.
    pub fn run_client(
        &self,
        namespace: Option<&Namespace>,
        to: Ipv4Addr,
        encapsulation: Encapsulation,
        plan: &EchoPlan,
    ) -> Result<Report> {
        let client = self.start_client(namespace, to, encapsulation, plan)?;
        let status = client.wait(plan.limit + Duration::from_secs(5))?;
        let lines = client.lines_with("RESULT ");
        let line = lines.first();
        let line =
            line.with_context(|| format!("{} client: {status}\n{}", self.name, client.text()))?;
        Report::parse(line)
    }

    /// Starts what [`Program::run_client`] runs, and leaves it alone: dropping the process ends it
    /// without a word to the server.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_client(
        &self,
        namespace: Option<&Namespace>,
        to: Ipv4Addr,
        encapsulation: Encapsulation,
        plan: &EchoPlan,
    ) -> Result<Process> {
        let mut command = self.command(encapsulation, &plan.words(true));
        command.args(["--to", &to.to_string()]);
        Process::start(namespace, command)
    }

    /// Starts a server at `address` (SCTP port 7, or 5000) that ends after `associations` of them.
    /// It has the addresses of `plan` instead, where that names any.
    ///
    /// # Errors
    /// With the server's output, where it does not come to listen.
    pub fn start_server(
        &self,
        namespace: Option<&Namespace>,
        address: Ipv4Addr,
        encapsulation: Encapsulation,
        plan: &EchoPlan,
        associations: usize,
    ) -> Result<Server> {
        let mut command = self.command(encapsulation, &plan.words(false));
        if plan.addresses.is_empty() {
            command.args(["--addresses", &address.to_string()]);
        }
        command.args(["--associations", &associations.to_string()]);
        let process = Process::start(namespace, command)?;
        process.wait_for_line("MARK ready", Duration::from_secs(5))?;
        Ok(Server { name: self.name, process, limit: plan.limit })
    }

    fn command(&self, encapsulation: Encapsulation, words: &[String]) -> Command {
        let mut command = Command::new(&self.path);
        let [local, remote] = encapsulation.ports();
        command.args(words).args(["--local-udp", &local, "--remote-udp", &remote]);
        command.args(["--port", &ECHO_PORT.to_string()]);
        command
    }
}

/// A running echo server; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    name: &'static str,
    process: Process,
    limit: Duration,
}

impl Server {
    /// Output of the server's program so far, all lines.
    pub fn text(&self) -> String {
        self.process.text()
    }

    /// Finishes as [`Server::finish`] does, whatever the end of the association was.
    ///
    /// # Errors
    /// With the server's output, where it hangs or saw no association.
    pub fn finish_anyhow(self) -> Result<Served> {
        self.process.wait(self.limit)?;
        let line = self.process.lines_with("SERVED ").into_iter().next();
        let said = || format!("{} server said:\n{}", self.name, self.process.text());
        Served::parse(&line.with_context(said)?)
    }

    /// Waits until it has served all its associations and ended; what it says of each.
    ///
    /// # Errors
    /// With the server's output, where it hangs or an association failed.
    pub fn finish(self) -> Result<Vec<Served>> {
        let status = self.process.wait(self.limit)?;
        ensure!(status.success(), "{} server: {status}\n{}", self.name, self.process.text());
        self.process.lines_with("SERVED ").iter().map(|line| Served::parse(line)).collect()
    }
}

/// A UDP port for a program that binds it itself: free at this moment, given out once by this
/// process, and below those that the system gives to a program that asks for any.
///
/// # Errors
/// Where there is none.
pub fn free_udp_port() -> Result<u16> {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Tests of several processes begin far from each other.
    let begin = std::process::id().wrapping_mul(7_919);
    for _ in 0..COUNT {
        let number = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + number)?;
        if UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free UDP port from {FIRST} on")
}
