//! The phase of an association (RFC 9260, section 4), with the data that only some states need.

use base::{Duration, Instant};

use crate::backoff::backed_off;
use crate::setup::handshake::Handshake;
use crate::state::State;

/// A state with its timers and numbers.
#[derive(Debug)]
pub(crate) enum Phase {
    /// INIT was sent; T1-init runs.
    CookieWait(Box<Handshake>),
    /// COOKIE ECHO was sent; T1-cookie runs.
    CookieEchoed(Box<CookieEcho>),
    /// Messages are exchanged in both directions.
    Established,
    /// The application closed the association; earlier data is still outstanding.
    ShutdownPending,
    /// SHUTDOWN was sent; T2-shutdown and T5-shutdown-guard run.
    ShutdownSent(Box<Closing>),
    /// The peer closed the association; earlier data is still outstanding.
    ShutdownReceived,
    /// SHUTDOWN ACK was sent; T2-shutdown runs.
    ShutdownAckSent(Box<Closing>),
    /// The association has ended. Received messages can still be read.
    Closed,
}

impl Phase {
    /// The state without its data.
    #[inline]
    pub(crate) fn state(&self) -> State {
        match self {
            Phase::CookieWait(_) => State::CookieWait,
            Phase::CookieEchoed(_) => State::CookieEchoed,
            Phase::Established => State::Established,
            Phase::ShutdownPending => State::ShutdownPending,
            Phase::ShutdownSent(_) => State::ShutdownSent,
            Phase::ShutdownReceived => State::ShutdownReceived,
            Phase::ShutdownAckSent(_) => State::ShutdownAckSent,
            Phase::Closed => State::Closed,
        }
    }

    /// The set-up attempts, until the association is set up.
    pub(crate) fn handshake_mut(&mut self) -> Option<&mut Handshake> {
        match self {
            Phase::CookieWait(handshake) => Some(handshake),
            Phase::CookieEchoed(echo) => Some(&mut echo.handshake),
            _ => None,
        }
    }

    /// The shutdown attempts, from SHUTDOWN or SHUTDOWN ACK on.
    pub(crate) fn closing_mut(&mut self) -> Option<&mut Closing> {
        match self {
            Phase::ShutdownSent(closing) | Phase::ShutdownAckSent(closing) => Some(closing),
            _ => None,
        }
    }

    /// Whether T2-shutdown has expired since the peer was last heard: SHUTDOWN or SHUTDOWN ACK is
    /// repeated, perhaps to a peer that has forgotten the association.
    pub(crate) fn repeats_its_end(&self) -> bool {
        match self {
            Phase::ShutdownSent(closing) | Phase::ShutdownAckSent(closing) => closing.attempts > 0,
            _ => false,
        }
    }

    /// INIT ACK contained a cookie, which is echoed from now on.
    pub(crate) fn echo_cookie(&mut self, cookie: Box<[u8]>) {
        *self = match core::mem::replace(self, Phase::Closed) {
            Phase::CookieWait(handshake) => {
                Phase::CookieEchoed(Box::new(CookieEcho { handshake: *handshake, cookie }))
            }
            other => other,
        };
    }

    /// The cookie was stale: the set-up restarts with INIT.
    pub(crate) fn drop_cookie(&mut self) {
        *self = match core::mem::replace(self, Phase::Closed) {
            Phase::CookieEchoed(echo) => Phase::CookieWait(Box::new(echo.handshake)),
            other => other,
        };
    }

    /// SHUTDOWN ACK is sent: a running T5-shutdown-guard continues.
    pub(crate) fn acknowledge_shutdown(&mut self) {
        let guard = self.closing_mut().and_then(|closing| closing.guard);
        *self = Phase::ShutdownAckSent(Box::new(Closing { guard, ..Closing::default() }));
    }

    /// Earliest deadline of the state's timers.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Phase::Established => None,
            _ => self.next_timeout_at_an_end(),
        }
    }

    /// The deadline of [`Phase::next_timeout`], while the association is being set up or shut down.
    #[cold]
    #[inline(never)]
    fn next_timeout_at_an_end(&self) -> Option<Instant> {
        match self {
            Phase::CookieWait(handshake) => handshake.next_timeout(),
            Phase::CookieEchoed(echo) => echo.handshake.next_timeout(),
            Phase::ShutdownSent(closing) | Phase::ShutdownAckSent(closing) => {
                closing.next_timeout()
            }
            _ => None,
        }
    }

    /// Allocated bytes of the state's data.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Phase::CookieWait(_) => size_of::<Handshake>(),
            Phase::CookieEchoed(echo) => size_of::<CookieEcho>() + echo.cookie.len(),
            Phase::ShutdownSent(_) | Phase::ShutdownAckSent(_) => size_of::<Closing>(),
            _ => 0,
        }
    }
}

/// Data that only COOKIE-ECHOED needs.
#[derive(Debug)]
pub(crate) struct CookieEcho {
    /// Timer and number of the attempts.
    handshake: Handshake,
    /// The peer's cookie, for retransmission.
    cookie: Box<[u8]>,
}

impl CookieEcho {
    /// The peer's cookie, without the header of its parameter.
    pub(crate) fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    /// Time from the only COOKIE ECHO to its answer at `now`; `None` if it was sent again.
    pub(crate) fn round_trip(&self, now: Instant) -> Option<Duration> {
        self.handshake.round_trip(now)
    }
}

/// Attempts to shut down: SHUTDOWN or SHUTDOWN ACK, until the peer answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Closing {
    /// Deadline of T2-shutdown (RFC 9260, section 9.2).
    t2: Option<Instant>,
    /// Deadline of T5-shutdown-guard, which only the sender of SHUTDOWN has.
    guard: Option<Instant>,
    /// Number of consecutive expiries of T2-shutdown.
    attempts: u8,
}

impl Closing {
    /// The state from the first SHUTDOWN on, limited by `guard`.
    pub(crate) fn guarded_until(guard: Instant) -> Box<Closing> {
        Box::new(Closing { guard: Some(guard), ..Closing::default() })
    }

    /// SHUTDOWN or SHUTDOWN ACK was sent, and is repeated at `at` without an answer.
    pub(crate) fn arm(&mut self, at: Instant) {
        self.t2 = Some(at);
    }

    /// A packet of the peer arrived: the number of expiries is reset, and T2-shutdown expires at
    /// `at`.
    pub(crate) fn begin_again(&mut self, at: Instant) {
        self.attempts = 0;
        self.t2 = Some(at);
    }

    fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest(&[self.t2, self.guard])
    }

    /// Whether T2-shutdown has expired; stops it if so.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        self.t2.take_if(|at| *at <= now).is_some()
    }

    /// Whether T5-shutdown-guard has expired; stops it if so.
    pub(crate) fn expire_guard(&mut self, now: Instant) -> bool {
        self.guard.take_if(|at| *at <= now).is_some()
    }

    /// T2-shutdown expired: restarts it with back-off.
    pub(crate) fn back_off(&mut self, now: Instant, rto: Duration, max: Duration) {
        self.attempts = self.attempts.saturating_add(1);
        self.t2 = Some(now + backed_off(rto, self.attempts, max));
    }
}
