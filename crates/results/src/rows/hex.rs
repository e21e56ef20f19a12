//! Bytes as text in journals.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or('0');
    let text: String =
        bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect();
    to.serialize_str(&text)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    let byte = |pair: &[u8]| {
        let digits = core::str::from_utf8(pair).ok().filter(|digits| digits.len() == 2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| D::Error::custom("bytes are pairs of hexadecimal digits"))
}
