//! Reassembly of messages from fragments, and their order (RFC 9260, sections 6.6, 6.7 and 6.9; RFC
//! 8260, section 2).
//!
//! DATA numbers the fragments of a message by consecutive TSNs, I-DATA by numbers of their own. An
//! association uses one or the other, so each has its own reassembly: [`consecutive`] and
//! [`interleaved`]. Both deliver into one [`Inbox`].

mod consecutive;
mod interleaved;
mod revocable;

use consecutive::Consecutive;
use interleaved::Interleaved;
use revocable::Revocable;

use super::data::{Data, Fault, Skipped};
use super::inbox::Inbox;
use super::message::Message;
use crate::wire::ids::StreamId;

/// Reassembly of DATA or of I-DATA chunks, which differ in their numbers.
#[derive(Debug)]
enum Assembly {
    Consecutive(Consecutive),
    Interleaved(Box<Interleaved>),
}

/// Received chunks and messages before the application.
#[derive(Debug)]
pub(crate) struct Reassembly {
    inbox: Inbox,
    assembly: Assembly,
}

impl Reassembly {
    /// An empty state. With `interleaving`, chunks are I-DATA.
    pub(crate) fn new(inbox: Inbox, interleaving: bool) -> Reassembly {
        let assembly = match interleaving {
            false => Assembly::Consecutive(Consecutive::default()),
            true => Assembly::Interleaved(Box::default()),
        };
        Reassembly { inbox, assembly }
    }

    /// Messages that the application has not received, and their accounts.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Messages that the application has not received, mutable.
    pub(crate) fn inbox_mut(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    /// Removes and returns the next message.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<Message> {
        self.inbox.receive()
    }

    /// The highest TSN that may be dropped.
    pub(crate) fn highest_held(&self) -> Option<u64> {
        match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.highest_held(),
            Assembly::Interleaved(assembly) => assembly.highest_held(),
        }
    }

    /// The chunks that may be dropped.
    #[inline]
    pub(crate) fn revocable(&self) -> Revocable {
        match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.revocable(),
            Assembly::Interleaved(assembly) => assembly.revocable(),
        }
    }

    /// Allocated bytes, without payload and without chunks that may be dropped.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let unfinished = match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.memory(),
            Assembly::Interleaved(assembly) => assembly.memory(),
        };
        unfinished + self.inbox.memory()
    }

    /// Drops the held chunk with the highest TSN, and returns the TSN.
    pub(crate) fn drop_highest(&mut self) -> Option<u64> {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.drop_highest(&mut self.inbox),
            Assembly::Interleaved(assembly) => assembly.drop_highest(&mut self.inbox),
        }
    }

    /// Accepts the chunk that follows the cumulative TSN ack point.
    pub(crate) fn take_in_order(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        if data.wasteful || self.inbox.is_unread() {
            data.detach();
        }
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.take_in_order(&mut self.inbox, tsn, data),
            Assembly::Interleaved(assembly) => assembly.take(&mut self.inbox, tsn, data, false),
        }
    }

    /// Accepts a chunk beyond a missing TSN.
    pub(crate) fn hold(&mut self, tsn: u64, mut data: Data) -> Result<(), Fault> {
        // An unordered message does not wait for others, and many of them may be unread.
        if data.wasteful || self.inbox.is_unread() {
            data.detach();
        }
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.hold(&mut self.inbox, tsn, data),
            Assembly::Interleaved(assembly) => assembly.take(&mut self.inbox, tsn, data, true),
        }
    }

    /// The cumulative TSN ack point has reached `cumulative`: no chunk up to it may be dropped any
    /// more.
    pub(crate) fn take_reached(&mut self, cumulative: u64) -> Result<(), Fault> {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.take_reached(&mut self.inbox, cumulative),
            Assembly::Interleaved(assembly) => {
                assembly.take_reached(cumulative);
                Ok(())
            }
        }
    }

    /// The peer abandoned what is missing up to TSN `to`, which are the messages `skipped` (RFC
    /// 3758, section 3.6): their fragments are dropped, and messages that waited for them are
    /// delivered.
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

    /// The peer resets the numbers of `stream` to 0 (RFC 6525).
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

    /// The peer resets the numbers of all streams to 0.
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

    /// No missing data will arrive: delivers complete messages and drops the rest.
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

    /// Adds streams of the peer.
    pub(crate) fn add_streams(&mut self, count: u16) {
        self.inbox.streams.add(count);
    }

    /// Room is needed: delivers parts of messages that are next in order.
    pub(crate) fn deliver_parts(&mut self) {
        match &mut self.assembly {
            Assembly::Consecutive(assembly) => assembly.deliver_part(&mut self.inbox),
            Assembly::Interleaved(assembly) => assembly.deliver_parts(&mut self.inbox),
        }
    }
}

#[cfg(test)]
impl Reassembly {
    /// Number of chunks that may be dropped.
    fn held(&self) -> usize {
        match &self.assembly {
            Assembly::Consecutive(assembly) => assembly.held(),
            Assembly::Interleaved(assembly) => assembly.held(),
        }
    }
}
