//! News of acknowledgements about retransmitted data: proven round trips, and timeouts that were
//! early.

use base::{Duration, Instant};

use super::Recovery;
use crate::feedback::{Feedback, Silence};
use crate::ledger::{AckReport, PathAck, Repetition};
use crate::loss::rack::TIMESTAMP_TICK;
use crate::path::Routes;
use crate::path_id::PathId;
use crate::policy::{RecoveryPolicy, RttSamples};
use crate::rto::compute_rto;

/// An acknowledgement proves that the first transmission arrived if it comes sooner after the
/// retransmission than the shortest round trip less one part in this many. Round trips vary: the
/// retransmission's own may be a little shorter than all before.
const HASTE: u64 = 16;
/// Hosts delay packets by up to a millisecond for reasons of their own, so that no round trip is
/// shorter than others by less.
const LEAST_HASTE: Duration = Duration::from_millis(1);

/// Whether duplicate reports of acknowledged data change the timeout under `policy`.
pub(super) fn is_taught(policy: &RecoveryPolicy) -> bool {
    policy.rto.samples == RttSamples::Proven || policy.rto.margin.learns()
}

impl Recovery {
    /// Takes the RTT sample of retransmitted data whose first transmission is proven to have
    /// arrived. Returns the first transmission's age if the acknowledgement is too early for
    /// the retransmission.
    pub(super) fn take_proven(
        &mut self,
        now: Instant,
        report: &AckReport,
        feedback: &Feedback<'_>,
    ) -> Option<Duration> {
        let repeats = report.again.latest.is_some() || report.again.once.is_some();
        if repeats || !feedback.needless.is_empty() {
            return self.take_repeated(now, report, feedback.echo);
        }
        None
    }

    /// Processes the acknowledgement of retransmitted data, or a report of duplicates.
    #[cold]
    fn take_repeated(
        &mut self,
        now: Instant,
        report: &AckReport,
        echo: Option<Duration>,
    ) -> Option<Duration> {
        let proven = self.samples_proven() && self.heard.silence != Silence::Nothing;
        let margin = self.policy.rto.margin;
        let (learned, narrow) = (margin.learns(), margin.heeds_narrow());
        if narrow {
            self.learn_way(now, report, echo);
        }
        for (path, news) in report.paths.iter() {
            if proven {
                self.take_proven_of(path, news);
            }
            let early =
                news.early.filter(|sent_at| learned && !self.is_excused(now, path, *sent_at));
            if early.is_some_and(|sent_at| !self.overtook(path, sent_at)) {
                self.paths[path].backoff.on_early();
            }
            if narrow {
                self.learn_by_duplicate(now, path, news);
            }
            // A copy that left before any evidence of a loss proves a round trip, but nothing about
            // the timer.
            if early.is_some() && news.proven_rtt.is_some() {
                self.paths[path].margin.on_early();
            }
        }
        if self.heard.silence == Silence::Nothing {
            // Timestamps take the samples, since units split and join.
            // An acknowledgement that reports a retransmission as a duplicate, too, is not the
            // first one: others were lost.
            if learned && (report.spurious == 0 || !narrow) {
                self.learn_by_echo(now, report, echo);
            }
            return None;
        }
        let path = report.paths.position(|news| news.largest_resent)?;
        let least = self.paths[path].shortest_trip()?;
        let margin = (least / HASTE).max(LEAST_HASTE);
        let is_hasty = |again: &Repetition| now.since(again.again_at) + margin < least;
        let counts = |again: &Repetition| !self.overtook(path, again.first_at);
        let once = report.again.once.filter(is_hasty);
        let sample = once.filter(|once| proven && counts(once));
        let early =
            learned && report.again.latest.filter(is_hasty).is_some_and(|again| counts(&again));
        if let Some(sample) = sample {
            self.on_rtt_sample(path, now.since(sample.first_at));
        }
        if early {
            self.paths[path].backoff.on_early();
        }
        once.map(|once| now.since(once.first_at))
    }

    /// Takes an RTT sample of retransmitted data without knowing which transmission arrived, if the
    /// policy does without Karn's algorithm. Returns whether there was one.
    pub(super) fn sample_ambiguous(
        &mut self,
        now: Instant,
        path: PathId,
        news: &PathAck,
        report: &AckReport,
    ) -> bool {
        let samples = self.policy.rto.samples;
        let again = report.again.latest.filter(|_| news.largest_resent);
        let Some(again) = again.filter(|_| samples.takes_ambiguous()) else { return false };
        let from_first = samples == RttSamples::FromFirst;
        let sent_at = if from_first { again.first_at } else { again.again_at };
        self.on_rtt_sample(path, now.since(sent_at));
        true
    }

    /// Retransmitted data is acknowledged within a timeout of its last transmission: other packets
    /// do not hold it up.
    fn learn_way(&mut self, now: Instant, report: &AckReport, echo: Option<Duration>) {
        let path = report.paths.position(|news| news.acked_bytes > 0);
        let Some((path, again)) = path.zip(report.again.latest) else { return };
        let took = now.since(again.again_at);
        let is_earlier = echo.is_some_and(|age| age > took + TIMESTAMP_TICK);
        let rto = self.rto_unladen(path);
        let Some(mechanisms) = self.paths[path].mechanisms.as_deref_mut() else { return };
        let is_hasty = mechanisms.shortest_trip().is_none_or(|least| took < least);
        if !is_hasty && !is_earlier && took <= rto {
            mechanisms.probe.on_way(true);
        }
    }

    /// The timeout of `path` without back-off.
    fn rto_unladen(&self, path: PathId) -> Duration {
        let state = &self.paths[path];
        let policy = state.rto_policy(&self.policy.rto);
        compute_rto(policy, &state.rtt, state.margin, self.is_thin(path))
    }

    /// The peer reports a needless retransmission, which it does at once (RFC 9260, section 6.2;
    /// RFC 2883, section 4): that took longer than the timeout. On a narrow line it was itself
    /// in the way of what left after it, whose timers would expire in turn, each for the
    /// retransmission before. A lost report is repeated, but only with other news.
    fn learn_by_duplicate(&mut self, now: Instant, path: PathId, news: &PathAck) {
        let alone = news.delivered == 0 && !news.cumulative;
        let prompt = alone || self.heard.silence == Silence::Nothing;
        let state = &self.paths[path];
        let follows = self.ledger.flight(path).packets > 0;
        let counts = |_: &Duration| prompt && follows && state.routes == Routes::all(path);
        let Some(took) = news.again_took.filter(counts) else { return };
        if took <= self.rto_unladen(path) {
            return;
        }
        let state = &mut self.paths[path];
        state.rtt.stretch(took);
        if let Some(mechanisms) = state.mechanisms.as_deref_mut() {
            mechanisms.probe.on_way(false);
        }
        state.backoff.on_early();
        self.delay_timer(now, path);
    }

    /// Retransmitted data is acknowledged with the timestamp of its first transmission (RFC 3522,
    /// section 3): the timer expired early.
    fn learn_by_echo(&mut self, now: Instant, report: &AckReport, echo: Option<Duration>) {
        let latest = report.again.latest.zip(echo);
        let early = latest.filter(|(again, age)| *age > now.since(again.again_at) + TIMESTAMP_TICK);
        let path = report.paths.position(|news| news.acked_bytes > 0);
        let Some(((again, age), path)) = early.zip(path) else { return };
        // An acknowledgement of data behind a hole echoes what arrived before the hole.
        let narrow = self.policy.rto.margin.heeds_narrow();
        if narrow && report.paths.get(path).is_some_and(|news| news.by_gap) {
            return;
        }
        // The data left less than a round trip before: another packet's timer had expired, not its
        // own.
        let least = self.paths[path].shortest_trip().unwrap_or_default();
        if age < now.since(again.again_at) + least {
            return;
        }
        // Without a request, the peer may have delayed the acknowledgement, for which the timeout
        // has an allowance of its own.
        let delays = !self.may_ask(path) && self.paths[path].ack_delay.is_some();
        if delays || self.is_excused(now, path, again.first_at) {
            return;
        }
        if !self.overtook(path, again.first_at) {
            self.paths[path].backoff.on_early();
        }
        // The peer's duplicate report concerns the same expiry.
        if let Some(delay) = self.paths[path].ack_delay.as_deref_mut() {
            delay.excuse(again.first_at);
        }
        self.paths[path].margin.on_early();
    }

    /// Whether the peer's delay explains an expiry before the acknowledgement of data first sent at
    /// `sent_at`.
    pub(super) fn is_excused(&mut self, now: Instant, path: PathId, sent_at: Instant) -> bool {
        let state = &mut self.paths[path];
        let (most, smoothed) = (self.policy.rto.ack_delay, state.rtt.srtt());
        state
            .ack_delay
            .as_deref_mut()
            .zip(most)
            .is_some_and(|(delay, most)| delay.excuses(sent_at, now.since(sent_at), most, smoothed))
    }

    /// Whether the policy takes proven round trips as RTT samples.
    pub(super) fn samples_proven(&self) -> bool {
        self.policy.rto.samples == RttSamples::Proven
    }

    /// Takes a round trip that is proven, or believed although doubtful.
    fn take_proven_of(&mut self, path: PathId, news: &PathAck) {
        let proven = news.proven_rtt.filter(|trip| !self.overtook(path, trip.sent_at));
        let state = &mut self.paths[path];
        let loss = state.loss.estimate();
        let doubtful = news.doubtful_rtt.is_some();
        let mechanisms = state.mechanisms.as_deref_mut();
        let believes =
            mechanisms.is_some_and(|mechanisms| mechanisms.doubts.believes(doubtful, loss));
        let proven = proven.map(|trip| trip.took);
        let doubted = news.doubtful_rtt.filter(|_| believes && proven.is_none());
        if let Some(sample) = proven {
            self.on_rtt_sample(path, sample);
        }
        if let Some(sample) = doubted {
            let longest = self.paths[path].rtt.longest();
            self.on_rtt_sample(path, sample);
            // The round trip may be that of the retransmission.
            self.paths[path].rtt.set_longest(longest);
        }
    }

    /// Whether data sent once on `path` after `sent_at` had a round trip within the timeout: then
    /// the path is not longer than that, and the data sent at `sent_at` is no evidence.
    fn overtook(&self, path: PathId, sent_at: Instant) -> bool {
        let state = &self.paths[path];
        let clean = state.mechanisms.as_ref().and_then(|known| known.doubts.clean_after(sent_at));
        clean.is_some_and(|took| took <= self.rto_unladen(path))
    }
}
