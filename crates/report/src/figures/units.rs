//! Units: from those of results to that of an axis, and texts of plans as numbers.

use base::{ByteCount, Duration, Rate};

/// Unit, its dimension, and its size in the base unit.
const UNITS: [(&str, char, f64); 19] = [
    ("ns", 't', 1e-9),
    ("us", 't', 1e-6),
    ("µs", 't', 1e-6),
    ("ms", 't', 1e-3),
    ("s", 't', 1.0),
    ("min", 't', 60.0),
    ("h", 't', 3600.0),
    ("bit/s", 'r', 1.0),
    ("kbit/s", 'r', 1e3),
    ("Mbit/s", 'r', 1e6),
    ("Gbit/s", 'r', 1e9),
    ("B", 'b', 1.0),
    ("kB", 'b', 1e3),
    ("KiB", 'b', 1024.0),
    ("MB", 'b', 1e6),
    ("MiB", 'b', 1_048_576.0),
    ("GB", 'b', 1e9),
    ("%", 'q', 0.01),
    ("", 'q', 1.0),
];

/// The factor from one unit to another; `None` where they differ in dimension.
pub(super) fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let find = |unit: &str| UNITS.iter().find(|(name, ..)| *name == unit);
    let ((_, one, from), (_, other, to)) = (find(from)?, find(to)?);
    // Seven digits are more than any figure shows; 1e-9 / 1e-3 is not quite 1e-6.
    (one == other).then(|| super::rounded(from / to))
}

/// The unit to show values of `unit` in, of which the largest is `most`.
pub(super) fn fitting(unit: &str, most: f64) -> &str {
    match unit {
        "ns" if most >= 1e10 => "s",
        "ns" => "ms",
        "ms" if most >= 1e4 => "s",
        "kbit/s" if most >= 1e4 => "Mbit/s",
        "B" if most >= 1e7 => "MB",
        _ => unit,
    }
}

/// A plan's value as a number with its unit: `50ms`, `5%`, `10mbit`, `100B`, `1.5bdp`, `0.3`; none
/// of others.
pub(super) fn quantity(text: &str) -> Option<(f64, String)> {
    let plain = |value: f64| value.is_finite().then_some(value);
    if let Ok(value) = text.parse::<f64>() {
        return plain(value).map(|value| (value, String::new()));
    }
    if let Ok(span) = text.parse::<Duration>() {
        return Some((span.as_millis_f64(), "ms".to_owned()));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.bits_per_second() as f64 / 1e6, "Mbit/s".to_owned()));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    if let Some(bytes) = text.parse::<ByteCount>().ok().filter(|_| unit.ends_with('B')) {
        return Some((bytes.0 as f64, "B".to_owned()));
    }
    let is_unit = unit == "%" || unit.chars().all(|c| c.is_ascii_alphabetic());
    let value = number.parse::<f64>().ok().filter(|_| is_unit)?;
    Some((value, unit.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_converted_between_units_of_one_kind_only() {
        assert_eq!(factor("ns", "ms"), Some(1e-6));
        assert_eq!(factor("ms", "s"), Some(1e-3));
        assert_eq!(factor("%", ""), Some(0.01));
        assert_eq!(factor("wu", "wu"), Some(1.0));
        assert_eq!(factor("ms", "B"), None);
        assert_eq!(factor("wu", "s"), None);
    }

    #[test]
    fn values_of_plans_are_numbers_where_people_read_them_so() {
        let read = |text: &str| quantity(text).map(|(value, unit)| format!("{value} {unit}"));
        for (text, number) in [
            ("50ms", "50 ms"),
            ("1.5s", "1500 ms"),
            ("0ms", "0 ms"),
            ("5%", "5 %"),
            ("10mbit", "10 Mbit/s"),
            ("100B", "100 B"),
            ("64KiB", "65536 B"),
            ("1.5bdp", "1.5 bdp"),
            ("100p", "100 p"),
            ("0.3", "0.3 "),
        ] {
            assert_eq!(read(text).as_deref(), Some(number), "{text}");
        }
        for text in ["thin", "~250ms", "bursts 5% 4", "mod FR", "true", "", "50 to 60"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
