//! The retransmission timeout and its back-off (RFC 9260, sections 6.3.1 and 6.3.3).

use base::{Duration, Instant};

use crate::margin::Margin;
use crate::policy::{BackoffEnd, BackoffPolicy, ErrorCounting, RtoPolicy, ThinBackoff};
use crate::rtt::RttEstimator;

/// Most doublings of the timeout.
pub const MOST_DOUBLINGS: u8 = 63;

/// The timeout before back-off: derived from the round-trip times, within the policy's bounds.
pub(crate) fn compute_rto(
    policy: &RtoPolicy,
    rtt: &RttEstimator,
    margin: Margin,
    thin: bool,
) -> Duration {
    let least_variation = policy.granularity.max(policy.min_variation);
    let Some(timeout) = rtt.timeout(least_variation, margin) else { return policy.initial };
    // A variation that was small for long does not anticipate a queue that comes and goes.
    let longest = rtt.longest() + least_variation;
    let timeout = if policy.margin.heeds_narrow() {
        // After a round trip of seconds, sixteen variations would be many times as long as any
        // round trip was.
        let plain = rtt.timeout(least_variation, Margin::default()).unwrap_or(timeout);
        timeout.min(plain.max(longest * MOST_LONGEST))
    } else {
        timeout
    };
    let timeout = if policy.margin.learns() { timeout.max(longest) } else { timeout };
    let min = policy.min_while_thin.filter(|_| thin).unwrap_or(policy.min);
    timeout.max(min).min(policy.max)
}

/// The learned margin makes the timeout at most this many times as long as the longest recent round
/// trip.
const MOST_LONGEST: u64 = 2;

/// Largest factor on the upper bound of thin streams while the path may be longer than measured.
const DOUBTFUL_BOUND: u64 = 8;

/// Most doublings for expiries that came too early.
const MOST_EARLY: u8 = 4;

/// Least timeout from which the exponential schedule of errors begins: hosts and their programs
/// pause for seconds, however short the round trip is.
const LEAST_ERROR_TIMEOUT: Duration = Duration::from_millis(200);

/// New data asks again once the outage has become longer by one part in this many: the longer it
/// lasts, the longer it may yet.
const OUTAGE_SHARE: u64 = 32;

/// Consecutive expiries of the timer, and their effect on the next timeout.
///
/// Separate from the timer, so that stopping or restarting the timer never loses them.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    /// Number of doublings of the timeout.
    exponent: u8,
    /// Doublings for early expiries since the last RTT sample from data sent once.
    early: u8,
    /// Expiries since the last RTT sample.
    expiries: u8,
    /// Time of the first of those expiries.
    first_at: Option<Instant>,
    /// Expiries since the last acknowledgement.
    in_a_row: u8,
    /// An outage ended since the last RTT sample: the next outage may be a path that became
    /// longer.
    forgiven: bool,
    /// The last expiry was that of a window probe.
    probing: bool,
    /// Errors counted since the last acknowledgement.
    errors: u8,
    schedule: ErrorSchedule,
}

/// The exponential schedule's next error: at 1, 3, 7, … RTO, of 200 ms at least.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorSchedule {
    /// Earliest instant of the next error.
    next: Option<Instant>,
}

impl ErrorSchedule {
    /// Adds an expiry to the `errors` in a row if the policy counts every expiry or the schedule is
    /// due. `rto` is the timeout before back-off, `max` its upper bound. Returns whether the
    /// expiry counted.
    pub fn on_expiry(
        &mut self,
        now: Instant,
        errors: &mut u8,
        counting: ErrorCounting,
        rto: Duration,
        max: Duration,
    ) -> bool {
        let counts = counting == ErrorCounting::EveryExpiry || self.next.is_none_or(|at| now >= at);
        if counts {
            *errors = errors.saturating_add(1);
            let base = rto.max(LEAST_ERROR_TIMEOUT);
            let doubled = base * 1u64.checked_shl((*errors).into()).unwrap_or(u64::MAX);
            self.next = Some(now + doubled.min(max));
        }
        counts
    }
}

/// Facts of a timer's expiry that its caller acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Whether the timeout was not doubled (linear).
    pub linear: bool,
    /// Whether the stream is thin and the policy's linear timeouts are not used up yet, by count
    /// or by time.
    pub young: bool,
    /// Whether the expiry counts as an error of the path.
    pub counts_as_error: bool,
    /// Whether nothing was acknowledged since the previous expiry.
    pub again: bool,
}

impl Backoff {
    /// The timeout after the doublings so far, within the policy's bounds for thin and other
    /// streams.
    pub fn apply(&self, rto: Duration, policy: &RtoPolicy, thin: bool) -> Duration {
        // A closed window is no outage: its probes back off as far as any timeout does.
        let bounded = thin && !self.probing;
        // An early expiry is evidence that the path is longer, perhaps than the bound.
        let doubtful = self.forgiven || self.early > 0;
        let lower = policy.max_while_thin.filter(|_| bounded);
        // The doublings are limited to those of early expiries, since in a silence only the timer
        // sends.
        let longer =
            |lower: Duration| lower.max((rto * (1 << MOST_EARLY)).min(lower * DOUBTFUL_BOUND));
        let lower = lower.map(|lower| if doubtful { longer(lower) } else { lower });
        let max = lower.map_or(policy.max, |lower| lower.max(rto).min(policy.max));
        let doublings = u32::from(self.exponent) + u32::from(self.early);
        (rto * 1u64.checked_shl(doublings).unwrap_or(u64::MAX)).min(max)
    }

    /// Number of doublings of the timeout, without those for early expiries.
    pub(crate) fn doublings(&self) -> u8 {
        self.exponent
    }

    /// Sets the number of doublings of the timeout, without those for early expiries.
    pub(crate) fn set_doublings(&mut self, doublings: u8) {
        self.exponent = doublings;
    }

    /// Sets whether the next expiry is that of a window probe.
    pub(crate) fn set_probing(&mut self, probing: bool) {
        self.probing = probing;
    }

    /// Consecutive expiries since the last RTT sample.
    pub(crate) fn expiries(&self) -> u8 {
        self.expiries
    }

    /// The timer expired at `now`; `rto` is the timeout without back-off.
    pub fn on_expiry(
        &mut self,
        now: Instant,
        policy: BackoffPolicy,
        thin: bool,
        rto: Duration,
        max: Duration,
    ) -> Expiry {
        self.expiries = self.expiries.saturating_add(1);
        self.first_at.get_or_insert(now);
        self.in_a_row = self.in_a_row.saturating_add(1);
        let (linear, young) = match policy.while_thin {
            _ if !thin => (false, false),
            ThinBackoff::Exponential => (false, false),
            ThinBackoff::Linear => (true, true),
            ThinBackoff::LinearFor(cap) => {
                let linear = self.expiries <= cap;
                (linear, linear || self.is_young(now, policy.linear_step * u64::from(cap)))
            }
        };
        let doubled = rto * 1u64.checked_shl(u32::from(self.exponent) + 1).unwrap_or(u64::MAX);
        let holds = linear || (young && doubled > policy.linear_step);
        self.exponent = match policy.while_thin {
            // Linux computes a linear timeout again (tcp_retransmit_timer): doublings from before
            // the stream became thin are over.
            ThinBackoff::LinearFor(_) if linear => 0,
            _ if holds => self.exponent,
            _ => (self.exponent + 1).min(MOST_DOUBLINGS),
        };
        let counts_as_error =
            self.schedule.on_expiry(now, &mut self.errors, policy.errors, rto, max);
        Expiry { linear: holds, young, counts_as_error, again: self.in_a_row > 1 }
    }

    /// Whether the outage's first expiry is less than `span` ago.
    fn is_young(&self, now: Instant, span: Duration) -> bool {
        self.first_at.is_some_and(|at| now < at + span)
    }

    /// Time after the last packet at which new data may leave in an outage, whatever the window
    /// says; `rto` is the timeout without back-off. None: the window decides, since timeouts
    /// are linear or something was acknowledged since the last expiry but one.
    pub(crate) fn data_after(
        &self,
        now: Instant,
        policy: BackoffPolicy,
        rto: impl FnOnce() -> Duration,
    ) -> Option<Duration> {
        let outage = self.in_a_row > 1 && self.expiries > most_linear(policy);
        if policy.outage_data.is_zero() || self.probing || !outage {
            return None;
        }
        let lasts = now.since(self.first_at.unwrap_or(now));
        Some(policy.outage_data.max(rto()).max(lasts / OUTAGE_SHARE))
    }

    /// An expiry proved early, by a round trip that only retransmitted data shows: the path may
    /// become longer still. The timeout doubles each time, until the next RTT sample from data
    /// sent once.
    pub(crate) fn on_early(&mut self) {
        self.early = (self.early + 1).min(MOST_EARLY);
    }

    /// A valid RTT sample resets the back-off (rule C3 with Karn's rule).
    pub fn on_sample(&mut self) {
        self.exponent = 0;
        self.early = 0;
        self.expiries = 0;
        self.first_at = None;
        self.forgiven = false;
        self.probing = false;
    }

    /// The peer acknowledged data: the path works, and errors start from 0. The timeout is reset
    /// too if this ends an outage, once between two RTT samples: if no sample follows, the path
    /// is longer than the timeout.
    pub fn on_acknowledged(&mut self, policy: BackoffPolicy) {
        self.errors = 0;
        self.schedule = ErrorSchedule::default();
        let was_outage = core::mem::take(&mut self.in_a_row) > most_linear(policy);
        if policy.ends == BackoffEnd::Acknowledgement && was_outage && !self.forgiven {
            self.forgive();
        }
    }

    #[cold]
    #[inline(never)]
    fn forgive(&mut self) {
        self.exponent = 0;
        self.expiries = 0;
        self.first_at = None;
        self.forgiven = true;
    }
}

/// Expiries in a row at which the timeout of a thin stream is not doubled.
fn most_linear(policy: BackoffPolicy) -> u8 {
    match policy.while_thin {
        ThinBackoff::LinearFor(cap) => cap,
        ThinBackoff::Exponential | ThinBackoff::Linear => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RecoveryPolicy;

    const RTO: Duration = Duration::from_millis(200);
    const MAX: Duration = Duration::from_secs(60);

    fn every_error(while_thin: ThinBackoff) -> BackoffPolicy {
        let errors = ErrorCounting::EveryExpiry;
        let (linear_step, outage_data) = (Duration::ZERO, Duration::ZERO);
        let (linear_queue, linear_setup, first_setup) = (0, 0, None);
        let ends = BackoffEnd::Sample;
        BackoffPolicy {
            while_thin,
            linear_step,
            linear_queue,
            outage_data,
            errors,
            ends,
            linear_setup,
            first_setup,
        }
    }

    fn rto() -> RtoPolicy {
        RecoveryPolicy::sctp_rfc().rto
    }

    fn timeouts(policy: BackoffPolicy, thin: bool, count: usize) -> (Vec<u64>, usize) {
        let (mut backoff, mut now, mut errors) = (Backoff::default(), Instant::ZERO, 0);
        let spans = (0..count).map(|_| {
            let span = backoff.apply(RTO, &rto(), thin);
            now += span;
            errors += usize::from(backoff.on_expiry(now, policy, thin, RTO, MAX).counts_as_error);
            span.as_millis()
        });
        let spans = spans.collect();
        (spans, errors)
    }

    #[test]
    fn a_learned_margin_at_most_doubles_the_longest_round_trip() {
        let policy = RecoveryPolicy::sctp_latency().rto;
        let (mut rtt, mut margin) = (RttEstimator::default(), Margin::default());
        for millis in [100, 100, 2_000] {
            rtt.on_sample(
                Duration::from_millis(millis),
                policy.alpha,
                policy.beta,
                policy.deviation,
            );
        }
        let plain = compute_rto(&policy, &rtt, margin, true);
        (0..24).for_each(|_| margin.on_early());
        let learned = rtt.timeout(Duration::ZERO, margin).unwrap();
        let bounded = compute_rto(&policy, &rtt, margin, true);
        let millis = [plain, learned, bounded].map(|timeout| timeout.as_millis());
        assert_eq!(millis, [2001, 4750, 4002]);
    }

    #[test]
    fn a_thick_stream_doubles_under_every_policy() {
        for name in ["rfc", "lksctp", "thin-paper", "thin"] {
            let policy = RecoveryPolicy::preset(name).unwrap().backoff;
            assert_eq!(timeouts(policy, false, 4).0, [200, 400, 800, 1600], "{name}");
        }
    }

    #[test]
    fn linear_timeouts_repeat_while_thin_and_count_errors_at_the_exponential_instants() {
        let policy = RecoveryPolicy::sctp_thin_paper().backoff;
        // Expiries at 200, 400, … 3000 ms; the exponential schedule has errors at 200, 600, 1400
        // and 3000 ms.
        assert_eq!(timeouts(policy, true, 15), (vec![200; 15], 4));
        let every = BackoffPolicy { errors: ErrorCounting::EveryExpiry, ..policy };
        assert_eq!(timeouts(every, true, 15).1, 15);
    }

    #[test]
    fn errors_over_a_short_round_trip_count_as_over_one_of_200_ms() {
        let policy = RecoveryPolicy::sctp_latency().backoff;
        let (mut backoff, mut now, mut counted) = (Backoff::default(), Instant::ZERO, vec![]);
        let rto = Duration::from_millis(2);
        while now < Instant::from_millis(20_000) {
            now += backoff.apply(rto, &rto_policy_of_latency(), true);
            if backoff.on_expiry(now, policy, true, rto, MAX).counts_as_error {
                counted.push(now.as_nanos() / 1_000_000);
            }
        }
        // The first expiry, then one 400, 800, 1600, … ms after the previous one.
        assert_eq!(counted, [2, 522, 1546, 4058, 8058, 15_058]);
    }

    fn rto_policy_of_latency() -> RtoPolicy {
        RecoveryPolicy::sctp_latency().rto
    }

    #[test]
    fn linear_timeouts_of_linux_are_computed_anew_and_those_of_the_paper_stay_as_they_are() {
        for (while_thin, thin_ms) in [(ThinBackoff::LinearFor(6), 200), (ThinBackoff::Linear, 800)]
        {
            let policy = every_error(while_thin);
            let mut backoff = Backoff::default();
            let mut expire = |thin: bool| {
                let expiry = backoff.on_expiry(Instant::ZERO, policy, thin, RTO, MAX);
                (expiry.linear, backoff.apply(RTO, &rto(), thin).as_millis())
            };
            assert_eq!([expire(false), expire(false)], [(false, 400), (false, 800)]);
            assert_eq!([expire(true), expire(true)], [(true, thin_ms); 2], "{while_thin:?}");
            assert_eq!(expire(false), (false, 2 * thin_ms));
        }
    }

    #[test]
    fn the_upper_bound_of_thin_streams_never_cuts_the_timeout_itself() {
        let bounded = RtoPolicy { max_while_thin: Some(RTO / 2), ..rto() };
        let mut backoff = Backoff::default();
        assert_eq!(backoff.apply(RTO, &bounded, true), RTO);
        backoff.on_expiry(Instant::ZERO, every_error(ThinBackoff::Exponential), true, RTO, MAX);
        assert_eq!([true, false].map(|thin| backoff.apply(RTO, &bounded, thin)), [RTO, RTO * 2]);
    }

    #[test]
    fn while_the_path_may_be_longer_the_bound_of_thin_streams_is_sixteen_timeouts_and_eight_bounds_at_most()
     {
        let bound = Duration::from_secs(1);
        let bounded = RtoPolicy { max_while_thin: Some(bound), ..rto() };
        let longest = |rto_ms: u64| {
            let (rto, mut backoff) = (Duration::from_millis(rto_ms), Backoff::default());
            backoff.on_early();
            for _ in 0..20 {
                let policy = every_error(ThinBackoff::Exponential);
                backoff.on_expiry(Instant::ZERO, policy, true, rto, MAX);
            }
            backoff.apply(rto, &bounded, true).as_millis()
        };
        assert_eq!([61, 100, 400, 600].map(longest), [1000, 1600, 6400, 8000]);
    }

    #[test]
    fn an_acknowledgement_ends_the_back_off_of_an_outage_only_where_the_policy_says_so() {
        let after = |ends| {
            let policy = BackoffPolicy { ends, ..every_error(ThinBackoff::Exponential) };
            let mut backoff = Backoff::default();
            for _ in 0..3 {
                backoff.on_expiry(Instant::ZERO, policy, true, RTO, MAX);
            }
            backoff.on_acknowledged(policy);
            backoff.apply(RTO, &rto(), true)
        };
        assert_eq!([BackoffEnd::Sample, BackoffEnd::Acknowledgement].map(after), [RTO * 8, RTO]);
    }

    #[test]
    fn new_data_asks_in_a_silence_beyond_linear_timeouts_and_more_seldom_the_longer_it_lasts() {
        let policy =
            BackoffPolicy { outage_data: RTO / 2, ..every_error(ThinBackoff::LinearFor(2)) };
        let mut backoff = Backoff::default();
        let mut after = |at: u64| {
            let now = Instant::from_millis(at);
            backoff.on_expiry(now, policy, true, RTO, MAX);
            backoff.data_after(now, policy, || RTO).map(Duration::as_millis)
        };
        assert_eq!([200, 400, 600].map(&mut after), [None, None, Some(200)]);
        assert_eq!([6600, 64_200].map(&mut after), [Some(200), Some(2000)]);
        backoff.on_acknowledged(policy);
        let now = Instant::from_millis(64_400);
        backoff.on_expiry(now, policy, true, RTO, MAX);
        assert_eq!(backoff.data_after(now, policy, || RTO), None, "something was acknowledged");
        backoff.on_expiry(now, policy, true, RTO, MAX);
        assert!(backoff.data_after(now, policy, || RTO).is_some());
        backoff.set_probing(true);
        assert_eq!(backoff.data_after(now, policy, || RTO), None, "a closed window");
    }

    #[test]
    fn capped_linear_timeouts_double_after_the_cap() {
        let policy = every_error(ThinBackoff::LinearFor(2));
        assert_eq!(timeouts(policy, true, 5).0, [200, 200, 200, 400, 800]);
    }

    #[test]
    fn linear_timeouts_of_a_short_round_trip_double_up_to_a_step_until_as_many_steps_have_passed() {
        let short = |rto_ms, step_ms| {
            let linear_step = Duration::from_millis(step_ms);
            let policy = BackoffPolicy { linear_step, ..every_error(ThinBackoff::LinearFor(6)) };
            let (mut backoff, mut now) = (Backoff::default(), Instant::ZERO);
            let spans = (0..16).map(|_| {
                let span = backoff.apply(Duration::from_millis(rto_ms), &rto(), true);
                now += span;
                backoff.on_expiry(now, policy, true, Duration::from_millis(rto_ms), MAX);
                span.as_millis()
            });
            spans.collect::<Vec<_>>()
        };
        // The first expiry is at 20 ms; the one at 1320 ms is the first after 1220 ms.
        let bounded = [20, 20, 20, 20, 20, 20, 20, 40, 80, 160, 160, 160, 160, 160, 160, 320];
        assert_eq!(short(20, 200), bounded);
        assert_eq!(short(20, 0)[6..11], [20, 40, 80, 160, 320]);
        // A timeout above the step doubles by the count alone, once that many steps have passed.
        assert_eq!(short(200, 200)[5..9], [200, 200, 400, 800]);
        assert_eq!(short(300, 200)[5..9], [300, 300, 600, 1200]);
    }

    /// Timeouts in milliseconds after the first, the second and the fortieth RTT sample.
    fn computed(policy: &RtoPolicy, samples_ms: impl Iterator<Item = u64>) -> [u64; 3] {
        let mut rtt = RttEstimator::default();
        let timeouts: Vec<_> = samples_ms
            .take(40)
            .map(|sample| {
                let sample = Duration::from_millis(sample);
                rtt.on_sample(sample, policy.alpha, policy.beta, policy.deviation);
                compute_rto(policy, &rtt, Margin::default(), false).as_millis()
            })
            .collect();
        [timeouts[0], timeouts[1], timeouts[39]]
    }

    #[test]
    fn the_least_variation_stands_above_the_round_trip_and_the_least_timeout_bounds_the_sum() {
        let steady = || core::iter::repeat(130);
        let (linux, sack) = (RecoveryPolicy::tcp_linux().rto, RecoveryPolicy::tcp_sack().rto);
        // SRTT + max (4 RTTVAR, 200 ms): 4 RTTVAR is 260 ms, then 195 ms.
        assert_eq!(computed(&linux, steady()), [390, 330, 330]);
        assert_eq!(computed(&sack, steady()), [390, 325, 200]);
        let without = RtoPolicy { min_variation: Duration::ZERO, ..linux.clone() };
        assert_eq!(computed(&without, steady()), computed(&sack, steady()));
        // A variation that is larger counts as it is: RTTVAR is 50 ms, then 137.5 ms, and SRTT 150
        // ms.
        assert_eq!(computed(&linux, [100, 500].into_iter().cycle())[..2], [300, 700]);
    }

    #[test]
    fn the_least_variation_counts_after_a_measurement_and_within_the_maximum() {
        let rto = RecoveryPolicy::tcp_linux().rto;
        let mut rtt = RttEstimator::default();
        assert_eq!(compute_rto(&rto, &rtt, Margin::default(), false), rto.initial);
        rtt.on_sample(Duration::from_secs(119), rto.alpha, rto.beta, rto.deviation);
        let far = RtoPolicy { min_variation: Duration::from_secs(7200), ..rto };
        assert_eq!(compute_rto(&far, &rtt, Margin::default(), false), far.max);
    }

    #[test]
    fn the_backed_off_timeout_never_exceeds_its_maximum_and_a_sample_resets_it() {
        let policy = RecoveryPolicy::sctp_rfc().backoff;
        let mut backoff = Backoff::default();
        for _ in 0..100 {
            backoff.on_expiry(Instant::ZERO, policy, false, RTO, MAX);
        }
        assert_eq!(backoff.apply(RTO, &rto(), false), MAX);
        backoff.on_sample();
        assert_eq!(backoff.apply(RTO, &rto(), false), RTO);
    }
}
