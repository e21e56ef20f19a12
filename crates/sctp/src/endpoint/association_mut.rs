//! An association lent to the application: its calls, and the endpoint's updates after them.

mod keys;
mod messages;
mod paths;
mod streams;

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Instant, Origin, RandomStream};
use bytes::Bytes;
use recovery::{Advice, AdviceError, RecoveryPolicy, TimedEvent};

use super::memory::{inform, note};
use super::{AssociationId, Endpoint};
use crate::association::Association;
use crate::options::AssociationOptions;
use crate::signalled_init::SignalledInit;

/// An association of an endpoint, for calls that change it: [`Endpoint::association_mut`] lends it.
///
/// Each call takes effect at once. The endpoint updates its tables (events, memory, data to send)
/// for the last call when the handle is dropped, and for earlier calls when the next follows. An
/// unused handle changes nothing.
#[derive(Debug)]
pub struct AssociationMut<'a> {
    endpoint: &'a mut Endpoint,
    id: AssociationId,
    /// Whether the endpoint has yet to update its tables for the last call.
    unsettled: bool,
    /// Instant of the last sent message: the memory of all associations is balanced at the next
    /// update.
    sent_at: Option<Instant>,
}

impl Endpoint {
    /// An association, for calls that change it; `None` if the endpoint does not have it.
    pub fn association_mut(&mut self, id: AssociationId) -> Option<AssociationMut<'_>> {
        self.table.get(id)?;
        Some(AssociationMut { endpoint: self, id, unsettled: false, sent_at: None })
    }
}

impl AssociationMut<'_> {
    /// Sends INIT of an association that was [prepared](Endpoint::prepare), first to `remote`, an
    /// address of the peer at which a layer below has proved it to be `origin`. From now on
    /// only packets of that host belong to the association.
    pub fn begin(&mut self, now: Instant, remote: SocketAddr, origin: Origin) {
        self.run(|association, _| association.begin_with(now, remote, origin));
    }

    /// Sends INIT of an association that was [prepared](Endpoint::prepare), where no layer below
    /// proves the peer's identity, or where the layer below has a single peer.
    pub fn send_init(&mut self, now: Instant) {
        self.run(|association, _| association.begin(now));
    }

    /// This side's INIT, a chunk with its header, for signalling to carry to the peer of an
    /// association that was [prepared](Endpoint::prepare).
    pub fn init_chunk(&self) -> Vec<u8> {
        self.endpoint.table.get(self.id).map(Association::init_chunk).unwrap_or_default()
    }

    /// Establishes an association that was [prepared](Endpoint::prepare), without a packet: the
    /// peer has [this side's INIT](AssociationMut::init_chunk), `init` is the peer's, and a
    /// layer below is set up (SNAP, draft-hancke-tsvwg-snap). Returns false, without effect, if
    /// the association has begun, or if `init` is this side's own.
    pub fn establish_with(&mut self, now: Instant, init: &SignalledInit) -> bool {
        self.ask(|association, random| association.establish_with(now, init, random))
    }

    /// Closes the association gracefully: queued data arrives first.
    /// [`Event::Closed`](crate::Event::Closed) follows.
    pub fn shutdown(&mut self, now: Instant) {
        self.run(|association, _| association.shutdown(now));
    }

    /// Aborts the association at once; an ABORT carries `reason`, truncated if it is long.
    pub fn abort(&mut self, reason: Bytes) {
        self.run(|association, _| association.abort(reason));
    }

    /// Replaces the recovery policy, at any time in the association's life.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        self.run(|association, _| association.set_policy(policy));
    }

    /// Changes options during the association's life. Negotiated ones (streams, receive buffer)
    /// keep their effect; policy and path MTU have calls of their own.
    pub fn set_options(&mut self, change: impl FnOnce(&mut AssociationOptions)) {
        self.run(|association, _| association.change_options(change));
    }

    /// Switches the recording of recovery events on or off.
    pub fn set_recovery_events(&mut self, enabled: bool) {
        self.run(|association, _| association.set_recovery_events(enabled));
    }

    /// Removes and returns the oldest recovery event.
    pub fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.endpoint.table.get_mut(self.id)?.poll_recovery_event()
    }

    /// Applies one [advice](recovery::Advice) of an external policy; resulting packets leave as
    /// after any other call.
    ///
    /// # Errors
    /// [`AdviceError`] if the advice is refused; nothing is changed in that case.
    pub fn advise(&mut self, now: Instant, advice: Advice) -> Result<(), AdviceError> {
        self.run(|association, _| association.advise(now, advice)).unwrap_or(Err(AdviceError::Gone))
    }

    /// Sets the number of bytes of received messages that the application, or a library between it
    /// and the endpoint, stores. They count as held by the association until a later call
    /// lowers the number.
    pub fn set_kept(&mut self, bytes: usize) {
        let Some(slot) = self.endpoint.table.slot_mut(self.id) else { return };
        if core::mem::replace(&mut slot.kept, bytes) != bytes {
            note(&mut self.endpoint.memory, self.id, slot);
        }
    }

    /// Makes a call after which the endpoint updates its tables. Never `None`, since a lent
    /// association is not removed.
    fn run<R>(
        &mut self,
        input: impl FnOnce(&mut Association, &mut RandomStream) -> R,
    ) -> Option<R> {
        self.settle();
        let Endpoint { memory, table, random, .. } = &mut *self.endpoint;
        let answer = input(inform(memory, table, self.id)?, random);
        self.unsettled = true;
        Some(answer)
    }

    /// Makes a call that returns whether it found its subject.
    fn ask(&mut self, input: impl FnOnce(&mut Association, &mut RandomStream) -> bool) -> bool {
        self.run(input).unwrap_or_default()
    }

    /// Updates the endpoint's tables for the last call, if that is still to be done.
    fn settle(&mut self) {
        if core::mem::take(&mut self.unsettled) {
            self.endpoint.settle(self.id);
        }
        if let Some(now) = self.sent_at.take() {
            self.endpoint.balance_memory(now);
        }
    }
}

impl Drop for AssociationMut<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}
