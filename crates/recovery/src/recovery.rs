//! The policy applied to the ledger: the response to an acknowledgement, a timer or a sent packet.
//!
//! Nothing here sends. The protocol asks what may be sent ([`Recovery::next_again`],
//! [`Recovery::may_send`]), builds packets with [`Recovery::draft_new`] and
//! [`Recovery::draft_again`], and reports that they left ([`Recovery::on_sent`]).

mod abandon;
mod acknowledged;
mod advised;
mod bundles;
mod by_time;
mod copies;
mod counted_flight;
mod evidence;
mod heard;
mod losses;
mod paths;
mod proven;
mod rescue;
mod response;
mod sending;
mod timers;
mod warm;

use std::sync::Arc;

use base::{Duration, Instant, Probability};

pub use self::advised::PathView;
pub use self::bundles::{Bundle, Ride, Space};
use self::heard::Heard;
use self::losses::Lost;
use self::response::AckContext;
use crate::ack_delay::Cargo;
use crate::episode::End;
use crate::event::{Event, EventLog};
use crate::feedback::Silence;
use crate::ledger::{Flight, Ledger, Missing, PathAck};
use crate::path::PathRecovery;
use crate::path_id::{PathId, PathSet, PathTable};
use crate::policy::{RecoveryPolicy, SackFlight, ThinDetector, WindowCounts};
use crate::stats::{Counters, RecoveryStats};
use crate::thin_stream;

/// Loss recovery of one association or connection.
#[derive(Clone, Debug)]
pub struct Recovery {
    policy: Arc<RecoveryPolicy>,
    ledger: Ledger,
    paths: PathTable<PathRecovery>,
    stats: Counters,
    events: EventLog,
    draft: Draft,
    /// The peer's way of acknowledging.
    heard: Heard,
    /// The window fell, and the protocol has not asked about it yet.
    reduced: bool,
    /// The peer has reported a copy as a duplicate, so it sends such reports.
    copies_judged: bool,
}

/// The packet being built, as far as counters and events need it.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    /// Units sent for the first time.
    new: u32,
    /// Units of the packet sent before, as retransmissions or copies.
    again: u32,
    bytes: u32,
    /// Bytes of copies that ride along.
    along: u32,
    /// Whether the lowest outstanding unit is retransmitted in it.
    resends_oldest: bool,
    /// Whether that is a fast retransmission.
    mends_oldest: bool,
}

/// Facts of an acknowledgement that the protocol may act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Bytes newly acknowledged, cumulatively or by gap.
    pub acked_bytes: u64,
    /// Paths proven to work: newly acknowledged data had travelled on that path and on no other.
    pub paths: PathSet,
    /// Paths among `paths` where the newly acknowledged data had neither been retransmitted nor
    /// declared lost. Other data may have arrived long ago, its acknowledgement lost with the
    /// path.
    pub certain: PathSet,
    /// Paths on which data was declared lost too early.
    pub spurious: PathSet,
    /// Paths that gave an RTT sample.
    pub sampled: PathSet,
}

/// Effects of an expired retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutOutcome {
    /// The path whose timer expired.
    pub path: PathId,
    /// Whether the expiry counts as an error of the path.
    pub counts_as_error: bool,
    /// Among the packets that the peer has not reported within a round trip, the one with the
    /// fewest bytes: if it is small, its size does not explain the loss. `None` if the peer
    /// reports nothing beyond the cumulative point.
    pub smallest_missing: Option<Missing>,
}

/// Content of a packet, as far as the window is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Data sent for the first time.
    New,
    /// Data sent before, as a retransmission or a redundant copy.
    Again,
}

/// State of a path, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSnapshot {
    /// Smoothed round-trip time; `None` before the first RTT sample.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time (RTTVAR); `None` before the first RTT sample.
    pub rttvar: Option<Duration>,
    /// The latest RTT sample; `None` before the first.
    pub latest_rtt: Option<Duration>,
    /// Retransmission timeout in force, back-off included.
    pub rto: Duration,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow start threshold, in bytes; `u64::MAX` before it is known.
    pub ssthresh: u64,
    /// Bytes acknowledged towards the next growth of the window.
    pub partial_bytes_acked: u64,
    /// Packets and bytes in flight.
    pub flight: Flight,
    /// Whether fast recovery is in progress.
    pub in_fast_recovery: bool,
    /// Whether the stream is thin now.
    pub thin: bool,
    /// Estimated share of packets lost.
    pub loss: Probability,
    /// Deadline of the retransmission timer; `None` while it is stopped.
    pub t3_rtx: Option<Instant>,
}

impl Recovery {
    /// Recovery with one path, whose packets carry at most `mss` bytes of data, and with
    /// `first_unit` as the first unit. `silence` is the usual meaning of a unit that an
    /// acknowledgement does not name. If it is [`Silence::Nothing`], the protocol also says
    /// whether the peer [reports gaps](Recovery::set_reports).
    pub fn new(policy: Arc<RecoveryPolicy>, silence: Silence, mss: u64, first_unit: u64) -> Self {
        let path = PathRecovery::new(PathId::FIRST, mss, &policy);
        let mut ledger = Ledger::new(first_unit);
        ledger.set_teaching(proven::is_taught(&policy));
        Recovery {
            policy,
            ledger,
            paths: PathTable::new(path),
            stats: Counters::default(),
            events: EventLog::default(),
            draft: Draft::default(),
            heard: Heard::new(silence),
            reduced: false,
            copies_judged: false,
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Replaces the policy. Running timers keep their deadlines, and learned values stay; state
    /// that the new policy does not ask for ends.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        if *self.policy != *policy {
            self.paths.values_mut().for_each(|path| path.set_policy(&policy));
            self.ledger.set_teaching(proven::is_taught(&policy));
        }
        self.policy = policy;
    }

    /// The policy in force, to which every decision refers.
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

    /// Removes and returns the oldest event.
    pub fn poll_event(&mut self) -> Option<(Instant, Event)> {
        self.events.poll()
    }

    /// Counters since the association or connection began.
    pub fn stats(&self) -> &RecoveryStats {
        &self.stats
    }

    /// The record of packets and units, read only.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the window fell since the previous call, for whatever reason (CWR of RFC 3168,
    /// section 6.1.2).
    pub fn take_reduced(&mut self) -> bool {
        core::mem::take(&mut self.reduced)
    }

    /// State of a path, for reports.
    pub fn snapshot(&self, path: PathId) -> PathSnapshot {
        let state = &self.paths[path];
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

    /// The latest RTT sample of `path`; `None` before the first.
    pub fn latest_rtt(&self, path: PathId) -> Option<Duration> {
        self.paths[path].rtt.latest()
    }

    /// Variation of the round-trip time of `path`; `None` before the first RTT sample.
    pub fn rttvar(&self, path: PathId) -> Option<Duration> {
        self.paths[path].rtt.rttvar()
    }

    /// Smoothed round-trip time of `path`; `None` before the first RTT sample.
    pub fn srtt(&self, path: PathId) -> Option<Duration> {
        self.paths[path].rtt.srtt()
    }

    /// Whether the stream is thin on `path` at present.
    pub fn is_thin(&self, path: PathId) -> bool {
        self.detects_thin(self.policy.thin, path)
    }

    /// Whether `detector` finds the stream thin on `path`.
    fn detects_thin(&self, detector: ThinDetector, path: PathId) -> bool {
        if self.detects_few(detector, path) {
            return true;
        }
        let ThinDetector::FewOrSlow { least } = detector else { return false };
        let state = &self.paths[path];
        let span = || self.ledger.span_in_flight(path);
        let (flight, resending) = (self.ledger.flight(path), self.ledger.resending(path));
        thin_stream::is_slow(flight, resending, span, least, state.congestion.mss())
    }

    /// Whether `detector` finds few packets in flight on `path`, and not merely slow ones.
    fn detects_few(&self, detector: ThinDetector, path: PathId) -> bool {
        let state = &self.paths[path];
        let (loss, in_flight) = (state.loss.estimate(), self.packets_in_flight(path));
        thin_stream::detect(detector, in_flight, loss, state.rtt.srtt())
    }

    /// The retransmission timeout of `path` with back-off; heartbeats use it too.
    #[inline(never)]
    pub fn rto(&self, path: PathId) -> Duration {
        self.rto_if(path, self.is_thin(path))
    }

    /// The timeout of [`Recovery::rto`], where it is known whether the stream is thin.
    fn rto_if(&self, path: PathId, thin: bool) -> Duration {
        let rto = self.paths[path].rto(&self.policy.rto, thin);
        let rto = self.behind_probe(path, rto) + self.wait_for_next(path);
        self.delayed_ack(path).map_or(rto, |least| rto.max(least))
    }

    /// Least wait for the oldest packet in flight on `path` if the peer may delay its
    /// acknowledgement: until another one arrives, if any follows. Nothing for a single packet
    /// with a request.
    fn delayed_ack(&self, path: PathId) -> Option<Duration> {
        let most = self.policy.rto.ack_delay?;
        // Called several times per packet: the cheap checks come first.
        let waits = match self.ledger.flight(path).packets {
            0 => return None,
            1 if self.asked_for_last(path) => return None,
            1 => self.delayed_alone(path, most)?,
            _ => self.delayed_until_next(path, most)?,
        };
        let waits = waits.min(self.policy.rto.max);
        // In an outage the timer probes, and a needless copy is acknowledged at once.
        let outage = self.asks_by_timeout(path) && self.paths[path].backoff.expiries() > 1;
        Some(if outage { waits / 2 } else { waits })
    }

    /// Expected time until the acknowledgement of the single packet in flight on `path`.
    fn delayed_alone(&self, path: PathId, most: Duration) -> Option<Duration> {
        let state = &self.paths[path];
        let delay = state.ack_delay.as_deref()?;
        delay.round_trip(self.oldest_cargo(path), most, state.rtt.srtt())
    }

    /// Expected time until the acknowledgement of the oldest of several packets in flight on
    /// `path`; `None` if the timeout has that anyhow ([`Recovery::wait_for_next`]), or if it
    /// carries a retransmission, which is acknowledged at once.
    fn delayed_until_next(&self, path: PathId, most: Duration) -> Option<Duration> {
        if self.samples_proven() || self.ledger.oldest_resends(path) {
            return None;
        }
        let state = &self.paths[path];
        let delay = state.ack_delay.as_deref()?;
        let gap = self.ledger.first_gap(path);
        delay.followed_after(gap, self.oldest_cargo(path), most, state.rtt.srtt())
    }

    /// The cargo of the oldest packet in flight on `path`.
    fn oldest_cargo(&self, path: PathId) -> Cargo {
        Cargo::of(self.ledger.oldest_carries_copies(path))
    }

    /// Time for which the peer waited with the acknowledgement of the oldest packet in flight on
    /// `path` for the next one, which is no part of round trips where those of the latest
    /// packet count. A packet with copies is acknowledged at once.
    fn wait_for_next(&self, path: PathId) -> Duration {
        let delay = self.paths[path].ack_delay.as_deref().filter(|delay| delay.waits_for_next());
        let (Some(delay), Some(most)) = (delay, self.policy.rto.ack_delay) else {
            return Duration::ZERO;
        };
        let waits = self.samples_proven() && self.oldest_cargo(path) == Cargo::Bare;
        if waits { delay.wait_for_next(self.ledger.first_gap(path), most) } else { Duration::ZERO }
    }

    /// Sets the maximum number of bytes of data in a packet of `path`. A window in bytes keeps its
    /// bytes, a window in packets its number of packets.
    pub fn set_mss(&mut self, path: PathId, mss: u64) {
        let congestion = &mut self.paths[path].congestion;
        match self.policy.congestion.window_counts {
            WindowCounts::Bytes => congestion.set_mss(mss),
            WindowCounts::Packets => congestion.set_mss_of_packets(mss),
        }
    }

    /// Discards all outstanding data: nothing is retransmitted, and no timer runs. Measurements and
    /// counters stay.
    pub fn discard(&mut self) {
        self.ledger.discard();
        self.heard.duplicates = 0;
        for path in self.paths.values_mut() {
            path.episode.leave(End::Discarded);
            if let Some(mechanisms) = &mut path.mechanisms {
                mechanisms.settle();
            }
            path.t3_rtx = None;
            path.early_timer = None;
        }
    }

    /// Frees what is remembered of past losses and cannot matter any more. Acknowledgements do so
    /// too; an association that sends no data has none.
    pub fn forget_losses(&mut self, now: Instant) {
        self.ledger.forget_acknowledged(now);
    }

    /// Takes an RTT sample from the handshake or a heartbeat.
    pub fn on_rtt_sample(&mut self, path: PathId, sample: Duration) {
        let state = &mut self.paths[path];
        let policy = state.rto_policy.as_deref().unwrap_or(&self.policy.rto);
        state.rtt.on_sample(sample, policy.alpha, policy.beta, policy.deviation);
        state.backoff.on_sample();
    }

    /// Packets in flight, less those that duplicates report as arrived.
    fn packets_in_flight(&self, path: PathId) -> u32 {
        self.ledger.flight(path).packets.saturating_sub(self.heard.arrived_unnamed())
    }

    /// Bytes of the congestion window in use on `path`.
    fn window_taken(&self, path: PathId) -> u64 {
        if self.policy.loss.sack_flight == SackFlight::Acknowledgements {
            return self.pipe(path);
        }
        self.counted(path, self.ledger.flight(path))
    }

    /// The window's count for an amount of packets and bytes on `path`, in bytes.
    fn counted(&self, path: PathId, Flight { packets, bytes }: Flight) -> u64 {
        match self.policy.congestion.window_counts {
            WindowCounts::Bytes => bytes,
            WindowCounts::Packets => self.size_of(path, packets),
        }
    }

    /// The size of a number of full packets of `path`, in bytes.
    #[inline(never)]
    fn size_of(&self, path: PathId, packets: u32) -> u64 {
        u64::from(packets) * self.paths[path].congestion.mss()
    }

    /// The data that `news` found delivered, as the window counts it.
    fn delivered(&self, path: PathId, news: &PathAck) -> u64 {
        self.counted(path, Flight { packets: news.delivered, bytes: news.acked_bytes })
    }

    /// The amount from which the window falls: FlightSize of RFC 5681, or the window itself if the
    /// policy counts packets.
    fn flight_size(&self, path: PathId) -> u64 {
        match self.policy.congestion.window_counts {
            WindowCounts::Bytes => self.ledger.unacknowledged_bytes(),
            WindowCounts::Packets => self.paths[path].congestion.cwnd(),
        }
    }

    /// Whether the peer reports data beyond the cumulative point.
    fn reports_gaps(&self) -> bool {
        self.heard.reports_gaps()
    }

    /// Whether fast recovery is in progress on `path`.
    pub fn is_recovering(&self, path: PathId) -> bool {
        self.paths[path].episode.is_recovering()
    }

    /// Sets the initial window of `path`, on which nothing was sent yet, to `window` bytes (RFC
    /// 5681, section 3.1: one full packet if the first packet of the handshake was lost).
    pub fn restart_window(&mut self, path: PathId, window: u64) {
        self.paths[path].congestion.restart(window);
    }

    fn record_window(&mut self, now: Instant, path: PathId) {
        let congestion = &self.paths[path].congestion;
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
