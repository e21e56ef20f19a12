//! Numbers on the command line that are not any number.

use core::fmt::Display;
use core::num::NonZeroUsize;
use core::ops::RangeInclusive;
use core::str::FromStr;

use base::{ByteCount, Duration, ParseQuantityError};
use thinstream::EndpointOptions;

/// Reads a whole number from 0 to 2^64 - 1.
pub(crate) fn whole(text: &str) -> Result<u64, ParseQuantityError> {
    text.parse().map_err(|_| ParseQuantityError::new(text, "a whole number such as 1"))
}

/// Number of times that something was given, as a part of a sentence.
pub(crate) fn times(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Associations that an endpoint can tell apart.
pub(crate) const MOST_ASSOCIATIONS: usize = 1 << 30;

/// Memory with which an endpoint can do anything.
pub(crate) fn some_memory(text: &str) -> Result<ByteCount, ParseQuantityError> {
    let size = text.parse::<ByteCount>()?;
    match size.0 >= 1 << 20 {
        true => Ok(size),
        false => Err(ParseQuantityError::new(text, "a size of at least 1MiB such as 64MiB")),
    }
}

/// A number of shards of a server.
pub(crate) fn some_shards(text: &str) -> Result<NonZeroUsize, String> {
    let number = within(1..=EndpointOptions::MOST_SHARDS)(text)?;
    Ok(NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN))
}

/// Reads a duration above zero, such as `50ms`.
pub(crate) fn some_time(text: &str) -> Result<Duration, ParseQuantityError> {
    let duration = text.parse::<Duration>()?;
    match duration > Duration::ZERO {
        true => Ok(duration),
        false => Err(ParseQuantityError::new(text, "a duration above zero such as 50ms")),
    }
}

/// Reads a whole number of `range`.
pub(crate) fn within<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse::<T>().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("\"{text}\" is not a whole number from {} to {}", range.start(), range.end())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_with_the_range() {
        assert_eq!(within(1..=65_535u16)("7"), Ok(7));
        for text in ["0", "65536", "-1", "abc", "1.5", ""] {
            let error = within(1..=65_535u16)(text).unwrap_err();
            assert!(error.contains(text) && error.contains("from 1 to 65535"), "{error}");
        }
        assert!(some_time("0s").unwrap_err().to_string().contains("above zero"));
        assert_eq!(some_time("50ms"), Ok(Duration::from_millis(50)));
        assert!(some_memory("1048575").unwrap_err().to_string().contains("at least 1MiB"));
        assert_eq!(some_memory("1MiB"), Ok(ByteCount(1 << 20)));
        assert!(whole("abc").unwrap_err().to_string().contains("\"abc\""));
    }
}
