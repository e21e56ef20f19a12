//! Pure acknowledgements on their way to the machine.

use base::{Instant, Machine};

use super::{Driven, State};
use crate::carrier::RecvBatch;

impl<M: Machine> State<M> {
    /// Reads pure acknowledgements into `inbox` if they may matter to what is in it, or to the
    /// time.
    pub(super) fn read_acks(&mut self, inbox: &mut RecvBatch, now: Instant) {
        let Some(Driven { line, hearing: Some(own), .. }) = &mut self.driven else { return };
        let (hearing, _) = &mut **own;
        if hearing.is_due(now, self.machine.poll_timeout(), inbox) {
            line.try_recv_acks(inbox);
            hearing.on_heard(now, inbox.ack_remotes());
        }
    }

    /// Passes pure acknowledgements to the machine, each as of its arrival, but not before `since`.
    /// Returns whether there were any.
    pub(super) fn feed_acks(
        &mut self,
        inbox: &mut RecvBatch,
        since: Instant,
        now: Instant,
    ) -> bool {
        let (mut at, mut any) = (since, false);
        while let Some((waited, meta, datagram)) = inbox.pop_ack() {
            at = at.max(now.before(waited)).min(now);
            self.machine.handle_datagram(at, meta, datagram);
            any = true;
        }
        any
    }

    /// Lets the machine know of pure acknowledgements before a call, unless the driver has just
    /// read them or is at work. Returns whether there were any.
    pub(super) fn hear_before_call(&mut self, now: Instant) -> bool {
        if self.is_driver_awake {
            return false;
        }
        let Some(Driven { line, hearing: Some(own), .. }) = &mut self.driven else { return false };
        let (hearing, batch) = &mut **own;
        if !hearing.is_stale(now) {
            return false;
        }
        line.try_recv_acks(batch);
        hearing.on_heard(now, batch.ack_remotes());
        let mut inbox = std::mem::replace(batch, RecvBatch::of_acks());
        let any = self.feed_acks(&mut inbox, self.before, now);
        if let Some(Driven { hearing: Some(own), .. }) = &mut self.driven {
            own.1 = inbox;
        }
        any
    }

    /// Notes where the outbox goes.
    pub(super) fn note_sent(&mut self, now: Instant) {
        if let Some(Driven { hearing: Some(own), .. }) = &mut self.driven {
            own.0.on_sent(now, self.outbox.transmits.iter().map(|transmit| transmit.remote));
        }
    }

    /// Has pure acknowledgements wake the task while the machine waits for them.
    pub(super) fn review_waking(&mut self, now: Instant) {
        let Some(Driven { line, hook, hearing: Some(own), .. }) = &mut self.driven else { return };
        let wakes = own.0.should_wake_on_acks(now, hook.awaits_acknowledgements(&self.machine));
        if std::mem::replace(&mut own.0.wakes_on_acks, wakes) != wakes {
            line.wake_on_acks(wakes);
        }
    }

    /// Whether pure acknowledgements have to wake the task from now on.
    pub(super) fn must_begin_to_wake_on_acks(&self, now: Instant) -> bool {
        let Some(Driven { hook, hearing: Some(own), .. }) = &self.driven else { return false };
        !own.0.wakes_on_acks
            && (own.0.is_crowded(now) || hook.awaits_acknowledgements(&self.machine))
    }
}
