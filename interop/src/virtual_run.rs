//! A run in virtual time: two agents on a network that loses packets.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use base::{Duration, Instant, Probability};
use netsim::checker::Packet;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Checker, DropCause, HostId, LinkConfig, LossModel, Simulation};
use virtual_peers::Stack;

use crate::agent::{Agent, Observed, Part};
use crate::capture::Capture;
use crate::plan::EchoPlan;

/// Stack of another implementation, chosen at run time.
pub(crate) type AnyStack = Box<dyn Stack>;

/// Round-trip time of the network in between.
const RTT: Duration = Duration::from_millis(20);
/// Time after which the run is given up.
const LIMIT: Duration = Duration::from_secs(600);
/// Time that both sides stay after both associations ended, to answer retransmissions.
const LINGER: Duration = Duration::from_secs(5);

/// Addresses of the client and the server.
pub(crate) const CLIENT: SocketAddr = at(1);
/// See [`CLIENT`].
pub(crate) const SERVER: SocketAddr = at(2);

const fn at(host: u8) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, host)), 9899)
}

/// Writes everything down before any of it is lost.
struct Writer {
    capture: Option<Capture>,
    client: HostId,
    lost: u64,
}

impl Checker for Writer {
    fn on_sent(&mut self, _now: Instant, packet: &Packet) {
        if let Some(capture) = &self.capture {
            // A capture that cannot be written is found empty by its judge.
            let _ = capture.add(packet.sender == self.client, &packet.datagram.payload);
        }
    }

    fn on_dropped(&mut self, _now: Instant, _packet: &Packet, _cause: DropCause) {
        self.lost += 1;
    }
}

/// Runs `plan` between a client and a server; what both saw, and how many packets were lost.
///
/// # Errors
/// Where time stands still, or the association does not end.
pub(crate) fn run(
    plan: &EchoPlan,
    client: AnyStack,
    server: AnyStack,
    loss: Probability,
    seed: u64,
    capture: Option<&Capture>,
) -> Result<(Observed, Observed, u64)> {
    let plan = Arc::new(plan.clone());
    let agent = |stack, part| Agent::new(stack, plan.clone(), part);
    let writer = Writer { capture: capture.cloned(), client: HostId(0), lost: 0 };
    let mut simulation = Simulation::with_checker(seed, writer);
    let link = LinkConfig { loss: LossModel::Bernoulli(loss), ..LinkConfig::with_delay(RTT / 2) };
    let placed = pair(
        &mut simulation,
        Placed::at(agent(client, Part::Client), CLIENT),
        Placed::at(agent(server, Part::Server), SERVER),
        &[Directions::both(link)],
    )?;
    ensure!(placed.first == HostId(0), "the client is not the first host");
    let mut now = Instant::ZERO;
    let over = |simulation: &Simulation<_, _>| {
        simulation.hosts().iter().all(|agent: &Agent<AnyStack>| agent.is_over())
    };
    while !over(&simulation) && now < Instant::ZERO + LIMIT {
        now += Duration::from_millis(100);
        simulation.run_until(now)?;
    }
    simulation.run_until(now + LINGER)?;
    let seen = |host| simulation.host(host).seen().clone();
    Ok((seen(placed.first), seen(placed.second), simulation.checker().lost))
}
