//! The policy run over the ledger: what an acknowledgement, a timer or a sent packet leads to.
//!
//! Nothing here sends. The protocol asks what may be sent ([`Recovery::next_again`],
//! [`Recovery::may_send`]), puts packets together with [`Recovery::draft_new`] and
//! [`Recovery::draft_again`], and says that they left ([`Recovery::on_sent`]).

mod abandon;
mod acknowledged;
mod bundles;
mod by_time;
mod copies;
mod evidence;
mod heard;
mod losses;
mod paths;
mod proven;
mod rescue;
mod response;
mod sending;
mod timers;

use std::sync::Arc;

use base::{Duration, Instant, Probability};
use smallvec::SmallVec;

pub use self::bundles::{Bundle, Ride, Space};
use self::heard::Heard;
use self::losses::Lost;
use self::response::AckContext;
use crate::ack_delay::AckDelay;
use crate::episode::End;
use crate::event::{Event, EventLog};
use crate::feedback::Silence;
use crate::ledger::{Flight, Ledger, Missing, PathAck, PathIndex};
use crate::path::PathRecovery;
use crate::policy::{RecoveryPolicy, ThinDetector, WindowCounts};
use crate::stats::{Counters, RecoveryStats};
use crate::thin_stream;

/// Loss recovery of one association or connection.
#[derive(Clone, Debug)]
pub struct Recovery {
    policy: Arc<RecoveryPolicy>,
    ledger: Ledger,
    paths: SmallVec<[PathRecovery; 1]>,
    stats: Counters,
    events: EventLog,
    draft: Draft,
    /// How the peer acknowledges.
    heard: Heard,
    /// The window fell, and the protocol has not asked yet.
    reduced: bool,
    /// The peer said of a copy that it was needless: it says such things.
    copies_judged: bool,
}

/// The packet being put together.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    /// Units sent for the first time.
    new: u32,
    /// Units sent again.
    again: u32,
    bytes: u32,
    /// Bytes of copies that ride along.
    along: u32,
    /// Whether the lowest unit outstanding is among those sent again.
    resends_oldest: bool,
    /// Whether it is, and fast.
    mends_oldest: bool,
}

/// What an acknowledgement led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Paths that are proven to work, as a bit set: something that had travelled on them, and on no other,
    /// was newly acknowledged.
    pub paths: u64,
    /// Paths among them on which something arrived that had neither been sent again nor taken for lost. What had
    /// been may have arrived long ago, and the acknowledgement have died with the path.
    pub certain: u64,
    /// Paths on which something was found to have been taken for lost too soon, as a bit set.
    pub spurious: u64,
    /// Paths whose round trip was measured, as a bit set.
    pub sampled: u64,
}

/// What an expired retransmission timer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutOutcome {
    /// The path whose timer expired.
    pub path: PathIndex,
    /// Whether it counts as an error of the path.
    pub counts_as_error: bool,
    /// The packet with the fewest bytes that the peer has not reported within a round trip: its size is not why, if it is
    /// small. None if the peer reports nothing beyond the cumulative point.
    pub smallest_missing: Option<Missing>,
}

/// What a packet may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Data sent for the first time.
    New,
    /// Data sent again.
    Again,
}

/// A path's state for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSnapshot {
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time (RTTVAR), once measured.
    pub rttvar: Option<Duration>,
    /// The latest RTT sample; none before the first.
    pub latest_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes.
    pub ssthresh: u64,
    /// Bytes acknowledged towards the window's next growth.
    pub partial_bytes_acked: u64,
    /// What is in flight.
    pub flight: Flight,
    /// Whether fast recovery is in progress.
    pub in_fast_recovery: bool,
    /// Whether the stream is thin now.
    pub thin: bool,
    /// Estimated share of packets lost.
    pub loss: Probability,
    /// When the retransmission timer is due, if it runs.
    pub t3_rtx: Option<Instant>,
}

impl Recovery {
    /// Recovery with one path, whose packets carry at most `mss` bytes of data and whose first unit is `first_unit`. What
    /// acknowledgements leave unsaid means `silence` as a rule; where that is nothing, whether the peer reports what
    /// arrives out of order at all [is to be said](Recovery::set_reports).
    pub fn new(policy: Arc<RecoveryPolicy>, silence: Silence, mss: u64, first_unit: u64) -> Self {
        let path = PathRecovery::new(0, mss, &policy);
        Recovery {
            policy,
            ledger: Ledger::new(first_unit),
            paths: SmallVec::from_iter([path]),
            stats: Counters::default(),
            events: EventLog::default(),
            draft: Draft::default(),
            heard: Heard::new(silence),
            reduced: false,
            copies_judged: false,
        }
    }

    // ---- the application's ---------------------------------------------------------------------

    /// Replaces the policy. Timers that run keep their deadlines, and what was learned stays; what the new
    /// policy does not ask for any more ends.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        if *self.policy != *policy {
            self.paths.iter_mut().for_each(|path| path.set_policy(&policy));
        }
        self.policy = policy;
    }

    /// The policy in force.
    pub fn policy(&self) -> &RecoveryPolicy {
        &self.policy
    }

    /// Switches the recording of events on or off.
    pub fn set_events_enabled(&mut self, enabled: bool) {
        self.events.set_enabled(enabled);
    }

    /// Whether events are being recorded.
    pub fn records_events(&self) -> bool {
        self.events.is_enabled()
    }

    /// The oldest event not fetched yet.
    pub fn poll_event(&mut self) -> Option<(Instant, Event)> {
        self.events.poll()
    }

    /// Counters since the beginning.
    pub fn stats(&self) -> &RecoveryStats {
        &self.stats
    }

    /// The ledger, to ask.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the window fell since this was last asked, by whatever (CWR of RFC 3168, section 6.1.2).
    pub fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.reduced)
    }

    /// The state of a path, for reports.
    pub fn snapshot(&self, path: PathIndex) -> PathSnapshot {
        let state = &self.paths[usize::from(path)];
        let thin = self.is_thin(path);
        PathSnapshot {
            srtt: state.rtt.srtt(),
            rttvar: state.rtt.rttvar(),
            in_fast_recovery: state.episode.is_recovering(),
            latest_rtt: state.rtt.latest(),
            rto: self.rto(path),
            cwnd: state.congestion.cwnd(),
            ssthresh: state.congestion.ssthresh(),
            partial_bytes_acked: state.congestion.partial_bytes_acked(),
            flight: self.ledger.flight(path),
            thin,
            loss: state.loss.estimate(),
            t3_rtx: state.t3_rtx.map(|timer| timer.due),
        }
    }

    /// The latest round-trip time of `path`, once measured.
    pub fn latest_rtt(&self, path: PathIndex) -> Option<Duration> {
        self.paths[usize::from(path)].rtt.latest()
    }

    /// Variation of the round-trip time of `path`, once measured.
    pub fn rttvar(&self, path: PathIndex) -> Option<Duration> {
        self.paths[usize::from(path)].rtt.rttvar()
    }

    /// Smoothed round-trip time of `path`, once measured.
    pub fn srtt(&self, path: PathIndex) -> Option<Duration> {
        self.paths[usize::from(path)].rtt.srtt()
    }

    /// Whether the stream is thin on `path` now.
    pub fn is_thin(&self, path: PathIndex) -> bool {
        self.detects_thin(self.policy.thin, path)
    }

    /// Whether a detector says so.
    fn detects_thin(&self, detector: ThinDetector, path: PathIndex) -> bool {
        if self.detects_few(detector, path) {
            return true;
        }
        let ThinDetector::FewOrSlow { least } = detector else { return false };
        let state = &self.paths[usize::from(path)];
        let span = || self.ledger.span_in_flight(path);
        let (flight, resending) = (self.ledger.flight(path), self.ledger.resending(path));
        thin_stream::is_slow(flight, resending, span, least, state.congestion.mss())
    }

    /// Whether a detector says so of how many packets are in flight, and not only of how slowly they left.
    fn detects_few(&self, detector: ThinDetector, path: PathIndex) -> bool {
        let state = &self.paths[usize::from(path)];
        let (loss, in_flight) = (state.loss.estimate(), self.packets_in_flight(path));
        thin_stream::detect(detector, in_flight, loss, state.rtt.srtt())
    }

    /// The retransmission timeout of `path` with back-off; heartbeats use it too.
    pub fn rto(&self, path: PathIndex) -> Duration {
        let rto = self.paths[usize::from(path)].rto(&self.policy.rto, self.is_thin(path));
        let rto = rto + self.wait_for_next(path);
        self.delayed_ack(path).map_or(rto, |least| rto.max(least))
    }

    /// How long to wait at least for what is in flight on `path`: a packet that no other follows is acknowledged when
    /// the peer likes.
    fn delayed_ack(&self, path: PathIndex) -> Option<Duration> {
        let most = self.policy.rto.ack_delay?;
        let state = &self.paths[usize::from(path)];
        // Asked several times a packet: what is cheap to know comes first.
        if self.ledger.flight(path).packets != 1 || self.asked_for_last(path) {
            return None;
        }
        let (delay, smoothed) = (state.ack_delay.as_deref()?, state.rtt.srtt());
        let waits = delay.round_trip(most, smoothed)?.min(self.policy.rto.max);
        // In an outage the timer asks, and a needless copy is acknowledged at once.
        let outage = self.asks_by_timeout(path) && state.backoff.expiries() > 1;
        Some(if outage { waits / 2 } else { waits })
    }

    /// How long the peer waited with the acknowledgement of the oldest packet in flight on `path` for the next one, which is
    /// no part of round trips where those of the latest packet count.
    fn wait_for_next(&self, path: PathIndex) -> Duration {
        let state = &self.paths[usize::from(path)];
        let waits = state.ack_delay.as_deref().is_some_and(AckDelay::waits_for_next);
        if waits && self.samples_proven() { self.ledger.first_gap(path) } else { Duration::ZERO }
    }

    /// The path's maximum chunk size changed. Windows in bytes stay as they are, windows in packets of as many packets.
    pub fn set_mss(&mut self, path: PathIndex, mss: u64) {
        let congestion = &mut self.paths[usize::from(path)].congestion;
        match self.policy.congestion.window_counts {
            WindowCounts::Bytes => congestion.set_mss(mss),
            WindowCounts::Packets => congestion.set_mss_of_packets(mss),
        }
    }

    /// Lets go of everything outstanding: nothing is sent again, no timer runs. What was measured and
    /// counted stays.
    pub fn discard(&mut self) {
        self.ledger.discard();
        self.heard.duplicates = 0;
        for path in &mut self.paths {
            path.episode.leave(End::Discarded);
            if let Some(mechanisms) = &mut path.mechanisms {
                mechanisms.settle();
            }
            path.t3_rtx = None;
            path.early_timer = None;
        }
    }

    /// A round-trip time measured by other means than data: the handshake or a heartbeat.
    pub fn on_rtt_sample(&mut self, path: PathIndex, sample: Duration) {
        let state = &mut self.paths[usize::from(path)];
        let policy = state.rto_policy.as_deref().unwrap_or(&self.policy.rto);
        state.rtt.on_sample(sample, policy.alpha, policy.beta, policy.deviation);
        state.backoff.on_sample();
    }

    /// Packets in flight, less those that duplicates say have arrived.
    fn packets_in_flight(&self, path: PathIndex) -> u32 {
        self.ledger.flight(path).packets.saturating_sub(self.heard.arrived_unnamed())
    }

    /// The bytes of the congestion window that is taken on `path`.
    fn window_taken(&self, path: PathIndex) -> u64 {
        self.counted(path, self.ledger.flight(path))
    }

    /// A number of packets with a number of bytes on `path`, as the window counts them, in bytes.
    fn counted(&self, path: PathIndex, Flight { packets, bytes }: Flight) -> u64 {
        match self.policy.congestion.window_counts {
            WindowCounts::Bytes => bytes,
            WindowCounts::Packets => {
                u64::from(packets) * self.paths[usize::from(path)].congestion.mss()
            }
        }
    }

    /// What `news` found delivered, as the window counts it.
    fn delivered(&self, path: PathIndex, news: &PathAck) -> u64 {
        self.counted(path, Flight { packets: news.delivered, bytes: news.acked_bytes })
    }

    /// From what the window falls: FlightSize of RFC 5681, or what it is.
    fn flight_size(&self, path: PathIndex) -> u64 {
        match self.policy.congestion.window_counts {
            WindowCounts::Bytes => self.ledger.unacknowledged_bytes(),
            WindowCounts::Packets => self.paths[usize::from(path)].congestion.cwnd(),
        }
    }

    /// Whether acknowledgements tell what arrived beyond the cumulative point.
    fn reports_gaps(&self) -> bool {
        self.heard.reports_gaps()
    }

    /// Whether fast recovery is in progress on `path`.
    pub fn is_recovering(&self, path: PathIndex) -> bool {
        self.paths[usize::from(path)].episode.is_recovering()
    }

    /// The window of `path`, on which nothing was sent yet, begins as this one and not the initial one (RFC 5681,
    /// section 3.1: one full packet if the first packet of the handshake was lost).
    pub fn restart_window(&mut self, path: PathIndex, window: u64) {
        self.paths[usize::from(path)].congestion.restart(window);
    }

    fn record_window(&mut self, now: Instant, path: PathIndex) {
        let congestion = &self.paths[usize::from(path)].congestion;
        let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        let flight = self.window_taken(path);
        self.events.record(now, || Event::Window { path, cwnd, ssthresh, flight });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_is_not_kept_for_every_connection() {
        assert!(size_of::<Recovery>() <= 768, "{} bytes", size_of::<Recovery>());
    }
}
