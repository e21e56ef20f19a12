//! One session with its addresses, times and bounds.

use core::net::SocketAddr;
use std::collections::VecDeque;

use base::{Duration, Ecn, Icmp, IcmpError, Instant, IpService, Origin, Transmit};
use bytes::Bytes;

use super::limits::{Limits, Notice};
use super::moves::Move;
use super::sent::Sent;
use crate::dtls::{Dtls, Role};
use crate::fingerprint::Fingerprint;
use crate::sealer::{Failure, NotSealed, Peer, Sealer, State};

/// Bytes of a ClientHello that ICMP must quote: the headers of record and message, the version, and
/// the random, which only hosts on the path have seen.
const QUOTED: usize = 13 + 12 + 2 + 32;
/// Position of a plaintext record's number, which differs between retransmissions.
const NUMBER: core::ops::Range<usize> = 3..11;
/// Time for which ICMP must report that no socket listens, since a server may be about to start.
const REFUSED_FOR: Duration = Duration::from_secs(2);
/// Most doublings of the time to the next attempt to set up a session anew: from a second to a
/// minute.
const MOST_DOUBLINGS: u32 = 6;

/// The pair of addresses of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) remote: SocketAddr,
    /// The address of this side; none for any, as the system chooses.
    pub(super) local: Option<SocketAddr>,
}

impl Route {
    /// Whether a datagram at this local address, if known, may belong to the session.
    pub(super) fn fits(&self, local: Option<SocketAddr>) -> bool {
        local.is_none() || self.local.is_none() || self.local == local
    }
}

pub(super) struct Session {
    pub(super) dtls: Dtls,
    pub(super) role: Role,
    pub(super) route: Route,
    pub(super) begun: Instant,
    /// Arrival of the peer's last packet; before the first one, the opening of the session.
    pub(super) heard: Instant,
    /// The deadline in the table of all sessions.
    pub(super) listed: Option<Instant>,
    /// Random number of the client's hello, for a server.
    pub(super) client_random: Option<[u8; 32]>,
    /// Time from the first datagram to the first answer, for a client.
    pub(super) round_trip: Option<Duration>,
    /// The latest move to another port.
    pub(super) moved: Option<Move>,
    /// Whether a session that will replace this one is being set up.
    pub(super) renewing: bool,
    /// Number of sessions set up anew since the last packet of the peer, and when the latest
    /// began.
    renewals: (u32, Instant),
    /// Number of migrations to another shard.
    pub(super) migrations: u8,
    /// The host among whose open sessions it is counted.
    pub(super) counted: Option<Origin>,
    opening_taken: bool,
    /// Whether a packet of the peer came since the session opened.
    spoke: bool,
    /// Number of packets sealed since the last packet of the peer, and when the second of them
    /// left: the first may have been an answer.
    unanswered: (u32, Instant),
    /// Bytes that arrived in the handshake.
    handshake_bytes: usize,
    /// Whether a bound on half-open sessions ended it.
    given_up: bool,
    /// Time since which ICMP has reported that no socket listens.
    refused: Option<Instant>,
    no_listener: bool,
    outgoing: VecDeque<(Transmit, Bytes)>,
    /// The first datagram of a client's handshake, which ICMP may quote.
    hello: Bytes,
    sent: Sent,
}

/// Outcome of a session, by which its owner removes it.
pub(super) enum Ended {
    /// An end without a notice: an unknown client's handshake did not finish.
    Unannounced,
    /// An end with a notice to the application.
    With(Notice),
}

impl Session {
    /// A session that begins with `bytes` received.
    pub(super) fn new(dtls: Dtls, role: Role, route: Route, now: Instant, bytes: usize) -> Session {
        Session {
            dtls,
            role,
            route,
            begun: now,
            heard: now,
            listed: None,
            client_random: None,
            round_trip: None,
            moved: None,
            renewing: false,
            renewals: (0, now),
            migrations: 0,
            counted: None,
            opening_taken: false,
            spoke: false,
            unanswered: (0, now),
            handshake_bytes: bytes,
            given_up: false,
            refused: None,
            no_listener: false,
            outgoing: VecDeque::new(),
            hello: Bytes::new(),
            sent: Sent::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.dtls.state(), State::Open(_))
    }

    pub(super) fn is_handshaking(&self) -> bool {
        *self.dtls.state() == State::Handshaking
    }

    fn is_half_open(&self) -> bool {
        self.role == Role::Server && self.is_handshaking()
    }

    /// Whether a peer has set up the session and never used it, so that it only occupies a place.
    fn is_silent_client(&self) -> bool {
        self.role == Role::Server && self.is_open() && !self.spoke
    }

    /// The peer, while the session is open.
    pub(super) fn peer(&self) -> Option<&Peer> {
        match self.dtls.state() {
            State::Open(peer) => Some(peer),
            _ => None,
        }
    }

    /// The peer's key, once it is proved.
    pub(super) fn fingerprint(&self) -> Option<Fingerprint> {
        self.peer().map(|peer| peer.fingerprint)
    }

    /// Whether the session is open with this host; none means any.
    pub(super) fn is_with(&self, origin: Option<Origin>) -> bool {
        let own = self.fingerprint().map(|fingerprint| fingerprint.origin());
        own.is_some_and(|own| origin.is_none_or(|origin| own == origin))
    }

    pub(super) fn handle_datagram(&mut self, now: Instant, datagram: &[u8], limits: &Limits) {
        if self.is_half_open() {
            self.handshake_bytes += datagram.len();
            self.given_up |= self.handshake_bytes > limits.half_open_bytes;
        }
        if self.role == Role::Client {
            self.round_trip.get_or_insert(now.since(self.begun));
        }
        if !self.given_up && !datagram.is_empty() {
            self.dtls.handle_datagram(now, datagram);
        }
    }

    /// Whether a packet of the peer waits.
    pub(super) fn has_opened(&self) -> bool {
        self.dtls.has_opened()
    }

    /// The next packet of the peer.
    pub(super) fn poll_opened(&mut self, now: Instant) -> Option<Bytes> {
        let packet = self.dtls.poll_opened()?;
        (self.heard, self.spoke, self.unanswered.0, self.renewals.0) = (now, true, 0, 0);
        Some(packet)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, limits: &Limits) {
        if self.dtls.poll_timeout().is_some_and(|due| due <= now) {
            self.dtls.handle_timeout(now);
        }
        let is_late = now >= self.begun + limits.half_open_time;
        let is_idle = self.is_open() && now >= self.heard + limits.idle;
        if self.is_half_open() && is_late {
            self.given_up = true;
        } else if self.is_silent_client() && is_late || is_idle {
            self.dtls.close(now);
        }
    }

    /// Replaces a session with the same peer: if that was used, this one counts as used.
    pub(super) fn replace(&mut self, old: &Session) {
        self.spoke |= old.spoke;
        self.renewals = old.renewals;
    }

    /// Notes that a session that will replace this one is being set up; returns the round trip to
    /// expect, doubled with each attempt since the last packet of the peer.
    pub(super) fn note_renewal(&mut self, now: Instant) -> Duration {
        let doubled = 1 << self.renewals.0.min(MOST_DOUBLINGS);
        (self.renewing, self.renewals) = (true, (self.renewals.0 + 1, now));
        self.round_trip.unwrap_or_default() * doubled
    }

    /// Deadline of the next call.
    pub(super) fn due(&self, limits: &Limits) -> Option<Instant> {
        let own = match self.dtls.state() {
            State::Handshaking if self.role == Role::Server => {
                Some(self.begun + limits.half_open_time)
            }
            State::Open(_) if self.is_silent_client() => Some(self.begun + limits.half_open_time),
            State::Open(_) => Some(self.heard + limits.idle),
            _ => None,
        };
        own.into_iter().chain(self.dtls.poll_timeout()).min()
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

    /// Seals a packet, to be sent as `transmit` says; returns its datagram.
    pub(super) fn seal(
        &mut self,
        now: Instant,
        transmit: Transmit,
        packet: &[u8],
    ) -> Result<Bytes, NotSealed> {
        self.collect();
        self.dtls.seal(now, packet)?;
        match self.unanswered.0 {
            0 => self.unanswered.0 = 1,
            1 => self.unanswered = (2, now),
            _ => {}
        }
        let Route { remote, local } = self.route;
        let doubted = self.moved.and_then(|moved| moved.doubted(now, remote));
        let mut sealed = Bytes::new();
        while let Some(datagram) = self.dtls.poll_transmit() {
            sealed = datagram.clone();
            if self.role == Role::Client {
                self.sent.note(&datagram, packet);
            }
            let size = datagram.len();
            for remote in doubted.into_iter().chain([remote]) {
                let transmit = Transmit { remote, local, size, ..transmit };
                self.outgoing.push_back((transmit, datagram.clone()));
            }
        }
        Ok(sealed)
    }

    /// Whether the machine goes on sending while the server, which spoke before, is silent. The
    /// time doubles with each attempt: a handshake costs both ends a hundred times what a
    /// packet does, so that clients of a server that is late for want of processor time would
    /// keep it late with handshakes.
    pub(super) fn wants_renewal(&self, now: Instant, limits: &Limits) -> bool {
        let ((packets, second), (renewals, last)) = (self.unanswered, self.renewals);
        let patience = self.round_trip.map_or(limits.renew, |rtt| limits.renew.max(rtt * 4));
        let since = if renewals == 0 { second } else { second.max(last) };
        self.role == Role::Client
            && self.spoke
            && !self.renewing
            && packets > 1
            && now.since(since) >= patience * (1 << renewals.min(MOST_DOUBLINGS))
    }

    /// The next datagram to send.
    pub(super) fn poll_transmit(&mut self) -> Option<(Transmit, Bytes)> {
        self.collect();
        self.outgoing.pop_front()
    }

    /// Collects datagrams of DTLS itself.
    fn collect(&mut self) {
        while let Some(datagram) = self.dtls.poll_transmit() {
            if self.role == Role::Client && self.hello.is_empty() {
                self.hello = datagram.clone();
            }
            let Route { remote, local } = self.route;
            self.outgoing.push_back((plain_transmit(remote, local, datagram.len()), datagram));
        }
    }

    /// The quoted packet, if the quotation proves that the sender of an ICMP message saw a datagram
    /// of the session: the packet unencrypted, or none for a ClientHello.
    pub(super) fn proof(&self, quoted: &[u8]) -> Option<Option<Bytes>> {
        let is_hello = || {
            let without_number = |bytes: &[u8]| {
                let (before, after) = (bytes.get(..NUMBER.start), bytes.get(NUMBER.end..QUOTED));
                before.zip(after).map(|(before, after)| [before, after].concat())
            };
            let hello = without_number(&self.hello);
            hello.is_some() && hello == without_number(quoted)
        };
        match self.sent.plain(quoted) {
            Some(plain) => Some(Some(plain)),
            None if self.is_handshaking() && is_hello() => Some(None),
            None => None,
        }
    }

    /// ICMP about the ClientHello: an absent listener is believed after it was reported for some
    /// time.
    pub(super) fn on_icmp(&mut self, now: Instant, icmp: &Icmp<'_>) {
        if icmp.error == IcmpError::NoListener {
            let since = *self.refused.get_or_insert(now);
            self.no_listener |= now.since(since) >= REFUSED_FOR;
        }
    }

    /// End of the session; none while it exists.
    pub(super) fn ended(&self) -> Option<Ended> {
        let (role, remote, answered) = (self.role, self.route.remote, self.round_trip.is_some());
        match self.dtls.state() {
            _ if self.given_up => Some(Ended::Unannounced),
            _ if self.no_listener => {
                let failure = Failure::NoListener;
                Some(Ended::With(Notice::Failed { remote, role, failure, answered }))
            }
            State::Handshaking | State::Open(_) => None,
            State::Closed if self.opening_taken => Some(Ended::With(Notice::Closed { remote })),
            State::Closed => Some(Ended::Unannounced),
            State::Failed(failure) => {
                let stranger = role == Role::Server && !self.opening_taken;
                let unannounced = stranger && !matches!(failure, Failure::Refused(_));
                let notice = Notice::Failed { remote, role, failure: failure.clone(), answered };
                Some(if unannounced { Ended::Unannounced } else { Ended::With(notice) })
            }
        }
    }
}

/// Addressing of a datagram without ECN or don't-fragment.
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
