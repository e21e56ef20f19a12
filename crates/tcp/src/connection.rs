//! One connection and its states.

mod arrives;
pub(crate) mod clock;
mod close;
mod echoes;
mod establish;
mod events;
mod handshake;
mod icmp;
mod info;
mod open;
pub(crate) mod output;
mod segment_size;
mod sides;
mod state;
pub(crate) mod throttle;
pub(crate) mod time_wait;
mod timers;
mod warm;

use core::fmt;
use core::net::SocketAddr;
use std::sync::Arc;

use base::Instant;
use bytes::Bytes;
use recovery::{Advice, AdviceError, PathId, PathView, TimedEvent};

use self::echoes::Echoes;
use self::events::Pending;
use self::handshake::Handshake;
pub(crate) use self::handshake::{Negotiated, PeerSyn, headers, syn_options};
use self::info::NarrowCounters;
pub use self::info::{ConnectionInfo, Counters};
use self::output::PendingReset;
use self::sides::{Seconds, new_sender, sender_options};
pub(crate) use self::sides::{mss_of, receiver_options, window_shift};
pub use self::state::State;
use self::throttle::Throttle;
use crate::event::{Event, Failure};
use crate::keep_alive::Silence;
use crate::memory::{Buffered, MemoryState, Progress};
use crate::options::{ConnectionOptions, SendFlags};
use crate::path_mtu::PathMtu;
use crate::rx::{Receiver, ack_timing};
use crate::tx::Sender;
use crate::wire::{SeqNumber, SequenceMap};

/// Result of reading from a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The next bytes in order.
    Data(Bytes),
    /// No data at present; [`Event::Readable`] follows.
    Nothing,
    /// The peer sent FIN, and all data was read.
    Finished,
}

/// Reason for which a connection accepts no data to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// This side has sent FIN.
    Finished,
    /// A reset, silence of the peer or another failure ended the connection.
    Failed(Failure),
}

/// Reason for which a connection delivers no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The application closed it and reads no more.
    Closed,
    /// A reset, silence of the peer or another failure ended the connection.
    Failed(Failure),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Finished => f.write_str("this side of the connection has finished"),
            SendError::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for SendError {}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectionError::Closed => f.write_str("the connection was closed"),
            ConnectionError::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for ConnectionError {}

/// Addresses of a connection, and its initial numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Initial send sequence number (RFC 9293, section 3.4.1).
    pub(crate) iss: SeqNumber,
    /// Offset of this connection's timestamp clock.
    pub(crate) timestamp_offset: u32,
}

impl Identity {
    /// Moves the initial sequence number after those of an older connection, which ended at `old`
    /// (RFC 9293, section 3.6.1).
    pub(crate) fn after(self, old: SeqNumber) -> Identity {
        let is_after = self.iss.is_after(old);
        let iss = if is_after { self.iss } else { old.advance(u32::from(u16::MAX) + 2) };
        Identity { iss, ..self }
    }
}

/// A connection, read only; [`Endpoint::connection_mut`](crate::Endpoint::connection_mut) lends it
/// for calls that change it.
#[derive(Debug)]
pub struct Connection {
    pub(crate) options: Arc<ConnectionOptions>,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: State,
    failure: Option<Failure>,
    /// Sequence numbers of this side, relative to ISS.
    outgoing: SequenceMap,
    /// Sequence numbers of the peer, relative to IRS.
    incoming: SequenceMap,
    echoes: Echoes,
    negotiated: Negotiated,
    /// State of the handshake, until the connection is established.
    handshake: Option<Box<Handshake>>,
    tx: Sender,
    rx: Receiver,
    path_mtu: PathMtu,
    /// MSS option of the peer's SYN.
    peer_mss: u16,
    /// Whether a congestion mark is echoed, until the peer confirms with CWR (RFC 3168, section
    /// 6.1.3).
    echoes_congestion: bool,
    /// Whether the application has closed both directions.
    closed: bool,
    /// Whether a keep-alive probe is to be sent.
    probes: bool,
    /// Instants of the latest data sent, and of the latest data received.
    data_sent_at: Instant,
    data_received_at: Instant,
    /// Silence of the peer since its last segment.
    silence: Silence,
    /// The peer's user timeout option (RFC 5482).
    peer_user_timeout: Option<Seconds>,
    /// Whether the next segment carries this side's user timeout option.
    tells_user_timeout: bool,
    /// Instant at which the amount outstanding last shrank.
    progress_at: Instant,
    /// End of a state of limited duration: lingering, FIN-WAIT-2.
    ends_at: Option<Instant>,
    throttle: Throttle,
    reset: Option<PendingReset>,
    events: Pending,
    /// Whether the application was notified of readable data and has not read since.
    readable_told: bool,
    /// Whether recovery records its events once the connection is established.
    records_events: bool,
    tally: NarrowCounters,
}

impl Connection {
    fn blank(
        options: Arc<ConnectionOptions>,
        identity: Identity,
        state: State,
        now: Instant,
    ) -> Self {
        let Identity { local, remote, iss, timestamp_offset } = identity;
        let rx = Receiver::new(&receiver_options(&options, local.is_ipv6()), 1);
        let tx = new_sender(&options, None, 1, 0);
        Connection {
            local,
            remote,
            state,
            failure: None,
            outgoing: SequenceMap::new(iss),
            incoming: SequenceMap::new(SeqNumber(0)),
            echoes: Echoes::new(now, timestamp_offset),
            negotiated: Negotiated::default(),
            handshake: None,
            tx,
            rx,
            path_mtu: PathMtu::new(options.path_mtu, local.is_ipv6()),
            peer_mss: 0,
            echoes_congestion: false,
            closed: false,
            probes: false,
            data_sent_at: now,
            data_received_at: now,
            silence: Silence::new(now),
            peer_user_timeout: None,
            tells_user_timeout: false,
            progress_at: now,
            ends_at: None,
            throttle: Throttle::default(),
            reset: None,
            events: Pending::default(),
            readable_told: false,
            records_events: false,
            tally: NarrowCounters::default(),
            options,
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Options in force: those at creation, with later changes.
    pub fn options(&self) -> &ConnectionOptions {
        &self.options
    }

    /// This side's address and port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The peer's address and port.
    pub fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// The state of RFC 9293, section 3.3.2.
    pub fn state(&self) -> State {
        self.state
    }

    /// Reason of the failure; `None` while the connection has not failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Whether the application closed both directions; remaining data is sent in the background.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Bytes that can be read.
    pub fn readable_bytes(&self) -> usize {
        self.rx.readable() as usize
    }

    /// Bytes that [`ConnectionMut::send`](crate::ConnectionMut::send) would take now.
    pub fn writable_bytes(&self) -> usize {
        match &self.handshake {
            _ if !self.state.may_send() => 0,
            Some(handshake) => self.tx.room().saturating_sub(handshake.queued_bytes),
            None => self.tx.writable_bytes(),
        }
    }

    /// Bytes that can be written now; if 0, [`Event::Writable`] is due once there is room.
    pub(crate) fn room_to_send(&mut self) -> Result<usize, SendError> {
        match self.failure {
            Some(failure) => return Err(SendError::Failed(failure)),
            None if !self.state.may_send() => return Err(SendError::Finished),
            None => {}
        }
        let room = self.writable_bytes();
        if room == 0 {
            self.tx.note_refused();
        }
        Ok(room)
    }

    /// Memory that the connection holds, of the endpoint's budget.
    pub fn buffered(&self) -> Buffered {
        let queued = self.handshake.as_ref().map_or(0, |handshake| handshake.queued_bytes);
        let to_send = self.tx.held() + queued;
        Buffered { to_send, unread: self.rx.held_unread(), behind_holes: self.rx.held_behind() }
    }

    /// Bytes before the last urgent byte, or `None` once it was read (SIOCATMARK: 0).
    pub fn urgent_mark(&self) -> Option<u64> {
        self.rx.to_mark()
    }

    // ---- the application's calls ---------------------------------------------------------------

    pub(crate) fn send(
        &mut self,
        now: Instant,
        mut data: Bytes,
        flags: SendFlags,
    ) -> Result<usize, SendError> {
        if let Some(failure) = self.failure {
            return Err(SendError::Failed(failure));
        }
        let finished = self.handshake.as_ref().is_some_and(|handshake| handshake.finish);
        if !self.state.may_send() || finished {
            return Err(SendError::Finished);
        }
        Ok(match &mut self.handshake {
            // Section 3.10.2: queued until the connection is established.
            Some(handshake) => {
                let asked = data.len();
                data.truncate(self.tx.room().saturating_sub(handshake.queued_bytes));
                let taken = data.len();
                handshake.was_full |= taken < asked;
                handshake.queued_bytes += taken;
                handshake.queued.push((data, flags));
                taken
            }
            None => self.tx.write(now, data, flags.more, flags.urgent),
        })
    }

    pub(crate) fn receive(
        &mut self,
        now: Instant,
        limit: usize,
    ) -> Result<Received, ConnectionError> {
        if self.closed && self.failure.is_none() {
            return Err(ConnectionError::Closed);
        }
        self.readable_told = false;
        if let Some(data) = self.rx.read(limit as u64) {
            if self.state.may_receive() && self.rx.window_update_due() {
                self.rx.request_ack(now);
            }
            return Ok(Received::Data(data));
        }
        if let Some(failure) = self.failure {
            return Err(ConnectionError::Failed(failure));
        }
        Ok(if self.rx.is_finished() { Received::Finished } else { Received::Nothing })
    }

    pub(crate) fn receive_urgent(&mut self) -> Option<u8> {
        self.rx.read_urgent()
    }

    pub(crate) fn acknowledge_now(&mut self, now: Instant) {
        if self.rx.ack_due().is_some() {
            self.rx.request_ack(now);
        }
    }

    /// Whether memory sufficed when [`Connection::set_memory`] was last called.
    #[inline]
    pub(crate) fn is_at_ease(&self) -> bool {
        self.rx.memory() == MemoryState::Ease
    }

    /// Updates the shared memory state, and this connection's share of it for data to send, in
    /// bytes.
    pub(crate) fn set_memory(&mut self, state: MemoryState, share: usize) {
        self.rx.set_memory(state);
        self.tx.set_share(share);
    }

    /// Progress of the connection: offsets after the acknowledged and after the read data.
    pub(crate) fn progress(&self) -> Progress {
        Progress { acked: self.tx.snd_una(), read: self.rx.rcv_nxt() - self.rx.readable() }
    }

    /// Drops data received out of order, which the peer sends again, and returns its bytes.
    pub(crate) fn give_up_behind_holes(&mut self) -> u64 {
        self.rx.give_up_behind_holes()
    }

    /// Notifies the application if a send buffer that refused data has room again.
    pub(crate) fn tell_writable(&mut self) {
        if self.tx.take_writable() {
            self.events.add(Event::Writable);
        }
    }

    /// Applies changed options to both directions.
    pub(crate) fn apply_options(&mut self) {
        self.rx.set_buffer(self.options.receive_buffer as u64);
        self.rx.set_ack_timing(ack_timing(&self.options.policy.acknowledgement));
        self.rx.set_urgent_inline(self.options.urgent_inline);
        self.tells_user_timeout = self.options.user_timeout_option;
        self.tx.set_options(sender_options(&self.options, self.peer_user_timeout));
        self.tx.set_policy(Arc::clone(&self.options.policy));
    }

    /// Switches the recording of recovery events on or off.
    pub(crate) fn set_recovery_events(&mut self, enabled: bool) {
        self.records_events = enabled;
        self.tx.recovery_mut().set_events_enabled(enabled);
    }

    /// Removes and returns the oldest recovery event.
    pub(crate) fn poll_recovery_event(&mut self) -> Option<TimedEvent> {
        self.tx.recovery_mut().poll_event()
    }

    /// Applies one advice of a policy outside.
    pub(crate) fn advise(&mut self, now: Instant, advice: Advice) -> Result<(), AdviceError> {
        if self.state == State::Closed {
            return Err(AdviceError::Gone);
        }
        self.tx.recovery_mut().advise(now, advice)
    }

    /// State of the path with the lowest `most` units in flight, for [advice](recovery::Advice);
    /// `None` for an unknown path.
    pub fn path_view(&self, path: PathId, most: usize) -> Option<PathView> {
        self.tx.recovery().view(path, most)
    }

    /// Removes and returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    // ---- numbers -------------------------------------------------------------------------------

    /// The MSS option of this side's SYN (RFC 9293, section 3.7.1): the segment size of its link.
    /// An MTU reported by ICMP applies to the way to the peer. With IPv6, where routers do not
    /// fragment, it is assumed for the way back too.
    fn advertised_mss(&self) -> u16 {
        let is_ipv6 = self.local.is_ipv6();
        let mtu = if is_ipv6 { self.path_mtu.get() } else { self.options.path_mtu };
        mss_of(&self.options, mtu, is_ipv6)
    }
}
