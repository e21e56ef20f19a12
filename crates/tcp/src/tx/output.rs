//! The next output: a segment, or a probe of a window that is closed or too small to use (RFC 9293,
//! sections 3.8.6.1 and 3.8.6.2.1).

use base::Instant;
use recovery::Load;

use super::options::WindowProbe;
use super::segmenter::Outgoing;
use super::sender::{PATH, Sender};

impl Sender {
    /// The next segment; `None` if there is none.
    pub fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        // Asked after every segment, and after every acknowledgement that a thin stream receives.
        if self.has_nothing_to_send() {
            return self.poll_request(now);
        }
        // A segment is large, and moved each time that it passes through a closure.
        if let segment @ Some(_) = self.poll_segment(now) {
            return segment;
        }
        if let request @ Some(_) = self.poll_request(now) {
            return request;
        }
        if let probe @ Some(_) = self.poll_probe(now) {
            return probe;
        }
        self.update_persist(now);
        None
    }

    /// Whether nothing waits to be sent for the first time or again, and no window is probed: what
    /// follows sent data without evidence of a loss is left.
    fn has_nothing_to_send(&self) -> bool {
        let fin_waits = self.finishing && !self.is_fin_sent();
        self.unsent_bytes() == 0
            && !fin_waits
            && self.persist.is_none()
            && !self.is_shut_out()
            && !self.recovery.ledger().has_lost()
            && !self.recovery.is_recovering(PATH)
    }

    /// The last byte again, after a segment that travels alone: a duplicate is acknowledged at once
    /// (RFC 9293, section 3.10.7.4), and if that segment is lost, the byte is reported out of
    /// order. The ledger has no entry for it.
    fn poll_request(&mut self, now: Instant) -> Option<Outgoing> {
        let end = self.snd_nxt();
        if !self.recovery.asks_behind(now, PATH) || self.is_fin_sent() || end <= self.snd_una() {
            return None;
        }
        self.recovery.on_asked_behind(now, PATH);
        Some(Outgoing { start: end - 1, bytes: 1, retransmission: true, ..Outgoing::default() })
    }

    /// The next segment, with `mss` bytes as the maximum this time: a probe of the path MTU.
    pub fn poll_sized(&mut self, now: Instant, mss: u32) -> Option<Outgoing> {
        let usual = core::mem::replace(&mut self.mss, mss.max(1));
        let probe = self.poll(now);
        self.mss = usual;
        probe
    }

    /// The peer's window closed behind sent data, opened again, or all of that data was
    /// acknowledged. `probed`: a probe was due before.
    pub(super) fn on_shut_out_changed(&mut self, now: Instant, probed: bool) {
        if self.is_shut_out() {
            // The peer has answered, so earlier unanswered attempts do not count.
            (self.timeouts, self.errors) = (0, 0);
            return self.update_persist(now);
        }
        self.stop_persist();
        if self.recovery.ledger().is_empty() {
            return;
        }
        if probed {
            // A timeout has passed since all of it left: the peer dropped it, and it is
            // retransmitted at once.
            self.recovery.abandon_flight(now, PATH, PATH);
            self.recovery.begin_burst();
        } else {
            self.recovery.resume_timer(now, PATH);
        }
    }

    /// Starts the persist timer if only the peer's window prevents sending: the first probe follows
    /// after a retransmission timeout, others at doubled intervals.
    fn update_persist(&mut self, now: Instant) {
        let waits = self.unsent_bytes() > 0 || (self.finishing && !self.is_fin_sent());
        let held = self.more && self.window_end > self.snd_nxt();
        let idle = self.recovery.ledger().is_empty();
        if !self.is_shut_out() && (!waits || held || !idle) {
            return self.stop_persist();
        }
        self.waiting_since.get_or_insert(now);
        self.persist.get_or_insert_default().start(now, self.recovery.rto(PATH));
    }

    /// Stops the persist timer. A byte that probed the window is remembered until there is more
    /// information about it, since the peer may have accepted it.
    fn stop_persist(&mut self) {
        self.forget_probe_before(self.snd_nxt());
        if let Some(persist) = &mut self.persist {
            persist.stop();
        }
    }

    /// The probe that is due.
    fn poll_probe(&mut self, now: Instant) -> Option<Outgoing> {
        if self.is_shut_out() {
            return self.poll_repeated_probe(now);
        }
        let start = self.snd_nxt();
        let persist = self.persist.as_mut().filter(|persist| persist.is_expired())?;
        persist.on_probed();
        if self.options.window_probe == WindowProbe::OldSequence {
            return Some(old_sequence(start));
        }
        persist.note_probed_to(start + 1);
        let fin = start >= self.buffer.end();
        let push = !fin && start + 1 == self.buffer.end();
        Some(Outgoing {
            start,
            bytes: usize::from(!fin),
            fin,
            push,
            window_probe: true,
            ..Outgoing::default()
        })
    }

    /// The probe that is due while sent data waits: its first segment again. It takes the rest out
    /// of flight, so that the acknowledgement of the rest does not measure how long the window
    /// was closed, and is not evidence of congestion.
    fn poll_repeated_probe(&mut self, now: Instant) -> Option<Outgoing> {
        self.persist.as_ref().filter(|persist| persist.is_expired())?;
        self.recovery.abandon_flight(now, PATH, PATH);
        let repeated = match self.options.window_probe {
            WindowProbe::OldSequence => None,
            WindowProbe::NextByte => self.poll_lost(now, u64::MAX),
        };
        self.persist.as_mut()?.on_probed();
        let probe = repeated.unwrap_or_else(|| old_sequence(self.snd_una()));
        Some(Outgoing { window_probe: true, ..probe })
    }

    /// The peer acknowledged the byte that probed its window: it counts as sent.
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

/// A probe without data, with a sequence number that the peer has long acknowledged.
fn old_sequence(next: u64) -> Outgoing {
    Outgoing { start: next.saturating_sub(1), window_probe: true, ..Outgoing::default() }
}
