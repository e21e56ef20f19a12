//! Descriptions of packets in a few words: `TSN 7`, `SACK 6 +2`, `bytes 700-799`, `ACK 700`.

use bytes::Bytes;
use results::Role;
use sctp::wire::{self, Chunk, Tsn};
use tcp::wire::{Flags, Segment};

use crate::flow::spans::unwrap;
use crate::flow::{Numbering, Span, for_each_span};

/// Describes the packets of a flow, in the order in which they leave.
#[derive(Clone, Debug)]
pub struct Teller {
    numbering: Numbering,
    /// The unit after the highest that the sender sent.
    sent_to: u64,
    /// Initial sequence numbers of sender and receiver, of TCP.
    initial: [u32; 2],
}

impl Teller {
    /// A description of packets whose units are numbered like this.
    pub fn new(numbering: Numbering) -> Teller {
        Teller { numbering, sent_to: 0, initial: [0; 2] }
    }

    /// Describes a packet from side 0, the sender, or 1, the receiver; the flow's first unit has
    /// the number `first` on the wire.
    pub fn tell(&mut self, side: u8, first: u32, packet: &Bytes) -> (Role, String) {
        let told = match self.numbering {
            Numbering::Sctp => self.tell_sctp(first, packet),
            Numbering::Tcp => self.tell_tcp(side, packet),
            Numbering::Marked => self.tell_marked(packet),
        };
        told.unwrap_or_else(|| (Role::Other, "unreadable".to_owned()))
    }

    fn tell_sctp(&mut self, first_number: u32, packet: &Bytes) -> Option<(Role, String)> {
        let mut units = Vec::new();
        let found = &mut |span: Span| units.push(span.start);
        for_each_span((Numbering::Sctp, first_number), packet, &Bytes::new(), self.sent_to, found);
        if let (Some(first), Some(last)) = (units.first(), units.last()) {
            let role = self.role(*first, last + 1);
            return Some((role, data_label(&units)));
        }
        let packet = wire::Packet::parse_captured(packet.clone()).ok()?;
        let mut others = packet.raw_chunks().filter_map(|raw| raw.ok()?.chunk_type.name());
        let sack = packet.chunks().find_map(|chunk| match chunk {
            Ok(Chunk::Sack(sack)) => Some(sack),
            _ => None,
        });
        Some(match sack {
            Some(sack) => (Role::Ack, sack_label(&sack, Tsn(first_number))),
            None => (Role::Other, others.next().unwrap_or("no chunk").to_owned()),
        })
    }

    /// Describes a packet of another transport: its messages only.
    fn tell_marked(&mut self, packet: &Bytes) -> Option<(Role, String)> {
        let mut messages = Vec::new();
        let found = &mut |span: Span| messages.push(span.start);
        for_each_span((Numbering::Marked, 0), packet, &Bytes::new(), self.sent_to, found);
        let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
            return Some((Role::Ack, format!("{} bytes", packet.len())));
        };
        let label = match messages.len() {
            1 => format!("message {first}"),
            count => format!("{count} messages, {first} to {last}"),
        };
        Some((self.role(*first, last + 1), label))
    }

    fn tell_tcp(&mut self, side: u8, packet: &Bytes) -> Option<(Role, String)> {
        let segment = Segment::parse_without_checksum(packet.clone()).ok()?;
        let flags = segment.flags;
        let (own, other) = (usize::from(side.min(1)), usize::from(1 - side.min(1)));
        if flags.syn() {
            self.initial[own] = segment.seq.0;
        }
        let named = [(Flags::SYN, "SYN"), (Flags::FIN, "FIN"), (Flags::RST, "RST")];
        let named = named.iter().find(|(flag, _)| flags.contains(*flag));
        if let Some((_, name)) = named {
            let ack = if flags.contains(Flags::ACK) && flags.syn() { " ACK" } else { "" };
            return Some((Role::Other, format!("{name}{ack}")));
        }
        let offset = segment.seq.0.wrapping_sub(self.initial[own]).wrapping_sub(1);
        let size = segment.payload.len() as u64;
        if side == 0 && size > 0 {
            let start = unwrap(offset, self.sent_to);
            let end = start + size;
            return Some((self.role(start, end), format!("bytes {start}-{}", end - 1)));
        }
        let byte = |number: u32| {
            let offset = number.wrapping_sub(self.initial[other]).wrapping_sub(1);
            unwrap(offset, self.sent_to)
        };
        let blocks = segment.options.sack.iter();
        let blocks: Vec<String> = blocks
            .map(|block| format!("{}-{}", byte(block.start.0), byte(block.end.0).saturating_sub(1)))
            .collect();
        let sack = if blocks.is_empty() { "" } else { " SACK " };
        Some((Role::Ack, format!("ACK {}{sack}{}", byte(segment.ack.0), blocks.join(", "))))
    }

    /// The role of a packet of the sender with the units `first..end`.
    fn role(&mut self, first: u64, end: u64) -> Role {
        let role = match (first < self.sent_to, end <= self.sent_to) {
            (_, true) => Role::Again,
            (true, false) => Role::Along,
            (false, false) => Role::Data,
        };
        self.sent_to = self.sent_to.max(end);
        role
    }
}

/// `TSN 7`, `TSN 7-9`, or `TSN 7 +2` for some that are not next to each other.
pub(crate) fn data_label(units: &[u64]) -> String {
    match units {
        [] => String::new(),
        [one] => format!("TSN {one}"),
        [first, .., last] if last.checked_sub(*first) == Some(units.len() as u64 - 1) => {
            format!("TSN {first}-{last}")
        }
        [first, rest @ ..] => format!("TSN {first} +{}", rest.len()),
    }
}

/// `SACK 6`: all up to 6; `SACK 6 +2`: two beyond a gap, too; `SACK none`.
pub(crate) fn sack_label(sack: &wire::chunk::Sack<'_>, first: Tsn) -> String {
    let widths = sack.gap_ack_blocks().map(|block| u32::from(block.end.wrapping_sub(block.start)));
    let beyond: u32 = widths.map(|width| width + 1).sum();
    let cumulative = sack.cumulative_tsn_ack.0.wrapping_sub(first.0);
    let all = if cumulative == u32::MAX { "none".to_owned() } else { cumulative.to_string() };
    match beyond {
        0 => format!("SACK {all}"),
        _ => format!("SACK {all} +{beyond}"),
    }
}
