//! The sending end of a flow, over any transport.

use core::hint::black_box;

use base::Instant;
use netsim::AddressedDatagram;

use super::advised::Advised;
use super::config::{AdvicePlan, PathHint};
use super::log::LogHandle;
use super::source::{Pending, Source};
use super::source_transport::{Notice, Sent, SourceTransport};

/// Host that sends a flow over the transport `C`.
#[derive(Debug)]
pub struct SourceEnd<C: SourceTransport> {
    pub(super) transport: C,
    log: LogHandle,
    source: Source,
    /// Time at which to open the association or connection; `None` afterwards.
    connects_at: Option<Instant>,
    /// The hint about the first path; `None` once it was given.
    hint: Option<(Instant, PathHint)>,
    id: Option<C::Id>,
    /// The advisor of its recovery, if there is one.
    advised: Option<Box<Advised>>,
}

impl<C: SourceTransport> SourceEnd<C> {
    pub(super) fn new(
        transport: C,
        source: Source,
        start: Instant,
        hint: Option<(Instant, PathHint)>,
        log: &LogHandle,
    ) -> Box<SourceEnd<C>> {
        let (log, connects_at) = (log.clone(), Some(start));
        let (id, advised) = (None, None);
        Box::new(SourceEnd { transport, log, source, connects_at, hint, id, advised })
    }

    /// Lets recovery be advised as planned.
    pub(super) fn advised(mut self: Box<Self>, plan: Option<&AdvicePlan>) -> Box<Self> {
        self.advised = plan.map(|plan| Box::new(Advised::new(plan)));
        self
    }

    /// The transport has handled an input: advice comes before packets leave.
    pub(super) fn consult(&mut self, now: Instant) {
        if let Some((advised, id)) = self.advised.as_mut().zip(self.id) {
            advised.hear(now, (&mut self.transport, id));
        }
    }

    /// Notes a datagram that has just left, after recovery's events before it.
    pub(super) fn on_transmitted(&mut self, now: Instant, datagram: &AddressedDatagram) {
        self.take_recovery_events(now);
        self.log.borrow_mut().on_sent(now, datagram);
    }

    pub(super) fn warm(&self, depth: usize) {
        self.transport.warm(depth);
        match depth {
            1 => {
                black_box((self.connects_at, self.source.until, self.id));
            }
            2 => self.log.borrow().warm(),
            _ => {}
        }
    }

    pub(super) fn poll_wake(&self) -> Option<Instant> {
        let message = || self.id.and_then(|_| self.source.poll_timeout());
        let next = self.connects_at.or_else(message);
        let advice = self.advised.as_ref().and_then(|advised| advised.wakes_at);
        self.hint.map(|(at, _)| at).into_iter().chain(next).chain(advice).min()
    }

    pub(super) fn on_wake(&mut self, now: Instant) {
        if self.connects_at.take_if(|at| *at <= now).is_some() {
            self.connect(now);
        }
        if let Some((_, hint)) = self.hint.take_if(|(at, _)| *at <= now)
            && let Some(id) = self.id
        {
            self.transport.hint(now, id, hint);
        }
        if let Some((advised, id)) = self.advised.as_mut().zip(self.id) {
            advised.wake(now, (&mut self.transport, id));
        }
        self.send_due(now);
    }

    fn connect(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        match self.transport.open(now, log.hears_recovery() || self.advised.is_some()) {
            Some((id, first_unit)) => {
                self.id = Some(id);
                log.on_start(first_unit);
            }
            None => log.failed = true,
        }
    }

    fn send_due(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        if self.source.pours && now < self.source.until {
            match self.transport.pour(now, id) {
                Some(Sent::Failed) => return self.fail(),
                Some(_) => return,
                // A transport with message boundaries gets the messages one by one, when they are
                // due.
                None => self.source.pours = false,
            }
        }
        while let Some(mut pending) = self.next(now) {
            match self.transport.send(now, id, &mut pending) {
                Sent::All => {
                    let mut log = self.log.borrow_mut();
                    log.on_accepted(now, pending.message, pending.stream);
                    if self.source.apart {
                        return; // Further messages that are due now follow once the packets of this one have left.
                    }
                }
                Sent::Full => return self.source.put_back(pending),
                Sent::Failed => return self.fail(),
            }
        }
    }

    fn next(&mut self, now: Instant) -> Option<Pending> {
        let log = &self.log;
        self.source.next(now, |message| log.borrow_mut().on_due(message))
    }

    fn fail(&mut self) {
        self.log.borrow_mut().failed = true;
        self.id = None;
    }

    pub(super) fn after_input(&mut self, now: Instant) {
        let mut writable = false;
        while let Some(notice) = self.transport.poll_notice() {
            match notice {
                Notice::Writable => writable = true,
                Notice::Ended => self.fail(),
                Notice::Path(path) => self.log.borrow_mut().on_path(now, path),
                Notice::Other => {}
            }
        }
        if writable {
            self.send_due(now);
        }
        self.take_recovery_events(now);
    }

    fn take_recovery_events(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        if let Some(advised) = &mut self.advised {
            advised.hear(now, (&mut self.transport, id));
            return advised.note(&self.log);
        }
        let mut log = self.log.borrow_mut();
        if log.hears_recovery() {
            while let Some(event) = self.transport.poll_recovery_event(id) {
                log.on_recovery_event(&event);
            }
        }
    }
}
