//! Observing the packets of an endpoint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{DatagramMeta, Instant, Transmit};
use bytes::Bytes;
#[cfg(feature = "capture")]
use io::PcapTap;

/// Observes the SCTP packets that an endpoint sends and receives, unencrypted even if they are
/// encrypted on the wire. The endpoint is locked during the calls, which must be short and must not
/// call the endpoint.
pub trait PacketTap: Send {
    /// A packet is about to be sent, or to be encrypted; `transmit.local` is always set.
    fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]);

    /// A packet arrived, and was decrypted.
    fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &Bytes);

    /// A packet was encrypted, and leaves in this datagram.
    fn on_sealed(&mut self, _packet: &[u8], _datagram: &Bytes) {}
}

#[cfg(feature = "capture")]
impl<W: std::io::Write + Send> PacketTap for PcapTap<W> {
    fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]) {
        PcapTap::on_sent(self, now, transmit, datagram);
    }

    fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &Bytes) {
        PcapTap::on_received(self, now, meta, datagram);
    }
}

/// A tap that its owner shares with the endpoint, to finish it later: taken out, it sees nothing
/// more.
impl<T: PacketTap> PacketTap for Arc<Mutex<Option<T>>> {
    fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]) {
        if let Some(tap) = &mut *self.lock().unwrap_or_else(PoisonError::into_inner) {
            tap.on_sent(now, transmit, datagram);
        }
    }

    fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &Bytes) {
        if let Some(tap) = &mut *self.lock().unwrap_or_else(PoisonError::into_inner) {
            tap.on_received(now, meta, datagram);
        }
    }

    fn on_sealed(&mut self, packet: &[u8], datagram: &Bytes) {
        if let Some(tap) = &mut *self.lock().unwrap_or_else(PoisonError::into_inner) {
            tap.on_sealed(packet, datagram);
        }
    }
}

/// The tap of an endpoint, which packets pass before they are encrypted and after.
#[derive(Clone)]
pub(crate) struct SharedTap(Arc<Mutex<Box<dyn PacketTap>>>);

impl SharedTap {
    pub(crate) fn new(tap: Box<dyn PacketTap>) -> SharedTap {
        SharedTap(Arc::new(Mutex::new(tap)))
    }

    /// The tap, for a call.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn PacketTap>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
