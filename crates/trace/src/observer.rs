//! Observers of each packet while an analysis runs: for lists that are written at once.

use core::fmt;

use base::{Duration, Instant};
use serde::Serialize;

use crate::packet::Protocol;
use crate::way::Way;

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    pub(crate) number: u64,
    pub(crate) way: Way,
}

impl StreamId {
    /// Number of the connection, from 1, in the order of first packets.
    pub fn connection(self) -> u64 {
        self.number
    }
}

/// The name in reports: [`crate::report::StreamReport::id`].
impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = if self.way == Way::There { 'a' } else { 'b' };
        write!(f, "{}{letter}", self.number)
    }
}

/// Kind of a packet with user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PacketKind {
    /// Data sent for the first time only.
    New,
    /// Data sent before only.
    Retransmission,
    /// New data and copies of old.
    Bundle,
    /// New data and a retransmission (SCTP).
    Mixed,
}

impl PacketKind {
    /// Lower-case word in reports and lists.
    pub const fn name(self) -> &'static str {
        match self {
            PacketKind::New => "new",
            PacketKind::Retransmission => "retransmission",
            PacketKind::Bundle => "bundle",
            PacketKind::Mixed => "mixed",
        }
    }
}

/// A packet with user data was sent.
#[derive(Clone, Copy, Debug)]
pub struct PacketSent {
    /// One direction of a connection or association: the one that the packet took.
    pub stream: StreamId,
    /// Protocol of the packet, TCP or SCTP.
    pub protocol: Protocol,
    /// Time since the capture's first packet.
    pub at: Duration,
    /// Time since the stream's packet before it.
    pub interval: Option<Duration>,
    /// Bytes of the frame on the wire, link-layer header included.
    pub frame_length: u32,
    /// Bytes of user data in the packet.
    pub payload: u32,
    /// Bytes of these that were not sent before.
    pub new: u32,
    /// New data, a retransmission, a bundle, or a mixture.
    pub kind: PacketKind,
    /// Packets in flight, itself included.
    pub in_flight: u32,
    /// Ranges in it: bytes of TCP that are all new or all old, chunks of SCTP.
    pub ranges: u32,
}

/// User data in a packet: of TCP, bytes next to each other; of SCTP, a chunk.
#[derive(Clone, Copy, Debug)]
pub struct DataSent {
    /// One direction of a connection or association: the one that the data took.
    pub stream: StreamId,
    /// Time since the capture's first packet.
    pub at: Duration,
    /// The first number: of a byte, or the TSN. Numbers do not wrap.
    pub start: u64,
    /// The number after the last.
    pub end: u64,
    /// Length of the range in bytes.
    pub bytes: u32,
    /// Whether the data's numbers are higher than all before.
    pub is_new: bool,
    /// Whether the packet of TCP was pushed (PSH), so that nothing more had been written by then.
    pub pushed: bool,
    /// Numbers that only SCTP has.
    pub chunk: Option<ChunkSent>,
}

/// A DATA or I-DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSent {
    /// The stream identifier of the chunk.
    pub stream: u16,
    /// Whether the data begins a message.
    pub begins: bool,
    /// Whether the data ends a message.
    pub ends: bool,
}

/// A range of data was acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub struct DataAcknowledged {
    /// Direction that the data took, opposite to the acknowledgement's.
    pub stream: StreamId,
    /// Time of the first transmission, since the capture's first packet.
    pub sent: Duration,
    /// Time from the first transmission to the acknowledgement.
    pub latency: Duration,
    /// Number of times that the data were retransmitted before.
    pub retransmissions: u16,
    /// Bytes of user data in the range.
    pub bytes: u32,
}

/// The fate of a packet: known with a receiver's capture only, and for lost packets long after they
/// were sent.
#[derive(Clone, Copy, Debug)]
pub struct PacketLost {
    /// Direction of a connection or association that the packet took.
    pub stream: StreamId,
    /// Time of transmission, since the capture's first packet.
    pub sent: Duration,
    /// Bytes of user data in it.
    pub bytes: u32,
    /// Bytes of these that were lost.
    pub lost: u32,
    /// Bytes that had been sent before.
    pub old: u32,
    /// Ranges in it, as in [`PacketSent`].
    pub ranges: u32,
}

/// Delay of a packet, known with a receiver's capture and at the end of its stream.
#[derive(Clone, Copy, Debug)]
pub struct PacketDelay {
    /// Direction of a connection or association that the packet took.
    pub stream: StreamId,
    /// Time of transmission, since the capture's first packet.
    pub sent: Duration,
    /// Delay beyond the least one-way delay.
    pub delay: Duration,
}

/// Receives events of an analysis. All methods do nothing by default.
pub trait Observer {
    /// A packet with user data was sent.
    fn on_packet(&mut self, _packet: &PacketSent) {}
    /// The packet's user data, in order.
    fn on_data(&mut self, _data: &DataSent) {}
    /// A range of data was acknowledged cumulatively.
    fn on_acknowledged(&mut self, _data: &DataAcknowledged) {}
    /// A packet was lost, wholly or in part.
    fn on_lost(&mut self, _packet: &PacketLost) {}
    /// The delay of a packet is known.
    fn on_delay(&mut self, _delay: &PacketDelay) {}
}

impl Observer for () {}

/// Both observers, one after the other.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn on_packet(&mut self, packet: &PacketSent) {
        self.0.on_packet(packet);
        self.1.on_packet(packet);
    }

    fn on_data(&mut self, data: &DataSent) {
        self.0.on_data(data);
        self.1.on_data(data);
    }

    fn on_acknowledged(&mut self, data: &DataAcknowledged) {
        self.0.on_acknowledged(data);
        self.1.on_acknowledged(data);
    }

    fn on_lost(&mut self, packet: &PacketLost) {
        self.0.on_lost(packet);
        self.1.on_lost(packet);
    }

    fn on_delay(&mut self, delay: &PacketDelay) {
        self.0.on_delay(delay);
        self.1.on_delay(delay);
    }
}

/// The observer, if there is one.
impl<O: Observer> Observer for Option<O> {
    fn on_packet(&mut self, packet: &PacketSent) {
        self.iter_mut().for_each(|it| it.on_packet(packet));
    }

    fn on_data(&mut self, data: &DataSent) {
        self.iter_mut().for_each(|it| it.on_data(data));
    }

    fn on_acknowledged(&mut self, data: &DataAcknowledged) {
        self.iter_mut().for_each(|it| it.on_acknowledged(data));
    }

    fn on_lost(&mut self, packet: &PacketLost) {
        self.iter_mut().for_each(|it| it.on_lost(packet));
    }

    fn on_delay(&mut self, delay: &PacketDelay) {
        self.iter_mut().for_each(|it| it.on_delay(delay));
    }
}

/// An instant as time since the first.
pub(crate) fn since(began: Option<Instant>, at: Instant) -> Duration {
    at.since(began.unwrap_or(at))
}
