//! State that the driver and all handles of an endpoint share under one lock: the SCTP machine, and
//! for each association the events that its handles wait for.

mod driven;
mod entries;
mod entry;
mod opening;
mod place;
mod stack;
mod waiters;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use base::Instant;
use bytes::Bytes;
use sctp::{AssociationId, AssociationMut, Message, StreamId};
use tokio::sync::{Notify, oneshot};

use crate::error::{AssociationError, EndpointError};
use crate::notices::Notices;
use crate::options::SendOptions;
use crate::peer_address::PeerAddress;
use crate::stash::Reader;

use entries::Entries;
use entry::Entry;
pub(crate) use entry::{Condition, Phase, Ticket};
pub use opening::RefusedClient;
use opening::Waiting;
pub(crate) use place::Place;
pub(crate) use stack::{Stack, Tapped};
pub(crate) use waiters::WaiterKey;

/// The SCTP machine and its associations' entries.
#[derive(Debug)]
pub(crate) struct Node {
    stack: Stack,
    /// Opened here, until a session with the peer is open.
    waiting: Vec<Waiting>,
    /// Clients that were refused, of which the application has not asked.
    refused: VecDeque<RefusedClient>,
    refused_signal: Arc<Notify>,
    entries: Entries,
    /// Name of the next task that waits.
    next_waiter: WaiterKey,
    /// Opened by peers, not accepted yet.
    incoming: VecDeque<AssociationId>,
    /// Reason for which nothing is accepted (any more).
    refusing: Option<EndpointError>,
    accept_signal: Arc<Notify>,
    /// Callers that wait until all packets that are due have been passed to the socket.
    flushes: Vec<oneshot::Sender<()>>,
    /// Packets to other SCTP ports belong to other programs: the socket sees those of the whole
    /// machine.
    shares_address: bool,
    /// The driver has ended: nothing is sent any more.
    finished: bool,
    /// Place in a divided endpoint; none where the endpoint is not divided.
    place: Option<Box<Place>>,
}

impl Node {
    pub(crate) fn new(
        stack: Stack,
        [accept_signal, refused_signal]: [Arc<Notify>; 2],
        shares_address: bool,
    ) -> Node {
        let refusing = (!stack.endpoint().options().listen).then_some(EndpointError::NotListening);
        Node {
            stack,
            waiting: Vec::new(),
            refused: VecDeque::new(),
            refused_signal,
            entries: Entries::default(),
            next_waiter: WaiterKey::MIN,
            incoming: VecDeque::new(),
            refusing,
            accept_signal,
            flushes: Vec::new(),
            shares_address,
            finished: false,
            place: None,
        }
    }

    pub(crate) fn machine(&self) -> &sctp::Endpoint {
        self.stack.endpoint()
    }

    /// Encrypted sessions of this node.
    #[cfg(test)]
    pub(crate) fn session_count(&self) -> usize {
        self.stack.sessions().map_or(0, secure::Sessions::len)
    }

    /// Opens an association; over DTLS `peer` has its trust.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        mut peer: PeerAddress,
        options: sctp::AssociationOptions,
    ) -> Result<Ticket, sctp::ConnectError> {
        if self.stack.sessions().is_some()
            && let Some(trust) = peer.trust.take()
        {
            return self.open_secure(now, peer, trust, options);
        }
        let stash_limit = options.receive_buffer;
        let id = self.stack.endpoint_mut().connect(now, peer.addresses, peer.sctp_port, options)?;
        Ok(self.enter(id, Phase::Opening, stash_limit))
    }

    /// The next association that a peer opened; none while there is none.
    pub(crate) fn accept(&mut self) -> Result<Option<Ticket>, EndpointError> {
        while let Some(id) = self.incoming.pop_front() {
            if let Some(entry) = self.entries.of(id) {
                entry.accepted = true;
                return Ok(self.entries.ticket(id));
            }
        }
        self.refusing.clone().map_or(Ok(None), Err)
    }

    fn enter(&mut self, id: AssociationId, phase: Phase, stash_limit: u32) -> Ticket {
        let entry = Entry::new(id, phase, self.proved_peer(id), stash_limit);
        if let Some(mut own) = self.stack.endpoint_mut().association_mut(id) {
            own.set_kept(entry.memory());
        }
        self.entries.insert(entry)
    }

    /// Identity that the peer has proved, once it has.
    pub(crate) fn peer(&self, ticket: &Ticket) -> Option<secure::Peer> {
        self.entry(ticket)?.peer()
    }

    // ---- a handle's calls ----------------------------------------------------------------------

    pub(crate) fn phase(&self, ticket: &Ticket) -> Phase {
        let ended = || Phase::Ended(Box::new(AssociationError::Restarted));
        self.entry(ticket).map_or_else(ended, |entry| entry.phase.clone())
    }

    /// The association, unless another took its name.
    pub(crate) fn association(&self, ticket: &Ticket) -> Option<&sctp::Association> {
        self.entry(ticket)?;
        self.stack.endpoint().association(ticket.id)
    }

    /// The association of a ticket, to be changed; none if it is gone or another has its number.
    pub(crate) fn association_mut(&mut self, ticket: &Ticket) -> Option<AssociationMut<'_>> {
        self.entry(ticket)?;
        self.stack.endpoint_mut().association_mut(ticket.id)
    }

    /// Queues a message; [`sctp::SendError::Closed`] also for an association that is not there any
    /// more.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        ticket: &Ticket,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), sctp::SendError> {
        let mut own = self.association_mut(ticket).ok_or(sctp::SendError::Closed)?;
        let SendOptions { ppid, unordered, immediate, reliability, context } = options;
        let options =
            sctp::SendOptions { unordered, immediate, reliability, context, ..Default::default() };
        own.send(now, stream, ppid, payload, options)
    }

    /// Takes the next message for `reader`; none while there is none, when nothing changed in the
    /// machine.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        ticket: &Ticket,
        reader: Reader,
    ) -> Result<Option<Message>, AssociationError> {
        let entry = self.entries.get_mut(*ticket).ok_or(AssociationError::Restarted)?;
        if let Some(stream) = reader {
            entry.stash.claim(stream);
        }
        let machine = self.stack.endpoint_mut();
        if let Some(message) = entry.stash.pop(reader) {
            if let Some(mut own) = machine.association_mut(ticket.id) {
                own.set_kept(entry.memory());
            }
            // Others may wait for room in the stash.
            entry.wake_readers();
            return Ok(Some(message));
        }
        while entry.readable && entry.stash.bytes() < entry.stash_limit as usize {
            let own = machine.association_mut(ticket.id);
            let Some(message) = own.and_then(|mut own| own.receive(now)) else {
                entry.readable = false;
                break;
            };
            if entry.stash.reader_of(message.stream) == reader {
                return Ok(Some(message));
            }
            entry.stash.push(message);
            if let Some(mut own) = machine.association_mut(ticket.id) {
                own.set_kept(entry.memory());
            }
            entry.wake_readers();
        }
        match &entry.phase {
            Phase::Ended(error) if !entry.readable => Err((**error).clone()),
            _ => Ok(None),
        }
    }

    /// Wakes `waker` when the condition is next met; `key` names the task from its first call on.
    pub(crate) fn wait(
        &mut self,
        ticket: &Ticket,
        condition: Condition,
        key: &mut Option<WaiterKey>,
        waker: &Waker,
    ) {
        let Some(entry) = self.entries.get_mut(*ticket) else { return };
        let new = self.next_waiter;
        let named = entry.waiters(condition).wait(*key, new, waker);
        if named == new {
            self.next_waiter = new.checked_add(1).unwrap_or(WaiterKey::MIN);
        }
        *key = Some(named);
    }

    /// A task waits no more.
    pub(crate) fn wait_no_more(&mut self, ticket: &Ticket, condition: Condition, key: WaiterKey) {
        if let Some(entry) = self.entries.get_mut(*ticket) {
            entry.waiters(condition).remove(key);
        }
    }

    /// Unread notices of an association.
    pub(crate) fn notices(&mut self, ticket: &Ticket) -> Option<&mut Notices> {
        self.entries.get_mut(*ticket)?.notices.as_deref_mut()
    }

    /// The association makes room for another one to the same peer; what arrived stays to be
    /// received.
    pub(crate) fn let_go(&mut self, now: Instant, ticket: &Ticket) {
        let Some(entry) = self.entries.get_mut(*ticket) else { return };
        while let Some(message) = self
            .stack
            .endpoint_mut()
            .association_mut(ticket.id)
            .and_then(|mut own| own.receive(now))
        {
            entry.stash.push(message);
        }
        entry.end(AssociationError::Failed(sctp::Failure::Aborted));
        self.stop_waiting(ticket.id);
        self.stack.endpoint_mut().release(ticket.id);
    }

    /// The last handle is gone.
    pub(crate) fn release(&mut self, ticket: &Ticket) {
        if self.entries.remove(*ticket).is_some() {
            self.stop_waiting(ticket.id);
            self.stack.endpoint_mut().release(ticket.id);
        }
    }

    /// Tells when all that is to be sent now has been given to the socket, or that the driver has
    /// ended.
    pub(crate) fn flush(&mut self) -> oneshot::Receiver<()> {
        let (done, wait) = oneshot::channel();
        if !self.finished {
            self.flushes.push(done);
        }
        wait
    }

    fn entry(&self, ticket: &Ticket) -> Option<&Entry> {
        self.entries.get(*ticket)
    }
}
