//! The field, and how tanks drive on it.

use core::f64::consts::{PI, TAU};

use base::{Duration, RandomStream};
use serde::Deserialize;

use crate::form;

/// The field and how tanks move. Lengths are BZFlag's world units (wu).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Field {
    /// Length of a side of the field.
    pub side: f64,
    /// Speed of a tank, in units of the field a second.
    pub speed: f64,
    /// Radians a second while turning.
    pub turn: f64,
    /// Mean time until a tank thinks of something else: to turn left, right, or go straight on.
    #[serde(deserialize_with = "form::text")]
    pub decides: Duration,
    /// Longest time without an update.
    #[serde(deserialize_with = "form::text")]
    pub update_within: Duration,
}

impl Default for Field {
    /// The side is the paper's; speeds are BZFlag's defaults; updates come at every turn and so
    /// often between that 25 tanks together give the paper's 24 ms between packets.
    fn default() -> Field {
        Field {
            side: 200.0,
            speed: 25.0,
            turn: PI / 4.0,
            decides: Duration::from_secs(2),
            update_within: Duration::from_millis(720),
        }
    }
}

/// A point; lengths are BZFlag's world units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Distance from the left edge.
    pub x: f64,
    /// Distance from the bottom edge.
    pub y: f64,
}

impl Place {
    /// Distance to another place, in units of the field.
    pub fn distance(self, other: Place) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        (x * x + y * y).sqrt()
    }
}

/// A place at a time, and the motion from then on: the content of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Time from which the motion holds, since the game began.
    pub since: Duration,
    /// Place at the time `since`.
    pub place: Place,
    /// Radians, from the x axis.
    pub heading: f64,
    /// Speed in units of the field a second.
    pub speed: f64,
    /// Radians a second, to the left.
    pub turn: f64,
}

impl Motion {
    /// The tank's place after a while if it goes straight on, as a viewer supposes.
    pub fn after(&self, span: Duration) -> Place {
        let far = self.speed * span.as_secs_f64();
        Place {
            x: self.place.x + far * libm::cos(self.heading),
            y: self.place.y + far * libm::sin(self.heading),
        }
    }
}

/// Time between two computed places.
const STEP: Duration = Duration::from_millis(20);

/// Way of a tank through the game.
#[derive(Clone, Debug)]
pub struct Tank {
    /// Updates that the tank sent, in order.
    pub updates: Vec<Motion>,
    /// Places of the tank, one for each [`STEP`].
    places: Vec<Place>,
}

impl Tank {
    /// The tank's place at a time, to a step.
    pub fn at(&self, time: Duration) -> Place {
        let step = (time.as_nanos() / STEP.as_nanos()) as usize;
        self.places.get(step).or(self.places.last()).copied().unwrap_or_default()
    }
}

impl Field {
    pub(super) fn check(&self) -> Result<(), String> {
        let positive = [self.side, self.speed, self.turn];
        if !positive.iter().all(|value| *value > 0.0 && *value < 1e6) {
            return Err("`field.side`, `field.speed` and `field.turn` are above 0".to_owned());
        }
        if self.decides < STEP || self.update_within < STEP {
            return Err(format!("`field.decides` and `field.update_within` are {STEP} at least"));
        }
        Ok(())
    }

    /// The nearest place on the field.
    pub fn within(&self, place: Place) -> Place {
        Place { x: place.x.clamp(0.0, self.side), y: place.y.clamp(0.0, self.side) }
    }

    /// Drives for a while. At the edge a tank turns to the middle at once.
    pub fn drive(&self, mut random: RandomStream, duration: Duration) -> Tank {
        let mut motion = Motion {
            since: Duration::ZERO,
            place: Place { x: random.unit_f64() * self.side, y: random.unit_f64() * self.side },
            heading: random.unit_f64() * TAU,
            speed: self.speed,
            turn: 0.0,
        };
        let mut tank = Tank { updates: vec![motion], places: Vec::new() };
        let changes = STEP.as_secs_f64() / self.decides.as_secs_f64();
        let mut told = Duration::ZERO;
        while motion.since <= duration {
            tank.places.push(motion.place);
            let (decides, to) = (random.unit_f64() < changes, random.below(3));
            motion = self.step(motion);
            if decides {
                motion.turn = (to as f64 - 1.0) * self.turn;
            }
            if decides || motion.since >= told + self.update_within {
                told = motion.since;
                tank.updates.push(motion);
            }
        }
        tank
    }

    fn step(&self, motion: Motion) -> Motion {
        let mut next = Motion {
            since: motion.since + STEP,
            place: motion.after(STEP),
            heading: motion.heading + motion.turn * STEP.as_secs_f64(),
            ..motion
        };
        let inside = self.within(next.place);
        if inside != next.place {
            let middle = self.side / 2.0;
            next.place = inside;
            next.heading = libm::atan2(middle - inside.y, middle - inside.x);
        }
        next
    }
}
