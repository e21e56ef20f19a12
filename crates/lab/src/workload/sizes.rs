//! Sizes of messages: constant, drawn or recorded.

use core::str::FromStr;

use base::{ByteCount, ParseQuantityError, RandomStream};

use super::application::Application;
use super::fit::Fit;

/// Sizes of messages, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All messages have this size.
    Constant(usize),
    /// Heavy-tailed (Pareto), clipped to `most`. The shape is the one that gives the mean.
    Pareto {
        /// Smallest size in bytes, the scale of the distribution.
        least: u64,
        /// Mean size in bytes, which determines the shape.
        mean: u64,
        /// Largest size in bytes, to which larger draws are clipped.
        most: u64,
    },
    /// Drawn from the model of an application.
    Application(Application),
}

impl From<usize> for Sizes {
    fn from(size: usize) -> Sizes {
        Sizes::Constant(size)
    }
}

impl Sizes {
    /// The largest size that can occur.
    pub fn largest(&self) -> u64 {
        match self {
            Sizes::Constant(size) => *size as u64,
            Sizes::Pareto { most, .. } => *most,
            Sizes::Application(application) => application.row().payload[2] as u64,
        }
    }

    /// The smallest size that can occur.
    pub fn smallest(&self) -> u64 {
        match self {
            Sizes::Constant(size) => *size as u64,
            Sizes::Pareto { least, .. } => *least,
            Sizes::Application(application) => application.row().payload[1] as u64,
        }
    }
}

/// Draws sizes one after the other.
#[derive(Clone, Debug)]
pub(super) enum SizeSource {
    Constant(usize),
    Pareto { least: f64, exponent: f64, most: f64 },
    Fit(Box<Fit>),
}

impl SizeSource {
    pub(super) fn new(sizes: Sizes) -> SizeSource {
        match sizes {
            Sizes::Constant(size) => SizeSource::Constant(size),
            Sizes::Pareto { least, mean, most } => {
                let (least, mean, most) = (least as f64, mean as f64, most as f64);
                SizeSource::Pareto { least, exponent: 1.0 / shape(least, mean, most), most }
            }
            Sizes::Application(application) => SizeSource::Fit(Box::new(application.payloads())),
        }
    }

    pub(super) fn draw(&self, random: &mut RandomStream) -> usize {
        match self {
            SizeSource::Constant(size) => *size,
            SizeSource::Pareto { least, exponent, most } => {
                let size = least * libm::pow(1.0 - random.unit_f64(), -exponent);
                size.min(*most).round() as usize
            }
            SizeSource::Fit(fit) => fit.quantile(random.unit_f64()).round().max(1.0) as usize,
        }
    }
}

/// The shape of a Pareto distribution from `least` on, cut at `most`, with this mean.
fn shape(least: f64, mean: f64, most: f64) -> f64 {
    let (mut low, mut high) = (1e-3, 1e3);
    for _ in 0..128 {
        let shape = libm::sqrt(low * high);
        if cut_mean(least, shape, most) > mean {
            low = shape;
        } else {
            high = shape;
        }
    }
    libm::sqrt(low * high)
}

/// Mean of a Pareto distribution from `least` on with this shape, clipped to `most`: the integral
/// of the tail.
fn cut_mean(least: f64, shape: f64, most: f64) -> f64 {
    let excess = shape - 1.0;
    let ratio = least / most;
    if excess.abs() < 1e-9 {
        return least * (1.0 - libm::log(ratio));
    }
    least * (1.0 + (1.0 - libm::pow(ratio, excess)) / excess)
}

/// Reads a size, `pareto LEAST MEAN MOST`, or the name of an application.
impl FromStr for Sizes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Sizes, ParseQuantityError> {
        const FORM: &str =
            "a size such as 100B, \"pareto 1000B 9200B 64MB\", or an application's name";
        let refused = || ParseQuantityError::new(text, FORM);
        let words: Vec<&str> = text.split_whitespace().collect();
        if let ["pareto", numbers @ ..] = &words[..] {
            let numbers: Result<Vec<ByteCount>, _> =
                numbers.iter().map(|one| one.parse()).collect();
            return match numbers.map_err(|_| refused())?[..] {
                [ByteCount(least), ByteCount(mean), ByteCount(most)]
                    if 0 < least && least < mean && mean < most =>
                {
                    Ok(Sizes::Pareto { least, mean, most })
                }
                _ => Err(refused()),
            };
        }
        if let Ok(application) = text.parse() {
            return Ok(Sizes::Application(application));
        }
        let size: ByteCount = text.parse().map_err(|_| refused())?;
        usize::try_from(size.0).map(Sizes::Constant).map_err(|_| refused())
    }
}

impl core::fmt::Display for Sizes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Sizes::Constant(size) => f.pad(&ByteCount(*size as u64).to_string()),
            Sizes::Pareto { least, mean, most } => {
                f.pad(&format!("pareto {least}B {mean}B {most}B"))
            }
            Sizes::Application(application) => f.pad(&application.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Purpose;

    #[test]
    fn the_web_transfers_of_the_paper_have_their_mean() {
        let sizes: Sizes = "pareto 1000B 9200B 64MB".parse().unwrap();
        let SizeSource::Pareto { least, exponent, most } = SizeSource::new(sizes) else { panic!() };
        assert!((cut_mean(least, 1.0 / exponent, most) - 9200.0).abs() < 1.0);
        let source = SizeSource::new(sizes);
        let mut random = RandomStream::new(1, Purpose("test", 0));
        let drawn: Vec<usize> = (0..200_000).map(|_| source.draw(&mut random)).collect();
        assert!(drawn.iter().all(|size| (1000..=64_000_000).contains(size)));
        // The median of the uncut distribution is 1000 times 2 to the power of 1/shape.
        let mut sorted = drawn;
        sorted.sort_unstable();
        let median = sorted[100_000] as f64;
        assert!((median / (1000.0 * libm::pow(2.0, exponent)) - 1.0).abs() < 0.02, "{median}");
    }

    #[test]
    fn sizes_read_back_what_they_print() {
        for text in ["100B", "pareto 1000B 9200B 64000000B", "bzflag"] {
            assert_eq!(text.parse::<Sizes>().unwrap().to_string(), text);
        }
        for text in ["", "pareto 1B", "pareto 10B 5B 20B", "large"] {
            assert!(text.parse::<Sizes>().unwrap_err().to_string().contains("100B"), "{text}");
        }
    }
}
