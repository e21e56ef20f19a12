//! The DATA or I-DATA chunks of the next packet: retransmissions before new data, as far as the
//! packet, the congestion window and the peer's window allow (RFC 9260, section 6.1).

use base::Instant;
use recovery::{Load, PathId, Ride, Space};

use super::message::Fragment;
use super::outstanding::OutstandingChunk;
use super::send_options::Reliability;
use super::sender::Sender;
use crate::wire::chunk::DataFlags;
use crate::wire::{DoesNotFit, KeyId, PacketBuilder, Tsn};

/// Most outstanding chunks. Gap ack blocks reach 65,535 TSNs beyond the cumulative TSN ack, and no
/// more ordered messages of a stream may be outstanding (RFC 9260, section 6.1), since their SSNs
/// would repeat. The packet being built may add up to 3,275 chunks.
const SEND_WINDOW: u64 = 60_000;

/// Contents of the next packet with DATA, chosen by [`Sender::next_filling`] for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Filling {
    /// Kind of the first chunk.
    first: Load,
    /// Whether new data may leave on the path.
    takes_new: bool,
    /// Whether a partly filled packet need not wait for more data (SCTP_NODELAY).
    no_delay: bool,
    /// The key of the first chunk, which authenticates the packet.
    key: Option<KeyId>,
}

impl Filling {
    /// The shared key that authenticates the packet.
    pub(crate) fn key(&self) -> Option<KeyId> {
        self.key
    }
}

impl Sender {
    /// Contents of an empty packet on `path`, if the windows allow any. `takes_new`: new data
    /// leaves on this path; `no_delay`: a partly filled packet of it does not wait for more.
    pub(crate) fn next_filling(
        &mut self,
        now: Instant,
        path: PathId,
        takes_new: bool,
        no_delay: bool,
    ) -> Option<Filling> {
        self.give_up_before(now, path, takes_new);
        // Section 6.1, rule C: retransmissions precede new data. During an outage new data probes
        // the path first: if only acknowledgements are lost, the data arrives.
        let mut again = self.recovery.next_again(path, 0);
        if again.is_some()
            && takes_new
            && self.recovery.asks_by_data(now, path)
            && self.may_begin_packet(now, path, no_delay)
        {
            again = None;
        }
        let (first, may_leave, key) = match again {
            Some((unit, _)) => {
                let may_leave = self.recovery.may_send(now, path, Load::Again);
                (Load::Again, may_leave, self.keys.of(unit))
            }
            None if takes_new && self.may_begin_packet(now, path, no_delay) => {
                (Load::New, true, self.keys.resolve(self.queue.peek_key()))
            }
            None => return None,
        };
        may_leave.then_some(Filling { first, takes_new, no_delay, key })
    }

    /// Fills the packet for `path` as chosen; returns whether any chunk was added.
    pub(crate) fn fill(
        &mut self,
        now: Instant,
        path: PathId,
        filling: Filling,
        packet: &mut PacketBuilder<'_>,
    ) -> bool {
        let filled = match filling.first {
            Load::New => self.fill_new(now, path, packet, false),
            Load::Again => {
                let again = self.fill_again(now, path, packet);
                let goes_on = filling.takes_new
                    && self.recovery.next_again(path, 0).is_none()
                    && self
                        .room_for_new(packet)
                        .is_some_and(|room| self.may_begin(now, path, room, filling.no_delay));
                again | (goes_on && self.fill_new(now, path, packet, again))
            }
        };
        if filled {
            self.recovery.on_sent(now, path);
        }
        filled
    }

    /// Appends retransmissions, of which the first is allowed.
    #[inline(never)]
    fn fill_again(&mut self, now: Instant, path: PathId, packet: &mut PacketBuilder<'_>) -> bool {
        let (mut any, mut from) = (false, 0);
        while let Some((unit, weight)) = self.recovery.next_again(path, from)
            && self.append_chunk(packet, unit).is_ok()
        {
            self.recovery.draft_again(now, path, unit, weight);
            (any, from) = (true, unit + 1);
        }
        if any {
            self.append_bundle_behind(path, packet, from);
        }
        any
    }

    /// Whether new data may begin an empty packet.
    fn may_begin_packet(&mut self, now: Instant, path: PathId, no_delay: bool) -> bool {
        // This runs after every packet, mostly with an empty queue.
        if self.queue.peek_len().is_none() {
            return false;
        }
        let full_packet =
            self.fragment_size().saturating_sub(self.overhead() + usize::from(self.auth_len));
        self.may_begin(now, path, full_packet, no_delay)
    }

    /// Whether new data may begin a packet with `room` bytes for its payload.
    fn may_begin(&mut self, now: Instant, path: PathId, room: usize, no_delay: bool) -> bool {
        self.queue.peek_len().is_some_and(|waiting| self.window_allows(waiting.min(room)))
            && (no_delay || !self.should_wait_for_more(room))
            && self.recovery.may_send(now, path, Load::New)
    }

    /// Most payload bytes of one more chunk in the packet; `None` if there is no room.
    fn room_for_new(&self, packet: &PacketBuilder<'_>) -> Option<usize> {
        self.remaining(packet).checked_sub(self.overhead()).filter(|room| *room > 0)
    }

    /// Appends new data, of which the first chunk is allowed.
    fn fill_new(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        follows_data: bool,
    ) -> bool {
        let mut any = false;
        let idle = self.recovery.ledger().flight_bytes() == 0;
        while let Some(waiting) = self.queue.peek_len()
            && let Some(room) = self.room_for_new(packet)
            && packet.admits(self.keys.resolve(self.queue.peek_key()))
        {
            // A message that fits a packet of its own is not cut to fill this one.
            if (any || follows_data) && waiting > room {
                break;
            }
            let length = waiting.min(room);
            if any && !self.window_allows(length) {
                break;
            }
            if !any && !follows_data {
                self.append_bundle(now, path, packet, length);
            }
            let Some(fragment) = self.queue.next_fragment(room) else { break };
            let last = self.queue.is_empty();
            self.append_new(now, path, packet, fragment, last);
            any = true;
        }
        if any {
            self.queue.on_packet_end();
        }
        self.flowing |= any && idle;
        any
    }

    /// Appends copies of chunks in flight on `path`, by the policy, before a new chunk of `length`
    /// bytes: in the order of TSNs (section 6.10), without a change of the protocol. The
    /// receiver drops duplicates.
    fn append_bundle(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        length: usize,
    ) {
        if self.recovery.policy().redundancy.bundling.is_some() {
            self.append_copies_before(now, path, packet, length);
        }
    }

    #[inline(never)]
    fn append_copies_before(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        length: usize,
    ) {
        let cost = self.cost_of_copies();
        let room = (self.remaining(packet) as u32).saturating_sub(cost(length as u32));
        let next = self.recovery.ledger().next_unit();
        let bundle = self.recovery.bundle_before(
            now,
            path,
            next,
            length as u32,
            Space { room, ride: Ride::Apart, cost },
        );
        for (unit, _) in bundle.iter().rev() {
            self.append_along(path, packet, *unit);
        }
    }

    /// Appends copies of chunks in flight on `path`, by the policy, after retransmissions, of which
    /// the last is the one before unit `from`.
    fn append_bundle_behind(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, from: u64) {
        let (bytes, room) = (self.recovery.drafted_bytes() as u32, self.remaining(packet) as u32);
        let cost = self.cost_of_copies();
        for (unit, _) in
            self.recovery.bundle_behind(path, from, bytes, Space { room, ride: Ride::Apart, cost })
        {
            self.append_along(path, packet, unit);
        }
    }

    fn append_along(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, unit: u64) {
        if self.append_chunk(packet, unit).is_ok() {
            self.recovery.draft_along(path, unit);
        }
    }

    /// Bytes left in the packet for chunks of user data.
    fn remaining(&self, packet: &PacketBuilder<'_>) -> usize {
        packet.remaining_for(self.chunk_type())
    }

    /// Bytes that a copy takes in a packet, by its payload bytes.
    fn cost_of_copies(&self) -> impl Fn(u32) -> u32 + use<> {
        let overhead = self.overhead() as u32;
        move |weight| (weight + overhead).next_multiple_of(4)
    }

    /// Section 6.1, rule A: the peer's window has room for all data in flight, in the packet being
    /// built, and this chunk; or there is no other data, and this chunk probes the window. At
    /// most [`SEND_WINDOW`] chunks are outstanding.
    fn window_allows(&self, length: usize) -> bool {
        let drafted = self.recovery.drafted_bytes();
        let ledger = self.recovery.ledger();
        if ledger.next_unit() - ledger.cumulative() > SEND_WINDOW {
            return false;
        }
        drafted + length as u64 <= self.peer_rwnd()
            || (drafted == 0 && self.recovery.ledger().flight_bytes() == 0)
    }

    /// Nagle's rule (RFC 9260, section 6.1): with data in flight, a partly filled packet waits for
    /// more data. It does not apply to the first data after an idle period, nor to the rest of
    /// a partly sent message.
    fn should_wait_for_more(&self, room: usize) -> bool {
        !self.flowing
            && self.queue.buffered() < room
            && self.recovery.ledger().flight_bytes() > 0
            && !self.queue.finishes_next()
    }

    fn append_new(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        fragment: Fragment,
        last: bool,
    ) {
        if fragment.beginning {
            let waited = now.since(fragment.queued_at);
            self.queueing.messages += 1;
            self.queueing.total += waited;
            self.queueing.max = self.queueing.max.max(waited);
        }
        let weight = fragment.payload.len();
        let unit = self.recovery.draft_new(path, 1, weight as u32);
        let asks_for_sack = self.recovery.asks_for_ack(path, last);
        let flags = data_flags(&fragment, asks_for_sack);
        let partial =
            self.gives_up && (fragment.reliability != Reliability::Full || fragment.in_parts);
        if partial {
            self.register_partial(unit, &fragment);
        }
        if let Some(key) = fragment.key {
            self.keys.insert(unit, key);
        }
        self.outstanding.push(OutstandingChunk::new(fragment, flags, partial));
        let fits = self.append_chunk(packet, unit);
        debug_assert!(fits.is_ok(), "the fragment was cut to fit");
    }

    /// Appends a copy of a unit in flight on another path to the packet for `path`; returns false
    /// if the packet or the congestion window has no room.
    pub(crate) fn append_copy(
        &mut self,
        path: PathId,
        unit: u64,
        packet: &mut PacketBuilder<'_>,
    ) -> bool {
        let index = unit.checked_sub(self.recovery.ledger().cumulative());
        let Some(chunk) = index.and_then(|index| self.outstanding.get(index)) else { return false };
        let weight = chunk.payload_len();
        let fits = (weight + self.overhead()).next_multiple_of(4) <= self.remaining(packet);
        if !fits || !self.recovery.may_copy(path, weight as u64) {
            return false;
        }
        self.recovery.send_copy(path, unit) && self.append_chunk(packet, unit).is_ok()
    }

    /// The key that authenticates the chunk of an outstanding unit.
    pub(crate) fn key_of(&self, unit: u64) -> Option<KeyId> {
        self.keys.of(unit)
    }

    /// Appends the chunk of an outstanding unit, unless another key authenticates the packet.
    fn append_chunk(&self, packet: &mut PacketBuilder<'_>, unit: u64) -> Result<(), DoesNotFit> {
        if !packet.admits(self.keys.of(unit)) {
            return Err(DoesNotFit);
        }
        let index = unit.checked_sub(self.recovery.ledger().cumulative()).ok_or(DoesNotFit)?;
        let chunk = self.outstanding.get(index).ok_or(DoesNotFit)?;
        let tsn = Tsn(unit as u32);
        if self.interleaving {
            packet.append_with(chunk.i_data(tsn), chunk.payload())
        } else {
            packet.append_with(chunk.data(tsn), chunk.payload())
        }
    }
}

/// Flags of a fragment's DATA chunk. `asks_for_sack`: the policy requests an immediate SACK.
fn data_flags(fragment: &Fragment, asks_for_sack: bool) -> DataFlags {
    let flag = |set: bool, flag| if set { flag } else { DataFlags::default() };
    flag(fragment.beginning, DataFlags::BEGINNING)
        .with(flag(fragment.ending, DataFlags::ENDING))
        .with(flag(fragment.message.unordered, DataFlags::UNORDERED))
        .with(flag(fragment.immediate || asks_for_sack, DataFlags::IMMEDIATE))
}
