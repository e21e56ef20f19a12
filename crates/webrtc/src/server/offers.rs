//! Offers of this side, until their answers arrive.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use base::{Duration, Host, Instant};
use secure::Role;

use super::{AcceptError, Own, PeerId, Server};
use crate::peer::init_to_come;
use crate::sdp::{Description, Setup};

/// Time within which an answer has to arrive; after it an offer is discarded.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Offers {
    /// Offers by id, and so by age.
    waiting: BTreeMap<PeerId, Offer>,
}

#[derive(Debug)]
struct Offer {
    own: Own,
    /// Address to which the offer went, if that is known.
    host: Option<Host>,
    /// Instant from which on an answer is refused.
    until: Instant,
}

impl Offers {
    /// Hosts to which the offers were sent.
    pub(super) fn hosts(&self) -> impl Iterator<Item = Option<Host>> {
        self.waiting.values().map(|offer| offer.host)
    }

    /// Discards the offers whose time has passed.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.waiting.retain(|_, offer| offer.until > now);
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().next().map(|offer| offer.until)
    }
}

impl Server {
    /// Makes an offer for a peer, which is to answer within a minute ([`Server::take_answer`]); the
    /// peer then connects to one of `addresses`, at which it reaches the server, the best first.
    /// `signalled_to` is the peer's host, for the bound on peers that do not connect; none if
    /// unknown. The peer chooses its end of DTLS, and has to be a full ICE agent, as browsers are
    /// (RFC 8445, section 2.5).
    ///
    /// # Errors
    /// There are as many peers and offers as there may be.
    pub fn offer_at(
        &mut self,
        now: Instant,
        signalled_to: Option<IpAddr>,
        addresses: &[SocketAddr],
    ) -> Result<(PeerId, Description), AcceptError> {
        let host = signalled_to.map(Host::from);
        self.offers.give_up(now);
        self.peers.admit(host, &self.options.limits, self.offers.hosts())?;
        let own = self.fresh();
        let mut offer = self.describe(&own, Setup::ActPass, addresses);
        if self.options.signalled_init {
            offer.sctp_init = init_to_come(now, &self.peer_options(&own), own.random());
        }
        let id = self.peers.reserve();
        self.offers.waiting.insert(id, Offer { own, host, until: now + PATIENCE });
        Ok((id, offer))
    }

    /// Takes the answer to an offer of this side. An unusable answer changes nothing: another may
    /// follow.
    ///
    /// # Errors
    /// No such offer waits, or the answer cannot be used, and the error names its line.
    pub fn take_answer(
        &mut self,
        now: Instant,
        id: PeerId,
        answer: &str,
    ) -> Result<(), AcceptError> {
        self.offers.give_up(now);
        let Some(Offer { own, .. }) = self.offers.waiting.get(&id) else {
            return Err(AcceptError::NoOffer);
        };
        let bytes = answer.len();
        let answer: Description = answer.parse().map_err(AcceptError::Answer)?;
        if answer.lite {
            return Err(AcceptError::BothLite);
        }
        let role = match answer.setup {
            Setup::Active => Role::Server,
            Setup::Passive => Role::Client,
            Setup::ActPass => return Err(AcceptError::NotAnAnswer("a=setup:active or passive")),
        };
        if answer.mid.as_deref().is_some_and(|mid| mid != "0") {
            return Err(AcceptError::NotAnAnswer("a=mid:0, the offer's section"));
        }
        let mut peer = self.begin(now, own, role, (&answer, bytes))?;
        if let Some(theirs) = answer.sctp_init.filter(|_| self.options.signalled_init) {
            // The INIT of the offer; where the answer only returns it, it leaves in a packet.
            peer.signal_init(now);
            let _ = peer.take_init(&theirs);
        }
        if let Some(Offer { own, host, .. }) = self.offers.waiting.remove(&id) {
            self.admit(id, peer, own.credentials.ufrag, host);
        }
        Ok(())
    }
}
