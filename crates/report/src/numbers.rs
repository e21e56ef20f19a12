//! Numbers in running text: units, digits, groups of three.

/// A latency with three significant digits and its unit, ms or s, that stay on one line.
pub fn short(latency_ms: f64) -> String {
    let (value, unit) = scaled(latency_ms);
    let decimals = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}\u{a0}{unit}")
}

/// A round latency at an axis, with its unit, ms or s.
pub(super) fn tick(latency_ms: f64) -> String {
    let (value, unit) = scaled(latency_ms);
    // Enough for any power of ten; the shortest text that reads back drops the rest.
    format!("{}\u{a0}{unit}", (value * 1e6).round() / 1e6)
}

fn scaled(latency_ms: f64) -> (f64, &'static str) {
    if latency_ms >= 999.5 { (latency_ms / 1000.0, "s") } else { (latency_ms, "ms") }
}

/// A number rounded to four significant digits.
pub fn four_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// A whole number with narrow spaces between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
    }

    #[test]
    fn latencies_have_three_digits_and_ticks_as_many_as_they_need() {
        let labels = [(50.0, "50.0 ms"), (52.36, "52.4 ms"), (999.4, "999 ms"), (999.6, "1.00 s")];
        for (value, text) in labels.into_iter().chain([(12_345.0, "12.3 s"), (0.256, "0.26 ms")]) {
            assert_eq!(short(value).replace('\u{a0}', " "), text);
        }
        for (value, text) in [(0.2, "0.2 ms"), (50.0, "50 ms"), (2000.0, "2 s")] {
            assert_eq!(tick(value).replace('\u{a0}', " "), text);
        }
    }
}
