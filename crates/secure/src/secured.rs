//! A machine with sessions below it, as one machine.

use base::{Datagram, DatagramMeta, Icmp, Instant, Machine, Transmit, TransmitBuffer};

use crate::sessions::Sessions;

/// A machine whose packets travel sealed: plain within, DTLS outside.
///
/// With an SCTP endpoint as the machine it is SCTP over DTLS (RFC 8261). The endpoint's
/// associations may leave out their checksums (RFC 9653), and need a path MTU that leaves room for
/// the record around a packet.
#[derive(Debug)]
pub struct Secured<M> {
    /// The machine whose datagrams are encrypted; it reads and writes them unencrypted.
    pub machine: M,
    /// Sessions that encrypt the machine's datagrams, one for each peer.
    pub sessions: Sessions,
}

impl<M: Machine> Machine for Secured<M> {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        self.sessions.handle_datagram(now, meta, datagram, &mut self.machine);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.sessions.handle_icmp(now, icmp, &mut self.machine);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sessions.handle_timeout(now, &mut self.machine);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        self.sessions.poll_transmit(now, buffer, &mut self.machine)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.sessions.poll_timeout(&self.machine)
    }
}
