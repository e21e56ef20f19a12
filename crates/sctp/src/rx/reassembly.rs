//! Fragments to messages, messages in their order (RFC 9260, sections 6.6, 6.7 and 6.9; RFC 8260,
//! section 2).
//!
//! DATA numbers the fragments of a message by consecutive TSNs, I-DATA by numbers of their own. An
//! association uses one or the other, so each has its way of putting messages together:
//! [`consecutive`] and [`interleaved`]. Both deliver into one [`Inbox`].

mod consecutive;
mod interleaved;

use consecutive::Consecutive;
use interleaved::Interleaved;

use super::data::{Data, Fault, Skipped};
use super::inbox::Inbox;
use super::message::Message;
use crate::wire::ids::StreamId;

/// Chunks beyond a missing TSN, which can be dropped again since they were acknowledged by gap ack blocks at the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revocable {
    /// How many there are.
    pub(crate) chunks: usize,
    /// Bytes of their payload.
    pub(crate) bytes: usize,
    /// Bytes that keeping them in order takes beside.
    pub(crate) cost: usize,
}

/// How messages are put together.
#[derive(Debug)]
enum Assembly {
    Consecutive(Consecutive),
    Interleaved(Box<Interleaved>),
}

/// Chunks and messages on their way from the wire to the application.
#[derive(Debug)]
pub(crate) struct Reassembly {
    inbox: Inbox,
    assembly: Assembly,
}

impl Reassembly {
    /// Nothing received yet. With `interleaving`, chunks are I-DATA.
    pub(crate) fn new(inbox: Inbox, interleaving: bool) -> Reassembly {
        let assembly = match interleaving {
            false => Assembly::Consecutive(Consecutive::default()),
            true => Assembly::Interleaved(Box::default()),
        };
        Reassembly { inbox, assembly }
    }

    /// What the application has not taken, and what is kept for it.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// What takes messages until the application reads them, to be changed.
    pub(crate) fn inbox_mut(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    /// The application takes the next message.
    pub(crate) fn receive(&mut self) -> Option<Message> {
        self.inbox.receive()
    }

    /// The highest TSN that can be dropped again.
    pub(crate) fn highest_held(&self) -> Option<u64> {
        match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.highest_held(),
            Assembly::Interleaved(assembly) => assembly.highest_held(),
        }
    }

    /// What can be dropped again.
    #[inline]
    pub(crate) fn revocable(&self) -> Revocable {
        match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.revocable(),
            Assembly::Interleaved(assembly) => assembly.revocable(),
        }
    }

    /// What it takes from the allocator, for what can be dropped again apart and without payload.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let unfinished = match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.memory(),
            Assembly::Interleaved(assembly) => assembly.memory(),
        };
        unfinished + self.inbox.memory()
    }

    /// Drops the held chunk with the highest TSN and answers which it was.
    pub(crate) fn drop_highest(&mut self) -> Option<u64> {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.drop_highest(&mut self.inbox),
            Assembly::Interleaved(assembly) => assembly.drop_highest(&mut self.inbox),
        }
    }

    /// Takes the chunk that follows the cumulative TSN ack point.
    pub(crate) fn take_in_order(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        if data.wasteful || self.inbox.is_unread() {
            data.detach();
        }
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.take_in_order(&mut self.inbox, tsn, data),
            Assembly::Interleaved(assembly) => assembly.take(&mut self.inbox, tsn, data, false),
        }
    }

    /// Takes a chunk beyond a missing TSN.
    pub(crate) fn hold(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        // An unordered message does not wait, and many of them may be unread.
        if data.wasteful || self.inbox.is_unread() {
            data.detach();
        }
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.hold(&mut self.inbox, tsn, data),
            Assembly::Interleaved(assembly) => assembly.take(&mut self.inbox, tsn, data, true),
        }
    }

    /// The cumulative TSN ack point has reached `cumulative`: no chunk up to it is dropped again.
    pub(crate) fn take_reached(&mut self, cumulative: u64) -> Result<(), Fault> {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.take_reached(&mut self.inbox, cumulative),
            Assembly::Interleaved(assembly) => {
                assembly.take_reached(cumulative);
                Ok(())
            }
        }
    }

    /// The peer gave up what is missing up to TSN `to`, which are the messages `skipped` (RFC 3758,
    /// section 3.6): fragments of theirs are dropped, and what waited for them is delivered.
    pub(crate) fn skip(
        &mut self,
        to: u64,
        skipped: impl Iterator<Item = Skipped>,
    ) -> Result<(), Fault> {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.skip(&mut self.inbox, to, skipped),
            Assembly::Interleaved(assembly) => {
                assembly.skip(&mut self.inbox, skipped);
                Ok(())
            }
        }
    }

    /// The peer begins to count the messages of `stream` at 0 again (RFC 6525).
    pub(crate) fn reset_stream(&mut self, stream: StreamId) -> Result<(), Fault> {
        self.inbox.streams.reset(stream);
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.deliver_waiting(&mut self.inbox, stream),
            Assembly::Interleaved(assembly) => {
                assembly.reset_stream(&mut self.inbox, stream);
                Ok(())
            }
        }
    }

    /// The peer begins to count the messages of all streams at 0 again.
    pub(crate) fn reset_all(&mut self) -> Result<(), Fault> {
        self.inbox.streams.reset_all();
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.deliver_all_waiting(&mut self.inbox),
            Assembly::Interleaved(assembly) => {
                assembly.reset_all(&mut self.inbox);
                Ok(())
            }
        }
    }

    /// Nothing that is missing will come: what is whole is delivered, the rest dropped.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => {
                assembly.skip(&mut self.inbox, u64::MAX, core::iter::empty())
            }
            Assembly::Interleaved(assembly) => {
                assembly.flush(&mut self.inbox);
                Ok(())
            }
        }
    }

    /// The peer may add streams.
    pub(crate) fn add_streams(&mut self, count: u16) {
        self.inbox.streams.add(count);
    }

    /// Room is needed: delivers what there is of messages whose turn it is.
    pub(crate) fn deliver_parts(&mut self) {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.deliver_part(&mut self.inbox),
            Assembly::Interleaved(assembly) => assembly.deliver_parts(&mut self.inbox),
        }
    }
}

#[cfg(test)]
impl Reassembly {
    /// Chunks that can be dropped again.
    fn held(&self) -> usize {
        match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.held(),
            Assembly::Interleaved(assembly) => assembly.held(),
        }
    }
}
