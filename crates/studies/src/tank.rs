//! The distance between the true place of a tank and the place where it is seen (Petlund et al.,
//! 2008, section 4.3): the paper played BZFlag over a network that loses packets, and whenever a
//! chosen tank fired, noted the angle between each other tank's image and its true place.
//!
//! Here tanks drive over a field ([`field`]) and tell what they do over TCP: each to a server,
//! which passes everything on to the tank that looks, both ways over a lossy network ([`feed`]).
//! That tank knows the others by the last update that its application has read, and supposes that
//! they went straight on since it came. From the angles follow how far away a perfectly aimed shot
//! is still sure to hit, and how likely it is beyond.

pub mod feed;
pub mod field;
#[cfg(test)]
mod tests;

use core::f64::consts::PI;

use base::{Duration, Probability, Purpose, RandomStream};
use recovery::RecoveryPolicy;
use results::{Quantity, Sheet, mean};
use serde::Deserialize;

use self::feed::{Line, carry};
use self::field::{Field, Motion, Place, Tank};
use crate::form;
use lab::policy_text::{PolicySection, TransportName};
use lab::study::{Study, StudyError};

/// The study's name in a plan.
pub const NAME: &str = "tank";

/// Parameters of a game of tanks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Recovery of every sender: a preset of TCP, or a table with a preset and fields that differ.
    pub policy: PolicySection,
    /// Number of tanks, the observing one among them.
    pub tanks: usize,
    /// Duration of the game, in virtual time.
    #[serde(deserialize_with = "form::text")]
    pub duration: Duration,
    /// Round-trip time between a tank and the server.
    #[serde(deserialize_with = "form::text")]
    pub rtt: Duration,
    /// Probability of a packet's loss, each way.
    #[serde(deserialize_with = "form::text")]
    pub loss: Probability,
    /// Bytes of an update's message.
    pub update: usize,
    /// The field and how tanks move.
    pub field: Field,
    /// Time between shots of the tank that looks.
    #[serde(deserialize_with = "form::text")]
    pub reload: Duration,
    /// Half of a tank's width: the target of a shot from the front or the rear.
    pub half_width: f64,
    /// Half of its length: from the side.
    pub half_length: f64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            policy: PolicySection::preset("sack"),
            tanks: 26,
            duration: Duration::from_secs(600),
            rtt: Duration::from_millis(130),
            loss: Probability::from_ratio(2, 100),
            update: 30,
            field: Field::default(),
            reload: Duration::from_millis(3_500),
            half_width: 1.4,
            half_length: 3.0,
        }
    }
}

impl Parameters {
    fn policy(&self) -> Result<RecoveryPolicy, String> {
        self.policy.build(TransportName::Tcp)
    }
}

/// An update that the looking tank's application has read.
#[derive(Clone, Copy, Debug)]
struct Update {
    /// Time at which it was read.
    read: Duration,
    motion: Motion,
}

impl Study for Parameters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), String> {
        if !(2..=1_000).contains(&self.tanks) {
            return Err(format!("`tanks` is {}: 2 to 1000", self.tanks));
        }
        if !(1..=1_460).contains(&self.update) {
            return Err(format!("`update` is {}: 1 to 1460 bytes", self.update));
        }
        if self.duration > Duration::from_secs(86_400) || self.reload < Duration::from_millis(1) {
            return Err("`duration` is 86400s at most, `reload` 1ms at least".to_owned());
        }
        let lengths = [self.half_width, self.half_length];
        if !lengths.iter().all(|length| *length > 0.0 && length.is_finite()) {
            return Err("`half_width` and `half_length` are above 0".to_owned());
        }
        self.policy()?;
        self.field.check()
    }

    fn effort(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// Plays a game, and writes how far the tanks were seen from where they were.
    fn run(&self, seed: u64, sheet: &mut Sheet<'_>) -> Result<(), StudyError> {
        let wrong = |reason| StudyError::Parameters { study: NAME, reason };
        let policy = self.policy().map_err(wrong)?;
        let line = Line { policy, rtt: self.rtt, loss: self.loss, size: self.update };
        let tanks: Vec<Tank> = (0..self.tanks as u64)
            .map(|index| {
                let random = RandomStream::new(seed, Purpose("tank", index));
                self.field.drive(random, self.duration)
            })
            .collect();
        let others = &tanks[1..];
        let seen = tell(self, others, &line, seed, sheet)?;
        let mut angles = look(self, &tanks[0], others, &seen);
        angles.sort_by(f64::total_cmp);
        show(self, &angles, sheet);
        Ok(())
    }
}

/// The updates of all other tanks as the observing one reads them, in the order of the tanks.
fn tell(
    parameters: &Parameters,
    others: &[Tank],
    line: &Line,
    seed: u64,
    sheet: &mut Sheet<'_>,
) -> Result<Vec<Vec<Update>>, StudyError> {
    let mut relayed: Vec<(Duration, usize, Motion)> = Vec::new();
    for (index, tank) in others.iter().enumerate() {
        let due: Vec<Duration> = tank.updates.iter().map(|motion| motion.since).collect();
        let arrived = carry(&due, line, seed, index as u64 + 1)?;
        let told = arrived.into_iter().zip(&tank.updates);
        relayed.extend(told.map(|(arrived, motion)| (arrived, index, *motion)));
    }
    relayed.sort_by_key(|(arrived, index, motion)| (*arrived, *index, motion.since));
    let due: Vec<Duration> = relayed.iter().map(|(arrived, ..)| *arrived).collect();
    let read = carry(&due, line, seed, 0)?;
    show_latency(parameters, &due, &read, sheet);
    let mut seen = vec![Vec::new(); others.len()];
    let ages = read.iter().zip(&relayed).map(|(read, (_, index, motion))| {
        seen[*index].push(Update { read: *read, motion: *motion });
        read.saturating_sub(motion.since).as_millis_f64()
    });
    sheet.add("age.mean", &[], mean(ages.collect::<Vec<_>>()), "ms");
    Ok(seen)
}

/// Latency of the server's messages to the looking tank, as far as their application is concerned.
fn show_latency(
    parameters: &Parameters,
    due: &[Duration],
    read: &[Duration],
    sheet: &mut Sheet<'_>,
) {
    let span = due.last().zip(due.first()).map_or(0.0, |(last, first)| {
        last.saturating_sub(*first).as_millis_f64() / (due.len().max(2) - 1) as f64
    });
    let mut delays: Vec<Duration> =
        read.iter().zip(due).map(|(read, due)| read.saturating_sub(*due)).collect();
    delays.sort_unstable();
    let best = parameters.rtt / 2 + Duration::from_millis(1);
    let prompt = delays.partition_point(|delay| *delay <= best);
    let above = |share: f64| {
        let at = ((delays.len() as f64 * share) as usize).min(delays.len().saturating_sub(1));
        delays.get(at).copied().unwrap_or_default().saturating_sub(parameters.rtt / 2)
    };
    sheet.add("updates.interval", &[], span, "ms");
    let share = 100.0 * prompt as f64 / delays.len().max(1) as f64;
    sheet.add("latency.prompt", &[], share, "%");
    for quantile in [0.9, 0.99, 0.999] {
        let labels = [("quantile", &*quantile.to_string())];
        sheet.add("latency.above", &labels, above(quantile).as_millis_f64(), "ms");
    }
}

/// The angles between where the others seem and where they are, each time the looking tank fires.
fn look(
    parameters: &Parameters,
    looking: &Tank,
    others: &[Tank],
    seen: &[Vec<Update>],
) -> Vec<f64> {
    let mut angles = Vec::new();
    let mut at = parameters.reload;
    while at <= parameters.duration {
        let from = looking.at(at);
        for (tank, updates) in others.iter().zip(seen) {
            let known = updates.partition_point(|update| update.read <= at);
            let Some(last) = known.checked_sub(1).and_then(|last| updates.get(last)) else {
                continue;
            };
            // The age of the report is unknown: clocks are not synchronised.
            let supposed = last.motion.after(at.saturating_sub(last.read));
            angles.extend(angle(from, parameters.field.within(supposed), tank.at(at)));
        }
        at += parameters.reload;
    }
    angles
}

/// The angle at `from` between two places, in degrees, by the law of cosines; none from a place to
/// itself.
pub fn angle(from: Place, one: Place, other: Place) -> Option<f64> {
    let (a, b, c) = (from.distance(one), from.distance(other), one.distance(other));
    let cosine = (a * a + b * b - c * c) / (2.0 * a * b);
    cosine.is_finite().then(|| libm::acos(cosine.clamp(-1.0, 1.0)) * 180.0 / PI)
}

/// Distance from the middle at which a shot lands when aimed by this angle (degrees) beside it.
pub fn deviation(angle: f64, distance: f64) -> f64 {
    distance * libm::tan(angle.min(89.999) * PI / 180.0)
}

/// The distance at which this angle (degrees) makes a shot miss the middle by this much.
pub fn reach(angle: f64, half: f64) -> f64 {
    half / libm::tan(angle.clamp(1e-9, 89.999) * PI / 180.0)
}

/// The share of perfectly aimed shots that hit something of this half width at a distance.
pub fn chance(angles: &[f64], distance: f64, half: f64) -> f64 {
    let hits = angles.iter().filter(|angle| deviation(**angle, distance) <= half).count();
    hits as f64 / angles.len().max(1) as f64
}

/// Figures 5, 6a and 6b. `angles` are in order.
fn show(parameters: &Parameters, angles: &[f64], sheet: &mut Sheet<'_>) {
    let average = mean(angles.iter().copied());
    let quantile = |share: f64| {
        let at = ((angles.len() as f64 * share) as usize).min(angles.len().saturating_sub(1));
        angles.get(at).copied().unwrap_or(0.0)
    };
    sheet.add("angle.mean", &[], average, "degrees");
    for share in [0.5, 0.9, 0.99] {
        sheet.add("angle", &[("quantile", &*share.to_string())], quantile(share), "degrees");
    }
    let distance = Quantity::new("distance", "wu");
    let sides = [("front", parameters.half_width), ("side", parameters.half_length)];
    for (side, half) in sides {
        sheet.add("distance.certain", &[("side", side)], reach(average, half), "wu");
        for far in [25.0, 50.0, 100.0] {
            let share = 100.0 * chance(angles, far, half);
            sheet.add("hit", &[("side", side), ("distance", &*far.to_string())], share, "%");
        }
        let points = (1..=100).map(f64::from).map(|far| (far, 100.0 * chance(angles, far, half)));
        let axes = (distance.clone(), Quantity::new("perfect shots that hit", "%"));
        sheet.add_curve("hit", &[("side", side)], axes, points);
    }
    sheet.add("looks", &[], angles.len() as f64, "angles");
    let shares = (0..=200).map(|half| f64::from(half) / 200.0);
    let axes = (Quantity::new("angle", "degrees"), Quantity::new("share of angles below", ""));
    sheet.add_curve("angle", &[], axes, shares.map(|share| (quantile(share), share)));
    let boxes = (0..=100).map(f64::from).map(|far| (far, deviation(average, far)));
    let axes = (distance, Quantity::new("half width of a sure hit", "wu"));
    sheet.add_curve("hit-box", &[], axes, boxes);
}
