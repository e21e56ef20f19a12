//! Values as people write them.

use core::fmt::Display;
use core::str::FromStr;

use base::Duration;
use serde::de::{Deserialize, Deserializer, Error};

use crate::toml_text::plain;

/// A value with a text form, such as `50ms`, `10mbit` or `5%`; a bare number is read like its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Text<T>(pub T);

impl<'de, T: FromStr> Deserialize<'de> for Text<T>
where
    T::Err: Display,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text<T>, D::Error> {
        let text = match toml::Value::deserialize(from)? {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            other => return Err(D::Error::custom(format!("\"{}\" is no text", plain(&other)))),
        };
        text.parse().map(Text).map_err(D::Error::custom)
    }
}

/// One value, or a list of several.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Several<T>(pub Vec<T>);

impl<'de, T: FromStr> Deserialize<'de> for Several<T>
where
    T::Err: Display,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Several<T>, D::Error> {
        let read =
            |value: toml::Value| Ok(Text::<T>::deserialize(value).map_err(D::Error::custom)?.0);
        match toml::Value::deserialize(from)? {
            toml::Value::Array(values) => values.into_iter().map(read).collect(),
            one => read(one).map(|one| vec![one]),
        }
        .map(Several)
    }
}

/// Time drawn uniformly from an interval: `0s..50s`, or a single time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// Lower bound, included.
    pub from: Duration,
    /// Upper bound, at least the lower one.
    pub to: Duration,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let parse = |text: &str| text.trim().parse::<Duration>().map_err(|error| error.to_string());
        let span = Span { from: parse(from)?, to: parse(to)? };
        match span.from <= span.to {
            true => Ok(span),
            false => Err(format!("\"{text}\" ends before it begins; give a span such as 0s..50s")),
        }
    }
}

/// One name, or a list of several.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Names(pub Vec<String>);

impl Names {
    /// Whether `name` is one of `names`; without any, all names are meant.
    pub(crate) fn include(names: Option<&Names>, name: &str) -> bool {
        names.is_none_or(|names| names.0.iter().any(|one| one == name))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Names, D::Error> {
        let text = |value: toml::Value| match value {
            toml::Value::String(text) => Ok(text),
            other => Err(D::Error::custom(format!("{} is no name of flows", plain(&other)))),
        };
        match toml::Value::deserialize(from)? {
            toml::Value::Array(values) => values.into_iter().map(text).collect::<Result<_, _>>(),
            one => text(one).map(|one| vec![one]),
        }
        .map(Names)
    }
}
