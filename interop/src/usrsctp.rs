//! usrsctp, FreeBSD's SCTP in userspace, as client and as echo server.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::missing::{self, Missing};
use crate::namespace::Namespace;
use crate::plan::EchoPlan;
use crate::process::Process;
use crate::relay::loopback_socket;
use crate::report::{Report, Served};
use crate::{ECHO_PORT, build};

/// What a SCTP packet rides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encapsulation {
    /// IP protocol 132; needs root.
    Raw,
    /// UDP (RFC 6951).
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

/// The two programs, built.
#[derive(Clone, Debug)]
pub struct Usrsctp {
    client: PathBuf,
    server: PathBuf,
}

impl Usrsctp {
    /// Builds the programs, or says what is missing.
    ///
    /// # Errors
    /// Where the library or the compiler is not installed, or the programs do not build.
    pub fn find() -> Result<Usrsctp, Missing> {
        build::compiler()?;
        missing::program("setpriv", "util-linux")?;
        missing::file("/usr/include/usrsctp.h", "not there (Debian package libusrsctp-dev)")?;
        let compiled = |name: &str| {
            build::compile(&format!("{name}.c"), name, &["-lusrsctp"])
                .map_err(|error| Missing(format!("{error:#}")))
        };
        Ok(Usrsctp { client: compiled("usrsctp_client")?, server: compiled("usrsctp_server")? })
    }

    /// Runs `plan` against the echo server at `to` (SCTP port 7) and waits for the end.
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
        let line = line.with_context(|| format!("usrsctp client: {status}\n{}", client.text()))?;
        Report::parse(line)
    }

    /// Starts what [`Usrsctp::run_client`] runs, and leaves it alone: dropping the process ends it without
    /// a word to the server.
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
        let mut command = Command::new(&self.client);
        command.args(["--address", &to.to_string(), "--sizes", &plan.sizes_text()]);
        command.args(["--count", &plan.count.to_string()]);
        for (name, wanted) in
            [("--unordered", plan.unordered), ("--abort", plan.abort), ("--unbound", plan.unbound)]
        {
            command.args([name, if wanted { "1" } else { "0" }]);
        }
        command.args(["--local-port", &plan.local_port.unwrap_or(0).to_string()]);
        common(&mut command, encapsulation, plan);
        Process::start(namespace, command)
    }

    /// Starts an echo server at `address` (SCTP port 7) that ends after `associations` of them.
    /// Only the timers and the limit of `plan` matter.
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
    ) -> Result<UsrsctpServer> {
        let mut command = Command::new(&self.server);
        command.args(["--address", &address.to_string()]);
        command.args(["--associations", &associations.to_string()]);
        common(&mut command, encapsulation, plan);
        let process = Process::start(namespace, command)?;
        process.wait_for_line("MARK ready", Duration::from_secs(5))?;
        Ok(UsrsctpServer { process, limit: plan.limit })
    }
}

fn common(command: &mut Command, encapsulation: Encapsulation, plan: &EchoPlan) {
    let [local, remote] = encapsulation.ports();
    command.args(["--local-udp", &local]);
    if remote != "0" {
        command.args(["--remote-udp", &remote]);
    }
    command.args(["--port", &ECHO_PORT.to_string()]);
    let seconds = plan.limit.as_secs().max(1);
    command.args(["--seconds", &seconds.to_string()]);
    for (name, value) in [
        ("--rto-min", plan.rto_min),
        ("--rto-initial", plan.rto_initial()),
        ("--rto-max", plan.rto_max),
    ] {
        command.args([name, &value.as_millis().to_string()]);
    }
}

/// A running echo server; dropping it ends it.
#[derive(Debug)]
pub struct UsrsctpServer {
    process: Process,
    limit: Duration,
}

impl UsrsctpServer {
    /// Waits until it has served all its associations and ended; what it says of each.
    ///
    /// # Errors
    /// With the server's output, where it hangs or an association failed.
    pub fn finish(self) -> Result<Vec<Served>> {
        let status = self.process.wait(self.limit)?;
        ensure!(status.success(), "usrsctp server: {status}\n{}", self.process.text());
        self.process.lines_with("SERVED ").iter().map(|line| Served::parse(line)).collect()
    }
}

/// A UDP port that is free at this moment.
///
/// # Errors
/// Where the system has none.
pub fn free_udp_port() -> Result<u16> {
    Ok(loopback_socket()?.local_addr()?.port())
}
