//! Header that the partial-order layer puts before each message.
//!
//! ```text
//!  0                   1                   2                   3
//! +---+-----------+-----------------------------------------------+
//! | k | count     | number ...                                    |
//! +---+-----------+-----------------------------------------------+
//! | ... number    | distance to predecessor 1     | distance to 2 ...
//! +---------------+-------------------------------+---------------+
//! | the message ...
//! ```
//!
//! `k` is the kind: 0 a message, 1 an abandoned one (no message follows), 2 a report that all
//! numbers below this one are settled. `count` predecessors follow, each as how far it lies before
//! the number, nearest first; 63 stands for all numbers below. Numbers are the low halves of 64-bit
//! ones, big-endian.

use core::fmt;

use base::serial::unwrap_u32;
use bytes::Bytes;
use smallvec::SmallVec;

/// Predecessors that a message may name at most.
pub(super) const PREDECESSORS_MAX: usize = 62;

/// The count that stands for everything before.
const EVERYTHING: u8 = 63;

/// Bytes of a frame's type, message number and count, before the predecessors.
const HEADER: usize = 5;

const MESSAGE: u8 = 0;
const ABANDONED: u8 = 1;
const SETTLED: u8 = 2;

/// Messages that a message waits for, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predecessors {
    /// Numbers of the predecessors, in descending order and without repetition.
    These(SmallVec<[u64; 2]>),
    /// All messages with lower numbers.
    Everything,
}

/// A frame from or to the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Data with its number and the numbers that must be delivered before it.
    Message { number: u64, after: Predecessors, payload: Bytes },
    /// A message that will not come, with what it would have waited for: its successors still wait
    /// for that.
    Abandoned { number: u64, after: Predecessors },
    /// The receiver is done with all numbers below this one.
    Settled { below: u64 },
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A frame that is shorter than its header says.
    TooShort,
    /// A message of a kind that does not exist.
    UnknownKind(u8),
    /// Predecessors that are not in order, or repeat, or include the message itself.
    UnorderedPredecessors,
    /// A predecessor before the first message.
    BeforeFirst,
    /// A report or an abandoned message with something behind it.
    TrailingBytes,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::TooShort => f.write_str("shorter than its header says"),
            FrameError::UnknownKind(kind) => write!(f, "of unknown kind {kind}"),
            FrameError::UnorderedPredecessors => f.write_str("its predecessors are not in order"),
            FrameError::BeforeFirst => f.write_str("it waits for one before the first"),
            FrameError::TrailingBytes => f.write_str("bytes where there should be none"),
        }
    }
}

impl core::error::Error for FrameError {}

impl Frame {
    /// Reads a frame. Numbers of messages are near `incoming`, those of reports near `outgoing`.
    pub(super) fn parse(bytes: Bytes, incoming: u64, outgoing: u64) -> Result<Frame, FrameError> {
        let Some(&[first, n0, n1, n2, n3]) = bytes.first_chunk::<HEADER>() else {
            return Err(FrameError::TooShort);
        };
        let (kind, count) = (first >> 6, first & 63);
        let wire = u32::from_be_bytes([n0, n1, n2, n3]);
        if kind == SETTLED {
            let below = unwrap_u32(outgoing, wire);
            return if bytes.len() == HEADER && count == 0 {
                Ok(Frame::Settled { below })
            } else {
                Err(FrameError::TrailingBytes)
            };
        }
        let number = unwrap_u32(incoming, wire);
        let (after, end) = parse_predecessors(&bytes, number, count)?;
        match kind {
            MESSAGE => Ok(Frame::Message { number, after, payload: bytes.slice(end..) }),
            ABANDONED if bytes.len() > end => Err(FrameError::TrailingBytes),
            ABANDONED => Ok(Frame::Abandoned { number, after }),
            _ => Err(FrameError::UnknownKind(kind)),
        }
    }

    /// The bytes of the frame: header, distances to the predecessors, payload.
    pub(super) fn emit(&self) -> Bytes {
        let (kind, number, after, payload) = match self {
            Frame::Message { number, after, payload } => {
                (MESSAGE, number, Some(after), &payload[..])
            }
            Frame::Abandoned { number, after } => (ABANDONED, number, Some(after), &[][..]),
            Frame::Settled { below } => (SETTLED, below, None, &[][..]),
        };
        let (count, distances) = match after {
            Some(Predecessors::These(all)) => (all.len().min(PREDECESSORS_MAX) as u8, &all[..]),
            Some(Predecessors::Everything) => (EVERYTHING, &[][..]),
            None => (0, &[][..]),
        };
        let mut bytes = Vec::with_capacity(HEADER + 2 * distances.len() + payload.len());
        bytes.push(kind << 6 | count);
        bytes.extend_from_slice(&(*number as u32).to_be_bytes());
        for predecessor in distances.iter().take(PREDECESSORS_MAX) {
            bytes.extend_from_slice(&(number.wrapping_sub(*predecessor) as u16).to_be_bytes());
        }
        bytes.extend_from_slice(payload);
        bytes.into()
    }

    /// Bytes before the message itself.
    pub(super) fn header_len(after: &Predecessors) -> usize {
        match after {
            Predecessors::These(all) => HEADER + 2 * all.len(),
            Predecessors::Everything => HEADER,
        }
    }
}

/// The predecessors of `number`, and where they end.
fn parse_predecessors(
    bytes: &[u8],
    number: u64,
    count: u8,
) -> Result<(Predecessors, usize), FrameError> {
    if count == EVERYTHING {
        return Ok((Predecessors::Everything, HEADER));
    }
    let end = HEADER + 2 * usize::from(count);
    let distances = bytes.get(HEADER..end).ok_or(FrameError::TooShort)?;
    let (mut all, mut before) = (SmallVec::new(), 0);
    for distance in distances.as_chunks().0 {
        let distance = u16::from_be_bytes(*distance);
        if distance <= before {
            return Err(FrameError::UnorderedPredecessors);
        }
        before = distance;
        all.push(number.checked_sub(distance.into()).ok_or(FrameError::BeforeFirst)?);
    }
    Ok((Predecessors::These(all), end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;

    fn these(all: &[u64]) -> Predecessors {
        Predecessors::These(all.into())
    }

    #[test]
    fn a_message_that_waits_for_two_has_nine_bytes_before_it() {
        let payload = Bytes::from_static(b"hi");
        let after = these(&[0x1_0000_0004, 0x1_0000_0001]);
        let frame = Frame::Message { number: 0x1_0000_0005, after, payload };
        let bytes = frame.emit();
        assert_eq!(bytes, [2, 0, 0, 0, 5, 0, 1, 0, 4, b'h', b'i'][..]);
        assert_eq!(Frame::parse(bytes, 0x1_0000_0000, 0), Ok(frame));
    }

    #[test]
    fn what_is_no_frame_is_refused_with_its_reason() {
        let parse = |bytes: &'static [u8]| Frame::parse(Bytes::from_static(bytes), 0, 0);
        assert_eq!(parse(&[0, 0, 0, 1]), Err(FrameError::TooShort));
        assert_eq!(parse(&[1, 0, 0, 0, 9, 0]), Err(FrameError::TooShort));
        assert_eq!(parse(&[0xc0, 0, 0, 0, 9]), Err(FrameError::UnknownKind(3)));
        assert_eq!(parse(&[1, 0, 0, 0, 9, 0, 0]), Err(FrameError::UnorderedPredecessors));
        assert_eq!(parse(&[2, 0, 0, 0, 9, 0, 2, 0, 2]), Err(FrameError::UnorderedPredecessors));
        assert_eq!(parse(&[1, 0, 0, 0, 9, 0, 10]), Err(FrameError::BeforeFirst));
        assert_eq!(parse(&[0x40, 0, 0, 0, 9, 7]), Err(FrameError::TrailingBytes));
        assert_eq!(parse(&[0x80, 0, 0, 0, 9, 7]), Err(FrameError::TrailingBytes));
        assert_eq!(parse(&[0x81, 0, 0, 0, 9]), Err(FrameError::TrailingBytes));
    }

    #[test]
    fn every_cut_of_a_frame_with_predecessors_is_refused() {
        let after = Predecessors::These(smallvec![7, 3, 1]);
        let bytes = Frame::Abandoned { number: 8, after }.emit();
        for length in 0..bytes.len() {
            assert_eq!(Frame::parse(bytes.slice(..length), 0, 0), Err(FrameError::TooShort));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_and_what_was_read_is_written_alike(
            bytes in prop::collection::vec(any::<u8>(), 0..40)
        ) {
            let bytes = Bytes::from(bytes);
            if let Ok(frame) = Frame::parse(bytes.clone(), 1 << 33, 1 << 33) {
                prop_assert_eq!(frame.emit(), bytes);
            }
        }
    }
}
