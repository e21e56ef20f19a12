//! Other SCTP stacks without sockets or clocks, behind one interface.
//!
//! [`Stack`] is the part of a stack's interface that exercises use, for one association. [`DcSctp`]
//! and [`SctpProto`] have it, and beside it the calls that measurements of many associations need.

mod dcsctp;
mod sctp_proto;

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Instant, Machine};
use bytes::Bytes;

pub use self::dcsctp::DcSctp;
pub use self::sctp_proto::SctpProto;

/// The SCTP port of both stacks, at both ends.
pub const PORT: u16 = 5000;

/// Bytes of an IP packet's payload, UDP header apart, that every stack may fill.
pub const PACKET: usize = 1472;

/// One association of a stack, as client or as server.
pub trait Stack: Machine {
    /// Begins to set the association up.
    fn connect(&mut self, now: Instant);
    /// The next thing that happened.
    fn poll_event(&mut self) -> Option<StackEvent>;
    /// Queues a message.
    ///
    /// # Errors
    /// Why it was not taken.
    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Refused>;
    /// Takes the next message that arrived.
    fn receive(&mut self, now: Instant) -> Option<Incoming>;
    /// Resets the outgoing streams from 0 to `streams` less one (RFC 6525).
    /// [`StackEvent::ResetDone`] or [`StackEvent::Refused`] follows.
    fn reset_streams(&mut self, now: Instant, streams: u16);
    /// Asks the peer to reset its outgoing streams. [`StackEvent::PeerReset`] or
    /// [`StackEvent::Refused`] follows.
    fn ask_for_reset(&mut self, _now: Instant, _streams: u16) {}
    /// Lets all streams and the TSNs of both sides begin again. [`StackEvent::AssociationReset`] or
    /// [`StackEvent::Refused`] follows.
    fn reset_association(&mut self, _now: Instant) {}
    /// Adds `each` streams in each direction. [`StackEvent::StreamsAdded`] for each, or
    /// [`StackEvent::Refused`] follows.
    fn add_streams(&mut self, _now: Instant, _each: u16) {}
    /// Tells the peer of a change of this side's addresses (RFC 5061).
    /// [`StackEvent::AddressChanged`] or [`StackEvent::Refused`] follows.
    fn change_address(&mut self, _now: Instant, _change: AddressChange, _address: IpAddr) {}
    /// Closes the association: what was sent arrives first.
    fn shutdown(&mut self, now: Instant);
    /// Gives the association up at once.
    fn abort(&mut self, now: Instant);
}

/// An event of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackEvent {
    /// The association is set up.
    Established,
    /// The peer reset this number of its outgoing streams; 0 means all.
    PeerReset(usize),
    /// The reset asked for is complete.
    ResetDone,
    /// All streams and the TSNs of both sides began again.
    AssociationReset,
    /// There are more streams: the numbers on which this side sends, and on which the peer does.
    StreamsAdded([u16; 2]),
    /// An address changed, of this side or of the peer.
    AddressChanged {
        /// Whether it is an address of this side.
        own: bool,
        /// Whether it was added, removed or made primary.
        change: AddressChange,
        /// Address that was added or removed.
        address: IpAddr,
    },
    /// The peer refused a request, for the reason given.
    Refused(String),
    /// The association is over, for this reason.
    Ended(Ending),
}

/// Change of an address (RFC 5061).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressChange {
    /// The address is used, too.
    Added,
    /// The address is no longer used.
    Deleted,
    /// The other side sends there.
    MadePrimary,
}

/// End of an association as the stack reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The shutdown completed, whichever side began it.
    Closed,
    /// The peer sent an ABORT chunk.
    AbortedByPeer,
    /// An ABORT of this side's application.
    Aborted,
    /// The peer stopped answering, so that the stack gave up.
    Unanswered,
    /// Any other failure, in the stack's words.
    Failed(String),
}

/// A message to send, with its reliability.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Identifier of the message's stream.
    pub stream: u16,
    /// Content of the message.
    pub payload: Bytes,
    /// Whether its order does not matter.
    pub unordered: bool,
    /// Reliability with which it is sent.
    pub reliability: Reliability,
}

/// A message that arrived whole.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Identifier of the message's stream.
    pub stream: u16,
    /// Content of the message.
    pub payload: Bytes,
    /// Whether it came out of order; none where the stack does not say.
    pub unordered: Option<bool>,
}

/// Limit of what is done for a message (RFC 7496).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The message arrives or the association fails.
    #[default]
    Full,
    /// The message is abandoned when it would have to be retransmitted more often.
    Retransmissions(u16),
    /// The message is abandoned when it is older.
    Lifetime(Duration),
}

/// Reason for which a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room, or its stream is being reset: later.
    Later,
    /// The association takes no more messages.
    Closed,
}

/// Options of a peer in virtual time.
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// Address of the other end.
    pub remote: SocketAddr,
    /// Whether it waits for the other end to connect.
    pub server: bool,
    /// Values of RTO.Initial, RTO.Min and RTO.Max.
    pub rto: [Duration; 3],
    /// Whether it offers user message interleaving (RFC 8260).
    pub interleaving: bool,
    /// Largest message in bytes, in either direction.
    pub largest_message: usize,
}

impl Machine for Box<dyn Stack> {
    fn handle_datagram(
        &mut self,
        now: Instant,
        meta: base::DatagramMeta,
        datagram: base::Datagram,
    ) {
        (**self).handle_datagram(now, meta, datagram);
    }
    fn handle_icmp(&mut self, now: Instant, icmp: base::Icmp<'_>) {
        (**self).handle_icmp(now, icmp);
    }
    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }
    fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<base::Transmit> {
        (**self).poll_transmit(now, buffer)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }
}

impl Stack for Box<dyn Stack> {
    fn connect(&mut self, now: Instant) {
        (**self).connect(now);
    }
    fn poll_event(&mut self) -> Option<StackEvent> {
        (**self).poll_event()
    }
    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Refused> {
        (**self).send(now, message)
    }
    fn receive(&mut self, now: Instant) -> Option<Incoming> {
        (**self).receive(now)
    }
    fn reset_streams(&mut self, now: Instant, streams: u16) {
        (**self).reset_streams(now, streams);
    }
    fn shutdown(&mut self, now: Instant) {
        (**self).shutdown(now);
    }
    fn abort(&mut self, now: Instant) {
        (**self).abort(now);
    }
}

/// Types of chunks by which ends are known of stacks that do not report them.
const ABORT: u8 = 6;
const SHUTDOWN_COMPLETE: u8 = 14;

/// Whether a SCTP packet carries a chunk of this type.
fn carries(packet: &[u8], chunk_type: u8) -> bool {
    const COMMON_HEADER: usize = 12;
    let mut rest = packet.get(COMMON_HEADER..).unwrap_or_default();
    while let [kind, _, high, low, ..] = rest {
        if *kind == chunk_type {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(4).next_multiple_of(4);
        rest = rest.get(length..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_is_found_behind_other_chunks_and_not_in_rubbish() {
        let mut packet = vec![0; 12];
        packet.extend([11, 0, 0, 5, 9, 0, 0, 0]);
        assert!(!carries(&packet, ABORT));
        packet.extend([6, 0, 0, 4]);
        assert!(carries(&packet, ABORT));
        assert!(!carries(&[6; 10], ABORT));
    }
}
