//! A station that walks out of its cell, and the gains of the retransmission timeout (Fallon et al., 2009).
//!
//! This is the paper's analytical study, its sections 5 and 6.2: for each of 121 pairs of gains, by how much
//! the timeout is above the round-trip time (what a loss would wait for nothing) and in how many seconds it
//! is below (a retransmission would be needless). Its section 6.3, a transfer over two paths, is
//! [`transfer`]. The round-trip times themselves the paper shows as a picture only: [`walk`] makes them up.

pub mod gains;
#[cfg(test)]
mod tests;
pub mod transfer;
pub mod walk;

use base::{Duration, Instant};
use recovery::RecoveryPolicy;
use recovery::policy::RtoPolicy;
use recovery::rtt::{Deviation, RttEstimator};
use serde::Deserialize;

use self::gains::{Ranked, to_timeouts};
use self::walk::Walk;
use super::{Findings, Row, Series, StudyError, form, mean, whole_seconds};

/// The study's name in a plan.
pub const NAME: &str = "rto-wlan";

/// Parameters of the analytical study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The walks.
    pub walk: Walk,
    /// What the variation follows: `absolute`, `signed` or `truncated`.
    #[serde(deserialize_with = "form::deviation")]
    pub deviation: Deviation,
    /// The last second that counts.
    #[serde(deserialize_with = "form::text")]
    pub until: Duration,
    /// When the example of section 5 leaves the cell.
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

/// Does the study with the average over the walks of `seed`.
///
/// # Errors
/// [`StudyError::Parameters`] where the walk contradicts itself or is too short.
pub fn run(parameters: &Parameters, seed: u64) -> Result<Findings, StudyError> {
    let wrong = |reason| StudyError::Parameters { study: NAME, reason };
    parameters.walk.check().map_err(wrong)?;
    let last = whole_seconds(parameters.until);
    if last == 0 || last > parameters.walk.seconds() {
        let seconds = parameters.walk.seconds();
        return Err(wrong(format!("`until` is {last} s: 1 s to the walk's {seconds} s")));
    }
    let profile = parameters.walk.average(seed);
    let mut findings = Findings::default();
    show_example(parameters, seed, &mut findings);
    show_profile(&profile, last, &mut findings);
    let round_trips = &profile.round_trips[..=last];
    let ranked = gains::rank(round_trips, parameters.deviation);
    show_deviations(round_trips, parameters.deviation, &mut findings);
    show_ranking(&ranked, &mut findings);
    Ok(findings)
}

// ---- section 5 -------------------------------------------------------------------------------

/// What a sender with RFC 9260's gains knows second by second, the first measurement taken in.
struct Known {
    srtt: f64,
    rttvar: f64,
    /// Within RFC 9260's bounds.
    rto: f64,
}

fn follow_example(round_trips: &[Duration], rto: &RtoPolicy) -> Vec<Known> {
    let mut estimator = RttEstimator::default();
    let seconds = |span: Option<Duration>| span.map_or(0.0, Duration::as_secs_f64);
    let after = |rtt: &Duration| {
        estimator.on_sample(*rtt, rto.alpha, rto.beta, rto.deviation);
        let timeout = estimator.timeout(rto.granularity);
        Known {
            srtt: seconds(estimator.srtt()),
            rttvar: seconds(estimator.rttvar()),
            rto: seconds(timeout.map(|timeout| timeout.clamp(rto.min, rto.max))),
        }
    };
    round_trips.iter().map(after).collect()
}

/// Figure 1 and the numbers of section 5: a single walk that leaves at a known time, as many times as there
/// are walks, since a single one is chance.
fn show_example(parameters: &Parameters, seed: u64, findings: &mut Findings) {
    let onset = whole_seconds(parameters.example_onset);
    let rto = RtoPolicy { deviation: parameters.deviation, ..RecoveryPolicy::rfc().rto };
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
    findings.rows.extend([
        Row::new("example.rtt", median(rtts.collect()), "ms").with("after", "0s"),
        Row::new("example.srtt", at(before, |known| known.srtt), "ms").with("after", "0s"),
        Row::new("example.rttvar", at(before, |known| known.rttvar), "ms").with("after", "0s"),
        Row::new("example.rto", at(before, |known| known.rto), "ms").with("after", "0s"),
        Row::new("example.rto", at(onset + 10, |known| known.rto), "ms").with("after", "10s"),
        Row::new("example.rto.mean", mean(late), "s"),
    ]);
    let Some((walk, known)) = walks.first().zip(known.first()) else { return };
    let line = |name: &str, values: Vec<f64>| Series {
        name: name.to_owned(),
        labels: Vec::new(),
        x: "time (s)",
        y: "time (s)",
        points: (0..).map(f64::from).zip(values).collect(),
    };
    findings.series.extend([
        line("example.rtt", walk.iter().map(|rtt| rtt.as_secs_f64()).collect()),
        line("example.srtt", known.iter().map(|known| known.srtt).collect()),
        line("example.rttvar", known.iter().map(|known| known.rttvar).collect()),
        line("example.rto", known.iter().map(|known| known.rto).collect()),
    ]);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

// ---- figures 2 to 6, table 1 -----------------------------------------------------------------

fn show_profile(profile: &walk::Profile, last: usize, findings: &mut Findings) {
    let rtts = || profile.round_trips.iter().map(|rtt| rtt.as_secs_f64());
    let phase = |from: usize, to: usize| {
        let count = to.saturating_sub(from) + 1;
        [
            (mean(rtts().skip(from).take(count)) * 1000.0, "profile.rtt", "ms"),
            (
                mean(profile.losses.iter().skip(from).take(count).copied()) * 100.0,
                "profile.loss",
                "%",
            ),
        ]
        .map(|(value, measure, unit)| {
            Row::new(measure, value, unit).with("seconds", format!("{from}-{to}"))
        })
    };
    findings.rows.extend([phase(1, 60), phase(61, 100), phase(101, last)].into_iter().flatten());
    let time = || (0..).map(f64::from);
    let line = |name: &str, y, points| Series {
        name: name.to_owned(),
        labels: Vec::new(),
        x: "time (s)",
        y,
        points,
    };
    findings.series.extend([
        line("profile.rtt", "RTT (s)", time().zip(rtts()).collect()),
        line("profile.loss", "packets lost", time().zip(profile.losses.iter().copied()).collect()),
    ]);
}

/// Figure 3: the timeout less the round-trip time, for alpha 0 and each beta.
fn show_deviations(round_trips: &[Duration], deviation: Deviation, findings: &mut Findings) {
    for pair in gains::grid().filter(|pair| pair.tenths().0 == 0) {
        let timeouts = to_timeouts(round_trips, pair.alpha(), pair.beta(), deviation);
        let points =
            timeouts.iter().zip(&round_trips[1..]).zip(1..).map(|((timeout, rtt), second)| {
                (f64::from(second), timeout.as_secs_f64() - rtt.as_secs_f64())
            });
        findings.series.push(Series {
            name: "deviation".to_owned(),
            labels: pair.labels(),
            x: "time (s)",
            y: "RTO - RTT (s)",
            points: points.collect(),
        });
    }
}

fn show_ranking(ranked: &[Ranked], findings: &mut Findings) {
    for one in ranked {
        let row = |measure: &str, value: f64, unit| Row {
            labels: one.pair.labels(),
            ..Row::new(measure, value, unit)
        };
        findings.rows.extend([
            row("delay", one.analysis.delay.as_secs_f64(), "s"),
            row("spurious", f64::from(one.analysis.spurious), "s"),
            row("rank.delay", f64::from(one.by_delay), ""),
            row("rank.spurious", f64::from(one.by_spurious), ""),
            row("distance", one.distance(), ""),
            row("rank", f64::from(one.rank), ""),
        ]);
        findings.series.push(Series {
            name: "ranks".to_owned(),
            labels: one.pair.labels(),
            x: "rank by needless seconds",
            y: "rank by delay",
            points: vec![(f64::from(one.by_spurious), f64::from(one.by_delay))],
        });
    }
    let mut extreme =
        |measure: &str, wanted: &dyn Fn(&Ranked) -> bool, value: fn(&Ranked) -> f64| {
            let found = ranked.iter().find(|one| wanted(one));
            findings.rows.extend(found.map(|one| Row {
                labels: one.pair.labels(),
                ..Row::new(measure, value(one), "s")
            }));
        };
    let last = ranked.len() as u32 - 1;
    type Value = fn(&Ranked) -> f64;
    let (delay, spurious): (Value, Value) =
        (|one| one.analysis.delay.as_secs_f64(), |one| f64::from(one.analysis.spurious));
    extreme("delay.lowest", &|one| one.by_delay == 0, delay);
    extreme("delay.highest", &|one| one.by_delay == last, delay);
    extreme("spurious.fewest", &|one| one.by_spurious == 0, spurious);
    extreme("spurious.most", &|one| one.by_spurious == last, spurious);
    for one in ranked.iter().filter(|one| one.rank <= 5 || one.rank >= 117) {
        let row = Row::new("distance.at", one.distance(), "").with("rank", one.rank);
        findings.rows.push(row);
    }
}

/// A walk as conditions of a link, from its second `from` on: half of each round-trip time, and its losses
/// where they are asked for.
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
