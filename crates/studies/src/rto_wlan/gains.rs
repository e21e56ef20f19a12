//! The 121 pairs of gains, followed along round-trip times, and ranked.

use base::Duration;
use recovery::margin::Margin;
use recovery::rtt::{Deviation, Ratio, RttEstimator};
use results::rank_correlation;

/// A pair of gains, each a multiple of a tenth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    alpha: u16,
    beta: u16,
}

impl Pair {
    /// The pair of `alpha` and `beta` tenths.
    pub const fn new(alpha: u16, beta: u16) -> Pair {
        Pair { alpha, beta }
    }

    /// Tenths of alpha and beta.
    pub const fn tenths(self) -> (u16, u16) {
        (self.alpha, self.beta)
    }

    /// Smoothing factor of the round-trip time, alpha of RFC 6298.
    pub const fn alpha(self) -> Ratio {
        Ratio::new(self.alpha, 10)
    }

    /// Smoothing factor of the variation, beta of RFC 6298.
    pub const fn beta(self) -> Ratio {
        Ratio::new(self.beta, 10)
    }

    /// Alpha and beta as rows name them.
    pub fn texts(self) -> (String, String) {
        let text = |tenths: u16| format!("{}.{}", tenths / 10, tenths % 10);
        (text(self.alpha), text(self.beta))
    }
}

/// Ranks of pairs in the paper's Table 1, by analysis, as far as its text has them.
pub const TABLE_1: [(Pair, u32); 9] = [
    (Pair::new(2, 7), 1),
    (Pair::new(2, 6), 2),
    (Pair::new(3, 6), 3),
    (Pair::new(3, 7), 4),
    (Pair::new(5, 0), 117),
    (Pair::new(9, 0), 118),
    (Pair::new(7, 0), 119),
    (Pair::new(6, 0), 120),
    (Pair::new(0, 1), 121),
];

/// Ranks of pairs in the paper's Table 2, by bytes transferred, as far as its text has them.
pub const TABLE_2: [(Pair, u32); 7] = [
    (Pair::new(7, 7), 1),
    (Pair::new(9, 7), 2),
    (Pair::new(10, 7), 3),
    (Pair::new(8, 5), 117),
    (Pair::new(0, 7), 118),
    (Pair::new(9, 9), 119),
    (Pair::new(0, 3), 121),
];

/// Agreement of ranks found here (none for a pair that was left out) with the order of a table of
/// the paper: Spearman's correlation. None unless all of its pairs are there and differ.
pub fn agreement(table: &[(Pair, u32)], rank: impl Fn(Pair) -> Option<f64>) -> Option<f64> {
    let ranks: Option<Vec<(f64, f64)>> =
        table.iter().map(|(pair, paper)| Some((f64::from(*paper), rank(*pair)?))).collect();
    rank_correlation(&ranks?)
}

/// The 121 pairs of gains from 0 to 1 in steps of 0.1.
pub fn grid() -> impl Iterator<Item = Pair> {
    (0..=10).flat_map(|alpha| (0..=10).map(move |beta| Pair { alpha, beta }))
}

/// The timeout of each second but the first, before its measurement is known: what would be armed.
/// Neither bounds nor granularity apply: with a minimum of a second, nothing in the paper's study
/// could be needless.
pub fn to_timeouts(
    round_trips: &[Duration],
    alpha: Ratio,
    beta: Ratio,
    deviation: Deviation,
) -> Vec<Duration> {
    let mut estimator = RttEstimator::default();
    let before = |rtt: &Duration| {
        let timeout = estimator.timeout(Duration::ZERO, Margin::default());
        estimator.on_sample(*rtt, alpha, beta, deviation);
        timeout
    };
    round_trips.iter().map(before).skip(1).map(Option::unwrap_or_default).collect()
}

/// The paper's numbers of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Time by which the timeout is above the round-trip time, summed over the seconds in which it
    /// is.
    pub delay: Duration,
    /// Number of seconds in which the timeout is below the round-trip time.
    pub spurious: u32,
}

/// Follows the timeouts of a pair over the round trips, and counts those that were too short.
pub fn analyse(round_trips: &[Duration], pair: Pair, deviation: Deviation) -> Analysis {
    let timeouts = to_timeouts(round_trips, pair.alpha(), pair.beta(), deviation);
    let mut analysis = Analysis::default();
    for (timeout, rtt) in timeouts.iter().zip(round_trips.iter().skip(1)) {
        analysis.delay += timeout.saturating_sub(*rtt);
        analysis.spurious += u32::from(timeout < rtt);
    }
    analysis
}

/// A pair among all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The gains alpha and beta.
    pub pair: Pair,
    /// Delays and needless retransmissions that the gains gave.
    pub analysis: Analysis,
    /// Place by delay: 0 has the least.
    pub by_delay: u32,
    /// Place by needless seconds: 0 has the fewest.
    pub by_spurious: u32,
    /// Place by [`Ranked::distance`]: 1 is the best.
    pub rank: u32,
}

impl Ranked {
    /// Distance of the two places from (0, 0).
    pub fn distance(&self) -> f64 {
        f64::from(self.squares()).sqrt()
    }

    fn squares(&self) -> u32 {
        self.by_delay * self.by_delay + self.by_spurious * self.by_spurious
    }
}

/// All pairs, the best first. Of equals the one with the smaller alpha, then beta, comes first: the
/// paper does not say.
pub fn rank(round_trips: &[Duration], deviation: Deviation) -> Vec<Ranked> {
    let ranked = |pair| Ranked {
        pair,
        analysis: analyse(round_trips, pair, deviation),
        by_delay: 0,
        by_spurious: 0,
        rank: 0,
    };
    let mut all: Vec<Ranked> = grid().map(ranked).collect();
    place(&mut all, |one| one.analysis.delay.as_nanos(), |one, place| one.by_delay = place);
    place(&mut all, |one| one.analysis.spurious.into(), |one, place| one.by_spurious = place);
    place(&mut all, |one| one.squares().into(), |one, place| one.rank = place + 1);
    all.sort_by_key(|one| one.rank);
    all
}

/// Gives each its place by `key`; all are in the order of the grid before and after.
fn place(all: &mut [Ranked], key: fn(&Ranked) -> u64, set: fn(&mut Ranked, u32)) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|index| key(&all[*index]));
    for (place, index) in (0..).zip(order) {
        set(&mut all[index], place);
    }
}
