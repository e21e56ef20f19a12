//! Packets without a checksum, where a layer below detects errors anyway (RFC 9653).
//!
//! Each side says for itself, in INIT or INIT ACK, that it takes such packets and which method has to
//! protect them; the other may then send them. It never does with INIT and COOKIE ECHO, nor in answers
//! to packets out of the blue, and such packets are taken for no association but one that offered it. SHUTDOWN and
//! SHUTDOWN ACK have a checksum when they are sent again: the peer may have lost the association by then.

use crate::extensions::Extensions;
use crate::wire::{Parameter, Parameters};

/// What detects errors instead of SCTP's checksum.
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

    /// What announces it to the peer.
    pub(crate) fn parameter(self) -> Parameter<'static> {
        Parameter::ZeroChecksumAcceptable(self.identifier())
    }
}

/// Whether this side may leave the checksum out: it is protected by the method that the peer wants. The
/// first parameter counts.
pub(crate) fn agreed(own: Option<ErrorDetection>, parameters: &Parameters<'_>) -> Extensions {
    let Some(own) = own else { return Extensions::NONE };
    let wanted = parameters.iter().find_map(|parameter| match parameter {
        Ok(Parameter::ZeroChecksumAcceptable(method)) => Some(method),
        _ => None,
    });
    if wanted == Some(own.identifier()) { Extensions::ZERO_CHECKSUM } else { Extensions::NONE }
}
