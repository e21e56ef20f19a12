//! What an application may learn of messages beside reading them.

use super::Association;
use crate::rx::message::Message;
use crate::wire::Tsn;

impl Association {
    /// The message that [`AssociationMut::receive`](crate::AssociationMut::receive) would take next (SCTP_NXTINFO of RFC 6458,
    /// section 5.3.6).
    pub fn next_message(&self) -> Option<&Message> {
        self.rx.as_ref()?.next_message()
    }

    /// The highest TSN of the peer up to which everything arrived or was skipped (sinfo_cumtsn of RFC 6458, section 5.3.2);
    /// none before the peer has told its first one.
    pub fn cumulative_tsn(&self) -> Option<Tsn> {
        Some(self.rx.as_ref()?.cumulative())
    }
}
