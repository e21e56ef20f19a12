//! One session with what surrounds it: packets that wait for it, its times, its bounds.

use core::net::SocketAddr;
use std::collections::VecDeque;

use base::{Ecn, Instant, IpService, Transmit};
use bytes::Bytes;

use super::limits::{Limits, Notice};
use crate::dtls::{Dtls, Role};
use crate::sealer::{Failure, NotSealed, Sealer, State};

/// Packets of the machine that wait for the end of a handshake: INIT and some retransmissions. Of more the newest stay.
const WAITING: usize = 4;
/// Bytes of a ClientHello that ICMP must quote: the headers of record and message, the version, and the random, which only
/// those on the path have seen.
const QUOTED: usize = 13 + 12 + 2 + 32;

pub(super) struct Session {
    pub(super) dtls: Dtls,
    pub(super) role: Role,
    /// Address of this side, as far as it is known.
    pub(super) local: Option<SocketAddr>,
    pub(super) begun: Instant,
    /// When the last packet of the peer arrived; before the first one, when the session opened.
    pub(super) heard: Instant,
    /// The deadline in the table of all sessions.
    pub(super) listed: Option<Instant>,
    opening_taken: bool,
    /// Bytes that arrived in the handshake.
    handshake_bytes: usize,
    /// A bound of half-open sessions has ended it.
    given_up: bool,
    waiting: VecDeque<(Transmit, Bytes)>,
    outgoing: VecDeque<(Transmit, Bytes)>,
    /// The first datagram of a client's handshake, which ICMP may quote.
    hello: Bytes,
}

/// How a session ended.
pub(super) enum Ended {
    /// The application need not know: a stranger's handshake came to nothing.
    Quietly,
    /// The application is told.
    With(Notice),
}

impl Session {
    /// A session that begins with `bytes` received.
    pub(super) fn new(
        dtls: Dtls,
        role: Role,
        local: Option<SocketAddr>,
        now: Instant,
        bytes: usize,
    ) -> Session {
        Session {
            dtls,
            role,
            local,
            begun: now,
            heard: now,
            listed: None,
            opening_taken: false,
            handshake_bytes: bytes,
            given_up: false,
            waiting: VecDeque::new(),
            outgoing: VecDeque::new(),
            hello: Bytes::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.dtls.state(), State::Open(_))
    }

    fn is_half_open(&self) -> bool {
        self.role == Role::Server && *self.dtls.state() == State::Handshaking
    }

    pub(super) fn handle_datagram(&mut self, now: Instant, datagram: &[u8], limits: &Limits) {
        if self.is_half_open() {
            self.handshake_bytes += datagram.len();
            self.given_up |= self.handshake_bytes > limits.half_open_bytes;
        }
        if !self.given_up {
            self.dtls.handle_datagram(now, datagram);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, limits: &Limits) {
        if self.dtls.poll_timeout().is_some_and(|due| due <= now) {
            self.dtls.handle_timeout(now);
        }
        if self.is_half_open() && now >= self.begun + limits.half_open_time {
            self.given_up = true;
        } else if self.is_open() && now >= self.heard + limits.idle {
            self.dtls.close(now);
        }
    }

    /// The time at which it wants to be called.
    pub(super) fn due(&self, limits: &Limits) -> Option<Instant> {
        let own = match self.dtls.state() {
            State::Handshaking if self.role == Role::Server => {
                Some(self.begun + limits.half_open_time)
            }
            State::Open(_) => Some(self.heard + limits.idle),
            _ => None,
        };
        own.into_iter().chain(self.dtls.poll_timeout()).min()
    }

    /// Keeps a packet until the session is open; returns how many had to go for it.
    pub(super) fn wait(&mut self, transmit: Transmit, packet: Bytes) -> u64 {
        let full = self.waiting.len() == WAITING;
        if full {
            self.waiting.pop_front();
        }
        self.waiting.push_back((transmit, packet));
        u64::from(full)
    }

    /// Whether the session has opened since the last call.
    pub(super) fn take_opening(&mut self, now: Instant) -> bool {
        let opens = self.is_open() && !self.opening_taken;
        if opens {
            self.opening_taken = true;
            self.heard = now;
        }
        opens
    }

    /// Seals the packets that waited, and returns how many they were.
    pub(super) fn seal_waiting(&mut self, now: Instant) -> u64 {
        let mut sealed = 0;
        while let Some((transmit, packet)) = self.waiting.pop_front() {
            sealed += u64::from(self.seal(now, transmit, &packet).is_ok());
        }
        sealed
    }

    /// Seals a packet, to be sent as `transmit` says.
    pub(super) fn seal(
        &mut self,
        now: Instant,
        transmit: Transmit,
        packet: &[u8],
    ) -> Result<(), NotSealed> {
        self.collect(transmit.remote);
        self.dtls.seal(now, packet)?;
        let local = transmit.local.or(self.local);
        while let Some(datagram) = self.dtls.poll_transmit() {
            self.outgoing
                .push_back((Transmit { local, size: datagram.len(), ..transmit }, datagram));
        }
        Ok(())
    }

    /// The next datagram to send.
    pub(super) fn poll_transmit(&mut self, remote: SocketAddr) -> Option<(Transmit, Bytes)> {
        self.collect(remote);
        self.outgoing.pop_front()
    }

    /// Takes what DTLS has to send of its own.
    fn collect(&mut self, remote: SocketAddr) {
        while let Some(datagram) = self.dtls.poll_transmit() {
            if self.role == Role::Client && self.hello.is_empty() {
                self.hello = datagram.clone();
            }
            self.outgoing.push_back((plain_transmit(remote, self.local, datagram.len()), datagram));
        }
    }

    /// The packet that waits, if `quoted` is the beginning of the ClientHello with its random.
    pub(super) fn stands_for(&self, quoted: &[u8]) -> Option<&[u8]> {
        let proves = quoted.len() >= QUOTED && self.hello.starts_with(quoted);
        let (_, packet) = self.waiting.front().filter(|_| proves)?;
        Some(packet)
    }

    /// How it ended; none while it lives.
    pub(super) fn ended(&self, remote: SocketAddr) -> Option<Ended> {
        let role = self.role;
        match self.dtls.state() {
            _ if self.given_up => Some(Ended::Quietly),
            State::Handshaking | State::Open(_) => None,
            State::Closed if self.opening_taken => Some(Ended::With(Notice::Closed { remote })),
            State::Closed => Some(Ended::Quietly),
            State::Failed(failure) => {
                let stranger = role == Role::Server && !self.opening_taken;
                let quiet = stranger && !matches!(failure, Failure::Refused(_));
                let notice = Notice::Failed { remote, role, failure: failure.clone() };
                Some(if quiet { Ended::Quietly } else { Ended::With(notice) })
            }
        }
    }
}

/// Where to send a datagram that asks nothing of the network.
pub(super) fn plain_transmit(
    remote: SocketAddr,
    local: Option<SocketAddr>,
    size: usize,
) -> Transmit {
    Transmit {
        local,
        remote,
        ecn: Ecn::NotEct,
        dont_fragment: false,
        service: IpService::default(),
        size,
    }
}
