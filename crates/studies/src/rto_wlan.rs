//! A station that walks out of its cell, and the gains of the retransmission timeout (Fallon et
//! al., 2009).
//!
//! This is the paper's analytical study, its sections 5 and 6.2: for each of 121 pairs of gains, by
//! how much the timeout is above the round-trip time (what a loss would wait for nothing) and in
//! how many seconds it is below (a retransmission would be needless). Its section 6.3, a transfer
//! over two paths, is [`transfer`]. The round-trip times themselves the paper shows as a picture
//! only: [`walk`] makes them up.

pub mod gains;
#[cfg(test)]
mod tests;
pub mod transfer;
pub mod walk;

use base::{Duration, Instant};
use lab::study::{Study, StudyError};
use recovery::RecoveryPolicy;
use recovery::margin::Margin;
use recovery::policy::RtoPolicy;
use recovery::rtt::{Deviation, RttEstimator};
use results::{Quantity, Sheet, mean, median};
use serde::Deserialize;

use self::gains::{Pair, Ranked, to_timeouts};
use self::walk::Walk;
use crate::form::{self, whole_seconds};

/// The study's name in a plan.
pub const NAME: &str = "rto-wlan";

/// Axis of time, in seconds.
const SECONDS: Quantity = Quantity::new("time", "s");

/// Parameters of the analytical study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Walk of the station, and growth of its round-trip time.
    pub walk: Walk,
    /// Deviation that the variation follows: `absolute`, `signed` or `truncated`.
    #[serde(deserialize_with = "form::deviation")]
    pub deviation: Deviation,
    /// The last second that counts.
    #[serde(deserialize_with = "form::text")]
    pub until: Duration,
    /// Time at which the station of section 5's example leaves the cell.
    #[serde(deserialize_with = "form::text")]
    pub example_onset: Duration,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            walk: Walk::default(),
            deviation: Deviation::Absolute,
            until: Duration::from_secs(220),
            example_onset: Duration::from_secs(100),
        }
    }
}

impl Study for Parameters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), String> {
        self.walk.check()?;
        let (last, seconds) = (whole_seconds(self.until), self.walk.seconds());
        match (1..=seconds).contains(&last) {
            true => Ok(()),
            false => Err(format!("`until` is {last} s: 1 s to the walk's {seconds} s")),
        }
    }

    fn effort(&self) -> f64 {
        1.0
    }

    /// Uses the average over the walks of `seed`.
    fn run(&self, seed: u64, sheet: &mut Sheet<'_>) -> Result<(), StudyError> {
        let last = whole_seconds(self.until);
        let profile = self.walk.average(seed);
        show_example(self, seed, sheet);
        show_profile(&profile, last, sheet);
        let round_trips = &profile.round_trips[..=last];
        let ranked = gains::rank(round_trips, self.deviation);
        show_deviations(round_trips, self.deviation, sheet);
        show_ranking(&ranked, sheet);
        Ok(())
    }
}

// ---- section 5 -------------------------------------------------------------------------------

/// State of a sender with RFC 9260's gains, second by second, the first measurement taken in.
struct Known {
    srtt: f64,
    rttvar: f64,
    /// Retransmission timeout within RFC 9260's bounds.
    rto: f64,
}

fn follow_example(round_trips: &[Duration], rto: &RtoPolicy) -> Vec<Known> {
    let mut estimator = RttEstimator::default();
    let seconds = |span: Option<Duration>| span.map_or(0.0, Duration::as_secs_f64);
    let after = |rtt: &Duration| {
        estimator.on_sample(*rtt, rto.alpha, rto.beta, rto.deviation);
        let timeout = estimator.timeout(rto.granularity, Margin::default());
        Known {
            srtt: seconds(estimator.srtt()),
            rttvar: seconds(estimator.rttvar()),
            rto: seconds(timeout.map(|timeout| timeout.clamp(rto.min, rto.max))),
        }
    };
    round_trips.iter().map(after).collect()
}

/// Figure 1 and the numbers of section 5: a single walk that leaves at a known time, as many times
/// as there are walks, since a single one is chance.
fn show_example(parameters: &Parameters, seed: u64, sheet: &mut Sheet<'_>) {
    let onset = whole_seconds(parameters.example_onset);
    let rto = RtoPolicy { deviation: parameters.deviation, ..RecoveryPolicy::sctp_rfc().rto };
    let walks: Vec<_> = (0..parameters.walk.walks)
        .map(|index| parameters.walk.single(seed, index, Some(onset)).round_trips)
        .collect();
    let known: Vec<_> = walks.iter().map(|walk| follow_example(walk, &rto)).collect();
    let at = |second: usize, of: fn(&Known) -> f64| {
        mean(known.iter().filter_map(|walk| walk.get(second)).map(of)) * 1000.0
    };
    let before = onset.saturating_sub(1);
    let rtts = walks.iter().filter_map(|walk| walk.get(before)).map(|rtt| rtt.as_millis_f64());
    let late = known.iter().flat_map(|walk| walk.iter().skip(onset)).map(|known| known.rto);
    sheet.add("example.rtt", &[("after", "0s")], median(rtts.collect()).unwrap_or(0.0), "ms");
    sheet.add("example.srtt", &[("after", "0s")], at(before, |known| known.srtt), "ms");
    sheet.add("example.rttvar", &[("after", "0s")], at(before, |known| known.rttvar), "ms");
    sheet.add("example.rto", &[("after", "0s")], at(before, |known| known.rto), "ms");
    sheet.add("example.rto", &[("after", "10s")], at(onset + 10, |known| known.rto), "ms");
    sheet.add("example.rto.mean", &[], mean(late), "s");
    let Some((walk, known)) = walks.first().zip(known.first()) else { return };
    let mut line = |what: &str, values: Vec<f64>| {
        let axes = (SECONDS, Quantity::new("round-trip time, timeout", "s"));
        sheet.add_curve("example", &[("of", what)], axes, (0..).map(f64::from).zip(values));
    };
    line("RTT", walk.iter().map(|rtt| rtt.as_secs_f64()).collect());
    line("SRTT", known.iter().map(|known| known.srtt).collect());
    line("RTTVAR", known.iter().map(|known| known.rttvar).collect());
    line("RTO", known.iter().map(|known| known.rto).collect());
}

// ---- figures 2 to 6, table 1 -----------------------------------------------------------------

fn show_profile(profile: &walk::Profile, last: usize, sheet: &mut Sheet<'_>) {
    let rtts = || profile.round_trips.iter().map(|rtt| rtt.as_secs_f64());
    for (from, to) in [(1, 60), (61, 100), (101, last)] {
        let count = to.saturating_sub(from) + 1;
        let seconds = format!("{from}-{to}");
        let labels = [("seconds", seconds.as_str())];
        let rtt = mean(rtts().skip(from).take(count)) * 1000.0;
        sheet.add("profile.rtt", &labels, rtt, "ms");
        let loss = mean(profile.losses.iter().skip(from).take(count).copied()) * 100.0;
        sheet.add("profile.loss", &labels, loss, "%");
    }
    let time = || (0..).map(f64::from);
    let rtt = (SECONDS, Quantity::new("RTT", "s"));
    sheet.add_curve("profile.rtt", &[], rtt, time().zip(rtts()));
    let losses = profile.losses.iter().map(|share| 100.0 * share);
    let loss = (SECONDS, Quantity::new("packets lost", "%"));
    sheet.add_curve("profile.loss", &[], loss, time().zip(losses));
}

/// Figure 3: the timeout less the round-trip time, for alpha 0 and each beta.
fn show_deviations(round_trips: &[Duration], deviation: Deviation, sheet: &mut Sheet<'_>) {
    for pair in gains::grid().filter(|pair| pair.tenths().0 == 0) {
        let timeouts = to_timeouts(round_trips, pair.alpha(), pair.beta(), deviation);
        let points =
            timeouts.iter().zip(&round_trips[1..]).zip(1..).map(|((timeout, rtt), second)| {
                (f64::from(second), timeout.as_secs_f64() - rtt.as_secs_f64())
            });
        let (alpha, beta) = pair.texts();
        let labels = [("alpha", alpha.as_str()), ("beta", beta.as_str())];
        sheet.add_curve("deviation", &labels, (SECONDS, Quantity::new("RTO - RTT", "s")), points);
    }
}

fn show_ranking(ranked: &[Ranked], sheet: &mut Sheet<'_>) {
    for one in ranked {
        let (alpha, beta) = one.pair.texts();
        let labels = [("alpha", alpha.as_str()), ("beta", beta.as_str())];
        let (by_delay, by_spurious) = (f64::from(one.by_delay), f64::from(one.by_spurious));
        sheet.add("delay", &labels, one.analysis.delay.as_secs_f64(), "s");
        sheet.add("spurious", &labels, f64::from(one.analysis.spurious), "s");
        sheet.add("rank.delay", &labels, by_delay, "");
        sheet.add("rank.spurious", &labels, by_spurious, "");
        sheet.add("distance", &labels, one.distance(), "");
        sheet.add("rank", &labels, f64::from(one.rank), "");
    }
    let axes =
        (Quantity::new("place by needless seconds", ""), Quantity::new("place by delay", ""));
    let places = ranked.iter().map(|one| (f64::from(one.by_spurious), f64::from(one.by_delay)));
    sheet.add_curve("ranks", &[], axes, places);
    let mut extreme =
        |measure: &str, wanted: &dyn Fn(&Ranked) -> bool, value: fn(&Ranked) -> f64| {
            let Some(one) = ranked.iter().find(|one| wanted(one)) else { return };
            let (alpha, beta) = one.pair.tenths();
            sheet.add(measure, &[], value(one), "s");
            sheet.add(&format!("{measure}.alpha"), &[], f64::from(alpha) / 10.0, "");
            sheet.add(&format!("{measure}.beta"), &[], f64::from(beta) / 10.0, "");
        };
    let last = ranked.len() as u32 - 1;
    type Value = fn(&Ranked) -> f64;
    let (delay, spurious): (Value, Value) =
        (|one| one.analysis.delay.as_secs_f64(), |one| f64::from(one.analysis.spurious));
    extreme("delay.lowest", &|one| one.by_delay == 0, delay);
    extreme("delay.highest", &|one| one.by_delay == last, delay);
    extreme("spurious.fewest", &|one| one.by_spurious == 0, spurious);
    extreme("spurious.most", &|one| one.by_spurious == last, spurious);
    let rank =
        |pair: Pair| ranked.iter().find(|one| one.pair == pair).map(|one| f64::from(one.rank));
    if let Some(agreement) = gains::agreement(&gains::TABLE_1, rank) {
        sheet.add("rank.agreement", &[("with", "Table 1")], agreement, "");
    }
    for one in ranked.iter().filter(|one| one.rank <= 5 || one.rank >= 117) {
        let rank = one.rank.to_string();
        sheet.add("distance.at", &[("rank", rank.as_str())], one.distance(), "");
    }
}

/// A walk as conditions of a link, from its second `from` on: half of each round-trip time, and its
/// losses where they are asked for.
pub fn to_steps(
    profile: &walk::Profile,
    from: usize,
    begin: Instant,
    with_loss: bool,
) -> Vec<netsim::link::ProfileStep> {
    let seconds = profile.round_trips.iter().zip(&profile.losses).skip(from);
    let step = |(second, (rtt, loss)): (u64, (&Duration, &f64))| netsim::link::ProfileStep {
        at: begin + Duration::from_secs(second),
        delay: Some(*rtt / 2),
        loss: with_loss.then(|| netsim::LossModel::Bernoulli(base::Probability::from_f64(*loss))),
        ..netsim::link::ProfileStep::default()
    };
    (0..).zip(seconds).map(step).collect()
}
