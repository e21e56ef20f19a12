//! Independent losses that strike the same first transmissions whatever the policy.

use base::Probability;
use netsim::Packet;
use netsim::link::LossOracle;

use super::flow_of;
use crate::fate::FlowFate;
use crate::flow::{Protocol, for_each_span};

/// Decides for a link which packets are lost. Of packets with new data, seed, flow and place of the data in the
/// flow decide; of the others a random stream of the flow's own.
#[derive(Clone, Debug)]
pub struct PairedLoss {
    probability: Probability,
    seed: u64,
    forward: bool,
    protocols: Vec<Protocol>,
    /// Made when a flow's first packet comes.
    flows: Vec<Option<Fate>>,
}

#[derive(Clone, Debug)]
struct Fate {
    fate: FlowFate,
    /// The unit after the highest seen.
    next: u64,
}

impl PairedLoss {
    /// The losses of one direction of path number `path` between flows of these protocols.
    pub fn new(
        seed: u64,
        path: u32,
        probability: Probability,
        protocols: Vec<Protocol>,
        forward: bool,
    ) -> PairedLoss {
        let flows = vec![None; protocols.len()];
        let seed = crate::hash::mix_all(&[seed, u64::from(path)]);
        PairedLoss { probability, seed, forward, protocols, flows }
    }

    /// For a link.
    pub fn into_oracle(mut self) -> LossOracle<Packet> {
        Box::new(move |_, packet| self.is_lost(packet))
    }

    fn is_lost(&mut self, packet: &Packet) -> bool {
        let datagram = &packet.datagram;
        let (near, far) = (datagram.source, datagram.destination);
        let Some(number) = flow_of(if self.forward { near } else { far }) else { return false };
        let (seed, probability, forward) = (self.seed, self.probability, self.forward);
        let Some(flow) = self.flows.get_mut(number as usize) else { return false };
        let flow = flow.get_or_insert_with(|| Fate {
            fate: match forward {
                true => FlowFate::forward(seed, number, probability),
                false => FlowFate::backward(seed, number, probability),
            },
            next: 0,
        });
        if !forward {
            return flow.fate.is_lost([]);
        }
        // The last unit names new data, since what rides along before it differs between policies.
        let mut newest = None;
        let next = flow.next;
        let protocol = self.protocols[number as usize];
        for_each_span(protocol, &datagram.payload, datagram.tail.len(), next, &mut |span| {
            if span.end > next {
                newest = newest.max(Some(span.end - 1));
            }
        });
        if let Some(newest) = newest {
            flow.next = newest + 1;
        }
        flow.fate.is_lost(newest)
    }
}
