//! Queries about received messages that the application has not read.

use super::Association;
use crate::authentication::Authentication;
use crate::rx::message::Message;
use crate::wire::{ChunkType, Tsn};

impl Association {
    /// The message that [`AssociationMut::receive`](crate::AssociationMut::receive) would return
    /// next (SCTP_NXTINFO of RFC 6458, section 5.3.6).
    pub fn next_message(&self) -> Option<&Message> {
        self.rx.as_ref()?.next_message()
    }

    /// Whether both sides authenticate chunks (RFC 4895).
    pub fn authenticates(&self) -> bool {
        self.extensions.authentication().is_some_and(Authentication::is_established)
    }

    /// Types of chunks that the peer accepts only if authenticated (SCTP_PEER_AUTH_CHUNKS of RFC
    /// 6458, section 8.2.3).
    pub fn peer_auth_chunks(&self) -> Vec<ChunkType> {
        let peer = self.extensions.authentication().and_then(Authentication::peer_chunks);
        peer.into_iter().flat_map(|types| types.iter().collect::<Vec<_>>()).collect()
    }

    /// The highest TSN of the peer up to which all data arrived or was skipped (sinfo_cumtsn of RFC
    /// 6458, section 5.3.2); `None` before the peer's first TSN is known.
    pub fn cumulative_tsn(&self) -> Option<Tsn> {
        Some(self.rx.as_ref()?.cumulative())
    }
}
