//! Elements: chunks, parameters and causes, as patterns in a script and as contents of a packet.
//!
//! One table ([`shapes`]) defines the layout of each kind of element. Parsing scripts, writing and
//! reading packets, comparing and printing all follow it, so that they cannot disagree. They share
//! no code with the stack under test, which must not judge itself.

mod compare;
mod display;
mod lower;
mod shapes;
mod wire;

pub(crate) use self::compare::{compare, compare_list};
pub(crate) use self::lower::{bytes_of, lower};
pub(crate) use self::shapes::Shape;
pub(crate) use self::wire::{Memory, chunks_of, decode, encode, is_padded_with_zeros, split};
use crate::mapping::Perspective;

/// The three sorts of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A chunk: 8 bits of type, 8 of flags.
    Chunk,
    /// A parameter: 16 bits of type.
    Parameter,
    /// An error cause: 16 bits of code.
    Cause,
}

/// A chunk, parameter or cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    pub(crate) shape: &'static Shape,
    /// The type of a chunk or parameter, or the code of a cause.
    pub(crate) code: u16,
    /// Whether its type is open: it matches any type, and is sent as `code`.
    pub(crate) any_code: bool,
    /// Flags of a chunk; `None`: not compared, and sent as 0.
    pub(crate) flags: Option<u8>,
    /// Length in the header; `None`: computed, and not compared.
    pub(crate) length: Option<u16>,
    /// Values, one for each field of the shape.
    pub(crate) values: Vec<Value>,
}

/// Value of a field, as the script gives it or as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `...`: matches whatever was sent.
    Any,
    Number(u32),
    Bytes(Vec<u8>),
    Numbers(Vec<u32>),
    /// Pairs or triples of numbers.
    Tuples(Vec<[u32; 3]>),
    Elements(Elements),
}

/// A list of elements in their order.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Elements {
    pub(crate) list: Vec<Element>,
    /// Whether any elements may follow (`...`).
    pub(crate) open: bool,
}

impl Element {
    /// Name of the element in the language.
    pub fn name(&self) -> &'static str {
        self.shape.name
    }

    /// Value of the field `key`.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        let index = self.shape.fields.iter().position(|field| field.key == key)?;
        self.values.get(index)
    }

    /// The first number, address or list that a script leaves open although a packet to send needs
    /// it: its element and field.
    pub(crate) fn left_open(&self) -> Option<(&'static str, &'static str)> {
        self.shape.fields.iter().zip(&self.values).find_map(|(field, value)| match value {
            Value::Any if field.codec.must_be_known() => Some((self.name(), field.key)),
            Value::Elements(elements) => elements.list.iter().find_map(Element::left_open),
            _ => None,
        })
    }

    /// Number in the field `key`.
    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        match self.value(key)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Chunks of a packet as text, decoded, with the script's numbers.
pub(crate) fn describe(chunks: &[&[u8]], perspective: Perspective<'_>) -> String {
    let one = |chunk: &&[u8]| match decode(chunk, Kind::Chunk, perspective) {
        Ok(element) => element.to_string(),
        Err(why) => format!("<{why}>"),
    };
    chunks.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
