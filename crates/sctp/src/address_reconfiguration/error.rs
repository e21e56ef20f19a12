//! Reasons for which an address cannot be changed.

use core::fmt;
use core::net::IpAddr;

/// Reason for which an address cannot be changed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The association is unknown, not set up yet, or closing.
    NotEstablished,
    /// The two sides did not agree on
    /// [`Extensions::ADDRESS_RECONFIGURATION`](crate::Extensions::ADDRESS_RECONFIGURATION), or the
    /// peer reported an earlier request of this kind as unknown.
    NotNegotiated,
    /// The address is not reachable for the peer, or is of another family than its addresses.
    Meaningless(IpAddr),
    /// The address is already one of this side's.
    Known(IpAddr),
    /// The address is not one of this side's.
    Unknown(IpAddr),
    /// This side has no other address.
    Last(IpAddr),
    /// Too many changes are queued.
    TooMany,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::NotEstablished => f.write_str("the association is not established"),
            AddressError::NotNegotiated => {
                f.write_str("the two sides did not agree on address reconfiguration")
            }
            AddressError::Meaningless(address) => {
                write!(f, "the peer could not reach this side at {address}")
            }
            AddressError::Known(address) => write!(f, "{address} is in use already"),
            AddressError::Unknown(address) => write!(f, "{address} is not in use"),
            AddressError::Last(address) => write!(f, "{address} is the last address"),
            AddressError::TooMany => f.write_str("too many changes of addresses wait already"),
        }
    }
}

impl core::error::Error for AddressError {}
