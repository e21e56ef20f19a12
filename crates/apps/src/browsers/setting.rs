//! Values of the page's sliders, for all visitors.

use base::{Duration, Probability};

/// The longest delay of the link, which bounds what is under way.
const DELAY_MAX: Duration = Duration::from_secs(2);
/// The shortest and the longest time between two messages.
const INTERVAL: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(2)];

/// The link between server and pages, the same in both directions, and how often messages leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Delay one way, 2 s at most.
    pub delay: Duration,
    /// Share of packets lost in each direction.
    pub loss: Probability,
    /// Time between two messages of the server, 5 ms to 2 s.
    pub interval: Duration,
}

impl Default for Setting {
    /// 50 ms one way, 5 % of the packets lost, a message each 30 ms.
    fn default() -> Setting {
        Setting {
            delay: Duration::from_millis(50),
            loss: Probability::from_f64(0.05),
            interval: Duration::from_millis(30),
        }
    }
}

/// A setting out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The delay is too long.
    #[error("a delay of {0}: expected 2 s at most")]
    Delay(Duration),
    /// Messages would leave too often or too seldom.
    #[error("a message each {0}: expected 5 ms to 2 s")]
    Interval(Duration),
}

impl Setting {
    /// Whether all of it is within its bounds.
    ///
    /// # Errors
    /// The first value out of bounds.
    pub fn check(&self) -> Result<(), SettingError> {
        if self.delay > DELAY_MAX {
            return Err(SettingError::Delay(self.delay));
        }
        let [shortest, longest] = INTERVAL;
        if !(shortest..=longest).contains(&self.interval) {
            return Err(SettingError::Interval(self.interval));
        }
        Ok(())
    }
}
