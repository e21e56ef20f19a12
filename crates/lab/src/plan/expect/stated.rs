//! A number as a paper prints it.

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::toml_text::plain;

/// A number of a paper with the digits that the paper prints. A plan gives it as a number, or as a
/// text where the paper groups its digits or prints zeros that a number would lose: `value =
/// "25.000"`, `value = "14,447"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// Value in the row's unit.
    pub number: f64,
    /// Digits as printed in the paper.
    pub text: String,
}

impl Stated {
    /// Reads a number from its text; commas may group its digits.
    ///
    /// # Errors
    /// A sentence with the text, if it is no finite number.
    pub fn parse(text: &str) -> Result<Stated, String> {
        let text = text.trim();
        let number = text.replace(',', "").parse::<f64>().ok().filter(|number| number.is_finite());
        match number {
            Some(number) => Ok(Stated { number, text: text.to_owned() }),
            None => Err(format!("\"{text}\" is no number such as 41.05, \"25.000\" or \"14,447\"")),
        }
    }
}

impl<'de> Deserialize<'de> for Stated {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Stated, D::Error> {
        let text = match toml::Value::deserialize(from)? {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            other => {
                let what = format!("{} is no number such as 41.05 or \"25.000\"", plain(&other));
                return Err(D::Error::custom(what));
            }
        };
        Stated::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Row {
        value: Stated,
    }

    fn read(value: &str) -> Result<Stated, String> {
        let row = toml::from_str::<Row>(&format!("value = {value}"));
        row.map(|row| row.value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_keeps_the_digits_that_the_paper_prints() {
        for (written, number, text) in [
            ("14447", 14_447.0, "14447"),
            ("41.05", 41.05, "41.05"),
            ("-3", -3.0, "-3"),
            ("\"25.000\"", 25.0, "25.000"),
            ("\"14,447\"", 14_447.0, "14,447"),
            ("100000000", 1e8, "100000000"),
        ] {
            assert_eq!(read(written).unwrap(), Stated { number, text: text.to_owned() });
        }
    }

    #[test]
    fn what_is_no_number_is_refused_by_its_text() {
        for written in ["\"nearly half\"", "true", "nan", "\"inf\"", "\"\"", "[1]"] {
            let error = read(written).unwrap_err();
            assert!(error.contains("is no number such as 41.05"), "{written}: {error}");
        }
    }
}
