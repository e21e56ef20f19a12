//! `[fit]`: unknown settings, with the ranges to search.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::error::PlanError;
use super::expect::Cells;
use super::sweep::{Key, value_text};
use crate::toml_text::plain;

/// The unknown settings, and the rows of the paper that they have to meet ([`crate::fit`]).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitSection {
    /// Keys of the sweep that keep one value: the rows of other cells are left out.
    #[serde(default, rename = "where")]
    pub cells: Cells,
    /// The range of each unknown, by its key in the plan: `"network.rtt"`, as in `[sweep]`.
    pub unknown: BTreeMap<Key, Unknown>,
}

impl FitSection {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.unknown.is_empty() {
            return Err(PlanError::new(
                "[fit.unknown] is empty; give a range such as \"network.rtt\" = { from = \"20ms\", to = \"200ms\" }",
            ));
        }
        match self.unknown.keys().find(|key| self.cells.contains_key(*key)) {
            Some(key) => Err(PlanError::new(format!(
                "[fit] has \"{key}\" both in where and in unknown; give one"
            ))),
            None => Ok(()),
        }
    }
}

/// The values that an unknown may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// Any number between two bounds, both included.
    Range(Range),
    /// One of the listed values.
    OneOf(Vec<toml::Value>),
}

/// A range of numbers, both ends included.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    from: f64,
    to: f64,
    form: Form,
    /// Whether equal steps of the search are equal factors.
    is_logarithmic: bool,
}

/// Notation of a range's values in a plan.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// Whole numbers, since the key takes no others.
    Integer,
    Number,
    /// A text of a number and this unit: `ms`.
    WithUnit(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeText {
    from: toml::Value,
    to: toml::Value,
    #[serde(default)]
    scale: Scale,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    #[default]
    Linear,
    Log,
}

impl<'de> Deserialize<'de> for Unknown {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Unknown, D::Error> {
        let read = match toml::Value::deserialize(from)? {
            toml::Value::Array(values) if values.len() < 2 => {
                Err("a list of less than two values leaves nothing to find".to_owned())
            }
            toml::Value::Array(values) => return Ok(Unknown::OneOf(values)),
            toml::Value::Table(table) => {
                let text: RangeText = table.try_into().map_err(D::Error::custom)?;
                Range::read(&text).map(Unknown::Range)
            }
            other => Err(format!(
                "{} is no range such as {{ from = \"20ms\", to = \"200ms\" }}, and no list of values",
                plain(&other)
            )),
        };
        read.map_err(D::Error::custom)
    }
}

impl Range {
    fn read(text: &RangeText) -> Result<Range, String> {
        let ((from, form), (to, other)) = (number(&text.from)?, number(&text.to)?);
        let form = match (form, other) {
            (Form::WithUnit(one), Form::WithUnit(other)) if one == other => Form::WithUnit(one),
            (Form::Integer, Form::Integer) => Form::Integer,
            (Form::Integer | Form::Number, Form::Integer | Form::Number) => Form::Number,
            _ => {
                let (from, to) = (plain(&text.from), plain(&text.to));
                return Err(format!("{from} to {to}: give both in one unit"));
            }
        };
        let is_logarithmic = text.scale == Scale::Log;
        if from >= to {
            return Err(format!("from {from} to {to}: the range is empty"));
        }
        if is_logarithmic && from <= 0.0 {
            return Err(format!("scale = \"log\" from {from}: give a positive beginning"));
        }
        Ok(Range { from, to, form, is_logarithmic })
    }

    /// The value at a share of the way from the beginning to the end, to four digits.
    fn at(&self, share: f64) -> toml::Value {
        let share = share.clamp(0.0, 1.0);
        let value = match self.is_logarithmic {
            true => self.from * libm::pow(self.to / self.from, share),
            false => self.from + (self.to - self.from) * share,
        };
        // Rounded first, so that the setting that is printed is the one that was run.
        let value = four_digits(value).clamp(self.from, self.to);
        match &self.form {
            Form::Integer => toml::Value::Integer(libm::round(value) as i64),
            Form::Number => toml::Value::Float(value),
            Form::WithUnit(unit) => toml::Value::String(format!("{value}{unit}")),
        }
    }
}

fn four_digits(value: f64) -> f64 {
    let text = format!("{value:.3e}");
    text.parse().unwrap_or(value)
}

/// A number, and how it is written.
fn number(value: &toml::Value) -> Result<(f64, Form), String> {
    match value {
        toml::Value::Integer(number) => Ok((*number as f64, Form::Integer)),
        toml::Value::Float(number) if number.is_finite() => Ok((*number, Form::Number)),
        toml::Value::String(text) => {
            let end = text.rfind(|one: char| one.is_ascii_digit()).map_or(0, |last| last + 1);
            let (digits, unit) = text.split_at(end);
            match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok((number, Form::WithUnit(unit.to_owned()))),
                _ => Err(format!("\"{text}\" is no number with a unit, such as \"20ms\"")),
            }
        }
        other => Err(format!("{} is no number, with a unit or without", plain(other))),
    }
}

impl Unknown {
    /// The value at a share from 0 to 1: of the way through a range, or of a list.
    pub fn at(&self, share: f64) -> toml::Value {
        match self {
            Unknown::Range(range) => range.at(share),
            Unknown::OneOf(values) => {
                let place = (share.clamp(0.0, 1.0) * values.len() as f64) as usize;
                values[place.min(values.len() - 1)].clone()
            }
        }
    }

    /// Whether the values are a list, which has no order.
    pub fn is_list(&self) -> bool {
        matches!(self, Unknown::OneOf(_))
    }
}

impl core::fmt::Display for Unknown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unknown::Range(range) => {
                let (from, to) = (range.at(0.0), range.at(1.0));
                write!(f, "{} to {}", value_text(&from), value_text(&to))
            }
            Unknown::OneOf(values) => {
                let texts: Vec<String> = values.iter().map(value_text).collect();
                f.write_str(&texts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(unknown: &str) -> Result<Unknown, String> {
        let section = toml::from_str::<FitSection>(&format!("[unknown]\n\"a.b\" = {unknown}"));
        section.map(|mut one| one.unknown.remove("a.b").unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_has_the_form_of_the_range_that_it_is_from() {
        for (unknown, share, value) in [
            ("{ from = \"20ms\", to = \"220ms\" }", 0.25, "\"70ms\""),
            ("{ from = \"1%\", to = \"100%\", scale = \"log\" }", 0.5, "\"10%\""),
            ("{ from = 1, to = 4 }", 0.5, "3"),
            ("{ from = 0, to = 1.0 }", 0.123_456, "0.1235"),
            ("[\"a\", \"b\", \"c\"]", 0.34, "\"b\""),
            ("[\"a\", \"b\", \"c\"]", 1.0, "\"c\""),
        ] {
            assert_eq!(read(unknown).unwrap().at(share).to_string(), value, "{unknown}");
        }
        assert_eq!(
            read("{ from = \"20ms\", to = \"220ms\" }").unwrap().to_string(),
            "20ms to 220ms"
        );
    }

    #[test]
    fn what_is_no_range_is_refused_with_what_would_be_right() {
        for (unknown, told) in [
            ("{ from = \"20ms\", to = \"1s\" }", "give both in one unit"),
            ("{ from = 2, to = 1 }", "the range is empty"),
            ("{ from = 0, to = 1, scale = \"log\" }", "give a positive beginning"),
            ("{ from = \"fast\", to = \"slow\" }", "is no number with a unit"),
            ("[\"a\"]", "leaves nothing to find"),
            ("\"20ms\"", "is no range such as"),
            ("{ from = 1 }", "missing field `to`"),
        ] {
            let error = read(unknown).unwrap_err();
            assert!(error.contains(told), "{unknown}: {error}");
        }
    }
}
