//! Error causes: the contents of ABORT and ERROR (RFC 9260, section 3.3.10).
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------------------+-------------------------------+
//! | cause code                    | length: header and value      |
//! +-------------------------------+-------------------------------+
//! | cause-specific information, then 0 to 3 bytes of padding      |
//! +---------------------------------------------------------------+
//! ```

use base::Duration;

use super::error::{Item, ParseError};
use super::ids::{StreamId, Tsn};
use super::registry::{CauseCode, ParameterType};
use super::signing::HmacId;
use super::tlv::{self, Tlv, TlvIter};

/// Types of mandatory parameters that an INIT or INIT ACK lacks (RFC 9260, section 3.3.10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingParameters<'a>(&'a [[u8; 2]]);

impl MissingParameters<'static> {
    /// The state cookie, the only parameter that RFC 9260 makes mandatory.
    pub const STATE_COOKIE: Self =
        MissingParameters(&[ParameterType::STATE_COOKIE.0.to_be_bytes()]);
}

impl<'a> MissingParameters<'a> {
    /// A count in 32 bits, then as many numbers.
    fn parse(value: &'a [u8]) -> Option<Self> {
        let (count, numbers) = value.split_first_chunk()?;
        let count = usize::try_from(u32::from_be_bytes(*count)).ok()?;
        Some(MissingParameters(numbers.as_chunks().0.get(..count)?))
    }

    /// Types of the missing parameters.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ParameterType> + Clone + 'a {
        self.0.iter().map(|number| ParameterType(u16::from_be_bytes(*number)))
    }

    fn emit(self, buffer: &mut Vec<u8>) {
        let count = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        buffer.extend_from_slice(&count.to_be_bytes());
        buffer.extend_from_slice(self.0.as_flattened());
    }
}

/// An error cause of ERROR or ABORT (RFC 9260, section 3.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// DATA arrived on this stream, which does not exist.
    InvalidStreamIdentifier(StreamId),
    /// INIT or INIT ACK lacked these parameters.
    MissingMandatoryParameter(MissingParameters<'a>),
    /// The state cookie arrived too late by this duration, in whole microseconds.
    StaleCookie(Duration),
    /// No memory or no buffer is left.
    OutOfResource,
    /// The parameter, header included, whose address cannot be used.
    UnresolvableAddress(&'a [u8]),
    /// The chunk of unknown type, header included.
    UnrecognizedChunkType(&'a [u8]),
    /// Invalid Mandatory Parameter (RFC 9260, section 3.3.10.7), without further information.
    InvalidMandatoryParameter,
    /// Parameters of unknown type, headers included.
    UnrecognizedParameters(&'a [u8]),
    /// The DATA chunk of this TSN had no user data.
    NoUserData(Tsn),
    /// COOKIE ECHO arrived during a shutdown.
    CookieReceivedWhileShuttingDown,
    /// The restart would add these addresses: a chain of address parameters, see
    /// [`super::parameter::emit_address`] and [`super::parameter::parse_addresses`].
    RestartWithNewAddresses(&'a [u8]),
    /// The application aborted, for this reason.
    UserInitiatedAbort(&'a [u8]),
    /// The peer violated the protocol; the text or bytes give details.
    ProtocolViolation(&'a [u8]),
    /// AUTH arrived with this HMAC identifier, which was not offered (RFC 4895, section 4).
    UnsupportedHmacIdentifier(HmacId),
    /// A cause of unknown code.
    Unrecognized {
        /// The unknown code, as received.
        code: CauseCode,
        /// Bytes of the cause after its code and length.
        value: &'a [u8],
    },
}

impl<'a> Cause<'a> {
    fn parse(tlv: Tlv<'a>) -> Result<Self, ParseError> {
        let value = tlv.value();
        let too_short = ParseError::TooShort(Item::Cause, tlv.head);
        let number = || value.first_chunk().map(|n| u32::from_be_bytes(*n)).ok_or(too_short);
        Ok(match CauseCode(tlv.head) {
            CauseCode::INVALID_STREAM_IDENTIFIER => {
                let stream = value.first_chunk().ok_or(too_short)?;
                Cause::InvalidStreamIdentifier(StreamId(u16::from_be_bytes(*stream)))
            }
            CauseCode::MISSING_MANDATORY_PARAMETER => {
                Cause::MissingMandatoryParameter(MissingParameters::parse(value).ok_or(too_short)?)
            }
            CauseCode::STALE_COOKIE => Cause::StaleCookie(Duration::from_micros(number()?.into())),
            CauseCode::OUT_OF_RESOURCE => Cause::OutOfResource,
            CauseCode::UNRESOLVABLE_ADDRESS => Cause::UnresolvableAddress(value),
            CauseCode::UNRECOGNIZED_CHUNK_TYPE => Cause::UnrecognizedChunkType(value),
            CauseCode::INVALID_MANDATORY_PARAMETER => Cause::InvalidMandatoryParameter,
            CauseCode::UNRECOGNIZED_PARAMETERS => Cause::UnrecognizedParameters(value),
            CauseCode::NO_USER_DATA => Cause::NoUserData(Tsn(number()?)),
            CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => {
                Cause::CookieReceivedWhileShuttingDown
            }
            CauseCode::RESTART_WITH_NEW_ADDRESSES => Cause::RestartWithNewAddresses(value),
            CauseCode::USER_INITIATED_ABORT => Cause::UserInitiatedAbort(value),
            CauseCode::PROTOCOL_VIOLATION => Cause::ProtocolViolation(value),
            CauseCode::UNSUPPORTED_HMAC_IDENTIFIER => {
                let id = value.first_chunk().ok_or(too_short)?;
                Cause::UnsupportedHmacIdentifier(HmacId(u16::from_be_bytes(*id)))
            }
            code => Cause::Unrecognized { code, value },
        })
    }

    /// The number that identifies the cause on the wire (RFC 9260, section 3.3.10).
    pub fn code(&self) -> CauseCode {
        match self {
            Cause::InvalidStreamIdentifier(_) => CauseCode::INVALID_STREAM_IDENTIFIER,
            Cause::MissingMandatoryParameter(_) => CauseCode::MISSING_MANDATORY_PARAMETER,
            Cause::StaleCookie(_) => CauseCode::STALE_COOKIE,
            Cause::OutOfResource => CauseCode::OUT_OF_RESOURCE,
            Cause::UnresolvableAddress(_) => CauseCode::UNRESOLVABLE_ADDRESS,
            Cause::UnrecognizedChunkType(_) => CauseCode::UNRECOGNIZED_CHUNK_TYPE,
            Cause::InvalidMandatoryParameter => CauseCode::INVALID_MANDATORY_PARAMETER,
            Cause::UnrecognizedParameters(_) => CauseCode::UNRECOGNIZED_PARAMETERS,
            Cause::NoUserData(_) => CauseCode::NO_USER_DATA,
            Cause::CookieReceivedWhileShuttingDown => {
                CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN
            }
            Cause::RestartWithNewAddresses(_) => CauseCode::RESTART_WITH_NEW_ADDRESSES,
            Cause::UserInitiatedAbort(_) => CauseCode::USER_INITIATED_ABORT,
            Cause::ProtocolViolation(_) => CauseCode::PROTOCOL_VIOLATION,
            Cause::UnsupportedHmacIdentifier(_) => CauseCode::UNSUPPORTED_HMAC_IDENTIFIER,
            Cause::Unrecognized { code, .. } => *code,
        }
    }

    /// Appends the cause, with its header and without padding.
    pub(super) fn emit(&self, buffer: &mut Vec<u8>) {
        tlv::emit(buffer, self.code().0, |buffer| match *self {
            Cause::InvalidStreamIdentifier(stream) => {
                let [high, low] = stream.0.to_be_bytes();
                buffer.extend_from_slice(&[high, low, 0, 0]);
            }
            Cause::MissingMandatoryParameter(missing) => missing.emit(buffer),
            Cause::StaleCookie(by) => {
                let micros = u32::try_from(by.as_micros()).unwrap_or(u32::MAX);
                buffer.extend_from_slice(&micros.to_be_bytes());
            }
            Cause::UnsupportedHmacIdentifier(id) => {
                buffer.extend_from_slice(&id.0.to_be_bytes());
            }
            Cause::NoUserData(tsn) => buffer.extend_from_slice(&tsn.0.to_be_bytes()),
            Cause::UnresolvableAddress(value)
            | Cause::UnrecognizedChunkType(value)
            | Cause::UnrecognizedParameters(value)
            | Cause::RestartWithNewAddresses(value)
            | Cause::UserInitiatedAbort(value)
            | Cause::ProtocolViolation(value)
            | Cause::Unrecognized { value, .. } => buffer.extend_from_slice(value),
            Cause::OutOfResource
            | Cause::InvalidMandatoryParameter
            | Cause::CookieReceivedWhileShuttingDown => {}
        });
    }
}

/// The causes of a chunk, unparsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes<'a>(&'a [u8]);

impl<'a> Causes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Causes(bytes)
    }

    /// The causes as received, unparsed.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Iterates the causes; ends after the first error.
    pub fn iter(&self) -> CauseIter<'a> {
        CauseIter(TlvIter::new(self.0, Item::Cause))
    }
}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<Cause<'a>, ParseError>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> CauseIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Causes<'a> {
    type Item = Result<Cause<'a>, ParseError>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> CauseIter<'a> {
        self.iter()
    }
}

/// Iterator of [`Causes::iter`], over parsed causes.
#[derive(Clone, Debug)]
pub struct CauseIter<'a>(TlvIter<'a>);

impl<'a> Iterator for CauseIter<'a> {
    type Item = Result<Cause<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let cause = self.0.next()?.and_then(Cause::parse);
        if cause.is_err() {
            self.0.stop();
        }
        Some(cause)
    }
}

impl core::iter::FusedIterator for CauseIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cookie_reads_as_on_the_wire() {
        let mut buffer = Vec::new();
        Cause::MissingMandatoryParameter(MissingParameters::STATE_COOKIE).emit(&mut buffer);
        assert_eq!(buffer, [0, 2, 0, 10, 0, 0, 0, 1, 0, 7]);
        let Some(Ok(Cause::MissingMandatoryParameter(missing))) = Causes(&buffer).iter().next()
        else {
            panic!("not read back");
        };
        assert!(missing.iter().eq([ParameterType::STATE_COOKIE]));
    }

    #[test]
    fn a_count_of_missing_parameters_beyond_the_cause_is_refused() {
        let bytes = [0, 2, 0, 10, 0xff, 0xff, 0xff, 0xff, 0, 7];
        let found: Vec<_> = Causes(&bytes).iter().collect();
        assert_eq!(found, [Err(ParseError::TooShort(Item::Cause, 2))]);
    }

    #[test]
    fn staleness_beyond_its_field_saturates() {
        let mut buffer = Vec::new();
        Cause::StaleCookie(Duration::from_secs(1 << 20)).emit(&mut buffer);
        let longest = Duration::from_micros(u32::MAX.into());
        assert_eq!(Causes(&buffer).iter().next(), Some(Ok(Cause::StaleCookie(longest))));
    }
}
