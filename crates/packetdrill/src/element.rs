//! Elements: chunks, parameters and causes, as patterns that a script writes and as what a packet
//! carries.
//!
//! One table ([`shapes`]) says what each kind of element looks like. Reading a script, writing a
//! packet, reading a packet, comparing and printing all follow it, so that no two of them can
//! disagree. None of it shares code with the stack under test, which must not be its own judge.

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
    /// Whether its type is left open: it matches any, and is sent as `code`.
    pub(crate) any_code: bool,
    /// Flags of a chunk; none are not compared, and sent as 0.
    pub(crate) flags: Option<u8>,
    /// The length in its header; none follows from the rest, and is not compared.
    pub(crate) length: Option<u16>,
    /// Values, one for each field of the shape.
    pub(crate) values: Vec<Value>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `...`: anything.
    Any,
    Number(u32),
    Bytes(Vec<u8>),
    Numbers(Vec<u32>),
    /// Pairs or triples.
    Tuples(Vec<[u32; 3]>),
    Elements(Elements),
}

/// A list of elements.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Elements {
    pub(crate) list: Vec<Element>,
    /// Whether anything may follow (`...`).
    pub(crate) open: bool,
}

impl Element {
    /// The name that the language gives it.
    pub fn name(&self) -> &'static str {
        self.shape.name
    }

    /// The value of the field called `key`.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        let index = self.shape.fields.iter().position(|field| field.key == key)?;
        self.values.get(index)
    }

    /// The first number, address or list in it that a script leaves open although nothing says what it would be in a
    /// packet to send: its element and field.
    pub(crate) fn left_open(&self) -> Option<(&'static str, &'static str)> {
        self.shape.fields.iter().zip(&self.values).find_map(|(field, value)| match value {
            Value::Any if field.codec.must_be_known() => Some((self.name(), field.key)),
            Value::Elements(elements) => elements.list.iter().find_map(Element::left_open),
            _ => None,
        })
    }

    /// The number in the field called `key`.
    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        match self.value(key)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// A packet's chunks, decoded and in the script's numbers, for people to read.
pub(crate) fn describe(chunks: &[&[u8]], perspective: Perspective<'_>) -> String {
    let one = |chunk: &&[u8]| match decode(chunk, Kind::Chunk, perspective) {
        Ok(element) => element.to_string(),
        Err(why) => format!("<{why}>"),
    };
    chunks.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
