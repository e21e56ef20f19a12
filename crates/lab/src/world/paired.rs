//! Independent losses that hit the same first transmissions whatever the policy.

use base::{Instant, Probability};
use bytes::Bytes;
use netsim::Packet;
use netsim::link::LossOracle;

use super::addresses::flow_of;
use crate::fate::FlowFate;
use crate::flow::{FIRST, Numbering, for_each_span};

/// Decides which packets a link loses: for packets with new data by seed, flow and position of the
/// data in the flow; for others by a random stream of the flow.
#[derive(Clone, Debug)]
pub struct PairedLoss {
    probability: Probability,
    seed: u64,
    /// Time before which no packet is lost.
    from: Instant,
    forward: bool,
    numberings: Vec<Numbering>,
    /// Losses of each flow, created with its first packet.
    flows: Vec<Option<FlowLosses>>,
}

/// Losses of one flow in one direction, packet by packet.
#[derive(Clone, Debug)]
pub struct FlowLosses {
    fate: FlowFate,
    forward: bool,
    /// The unit after the highest seen.
    next: u64,
}

/// Seed, for [`FlowFate`], of the losses on path number `path`, from 0, of a run with this seed.
pub fn path_seed(seed: u64, path: u32) -> u64 {
    crate::hash::mix_all(&[seed, u64::from(path)])
}

impl PairedLoss {
    /// The losses of one direction of path number `path` between flows whose units are
    /// numbered like this, from `from` on.
    pub fn new(
        (seed, path): (u64, u32),
        probability: Probability,
        from: Instant,
        numberings: Vec<Numbering>,
        forward: bool,
    ) -> PairedLoss {
        let flows = vec![None; numberings.len()];
        let seed = path_seed(seed, path);
        PairedLoss { probability, seed, from, forward, numberings, flows }
    }

    /// The losses as a link's oracle.
    pub fn into_oracle(mut self) -> LossOracle<Packet> {
        Box::new(move |now, packet| now >= self.from && self.is_lost(packet))
    }

    fn is_lost(&mut self, packet: &Packet) -> bool {
        let datagram = &packet.datagram;
        let (near, far) = (datagram.source, datagram.destination);
        let Some(number) = flow_of(if self.forward { near } else { far }) else { return false };
        let Some(flow) = self.flows.get_mut(number as usize) else { return false };
        let place = (self.seed, number);
        let flow =
            flow.get_or_insert_with(|| FlowLosses::new(place, self.probability, self.forward));
        let numbers = (self.numberings[number as usize], FIRST);
        flow.is_lost(numbers, &datagram.payload, &datagram.tail)
    }
}

impl FlowLosses {
    /// The losses of one direction of a flow; the place is the seed of its path, [`path_seed`], and
    /// its number.
    pub fn new((seed, number): (u64, u32), probability: Probability, forward: bool) -> FlowLosses {
        let fate = match forward {
            true => FlowFate::forward(seed, number, probability),
            false => FlowFate::backward(seed, number, probability),
        };
        FlowLosses { fate, forward, next: 0 }
    }

    /// Whether the next packet of a flow is lost, whose units are numbered like this, its first
    /// by this number on the wire. The packet's last bytes are in `tail`.
    pub fn is_lost(&mut self, numbers: (Numbering, u32), packet: &Bytes, tail: &Bytes) -> bool {
        if !self.forward {
            return self.fate.is_lost([]);
        }
        // The last unit names new data, since copies before it differ between policies.
        let mut newest = None;
        let next = self.next;
        for_each_span(numbers, packet, tail, next, &mut |span| {
            if span.end > next {
                newest = newest.max(Some(span.end - 1));
            }
        });
        if let Some(newest) = newest {
            self.next = newest + 1;
        }
        self.fate.is_lost(newest)
    }
}
