//! All peers behind one port: answers to offers, offers, and dispatch of datagrams to peers.

mod offers;
mod options;
mod peers;
mod routing;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};

use base::{Datagram, DatagramMeta, Duration, Host, Icmp, Instant, Machine, RandomStream};
use base::{Transmit, TransmitBuffer};
use sctp::AssociationOptions;
use secure::{Context, Fingerprint, Identity, Role, Settings, SettingsError, Trust};

use self::offers::Offers;
pub use self::options::{AcceptError, ServerLimits, ServerOptions, ServerStats};
pub use self::peers::PeerId;
use self::peers::Peers;
use self::routing::Routes;
use crate::demultiplex::DatagramKind;
use crate::ice::{Credentials, Ice, IceLite};
use crate::peer::{Peer, PeerEvent, PeerOptions};
use crate::sdp::{Candidate, Description, Setup};
use crate::stun::Request;

/// Time since its last check within which a peer counts as alive at its address: browsers check
/// every few seconds.
const ALIVE: Duration = Duration::from_secs(10);

/// Bytes of a datagram of this side's handshake as DTLS client, such as its ClientHello.
const HELLO: usize = 500;

/// Facts about this side in its description, from which the peer is made.
struct Own {
    credentials: Credentials,
    /// Seed of the peer's tags and TSNs, and of its keys where those are seeded.
    random: [u8; 32],
    association: AssociationOptions,
}

impl Own {
    fn random(&self) -> RandomStream {
        RandomStream::from_secret(self.random)
    }
}

impl core::fmt::Debug for Own {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Own").field("ufrag", &self.credentials.ufrag).finish_non_exhaustive()
    }
}

/// A server of data channels for browsers.
///
/// The owner drives it like any [`Machine`] and drains [`Server::poll_event`] after each input.
/// Each peer has its own credentials, which identify its first datagram (RFC 8445); the address
/// identifies later ones.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    identity: Identity,
    context: Context,
    /// Like `context`, for the DTLS client.
    beginning: Context,
    random: RandomStream,
    peers: Peers,
    offers: Offers,
    routes: Routes,
    stats: ServerStats,
}

impl Server {
    /// A server that proves the key of `identity` in DTLS, with a certificate for browsers
    /// ([`Identity::for_browsers`]). `random` determines credentials, tags and TSNs: seed it from
    /// the system unless the run has to be reproducible.
    ///
    /// # Errors
    /// The settings of DTLS are wrong; the text says which.
    pub fn new(
        options: ServerOptions,
        identity: Identity,
        random: RandomStream,
    ) -> Result<Server, SettingsError> {
        let identity = identity.for_browsers();
        let context = Context::without_cookies(options.handshake, &identity)?;
        // A ClientHello is padded to the size of a datagram, and few bytes may leave before the
        // peer has shown to receive.
        let small = Settings { mtu: options.handshake.mtu.min(HELLO), ..options.handshake };
        let beginning = Context::without_cookies(small, &identity).unwrap_or(context.clone());
        Ok(Server {
            options,
            identity,
            context,
            beginning,
            random,
            peers: Peers::default(),
            offers: Offers::default(),
            routes: Routes::default(),
            stats: ServerStats::default(),
        })
    }

    /// Accepts the offer of a peer and returns the answer to it. `signalled_from` is the host that
    /// sent the offer, for the bound on peers that do not connect; none if unknown.
    ///
    /// # Errors
    /// The offer cannot be used, and the error names its line; or there are as many peers as there
    /// may be.
    pub fn accept(
        &mut self,
        now: Instant,
        offer: &str,
        signalled_from: Option<IpAddr>,
    ) -> Result<(PeerId, Description), AcceptError> {
        let addresses = self.options.addresses.clone();
        self.accept_at(now, offer, signalled_from, &addresses)
    }

    /// Like [`Server::accept`], with the addresses at which this peer reaches the server, the best
    /// first, instead of [`ServerOptions::addresses`].
    ///
    /// # Errors
    /// As [`Server::accept`].
    pub fn accept_at(
        &mut self,
        now: Instant,
        offer: &str,
        signalled_from: Option<IpAddr>,
        addresses: &[SocketAddr],
    ) -> Result<(PeerId, Description), AcceptError> {
        let bytes = offer.len();
        let offer: Description = offer.parse().map_err(AcceptError::Offer)?;
        if offer.lite {
            return Err(AcceptError::BothLite);
        }
        let host = signalled_from.map(Host::from);
        self.peers.admit(host, &self.options.limits, self.offers.hosts())?;
        let own = self.fresh();
        let role = offer.setup.answer(self.options.role);
        let mut answer = self.describe(&own, role.into(), addresses);
        (answer.mid, answer.bundled) = (offer.mid.clone(), offer.bundled);
        let mut peer = self.begin(now, &own, role, (&offer, bytes))?;
        // An answer has an INIT of its own, or none: one that repeated the offer's would promise
        // what is not there.
        if let Some(theirs) = offer.sctp_init.filter(|_| self.options.signalled_init) {
            let init = peer.signal_init(now);
            answer.sctp_init = init.filter(|_| peer.take_init(&theirs) == Ok(true));
        }
        let id = self.peers.reserve();
        self.admit(id, peer, own.credentials.ufrag, host);
        Ok((id, answer))
    }

    /// Facts for a new peer, with a username fragment that no other peer has.
    fn fresh(&mut self) -> Own {
        let credentials = loop {
            let drawn = Credentials::generate(&mut self.random);
            if self.routes.by_name(&drawn.ufrag).is_none() {
                break drawn;
            }
        };
        let mut seed = [0; 32];
        self.random.fill(&mut seed);
        Own { credentials, random: seed, association: self.options.association.clone() }
    }

    /// This side, in its one section.
    fn describe(&mut self, own: &Own, setup: Setup, addresses: &[SocketAddr]) -> Description {
        Description {
            session: self.random.next_u64() >> 1,
            mid: Some("0".to_owned()),
            bundled: true,
            lite: true,
            credentials: own.credentials.clone(),
            fingerprints: [self.fingerprint()].into(),
            setup,
            sctp_port: self.options.port,
            max_message: Some(own.association.max_message_size as u64),
            sctp_init: None,
            candidates: addresses
                .iter()
                .zip(0..)
                .map(|(at, index)| Candidate::host(*at, index))
                .collect(),
        }
    }

    /// Creates the peer of a description of this many bytes.
    fn begin(
        &self,
        now: Instant,
        own: &Own,
        role: Role,
        (theirs, bytes): (&Description, usize),
    ) -> Result<Peer<IceLite>, AcceptError> {
        let ice = IceLite::new(own.credentials.clone(), theirs.credentials.ufrag.clone(), now);
        let context = match role {
            Role::Client => &self.beginning,
            Role::Server => &self.context,
        };
        let options = PeerOptions {
            context: context.clone(),
            peer_port: theirs.sctp_port,
            peer_max_message: theirs.max_message,
            description: bytes,
            ..self.peer_options(own)
        };
        let trust = Trust::Listed(theirs.fingerprints.clone());
        Peer::new(now, ice, (role, trust), options, own.random()).map_err(AcceptError::Settings)
    }

    /// Adds a peer to the table and to the routes of its checks, and counts it.
    fn admit(&mut self, id: PeerId, peer: Peer<IceLite>, ufrag: String, host: Option<Host>) {
        self.peers.insert(id, peer, host);
        self.routes.add_name(ufrag, id);
        self.peers.settle(id);
        self.stats.accepted += 1;
    }

    /// Options of a peer of whose description nothing is known yet.
    fn peer_options(&self, own: &Own) -> PeerOptions {
        PeerOptions {
            secrets: self.options.secrets,
            port: self.options.port,
            association: own.association.clone(),
            acknowledge_at_once: self.options.acknowledge_at_once,
            memory: self.options.memory,
            max_channels: self.options.max_channels,
            unread: self.options.unread,
            ..PeerOptions::new(self.context.clone())
        }
    }

    /// The peer with this id; none if it does not exist (any more).
    pub fn peer(&self, id: PeerId) -> Option<&Peer<IceLite>> {
        self.peers.get(id)
    }

    /// Calls `act` with a peer; none if it does not exist (any more). The driver drains
    /// [`poll_transmit`](Machine::poll_transmit) afterwards.
    pub fn with_peer<R>(
        &mut self,
        id: PeerId,
        act: impl FnOnce(&mut Peer<IceLite>) -> R,
    ) -> Option<R> {
        let result = self.peers.get_mut(id).map(act)?;
        self.peers.settle(id);
        Some(result)
    }

    /// Output: the next event of any peer. After [`PeerEvent::Ended`] the peer no longer exists.
    /// The driver drains [`poll_transmit`](Machine::poll_transmit) afterwards, and calls again.
    pub fn poll_event(&mut self) -> Option<(PeerId, PeerEvent)> {
        while let Some(id) = self.poll_eventful() {
            if let Some(event) = self.peer_event(id) {
                self.peers.note_eventful(id);
                return Some((id, event));
            }
        }
        None
    }

    /// Output, for an application that reads peers separately: the next peer that may have events
    /// for [`Server::peer_event`].
    pub fn poll_eventful(&mut self) -> Option<PeerId> {
        self.peers.poll_eventful()
    }

    /// Output: the next event of one peer. Unread messages of one peer delay only that peer.
    pub fn peer_event(&mut self, id: PeerId) -> Option<PeerEvent> {
        self.peers.peer_event(id)
    }

    /// Replaces the options of associations, such as the recovery policy, for offers that come or
    /// are made from now on.
    pub fn set_association(&mut self, options: AssociationOptions) {
        self.options.association = options;
    }

    /// Options that apply to peers accepted from now on.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Fingerprint of the certificate, as in offers and answers.
    pub fn fingerprint(&self) -> Fingerprint {
        self.identity.fingerprint()
    }

    /// Number of peers, including those that have not connected.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether there is no peer.
    pub fn is_empty(&self) -> bool {
        self.peers.len() == 0
    }

    /// Counters since the server was made.
    pub fn stats(&self) -> ServerStats {
        self.stats
    }

    /// The peer that a datagram belongs to.
    fn peer_of(&self, remote: SocketAddr, datagram: &[u8]) -> Option<PeerId> {
        match DatagramKind::of(datagram) {
            DatagramKind::Stun => {
                let request = Request::parse(datagram)?;
                self.routes.by_name(request.usernames()?.0)
            }
            DatagramKind::Dtls => self.routes.by_address(remote),
            DatagramKind::Other => None,
        }
    }

    /// Whether the address belongs to another live peer: a check from that address must not take it
    /// over.
    fn is_of_another(&self, now: Instant, id: PeerId, remote: SocketAddr) -> bool {
        let holder = self.routes.by_address(remote).filter(|holder| *holder != id);
        let holder = holder.and_then(|holder| self.peers.get(holder));
        holder.is_some_and(|peer| !peer.is_over() && peer.ice().last_heard() + ALIVE > now)
    }
}

impl Machine for Server {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        let bytes = datagram.into_bytes();
        let Some(id) = self.peer_of(meta.remote, &bytes) else {
            self.stats.ignored += 1;
            return;
        };
        if self.is_of_another(now, id, meta.remote) {
            self.stats.ignored += 1;
            return;
        }
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.handle_datagram(now, meta, bytes.into());
        if peer.ice().has_verified(meta.remote) {
            self.routes.add_address(meta.remote, id);
        }
        self.peers.settle(id);
    }

    /// Ignored: what a router quotes of a sealed packet proves nothing.
    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.offers.give_up(now);
        while let Some(id) = self.peers.pop_due(now) {
            if let Some(peer) = self.peers.get_mut(id) {
                peer.handle_timeout(now);
                self.peers.settle(id);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        while let Some(id) = self.peers.current() {
            if let Some(peer) = self.peers.get_mut(id)
                && let Some(transmit) = peer.poll_transmit(now, buffer)
            {
                self.peers.next_turn();
                return Some(transmit);
            }
            if self.peers.finish_turn(id) {
                self.routes.remove(id);
            }
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.peers.next_due(), self.offers.next_due()].into_iter().flatten().min()
    }
}
