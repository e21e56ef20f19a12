//! One association: what it is, and the parts that it is made of.
//!
//! Inputs are packets whose verification tag the endpoint has checked, time, and the application's
//! calls; outputs are datagrams, events and the next deadline. Each part owns its state and knows nothing of the
//! association: [`Phase`], [`Paths`], [`Sender`], [`Receiver`], [`Controls`], [`InUse`]. What happens is passed on to them
//! here and in the files beside this one, and what follows from their answers is done here.

mod addresses;
mod application;
mod authenticity;
mod icmp;
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
mod stats;
#[cfg(test)]
mod tests;
mod timers;

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Instant, Origin};
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};

use self::application::Application;
use self::in_use::InUse;
use self::liveness::Liveness;
pub use self::memory::Buffered;
use self::memory::Standing;
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
use crate::setup::Tags;
use crate::state::State;
use crate::tx::send_queue::SendQueue;
use crate::tx::sender::Sender;
use crate::wire::{StreamId, Tsn, VerificationTag};

/// Bytes of an abort's reason that the peer is told: they must fit any path's packet.
const ABORT_REASON_LIMIT: usize = 256;

/// An association of RFC 9260: its parts, to which it dispatches inputs, and whose actions it executes.
#[derive(Debug)]
pub struct Association {
    /// Shared by the associations that were opened with the same.
    options: Arc<AssociationOptions>,
    identity: Identity,
    /// Identity that the peer has proved, where a layer below authenticates hosts; boxed since most have none.
    origin: Option<Box<Origin>>,
    phase: Phase,
    paths: Paths,
    tx: Sender,
    /// What the peer sends; from its INIT or INIT ACK on.
    rx: Option<Receiver>,
    control: Controls,
    extensions: InUse,
    liveness: Liveness,
    application: Application,
    /// Among those with which it shares the endpoint's memory.
    standing: Standing,
    counters: Counters,
}

/// The association was closed by what was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// What names an association, and the numbers with which it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) tags: Tags,
    pub(crate) local_initial_tsn: Tsn,
    /// From the peer's INIT or INIT ACK on.
    pub(crate) peer_initial_tsn: Tsn,
}

/// Between which addresses an association begins.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    /// This side's addresses, to pair with the peer's and to name to it.
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
        let mut queue = SendQueue::new(options.outbound_streams, options.scheduler);
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

    /// What the peer's INIT or INIT ACK says opens the receiving side and bounds the sending side.
    ///
    /// # Errors
    /// Messages wait for streams that the peer does not grant: the association is aborted, so that
    /// none of them is lost without a word (section 5.1.1).
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

    /// Takes the next message that arrived.
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
        let (paths, mut context) = self.paths_in_context();
        paths.review_routes(&mut context);
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

    /// Sets how urgent the messages of a stream are.
    pub(crate) fn set_stream_priority(&mut self, stream: StreamId, priority: u16) {
        self.tx.queue_mut().set_priority(stream, priority);
    }

    /// Sets the share of a stream.
    pub(crate) fn set_stream_weight(&mut self, stream: StreamId, weight: u16) {
        self.tx.queue_mut().set_weight(stream, weight);
    }

    /// Switches the recording of recovery events on or off.
    pub(crate) fn set_recovery_events(&mut self, enabled: bool) {
        self.tx.recovery_mut().set_events_enabled(enabled);
    }

    /// The oldest recovery event not fetched yet; `unit` in it is a TSN's 64-bit extension.
    pub(crate) fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.tx.recovery_mut().poll_event()
    }

    // ---- questions -----------------------------------------------------------------------------

    /// Whether messages can be queued and flow.
    pub fn is_established(&self) -> bool {
        self.state() == State::Established
    }

    /// Whether the association is over.
    pub fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    /// The state's name as RFC 9260 spells it.
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
        self.rx.as_ref().map_or(self.options.inbound_streams, Receiver::inbound_streams)
    }

    /// Extensions in use: those that both sides offered.
    pub fn extensions(&self) -> Extensions {
        self.extensions.agreed()
    }

    /// The peer's address on the primary path.
    pub fn remote(&self) -> SocketAddr {
        self.paths.remote()
    }

    /// Identity that the peer has proved, where a layer below authenticates hosts. Packets of others never reach the association,
    /// and its own are [for it alone](base::TransmitBuffer::only_for).
    pub fn origin(&self) -> Option<Origin> {
        self.origin.as_deref().copied()
    }

    /// The tag in packets that the peer sends: with the ports it names the association.
    pub fn local_tag(&self) -> VerificationTag {
        self.identity.tags.local
    }

    /// The tag in packets that this side sends; 0 until the peer told it.
    pub(crate) fn peer_tag(&self) -> VerificationTag {
        self.identity.tags.peer
    }

    /// The peer's SCTP port.
    pub(crate) fn peer_port(&self) -> u16 {
        self.identity.peer_port
    }

    /// What the application chose for the association.
    pub(crate) fn options(&self) -> &Arc<AssociationOptions> {
        &self.options
    }

    /// The unit that recovery events give the first DATA chunk that this side sends.
    pub fn first_unit(&self) -> u64 {
        crate::tx::sender::first_unit(self.identity.local_initial_tsn)
    }

    /// Whether all messages sent so far were acknowledged.
    pub fn is_settled(&self) -> bool {
        self.extensions.held_bytes() == 0 && self.tx.is_settled()
    }

    /// Bytes of messages on a stream that were not sent even once: what bufferedAmount of a data channel counts. Takes time
    /// with the number of messages that wait on all streams.
    pub fn unsent_on(&self, stream: StreamId) -> usize {
        self.tx.queue().buffered_on(stream)
    }

    /// Bytes of messages that the peer has not acknowledged cumulatively.
    fn held_for_peer(&self) -> usize {
        self.tx.held_bytes() + self.extensions.held_bytes()
    }

    /// Whether nothing is to be told any more.
    pub(crate) fn has_spoken(&self) -> bool {
        self.control.is_empty()
    }

    // ---- events --------------------------------------------------------------------------------

    fn announce(&mut self, event: Event) {
        self.application.events().announce(event);
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.application.events().pop().or_else(|| self.tx.poll_abandoned().map(Event::from))
    }

    /// Whether asking for a packet may have given messages up, of which the application is to be told.
    #[inline]
    pub(crate) fn may_have_abandoned(&self) -> bool {
        self.tx.has_abandoned()
    }

    /// Announces what an input made possible: reading, writing.
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

    /// The association is over without a word to the peer.
    fn fail(&mut self, failure: Failure) {
        self.close(Event::Failed(failure));
    }

    /// Tells the peer why, and the association is over.
    fn abort_with(&mut self, cause: OwnedCause, failure: Failure) {
        let knows_peer = self.identity.tags.peer != VerificationTag(0);
        self.control.end_with(knows_peer.then_some(Control::Abort(cause)));
        self.close(Event::Failed(failure));
    }

    /// The peer broke the protocol: it is told how, and the association is over.
    fn abort_for_violation(&mut self, what: &'static str) {
        self.abort_with(OwnedCause::ProtocolViolation(what), Failure::ProtocolViolation(what));
    }

    /// The application gives the association up (the RFC's ABORT primitive).
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
        // Nothing more is sent or retransmitted; what arrived stays readable.
        self.tx.stop();
        self.announce_progress();
        self.announce(event);
    }
}
