//! INIT and COOKIE ECHO: packets that may begin an association, meet an existing one, or only get
//! an answer without state (RFC 9260, sections 5.1 and 5.2).

use std::sync::Arc;

use base::{DatagramMeta, Duration, Instant};

use super::out_of_the_blue::{Reply, is_between_hosts};
use super::routing::{first_but_auth, is_from_peer};
use super::{AssociationId, Endpoint, KEY_LIFE, draw_key};
use crate::association::Association;
use crate::control::OwnedCause;
use crate::cookie::{CookieError, StateCookie};
use crate::setup::{self, CookieAction};
use crate::state::State;
use crate::wire::chunk::{Init, InitAck, InitFault};
use crate::wire::{Chunk, Packet, Parameters, VerificationTag};

impl Endpoint {
    #[cold]
    pub(super) fn on_init(&mut self, now: Instant, meta: DatagramMeta, packet: &Packet) {
        if !is_between_hosts(meta) {
            self.stats.out_of_the_blue += 1;
            return;
        }
        let header = packet.header();
        let mut chunks = packet.chunks();
        let Some(Ok(Chunk::Init(init))) = chunks.next() else {
            self.stats.malformed += 1;
            return;
        };
        // Section 8.5.1, rule A, and section 3.3.2: INIT is alone in its packet, with tag 0, and
        // offers a tag.
        if header.verification_tag != VerificationTag(0)
            || chunks.next().is_some()
            || init.initiate_tag == VerificationTag(0)
        {
            self.stats.wrong_tag += 1;
            return;
        }
        let existing = self.by_peer(meta, header.source_port);
        if init.validate().is_err() {
            let cause = OwnedCause::InvalidMandatoryParameter;
            return self.reply(Reply::abort(meta, header, init.initiate_tag, cause));
        }
        if init.parameters.fault().is_some() {
            let cause = OwnedCause::ProtocolViolation("INIT with a malformed parameter");
            return self.reply(Reply::abort(meta, header, init.initiate_tag, cause));
        }
        if let Some(host_name) = init.parameters.host_name() {
            let cause = OwnedCause::UnresolvableAddress(setup::reported(host_name));
            return self.reply(Reply::abort(meta, header, init.initiate_tag, cause));
        }
        let own = existing.and_then(|id| self.table.get(id));
        let offered = own.map_or(&self.options.accepted, |own| own.options()).extensions;
        if let Some(fault) = setup::vector_fault(offered, &init.parameters) {
            let cause = OwnedCause::ProtocolViolation(fault);
            return self.reply(Reply::abort(meta, header, init.initiate_tag, cause));
        }
        if let Some(added) = own.and_then(|own| own.new_addresses(meta, &init)) {
            let cause = OwnedCause::RestartWithNewAddresses(added);
            return self.reply(Reply::abort(meta, header, init.initiate_tag, cause));
        }
        match own.map(Association::state) {
            Some(State::ShutdownAckSent) => {
                // Section 9.2: the peer has not received SHUTDOWN ACK.
                if let Some(id) = existing {
                    self.with(id, |own, _| own.repeat_shutdown_ack());
                }
            }
            Some(State::Closed) | None if !self.options.listen => {
                self.stats.out_of_the_blue += 1;
                self.reply(Reply::refusal(meta, header, init.initiate_tag));
            }
            _ => self.answer_init(now, meta, packet, &init, existing),
        }
    }

    fn answer_init(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        packet: &Packet,
        init: &Init<Parameters<'_>>,
        existing: Option<AssociationId>,
    ) {
        self.stats.inits += 1;
        self.rotate_keys(now);
        let own = existing.and_then(|id| self.table.get(id)).filter(|own| !own.is_closed());
        // Section 5.2.1: the parameters of an association that exists are those that it offered.
        let offered = own.map_or(&self.options.accepted, |own| own.options());
        let a_rwnd = offered.offered_window();
        let own = own.map(Association::as_existing);
        let answering = setup::Answering {
            options: &self.options,
            tie_key: &self.tie_key,
            locals: &self.locals,
            random: &mut self.random,
        };
        let answer = setup::answer_init(now, meta, packet.header(), init, own, answering);
        let cookie = answer.cookie.seal(&self.keys[0]);
        self.reply(Reply::init_ack(meta, answer, cookie, a_rwnd));
    }

    /// Section 3.3.3: an INIT ACK with a window below 1500 bytes is discarded and answered, and the
    /// attempt continues. Outside COOKIE-WAIT every INIT ACK is discarded (section 5.2.3).
    pub(super) fn refuses_init_ack(
        &mut self,
        id: AssociationId,
        meta: DatagramMeta,
        packet: &Packet,
    ) -> bool {
        let waits = self.table.get(id).is_some_and(|own| own.state() == State::CookieWait);
        let mut chunks = packet.chunks();
        let (Some(Ok(Chunk::InitAck(InitAck(init)))), None, true) =
            (chunks.next(), chunks.next(), waits)
        else {
            return false;
        };
        let refused = init.validate() == Err(InitFault::WindowTooSmall);
        if refused {
            self.stats.malformed += 1;
            let cause = OwnedCause::InvalidMandatoryParameter;
            self.reply(Reply::abort(meta, packet.header(), init.initiate_tag, cause));
        }
        refused
    }

    #[cold]
    pub(super) fn on_cookie_echo(&mut self, now: Instant, meta: DatagramMeta, packet: &Packet) {
        let header = packet.header();
        let Some(Chunk::CookieEcho(echo)) = first_but_auth(packet) else {
            self.stats.malformed += 1;
            return;
        };
        let (cookie, stale_by) = match StateCookie::open(echo.cookie, &self.keys, now) {
            Ok(cookie) => (cookie, None),
            Err(CookieError::Stale { by, cookie }) => (*cookie, Some(by)),
            Err(CookieError::Malformed | CookieError::BadSignature) => {
                self.stats.cookies_refused += 1;
                return;
            }
        };
        // Section 5.1.5: ports, tag and address must be those of the INIT.
        let same_peer = cookie.local_port == header.destination_port
            && cookie.peer_port == header.source_port
            && cookie.local_tag == header.verification_tag
            && cookie.remote.ip() == meta.remote.ip();
        if !same_peer {
            self.stats.cookies_refused += 1;
            return;
        }
        // Looked up by its tag first, since the peer's NAT may have moved it since INIT.
        let by_tag = self.table.by_tag(header.verification_tag).filter(|id| {
            self.table.get(*id).is_some_and(|own| is_from_peer(own, &meta, header.source_port))
        });
        let existing = by_tag
            .or_else(|| self.by_peer(meta, header.source_port))
            .filter(|id| self.table.get(*id).is_some_and(|own| !own.is_closed()));
        if !self.admits_cookie(existing, packet, &cookie) {
            self.stats.cookies_refused += 1;
            return;
        }
        match existing {
            Some(id) => self.on_cookie_for(now, id, meta, packet, &cookie, stale_by),
            None => match stale_by {
                Some(by) => self.refuse_stale(meta, packet, &cookie, by),
                None => self.accept(now, meta, packet, &cookie),
            },
        }
    }

    /// RFC 4895, section 6.3: the keys are those of the existing association if it has them,
    /// otherwise those in the cookie.
    fn admits_cookie(
        &self,
        existing: Option<AssociationId>,
        packet: &Packet,
        cookie: &StateCookie,
    ) -> bool {
        let own = existing.and_then(|id| self.table.get(id));
        let options = own.map_or(&self.options.accepted, |own| own.options());
        let keys = options.authentication.clone().unwrap_or_default();
        let known = own.and_then(Association::authentication);
        match (known.filter(|own| own.is_established()), &cookie.key_vectors) {
            (Some(own), _) => own.admits_cookie(packet, &keys),
            (None, Some(vectors)) => {
                vectors.clone().authentication(&keys).admits_cookie(packet, &keys)
            }
            (None, None) => true,
        }
    }

    fn refuse_stale(
        &mut self,
        meta: DatagramMeta,
        packet: &Packet,
        cookie: &StateCookie,
        by: Duration,
    ) {
        self.stats.cookies_refused += 1;
        self.reply(Reply::stale_cookie(meta, packet.header(), cookie.peer_tag, by));
    }

    fn accept(&mut self, now: Instant, meta: DatagramMeta, packet: &Packet, cookie: &StateCookie) {
        if !self.options.listen {
            self.stats.cookies_refused += 1;
            return self.reply(Reply::refusal(meta, packet.header(), cookie.peer_tag));
        }
        if self.table.by_tag(cookie.local_tag).is_some() {
            // The tag is in use, or the cookie was returned after its association ended and another
            // one got the tag: the peer tries again.
            self.stats.cookies_refused += 1;
            return;
        }
        if !self.admits(now, meta, packet, cookie) {
            return;
        }
        let options = self.share(self.options.accepted.clone());
        let locals = Arc::clone(&self.locals);
        let with = (options, locals);
        let association = Association::accept(now, meta, cookie, with, &mut self.random);
        self.random.rest();
        let id = self.table.insert(association);
        self.enter(now, id);
        self.deliver(now, id, &meta, packet);
    }

    fn on_cookie_for(
        &mut self,
        now: Instant,
        id: AssociationId,
        meta: DatagramMeta,
        packet: &Packet,
        cookie: &StateCookie,
        stale_by: Option<Duration>,
    ) {
        let Some(own) = self.table.get(id) else { return };
        let action = setup::judge_cookie(cookie, own.as_existing().tags, &self.tie_key);
        let shutting_down = own.state() == State::ShutdownAckSent;
        if let (Some(by), true) = (stale_by, action != CookieAction::Confirm) {
            return self.refuse_stale(meta, packet, cookie, by);
        }
        match action {
            CookieAction::Discard => self.stats.cookies_refused += 1,
            CookieAction::Restart if shutting_down => self.with(id, |own, _| own.refuse_restart()),
            CookieAction::Restart => self.restart(now, id, meta, packet, cookie),
            CookieAction::Collision | CookieAction::Confirm => {
                self.with(id, |own, random| own.on_cookie_confirmed(now, cookie, random));
                self.deliver(now, id, &meta, packet);
            }
        }
    }

    /// Action A of section 5.2.4: the association keeps its id for the application and restarts.
    fn restart(
        &mut self,
        now: Instant,
        id: AssociationId,
        meta: DatagramMeta,
        packet: &Packet,
        cookie: &StateCookie,
    ) {
        let Some(own) = self.table.get_mut(id) else { return };
        let with = (Arc::clone(own.options()), Arc::clone(&self.locals));
        let mut anew = Association::accept(now, meta, cookie, with, &mut self.random);
        anew.restart(own);
        self.table.replace(id, anew);
        self.deliver(now, id, &meta, packet);
    }

    pub(super) fn rotate_keys(&mut self, now: Instant) {
        if now.since(self.key_since) >= KEY_LIFE {
            self.keys.swap(0, 1);
            self.keys[0] = draw_key(&mut self.random);
            self.key_since = now;
        }
    }
}
