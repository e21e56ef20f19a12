//! Packets of every host, in the order and at the time of sending.

use std::collections::BTreeMap;

use base::{Ecn, Instant, join_bytes};
use netsim::checker::Packet as NetPacket;
use netsim::{Checker, DropCause, HostId};
use tcp::wire::{Pseudo, Segment, SeqNumber};

use super::notation::write;

/// A segment that left, and whether the network lost it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) from: HostId,
    pub(crate) segment: Segment,
    pub(crate) ecn: Ecn,
    pub(crate) lost: bool,
    number: u64,
}

/// Checker that records every segment with its time.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) sent: Vec<Sent>,
    /// Off for runs of many segments.
    pub(crate) silent: bool,
    /// Packets are gathered: without checksums, and in two parts.
    pub(crate) gathers: bool,
    /// Bytes of the second parts.
    pub(crate) tails: usize,
    initial: BTreeMap<HostId, SeqNumber>,
}

impl Trace {
    /// Packets of `host`, as text.
    pub(crate) fn texts_of(&self, host: HostId) -> Vec<(u64, String)> {
        let own = self.initial.get(&host).copied().unwrap_or_default();
        let peer = self.initial.iter().find(|(other, _)| **other != host);
        let peer = peer.map(|(_, number)| *number).unwrap_or_default();
        let of_host = self.sent.iter().filter(|sent| sent.from == host);
        of_host
            .map(|sent| (sent.at.as_nanos() / 1_000_000, write(&sent.segment, own, peer)))
            .collect()
    }
}

impl Checker for Trace {
    fn on_sent(&mut self, now: Instant, packet: &NetPacket) {
        let datagram = &packet.datagram;
        let addresses = Pseudo::new(datagram.source.ip(), datagram.destination.ip());
        let bytes = join_bytes(datagram.payload.clone(), datagram.tail.clone());
        self.tails += datagram.tail.len();
        let parsed = match self.gathers {
            true => Segment::parse_without_checksum(bytes),
            false => Segment::parse(bytes, addresses),
        };
        let Ok(segment) = parsed else { panic!("{:?} sent a malformed segment", packet.sender) };
        if segment.flags.syn() {
            self.initial.insert(packet.sender, segment.seq);
        }
        if !self.silent {
            let (number, from, ecn) = (packet.number, packet.sender, datagram.ecn);
            self.sent.push(Sent { at: now, from, segment, ecn, lost: false, number });
        }
    }

    fn on_dropped(&mut self, _now: Instant, packet: &NetPacket, _cause: DropCause) {
        if let Some(sent) = self.sent.iter_mut().rev().find(|sent| sent.number == packet.number) {
            sent.lost = true;
        }
    }
}
