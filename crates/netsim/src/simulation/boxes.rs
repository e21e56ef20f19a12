//! Boxes that hold packets, kept for the next packets.

use bytes::Bytes;

use crate::packet::Packet;

/// Most boxes kept: as many as one event needs, mostly, since a packet that arrives makes room for
/// its answer.
const KEPT: usize = 32;

/// Boxes of packets that have arrived or were dropped. The latest one serves the next packet, since
/// it is in the processor's cache.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "boxes are lent and come back")]
pub(super) struct Boxes(Vec<Box<Packet>>);

impl Boxes {
    pub(super) fn pack(&mut self, packet: Packet) -> Box<Packet> {
        match self.0.pop() {
            Some(mut used) => {
                *used = packet;
                used
            }
            None => Box::new(packet),
        }
    }

    /// Takes back the box of a packet, and drops its payload.
    pub(super) fn take_back(&mut self, mut packet: Box<Packet>) {
        packet.datagram.payload = Bytes::new();
        packet.datagram.tail = Bytes::new();
        if self.0.len() < KEPT {
            self.0.push(packet);
        }
    }
}
