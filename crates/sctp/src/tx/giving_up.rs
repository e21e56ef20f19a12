//! Abandoning messages of which part was sent (RFC 3758, section 3.5; RFC 7496, section 3).
//!
//! A message is judged when part of it would be sent or retransmitted, and, if its lifetime is
//! over, when the peer reports it missing: not by the clock alone, since data in flight may still
//! arrive. It is abandoned as a whole, including fragments acknowledged by gap and those not sent
//! (section 3.5, rule A3).

use core::ops::Range;

use base::Instant;
use recovery::{Load, PathId};

use super::message::{Fragment, MessageKey};
use super::outstanding::OutstandingChunk;
use super::partial_reliability::{AbandonCounts, AbandonNews};
use super::send_options::{AbandonReason, Abandoned, Reliability};
use super::sender::Sender;
use crate::wire::{DoesNotFit, PacketBuilder};

/// Notifications of the application about abandoned messages.
impl Sender {
    /// Records an abandoned message, of which the application will be notified.
    pub(crate) fn note_abandoned(&mut self, abandoned: Abandoned) {
        self.abandonments.get_or_insert_default().note(abandoned);
    }

    /// Whether abandoned messages are to be reported to the application.
    #[inline]
    pub(crate) fn has_abandoned(&self) -> bool {
        self.abandonments.is_some()
    }

    /// Removes and returns the next notification of an abandoned message.
    pub(crate) fn poll_abandoned(&mut self) -> Option<AbandonNews> {
        self.abandonments.as_mut()?.poll()
    }

    /// Messages abandoned before and after part of them was sent.
    pub(crate) fn abandon_counts(&self) -> AbandonCounts {
        self.abandonments.as_ref().map(|news| news.counts()).unwrap_or_default()
    }
}

/// Choice of the messages to abandon.
impl Sender {
    /// Whether sent data may be abandoned, or was.
    #[inline]
    pub(crate) fn may_give_up(&self) -> bool {
        self.partial.is_some()
    }

    /// Records a fragment of a message that may be abandoned, sent as `unit`.
    #[inline(never)]
    pub(super) fn register_partial(&mut self, unit: u64, fragment: &Fragment) {
        self.partial.get_or_insert_default().register(unit, fragment);
    }

    /// A chunk was acknowledged cumulatively.
    pub(super) fn release_partial(&mut self, chunk: &OutstandingChunk) {
        if let Some(partial) = &mut self.partial {
            partial.release(chunk);
        }
    }

    /// Abandons lost data that must not be retransmitted. Examines as many units as make up `bytes`
    /// bytes of other data.
    pub(super) fn give_up_lost(&mut self, now: Instant, path: PathId, bytes: usize) {
        let (mut from, mut left) = (0, bytes);
        while left > 0
            && let Some((unit, weight)) = self.recovery.next_again(path, from)
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

    /// Abandons data at the cumulative point that the peer reports missing, if its lifetime is
    /// over.
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

    /// Abandons data that would be sent next and must not be; new data leaves on `data_path`.
    pub(crate) fn give_up_stale(&mut self, now: Instant, data_path: PathId) {
        if self.partial.is_some() {
            self.give_up_stale_on_all(now, data_path);
        }
    }

    #[inline(never)]
    fn give_up_stale_on_all(&mut self, now: Instant, data_path: PathId) {
        for path in self.recovery.path_ids() {
            self.give_up_before(now, path, path == data_path);
        }
    }

    /// Abandons such data on one path.
    #[inline]
    pub(super) fn give_up_before(&mut self, now: Instant, path: PathId, takes_new: bool) {
        if self.partial.is_some() {
            self.give_up_on(now, path, takes_new);
        }
    }

    #[inline(never)]
    fn give_up_on(&mut self, now: Instant, path: PathId, takes_new: bool) {
        self.give_up_lost(now, path, self.fragment_size());
        if takes_new {
            self.give_up_begun(now, path);
        }
    }

    /// Abandons the partly sent message that is next, if its lifetime is over.
    fn give_up_begun(&mut self, now: Instant, path: PathId) {
        while self.partial.is_some()
            && let Some((key, queued_at, options)) = self.queue.peek_begun()
            && let Reliability::Lifetime(lifetime) = options.reliability
            && now >= queued_at + lifetime
            && self.recovery.next_again(path, 0).is_none()
            && self.recovery.may_send(now, path, Load::New)
            && self.give_up(key, AbandonReason::Lifetime)
        {
            self.advance_forward();
        }
    }

    /// Bytes of partly sent messages that are less important than `priority`, counted up to
    /// `enough`.
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

    /// Abandons the least important partly sent message, if it is less important than `priority`;
    /// returns whether there was one.
    pub(crate) fn evict(&mut self, priority: u32) -> bool {
        let partial = self.partial.as_ref();
        let least = partial.and_then(|partial| partial.less_important(priority).next());
        let Some((key, _)) = least else { return false };
        let given_up = self.give_up(key, AbandonReason::Priority);
        self.advance_forward();
        given_up
    }

    /// Abandons a partly sent message, if that is allowed.
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
            // The peer must learn that the message ends here: a TSN stands for the rest.
            self.queue.drop_rest(key);
            self.recovery.append_abandoned();
            self.outstanding.push(OutstandingChunk::abandoned_end(key));
        }
        let (stream, context) = (key.stream, message.context());
        self.note_abandoned(Abandoned { stream, context, reason, sent: true });
        true
    }
}

/// FORWARD TSN: reports to the peer about abandoned messages.
impl Sender {
    fn advance_forward(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.forward.advance(self.recovery.ledger().cumulative(), &self.outstanding);
        }
    }

    /// Processes an acknowledgement: data that it reports missing may be abandoned, and it may
    /// acknowledge a report. `advanced`: the cumulative point moved.
    pub(super) fn on_partial_acked(&mut self, now: Instant, advanced: bool) {
        self.give_up_missing(now);
        if let Some(partial) = &mut self.partial {
            partial.forward.on_acked(now, &self.recovery, advanced);
            partial.forward.update_timer(now, &self.recovery);
        }
    }

    /// T3-rtx expired: FORWARD TSN is repeated (RFC 3758, section 3.5, rule A5).
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

    /// Whether all outstanding data was abandoned, and the peer holds nothing that waits for it.
    pub(crate) fn is_given_up(&self) -> bool {
        let ledger = self.recovery.ledger();
        let advanced = self.partial.as_ref().map(|partial| partial.forward.advanced());
        advanced == Some(ledger.next_unit()) && !ledger.has_reports()
    }

    /// Deadline of the repetition of a FORWARD TSN.
    pub(crate) fn forward_deadline(&self) -> Option<Instant> {
        self.partial.as_ref()?.forward.deadline()
    }

    /// Runs the timer of FORWARD TSN at `now`; returns the path on which its expiry is an error.
    pub(crate) fn on_forward_timer(&mut self, now: Instant) -> Option<PathId> {
        self.partial.as_mut()?.forward.on_timer(now)
    }

    /// Updates the timer of FORWARD TSN, which runs while a report is unacknowledged and T3-rtx
    /// does not run (rule C5).
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
