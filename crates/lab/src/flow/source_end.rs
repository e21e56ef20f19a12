//! The sending end of a flow, over any transport.

use core::fmt::Debug;

use base::Instant;
use netsim::AddressedDatagram;

use super::LogHandle;
use super::source::{Pending, Source};

/// Knowledge about a flow's first path from outside, for transports that have several paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHint {
    /// The path does not work.
    Down,
    /// The path may soon fail: its signal is weak.
    Weak,
    /// The path works again.
    Up,
}

/// Calls of a sending end to its transport.
pub trait SourceTransport: Debug {
    /// Names an association or a connection.
    type Id: Copy + Debug;

    /// Sets an association or a connection up. Returns it, with its first unit as numbered in
    /// recovery's events.
    fn open(&mut self, now: Instant, tell_recovery: bool) -> Option<(Self::Id, u64)>;

    /// Passes the rest of a message to the transport.
    fn send(&mut self, now: Instant, id: Self::Id, pending: &mut Pending) -> Sent;

    /// Fills the send buffer without regard to messages, where the transport can.
    fn pour(&mut self, now: Instant, id: Self::Id) -> Option<Sent>;

    /// The next event of the endpoint, if any.
    fn poll_notice(&mut self) -> Option<Notice>;

    /// The next event of recovery, if any.
    fn poll_recovery_event(&mut self, id: Self::Id) -> Option<(Instant, recovery::Event)>;

    /// Passes a hint about the first path to the transport.
    fn hint(&mut self, now: Instant, id: Self::Id, hint: PathHint);
}

/// How much of a message the transport accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The whole message.
    All,
    /// A part: the buffer is full.
    Full,
    /// The association or connection is gone.
    Failed,
}

/// Events of an endpoint that matter to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// There is room again.
    Writable,
    /// The association or connection ended.
    Ended,
    /// Data takes this path from now on.
    Path(u8),
    /// Any other event.
    Other,
}

/// The sending end.
#[derive(Debug)]
pub struct SourceEnd<C: SourceTransport> {
    pub(super) transport: C,
    log: LogHandle,
    source: Source,
    /// When to open the association or connection; `None` afterwards.
    connects_at: Option<Instant>,
    /// The hint about the first path; `None` once it was given.
    hint: Option<(Instant, PathHint)>,
    id: Option<C::Id>,
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
        Box::new(SourceEnd { transport, log, source, connects_at, hint, id: None })
    }

    /// Notes a datagram that has just left, after recovery's events before it.
    pub(super) fn on_transmitted(&mut self, now: Instant, datagram: &AddressedDatagram) {
        self.take_recovery_events();
        self.log.borrow_mut().on_sent(now, datagram);
    }

    pub(super) fn poll_wake(&self) -> Option<Instant> {
        let message = || self.id.and_then(|_| self.source.poll_timeout());
        let next = self.connects_at.or_else(message);
        self.hint.map(|(at, _)| at).into_iter().chain(next).min()
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
        self.send_due(now);
    }

    fn connect(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        match self.transport.open(now, log.hears_recovery()) {
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
                // What keeps the bounds of messages sends them one after the other, as they come due.
                None => self.source.pours = false,
            }
        }
        while let Some(mut pending) = self.next(now) {
            match self.transport.send(now, id, &mut pending) {
                Sent::All => {
                    let mut log = self.log.borrow_mut();
                    log.on_accepted(now, pending.message, pending.stream);
                    if self.source.apart {
                        return; // What is due now as well follows behind what this message made leave.
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
        self.take_recovery_events();
    }

    fn take_recovery_events(&mut self) {
        let Some(id) = self.id else { return };
        let mut log = self.log.borrow_mut();
        if log.hears_recovery() {
            while let Some(event) = self.transport.poll_recovery_event(id) {
                log.on_recovery_event(&event);
            }
        }
    }
}
