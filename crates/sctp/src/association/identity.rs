//! Ports, verification tags and initial TSNs of an association.

use crate::setup::Tags;
use crate::wire::Tsn;

/// Tags, ports and initial numbers of an association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) tags: Tags,
    pub(crate) local_initial_tsn: Tsn,
    /// Known from the peer's INIT or INIT ACK on.
    pub(crate) peer_initial_tsn: Tsn,
}
