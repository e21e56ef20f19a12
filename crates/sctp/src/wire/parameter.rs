//! Parameters of INIT and INIT ACK (RFC 9260, sections 3.2.1, 3.3.2.1 and 3.3.3.1).
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------------------+-------------------------------+
//! | type                          | length: header and value      |
//! +-------------------------------+-------------------------------+
//! | value, then 0 to 3 bytes of padding that the length leaves out|
//! +---------------------------------------------------------------+
//! ```

mod address;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::Duration;

pub use address::{AddressTypes, emit_address};

use super::error::{Item, ParseError};
use super::registry::{ChunkType, ParameterType};
use super::tlv::{self, Tlv, TlvIter};

/// A parameter on the wire, without its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawParameter<'a> {
    /// Type of the parameter, the first two bytes, whose two highest bits say what to do if it is
    /// unknown.
    pub parameter_type: ParameterType,
    /// Header and value, as repeated in a report to the sender.
    pub bytes: &'a [u8],
}

/// A parameter of INIT or INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// A further address of the sender.
    Ipv4Address(Ipv4Addr),
    /// A further address of the sender.
    Ipv6Address(Ipv6Addr),
    /// State cookie, in INIT ACK only: returned unchanged in COOKIE ECHO.
    StateCookie(&'a [u8]),
    /// A parameter of the INIT, header included, that the sender did not recognize; in INIT ACK
    /// only.
    UnrecognizedParameter(&'a [u8]),
    /// Requested extension of the state cookie's lifetime, in whole milliseconds; in INIT only.
    CookiePreservative(Duration),
    /// A host name: answered with ABORT and the cause "Unresolvable Address".
    HostNameAddress(RawParameter<'a>),
    /// Kinds of addresses that the sender supports; in INIT only.
    SupportedAddressTypes(AddressTypes),
    /// The sender supports explicit congestion notification.
    EcnCapable,
    /// The sender accepts packets with a checksum of zero if this method, by its number, detects
    /// errors instead (RFC 9653).
    ZeroChecksumAcceptable(u32),
    /// The sender's random contribution to the keys (RFC 4895).
    Random(&'a [u8]),
    /// Chunk types that the sender accepts only if authenticated, one byte each (RFC 4895).
    Chunks(&'a [u8]),
    /// HMAC algorithms that the sender supports, two bytes each, in order of preference (RFC 4895).
    HmacAlgorithms(&'a [u8]),
    /// Chunk types beyond RFC 9260 that the sender supports, one byte each.
    SupportedExtensions(&'a [u8]),
    /// The sender supports FORWARD TSN.
    ForwardTsnSupported,
    /// An unknown parameter; [`ParameterType::unrecognized_action`] gives its treatment.
    Unrecognized(RawParameter<'a>),
}

impl<'a> Parameter<'a> {
    fn parse(tlv: Tlv<'a>) -> Result<Self, ParseError> {
        let parameter_type = ParameterType(tlv.head);
        let value = tlv.value();
        let raw = RawParameter { parameter_type, bytes: tlv.bytes };
        Ok(match parameter_type {
            ParameterType::IPV4_ADDRESS => {
                Parameter::Ipv4Address(Ipv4Addr::from_octets(*fields(parameter_type, value)?))
            }
            ParameterType::IPV6_ADDRESS => {
                Parameter::Ipv6Address(Ipv6Addr::from_octets(*fields(parameter_type, value)?))
            }
            ParameterType::STATE_COOKIE => Parameter::StateCookie(value),
            ParameterType::UNRECOGNIZED_PARAMETER => Parameter::UnrecognizedParameter(value),
            ParameterType::COOKIE_PRESERVATIVE => {
                let millis = u32::from_be_bytes(*fields(parameter_type, value)?);
                Parameter::CookiePreservative(Duration::from_millis(millis.into()))
            }
            ParameterType::HOST_NAME_ADDRESS => Parameter::HostNameAddress(raw),
            ParameterType::SUPPORTED_ADDRESS_TYPES => {
                Parameter::SupportedAddressTypes(AddressTypes::parse(value))
            }
            ParameterType::ECN_CAPABLE => Parameter::EcnCapable,
            ParameterType::ZERO_CHECKSUM_ACCEPTABLE => {
                let method = u32::from_be_bytes(*fields(parameter_type, value)?);
                Parameter::ZeroChecksumAcceptable(method)
            }
            ParameterType::RANDOM => Parameter::Random(value),
            ParameterType::CHUNKS => Parameter::Chunks(value),
            ParameterType::HMAC_ALGO => Parameter::HmacAlgorithms(value),
            ParameterType::SUPPORTED_EXTENSIONS => Parameter::SupportedExtensions(value),
            ParameterType::FORWARD_TSN_SUPPORTED if value.is_empty() => {
                Parameter::ForwardTsnSupported
            }
            ParameterType::FORWARD_TSN_SUPPORTED => {
                return Err(ParseError::TooLong(Item::Parameter, parameter_type.0));
            }
            _ => Parameter::Unrecognized(raw),
        })
    }

    /// Appends the parameter, with its header and without padding.
    pub(super) fn emit(&self, buffer: &mut Vec<u8>) {
        let mut put = |parameter_type: ParameterType, value: &[u8]| {
            tlv::emit(buffer, parameter_type.0, |buffer| buffer.extend_from_slice(value));
        };
        match *self {
            Parameter::Ipv4Address(address) => emit_address(buffer, address.into()),
            Parameter::Ipv6Address(address) => emit_address(buffer, address.into()),
            Parameter::StateCookie(cookie) => put(ParameterType::STATE_COOKIE, cookie),
            Parameter::UnrecognizedParameter(bytes) => {
                put(ParameterType::UNRECOGNIZED_PARAMETER, bytes);
            }
            Parameter::CookiePreservative(increment) => {
                let millis = u32::try_from(increment.as_millis()).unwrap_or(u32::MAX);
                put(ParameterType::COOKIE_PRESERVATIVE, &millis.to_be_bytes());
            }
            Parameter::SupportedAddressTypes(types) => types.emit(buffer),
            Parameter::EcnCapable => put(ParameterType::ECN_CAPABLE, &[]),
            Parameter::ZeroChecksumAcceptable(method) => {
                put(ParameterType::ZERO_CHECKSUM_ACCEPTABLE, &method.to_be_bytes());
            }
            Parameter::Random(value) => put(ParameterType::RANDOM, value),
            Parameter::Chunks(value) => put(ParameterType::CHUNKS, value),
            Parameter::HmacAlgorithms(value) => put(ParameterType::HMAC_ALGO, value),
            Parameter::SupportedExtensions(types) => {
                put(ParameterType::SUPPORTED_EXTENSIONS, types);
            }
            Parameter::ForwardTsnSupported => put(ParameterType::FORWARD_TSN_SUPPORTED, &[]),
            Parameter::HostNameAddress(raw) | Parameter::Unrecognized(raw) => {
                buffer.extend_from_slice(raw.bytes);
            }
        }
    }
}

/// The fixed fields at the beginning of a parameter's value.
fn fields<const N: usize>(kind: ParameterType, value: &[u8]) -> Result<&[u8; N], ParseError> {
    value.first_chunk().ok_or(ParseError::TooShort(Item::Parameter, kind.0))
}

/// The parameters of a chunk, unparsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a>(&'a [u8]);

impl<'a> Parameters<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Parameters(bytes)
    }

    /// Iterates the parameters; ends after the first error.
    pub fn iter(&self) -> ParameterIter<'a> {
        ParameterIter(TlvIter::new(self.0, Item::Parameter))
    }

    /// Error of the first malformed parameter, if any.
    pub fn fault(&self) -> Option<ParseError> {
        self.iter().find_map(Result::err)
    }

    /// The first state cookie.
    ///
    /// # Errors
    /// The error that ended the iteration before one was found, or that there is none: without it,
    /// an INIT ACK cannot be answered.
    pub fn state_cookie(&self) -> Result<&'a [u8], ParseError> {
        for parameter in self.iter() {
            if let Parameter::StateCookie(cookie) = parameter? {
                return Ok(cookie);
            }
        }
        Err(ParseError::MissingParameter(ChunkType::INIT_ACK, ParameterType::STATE_COOKIE))
    }

    /// The host name parameter, header included, which is answered with ABORT (RFC 9260, section
    /// 5.1.2).
    pub fn host_name(&self) -> Option<&'a [u8]> {
        self.iter().find_map(|parameter| match parameter {
            Ok(Parameter::HostNameAddress(raw)) => Some(raw.bytes),
            _ => None,
        })
    }
}

impl<'a> IntoIterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, ParseError>;
    type IntoIter = ParameterIter<'a>;

    fn into_iter(self) -> ParameterIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Parameters<'a> {
    type Item = Result<Parameter<'a>, ParseError>;
    type IntoIter = ParameterIter<'a>;

    fn into_iter(self) -> ParameterIter<'a> {
        self.iter()
    }
}

/// Parameters of a chunk, as [`Parameters::iter`] yields them.
#[derive(Clone, Debug)]
pub struct ParameterIter<'a>(TlvIter<'a>);

impl<'a> Iterator for ParameterIter<'a> {
    type Item = Result<Parameter<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let parameter = self.0.next()?.and_then(Parameter::parse);
        if parameter.is_err() {
            self.0.stop();
        }
        Some(parameter)
    }
}

impl core::iter::FusedIterator for ParameterIter<'_> {}

/// Iterates over a sequence of address parameters; other parameters are skipped.
pub fn parse_addresses(bytes: &[u8]) -> impl Iterator<Item = Result<IpAddr, ParseError>> {
    Parameters::new(bytes).into_iter().filter_map(|parameter| match parameter {
        Ok(Parameter::Ipv4Address(address)) => Some(Ok(address.into())),
        Ok(Parameter::Ipv6Address(address)) => Some(Ok(address.into())),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::registry::UnrecognizedAction;
    use super::*;

    #[test]
    fn unknown_parameters_follow_their_upper_bits() {
        let action = |number| ParameterType(number).unrecognized_action();
        assert_eq!(action(0x3fff), UnrecognizedAction::Stop);
        assert_eq!(action(0x4000), UnrecognizedAction::StopAndReport);
        assert_eq!(action(0x8003), UnrecognizedAction::Skip);
        assert_eq!(action(0xc006), UnrecognizedAction::SkipAndReport);
    }

    #[test]
    fn a_short_address_is_refused_and_ends_the_walk() {
        let bytes = [0, 5, 0, 7, 192, 0, 2, 0, 0x80, 0, 0, 4];
        let found: Vec<_> = Parameters::new(&bytes).iter().collect();
        assert_eq!(found, [Err(ParseError::TooShort(Item::Parameter, 5))]);
    }

    #[test]
    fn a_chain_of_addresses_reads_back() {
        let addresses: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let mut buffer = Vec::new();
        for address in addresses {
            emit_address(&mut buffer, address);
        }
        assert_eq!(buffer.len(), 8 + 20);
        let found: Result<Vec<_>, _> = parse_addresses(&buffer).collect();
        assert_eq!(found, Ok(addresses.to_vec()));
    }

    #[test]
    fn the_first_fault_is_told() {
        let fault = |bytes| Parameters::new(bytes).fault();
        assert_eq!(fault(&[0xc0, 0, 0, 4]), None);
        let too_long = ParseError::TooLong(Item::Parameter, 0xc000);
        assert_eq!(fault(&[0x80, 0, 0, 4, 0xc0, 0, 0, 8, 1, 2, 3, 4]), Some(too_long));
        assert_eq!(fault(&[0xc0, 0]), Some(ParseError::HeaderCutOff(Item::Parameter)));
    }

    #[test]
    fn the_state_cookie_is_found_behind_other_parameters_or_missed() {
        let bytes = [0x80, 0, 0, 4, 0, 7, 0, 6, 1, 2, 0, 0];
        assert_eq!(Parameters::new(&bytes).state_cookie(), Ok(&[1, 2][..]));
        assert_eq!(
            Parameters::new(&bytes[..4]).state_cookie(),
            Err(ParseError::MissingParameter(ChunkType::INIT_ACK, ParameterType::STATE_COOKIE))
        );
        assert_eq!(
            Parameters::new(&bytes[..9]).state_cookie(),
            Err(ParseError::PastEnd(Item::Parameter, 7))
        );
    }
}
