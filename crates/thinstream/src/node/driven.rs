//! A node as its driver sees it: the machine's events become signals and notices of its
//! associations, and the end of the driver becomes the end of all of them.

use base::{Datagram, DatagramMeta, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::Bytes;
use sctp::{AssociationId, Event, Failure, ReconfigurationEvent};

use super::{Entry, Node, Phase};
use crate::error::{AssociationError, EndpointError};
use crate::notices::PathEvent;
use crate::stash::Stash;

impl Node {
    /// The endpoint accepts no more: unaccepted associations are aborted.
    pub(crate) fn refuse(&mut self, why: EndpointError) {
        self.refusing.get_or_insert(why);
        for id in core::mem::take(&mut self.incoming) {
            self.remove(id);
            self.stack.endpoint_mut().release(id);
        }
        self.accept_signal.notify_waiters();
    }

    /// All associations end: aborted, if the socket still works.
    pub(crate) fn end_all(&mut self, why: &AssociationError) {
        for entry in self.entries.iter_mut() {
            if !matches!(entry.phase, Phase::Ended(_)) {
                if let Some(mut own) = self.stack.endpoint_mut().association_mut(entry.id) {
                    own.abort(Bytes::new());
                }
                entry.end(why.clone());
            }
        }
    }

    /// The driver has ended. Releases all waiting callers.
    pub(crate) fn finish(&mut self, now: Instant) {
        self.finished = true;
        self.dispatch(now);
    }

    /// Takes the machine's events; called by the driver after each input.
    pub(crate) fn dispatch(&mut self, now: Instant) {
        for done in self.flushes.drain(..) {
            // Who waited may have given up.
            let _ = done.send(());
        }
        self.take_session_notices(now);
        while let Some((id, event)) = self.stack.endpoint_mut().poll_event() {
            #[cfg(feature = "tracing")]
            {
                let peer = self.stack.endpoint().association(id).map(sctp::Association::remote);
                crate::telemetry::on_event(peer, &event);
            }
            if self.place.is_some() && changes_addresses(&event) {
                self.note_addresses(id);
            }
            match event {
                Event::Established => self.on_established(id),
                Event::Restarted => self.on_restarted(id),
                Event::Readable => self.with(id, |entry| {
                    entry.readable = true;
                    entry.wake_readers();
                }),
                Event::Writable => self.with(id, Entry::wake_others),
                Event::Closed => self.with(id, |entry| entry.end(AssociationError::Closed)),
                Event::Failed(Failure::OutOfResource) => self.on_evicted(id),
                Event::Failed(failure) => {
                    self.with(id, |entry| entry.end(AssociationError::Failed(failure)));
                }
                // The peer could not use a chunk; nothing follows from it for the application.
                Event::PeerError { .. } => {}
                Event::Reconfiguration(event) => {
                    self.with(id, |entry| entry.notice(|new| new.push_reconfiguration(event)));
                }
                Event::PathChanged { path, remote, change } => {
                    let event = PathEvent { at: now, path, remote, change };
                    self.with(id, |entry| entry.notice(|notices| notices.push_path(event)));
                }
                Event::Abandoned(abandoned) => {
                    self.with(id, |entry| entry.notice(|new| new.push_abandoned(abandoned)));
                }
                Event::FurtherAbandoned { messages } => {
                    self.with(id, |entry| entry.notice(|new| new.push_further(messages)));
                }
            }
        }
    }

    fn on_established(&mut self, id: AssociationId) {
        match self.entries.of(id) {
            Some(entry) => {
                entry.phase = Phase::Open;
                entry.wake_others();
            }
            None => self.on_incoming(id),
        }
    }

    fn on_restarted(&mut self, id: AssociationId) {
        let old = self.remove(id);
        self.incoming.retain(|waiting| *waiting != id);
        self.on_incoming(id);
        let Some(mut old) = old else { return };
        old.wake_all();
        // What was acknowledged is not lost: the new association begins with it.
        if let Some(entry) = self.entries.of(id) {
            entry.stash = old.stash.for_anyone();
            if let Some(mut own) = self.stack.endpoint_mut().association_mut(id) {
                own.set_kept(entry.memory());
            }
        }
    }

    /// The machine evicted an association for its memory or its place; none of its data is kept. If
    /// the application has not accepted it, no event is kept either, so that newcomers that evict
    /// each other do not accumulate.
    fn on_evicted(&mut self, id: AssociationId) {
        let Some(entry) = self.entries.of(id) else { return };
        entry.stash = Stash::default();
        entry.readable = false;
        if entry.accepted {
            return entry.end(AssociationError::Failed(Failure::OutOfResource));
        }
        self.remove(id);
        if self.incoming.len() > 2 * self.entries.len() + 64 {
            self.incoming.retain(|id| self.entries.ticket(*id).is_some());
        }
    }

    fn on_incoming(&mut self, id: AssociationId) {
        if self.refusing.is_some() {
            self.stack.endpoint_mut().release(id);
            return;
        }
        let stash_limit = self.stack.endpoint().options().accepted.receive_buffer;
        self.enter(id, Phase::Open, stash_limit);
        self.incoming.push_back(id);
        self.accept_signal.notify_waiters();
    }

    fn with(&mut self, id: AssociationId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.of(id) {
            change(entry);
        }
    }

    /// Removes the entry of one of the machine's associations.
    fn remove(&mut self, id: AssociationId) -> Option<Entry> {
        let ticket = self.entries.ticket(id)?;
        self.entries.remove(ticket)
    }
}

/// Whether another address of the peer may be confirmed since.
fn changes_addresses(event: &Event) -> bool {
    matches!(
        event,
        Event::Established
            | Event::Restarted
            | Event::PathChanged { .. }
            | Event::Reconfiguration(ReconfigurationEvent::PeerAddress { .. })
    )
}

impl Machine for Node {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        let own = self.stack.endpoint().options().port.to_be_bytes();
        if self.shares_address && datagram.head.get(2..4) != Some(&own[..]) {
            // To answer it as out of the blue would abort associations of others.
            return;
        }
        self.receive_datagram(now, meta, datagram, None);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.stack.handle_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.stack.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        self.stack.poll_transmit(now, buffer)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.stack.poll_timeout()
    }
}
