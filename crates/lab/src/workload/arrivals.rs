//! Rules by which messages become due.

use core::str::FromStr;

use base::{Duration, ParseQuantityError, Rate};

use super::application::Application;
use super::images::Images;
use super::sizes::Sizes;

/// Rule by which messages become due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One message each interval. The first comes at a phase within the interval that is drawn for
    /// each flow, so that flows are not synchronous.
    Constant {
        /// Time between two messages, above zero.
        interval: Duration,
    },
    /// Intervals of exponential distribution (a Poisson process), the first one included.
    Exponential {
        /// Mean time between two messages, above zero.
        mean: Duration,
    },
    /// Bursts of `count` messages, `spacing` from one to the next, one burst each `interval`; the
    /// first at a phase within the interval.
    Bursts {
        /// Messages of a burst, above zero.
        count: u32,
        /// Time from one message to the next.
        spacing: Duration,
        /// Time from the beginning of one burst to that of the next; longer than a burst.
        interval: Duration,
    },
    /// Independent intervals as between an application's packets.
    Application(Application),
    /// There is always a message, due at the time at which the driver asks for it.
    Greedy,
    /// Live media, encoded while they are sent (constrained streaming, Wang et al. 2004): a message
    /// is due as soon as the previous one has been encoded.
    Live {
        /// Encoding rate of the medium.
        rate: Rate,
    },
    /// Stored media (unconstrained streaming): sent as [`Arrivals::Greedy`].
    Stored {
        /// Encoding rate of the medium.
        rate: Rate,
    },
    /// Images requested at the same time: their parts alternate, so that all of them progress
    /// together.
    Images(Images),
}

impl Arrivals {
    /// Whether there is always a message, until a limit: such a flow does not advance time.
    pub fn is_greedy(&self) -> bool {
        matches!(self, Arrivals::Greedy | Arrivals::Stored { .. })
    }

    /// The application's sizes, if these are an application's arrivals.
    pub fn own_sizes(&self) -> Option<Sizes> {
        match self {
            Arrivals::Application(application) => Some(Sizes::Application(*application)),
            _ => None,
        }
    }

    /// Mean time between two messages; none if it does not follow from the arrivals alone.
    pub fn mean_interval(&self) -> Option<Duration> {
        Some(match self {
            Arrivals::Constant { interval: mean } | Arrivals::Exponential { mean } => *mean,
            Arrivals::Bursts { count, interval, .. } => *interval / u64::from((*count).max(1)),
            Arrivals::Application(application) => {
                Duration::from_secs_f64(application.row().interval_ms[0] / 1e3)
            }
            Arrivals::Greedy
            | Arrivals::Live { .. }
            | Arrivals::Stored { .. }
            | Arrivals::Images(_) => return None,
        })
    }
}

/// Text forms of arrivals, for error messages.
pub(super) const FORM: &str = concat!(
    "an interval such as 250ms, a mean interval such as ~250ms, \"bursts 4 305ms 30s\", ",
    "\"live 300kbit\", \"stored 300kbit\", \"images 8 7kB\", an application such as bzflag, greedy, ",
    "or \"replay messages.csv\" where there are recordings",
);

/// The forms are those of docs/laboratory.md, except for a replay, which is read where the
/// recordings are.
impl FromStr for Arrivals {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Arrivals, ParseQuantityError> {
        let refused = || ParseQuantityError::new(text, FORM);
        if text == "greedy" {
            return Ok(Arrivals::Greedy);
        }
        if let ["bursts", count, spacing, interval] =
            text.split_whitespace().collect::<Vec<_>>()[..]
        {
            let count = count.parse().ok().filter(|count| *count > 0).ok_or_else(refused)?;
            let spacing = spacing.parse().map_err(|_| refused())?;
            let interval = interval.parse().map_err(|_| refused())?;
            return Ok(Arrivals::Bursts { count, spacing, interval });
        }
        if let Some(media) = parse_media(text) {
            return media.ok_or_else(refused);
        }
        if let Ok(application) = text.parse() {
            return Ok(Arrivals::Application(application));
        }
        let (exponential, number) = match text.strip_prefix('~') {
            Some(number) => (true, number),
            None => (false, text),
        };
        let span: Duration = number.parse().map_err(|_| refused())?;
        match (span.is_zero(), exponential) {
            (true, _) => Err(refused()),
            (false, true) => Ok(Arrivals::Exponential { mean: span }),
            (false, false) => Ok(Arrivals::Constant { interval: span }),
        }
    }
}

impl core::fmt::Display for Arrivals {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Arrivals::Constant { interval } => f.pad(&interval.to_string()),
            Arrivals::Exponential { mean } => f.pad(&format!("~{mean}")),
            Arrivals::Bursts { count, spacing, interval } => {
                f.pad(&format!("bursts {count} {spacing} {interval}"))
            }
            Arrivals::Application(application) => f.pad(&application.to_string()),
            Arrivals::Greedy => f.pad("greedy"),
            Arrivals::Live { rate } => f.pad(&format!("live {rate}")),
            Arrivals::Stored { rate } => f.pad(&format!("stored {rate}")),
            Arrivals::Images(images) => f.pad(&format!("images {images}")),
        }
    }
}

/// Arrivals of media; `None` if the text begins otherwise, `Some(None)` if it is invalid.
fn parse_media(text: &str) -> Option<Option<Arrivals>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let rate = |text: &str| text.parse::<Rate>().ok();
    Some(match words[..] {
        ["live", text] => rate(text).map(|rate| Arrivals::Live { rate }),
        ["stored", text] => rate(text).map(|rate| Arrivals::Stored { rate }),
        ["images", count, bytes] => Images::parse(count, bytes).map(Arrivals::Images),
        ["live" | "stored" | "images", ..] => None,
        _ => return None,
    })
}
