//! Comparison of patterns with packets.

use core::fmt;

use super::shapes::Codec;
use super::wire::{code_of, decode_as, is_padded_with_zeros, split};
use super::{Element, Elements, Kind, Value, decode};
use crate::mapping::Perspective;

/// Position at which a pattern and a packet differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Names of elements and the field, from outside to inside.
    pub(crate) path: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Mismatch {
    fn new(path: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Mismatch { path: path.to_owned(), expected: expected.to_string(), found: found.to_string() }
    }

    fn inside(mut self, name: &str) -> Self {
        self.path = format!("{name}.{}", self.path);
        self
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.path, self.expected, self.found)
    }
}

/// Compares an element on the wire with a pattern; open parts of the pattern are ignored.
pub(crate) fn compare(
    pattern: &Element,
    bytes: &[u8],
    perspective: Perspective<'_>,
) -> Result<(), Mismatch> {
    let kind = pattern.shape.kind;
    let code = code_of(bytes, kind);
    if code != pattern.code && !pattern.any_code {
        let found = match decode(bytes, kind, perspective) {
            Ok(element) => element.to_string(),
            Err(why) => why,
        };
        return Err(Mismatch::new("type", pattern, found));
    }
    let name = pattern.name();
    let found = decode_as(pattern.shape, bytes, perspective)
        .map_err(|why| Mismatch::new("form", name, why).inside(name))?;
    same("flgs", pattern.flags, found.flags).map_err(|mismatch| mismatch.inside(name))?;
    same("len", pattern.length, found.length).map_err(|mismatch| mismatch.inside(name))?;
    let mut offset = 4;
    for (index, field) in pattern.shape.fields.iter().enumerate() {
        let (wanted, value) = (&pattern.values[index], &found.values[index]);
        let outcome = match (field.codec, wanted) {
            (Codec::Elements(kind), Value::Elements(wanted)) => {
                compare_nested(wanted, bytes, offset, kind, perspective)
            }
            (Codec::Reflected(kind), Value::Elements(wanted)) => {
                compare_nested(wanted, bytes, offset, kind, perspective.reflected())
            }
            // Reserved bits are sent as 0, which no script mentions.
            (Codec::Reserved16, Value::Any) if *value != Value::Number(0) => {
                Err(Mismatch::new("a reserved field", 0, value))
            }
            (_, Value::Any) => Ok(()),
            (_, wanted) if wanted == value => Ok(()),
            (_, wanted) => Err(Mismatch::new(field.key, wanted, value)),
        };
        outcome.map_err(|mismatch| mismatch.inside(name))?;
        offset += width(field.codec);
    }
    Ok(())
}

/// Width in bytes of a field before others.
fn width(codec: Codec) -> usize {
    match codec {
        Codec::U16 | Codec::Reserved16 => 2,
        _ => 4,
    }
}

fn same<T: PartialEq + fmt::Debug>(
    name: &str,
    wanted: Option<T>,
    found: Option<T>,
) -> Result<(), Mismatch> {
    match (wanted, found) {
        (Some(wanted), Some(found)) if wanted != found => {
            Err(Mismatch::new(name, format_args!("{wanted:?}"), format_args!("{found:?}")))
        }
        _ => Ok(()),
    }
}

fn compare_nested(
    wanted: &Elements,
    bytes: &[u8],
    offset: usize,
    kind: Kind,
    perspective: Perspective<'_>,
) -> Result<(), Mismatch> {
    let nested = bytes.get(offset..).unwrap_or_default();
    if !is_padded_with_zeros(nested) {
        return Err(Mismatch::new("padding", 0, "something else"));
    }
    let children =
        split(nested).map_err(|why| Mismatch::new("form", format_args!("{kind:?}s"), why))?;
    compare_list(&wanted.list, wanted.open, &children, kind, perspective)
}

/// Compares elements with patterns one by one; further elements may follow only if the list is
/// `open`.
pub(crate) fn compare_list(
    patterns: &[Element],
    open: bool,
    found: &[&[u8]],
    kind: Kind,
    perspective: Perspective<'_>,
) -> Result<(), Mismatch> {
    let describe = |bytes: &[u8]| match decode(bytes, kind, perspective) {
        Ok(element) => element.to_string(),
        Err(why) => why,
    };
    for (index, pattern) in patterns.iter().enumerate() {
        let Some(bytes) = found.get(index) else {
            return Err(Mismatch::new("count", pattern, "nothing"));
        };
        compare(pattern, bytes, perspective)?;
    }
    match found.get(patterns.len()) {
        Some(more) if !open => Err(Mismatch::new("count", "nothing more", describe(more))),
        _ => Ok(()),
    }
}
