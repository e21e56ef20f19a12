//! The receiving side as the association sees it: chunks in, messages and SACKs out, and the
//! receive window between them (RFC 9260, sections 6.2 and 6.2.1).
//!
//! The window that is advertised is the buffer without the payload kept and without an overhead per
//! chunk, but what is accepted is judged by payload alone, up to twice the buffer with overhead:
//! a peer counts only payload against the window, and must not lose chunks that it was entitled to
//! send because they were small.

mod memory;
mod reconfiguration;

use core::num::NonZeroU32;

use ::endpoint::memory::MemoryState;
use base::Instant;
use recovery::AckTiming;

pub(crate) use self::memory::Received;
use super::acknowledgement::{Acknowledgement, PacketSummary};
pub(crate) use super::data::{Data, Fault, Skipped, Violation};
use super::inbox::{CHUNK_OVERHEAD, Inbox};
use super::message::Message;
use super::reassembly::Reassembly;
use super::stream::{InboundStreams, Numbering};
use super::tracker::{Observation, TsnTracker};
use crate::wire::ids::Tsn;

/// A window smaller than a packet is advertised as none (silly window avoidance: RFC 9260, section
/// 6.2, and RFC 1122, section 4.2.3.3). Also the smallest buffer: section 3.3.2 asks for it.
const FULL_PACKET: u32 = 1500;

/// How a receiver is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiverConfig {
    /// The receive buffer, in bytes (at least 1500): the window advertised while it is empty.
    pub(crate) buffer: u32,
    /// The longest message taken, in bytes; no longer than the buffer unless delivered in parts.
    pub(crate) max_message: u32,
    /// When to acknowledge.
    pub(crate) sack: AckTiming,
    /// User data comes in I-DATA (RFC 8260).
    pub(crate) interleaving: bool,
    /// The peer may give messages up (RFC 3758).
    pub(crate) partial_reliability: bool,
    /// Bytes of an unfinished message from which on they are delivered (at most half the buffer).
    pub(crate) partial_delivery: Option<u32>,
}

impl Default for ReceiverConfig {
    /// 1 MiB of buffer, messages up to half of it, SACKs as the RFC has them, no extension.
    fn default() -> ReceiverConfig {
        ReceiverConfig {
            buffer: 1 << 20,
            max_message: 1 << 19,
            sack: AckTiming { quick: 1, ..AckTiming::default() },
            interleaving: false,
            partial_reliability: false,
            partial_delivery: None,
        }
    }
}

/// What became of a DATA chunk, and what the association owes the peer for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum DataVerdict {
    /// Taken; messages may be ready.
    Accepted,
    /// Received before; it will be in the next SACK.
    Duplicate,
    /// No room, or too far ahead: as if it had never come.
    Dropped,
    /// Acknowledged but not taken: answer with ERROR, Invalid Stream Identifier (section 6.5).
    InvalidStream,
    /// Nothing in it: abort with No User Data (section 6.2).
    NoUserData,
    /// Abort with Protocol Violation.
    ProtocolViolation(Violation),
    /// The message is longer than this side takes and could never be finished: abort with Out of
    /// Resource.
    MessageTooLarge,
}

impl From<Fault> for DataVerdict {
    fn from(fault: Fault) -> DataVerdict {
        match fault {
            Fault::Violation(violation) => DataVerdict::ProtocolViolation(violation),
            Fault::MessageTooLarge => DataVerdict::MessageTooLarge,
        }
    }
}

/// What a SACK says (section 3.3.4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackContents<'a> {
    /// Cumulative TSN ack.
    pub(crate) cumulative: Tsn,
    /// Advertised receiver window credit, in bytes.
    pub(crate) a_rwnd: u32,
    tracker: &'a TsnTracker,
}

impl<'a> SackContents<'a> {
    /// Gap ack blocks in ascending order: first and last offset from the cumulative TSN ack. Up to
    /// 1024; what does not fit the packet is left out from the end.
    pub(crate) fn gaps(&self) -> impl ExactSizeIterator<Item = (u16, u16)> + Clone + 'a {
        self.tracker.gaps()
    }

    /// Duplicate TSNs, at most 32, to be left out where gap ack blocks need the place.
    pub(crate) fn duplicates(&self) -> &'a [Tsn] {
        self.tracker.duplicates()
    }
}

/// The receiving side of one association.
///
/// For each packet: [`Receiver::on_data`] for each of its DATA or I-DATA chunks and
/// [`Receiver::on_forward_tsn`] for each FORWARD-TSN, then [`Receiver::on_packet_end`]. Whenever [`Receiver::sack_due`], or DATA leaves while
/// [`Receiver::sack_waiting`], send [`Receiver::sack`] and say so by [`Receiver::on_sack_sent`].
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: u32,
    tracker: TsnTracker,
    reassembly: Reassembly,
    acknowledgement: Acknowledgement,
    /// What the packet being processed has brought so far.
    packet: PacketSummary,
    /// The window of the last SACK (at first of INIT or INIT ACK).
    advertised: u32,
    /// How much memory all associations have left.
    scarcity: MemoryState,
}

impl Receiver {
    /// A receiver for a peer that starts at `peer_initial_tsn` and may use `inbound_streams`.
    /// Sizes out of range are brought into range.
    pub(crate) fn new(
        config: ReceiverConfig,
        peer_initial_tsn: Tsn,
        inbound_streams: u16,
    ) -> Receiver {
        let buffer = config.buffer.max(FULL_PACKET);
        let in_parts = config.partial_delivery.is_some();
        let max_message = config.max_message.clamp(1, if in_parts { u32::MAX } else { buffer });
        let numbering = if config.interleaving { Numbering::Mid } else { Numbering::Ssn };
        let streams = InboundStreams::new(inbound_streams, numbering);
        let mut inbox = Inbox::new(streams, max_message);
        inbox.tolerant = config.partial_reliability;
        inbox.partial_delivery =
            config.partial_delivery.and_then(|bytes| NonZeroU32::new(bytes.clamp(1, buffer / 2)));
        Receiver {
            buffer,
            tracker: TsnTracker::new(peer_initial_tsn),
            reassembly: Reassembly::new(inbox, config.interleaving),
            acknowledgement: Acknowledgement::new(config.sack),
            packet: PacketSummary::default(),
            advertised: buffer,
            scarcity: MemoryState::Ease,
        }
    }

    /// Changes when to acknowledge, from the next packet on.
    pub(crate) fn set_sack_timing(&mut self, timing: AckTiming) {
        self.acknowledgement.set_timing(timing);
    }

    /// Input: a DATA chunk arrived, or an I-DATA chunk where these were agreed on.
    pub(crate) fn on_data(&mut self, data: Data) -> DataVerdict {
        if data.payload.is_empty() {
            return DataVerdict::NoUserData;
        }
        self.packet.gap |= self.tracker.has_gaps();
        self.packet.immediate |= data.immediate;
        let tsn = self.tracker.unwrap(data.tsn);
        let in_order = match self.tracker.classify(tsn) {
            Observation::New { in_order } => in_order,
            Observation::Duplicate => {
                self.tracker.record_duplicate(data.tsn);
                self.packet.duplicates += 1;
                return DataVerdict::Duplicate;
            }
            Observation::OutOfWindow => {
                self.packet.dropped = true;
                return DataVerdict::Dropped;
            }
        };
        let known_stream = self.reassembly.inbox().streams.contains(data.stream);
        if known_stream && !self.has_memory(data.payload.len(), in_order) {
            self.packet.dropped = true;
            return DataVerdict::Dropped;
        }
        if known_stream && !self.make_room(tsn, data.payload.len()) {
            self.packet.dropped = true;
            // With nothing for the application to take, no room will ever come.
            let stuck = in_order && !self.has_message() && !self.deliver_parts();
            return if stuck { DataVerdict::MessageTooLarge } else { DataVerdict::Dropped };
        }
        self.tracker.record(tsn);
        self.packet.new += 1;
        let placed = match (known_stream, in_order) {
            (false, _) => Ok(()),
            (true, true) => self.reassembly.take_in_order(tsn, data),
            (true, false) => self.reassembly.hold(tsn, data),
        };
        match placed.and_then(|()| self.reassembly.take_reached(self.tracker.cumulative())) {
            Err(fault) => fault.into(),
            Ok(()) if known_stream => DataVerdict::Accepted,
            Ok(()) => DataVerdict::InvalidStream,
        }
    }

    /// Input: a FORWARD-TSN or I-FORWARD-TSN arrived: the peer gave up what is missing up to
    /// `new_cumulative`, which are the messages `skipped` (RFC 3758, section 3.6).
    pub(crate) fn on_forward_tsn(
        &mut self,
        new_cumulative: Tsn,
        skipped: impl Iterator<Item = Skipped>,
    ) -> Result<(), Fault> {
        let tsn = self.tracker.unwrap(new_cumulative);
        // It is acknowledged by the rules for DATA.
        self.packet.gap |= self.tracker.has_gaps();
        if !self.tracker.skip_to(tsn) {
            // Out of date: the SACK that told so may be lost.
            self.packet.duplicates += 1;
            self.packet.immediate = true;
            return Ok(());
        }
        self.packet.new += 1;
        self.reassembly.skip(tsn, skipped)?;
        self.reassembly.take_reached(self.tracker.cumulative())
    }

    /// Input: all chunks of the packet have been processed. `shutdown_sent`: the association is in
    /// SHUTDOWN-SENT.
    pub(crate) fn on_packet_end(&mut self, now: Instant, shutdown_sent: bool) {
        let mut packet = core::mem::take(&mut self.packet);
        packet.gap |= self.tracker.has_gaps();
        self.acknowledgement.on_packet(now, packet, shutdown_sent);
    }

    /// The application takes the next message, if one is ready. That may make a SACK due that
    /// tells the peer of the window.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Message> {
        let message = self.reassembly.receive()?;
        let window = self.a_rwnd();
        let enough = FULL_PACKET.max(self.buffer / 2).min(self.buffer);
        // A closed window also opens for less once the application has taken all there is: no
        // further call of it would open the window more.
        let reopened = self.advertised == 0 && window > 0 && !self.has_message();
        if reopened || window.saturating_sub(self.advertised) >= enough {
            self.acknowledgement.request(now);
        }
        Some(message)
    }

    /// Goes on with what waits for the application at an association that began again.
    pub(crate) fn inherit(&mut self, mut old: Receiver) {
        self.reassembly.inbox_mut().inherit(old.reassembly.inbox_mut());
    }

    /// The message that the application would take next.
    pub(crate) fn next_message(&self) -> Option<&Message> {
        self.reassembly.inbox().next()
    }

    /// Whether a message is ready for the application.
    pub(crate) fn has_message(&self) -> bool {
        self.reassembly.inbox().has_ready()
    }

    /// Whether a SACK must be sent at `now`.
    pub(crate) fn sack_due(&self, now: Instant) -> bool {
        self.acknowledgement.due(now)
    }

    /// Whether a SACK waits for its delay and should go along with DATA that leaves.
    pub(crate) fn sack_waiting(&self) -> bool {
        self.acknowledgement.waiting()
    }

    /// When [`Receiver::sack_due`] becomes true by itself.
    pub(crate) fn sack_deadline(&self) -> Option<Instant> {
        self.acknowledgement.deadline()
    }

    /// What a SACK says now. Sending it is reported by [`Receiver::on_sack_sent`].
    pub(crate) fn sack(&self) -> SackContents<'_> {
        SackContents {
            cumulative: self.cumulative(),
            a_rwnd: self.a_rwnd(),
            tracker: &self.tracker,
        }
    }

    /// The contents of [`Receiver::sack`] have been sent.
    pub(crate) fn on_sack_sent(&mut self) {
        self.advertised = self.a_rwnd();
        self.tracker.clear_duplicates();
        self.acknowledgement.on_sack_sent();
    }

    /// The cumulative TSN ack point, for SACK and SHUTDOWN.
    pub(crate) fn cumulative(&self) -> Tsn {
        // The low half is the number on the wire.
        Tsn(self.tracker.cumulative() as u32)
    }

    /// The window to advertise, in bytes.
    pub(crate) fn a_rwnd(&self) -> u32 {
        let used = u32::try_from(self.reassembly.inbox().charge()).unwrap_or(u32::MAX);
        let buffer = self.buffer_to_advertise();
        let window = buffer.saturating_sub(used);
        if window < FULL_PACKET.min(buffer / 2) { 0 } else { window }
    }

    /// If messages may be delivered in parts, delivers what there is. True if there is any.
    fn deliver_parts(&mut self) -> bool {
        if self.reassembly.inbox().partial_delivery.is_some() {
            self.reassembly.deliver_parts();
        }
        self.has_message()
    }

    /// Makes room for chunk `tsn` if need be, by dropping held chunks with higher TSNs (section
    /// 6.2: the largest TSN held for reordering goes first). False when there is still none.
    fn make_room(&mut self, tsn: u64, length: usize) -> bool {
        while !self.fits(length) {
            if self.reassembly.highest_held().is_none_or(|highest| highest < tsn) {
                return false;
            }
            if let Some(dropped) = self.reassembly.drop_highest() {
                self.tracker.forget(dropped);
                self.packet.dropped = true;
            }
        }
        true
    }

    fn fits(&self, length: usize) -> bool {
        let buffer = self.buffer as usize;
        self.reassembly.inbox().bytes() + length <= buffer
            && self.reassembly.inbox().charge() + length + CHUNK_OVERHEAD <= 2 * buffer
    }
}

#[cfg(test)]
mod abandonment_tests;
#[cfg(test)]
mod tests;
