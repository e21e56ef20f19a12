//! Sizes, rates and probabilities with their units, written as people write them.

use core::fmt;
use core::str::FromStr;

use crate::parse::{ParseQuantityError, split_number};
use crate::time::Duration;

/// A length, size or limit in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteCount(pub u64);

impl FromStr for ByteCount {
    type Err = ParseQuantityError;

    /// Reads `100B`, `1200`, `64kB` (1000), `64KiB` (1024), `2MB`, `2MiB`, `1GB`, `1GiB`.
    fn from_str(text: &str) -> Result<ByteCount, ParseQuantityError> {
        const FORM: &str = "a size such as 100B, 64KiB or 2MB";
        let (number, unit) = split_number(text, FORM)?;
        let scale: u64 = match unit {
            "" | "B" => 1,
            "k" | "kB" | "KB" => 1_000,
            "KiB" => 1 << 10,
            "M" | "MB" => 1_000_000,
            "MiB" => 1 << 20,
            "G" | "GB" => 1_000_000_000,
            "GiB" => 1 << 30,
            _ => return Err(ParseQuantityError::new(text, FORM)),
        };
        Ok(ByteCount((number * scale as f64).round() as u64))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}B", self.0))
    }
}

/// A data rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(core::num::NonZeroU64);

impl Rate {
    /// A rate of `bits` per second; none when `bits` is zero, since nothing would ever arrive.
    pub const fn from_bits_per_second(bits: u64) -> Option<Rate> {
        match core::num::NonZeroU64::new(bits) {
            Some(bits) => Some(Rate(bits)),
            None => None,
        }
    }

    /// Bits in a second, never 0.
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// Time for which `bytes` bytes occupy a link of this rate, rounded up to a nanosecond.
    pub const fn transmission_time(self, bytes: u64) -> Duration {
        const SCALE: u64 = 8 * 1_000_000_000;
        // What a packet has fits, and a division of 128 bits takes many times as long.
        if let Some(product) = bytes.checked_mul(SCALE) {
            return Duration::from_nanos(product.div_ceil(self.0.get()));
        }
        let nanos = (bytes as u128 * SCALE as u128).div_ceil(self.0.get() as u128);
        Duration::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }
}

impl FromStr for Rate {
    type Err = ParseQuantityError;

    /// Reads `9600bit`, `64kbit`, `10mbit`, `1gbit` (with or without `/s` or `ps`; any case).
    fn from_str(text: &str) -> Result<Rate, ParseQuantityError> {
        const FORM: &str = "a rate such as 9600bit, 10mbit or 1gbit, above zero";
        let refused = || ParseQuantityError::new(text, FORM);
        let (number, unit) = split_number(text, FORM)?;
        let unit = unit.to_ascii_lowercase();
        let unit = unit.strip_suffix("/s").or(unit.strip_suffix("ps")).unwrap_or(&unit);
        let scale = match unit {
            "bit" => 1.0,
            "kbit" => 1e3,
            "mbit" => 1e6,
            "gbit" => 1e9,
            _ => return Err(refused()),
        };
        Rate::from_bits_per_second((number * scale).round() as u64).ok_or_else(refused)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.get();
        let text = match bits {
            n if n.is_multiple_of(1_000_000_000) => format!("{}gbit", n / 1_000_000_000),
            n if n.is_multiple_of(1_000_000) => format!("{}mbit", n / 1_000_000),
            n if n.is_multiple_of(1_000) => format!("{}kbit", n / 1_000),
            n => format!("{n}bit"),
        };
        f.pad(&text)
    }
}

/// A probability between 0 and 1 as a fixed-point number: equal on every platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Probability(u64);

impl Probability {
    /// Probability 0: the event never happens.
    pub const ZERO: Probability = Probability(0);
    /// Probability 1: the event always happens.
    pub const ONE: Probability = Probability(1 << 32);

    /// `numerator / denominator`, clamped to 1; a zero denominator yields zero.
    pub const fn from_ratio(numerator: u64, denominator: u64) -> Probability {
        if denominator == 0 {
            return Probability::ZERO;
        }
        let scaled = ((numerator as u128) << 32) / denominator as u128;
        Probability(if scaled > 1 << 32 { 1 << 32 } else { scaled as u64 })
    }

    /// The nearest fixed-point value, clamped to 0..=1.
    pub fn from_f64(value: f64) -> Probability {
        Probability((value.clamp(0.0, 1.0) * (1u64 << 32) as f64).round() as u64)
    }

    /// The probability as a fraction, for output only.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / (1u64 << 32) as f64
    }

    /// Whether an event of this probability happens, given 32 uniform random bits.
    pub const fn happens(self, random: u32) -> bool {
        (random as u64) < self.0
    }

    /// The probability in units of 2⁻³², so that 1 is `1 << 32`.
    pub const fn to_fixed_point(self) -> u64 {
        self.0
    }

    /// The probability of `value` units of 2⁻³², clamped to 1.
    pub const fn from_fixed_point(value: u64) -> Probability {
        Probability(if value > 1 << 32 { 1 << 32 } else { value })
    }
}

impl FromStr for Probability {
    type Err = ParseQuantityError;

    /// Reads `5%`, `0.1%`, `0.05`, `0`, `1`.
    fn from_str(text: &str) -> Result<Probability, ParseQuantityError> {
        const FORM: &str = "a probability such as 5% or 0.05, between 0 and 1";
        let (number, unit) = split_number(text, FORM)?;
        let value = match unit {
            "%" => number / 100.0,
            "" => number,
            _ => return Err(ParseQuantityError::new(text, FORM)),
        };
        if value > 1.0 {
            return Err(ParseQuantityError::new(text, FORM));
        }
        Ok(Probability::from_f64(value))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (self.as_f64() * 100.0 * 1e6).round() / 1e6;
        f.pad(&format!("{percent}%"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!("1200B".parse(), Ok(ByteCount(1200)));
        assert_eq!("64KiB".parse(), Ok(ByteCount(65_536)));
        assert_eq!("10mbit".parse::<Rate>().unwrap().bits_per_second(), 10_000_000);
        assert_eq!("9.6kbit/s".parse::<Rate>().unwrap().to_string(), "9600bit");
        assert_eq!("5%".parse::<Probability>(), "0.05".parse());
        assert_eq!("5%".parse::<Probability>().unwrap().to_string(), "5%");
    }

    #[test]
    fn quantities_without_sense_are_refused() {
        assert!("0bit".parse::<Rate>().is_err());
        assert!("10".parse::<Rate>().is_err());
        assert!("101%".parse::<Probability>().is_err());
        assert!("-5%".parse::<Probability>().is_err());
        assert!("1 B".parse::<ByteCount>().is_err());
    }

    #[test]
    fn a_packet_of_1500_bytes_takes_1200_microseconds_at_10_mbit() {
        let rate: Rate = "10mbit".parse().unwrap();
        assert_eq!(rate.transmission_time(1500), Duration::from_micros(1200));
    }

    #[test]
    fn certainty_and_impossibility_are_exact() {
        assert!(Probability::ONE.happens(u32::MAX));
        assert!(!Probability::ZERO.happens(0));
    }
}
