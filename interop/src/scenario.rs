//! Whole runs against an endpoint of ours: a peer on one side, a lossy relay in between.
//!
//! Each run owns what it needs and leaves nothing behind. An endpoint that is a *server* here
//! echoes every message on its stream, on SCTP port 7; one that is a *client* connects to SCTP port
//! 7 in UDP at `relay.address()` and sends the messages of the plan.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Result, ensure};

use crate::plan::EchoPlan;
use crate::program::{Encapsulation, Program, Server, free_udp_port};
use crate::relay::{Impairment, Relay, RelayCounts};
use crate::report::Report;
use crate::uml::Uml;

/// A peer's report of its run as client, and what the relay did meanwhile.
#[derive(Clone, Debug)]
pub struct ClientRun {
    /// Report of the peer's client program.
    pub report: Report,
    /// Packets that the relay carried and lost meanwhile.
    pub relay: RelayCounts,
}

/// usrsctp as client of `server` (an endpoint's UDP address on loopback).
///
/// # Errors
/// Where the association fails, hangs, or does not end.
pub fn usrsctp_client_against(
    usrsctp: &Program,
    server: SocketAddr,
    plan: &EchoPlan,
    impairment: &Impairment,
) -> Result<ClientRun> {
    let relay = Relay::on_loopback(server, impairment)?;
    let encapsulation =
        Encapsulation::Udp { local: free_udp_port()?, remote: relay.address().port() };
    let report = usrsctp.run_client(None, Ipv4Addr::LOCALHOST, encapsulation, plan)?;
    Ok(ClientRun { report, relay: relay.counts() })
}

/// usrsctp as echo server for `associations`, behind a relay.
///
/// # Errors
/// Where it does not come to listen.
pub fn usrsctp_server_behind_relay(
    usrsctp: &Program,
    plan: &EchoPlan,
    associations: usize,
    impairment: &Impairment,
) -> Result<(Server, Relay)> {
    let port = free_udp_port()?;
    let encapsulation = Encapsulation::Udp { local: port, remote: 0 };
    let server =
        usrsctp.start_server(None, Ipv4Addr::LOCALHOST, encapsulation, plan, associations)?;
    let relay = Relay::on_loopback((Ipv4Addr::LOCALHOST, port).into(), impairment)?;
    Ok((server, relay))
}

/// The kernel as client of `server` (an endpoint's UDP address outside the guest's namespace).
///
/// # Errors
/// Where the association fails or hangs.
pub fn kernel_client_against(
    uml: &Uml,
    server: SocketAddr,
    plan: &EchoPlan,
    impairment: &Impairment,
) -> Result<ClientRun> {
    let relay = uml.relay_from_client(server, impairment)?;
    let report = uml.run_client(Some(relay.address().port()), plan)?;
    Ok(ClientRun { report, relay: relay.counts() })
}

/// The kernel's echo server behind a relay, with the timers of `plan`.
///
/// # Errors
/// Where the guest refuses the timers.
pub fn kernel_server_behind_relay(
    uml: &Uml,
    plan: &EchoPlan,
    impairment: &Impairment,
) -> Result<Relay> {
    uml.set_timers(plan)?;
    uml.relay_to_server(impairment)
}

/// Whether the guest's kernel holds no association any more, so that every shutdown completed.
///
/// # Errors
/// With the associations that are still there.
pub fn kernel_has_no_association(uml: &Uml) -> Result<()> {
    let limit = std::time::Duration::from_secs(10);
    // The last acknowledgement of a shutdown may still be on its way.
    let script = "for i in $(seq 40); do [ $(grep -c . /proc/net/sctp/assocs) -le 1 ] && break; sleep .05; done; \
                  tail -n +2 /proc/net/sctp/assocs";
    let text = uml.shell(script, limit)?;
    let left = text.lines().filter(|line| !line.starts_with("STATUS") && !line.trim().is_empty());
    ensure!(left.count() == 0, "associations left in the guest:\n{text}");
    Ok(())
}
