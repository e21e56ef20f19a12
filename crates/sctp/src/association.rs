//! One association: its state, its paths, what it sends and receives.
//!
//! Inputs are packets whose verification tag the endpoint has checked, time, and the application's
//! calls; outputs are datagrams, events and the next deadline. The parts of the machine stand beside
//! this file: [`setup`](super::setup), [`shutdown`](super::shutdown), [`paths`](super::paths),
//! `tx` and `rx`.

mod control;
mod liveness;
mod memory;
mod output;
mod packets;
mod receiving;
mod sending;
mod stats;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;
use std::sync::Arc;

use base::{Duration, Instant, RandomStream, TimerTable};
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};
use smallvec::SmallVec;

pub(crate) use self::control::{Control, OwnedCause};
use self::liveness::Silence;
pub use self::memory::Buffered;
use self::memory::Standing;
pub use self::stats::{AssociationStats, Counters, LeftBehind, PathStats};
use crate::Message;
use crate::address_reconfiguration::AddressReconfiguration;
use crate::authentication::Authentication;
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::options::AssociationOptions;
use crate::paths::path::Path;
use crate::paths::redundancy::WaitingCopies;
use crate::reconfigure::Reconfiguration;
use crate::rx::acknowledgement::SackPolicy;
use crate::rx::receiver::{Receiver, ReceiverConfig};
use crate::setup::Refusals;
use crate::tx::send_queue::SendQueue;
use crate::tx::transmission::Transmission;
use crate::wire::{Tsn, VerificationTag};

/// Bytes of an abort's reason that the peer is told: they must fit any path's packet.
const ABORT_REASON_LIMIT: usize = 256;

/// Where an association stands (RFC 9260, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// INIT was sent; T1-init runs.
    CookieWait,
    /// COOKIE ECHO was sent; T1-cookie runs.
    CookieEchoed {
        /// The peer's cookie, to be echoed again.
        cookie: Box<[u8]>,
    },
    /// Messages flow both ways.
    Established,
    /// The application closed; what it sent before is still on its way.
    ShutdownPending,
    /// SHUTDOWN was sent; T2-shutdown runs.
    ShutdownSent,
    /// The peer closed; what was sent before is still on its way.
    ShutdownReceived,
    /// SHUTDOWN ACK was sent; T2-shutdown runs.
    ShutdownAckSent,
    /// Over. Received messages can still be read.
    Closed,
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            State::CookieWait => "COOKIE-WAIT",
            State::CookieEchoed { .. } => "COOKIE-ECHOED",
            State::Established => "ESTABLISHED",
            State::ShutdownPending => "SHUTDOWN-PENDING",
            State::ShutdownSent => "SHUTDOWN-SENT",
            State::ShutdownReceived => "SHUTDOWN-RECEIVED",
            State::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            State::Closed => "CLOSED",
        }
    }

    /// Whether DATA may be sent.
    pub(crate) fn sends_data(&self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Whether DATA is taken in (section 6).
    pub(crate) fn receives_data(&self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownSent)
    }
}

/// Timers that belong to no path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// T1-init or T1-cookie, by state.
    T1,
    /// T2-shutdown.
    T2Shutdown,
    /// T5-shutdown-guard.
    T5ShutdownGuard,
}

/// An association.
#[derive(Debug)]
pub struct Association {
    /// Shared by the associations that were opened with the same.
    pub(crate) options: Arc<AssociationOptions>,
    pub(crate) state: State,
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) local_tag: VerificationTag,
    /// 0 until the peer's INIT ACK told it.
    pub(crate) peer_tag: VerificationTag,
    pub(crate) local_initial_tsn: Tsn,
    /// From its INIT or INIT ACK on.
    pub(crate) peer_initial_tsn: Tsn,
    /// Those that both sides offered; none before the peer answered.
    pub(crate) extensions: Extensions,
    pub(crate) paths: SmallVec<[Path; 1]>,
    /// The path that new data takes while it works.
    pub(crate) primary: u8,
    /// The path that new data takes.
    pub(crate) data_path: u8,
    /// The path of control chunks that must take no other: where the peer was last heard.
    pub(crate) control_path: u8,
    /// The path on which the last packet with DATA came: SACKs go back there (section 6.4).
    pub(crate) sack_path: u8,
    /// Addresses by which a packet may find this association changed.
    pub(crate) readdressed: bool,
    /// Addresses of this side, to pair with the peer's and to name to it.
    pub(crate) locals: Arc<Vec<SocketAddr>>,
    /// Packets of copies that wait to be sent, while there are any.
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    pub(crate) copies: Option<Box<Vec<WaitingCopies>>>,
    pub(crate) queue: SendQueue,
    pub(crate) tx: Transmission,
    /// What the peer sends; from its INIT or INIT ACK on.
    pub(crate) rx: Option<Receiver>,
    pub(crate) control: VecDeque<Control>,
    pub(crate) timers: TimerTable<3>,
    /// Expiries of T1 or T2 in a row, and when its chunk first left.
    pub(crate) attempts: u8,
    pub(crate) first_attempt_at: Instant,
    /// Errors in a row on all paths (Association.Max.Retrans).
    pub(crate) error_count: u8,
    pub(crate) inbound_streams: u16,
    pub(crate) stale_cookies: u8,
    /// What ICMP said of the INITs.
    pub(crate) refusals: Refusals,
    silence: Silence,
    /// Messages that had not arrived when the association failed.
    left_behind: LeftBehind,
    /// It was offered to take packets without a checksum.
    pub(crate) takes_zero_checksum: bool,
    /// Addresses that the peer's INIT or INIT ACK listed: a restart may not bring others.
    pub(crate) listed_addresses: Box<[IpAddr]>,
    /// Where authentication is offered and, once the peer answered, agreed on.
    pub(crate) authentication: Option<Box<Authentication>>,
    /// Once an address of either side changed.
    pub(crate) address_reconfiguration: Option<Box<AddressReconfiguration>>,
    /// Once either side asked for a reconfiguration.
    pub(crate) reconfiguration: Option<Box<Reconfiguration>>,
    /// Drained after each input: rarely more than one.
    events: SmallVec<[Event; 1]>,
    readable_announced: bool,
    /// The send buffer was found full; the next room is an event.
    pub(crate) wants_writable: bool,
    /// Among those with which it shares the endpoint's memory.
    pub(crate) standing: Standing,
    pub(crate) counters: Counters,
}

/// The association was closed by what was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// What is known of an association before it exists: both tags, ports, the peer's address.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) local_tag: VerificationTag,
    pub(crate) peer_tag: VerificationTag,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) locals: Arc<Vec<SocketAddr>>,
}

impl Association {
    pub(crate) fn new(options: Arc<AssociationOptions>, identity: Identity, state: State) -> Self {
        let path = Path::new(identity.remote, identity.local, options.path_mtu, true);
        let policy = Arc::clone(&options.policy);
        let tx = Transmission::new(policy, path.pmdcs(), identity.local_initial_tsn, 0);
        let mut queue = SendQueue::new(options.outbound_streams, options.scheduler);
        queue.set_max_queueing_delay(options.max_queueing_delay);
        Association {
            state,
            local_port: identity.local_port,
            peer_port: identity.peer_port,
            local_tag: identity.local_tag,
            peer_tag: identity.peer_tag,
            local_initial_tsn: identity.local_initial_tsn,
            peer_initial_tsn: Tsn(0),
            extensions: Extensions::NONE,
            paths: SmallVec::from_iter([path]),
            primary: 0,
            data_path: 0,
            control_path: 0,
            sack_path: 0,
            readdressed: false,
            locals: identity.locals,
            copies: None,
            queue,
            tx,
            rx: None,
            control: VecDeque::new(),
            timers: TimerTable::default(),
            attempts: 0,
            first_attempt_at: Instant::ZERO,
            error_count: 0,
            inbound_streams: options.inbound_streams,
            stale_cookies: 0,
            refusals: Refusals::default(),
            silence: Silence::default(),
            left_behind: LeftBehind::default(),
            takes_zero_checksum: options.zero_checksum.is_some(),
            listed_addresses: Box::default(),
            authentication: None,
            address_reconfiguration: None,
            reconfiguration: None,
            events: SmallVec::new(),
            readable_announced: false,
            wants_writable: false,
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
    pub(crate) fn open(
        &mut self,
        peer_initial_tsn: Tsn,
        peer_a_rwnd: u32,
        outbound_streams: u16,
        inbound_streams: u16,
    ) -> Result<(), Closed> {
        let config = ReceiverConfig {
            buffer: self.options.receive_buffer,
            max_message: u32::try_from(self.options.max_message_size).unwrap_or(u32::MAX),
            sack: sack_policy(&self.options.policy),
            interleaving: self.extensions.contains(Extensions::INTERLEAVING),
            partial_reliability: self.extensions.contains(Extensions::PARTIAL_RELIABILITY),
            partial_delivery: self.options.partial_delivery,
        };
        self.inbound_streams = inbound_streams;
        self.peer_initial_tsn = peer_initial_tsn;
        self.rx = Some(Receiver::new(config, peer_initial_tsn, inbound_streams));
        self.tx.set_peer_a_rwnd(peer_a_rwnd);
        self.tx.set_extensions(self.extensions);
        self.queue.set_interleaving(self.extensions.contains(Extensions::INTERLEAVING));
        self.tx.note_signer(self.signer().as_deref());
        if !self.queue.set_streams(outbound_streams) {
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
                self.standing.read += message.payload.len() as u64;
            }
            None => self.readable_announced = false,
        }
        message
    }

    /// Replaces the recovery policy at once.
    pub(crate) fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        if let Some(rx) = &mut self.rx {
            rx.set_sack_policy(sack_policy(&policy));
        }
        self.tx.recovery.set_policy(Arc::clone(&policy));
        Arc::make_mut(&mut self.options).policy = policy;
        self.review_routes();
    }

    /// Whether messages can be queued and flow.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the association is over.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The state's name as RFC 9260 spells it.
    pub fn state_name(&self) -> &'static str {
        self.state.name()
    }

    /// Streams on which messages may be sent, as negotiated.
    pub fn outbound_streams(&self) -> u16 {
        self.queue.streams()
    }

    /// Streams on which the peer may send messages, as negotiated.
    pub fn inbound_streams(&self) -> u16 {
        self.inbound_streams
    }

    /// Extensions in use: those that both sides offered.
    pub fn extensions(&self) -> Extensions {
        self.extensions
    }

    /// The peer's address on the primary path.
    pub fn remote(&self) -> SocketAddr {
        self.paths[usize::from(self.primary)].remote
    }

    /// The tag in packets that the peer sends: with the ports it names the association.
    pub fn local_tag(&self) -> VerificationTag {
        self.local_tag
    }

    /// The unit that recovery events give the first DATA chunk that this side sends.
    pub fn first_unit(&self) -> u64 {
        crate::tx::transmission::first_unit(self.local_initial_tsn)
    }

    /// Whether all messages sent so far were acknowledged.
    pub fn is_settled(&self) -> bool {
        self.held_bytes() == 0 && self.queue.is_empty() && self.tx.is_settled()
    }

    /// Bytes of messages that the peer has not acknowledged cumulatively.
    pub(crate) fn held_for_peer(&self) -> usize {
        self.queue.buffered() + self.tx.outstanding_bytes() + self.held_bytes()
    }

    /// Switches the recording of recovery events on or off.
    pub(crate) fn set_recovery_events(&mut self, enabled: bool) {
        self.tx.recovery.set_events_enabled(enabled);
    }

    /// Whether recovery events are being recorded.
    pub(crate) fn records_recovery_events(&self) -> bool {
        self.tx.recovery.records_events()
    }

    /// The oldest recovery event not fetched yet; `unit` in it is a TSN's 64-bit extension.
    pub(crate) fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.tx.recovery.poll_event()
    }

    // ---- events --------------------------------------------------------------------------------

    pub(crate) fn announce(&mut self, event: Event) {
        // However many errors one packet reports, the application is told once.
        let repeats = |last: &Event| {
            matches!((last, &event), (Event::PeerError { .. }, Event::PeerError { .. }))
        };
        if !self.events.last().is_some_and(repeats) {
            self.events.push(event);
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            return self.poll_abandoned();
        }
        let event = self.events.remove(0);
        if self.events.is_empty() {
            // An idle association keeps no more room for events than it has by itself.
            self.events.shrink_to_fit();
        }
        Some(event)
    }

    /// Announces what an input made possible: reading, writing.
    pub(crate) fn announce_progress(&mut self) {
        let readable = self.rx.as_ref().is_some_and(Receiver::has_message);
        if readable && !self.readable_announced {
            self.readable_announced = true;
            self.announce(Event::Readable);
        }
        let held = self.held_for_peer();
        if self.wants_writable && held <= self.send_limit() / 2 && !self.waits_in_crumbs() {
            self.wants_writable = false;
            self.announce(Event::Writable);
        }
    }

    // ---- time ----------------------------------------------------------------------------------

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if self.state == State::Closed {
            // A SACK that waits will never go.
            return None;
        }
        let sack = self.rx.as_ref().and_then(Receiver::sack_deadline);
        let heartbeats = self.paths.iter().filter_map(|path| path.heartbeat.next()).min();
        let sending = self.sending_deadline();
        let recovery = self.tx.recovery.next_timeout();
        let probes = self.path_mtu_timeout();
        let reconfiguration = self.reconfiguration.as_ref().and_then(|own| own.next_timeout());
        let addresses = self.address_reconfiguration.as_ref().and_then(|own| own.next_timeout());
        let timers = earlier(self.timers.next(), earlier(recovery, sack));
        let timers = earlier(timers, earlier(heartbeats, earlier(sending, probes)));
        earlier(timers, earlier(self.silence.next(), earlier(reconfiguration, addresses)))
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, random: &mut RandomStream) {
        if self.timers.expire(Timer::T1 as usize, now) {
            self.on_t1(now);
        }
        if self.timers.expire(Timer::T2Shutdown as usize, now) {
            self.on_t2_shutdown(now);
        }
        if self.timers.expire(Timer::T5ShutdownGuard as usize, now) {
            self.on_t5_shutdown_guard();
        }
        self.tx.begin_burst();
        let probing = self.tx.is_window_closed();
        let unsent = self.tx.unsent_packets(self.queue.buffered());
        while let Some(timeout) = self.tx.recovery.on_timeout(now, probing, unsent) {
            self.suspect_black_hole(now, timeout.path);
            if timeout.counts_as_error {
                self.on_path_error(now, timeout.path, true);
            }
            self.tx.on_timeout(now, &mut self.queue);
            self.on_strike(now, timeout.path, random);
        }
        self.handle_sending_timers(now);
        self.handle_heartbeat_timers(now, random);
        self.handle_path_mtu_timers(now, random);
        self.handle_silence(now, random);
        self.tx.give_up_stale(now, self.data_path, &mut self.queue);
        self.handle_reconfiguration_timer(now);
        self.handle_asconf_timer(now);
        self.announce_progress();
    }

    /// A path did not answer: counts for the path and for the association (section 8).
    /// `of_association`: not if the association can do without the path.
    pub(crate) fn on_path_error(&mut self, now: Instant, path: u8, of_association: bool) {
        if matches!(self.state, State::CookieWait | State::CookieEchoed { .. } | State::Closed) {
            // T1 counts its attempts itself.
            return;
        }
        self.count_path_error(now, path);
        if of_association {
            self.error_count = self.error_count.saturating_add(1);
        }
        if self.error_count > self.options.association_max_retrans {
            // Section 8.1 only says CLOSED. The ABORT spares a peer that was merely not heard the wait.
            let cause = OwnedCause::UserInitiatedAbort(Bytes::from_static(b"no acknowledgement"));
            self.abort_with(cause, Failure::Unreachable);
        }
    }

    // ---- ends ----------------------------------------------------------------------------------

    /// The association is over without a word to the peer.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.close(Event::Failed(failure));
    }

    /// Tells the peer why, and the association is over.
    pub(crate) fn abort_with(&mut self, cause: OwnedCause, failure: Failure) {
        self.control.clear();
        if self.peer_tag != VerificationTag(0) {
            self.control.push_back(Control::Abort(cause));
        }
        self.close(Event::Failed(failure));
    }

    /// The application gives the association up (the RFC's ABORT primitive).
    pub(crate) fn abort(&mut self, reason: Bytes) {
        if self.state != State::Closed {
            let reason = reason.slice(..reason.len().min(ABORT_REASON_LIMIT));
            self.abort_with(OwnedCause::UserInitiatedAbort(reason), Failure::Aborted);
        }
    }

    pub(crate) fn close(&mut self, event: Event) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        if matches!(event, Event::Failed(_)) {
            self.left_behind = self.count_left_behind();
        }
        self.timers = TimerTable::default();
        self.silence.stop();
        self.reconfiguration = None;
        self.address_reconfiguration = None;
        for path in &mut self.paths {
            path.heartbeat = Default::default();
            path.discovery = None;
        }
        let final_words = |control: &Control| {
            matches!(
                control,
                Control::Abort(_) | Control::ReflectedAbort(_) | Control::ShutdownComplete
            )
        };
        self.control.retain(final_words);
        self.copies = None;
        // Nothing more is sent or retransmitted; what arrived stays readable.
        self.tx.discard();
        self.queue.clear();
        self.announce_progress();
        self.announce(event);
    }

    /// The timeout for control chunks.
    pub(crate) fn control_rto(&self) -> Duration {
        self.tx.recovery.rto(self.control_route())
    }
}

/// The earlier of two instants that there may be. After every packet it is asked for: written out, it
/// costs a third of a minimum over an array.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

/// The receiving side's part of the policy.
fn sack_policy(policy: &RecoveryPolicy) -> SackPolicy {
    let acknowledgement = policy.acknowledgement;
    acknowledgement.delay.map_or(SackPolicy::Immediate, |delay| SackPolicy::Delayed {
        delay,
        packets: u32::from(acknowledgement.every_packets),
    })
}
