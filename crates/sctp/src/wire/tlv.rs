//! The framing common to chunks, parameters and error causes (RFC 9260, sections 3.2, 3.2.1 and
//! 3.3.10): 16 bits of type, 16 bits of length, a value, and padding to four bytes.
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------------------+-------------------------------+
//! | type (a chunk: type and flags)| length: header and value      |
//! +-------------------------------+-------------------------------+
//! | value, then 0 to 3 bytes of padding that the length leaves out|
//! +---------------------------------------------------------------+
//! ```
//!
//! The padding of the last element may be missing, or be included in the length of the enclosing
//! element: both occur in practice, and both are accepted.

use super::error::{Item, ParseError};

/// Bytes of the type and length fields.
pub(crate) const HEADER: usize = 4;

/// One element on the wire, without its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tlv<'a> {
    /// The first 16 bits: type and flags of a chunk, or the type of a parameter.
    pub(crate) head: u16,
    /// Header and value, without padding.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// Value of the element: its bytes after type and length.
    #[inline]
    pub(crate) fn value(&self) -> &'a [u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }
}

/// Iterates consecutive elements; ends after the first error.
#[derive(Clone, Debug)]
pub(crate) struct TlvIter<'a> {
    rest: &'a [u8],
    item: Item,
    /// Bytes of the last element's value that are elsewhere.
    tail: usize,
}

impl<'a> TlvIter<'a> {
    pub(crate) const fn new(bytes: &'a [u8], item: Item) -> Self {
        TlvIter { rest: bytes, item, tail: 0 }
    }

    /// Declares that the last `tail` bytes of the last element are elsewhere.
    pub(crate) const fn with_tail(self, tail: usize) -> Self {
        TlvIter { tail, ..self }
    }

    /// Whether the last element was returned.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Ends the iteration, as after a malformed element.
    pub(crate) fn stop(&mut self) {
        self.rest = &[];
    }

    /// The first element of `rest`, and the bytes after it and its padding.
    #[inline]
    fn split(&self) -> Result<(Tlv<'a>, &'a [u8]), ParseError> {
        let &[head_high, head_low, length_high, length_low, ..] = self.rest else {
            return Err(ParseError::HeaderCutOff(self.item));
        };
        let head = u16::from_be_bytes([head_high, head_low]);
        let number = if self.item == Item::Chunk { head_high.into() } else { head };
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        if length < HEADER {
            return Err(ParseError::NoLength(self.item, number));
        }
        let bytes = match self.rest.get(..length) {
            Some(bytes) => bytes,
            None if length == self.rest.len() + self.tail => self.rest,
            None => return Err(ParseError::PastEnd(self.item, number)),
        };
        let rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Ok((Tlv { head, bytes }, rest))
    }
}

impl<'a> Iterator for TlvIter<'a> {
    type Item = Result<Tlv<'a>, ParseError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (element, rest) = match self.split() {
            Ok((tlv, rest)) => (Ok(tlv), rest),
            Err(error) => (Err(error), Default::default()),
        };
        self.rest = rest;
        Some(element)
    }
}

impl core::iter::FusedIterator for TlvIter<'_> {}

/// Appends an element; `value` appends the bytes after the header.
pub(crate) fn emit(buffer: &mut Vec<u8>, head: u16, value: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    let [high, low] = head.to_be_bytes();
    buffer.extend_from_slice(&[high, low, 0, 0]);
    value(buffer);
    patch_length(buffer, start, 0);
}

/// Sets the length of the element that began at `start` and ends `behind` bytes after the buffer.
pub(crate) fn patch_length(buffer: &mut [u8], start: usize, behind: usize) {
    // A length above 16 bits exceeds any packet: the builder removes the element.
    let length = u16::try_from(buffer.len() - start + behind).unwrap_or(u16::MAX);
    if let Some(field) = buffer.get_mut(start + 2..start + HEADER) {
        field.copy_from_slice(&length.to_be_bytes());
    }
}

/// Appends zeros until the length after `start` is a multiple of four bytes.
pub(crate) fn pad(buffer: &mut Vec<u8>, start: usize) {
    let length = buffer.len() - start;
    buffer.resize(start + length.next_multiple_of(4), 0);
}

/// Appends consecutive elements, each padded except the last, whose padding no length includes.
pub(crate) fn emit_list<T>(
    buffer: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    emit: impl Fn(&T, &mut Vec<u8>),
) {
    let start = buffer.len();
    for item in items {
        pad(buffer, start);
        emit(&item, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::UnrecognizedAction;
    use super::*;

    fn walk(bytes: &[u8]) -> Vec<Result<Tlv<'_>, ParseError>> {
        TlvIter::new(bytes, Item::Parameter).collect()
    }

    #[test]
    fn the_last_elements_padding_may_be_present_or_absent() {
        let padded = [0, 7, 0, 5, 0xaa, 1, 2, 3];
        let expected = [Ok(Tlv { head: 7, bytes: &padded[..5] })];
        assert_eq!(walk(&padded), expected);
        assert_eq!(walk(&padded[..5]), expected);
        assert_eq!(walk(&padded[..6]), expected);
    }

    #[test]
    fn a_bad_length_is_reported_once_and_ends_the_walk() {
        let good = [0, 1, 0, 4];
        let cases: [(&[u8], ParseError); 3] = [
            (&[0, 9, 0, 3, 0, 1, 0, 4], ParseError::NoLength(Item::Parameter, 9)),
            (&[0, 9, 0, 9, 0, 1, 0, 4], ParseError::PastEnd(Item::Parameter, 9)),
            (&[0, 9, 0], ParseError::HeaderCutOff(Item::Parameter)),
        ];
        for (bad, error) in cases {
            let bytes = [&good, bad].concat();
            assert_eq!(walk(&bytes), [Ok(Tlv { head: 1, bytes: &good }), Err(error)]);
        }
    }

    #[test]
    fn the_upper_bits_say_whether_to_stop_and_whether_to_report() {
        let facts = |bits| {
            let action = UnrecognizedAction::from_bits(bits);
            (action.stops(), action.reports())
        };
        assert_eq!(facts(0), (true, false));
        assert_eq!(facts(1), (true, true));
        assert_eq!(facts(2), (false, false));
        assert_eq!(facts(3), (false, true));
    }

    #[test]
    fn a_list_pads_between_elements_and_not_after_the_last() {
        let mut buffer = vec![0xff];
        emit_list(&mut buffer, [1u8, 2], |item, buffer| {
            emit(buffer, 5, |buffer| buffer.push(*item));
        });
        assert_eq!(buffer, [0xff, 0, 5, 0, 5, 1, 0, 0, 0, 0, 5, 0, 5, 2]);
    }
}
