//! Packets without a checksum, if a layer below detects errors (RFC 9653).
//!
//! Each side declares in INIT or INIT ACK that it accepts such packets, and which method must
//! protect them; the other side may then send them. INIT, COOKIE ECHO and answers to packets out of
//! the blue always have a checksum, and packets without one are only accepted for associations that
//! offered it. Repeated SHUTDOWN and SHUTDOWN ACK have a checksum too: the peer may have lost the
//! association by then.

use crate::extensions::Extensions;
use crate::wire::{Parameter, Parameters};

/// Method that detects errors instead of SCTP's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetection {
    /// All packets of the association travel in DTLS (RFC 8261), on every path.
    Dtls,
}

impl ErrorDetection {
    /// The error detection method identifier (RFC 9653, section 8).
    pub const fn identifier(self) -> u32 {
        match self {
            ErrorDetection::Dtls => 1,
        }
    }

    /// The parameter that declares it to the peer.
    pub(crate) fn parameter(self) -> Parameter<'static> {
        Parameter::ZeroChecksumAcceptable(self.identifier())
    }
}

/// Whether this side may omit the checksum: its packets are protected by the method that the peer
/// requires. The first parameter counts.
pub(crate) fn agreed(own: Option<ErrorDetection>, parameters: &Parameters<'_>) -> Extensions {
    let Some(own) = own else { return Extensions::NONE };
    let wanted = parameters.iter().find_map(|parameter| match parameter {
        Ok(Parameter::ZeroChecksumAcceptable(method)) => Some(method),
        _ => None,
    });
    if wanted == Some(own.identifier()) { Extensions::ZERO_CHECKSUM } else { Extensions::NONE }
}
