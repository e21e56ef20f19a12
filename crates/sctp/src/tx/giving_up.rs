//! Giving messages up of which something was sent (RFC 3758, section 3.5; RFC 7496, section 3).
//!
//! A message is judged when something of it would be sent again or for the first time, and, if its
//! lifetime is over, when the peer reports it missing: not by the clock alone, since what is on its
//! way may still arrive. It is given up as a whole, with the fragments that were acknowledged by gap and
//! those that have not been sent (section 3.5, rule A3).

use core::ops::Range;

use base::Instant;
use recovery::Load;

use super::message::{Fragment, MessageKey};
use super::outstanding::OutstandingChunk;
use super::partial_reliability::{AbandonCounts, AbandonNews};
use super::send_options::{AbandonReason, Abandoned, Reliability};
use super::sender::Sender;
use crate::path_id::PathId;
use crate::wire::{DoesNotFit, PacketBuilder};

/// What the application is told.
impl Sender {
    /// Remembers that a message was given up.
    pub(crate) fn note_abandoned(&mut self, abandoned: Abandoned) {
        self.abandonments.get_or_insert_default().note(abandoned);
    }

    /// Whether the application is to be told of messages given up.
    #[inline]
    pub(crate) fn has_abandoned(&self) -> bool {
        self.abandonments.is_some()
    }

    /// The next message given up of which the application was not told.
    pub(crate) fn poll_abandoned(&mut self) -> Option<AbandonNews> {
        self.abandonments.as_mut()?.poll()
    }

    /// How many messages were given up.
    pub(crate) fn abandon_counts(&self) -> AbandonCounts {
        self.abandonments.as_ref().map(|news| news.counts()).unwrap_or_default()
    }
}

/// Which messages are given up.
impl Sender {
    /// Whether anything that was sent may be given up, or was.
    #[inline]
    pub(crate) fn may_give_up(&self) -> bool {
        self.partial.is_some()
    }

    /// A fragment of a message that may be given up leaves as `unit`.
    pub(super) fn register_partial(&mut self, unit: u64, fragment: &Fragment) {
        self.partial.get_or_insert_default().register(unit, fragment);
    }

    /// A chunk was acknowledged cumulatively.
    pub(super) fn release_partial(&mut self, chunk: &OutstandingChunk) {
        if let Some(partial) = &mut self.partial {
            partial.release(chunk);
        }
    }

    /// Gives up what is about to be sent again and is not to be. Looks at as many units as make up
    /// `bytes` that are.
    pub(super) fn give_up_lost(&mut self, now: Instant, path: PathId, bytes: usize) {
        let (mut from, mut left) = (0, bytes);
        while left > 0
            && let Some((unit, weight)) = self.recovery.next_again(path.number(), from)
        {
            from = unit + 1;
            match self.exhausted(now, unit) {
                Some((key, reason)) => {
                    self.give_up(key, reason);
                }
                None => left = left.saturating_sub(self.overhead() + weight as usize),
            }
        }
        self.advance_forward();
    }

    /// Gives up what the peer reports missing at the edge if its lifetime is over.
    fn give_up_missing(&mut self, now: Instant) {
        loop {
            self.advance_forward();
            let Some(partial) = &self.partial else { return };
            let edge = partial.forward.advanced();
            let ledger = self.recovery.ledger();
            let reported = ledger.highest_reported().is_some_and(|end| edge < end);
            if !reported || ledger.is_gap_acked(edge) {
                return;
            }
            match self.exhausted(now, edge) {
                Some((key, AbandonReason::Lifetime)) => {
                    self.give_up(key, AbandonReason::Lifetime);
                }
                _ => return,
            }
        }
    }

    /// Gives up what would leave next and is not to, new data on `data_path`.
    pub(crate) fn give_up_stale(&mut self, now: Instant, data_path: PathId) {
        if self.partial.is_some() {
            for path in (0..self.recovery.path_count()).map(PathId::from) {
                self.give_up_before(now, path, path == data_path);
            }
        }
    }

    /// Likewise for one path.
    #[inline]
    pub(super) fn give_up_before(&mut self, now: Instant, path: PathId, takes_new: bool) {
        if self.partial.is_some() {
            self.give_up_lost(now, path, self.fragment_size());
            if takes_new {
                self.give_up_begun(now, path);
            }
        }
    }

    /// Gives up the message that goes on next if its lifetime is over.
    fn give_up_begun(&mut self, now: Instant, path: PathId) {
        while self.partial.is_some()
            && let Some((key, queued_at, options)) = self.queue.peek_begun()
            && let Reliability::Lifetime(lifetime) = options.reliability
            && now >= queued_at + lifetime
            && self.recovery.next_again(path.number(), 0).is_none()
            && self.recovery.may_send(now, path.number(), Load::New)
            && self.give_up(key, AbandonReason::Lifetime)
        {
            self.advance_forward();
        }
    }

    /// Bytes of messages on their way that are less important than `priority`, as far as `enough`.
    pub(crate) fn evictable(&self, priority: u32, enough: usize) -> usize {
        let Some(partial) = &self.partial else { return 0 };
        let cumulative = self.recovery.ledger().cumulative();
        let held = |unit: u64| {
            let chunk = self.outstanding.get(unit.checked_sub(cumulative)?)?;
            Some(chunk.payload_len())
        };
        let mut bytes = 0;
        for (key, runs) in partial.less_important(priority) {
            bytes += runs.iter().flat_map(Range::clone).filter_map(held).sum::<usize>();
            bytes += self.queue.rest_of(key);
            if bytes >= enough {
                break;
            }
        }
        bytes
    }

    /// Gives up the least important message that is on its way, if it is less important than
    /// `priority`: false if there is none.
    pub(crate) fn evict(&mut self, priority: u32) -> bool {
        let partial = self.partial.as_ref();
        let least = partial.and_then(|partial| partial.less_important(priority).next());
        let Some((key, _)) = least else { return false };
        let given_up = self.give_up(key, AbandonReason::Priority);
        self.advance_forward();
        given_up
    }

    /// Gives up a message of which something was sent, if that is allowed.
    pub(crate) fn give_up_open(&mut self, key: MessageKey) -> bool {
        let given_up = self.give_up(key, AbandonReason::Application);
        self.advance_forward();
        given_up
    }

    fn exhausted(&self, now: Instant, unit: u64) -> Option<(MessageKey, AbandonReason)> {
        let partial = self.partial.as_ref()?;
        partial.exhausted(now, unit, &self.recovery, &self.outstanding)
    }

    fn give_up(&mut self, key: MessageKey, reason: AbandonReason) -> bool {
        let Some(partial) = &mut self.partial else { return false };
        let Some(message) = partial.take(key) else { return false };
        let cumulative = self.recovery.ledger().cumulative();
        for run in message.runs() {
            let run = run.start.max(cumulative)..run.end;
            for unit in run.clone() {
                self.outstanding.abandon(unit - cumulative);
            }
            if !run.is_empty() {
                self.recovery.abandon(run);
            }
        }
        if !message.has_ended() {
            // The peer must learn that the message ends here: a TSN that stands for the rest.
            self.queue.drop_rest(key);
            self.recovery.append_abandoned();
            self.outstanding.push(OutstandingChunk::abandoned_end(key));
        }
        let (stream, context) = (key.stream, message.context());
        self.note_abandoned(Abandoned { stream, context, reason, sent: true });
        true
    }
}

/// What the peer is told.
impl Sender {
    fn advance_forward(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.forward.advance(self.recovery.ledger().cumulative(), &self.outstanding);
        }
    }

    /// The peer acknowledged something: what it reports missing may be given up, and it may know what was. `advanced`:
    /// the cumulative point moved.
    pub(super) fn on_partial_acked(&mut self, now: Instant, advanced: bool) {
        self.give_up_missing(now);
        if let Some(partial) = &mut self.partial {
            partial.forward.on_acked(now, &self.recovery, advanced);
            partial.forward.update_timer(now, &self.recovery);
        }
    }

    /// T3-rtx expired (rule A5).
    pub(super) fn on_forward_lost(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.forward.on_lost(&self.recovery);
        }
    }

    /// Whether a FORWARD TSN is to be sent now.
    #[inline]
    pub(crate) fn is_forward_due(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| partial.forward.is_due())
    }

    /// Whether all that is outstanding was given up, and the peer has nothing that waits for it.
    pub(crate) fn is_given_up(&self) -> bool {
        let ledger = self.recovery.ledger();
        let advanced = self.partial.as_ref().map(|partial| partial.forward.advanced());
        advanced == Some(ledger.next_unit()) && !ledger.has_reports()
    }

    /// When a FORWARD TSN is sent again.
    pub(crate) fn forward_deadline(&self) -> Option<Instant> {
        self.partial.as_ref()?.forward.deadline()
    }

    /// Time has come to `now`: if the timer of FORWARD TSN expired, on which path that is an error.
    pub(crate) fn on_forward_timer(&mut self, now: Instant) -> Option<PathId> {
        self.partial.as_mut()?.forward.on_timer(now)
    }

    /// The timer of FORWARD TSN runs while something is to be acknowledged and T3-rtx does not (rule C5).
    #[inline]
    pub(crate) fn update_forward_timer(&mut self, now: Instant) {
        if let Some(partial) = &mut self.partial {
            partial.forward.update_timer(now, &self.recovery);
        }
    }

    /// Appends the FORWARD TSN that is due, with as many streams as fit.
    pub(crate) fn append_forward(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
    ) -> Result<(), DoesNotFit> {
        let Some(partial) = &mut self.partial else { return Ok(()) };
        let outstanding = (self.recovery.ledger().cumulative(), &self.outstanding);
        partial.forward.append(now, path, outstanding, self.interleaving, packet)
    }
}
