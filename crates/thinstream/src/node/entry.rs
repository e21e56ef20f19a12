//! An association's part of a node: what its handles wait for, where it stands, and what waits to be read.

use std::sync::Arc;

use sctp::AssociationId;
use tokio::sync::Notify;

use crate::error::AssociationError;
use crate::notices::Notices;
use crate::stash::Stash;

/// Signals for which tasks wait, of one association. Two associations of the same name (before and after a restart of
/// the peer) have different ones.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// A message arrived, or there will be none any more.
    pub(crate) readable: Notify,
    /// Something else did: the association is set up, its send buffer has room, there is a notice of a path, a message given up,
    /// streams or addresses, or the association is over. One signal for all, since each is rare and takes memory of its own.
    pub(crate) changed: Notify,
}

impl Signals {
    pub(super) fn wake_all(&self) {
        self.readable.notify_waiters();
        self.changed.notify_waiters();
    }
}

/// Where an association stands, for its handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Opening,
    Open,
    /// Boxed, since most associations are not over.
    Ended(Box<AssociationError>),
}

/// An association that has handles, or waits to be accepted.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) signals: Arc<Signals>,
    pub(super) phase: Phase,
    /// Identity that the peer has proved.
    pub(super) peer: Option<Box<secure::Peer>>,
    /// The application has a handle of it.
    pub(super) accepted: bool,
    /// Messages may wait in the machine.
    pub(super) readable: bool,
    pub(super) stash: Stash,
    /// Bytes that may wait for their readers here, before the peer has to wait.
    pub(super) stash_limit: usize,
    /// Boxed since most associations have none.
    pub(super) notices: Option<Box<Notices>>,
}

/// Names an association: its handle's part of it.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: AssociationId,
    pub(crate) signals: Arc<Signals>,
}

impl Entry {
    /// Bytes that the library keeps for the association.
    pub(super) fn memory(&self) -> usize {
        /// Places in a tree and a queue, the signals, and what its handles share.
        const OWN: usize = size_of::<Entry>() * 3 / 2 + size_of::<Signals>() + 128;
        OWN + self.stash.memory()
    }

    pub(super) fn is_of(&self, ticket: &Ticket) -> bool {
        Arc::ptr_eq(&self.signals, &ticket.signals)
    }

    pub(super) fn notice(&mut self, push: impl FnOnce(&mut Notices)) {
        push(self.notices.get_or_insert_default());
        self.signals.changed.notify_waiters();
    }

    /// The first reason stays.
    pub(super) fn end(&mut self, why: AssociationError) {
        if !matches!(self.phase, Phase::Ended(_)) {
            self.phase = Phase::Ended(Box::new(why));
        }
        self.signals.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_is_not_kept_for_every_association() {
        let sizes = [size_of::<Entry>(), size_of::<Signals>()];
        assert!(sizes[0] <= 64 && sizes[1] <= 64, "{sizes:?} bytes");
    }
}
