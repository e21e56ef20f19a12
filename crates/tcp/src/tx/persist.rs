//! Probes of a window that is closed, or too small to be worth using: the peer's word that it opened may be
//! lost (RFC 9293, sections 3.8.6.1 and 3.8.6.2.1).

use base::{Duration, Instant};
use recovery::Load;

use super::options::WindowProbe;
use super::segmenter::Outgoing;
use super::sender::{PATH, Sender};

/// The persist timer and what its probes said.
#[derive(Clone, Debug)]
pub(super) struct Persist {
    /// When the timer expires; none while the window is open and what waits does so for another reason.
    pub(super) due: Option<Instant>,
    interval: Duration,
    /// Probes sent since the last acknowledgement.
    pub(super) unanswered: u8,
    /// The timer expired: a probe is to be sent, or what fits a small window.
    pub(super) expired: bool,
    /// Offset behind the byte that probed the window, which the peer may have taken.
    pub(super) probed_to: u64,
    /// A probe was due since the window closed.
    pub(super) probes: bool,
}

impl Persist {
    fn new(interval: Duration) -> Persist {
        Persist { due: None, interval, unanswered: 0, expired: false, probed_to: 0, probes: false }
    }
}

impl Sender {
    /// Whether the peer closed its window behind data that had been sent into it (RFC 9293, section 3.8.6). That
    /// data waits until the window opens; meanwhile the window is probed as any closed one (MUST-35), and no
    /// timeout counts against the connection while answers come (MUST-37, SHLD-17).
    pub(super) fn is_shut_out(&self) -> bool {
        self.window_end <= self.snd_una() && !self.recovery.ledger().is_empty()
    }

    /// The window closed behind data that was sent, or opened again, or all of that data was acknowledged. `probed`: a
    /// probe was due before this.
    pub(super) fn on_shut_out_changed(&mut self, now: Instant, probed: bool) {
        if self.is_shut_out() {
            // The peer is there: what was not answered before is.
            (self.timeouts, self.errors) = (0, 0);
            return self.update_persist(now);
        }
        self.stop_persist();
        if self.recovery.ledger().is_empty() {
            return;
        }
        if probed {
            // A timeout has passed since all of it left: the peer dropped it, and it goes at once.
            self.recovery.abandon_flight(now, PATH, PATH);
            self.recovery.begin_burst();
        } else {
            self.recovery.resume_timer(now, PATH);
        }
    }

    /// Nothing can be sent: if only the window keeps it from that, it is probed, first after a retransmission
    /// timeout, then at doubled intervals.
    pub(super) fn update_persist(&mut self, now: Instant) {
        let waits = self.unsent_bytes() > 0 || (self.finishing && !self.is_fin_sent());
        let held = self.more && self.window_end > self.snd_nxt();
        let idle = self.recovery.ledger().is_empty();
        if !self.is_shut_out() && (!waits || held || !idle) {
            return self.stop_persist();
        }
        self.waiting_since.get_or_insert(now);
        let interval = self.recovery.rto(PATH);
        let persist = self.persist.get_or_insert_with(|| Box::new(Persist::new(interval)));
        if persist.due.is_none() {
            let (due, probed_to) = (Some(now + interval), persist.probed_to);
            **persist = Persist { due, probed_to, ..Persist::new(interval) };
        }
    }

    /// The window keeps nothing from being sent. That a byte probed it is remembered until more is said of
    /// that byte: the peer may have taken it.
    pub(super) fn stop_persist(&mut self) {
        let next = self.snd_nxt();
        self.persist = self.persist.take().filter(|persist| persist.probed_to > next);
        if let Some(persist) = &mut self.persist {
            persist.due = None;
            persist.expired = false;
        }
    }

    /// Runs the persist timer if it is due, and answers how many probes in a row were not answered.
    pub(super) fn on_persist_timer(&mut self, now: Instant) -> u8 {
        let max = self.recovery.policy().rto.max;
        let is_due = |persist: &&mut Box<Persist>| persist.due.is_some_and(|due| due <= now);
        let Some(persist) = self.persist.as_mut().filter(is_due) else { return 0 };
        persist.expired = true;
        persist.probes = true;
        persist.interval = (persist.interval * 2).min(max);
        persist.due = Some(now + persist.interval);
        persist.unanswered = persist.unanswered.saturating_add(1);
        persist.unanswered - 1
    }

    /// Whether what fits a small window goes all the same (the override timeout of the avoidance of silly
    /// windows).
    pub(super) fn overrides(&self) -> bool {
        self.persist.as_ref().is_some_and(|persist| persist.expired)
    }

    /// The probe that is due.
    pub(super) fn poll_probe(&mut self, now: Instant) -> Option<Outgoing> {
        if self.is_shut_out() {
            return self.poll_repeated_probe(now);
        }
        let start = self.snd_nxt();
        let persist = self.persist.as_mut().filter(|persist| persist.expired)?;
        persist.expired = false;
        if self.options.window_probe == WindowProbe::OldSequence {
            return Some(old_sequence(start));
        }
        persist.probed_to = start + 1;
        let pieces = self.buffer.pieces(start, 1);
        let fin = pieces.is_empty();
        let push = !fin && start + 1 == self.buffer.end();
        Some(Outgoing { start, pieces, fin, push, window_probe: true, ..Outgoing::default() })
    }

    /// The probe that is due while data waits that was sent before: the first segment of it, once more. It takes the
    /// rest out of flight, so that no acknowledgement of it measures how long the window was closed, and is no sign
    /// of congestion.
    fn poll_repeated_probe(&mut self, now: Instant) -> Option<Outgoing> {
        self.persist.as_mut()?.expired.then_some(())?;
        self.recovery.abandon_flight(now, PATH, PATH);
        let repeated = match self.options.window_probe {
            WindowProbe::OldSequence => None,
            WindowProbe::NextByte => self.poll_lost(now, u64::MAX),
        };
        self.persist.as_mut()?.expired = false;
        let probe = repeated.unwrap_or_else(|| old_sequence(self.snd_una()));
        Some(Outgoing { window_probe: true, ..probe })
    }

    /// The peer acknowledged the byte that probed its window: it was sent after all.
    pub(super) fn adopt_probe(&mut self, now: Instant, ack: u64) {
        if ack <= self.snd_nxt() || self.persist.is_none() {
            return;
        }
        let is_data = self.snd_nxt() < self.buffer.end();
        self.recovery.room(now, PATH, Load::New);
        self.recovery.draft_untimed(PATH, 1, u32::from(is_data));
        self.recovery.on_sent(now, PATH);
        self.counters.bytes_sent += u64::from(is_data);
    }
}

/// A probe without data, of a sequence number that the peer has long acknowledged.
fn old_sequence(next: u64) -> Outgoing {
    Outgoing { start: next.saturating_sub(1), window_probe: true, ..Outgoing::default() }
}
