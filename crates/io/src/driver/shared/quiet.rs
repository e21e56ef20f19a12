//! Quiet datagrams on their way to the machine.

use base::{Instant, Machine};

use super::{Driven, State};
use crate::carrier::RecvBatch;

impl<M: Machine> State<M> {
    /// Reads quiet datagrams into `inbox` if they may matter to what is in it, or to the time.
    pub(super) fn read_quiet(&mut self, inbox: &mut RecvBatch, now: Instant) {
        let Some(Driven { line, hearing: Some(own), .. }) = &mut self.driven else { return };
        let (hearing, _) = &mut **own;
        if hearing.is_due(now, self.machine.poll_timeout(), inbox) {
            line.try_recv_quiet(inbox);
            hearing.on_heard(now, inbox.quiet_remotes());
        }
    }

    /// Passes quiet datagrams to the machine, each as of its arrival, but not before `since`. Returns whether there were any.
    pub(super) fn feed_quiet(
        &mut self,
        inbox: &mut RecvBatch,
        since: Instant,
        now: Instant,
    ) -> bool {
        let (mut at, mut any) = (since, false);
        while let Some((waited, meta, datagram)) = inbox.pop_quiet() {
            at = at.max(now.before(waited)).min(now);
            self.machine.handle_datagram(at, meta, datagram);
            any = true;
        }
        any
    }

    /// Lets the machine know of quiet datagrams before a call, unless the driver has just read them or is at work. Returns
    /// whether there were any.
    pub(super) fn hear_before_call(&mut self, now: Instant) -> bool {
        if self.is_driver_awake {
            return false;
        }
        let Some(Driven { line, hearing: Some(own), .. }) = &mut self.driven else { return false };
        let (hearing, batch) = &mut **own;
        if !hearing.is_stale(now) {
            return false;
        }
        line.try_recv_quiet(batch);
        hearing.on_heard(now, batch.quiet_remotes());
        let mut inbox = std::mem::replace(batch, RecvBatch::of_quiet());
        let any = self.feed_quiet(&mut inbox, self.before, now);
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

    /// Has quiet datagrams watched while the machine waits for acknowledgements.
    pub(super) fn review_watching(&mut self, now: Instant) {
        let Some(Driven { line, hook, hearing: Some(own), .. }) = &mut self.driven else { return };
        let watched = own.0.should_watch(now, hook.awaits_acknowledgements(&self.machine));
        if std::mem::replace(&mut own.0.is_watching, watched) != watched {
            line.watch_quiet(watched);
        }
    }

    /// Whether the driver has to have quiet datagrams watched that are not.
    pub(super) fn must_begin_to_watch(&self, now: Instant) -> bool {
        let Some(Driven { hook, hearing: Some(own), .. }) = &self.driven else { return false };
        !own.0.is_watching && (own.0.is_crowded(now) || hook.awaits_acknowledgements(&self.machine))
    }
}
