//! Parameters about addresses: IPv4 Address, IPv6 Address and Supported Address Types (RFC 9260,
//! sections 3.3.2.1.1, 3.3.2.1.2 and 3.3.2.1.5).
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------------------+-------------------------------+
//! | type 5, 6, 12                 | length                        |
//! +-------------------------------+-------------------------------+
//! | 4 bytes of IPv4 address, 16 of IPv6 address, or 16 bits for   |
//! | each parameter type with which an address may be given        |
//! +---------------------------------------------------------------+
//! ```

use core::net::IpAddr;

use super::super::registry::ParameterType;
use super::super::tlv;

/// The kinds of addresses that an endpoint supports. Host names are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AddressTypes {
    /// Whether IPv4 addresses (type 5) are supported.
    pub ipv4: bool,
    /// Whether IPv6 addresses (type 6) are supported.
    pub ipv6: bool,
}

impl AddressTypes {
    /// Parses a list of parameter types; types other than IP addresses are ignored.
    pub(super) fn parse(value: &[u8]) -> Self {
        let mut types = AddressTypes::default();
        for number in value.as_chunks::<2>().0 {
            match ParameterType(u16::from_be_bytes(*number)) {
                ParameterType::IPV4_ADDRESS => types.ipv4 = true,
                ParameterType::IPV6_ADDRESS => types.ipv6 = true,
                _ => {}
            }
        }
        types
    }

    pub(super) fn emit(self, buffer: &mut Vec<u8>) {
        tlv::emit(buffer, ParameterType::SUPPORTED_ADDRESS_TYPES.0, |buffer| {
            if self.ipv4 {
                buffer.extend_from_slice(&ParameterType::IPV4_ADDRESS.0.to_be_bytes());
            }
            if self.ipv6 {
                buffer.extend_from_slice(&ParameterType::IPV6_ADDRESS.0.to_be_bytes());
            }
        });
    }
}

/// Appends the address parameter for `address`, which needs no padding. The value of the cause
/// [`super::super::cause::Cause::RestartWithNewAddresses`] is a sequence of them.
pub fn emit_address(buffer: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => tlv::emit(buffer, ParameterType::IPV4_ADDRESS.0, |buffer| {
            buffer.extend_from_slice(&address.octets());
        }),
        IpAddr::V6(address) => tlv::emit(buffer, ParameterType::IPV6_ADDRESS.0, |buffer| {
            buffer.extend_from_slice(&address.octets());
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_types_that_are_not_ip_are_ignored() {
        let expected = AddressTypes { ipv4: false, ipv6: true };
        assert_eq!(AddressTypes::parse(&[0, 11, 0, 6, 0]), expected);
    }
}
