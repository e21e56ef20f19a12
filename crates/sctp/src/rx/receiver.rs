//! The receiving side's interface to the association: chunks in, messages and SACKs out, and the
//! receive window between them (RFC 9260, sections 6.2 and 6.2.1).
//!
//! The advertised window is the buffer minus the kept payload and an overhead per chunk, but
//! acceptance depends on the payload alone, up to twice the buffer with overhead: a peer counts
//! only payload against the window, and must not lose permissible chunks because they are small.

mod memory;
mod received;
mod reconfiguration;

use core::num::NonZeroU32;

use ::endpoint::memory::MemoryState;
use base::Instant;
use recovery::AckTiming;

pub(crate) use self::received::Received;
use super::acknowledgement::{Acknowledgement, PacketSummary};
pub(crate) use super::data::{Data, Fault, Skipped, Violation};
use super::inbox::{CHUNK_OVERHEAD, Inbox};
use super::message::Message;
use super::reassembly::Reassembly;
use super::stream::{InboundStreams, Numbering};
use super::tracker::{Observation, TsnTracker};
use crate::wire::ids::Tsn;

/// A window smaller than a packet is advertised as 0 (silly window avoidance: RFC 9260, section
/// 6.2, and RFC 1122, section 4.2.3.3). Also the smallest buffer, as section 3.3.2 requires.
const FULL_PACKET: u32 = 1500;

/// Settings of the receiving side, from the association's options and the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiverConfig {
    /// The receive buffer in bytes (at least 1500): the advertised window while it is empty.
    pub(crate) buffer: u32,
    /// Longest message accepted, in bytes; at most the buffer unless delivered in parts.
    pub(crate) max_message: u32,
    /// Delay of SACKs, and packets after which none is delayed.
    pub(crate) sack: AckTiming,
    /// Whether user data is in I-DATA (RFC 8260).
    pub(crate) interleaving: bool,
    /// Whether the peer may abandon messages (RFC 3758).
    pub(crate) partial_reliability: bool,
    /// Bytes of an incomplete message from which on parts are delivered (at most half the buffer).
    pub(crate) partial_delivery: Option<u32>,
}

impl Default for ReceiverConfig {
    /// 1 MiB of buffer, messages up to half of it, SACKs as in the RFC, no extension.
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

/// Treatment of a DATA chunk, with the response to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum DataVerdict {
    /// Accepted; messages may be ready.
    Accepted,
    /// Received before; reported in the next SACK.
    Duplicate,
    /// Dropped for lack of room, or too far ahead: it counts as lost.
    Dropped,
    /// Acknowledged but not delivered: answer with ERROR, Invalid Stream Identifier (section 6.5).
    InvalidStream,
    /// Empty: abort with No User Data (section 6.2).
    NoUserData,
    /// Invalid: abort with Protocol Violation.
    ProtocolViolation(Violation),
    /// The message is longer than this side accepts and could never be completed: abort with Out of
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

/// Contents of a SACK (section 3.3.4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackContents<'a> {
    /// The last TSN received before the first gap.
    pub(crate) cumulative: Tsn,
    /// Advertised receiver window credit, in bytes.
    pub(crate) a_rwnd: u32,
    tracker: &'a TsnTracker,
}

impl<'a> SackContents<'a> {
    /// Gap ack blocks in ascending order: first and last offset from the cumulative TSN ack. At
    /// most 1024; those that do not fit the packet are omitted from the end.
    pub(crate) fn gaps(&self) -> impl ExactSizeIterator<Item = (u16, u16)> + Clone + 'a {
        self.tracker.gaps()
    }

    /// Duplicate TSNs, at most 32, to be omitted if gap ack blocks need the room.
    pub(crate) fn duplicates(&self) -> &'a [Tsn] {
        self.tracker.duplicates()
    }
}

/// The receiving side of one association.
///
/// For each packet: [`Receiver::on_data`] for each of its DATA or I-DATA chunks and
/// [`Receiver::on_forward_tsn`] for each FORWARD-TSN, then [`Receiver::on_packet_end`]. Whenever
/// [`Receiver::sack_due`], or DATA leaves while [`Receiver::sack_waiting`], send [`Receiver::sack`]
/// and report it by [`Receiver::on_sack_sent`].
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: u32,
    tracker: TsnTracker,
    reassembly: Reassembly,
    acknowledgement: Acknowledgement,
    /// Contents of the present packet so far.
    packet: PacketSummary,
    /// The window of the last SACK (initially of INIT or INIT ACK).
    advertised: u32,
    /// State of the memory budget.
    scarcity: MemoryState,
}

impl Receiver {
    /// A receiver for a peer whose first TSN is `peer_initial_tsn` and that may use
    /// `inbound_streams`. Sizes out of range are clamped.
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

    /// Changes the timing of SACKs, from the next packet on.
    pub(crate) fn set_sack_timing(&mut self, timing: AckTiming) {
        self.acknowledgement.set_timing(timing);
    }

    /// Processes a DATA chunk, or an I-DATA chunk if these were agreed on.
    pub(crate) fn on_data(&mut self, data: Data) -> DataVerdict {
        if data.payload.is_empty() {
            return DataVerdict::NoUserData;
        }
        self.packet.gap |= self.tracker.has_gaps();
        self.packet.immediate |= data.immediate;
        let tsn = self.tracker.unwrap(data.tsn);
        let in_order = match self.tracker.classify(tsn) {
            Observation::New { in_order } => in_order,
            Observation::Duplicate => return self.on_duplicate(data.tsn),
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
            // Without a message for the application to receive, no room will ever be freed.
            let stuck = in_order && !self.has_message() && !self.deliver_parts();
            return if stuck { DataVerdict::MessageTooLarge } else { DataVerdict::Dropped };
        }
        self.tracker.record(tsn);
        self.packet.new += 1;
        let placed = match (known_stream, in_order) {
            (false, _) => Ok(()),
            (true, true) => self.reassembly.take_in_order(tsn, data),
            (true, false) => self.hold(tsn, data),
        };
        match placed.and_then(|()| self.reassembly.take_reached(self.tracker.cumulative())) {
            Err(fault) => fault.into(),
            Ok(()) if known_stream => DataVerdict::Accepted,
            Ok(()) => DataVerdict::InvalidStream,
        }
    }

    #[cold]
    #[inline(never)]
    fn on_duplicate(&mut self, tsn: Tsn) -> DataVerdict {
        self.tracker.record_duplicate(tsn);
        self.packet.duplicates += 1;
        DataVerdict::Duplicate
    }

    /// Processes a FORWARD-TSN or I-FORWARD-TSN: the peer abandoned what is missing up to
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
            // Outdated: the SACK with this information may be lost.
            self.packet.duplicates += 1;
            self.packet.immediate = true;
            return Ok(());
        }
        self.packet.new += 1;
        self.reassembly.skip(tsn, skipped)?;
        self.reassembly.take_reached(self.tracker.cumulative())
    }

    /// Finishes a packet after its last chunk. `shutdown_sent`: the association is in
    /// SHUTDOWN-SENT.
    pub(crate) fn on_packet_end(&mut self, now: Instant, shutdown_sent: bool) {
        let mut packet = core::mem::take(&mut self.packet);
        packet.gap |= self.tracker.has_gaps();
        self.acknowledgement.on_packet(now, packet, shutdown_sent);
    }

    /// Removes and returns the next message. That may make a SACK due that reports the window.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Message> {
        let message = self.reassembly.receive()?;
        let window = self.a_rwnd();
        let enough = FULL_PACKET.max(self.buffer / 2).min(self.buffer);
        // A closed window also opens by less once the application has received everything: no
        // further call would open it more.
        let reopened = self.advertised == 0 && window > 0 && !self.has_message();
        if reopened || window.saturating_sub(self.advertised) >= enough {
            self.acknowledgement.request(now);
        }
        Some(message)
    }

    /// Takes over the messages of a restarted association.
    pub(crate) fn inherit(&mut self, mut old: Receiver) {
        self.reassembly.inbox_mut().inherit(old.reassembly.inbox_mut());
    }

    /// The message that the application would receive next.
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

    /// Whether a SACK is delayed and should be bundled with DATA that leaves.
    pub(crate) fn sack_waiting(&self) -> bool {
        self.acknowledgement.waiting()
    }

    /// Instant at which [`Receiver::sack_due`] becomes true.
    pub(crate) fn sack_deadline(&self) -> Option<Instant> {
        self.acknowledgement.deadline()
    }

    /// Contents of a SACK sent now. [`Receiver::on_sack_sent`] reports its sending.
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

    /// Delivers parts of messages if that is enabled; returns whether there was any.
    fn deliver_parts(&mut self) -> bool {
        if self.reassembly.inbox().partial_delivery.is_some() {
            self.reassembly.deliver_parts();
        }
        self.has_message()
    }

    #[inline(never)]
    fn hold(&mut self, tsn: u64, data: Data) -> Result<(), Fault> {
        self.reassembly.hold(tsn, data)
    }

    /// Makes room for chunk `tsn` if necessary, by dropping held chunks with higher TSNs (section
    /// 6.2: the largest TSN held for reordering goes first). Returns false if there is still no
    /// room.
    #[inline]
    fn make_room(&mut self, tsn: u64, length: usize) -> bool {
        self.fits(length) || self.drop_held(tsn, length)
    }

    #[cold]
    fn drop_held(&mut self, tsn: u64, length: usize) -> bool {
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
