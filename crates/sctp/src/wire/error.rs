//! Errors in bytes from the network.

use core::fmt;

use super::registry::{CauseCode, ChunkType, ParameterType};

/// The three kinds of elements with a type and a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A chunk of a packet.
    Chunk,
    /// A parameter of a chunk.
    Parameter,
    /// An error cause of an ABORT or ERROR chunk.
    Cause,
}

/// Reason for which a packet, or part of it, was rejected. Small, so that it can be counted by
/// kind.
///
/// The number beside an [`Item`] is its type or, for a cause, its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The datagram has fewer bytes than a common header; the value is their number.
    PacketTooShort(usize),
    /// The checksum does not match: the packet was corrupted, or is not SCTP.
    BadChecksum,
    /// Source or destination port is 0, which is reserved.
    ZeroPort,
    /// The remaining bytes are fewer than the header of a further element.
    HeaderCutOff(Item),
    /// The element's length is less than its header, so that the next element cannot be found.
    NoLength(Item, u16),
    /// The element's length is less than its mandatory fields.
    TooShort(Item, u16),
    /// The element's length exceeds its fields.
    TooLong(Item, u16),
    /// The element's length exceeds the enclosing element.
    PastEnd(Item, u16),
    /// A chunk (first) lacks a parameter (second) that it requires.
    MissingParameter(ChunkType, ParameterType),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Item::Chunk => "chunk",
            Item::Parameter => "parameter",
            Item::Cause => "error cause",
        })
    }
}

/// Text for one element: "SACK chunk", "error cause 42".
struct Named(Item, u16);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(item, number) = *self;
        let name = match item {
            Item::Chunk => u8::try_from(number).ok().and_then(|number| ChunkType(number).name()),
            Item::Parameter => ParameterType(number).name(),
            Item::Cause => CauseCode(number).name(),
        };
        match name {
            Some(name) => write!(f, "{name} {item}"),
            None => write!(f, "{item} of type {number:#x}"),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ParseError::PacketTooShort(length) => {
                write!(f, "{length} bytes are too few for an SCTP packet")
            }
            ParseError::BadChecksum => f.write_str("the CRC32c checksum does not match"),
            ParseError::ZeroPort => f.write_str("a port is 0"),
            ParseError::HeaderCutOff(item) => write!(f, "the header of a {item} is cut off"),
            ParseError::NoLength(item, number) => {
                write!(f, "{} is shorter than its header", Named(item, number))
            }
            ParseError::TooShort(item, number) => {
                write!(f, "{} is shorter than its fields", Named(item, number))
            }
            ParseError::TooLong(item, number) => {
                write!(f, "{} is longer than its fields", Named(item, number))
            }
            ParseError::PastEnd(item, number) => {
                write!(f, "{} reaches past the end", Named(item, number))
            }
            ParseError::MissingParameter(chunk, parameter) => write!(
                f,
                "{} lacks its {}",
                Named(Item::Chunk, chunk.0.into()),
                Named(Item::Parameter, parameter.0)
            ),
        }
    }
}

impl core::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_element_and_what_is_wrong() {
        let error = ParseError::TooShort(Item::Chunk, ChunkType::SACK.0.into());
        assert_eq!(error.to_string(), "SACK chunk is shorter than its fields");
        let error = ParseError::PastEnd(Item::Cause, 0x4242);
        assert_eq!(error.to_string(), "error cause of type 0x4242 reaches past the end");
        let error =
            ParseError::MissingParameter(ChunkType::HEARTBEAT, ParameterType::HEARTBEAT_INFO);
        assert_eq!(error.to_string(), "HEARTBEAT chunk lacks its Heartbeat Info parameter");
    }

    #[test]
    fn an_error_fits_a_register_pair() {
        assert!(size_of::<ParseError>() <= 16);
    }
}
