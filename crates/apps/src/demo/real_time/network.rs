//! The lossy link of a lane: decides which packets are lost, and reports those that pass.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base::{Duration, Instant};
use bytes::Bytes;
use io::RelayPacket;
use lab::flow::Numbering;
use lab::world::{FlowLosses, path_seed};
use netsim::link::{LinkConfigError, LossOracle};
use netsim::{Link, LinkConfig};

use super::decrypted::Decrypted;
use super::steps::{Passed, Steps, What};
use crate::demo::options::DemoOptions;
use crate::files::lock;

/// Conditions of a lane's flows.
pub(super) struct Network {
    /// One-way delays to the receiver and back.
    delays: [Duration; 2],
    /// Time before which nothing is lost: what is compared is transfer.
    start: Instant,
    flows: BTreeMap<SocketAddr, FlowNetwork>,
    packets: u64,
    steps: Arc<Steps>,
    decrypted: Arc<Decrypted>,
}

struct FlowNetwork {
    flow: u32,
    /// The TSN of its first unit.
    first: u32,
    /// Losses to the receiver and back.
    losses: [FlowLosses; 2],
}

impl Network {
    pub(super) fn new(
        options: &DemoOptions,
        steps: &Arc<Steps>,
        decrypted: &Arc<Decrypted>,
    ) -> Network {
        let there = options.rtt / 2;
        Network {
            delays: [there, options.rtt - there],
            start: Instant::FAR_FUTURE,
            flows: BTreeMap::new(),
            packets: 0,
            steps: Arc::clone(steps),
            decrypted: Arc::clone(decrypted),
        }
    }

    /// The client at `address` carries flow number `flow`, whose first unit has the TSN `first`.
    pub(super) fn add_flow(
        &mut self,
        options: &DemoOptions,
        address: SocketAddr,
        (flow, first): (u32, u32),
    ) {
        let place = (path_seed(options.seed, 0), flow);
        let losses = [true, false].map(|forward| FlowLosses::new(place, options.loss, forward));
        self.flows.insert(address, FlowNetwork { flow, first, losses });
    }

    /// Packets are lost from `start` on.
    pub(super) fn start(&mut self, start: Instant) {
        self.start = start;
    }

    fn is_lost(&mut self, now: Instant, from: u8, packet: &RelayPacket) -> bool {
        // Datagrams of DTLS itself pass, and are no part of what is compared.
        let datagram = self.decrypted.take(&packet.datagram);
        let flow = self.flows.get_mut(&packet.client());
        let Some((flow, datagram)) = flow.zip(datagram) else { return false };
        let side = usize::from(from);
        let numbers = (Numbering::Sctp, flow.first);
        let lost =
            now >= self.start && flow.losses[side].is_lost(numbers, &datagram, &Bytes::new());
        let passed = Passed { number: self.packets, from, datagram };
        self.packets += 1;
        if !lost {
            let arrives = now + self.delays[side];
            self.steps.add(arrives, flow.flow, What::Arrived(passed.clone()));
        }
        self.steps.add(now, flow.flow, What::Sent(passed, lost));
        lost
    }
}

/// The two directions of the link.
pub(super) fn links(
    network: &Arc<Mutex<Network>>,
) -> Result<[Link<RelayPacket>; 2], LinkConfigError> {
    let [there, back] = lock(network).delays;
    let link = |from, delay| {
        let network = Arc::clone(network);
        let oracle: LossOracle<RelayPacket> =
            Box::new(move |now, packet| lock(&network).is_lost(now, from, packet));
        // Nothing here is left to the link's own chance.
        let link = Link::new(LinkConfig::with_delay(delay), 0, u64::from(from))?;
        Ok(link.with_oracle(oracle))
    };
    Ok([link(0, there)?, link(1, back)?])
}
