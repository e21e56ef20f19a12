//! One association and its parts.
//!
//! Inputs are packets whose verification tag the endpoint has checked, time, and the application's
//! calls; outputs are datagrams, events and the next deadline. Each part owns its state and does
//! not know the association: [`Phase`], [`Paths`], [`Sender`], [`Receiver`], [`Controls`],
//! [`InUse`]. This file and those below it dispatch inputs to the parts and execute the actions
//! that the parts return.

mod addresses;
mod application;
mod authenticity;
mod icmp;
mod identity;
mod in_use;
mod liveness;
mod memory;
pub(crate) mod output;
mod packets;
mod paths;
mod reading;
mod receiving;
mod reconfiguration;
mod sending;
mod setup;
mod shutdown;
mod signalled;
mod silence;
mod snapshot;
mod standing;
mod stats;
#[cfg(test)]
mod tests;
mod timers;

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Instant, Origin};
use bytes::Bytes;
use recovery::{Advice, AdviceError, PathId, PathView, RecoveryPolicy, TimedEvent};

use self::application::Application;
pub(crate) use self::identity::Identity;
use self::in_use::InUse;
use self::liveness::Liveness;
pub use self::standing::Buffered;
use self::standing::Standing;
pub use self::stats::{AssociationStats, Counters, LeftBehind, PathStats};
use crate::control::{Control, Controls, OwnedCause};
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::options::AssociationOptions;
use crate::paths::Paths;
use crate::paths::path::Path;
use crate::phase::Phase;
use crate::rx::acknowledgement::sack_timing;
use crate::rx::message::Message;
use crate::rx::receiver::{Receiver, ReceiverConfig};
use crate::state::State;
use crate::tx::send_queue::SendQueue;
use crate::tx::sender::Sender;
use crate::wire::{StreamId, Tsn, VerificationTag};

/// Most bytes of an abort's reason that the peer receives: they must fit a packet on any path.
const ABORT_REASON_LIMIT: usize = 256;

/// An association of RFC 9260: its parts, to which it dispatches inputs, and whose actions it
/// executes.
#[derive(Debug)]
pub struct Association {
    /// Shared by associations with equal options.
    options: Arc<AssociationOptions>,
    identity: Identity,
    /// The peer's proved identity, if a layer below authenticates hosts; boxed since most have
    /// none.
    origin: Option<Box<Origin>>,
    phase: Phase,
    paths: Paths,
    tx: Sender,
    /// The receiving side, from the peer's INIT or INIT ACK on.
    rx: Option<Receiver>,
    control: Controls,
    extensions: InUse,
    liveness: Liveness,
    application: Application,
    /// The association's share of the endpoint's memory.
    standing: Standing,
    counters: Counters,
}

/// The present action closed the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// The initial addresses of an association.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    /// This side's addresses, to pair with the peer's and to list to it.
    pub(crate) locals: Arc<Vec<SocketAddr>>,
}

impl Association {
    fn new(
        options: Arc<AssociationOptions>,
        identity: Identity,
        ends: Ends,
        phase: Phase,
    ) -> Association {
        let path = Path::new(ends.remote, ends.local, &options, true);
        let mut queue = SendQueue::new(options.offered_streams().0, options.scheduler);
        queue.set_max_queueing_delay(options.max_queueing_delay);
        let policy = Arc::clone(&options.policy);
        Association {
            identity,
            origin: None,
            phase,
            tx: Sender::new(queue, policy, path.pmdcs(), identity.local_initial_tsn),
            paths: Paths::new(path, ends.locals),
            rx: None,
            control: Controls::default(),
            extensions: InUse::new(options.zero_checksum.is_some()),
            liveness: Liveness::default(),
            application: Application::default(),
            standing: Standing::default(),
            counters: Counters::default(),
            options,
        }
    }

    /// Opens the receiving side and bounds the sending side by the peer's INIT or INIT ACK.
    ///
    /// # Errors
    /// Messages wait for streams that the peer does not grant: the association is aborted, so that
    /// none of them is lost silently (section 5.1.1).
    fn open(
        &mut self,
        peer_initial_tsn: Tsn,
        peer_a_rwnd: u32,
        outbound_streams: u16,
        inbound_streams: u16,
    ) -> Result<(), Closed> {
        let agreed = self.extensions.agreed();
        let config = ReceiverConfig {
            buffer: self.options.receive_buffer,
            max_message: u32::try_from(self.options.max_message_size).unwrap_or(u32::MAX),
            sack: sack_timing(&self.options.policy.acknowledgement),
            interleaving: agreed.contains(Extensions::INTERLEAVING),
            partial_reliability: agreed.contains(Extensions::PARTIAL_RELIABILITY),
            partial_delivery: self.options.partial_delivery,
        };
        self.identity.peer_initial_tsn = peer_initial_tsn;
        self.rx = Some(Receiver::new(config, peer_initial_tsn, inbound_streams));
        self.tx.set_peer_a_rwnd(peer_a_rwnd);
        self.tx.set_extensions(agreed);
        self.tx.note_signer(self.extensions.signer().map(|signer| &**signer));
        if !self.tx.queue_mut().set_streams(outbound_streams) {
            return Ok(());
        }
        let reason = Bytes::from_static(b"fewer streams than messages wait for");
        let granted = outbound_streams;
        self.abort_with(OwnedCause::UserInitiatedAbort(reason), Failure::TooFewStreams { granted });
        Err(Closed)
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Removes and returns the next received message.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Message> {
        let message = self.rx.as_mut()?.receive(now);
        match &message {
            Some(message) => {
                self.counters.messages_received += 1;
                self.standing.note_read(message.payload.len());
            }
            None => self.application.on_all_read(),
        }
        message
    }

    /// Replaces the recovery policy at once.
    pub(crate) fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        if let Some(rx) = &mut self.rx {
            rx.set_sack_timing(sack_timing(&policy.acknowledgement));
        }
        self.tx.recovery_mut().set_policy(Arc::clone(&policy));
        Arc::make_mut(&mut self.options).policy = policy;
        self.decide(Paths::review_routes);
    }

    /// Changes options that apply from now on, in the association and in its parts.
    pub(crate) fn change_options(&mut self, change: impl FnOnce(&mut AssociationOptions)) {
        change(Arc::make_mut(&mut self.options));
        let delay = self.options.max_queueing_delay;
        self.tx.queue_mut().set_scheduler(self.options.scheduler);
        self.tx.queue_mut().set_max_queueing_delay(delay);
        if let Some(own) = self.extensions.reconfiguration_mut() {
            own.set_max_queueing_delay(delay);
        }
        self.await_sign_of_life();
    }

    /// Sets the priority of a stream's messages.
    pub(crate) fn set_stream_priority(&mut self, stream: StreamId, priority: u16) {
        self.tx.queue_mut().set_priority(stream, priority);
    }

    /// Sets the share of a stream under weighted fair queueing, at least 1.
    pub(crate) fn set_stream_weight(&mut self, stream: StreamId, weight: u16) {
        self.tx.queue_mut().set_weight(stream, weight);
    }

    /// Switches the recording of recovery events on or off.
    pub(crate) fn set_recovery_events(&mut self, enabled: bool) {
        self.tx.recovery_mut().set_events_enabled(enabled);
    }

    /// Removes and returns the oldest recovery event; `unit` in it is a TSN's 64-bit extension.
    pub(crate) fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.tx.recovery_mut().poll_event()
    }

    /// Applies one advice of an external policy.
    pub(crate) fn advise(&mut self, now: Instant, advice: Advice) -> Result<(), AdviceError> {
        if self.is_closed() {
            return Err(AdviceError::Gone);
        }
        self.tx.recovery_mut().advise(now, advice)
    }

    /// State of a path with the lowest `most` of its units in flight, for
    /// [advice](recovery::Advice); `None` for an unknown path.
    pub fn path_view(&self, path: PathId, most: usize) -> Option<PathView> {
        self.tx.recovery().view(path, most)
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Whether messages can be queued and flow.
    pub fn is_established(&self) -> bool {
        self.state() == State::Established
    }

    /// Whether the association has ended.
    pub fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    /// The state's name in RFC 9260.
    pub fn state_name(&self) -> &'static str {
        self.state().name()
    }

    /// State by the names of RFC 9260, section 4.
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.phase.state()
    }

    /// Streams on which messages may be sent, as negotiated.
    pub fn outbound_streams(&self) -> u16 {
        self.tx.queue().streams()
    }

    /// Streams on which the peer may send messages, as negotiated.
    pub fn inbound_streams(&self) -> u16 {
        self.rx.as_ref().map_or(self.options.offered_streams().1, Receiver::inbound_streams)
    }

    /// Extensions in use: those that both sides offered.
    pub fn extensions(&self) -> Extensions {
        self.extensions.agreed()
    }

    /// The peer's address on the primary path.
    pub fn remote(&self) -> SocketAddr {
        self.paths.remote()
    }

    /// The peer's proved identity, if a layer below authenticates hosts. Packets of others never
    /// reach the association, and its own are [for this peer
    /// only](base::TransmitBuffer::only_for).
    pub fn origin(&self) -> Option<Origin> {
        self.origin.as_deref().copied()
    }

    /// The tag in packets that the peer sends: together with the ports it identifies the
    /// association.
    pub fn local_tag(&self) -> VerificationTag {
        self.identity.tags.local
    }

    /// The tag in packets that this side sends; 0 until it is known.
    pub(crate) fn peer_tag(&self) -> VerificationTag {
        self.identity.tags.peer
    }

    /// SCTP port of the peer, above that of UDP if packets are encapsulated.
    pub fn peer_port(&self) -> u16 {
        self.identity.peer_port
    }

    /// Options that the application chose.
    pub(crate) fn options(&self) -> &Arc<AssociationOptions> {
        &self.options
    }

    /// The unit in recovery events of the first DATA chunk that this side sends.
    pub fn first_unit(&self) -> u64 {
        crate::tx::sender::first_unit(self.identity.local_initial_tsn)
    }

    /// Whether all messages sent so far were acknowledged.
    pub fn is_settled(&self) -> bool {
        self.extensions.held_bytes() == 0 && self.tx.is_settled()
    }

    /// Whether something waits for an acknowledgement: data to be sent or sent again, the
    /// application for room, or the end of the association.
    pub(crate) fn awaits_acknowledgement(&self) -> bool {
        // Data that waits with nothing outstanding waits for the peer's window.
        !self.tx.has_nothing_to_send()
            || (!self.tx.is_acknowledged()
                && (self.application.wants_writable()
                    || self.application.waits_for_memory()
                    || self.extensions.held_bytes() > 0
                    || self.state() != State::Established))
    }

    /// Bytes of messages on a stream that were never sent: the bufferedAmount of a data channel.
    /// Its cost grows with the number of messages queued on all streams.
    pub fn unsent_on(&self, stream: StreamId) -> usize {
        self.tx.queue().buffered_on(stream)
    }

    /// Bytes of messages that the peer has not acknowledged cumulatively.
    fn held_for_peer(&self) -> usize {
        self.tx.held_bytes() + self.extensions.held_bytes()
    }

    /// Whether no packet is left to send.
    pub(crate) fn is_drained(&self) -> bool {
        self.control.is_empty()
    }

    // ---- events --------------------------------------------------------------------------------

    fn announce(&mut self, event: Event) {
        self.application.events().announce(event);
    }

    /// Whether there may be an event for the application: there is none after most inputs.
    #[inline]
    pub(crate) fn may_have_event(&self) -> bool {
        self.application.has_event() || self.tx.has_abandoned()
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.application.events().pop().or_else(|| self.tx.poll_abandoned().map(Event::from))
    }

    /// Whether building a packet may have abandoned messages, which the application must learn.
    #[inline]
    pub(crate) fn may_have_abandoned(&self) -> bool {
        self.tx.has_abandoned()
    }

    /// Announces that reading or writing has become possible.
    fn announce_progress(&mut self) {
        if self.rx.as_ref().is_some_and(Receiver::has_message) {
            self.application.on_readable();
        }
        if self.application.wants_writable()
            && self.held_for_peer() <= self.send_limit() / 2
            && !self.waits_in_crumbs()
        {
            self.application.on_writable();
        }
    }

    // ---- ends ----------------------------------------------------------------------------------

    /// Ends the association without a packet to the peer.
    fn fail(&mut self, failure: Failure) {
        self.close(Event::Failed(failure));
    }

    /// Ends the association and sends ABORT with `cause`.
    fn abort_with(&mut self, cause: OwnedCause, failure: Failure) {
        let knows_peer = self.identity.tags.peer != VerificationTag(0);
        self.control.end_with(knows_peer.then_some(Control::Abort(cause)));
        self.close(Event::Failed(failure));
    }

    /// Aborts the association, since the peer violated the protocol; `what` is the reason sent.
    fn abort_for_violation(&mut self, what: &'static str) {
        self.abort_with(OwnedCause::ProtocolViolation(what), Failure::ProtocolViolation(what));
    }

    /// Aborts the association (the RFC's ABORT primitive).
    pub(crate) fn abort(&mut self, reason: Bytes) {
        if !self.is_closed() {
            let reason = reason.slice(..reason.len().min(ABORT_REASON_LIMIT));
            self.abort_with(OwnedCause::UserInitiatedAbort(reason), Failure::Aborted);
        }
    }

    fn close(&mut self, event: Event) {
        if self.is_closed() {
            return;
        }
        self.phase = Phase::Closed;
        if matches!(event, Event::Failed(_)) {
            self.application.set_left_behind(self.count_left_behind());
        }
        self.liveness.stop();
        self.extensions.stop();
        self.paths.stop();
        self.control.keep_final_words();
        // No data is sent or retransmitted any more; received data stays readable.
        self.tx.stop();
        self.announce_progress();
        self.announce(event);
    }
}
