//! The Linux kernel's own SCTP (lksctp), unmodified, as a guest in User-Mode Linux.

pub(crate) mod thin_flows;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::missing::{self, Missing};
use crate::namespace::Namespace;
use crate::plan::EchoPlan;
use crate::process::Process;
use crate::relay::{Impairment, Relay, loopback_socket};
use crate::report::{Report, Served};
use crate::{ECHO_PORT, SCTP_UDP_PORT, build};

/// Address of the guest on its first wire.
pub const GUEST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Address of this side of the guest's first wire, in the guest's [`Namespace`].
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The guest's addresses on two more wires, for associations with two paths.
pub const GUEST_PATHS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 87, 1, 2), Ipv4Addr::new(10, 87, 2, 2)];
/// The addresses of this side of those wires.
pub const HOST_PATHS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 87, 1, 1), Ipv4Addr::new(10, 87, 2, 1)];
/// TCP port of the guest's shell.
const SHELL_PORT: u16 = 2323;

/// A running guest: SCTP echo on port 7, raw and in UDP 9899; dropping it shuts it down.
#[derive(Debug)]
pub struct Uml {
    // Ends before its folder and namespace are given up.
    process: Process,
    namespace: Namespace,
    _folder: tempfile::TempDir,
}

impl Uml {
    /// Whether a guest can run here.
    ///
    /// # Errors
    /// With what is missing.
    pub fn find() -> Result<(), Missing> {
        Namespace::find()?;
        build::compiler()?;
        for (name, package) in [
            ("linux.uml", "user-mode-linux"),
            ("socat", "socat"),
            ("insmod", "kmod"),
            ("sysctl", "procps"),
            ("ethtool", "ethtool"),
            ("setpriv", "util-linux"),
            ("unshare", "util-linux"),
        ] {
            missing::program(name, package)?;
        }
        missing::file("/dev/net/tun", "no TAP device on this machine")
    }

    /// Boots a guest in a namespace of its own and waits until its servers listen (about two
    /// seconds).
    ///
    /// # Errors
    /// With the guest's console, where it does not come up.
    pub fn boot() -> Result<Uml> {
        Uml::boot_as(Command::new("linux.uml"))
    }

    /// Boots a guest that waits for no other program of the machine: for measuring in it.
    ///
    /// # Errors
    /// As [`Uml::boot`], and where real-time priority is not available.
    pub fn boot_real_time() -> Result<Uml> {
        let mut command = Command::new("chrt");
        command.args(["--rr", "10", "linux.uml"]);
        Uml::boot_as(command)
    }

    fn boot_as(mut command: Command) -> Result<Uml> {
        let namespace = Namespace::new()?;
        // The TAP must be up before the guest is: one that is down while the guest sends wedges it.
        for (tap, host) in [HOST, HOST_PATHS[0], HOST_PATHS[1]].iter().enumerate() {
            namespace.ip(&format!("tuntap add tap{tap} mode tap"))?;
            namespace.ip(&format!("addr add {host}/24 dev tap{tap}"))?;
            namespace.ip(&format!("link set tap{tap} up"))?;
        }
        let folder = tempfile::tempdir()?;
        let init = build::sources().join("uml_init.sh");
        command.args(["mem=256M", "umid=guest"]);
        command.arg(format!("uml_dir={}", folder.path().display()));
        command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]);
        // What the guest's kernel does not know it puts into the environment of its init.
        command
            .arg(format!("init={}", init.display()))
            .arg(format!("peer={}", kernel_peer()?.display()));
        for tap in 0..3 {
            command.arg(format!("vec{tap}:transport=tap,ifname=tap{tap},depth=128,gro=1"));
        }
        command.args(["con=null", "con0=null,fd:1", "quiet"]);
        command.env("TMPDIR", "/dev/shm");
        if let Some(shim) = xstate_shim()? {
            command.env("LD_PRELOAD", shim);
        }
        let process = Process::start_tree(Some(&namespace), command)?;
        process.wait_for_line("MARK ready", Duration::from_secs(30))?;
        Ok(Uml { process, namespace, _folder: folder })
    }

    /// The namespace at the other end of the guest's wire; [`HOST`] is its address.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Output of the guest on its console.
    pub fn console(&self) -> String {
        self.process.text()
    }

    /// Runs a shell command in the guest; what it wrote.
    ///
    /// # Errors
    /// With what it wrote, where it failed or took longer than `limit`.
    pub fn shell(&self, command: &str, limit: Duration) -> Result<String> {
        let (status, text) = self.shell_status(command, limit)?;
        ensure!(status == 0, "in the guest: {command}: exit code {status}\n{text}");
        Ok(text)
    }

    fn shell_status(&self, command: &str, limit: Duration) -> Result<(i32, String)> {
        let mut stream = self.open_shell(limit)?;
        write!(stream, "{command}\necho \"STATUS $?\"\nexit\n")?;
        let mut bytes = vec![];
        let end = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.lines().find_map(|line| line.strip_prefix("STATUS "));
        match status.and_then(|status| status.parse().ok()) {
            Some(status) => Ok((status, text)),
            None => bail!("in the guest: {command}: no end ({end:?})\n{text}"),
        }
    }

    fn open_shell(&self, limit: Duration) -> Result<TcpStream> {
        let address = SocketAddr::from((GUEST, SHELL_PORT));
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(5));
        let stream = self.namespace.enter(connect)?.context("the guest's shell is gone")?;
        stream.set_read_timeout(Some(limit))?;
        Ok(stream)
    }

    /// Gives the guest's echo server the timers of `plan`, for all associations that begin
    /// afterwards.
    ///
    /// # Errors
    /// Where the guest refuses them.
    pub fn set_timers(&self, plan: &EchoPlan) -> Result<()> {
        let millis = |time: Duration| time.as_millis();
        let script = format!(
            "/bin/sh /run/echo.sh --addresses {GUEST} --rto-min {} --rto-initial {} --rto-max {}",
            millis(plan.rto_min),
            millis(plan.rto_initial()),
            millis(plan.rto_max),
        );
        self.shell(&script, Duration::from_secs(10)).map(drop)
    }

    /// Delays and loses what the guest sends, raw IP and UDP alike; its timers tick at 10 ms.
    ///
    /// # Errors
    /// Where the guest's netem refuses it.
    pub fn impair_sending(&self, delay: Duration, loss_percent: u32) -> Result<()> {
        let delay = delay.as_millis();
        let script =
            format!("tc qdisc replace dev vec0 root netem delay {delay}ms loss {loss_percent}%");
        self.shell(&script, Duration::from_secs(10)).map(drop)
    }

    /// Loses one of `one_in` packets that the guest receives, by chance (the guest's own draw).
    ///
    /// # Errors
    /// Where the guest refuses it.
    pub fn impair_receiving(&self, one_in: u32) -> Result<()> {
        let script = format!(
            "tc qdisc replace dev vec0 handle ffff: ingress && tc filter replace dev vec0 parent ffff: \
             protocol ip prio 1 handle 1 matchall action pass random netrand drop {one_in}"
        );
        self.shell(&script, Duration::from_secs(10)).map(drop)
    }

    /// Takes back both impairments, and tells what they lost; what was never set is no error.
    ///
    /// # Errors
    /// Where the guest's shell is gone.
    pub fn mend(&self) -> Result<Lost> {
        let script = "tc -s qdisc show dev vec0\ntc qdisc del dev vec0 root; tc qdisc del dev vec0 ingress; true";
        let said = self.shell(script, Duration::from_secs(10))?;
        Ok(Lost { sending: dropped(&said, "netem"), receiving: dropped(&said, "ingress") })
    }

    /// A relay from a loopback port outside the namespace to the guest's echo server in UDP.
    ///
    /// # Errors
    /// Where the sockets cannot be bound.
    pub fn relay_to_server(&self, impairment: &Impairment) -> Result<Relay> {
        let far = self.bind(0)?;
        Relay::start(loopback_socket()?, far, (GUEST, SCTP_UDP_PORT).into(), impairment)
    }

    /// A relay from a port at the guest's wire to `server` outside the namespace.
    ///
    /// # Errors
    /// Where the sockets cannot be bound.
    pub fn relay_from_client(&self, server: SocketAddr, impairment: &Impairment) -> Result<Relay> {
        Relay::start(self.bind(0)?, loopback_socket()?, server, impairment)
    }

    /// One more address at this side of the wire: raw packets carry no UDP port that could tell
    /// runs apart that take place at the same time.
    ///
    /// # Errors
    /// Where the system refuses it.
    pub fn add_address(&self, address: Ipv4Addr) -> Result<()> {
        self.namespace.ip(&format!("addr add {address}/24 dev tap0"))
    }

    fn bind(&self, port: u16) -> Result<UdpSocket> {
        let socket = self.namespace.enter(|| UdpSocket::bind((HOST, port)))?;
        socket.with_context(|| format!("cannot bind {HOST}:{port} in the namespace"))
    }

    /// Starts a server of its own at SCTP port `port` of the guest, raw and in UDP 9899, for one
    /// association of `plan`.
    ///
    /// # Errors
    /// With the server's output, where it does not come to listen.
    pub fn start_server(&self, port: u16, plan: &EchoPlan) -> Result<GuestServer> {
        let words = shell_words(&plan.words(false));
        let program = kernel_peer()?;
        let addresses =
            if plan.addresses.is_empty() { format!("--addresses {GUEST}") } else { String::new() };
        let mut stream = self.open_shell(plan.limit + Duration::from_secs(5))?;
        // The relay of the shell forgets what was written last where the shell ends with an error.
        writeln!(stream, "{} {words} {addresses} --port {port}; exit 0", program.display())?;
        let (mut said, mut byte) = (vec![], [0]);
        while !said.ends_with(b"MARK ready\n") {
            let read = stream.read(&mut byte);
            ensure!(
                matches!(read, Ok(1)),
                "kernel server: {read:?}\n{}",
                String::from_utf8_lossy(&said)
            );
            said.push(byte[0]);
        }
        Ok(GuestServer { stream, said })
    }

    /// Runs `plan` with the kernel as client against the echo server (SCTP port 7) at [`HOST`]: in
    /// UDP to `udp_port` there (of a relay, say), or raw where there is none.
    ///
    /// # Errors
    /// With the client's output, where the association fails or hangs.
    pub fn run_client(&self, udp_port: Option<u16>, plan: &EchoPlan) -> Result<Report> {
        self.run_client_to(HOST, ECHO_PORT, udp_port, plan)
    }

    /// Runs the client against an address of its own at this side of the wire (see
    /// [`Uml::add_address`]).
    ///
    /// # Errors
    /// With the client's output, where the association fails or hangs.
    pub fn run_client_to(
        &self,
        to: Ipv4Addr,
        port: u16,
        udp_port: Option<u16>,
        plan: &EchoPlan,
    ) -> Result<Report> {
        let program = kernel_peer()?;
        let script = format!(
            "{program} {plan} --to {to} --port {port} --remote-udp {udp}",
            program = program.display(),
            plan = shell_words(&plan.words(true)),
            udp = udp_port.unwrap_or(0),
        );
        let (status, text) = self.shell_status(&script, plan.limit + Duration::from_secs(5))?;
        let line = text.lines().find(|line| line.starts_with("RESULT "));
        Report::parse(line.with_context(|| format!("kernel client: exit code {status}\n{text}"))?)
    }
}

/// Packets that a guest's impairments lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Packets lost of those that it sent.
    pub sending: u64,
    /// Packets lost of those that it received.
    pub receiving: u64,
}

/// Number of packets that the queueing discipline of this kind dropped, by `tc -s qdisc show`;
/// `None` without such a discipline.
fn dropped(said: &str, kind: &str) -> u64 {
    let mut about = said.lines().skip_while(|line| {
        let mut words = line.split_whitespace();
        (words.next(), words.next()) != (Some("qdisc"), Some(kind))
    });
    let counts = about.nth(1).and_then(|line| line.split_once("(dropped "));
    let number = counts.and_then(|(_, rest)| rest.split_once(','));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

/// A server of one run in the guest; the kernel's echo server on port 7 is another.
#[derive(Debug)]
pub struct GuestServer {
    stream: TcpStream,
    /// Output before it was ready.
    said: Vec<u8>,
}

impl GuestServer {
    /// Waits until it has served its association; what it says of it, however that ended.
    ///
    /// # Errors
    /// With the server's output, where it hangs or saw no association.
    pub fn finish(mut self) -> Result<Served> {
        let end = self.stream.read_to_end(&mut self.said);
        let text = String::from_utf8_lossy(&self.said);
        let line = text.lines().find(|line| line.starts_with("SERVED "));
        Served::parse(line.with_context(|| format!("kernel server: {end:?}\n{text}"))?)
    }
}

/// Words as the guest's shell reads them.
fn shell_words(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    quoted.join(" ")
}

/// The peer's program; the guest sees the host's files at the same paths.
fn kernel_peer() -> Result<PathBuf> {
    build::compile(&["agent.c", "kernel_stack.c"], "kernel_peer", &[])
}

/// The library that Debian 12's guest needs on processors with AMX, whose register state is larger
/// than it knows.
fn xstate_shim() -> Result<Option<PathBuf>> {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !processors.contains("amx_tile") {
        return Ok(None);
    }
    build::compile(&["xstate_shim.c"], "xstate_shim.so", &["-shared", "-fPIC"]).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_impairment_lost_is_read_where_it_is_told() {
        let said = "qdisc netem 8001: root refcnt 2 limit 1000 delay 10ms loss 10%\r\n \
                    Sent 5321 bytes 57 pkt (dropped 6, overlimits 0 requeues 0) \r\n backlog 0b 0p requeues 0\r\n\
                    qdisc ingress ffff: parent ffff:fff1 ---------------- \r\n \
                    Sent 4711 bytes 48 pkt (dropped 12, overlimits 0 requeues 0) \r\n";
        assert_eq!((dropped(said, "netem"), dropped(said, "ingress")), (6, 12));
        assert_eq!(dropped("qdisc noqueue 0: root refcnt 2\r\n", "netem"), 0);
    }
}
