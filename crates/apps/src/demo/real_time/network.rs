//! The lossy link of a lane: decides which packets are lost, and remembers what passed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base::{Duration, Instant};
use bytes::Bytes;
use io::RelayPacket;
use lab::FlowFate;
use lab::report::Side;
use lab::scenario::{ThinFlows, messages_in_datagram};
use netsim::link::{LinkConfigError, LossOracle};
use netsim::{Link, LinkConfig};

use crate::files::lock;

/// Bytes of packets remembered for the time-sequence diagram; a longer run shows a loss of its beginning.
const JOURNAL_BYTES: usize = 8 << 20;

/// A packet that came to the link.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) at: Instant,
    pub(super) from: Side,
    pub(super) datagram: Bytes,
    /// When it arrives; none if it was lost.
    pub(super) arrived: Option<Instant>,
}

/// What decides about the flows of a lane, and what passed.
pub(super) struct Network {
    delay: Delays,
    /// Before this nothing is lost: what is compared is transfer.
    start: Instant,
    flows: BTreeMap<SocketAddr, FlowNetwork>,
    journal_bytes: usize,
    /// From here on the journal is not complete.
    journal_end: Instant,
}

#[derive(Clone, Copy)]
struct Delays {
    up: Duration,
    down: Duration,
}

struct FlowNetwork {
    flow: u32,
    up: FlowFate,
    down: FlowFate,
    journal: Vec<Passed>,
}

impl Network {
    pub(super) fn new(plan: &ThinFlows) -> Network {
        let up = plan.rtt / 2;
        Network {
            delay: Delays { up, down: plan.rtt - up },
            start: Instant::FAR_FUTURE,
            flows: BTreeMap::new(),
            journal_bytes: 0,
            journal_end: Instant::FAR_FUTURE,
        }
    }

    /// The client at `address` carries flow number `flow`.
    pub(super) fn add_flow(&mut self, plan: &ThinFlows, address: SocketAddr, flow: u32) {
        let (seed, loss) = (plan.seed, plan.loss);
        let network = FlowNetwork {
            flow,
            up: FlowFate::forward(seed, flow, loss),
            down: FlowFate::backward(seed, flow, loss),
            journal: Vec::new(),
        };
        self.flows.insert(address, network);
    }

    /// Packets are lost from `start` on.
    pub(super) fn start(&mut self, start: Instant) {
        self.start = start;
    }

    /// Until when the journal tells of all packets.
    pub(super) fn journal_end(&self) -> Instant {
        self.journal_end
    }

    /// The packets of a flow.
    pub(super) fn journal(&self, flow: u32) -> Vec<Passed> {
        let network = self.flows.values().find(|network| network.flow == flow);
        network.map(|network| network.journal.clone()).unwrap_or_default()
    }

    fn is_lost(&mut self, now: Instant, from: Side, packet: &RelayPacket) -> bool {
        let Some(flow) = self.flows.get_mut(&packet.client()) else { return false };
        let begun = now >= self.start;
        let (lost, delay) = match from {
            Side::Sender => {
                let lost = begun && flow.up.is_packet_lost(&packet.datagram, &messages_in_datagram);
                (lost, self.delay.up)
            }
            Side::Receiver => (begun && flow.down.is_lost([]), self.delay.down),
        };
        self.journal_bytes += packet.datagram.len() + size_of::<Passed>();
        if self.journal_bytes > JOURNAL_BYTES {
            self.journal_end = self.journal_end.min(now);
        } else {
            let arrived = (!lost).then(|| now + delay);
            flow.journal.push(Passed { at: now, from, datagram: packet.datagram.clone(), arrived });
        }
        lost
    }
}

/// The two directions of the link.
pub(super) fn links(
    network: &Arc<Mutex<Network>>,
) -> Result<[Link<RelayPacket>; 2], LinkConfigError> {
    let delay = lock(network).delay;
    let link = |from, delay, index| {
        let network = Arc::clone(network);
        let oracle: LossOracle<RelayPacket> =
            Box::new(move |now, packet| lock(&network).is_lost(now, from, packet));
        // Nothing here is left to the link's own chance.
        let link = Link::new(LinkConfig::with_delay(delay), 0, index)?;
        Ok(link.with_oracle(oracle))
    };
    Ok([link(Side::Sender, delay.up, 0)?, link(Side::Receiver, delay.down, 1)?])
}
