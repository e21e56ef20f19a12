//! Advice by numbers, of which some makes sense.

use arbitrary::Arbitrary;
use base::Duration;
use recovery::{Advice, PathId, PathView};

/// Units in flight among which advice chooses.
pub const UNITS: usize = 64;

/// Two random numbers from which an advice is made, valid or not.
#[derive(Arbitrary, Clone, Debug)]
pub struct Number {
    /// Kind of the advice, and which of two paths it concerns.
    pub kind: u8,
    /// Value of the advice, or the unit in flight that it concerns.
    pub value: u16,
}

impl Number {
    /// The path that the advice is about.
    pub fn path(&self) -> PathId {
        PathId::at(usize::from(self.kind >> 7))
    }

    /// The advice, where this is known of its path. One unit in 16 is none that is in flight.
    pub fn advice(&self, view: &PathView) -> Advice {
        let (path, value) = (self.path(), u64::from(self.value));
        let known = view.units.get(usize::from(self.value >> 4) % view.units.len().max(1));
        let unit = match known {
            Some(known) if value % 16 != 0 => known.unit,
            _ => value.wrapping_sub(9),
        };
        match self.kind % 5 {
            0 => Advice::Doublings { path, doublings: (value % 70) as u8 },
            1 => Advice::Timer { path, after: Duration::from_millis(value) },
            2 => Advice::Lose { unit },
            3 => Advice::Copy { unit },
            _ => Advice::Window { path, bytes: value },
        }
    }
}
