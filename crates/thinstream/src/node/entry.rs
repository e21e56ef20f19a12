//! An association's part of a node: what its handles wait for, where it stands, and what waits to
//! be read.

use sctp::AssociationId;

use super::waiters::Waiters;
use crate::error::AssociationError;
use crate::notices::Notices;
use crate::stash::Stash;

/// Condition of one association that a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A message arrived, or there will be none any more.
    Readable,
    /// Another condition changed: the association is set up, its send buffer has room, there is a
    /// notice of a path, a message given up, streams or addresses, or the association is over.
    /// One condition for all, since each is rare and takes memory of its own.
    Changed,
}

/// State of an association, for its handles.
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
    pub(super) id: AssociationId,
    /// Tells entries apart that had the same place one after the other.
    pub(super) life: u32,
    pub(super) phase: Phase,
    /// Identity that the peer has proved.
    pub(super) peer: Option<Box<secure::Peer>>,
    /// The application has a handle of it.
    pub(super) accepted: bool,
    /// Messages may wait in the machine.
    pub(super) readable: bool,
    pub(super) stash: Stash,
    /// Bytes that may wait for their readers here, before the peer has to wait.
    pub(super) stash_limit: u32,
    /// Boxed since most associations have none.
    pub(super) notices: Option<Box<Notices>>,
    readers: Waiters,
    /// Tasks that wait for anything else; boxed since most associations have none.
    others: Option<Box<Waiters>>,
}

/// Names an association: its handle's part of it. Two associations of the same name (before and
/// after a restart of the peer) differ in their entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: AssociationId,
    pub(super) place: u32,
    pub(super) life: u32,
}

impl Entry {
    pub(super) fn new(
        id: AssociationId,
        phase: Phase,
        peer: Option<Box<secure::Peer>>,
        stash_limit: u32,
    ) -> Entry {
        Entry {
            id,
            life: 0,
            accepted: phase == Phase::Opening,
            phase,
            peer,
            readable: false,
            stash: Stash::default(),
            stash_limit,
            notices: None,
            readers: Waiters::default(),
            others: None,
        }
    }

    /// Bytes that the library keeps for the association.
    pub(super) fn memory(&self) -> usize {
        /// A place in a table that is half empty, and what the handles share.
        const OWN: usize = size_of::<Entry>() * 2 + 128;
        OWN + self.stash.memory()
    }

    /// Tasks that wait for `condition`.
    pub(super) fn waiters(&mut self, condition: Condition) -> &mut Waiters {
        match condition {
            Condition::Readable => &mut self.readers,
            Condition::Changed => self.others.get_or_insert_default(),
        }
    }

    /// Wakes the tasks that wait for a message.
    pub(super) fn wake_readers(&mut self) {
        self.readers.wake();
    }

    /// Wakes the tasks that wait for anything else.
    pub(super) fn wake_others(&mut self) {
        if let Some(mut others) = self.others.take() {
            others.wake();
        }
    }

    pub(super) fn wake_all(&mut self) {
        self.wake_readers();
        self.wake_others();
    }

    pub(super) fn notice(&mut self, push: impl FnOnce(&mut Notices)) {
        push(self.notices.get_or_insert_default());
        self.wake_others();
    }

    /// Ends the association for `why`; the first reason stays.
    pub(super) fn end(&mut self, why: AssociationError) {
        if !matches!(self.phase, Phase::Ended(_)) {
            self.phase = Phase::Ended(Box::new(why));
        }
        self.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_is_not_kept_for_every_association() {
        let sizes = [size_of::<Entry>(), size_of::<Ticket>()];
        assert!(sizes[0] <= 104 && sizes[1] <= 16, "{sizes:?} bytes");
    }
}
