//! Unmodified receivers of others for thin streams of ours: usrsctp and the Linux kernel, which
//! tell what they received outside the network that is measured (`peers/thin_receiver.c`).

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::missing::{self, Missing};
use crate::process::Process;
use crate::program::free_udp_port;
use crate::uml::{GUEST, HOST, Uml};
use crate::{SCTP_UDP_PORT, build};

/// A receiver that listens; dropping it ends it.
pub struct ThinReceiver {
    at: SocketAddr,
    told: UdpSocket,
    _process: Option<Process>,
}

impl ThinReceiver {
    /// Whether usrsctp is here.
    ///
    /// # Errors
    /// With what is missing.
    pub fn find_usrsctp() -> Result<(), Missing> {
        missing::program("setpriv", "util-linux")?;
        build::compiler()?;
        missing::file("/usr/include/usrsctp.h", "not there (Debian package libusrsctp-dev)")
    }

    /// Starts usrsctp on loopback, at SCTP port `port`.
    ///
    /// # Errors
    /// With what it said, where it does not come to listen.
    pub fn usrsctp(port: u16) -> Result<ThinReceiver> {
        let sources = ["thin_receiver.c", "usrsctp_stack.c"];
        let program = build::compile(&sources, "usrsctp_receiver", &["-lusrsctp", "-lpthread"])?;
        let told = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a socket to listen at")?;
        let udp_port = free_udp_port()?;
        let mut command = Command::new(program);
        command.args(words(Ipv4Addr::LOCALHOST, port, udp_port, told.local_addr()?));
        let process = Process::start(None, command)?;
        process.wait_for_line("MARK ready", Duration::from_secs(10))?;
        let at = (Ipv4Addr::LOCALHOST, udp_port).into();
        Ok(ThinReceiver { at, told, _process: Some(process) })
    }

    /// Starts one on the kernel of `guest`, at SCTP port `port`; it ends with the guest.
    ///
    /// # Errors
    /// With what the guest said, where it does not come to listen.
    pub fn linux(guest: &Uml, port: u16) -> Result<ThinReceiver> {
        let sources = ["thin_receiver.c", "kernel_stack.c"];
        let program = build::compile(&sources, "kernel_receiver", &["-lpthread"])?;
        let told = guest.namespace().enter(|| UdpSocket::bind((HOST, 0)))?;
        let told = told.context("a socket to listen at")?;
        let words = words(GUEST, port, 0, told.local_addr()?).join(" ");
        let script = format!(
            "{} {words} </dev/null >/run/receiver.{port} 2>&1 &\n\
             for try in $(seq 500); do grep -q MARK /run/receiver.{port} && break; sleep .02; done\n\
             grep MARK /run/receiver.{port}",
            program.display()
        );
        guest.shell(&script, Duration::from_secs(20))?;
        Ok(ThinReceiver { at: (GUEST, SCTP_UDP_PORT).into(), told, _process: None })
    }

    /// The UDP address of its SCTP.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Socket at which it tells what it received: each message in a datagram.
    ///
    /// # Errors
    /// Where the system has no room for another socket.
    pub fn told(&self) -> Result<UdpSocket> {
        Ok(self.told.try_clone()?)
    }
}

fn words(address: Ipv4Addr, port: u16, udp_port: u16, tell: SocketAddr) -> Vec<String> {
    let (tell, tell_port) = (tell.ip().to_string(), tell.port().to_string());
    vec![address.to_string(), port.to_string(), udp_port.to_string(), tell, tell_port]
}
