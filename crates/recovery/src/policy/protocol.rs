//! The protocols that share policies, each with its presets.

use core::fmt;

use super::{PRESETS, TCP_PRESETS};

/// A protocol that a [`RecoveryPolicy`](super::RecoveryPolicy) is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SCTP: the policy of an association.
    Sctp,
    /// TCP: the policy of a connection.
    Tcp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Sctp => "SCTP",
            Protocol::Tcp => "TCP",
        })
    }
}

impl Protocol {
    /// The protocol's presets, each with its name and its description.
    pub fn presets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Protocol::Sctp => &PRESETS,
            Protocol::Tcp => &TCP_PRESETS,
        }
    }

    /// The protocol that shares the policies with this one.
    pub(super) fn other(self) -> Protocol {
        match self {
            Protocol::Sctp => Protocol::Tcp,
            Protocol::Tcp => Protocol::Sctp,
        }
    }
}
