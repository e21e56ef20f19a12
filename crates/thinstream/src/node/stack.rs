//! The machines of a node: SCTP, alone or with encrypted sessions below it, and the tap that
//! sees its packets.

use std::fmt;
use std::net::SocketAddr;

use base::machine::Holder;
use base::{Datagram, DatagramMeta, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use sctp::Shard;
use secure::{Secured, Sessions};

use crate::tap::SharedTap;

/// SCTP, with what is below it.
#[derive(Debug)]
pub(crate) enum Stack {
    /// Without encryption: SCTP packets as they are.
    Plain(Box<Tapped>),
    /// SCTP packets inside of DTLS records.
    Secure(Box<Secured<Tapped>>),
}

impl Stack {
    pub(super) fn endpoint(&self) -> &sctp::Endpoint {
        match self {
            Stack::Plain(tapped) => &tapped.endpoint,
            Stack::Secure(secured) => &secured.machine.endpoint,
        }
    }

    pub(super) fn endpoint_mut(&mut self) -> &mut sctp::Endpoint {
        match self {
            Stack::Plain(tapped) => &mut tapped.endpoint,
            Stack::Secure(secured) => &mut secured.machine.endpoint,
        }
    }

    /// Packets with the tag of another shard than this one are put aside from now on, where
    /// sessions bring them.
    pub(super) fn share_tags(&mut self, shard: Shard) {
        if let Stack::Secure(secured) = self {
            secured.machine.shard = Some(shard);
        }
    }

    /// Packets that were put aside.
    pub(super) fn take_strays(&mut self) -> Vec<(DatagramMeta, Datagram)> {
        match self {
            Stack::Plain(_) => Vec::new(),
            Stack::Secure(secured) => core::mem::take(&mut secured.machine.strays),
        }
    }

    /// Handles a packet that a session has opened.
    pub(super) fn handle_opened(&mut self, now: Instant, meta: DatagramMeta, packet: Datagram) {
        match self {
            Stack::Plain(tapped) => tapped.handle_datagram(now, meta, packet),
            Stack::Secure(secured) => secured.machine.handle_datagram(now, meta, packet),
        }
    }

    pub(super) fn sessions(&self) -> Option<&Sessions> {
        match self {
            Stack::Plain(_) => None,
            Stack::Secure(secured) => Some(&secured.sessions),
        }
    }

    pub(super) fn sessions_mut(&mut self) -> Option<&mut Sessions> {
        match self {
            Stack::Plain(_) => None,
            Stack::Secure(secured) => Some(&mut secured.sessions),
        }
    }
}

impl Holder for Stack {
    type Held = dyn Machine;

    fn held(&self) -> &Self::Held {
        match self {
            Stack::Plain(tapped) => &**tapped,
            Stack::Secure(secured) => &**secured,
        }
    }

    fn held_mut(&mut self) -> &mut Self::Held {
        match self {
            Stack::Plain(tapped) => &mut **tapped,
            Stack::Secure(secured) => &mut **secured,
        }
    }
}

/// An SCTP endpoint whose packets a tap sees unencrypted.
pub(crate) struct Tapped {
    endpoint: sctp::Endpoint,
    tap: Option<SharedTap>,
    /// The address of this side where a packet names none.
    local: SocketAddr,
    /// Number of this shard, if packets of others may arrive.
    shard: Option<Shard>,
    strays: Vec<(DatagramMeta, Datagram)>,
}

impl Tapped {
    pub(crate) fn new(
        endpoint: sctp::Endpoint,
        tap: Option<SharedTap>,
        local: SocketAddr,
    ) -> Tapped {
        Tapped { endpoint, tap, local, shard: None, strays: Vec::new() }
    }
}

impl fmt::Debug for Tapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tapped").field("tap", &self.tap.is_some()).finish_non_exhaustive()
    }
}

impl Machine for Tapped {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        if self.shard.is_some_and(|shard| shard.is_for_other(&datagram.head)) {
            self.strays.push((meta, datagram));
            return;
        }
        if let Some(tap) = &self.tap {
            // What sockets and sessions give is in one piece.
            tap.lock().on_received(now, &meta, &datagram.head);
        }
        self.endpoint.handle_datagram(now, meta, datagram);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.endpoint.handle_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let start = buffer.head().len();
        let transmit = self.endpoint.poll_transmit(now, buffer)?;
        if let Some(tap) = &self.tap {
            let local = transmit.local.or(Some(self.local));
            tap.lock().on_sent(now, &Transmit { local, ..transmit }, &buffer.head()[start..]);
        }
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}
