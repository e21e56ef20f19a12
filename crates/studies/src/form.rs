//! Parameters as people write them: `"50ms"`, `"9600bit"`, `"10%"`; a number without a unit may
//! stand as such.

use core::fmt::{self, Display};
use core::str::FromStr;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::Field;
use recovery::rtt::{Deviation, Ratio};
use serde::de::{Deserializer, Error, Visitor};

/// Text, or a number as it would be written.
struct Written;

impl Visitor<'_> for Written {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

/// For `#[serde(deserialize_with = "form::text")]`: any value that can be read from text.
pub(super) fn text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(Written)?.parse().map_err(D::Error::custom)
}

/// A text that is a value, or `"none"`.
pub(super) fn optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    T::Err: Display,
    D: Deserializer<'de>,
{
    match deserializer.deserialize_any(Written)?.as_str() {
        "none" => Ok(None),
        text => text.parse().map(Some).map_err(D::Error::custom),
    }
}

/// A gain of the retransmission timeout, as policies write it.
pub(super) fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
    policy_with("rto-alpha", deserializer).map(|policy| policy.rto.alpha)
}

/// The deviation that the variation of round-trip times follows, as policies write it.
pub(super) fn deviation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Deviation, D::Error> {
    policy_with("rto-deviation", deserializer).map(|policy| policy.rto.deviation)
}

pub(super) fn whole_seconds(span: Duration) -> usize {
    (span.as_nanos() / 1_000_000_000) as usize
}

fn policy_with<'de, D: Deserializer<'de>>(
    field: &str,
    deserializer: D,
) -> Result<RecoveryPolicy, D::Error> {
    let text = deserializer.deserialize_any(Written)?;
    let field = Field::find(field).ok_or_else(|| D::Error::custom(field))?;
    let mut policy = RecoveryPolicy::sctp_rfc();
    field.set(&mut policy, &text).map_err(D::Error::custom)?;
    Ok(policy)
}
