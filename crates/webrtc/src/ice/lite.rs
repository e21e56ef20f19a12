//! ICE-lite (RFC 8445, section 2.5): answers checks and sends none, since its own address is known.

use core::net::SocketAddr;
use std::collections::VecDeque;

use base::{DatagramMeta, Duration, Instant};

use super::{Credentials, Ice, Pair};
use crate::stun::Request;

/// Time without an authentic check after which the peer's consent expires (RFC 7675, section 5.1),
/// and within which the first check has to arrive.
const CONSENT: Duration = Duration::from_secs(30);

/// Most addresses of a peer that are remembered: enough for a browser with several interfaces and
/// NATs.
const ADDRESSES: usize = 16;

/// Most answers that wait to be sent.
const ANSWERS: usize = 32;

/// The lite side of ICE for one peer.
///
/// An answer can be computed only with the password, which the peer knows from the session
/// description. An attacker on the path can send a recorded check from another address and so move
/// the path there until the peer's next check; the owner bounds the bytes to an address that has
/// not proved that it receives.
#[derive(Debug)]
pub struct IceLite {
    own: Credentials,
    peer_ufrag: String,
    selected: Option<Pair>,
    nominated: bool,
    /// Addresses of the peer that sent authentic checks, the newest last.
    verified: VecDeque<SocketAddr>,
    /// Time at which the last authentic check arrived, or the session began.
    heard: Instant,
    answers: VecDeque<(Pair, Vec<u8>)>,
    lost: bool,
}

impl IceLite {
    /// The side with the credentials `own`, for a peer with the username fragment `peer_ufrag`.
    pub fn new(own: Credentials, peer_ufrag: String, now: Instant) -> IceLite {
        IceLite {
            own,
            peer_ufrag,
            selected: None,
            nominated: false,
            verified: VecDeque::new(),
            heard: now,
            answers: VecDeque::new(),
            lost: false,
        }
    }

    /// User name fragment and password that this side draws for the session (RFC 8445, section
    /// 5.3).
    pub fn credentials(&self) -> &Credentials {
        &self.own
    }

    /// Time at which the peer's last authentic check arrived; before the first one, the time at
    /// which the session began.
    pub fn last_heard(&self) -> Instant {
        self.heard
    }

    fn note_verified(&mut self, remote: SocketAddr) {
        self.verified.retain(|known| *known != remote);
        if self.verified.len() == ADDRESSES {
            self.verified.pop_front();
        }
        self.verified.push_back(remote);
    }
}

impl Ice for IceLite {
    fn handle_stun(&mut self, now: Instant, meta: DatagramMeta, datagram: &[u8]) {
        let Some(request) = Request::parse(datagram) else { return };
        let names = (self.own.ufrag.as_str(), self.peer_ufrag.as_str());
        if self.lost
            || request.usernames() != Some(names)
            || !request.is_authentic(&self.own.password)
            || self.answers.len() >= ANSWERS
        {
            return;
        }
        let pair = Pair { local: meta.local, remote: meta.remote };
        if request.is_of_controlled() {
            // A lite agent cannot control: the peer has to (RFC 8445, section 6.1.1).
            self.answers.extend(
                request.answer_role_conflict(&self.own.password).map(|answer| (pair, answer)),
            );
            return;
        }
        let Some(answer) = request.answer(meta.remote, &self.own.password) else { return };
        self.answers.push_back((pair, answer));
        self.heard = self.heard.max(now);
        self.note_verified(meta.remote);
        // Until the peer nominates, its first address serves: the handshake need not wait for the
        // nomination.
        if request.nominates() || !self.nominated && self.selected.is_none() {
            self.selected = Some(pair);
            self.nominated |= request.nominates();
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.heard + CONSENT {
            self.lost = true;
            self.answers.clear();
        }
    }

    fn poll_transmit(&mut self) -> Option<(Pair, Vec<u8>)> {
        self.answers.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (!self.lost).then_some(self.heard + CONSENT)
    }

    fn selected(&self) -> Option<Pair> {
        self.selected.filter(|_| !self.lost)
    }

    fn has_verified(&self, remote: SocketAddr) -> bool {
        self.verified.contains(&remote)
    }

    fn has_proved(&self, _: SocketAddr) -> bool {
        false
    }

    fn is_lost(&self) -> bool {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use base::Ecn;

    use super::*;
    use crate::stun::check;

    const PASSWORD: &str = "0123456789012345678901";

    fn lite() -> IceLite {
        let own = Credentials { ufrag: "here".into(), password: PASSWORD.into() };
        IceLite::new(own, "page".into(), Instant::ZERO)
    }

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 7], port))
    }

    /// A check from a port; how many answers it led to.
    fn feed(lite: &mut IceLite, now: Instant, port: u16, datagram: &[u8]) -> usize {
        let meta = DatagramMeta { local: at(1), remote: at(port), ecn: Ecn::NotEct, origin: None };
        lite.handle_stun(now, meta, datagram);
        core::iter::from_fn(|| lite.poll_transmit()).count()
    }

    fn selected(lite: &IceLite) -> Option<u16> {
        lite.selected().map(|pair| pair.remote.port())
    }

    #[test]
    fn the_first_address_serves_until_another_is_nominated_and_each_nomination_counts() {
        let mut lite = lite();
        let [plain, nominating] =
            [false, true].map(|nominates| check("here:page", PASSWORD, nominates, true));
        let mut feed = |port, datagram: &[u8]| {
            assert_eq!(feed(&mut lite, Instant::ZERO, port, datagram), 1);
            selected(&lite).unwrap()
        };
        assert_eq!(feed(10, &plain), 10);
        assert_eq!(feed(11, &plain), 10);
        assert_eq!(feed(12, &nominating), 12);
        assert_eq!(feed(10, &plain), 12);
        assert_eq!(feed(11, &nominating), 11);
    }

    #[test]
    fn checks_with_other_names_or_passwords_get_nothing() {
        let mut lite = lite();
        for (names, password) in [
            ("here:other", PASSWORD),
            ("other:page", PASSWORD),
            ("page:here", PASSWORD),
            ("here:page", "9123456789012345678901"),
        ] {
            let datagram = check(names, password, true, true);
            assert_eq!(feed(&mut lite, Instant::ZERO, 10, &datagram), 0, "{names}");
        }
        assert!(lite.selected().is_none() && !lite.has_verified(at(10)));
    }

    #[test]
    fn a_peer_that_believes_to_be_controlled_is_told_otherwise() {
        let mut lite = lite();
        let datagram = check("here:page", PASSWORD, false, false);
        assert_eq!(feed(&mut lite, Instant::ZERO, 10, &datagram), 1);
        assert!(lite.selected().is_none() && !lite.has_verified(at(10)));
    }

    #[test]
    fn consent_lasts_for_thirty_seconds_from_the_last_check() {
        let mut lite = lite();
        let datagram = check("here:page", PASSWORD, true, true);
        assert_eq!(lite.poll_timeout(), Some(Instant::from_millis(30_000)));
        feed(&mut lite, Instant::from_millis(20_000), 10, &datagram);
        lite.handle_timeout(Instant::from_millis(49_999));
        assert!(!lite.is_lost());
        lite.handle_timeout(Instant::from_millis(50_000));
        assert!(lite.is_lost() && lite.selected().is_none() && lite.poll_timeout().is_none());
        assert_eq!(feed(&mut lite, Instant::from_millis(50_001), 10, &datagram), 0);
    }

    #[test]
    fn addresses_and_answers_are_bounded() {
        let mut lite = lite();
        let datagram = check("here:page", PASSWORD, false, true);
        for port in 1..=1000 {
            let meta =
                DatagramMeta { local: at(1), remote: at(port), ecn: Ecn::NotEct, origin: None };
            lite.handle_stun(Instant::ZERO, meta, &datagram);
        }
        assert_eq!(core::iter::from_fn(|| lite.poll_transmit()).count(), 32);
        assert_eq!((1..=1000).filter(|port| lite.has_verified(at(*port))).count(), 16);
    }
}
