//! Time as 64-bit nanoseconds: enough for 584 years, printable, and starting at zero.
//!
//! [`Instant`] counts from an origin that the driver chooses (the start of a simulation, of a
//! script or of a process). All arithmetic saturates, so no peer's timestamp can cause a panic.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;

use crate::parse::{ParseQuantityError, split_number};

/// A point in time, in nanoseconds since the driver's origin.
///
/// An `Option<Instant>` takes eight bytes, too: connections and associations keep many of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// Nanoseconds since the origin, and one.
    NonZeroU64,
);

/// A span of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The origin of the driver's clock, at which its nanoseconds begin.
    pub const ZERO: Instant = Instant(NonZeroU64::MIN);
    /// Later than every instant a driver can reach.
    pub const FAR_FUTURE: Instant = Instant(NonZeroU64::MAX);

    /// The earliest of these, if there is any. Asked for each packet, of all timers.
    #[inline]
    pub fn earliest<const N: usize>(times: &[Option<Instant>; N]) -> Option<Instant> {
        // None is zero: less one, it is later than every instant.
        let mut first = u64::MAX;
        for time in times {
            first = first.min(time.map_or(0, |time| time.0.get()).wrapping_sub(1));
        }
        let first = NonZeroU64::new(first.wrapping_add(1)).map(Instant);
        first.filter(|first| *first != Instant::FAR_FUTURE)
    }

    /// The instant `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// The instant `millis` milliseconds after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Instant::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the driver's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds since the origin, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }

    /// Microseconds since the origin, which wrap after 71 minutes: an instant in four bytes, for
    /// times far shorter.
    pub const fn wrapping_micros(self) -> u32 {
        (self.as_nanos() / 1_000) as u32
    }

    /// Time from `earlier` to `self`, zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// This moment, or the next that is a whole multiple of `step` from the origin; with a step of
    /// zero this moment.
    #[must_use]
    pub const fn round_up(self, step: Duration) -> Instant {
        match self.as_nanos().checked_next_multiple_of(step.0) {
            Some(nanos) => Instant::from_nanos(nanos),
            None => self,
        }
    }

    /// `self` moved back by `by`, not before the origin.
    pub const fn before(self, by: Duration) -> Instant {
        Instant::from_nanos(self.as_nanos().saturating_sub(by.0))
    }
}

impl Default for Instant {
    /// The origin of the driver's clock.
    fn default() -> Self {
        Instant::ZERO
    }
}

impl Duration {
    /// The empty span, 0 ns.
    pub const ZERO: Duration = Duration(0);
    /// The longest span, 2^64 - 1 ns, some 584 years.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs.saturating_mul(1_000_000_000))
    }

    /// A span of `secs` seconds; negative and not-a-number become zero, too large becomes the
    /// longest.
    pub fn from_secs_f64(secs: f64) -> Self {
        Duration((secs * 1e9) as u64)
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in whole microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole microseconds, [`u32::MAX`] at most: a duration of up to an hour in four bytes.
    pub const fn as_micros_u32(self) -> u32 {
        let micros = self.as_micros();
        if micros < u32::MAX as u64 { micros as u32 } else { u32::MAX }
    }

    /// Length in whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Length in seconds, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Length in milliseconds, for output only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// True for no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, zero when `other` is longer.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// The distance between two spans, whichever is longer.
    pub const fn abs_diff(self, other: Duration) -> Duration {
        Duration(self.0.abs_diff(other.0))
    }

    /// The span to three significant digits, as people read it.
    pub const fn rounded(self) -> Duration {
        let mut step = 1;
        while self.0 / step >= 1000 {
            step *= 10;
        }
        Duration(self.0.saturating_add(step / 2) / step * step)
    }

    /// `self · numerator / denominator`, rounded down; a zero denominator yields the longest span.
    pub const fn scale(self, numerator: u64, denominator: u64) -> Duration {
        if denominator == 0 {
            return Duration::MAX;
        }
        // Mostly it fits, and a division of 128 bits takes many times as long.
        if let Some(product) = self.0.checked_mul(numerator) {
            return Duration(product / denominator);
        }
        let product = self.0 as u128 * numerator as u128 / denominator as u128;
        Duration(if product > u64::MAX as u128 { u64::MAX } else { product as u64 })
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, by: Duration) -> Instant {
        Instant(self.0.saturating_add(by.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, by: Duration) {
        *self = *self + by;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// Saturates at zero, like every subtraction of time here.
    fn sub(self, other: Duration) -> Duration {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    /// Division by zero yields the longest span.
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0.checked_div(divisor).unwrap_or(u64::MAX))
    }
}

impl core::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(spans: I) -> Duration {
        spans.fold(Duration::ZERO, Add::add)
    }
}

impl From<core::time::Duration> for Duration {
    fn from(span: core::time::Duration) -> Duration {
        Duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> core::time::Duration {
        core::time::Duration::from_nanos(span.0)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.as_nanos() / 1_000_000_000, self.as_nanos() % 1_000_000_000)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:06}",
            self.as_nanos() / 1_000_000_000,
            self.as_nanos() % 1_000_000_000 / 1_000
        )
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Prints the shortest exact form that [`Duration::from_str`] reads back: `1.5s`, `250ms`, `20us`,
/// `7ns`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0 => return f.pad("0s"),
            n if n >= 1_000_000_000 => (1_000_000_000, "s"),
            n if n >= 1_000_000 => (1_000_000, "ms"),
            n if n >= 1_000 => (1_000, "us"),
            _ => (1, "ns"),
        };
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return f.pad(&format!("{whole}{name}"));
        }
        let digits = format!("{:0width$}", rest, width = unit.ilog10() as usize);
        f.pad(&format!("{whole}.{}{name}", digits.trim_end_matches('0')))
    }
}

impl FromStr for Duration {
    type Err = ParseQuantityError;

    /// Reads `50ms`, `1.5s`, `200us`, `7ns`, `2min`, `1h`. A number without a unit is refused,
    /// except for 0.
    fn from_str(text: &str) -> Result<Duration, ParseQuantityError> {
        const FORM: &str = "a duration such as 50ms, 1.5s or 2min";
        let (number, unit) = split_number(text, FORM)?;
        let scale = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            "" if number == 0.0 => 1.0,
            _ => return Err(ParseQuantityError::new(text, FORM)),
        };
        Ok(Duration((number * scale).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_the_least_of_those_that_are_there() {
        let at = |millis| Some(Instant::from_millis(millis));
        assert_eq!(Instant::earliest(&[at(7), None, at(3)]), at(3));
        assert_eq!(Instant::earliest(&[at(0), at(1)]), at(0));
        assert_eq!(Instant::earliest(&[None, None]), None);
        assert_eq!(Instant::earliest(&[None, Some(Instant::FAR_FUTURE)]), None);
    }

    #[test]
    fn durations_read_back_what_they_print() {
        for text in ["0s", "7ns", "20us", "1.5ms", "250ms", "1s", "2.802s", "61s"] {
            let span: Duration = text.parse().unwrap();
            assert_eq!(span.to_string(), text);
        }
        assert_eq!("2min".parse::<Duration>(), Ok(Duration::from_secs(120)));
    }

    #[test]
    fn a_duration_without_unit_or_sign_is_refused_with_its_text() {
        for text in ["5", "", "ms", "-1s", "1 parsec", "nan s", "infs"] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains("50ms") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn rounded_spans_have_three_digits() {
        for (nanos, text) in [(0, "0s"), (999, "999ns"), (1_234_567, "1.23ms"), (999_600_000, "1s")]
        {
            assert_eq!(Duration::from_nanos(nanos).rounded().to_string(), text);
        }
        assert_eq!(Duration::from_millis(61_250).rounded().to_string(), "61.3s");
    }

    #[test]
    fn an_instant_that_may_be_missing_takes_eight_bytes() {
        assert_eq!(size_of::<Option<Instant>>(), 8);
        assert_eq!(Instant::default().as_nanos(), 0);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Instant::FAR_FUTURE + Duration::from_secs(1), Instant::FAR_FUTURE);
        assert_eq!(Instant::ZERO.since(Instant::from_millis(1)), Duration::ZERO);
        assert_eq!(Duration::MAX * 2, Duration::MAX);
        assert_eq!(Duration::from_secs(1) / 0, Duration::MAX);
        assert_eq!(Duration::from_millis(100).scale(1, 8), Duration::from_micros(12_500));
        assert_eq!(Duration(u64::MAX / 4).scale(9, 3), Duration(u64::MAX / 4 * 3));
        assert_eq!(Duration(u64::MAX / 4).scale(9, 2), Duration::MAX);
    }
}
