//! Contents of a lane's encrypted datagrams: its link loses the same messages of every policy, so
//! it has to know them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base::{DatagramMeta, Instant, Transmit};
use bytes::Bytes;
use thinstream::PacketTap;

use crate::files::lock;

/// Datagrams that may be on their way to the link. Those that a socket dropped never come.
const MOST: usize = 65_536;

/// Packets by the datagrams in which they left.
#[derive(Debug, Default)]
pub(super) struct Decrypted(Mutex<BTreeMap<Bytes, Bytes>>);

impl Decrypted {
    fn add(&self, packet: &[u8], datagram: &Bytes) {
        let mut packets = lock(&self.0);
        if packets.len() >= MOST {
            packets.clear();
        }
        packets.insert(datagram.clone(), Bytes::copy_from_slice(packet));
    }

    /// The packet in a datagram; none in one of DTLS itself.
    pub(super) fn take(&self, datagram: &Bytes) -> Option<Bytes> {
        lock(&self.0).remove(datagram)
    }
}

/// The tap of an endpoint of the lane: tells what leaves, and passes all on to the capture, if
/// there is one.
pub(super) struct LaneTap {
    pub(super) decrypted: Arc<Decrypted>,
    pub(super) capture: Option<Box<dyn PacketTap>>,
}

impl PacketTap for LaneTap {
    fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.on_sent(now, transmit, datagram);
        }
    }

    fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &Bytes) {
        if let Some(capture) = &mut self.capture {
            capture.on_received(now, meta, datagram);
        }
    }

    fn on_sealed(&mut self, packet: &[u8], datagram: &Bytes) {
        self.decrypted.add(packet, datagram);
    }
}
