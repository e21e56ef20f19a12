//! Set-up of an association (RFC 9260, sections 5.1 and 5.2): the steps of each side.

use core::net::SocketAddr;
use std::sync::Arc;

use base::{DatagramMeta, Duration, Instant, Origin, RandomStream};
use bytes::Bytes;
use recovery::PathId;

use super::{Association, Ends, Identity};
use crate::authentication::draw_vector;
use crate::control::{Control, OwnedCause};
use crate::cookie::StateCookie;
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::options::AssociationOptions;
use crate::paths::addresses::listed_addresses;
use crate::phase::Phase;
use crate::setup::handshake::Handshake;
use crate::setup::schedule::first_timeout;
use crate::setup::{
    Existing, FORWARD_TSN_SUPPORTED, Tags, init_ack_fault, peer_vector, recognizes_forward_tsn,
    vector_fault, wanted_chunks,
};
use crate::state::State;
use crate::wire::chunk::Init;
use crate::wire::parameter::emit_address;
use crate::wire::{Parameter, Parameters, VerificationTag};
use crate::zero_checksum;

/// Longest parameter that is reported as unrecognized.
const REPORT_LIMIT: usize = 256;

impl Association {
    /// Opens an association: once it [begins](Association::begin), INIT is sent to `ends`, and to
    /// the `further` addresses of the peer without an answer.
    pub(crate) fn connect(
        options: Arc<AssociationOptions>,
        identity: Identity,
        (ends, further): (Ends, &[SocketAddr]),
        random: &mut RandomStream,
    ) -> Association {
        let phase = Phase::CookieWait(Box::default());
        let mut own = Association::new(options, identity, ends, phase);
        own.decide(|paths, context| {
            further.iter().for_each(|remote| paths.add_named(context, *remote));
        });
        own.fit_fragments();
        if own.options.extensions.contains(Extensions::AUTHENTICATION) {
            let vector = draw_vector(wanted_chunks(&own.options), random);
            own.extensions.offer_authentication(vector);
        }
        own
    }

    /// Queues INIT and starts T1, unless it is running.
    pub(crate) fn begin(&mut self, now: Instant) {
        let Phase::CookieWait(handshake) = &mut self.phase else { return };
        if handshake.next_timeout().is_some() {
            return;
        }
        handshake.begin(now, first_timeout(&self.options.policy, Duration::ZERO));
        handshake.on_init(now);
        self.control.push(Control::Init);
    }

    /// Sends INIT to `remote`, where the peer has proved to be `origin`.
    pub(crate) fn begin_with(&mut self, now: Instant, remote: SocketAddr, origin: Origin) {
        self.origin = Some(Box::new(origin));
        self.paths.begin_at(remote);
        self.begin(now);
    }

    /// The peer, whose identity is proved, sends from an unknown address: it has moved, or has
    /// another one. Returns false if no path to it is possible.
    pub(crate) fn follow_peer(&mut self, now: Instant, meta: DatagramMeta) -> bool {
        let takes_part = self.state().sends_data() || self.state().receives_data();
        let follows = takes_part && self.decide(|paths, context| paths.follow(now, context, meta));
        self.fit_fragments();
        follows
    }

    /// A set-up association from a returned cookie.
    pub(crate) fn accept(
        now: Instant,
        meta: DatagramMeta,
        cookie: &StateCookie,
        (options, locals): (Arc<AssociationOptions>, Arc<Vec<SocketAddr>>),
        random: &mut RandomStream,
    ) -> Association {
        let identity = Identity {
            local_port: cookie.local_port,
            peer_port: cookie.peer_port,
            tags: Tags { local: cookie.local_tag, peer: cookie.peer_tag },
            local_initial_tsn: cookie.local_initial_tsn,
            peer_initial_tsn: cookie.peer_initial_tsn,
        };
        let ends = Ends { remote: meta.remote, local: Some(meta.local), locals };
        let mut own = Association::new(options, identity, ends, Phase::Established);
        own.origin = meta.origin.map(Box::new);
        if let Some(vectors) = &cookie.key_vectors {
            own.extensions.offer_authentication(vectors.own.clone());
        }
        // It has no messages yet that could exceed the streams.
        let _ = own.open_as(cookie);
        own.control.push(Control::CookieAck);
        own.announce(Event::Established);
        own.monitor_paths(now, random);
        own
    }

    /// Opens both sides by a cookie, on all paths that it allows.
    fn open_as(&mut self, cookie: &StateCookie) -> Result<(), super::Closed> {
        self.paths.set_listed(cookie.further_addresses.as_slice().into());
        let peer = cookie.key_vectors.as_ref().map(|vectors| vectors.peer.clone());
        self.extensions.agree(cookie.extensions, peer, self.options.authentication.as_ref());
        let (outbound, inbound) = (cookie.outbound_streams, cookie.inbound_streams);
        self.open(cookie.peer_initial_tsn, cookie.peer_a_rwnd, outbound, inbound)?;
        self.decide(|paths, context| paths.complete(context, &cookie.further_addresses));
        self.fit_fragments();
        Ok(())
    }

    /// Action A of section 5.2.4: takes over from `old` what the restarted association keeps.
    pub(crate) fn restart(&mut self, old: &mut Association) {
        while self.poll_event().is_some() {}
        if let (Some(rx), Some(received)) = (&mut self.rx, old.rx.take()) {
            // Acknowledged data can still be read.
            rx.inherit(received);
        }
        let records_events = old.tx.recovery().records_events();
        self.tx.recovery_mut().set_events_enabled(records_events);
        self.announce(Event::Restarted);
    }

    /// Facts about the association for a set-up that meets it.
    pub(crate) fn as_existing(&self) -> Existing<'_> {
        Existing {
            options: &self.options,
            state: self.state(),
            tags: self.identity.tags,
            local_initial_tsn: self.identity.local_initial_tsn,
            vector: self.extensions.authentication().map(|own| own.own()),
        }
    }

    /// Whether this side offered to accept packets without a checksum.
    pub(crate) fn takes_zero_checksum(&self) -> bool {
        self.extensions.takes_zero_checksum()
    }

    /// Addresses of an INIT that are unknown to the association which it would restart (sections
    /// 5.2.1 and 5.2.2), in the form of the cause; `None` if the association does not know any
    /// yet.
    pub(crate) fn new_addresses(
        &self,
        meta: DatagramMeta,
        init: &Init<Parameters<'_>>,
    ) -> Option<Bytes> {
        if matches!(self.state(), State::CookieWait | State::Closed) {
            return None;
        }
        let mut added = Vec::new();
        for address in listed_addresses(&init.parameters, meta.remote.ip()) {
            if !self.paths.lead_to(address) && !self.paths.was_listed(address) {
                emit_address(&mut added, address);
            }
        }
        (!added.is_empty()).then(|| added.into())
    }

    /// Processes INIT ACK, which is old in any state but COOKIE-WAIT.
    pub(super) fn on_init_ack(
        &mut self,
        now: Instant,
        path: PathId,
        init_ack: &Init<Parameters<'_>>,
    ) {
        let Phase::CookieWait(handshake) = &self.phase else {
            // Section 5.2.3: in any other state an INIT ACK is old.
            self.counters.chunks_dropped += 1;
            return;
        };
        let (round_trip, longest) = (handshake.round_trip(now), handshake.since_first(now));
        self.identity.tags.peer = init_ack.initiate_tag;
        if let Some((cause, what)) = init_ack_fault(init_ack) {
            return self.refuse_init_ack(cause, what);
        }
        if let Some(fault) = vector_fault(self.options.extensions, &init_ack.parameters) {
            return self.refuse_init_ack(OwnedCause::ProtocolViolation(fault), fault);
        }
        let cookie = init_ack.parameters.state_cookie().unwrap_or_default();
        self.report_parameters(&init_ack.parameters);
        let speaker = self.paths[path].remote().ip();
        self.paths.set_listed(listed_addresses(&init_ack.parameters, speaker));
        self.decide(|paths, context| paths.on_answer_from(context, path));
        self.fit_fragments();
        let agreed = self.options.extensions.agreed(&init_ack.parameters, true)
            | zero_checksum::agreed(self.options.zero_checksum, &init_ack.parameters);
        let peer = peer_vector(agreed, &init_ack.parameters);
        self.extensions.agree(agreed, peer, self.options.authentication.as_ref());
        self.note_round_trip(round_trip);
        let (outbound, inbound) = self.options.offered_streams();
        let outbound = outbound.min(init_ack.inbound_streams);
        let inbound = inbound.min(init_ack.outbound_streams);
        if self.open(init_ack.initial_tsn, init_ack.a_rwnd, outbound, inbound).is_err() {
            return;
        }
        self.phase.echo_cookie(cookie.into());
        self.control.push_first(Control::CookieEcho);
        self.begin_attempts(now, longest);
    }

    /// Starts T1 before INIT or COOKIE ECHO leaves for the first time. The round trip is at most
    /// `longest`, unless that is zero.
    fn begin_attempts(&mut self, now: Instant, longest: Duration) {
        let is_measured = self.tx.recovery().srtt(self.control_route()).is_some();
        let wait = match is_measured {
            true => self.control_rto(),
            false => first_timeout(&self.options.policy, longest),
        };
        if let Some(handshake) = self.phase.handshake_mut() {
            handshake.begin(now, wait);
        }
    }

    /// Takes the RTT sample of an answered INIT or COOKIE ECHO.
    fn note_round_trip(&mut self, round_trip: Option<Duration>) {
        if let Some(sample) = round_trip {
            let path = self.control_route();
            self.tx.recovery_mut().on_rtt_sample(path, sample);
        }
    }

    /// Ends an association that is impossible with an ABORT, even without a tag for it.
    fn refuse_init_ack(&mut self, cause: OwnedCause, what: &'static str) {
        let failure = Failure::ProtocolViolation(what);
        if self.identity.tags.peer == VerificationTag(0) {
            self.control.end_with(Some(Control::ReflectedAbort(cause)));
            return self.fail(failure);
        }
        self.abort_with(cause, failure);
    }

    /// Reports unrecognised parameters of INIT ACK with the COOKIE ECHO.
    fn report_parameters(&mut self, parameters: &Parameters<'_>) {
        let mut report = |report: Bytes| {
            self.control.push_answer(
                self.tx.fragment_size(),
                Control::Error(OwnedCause::UnrecognizedParameters(report)),
            );
        };
        for parameter in parameters.iter() {
            let own = self.options.extensions;
            if parameter == Ok(Parameter::ForwardTsnSupported) && !recognizes_forward_tsn(own) {
                report(Bytes::from_static(FORWARD_TSN_SUPPORTED));
            }
            let Ok(Parameter::Unrecognized(raw)) = parameter else { continue };
            let action = raw.parameter_type.unrecognized_action();
            if action.reports() && raw.bytes.len() <= REPORT_LIMIT {
                report(Bytes::copy_from_slice(raw.bytes));
            }
            if action.stops() {
                break;
            }
        }
    }

    /// Processes COOKIE ACK, which is ignored in any state but COOKIE-ECHOED.
    pub(super) fn on_cookie_ack(&mut self, now: Instant, random: &mut RandomStream) {
        let Phase::CookieEchoed(echo) = &self.phase else {
            // Section 5.2.5: silently discarded in any other state.
            return;
        };
        self.note_round_trip(echo.round_trip(now));
        self.establish(now, random);
    }

    /// Ends the handshake: the association is established.
    pub(super) fn establish(&mut self, now: Instant, random: &mut RandomStream) {
        self.phase = Phase::Established;
        self.liveness.clear_errors();
        let opening = |control: &Control| matches!(control, Control::Init | Control::CookieEcho);
        self.control.retain(|control| !opening(control));
        self.announce(Event::Established);
        self.monitor_paths(now, random);
    }

    /// Processes a COOKIE ECHO that confirms this association or collides with its own handshake
    /// (actions B and D): answers with COOKIE ACK.
    pub(crate) fn on_cookie_confirmed(
        &mut self,
        now: Instant,
        cookie: &StateCookie,
        random: &mut RandomStream,
    ) {
        let opening = self.state().is_opening();
        let collides = self.identity.tags.peer != cookie.peer_tag;
        self.identity.tags.peer = cookie.peer_tag;
        if opening && (collides || self.rx.is_none()) && self.open_as(cookie).is_err() {
            return;
        }
        if opening {
            self.establish(now, random);
        }
        // Section 3.3.12: first in its packet.
        self.control.push_first(Control::CookieAck);
    }

    /// The peer reported the cookie as stale (section 5.2.6): restarts the set-up.
    pub(super) fn on_stale_cookie(&mut self, now: Instant) {
        if !self.phase.handshake_mut().is_some_and(Handshake::on_stale_cookie) {
            return self.fail(Failure::StaleCookie);
        }
        self.phase.drop_cookie();
        self.identity.tags.peer = VerificationTag(0);
        self.rx = None;
        self.extensions.forget_peer();
        self.control.end_with(Some(Control::Init));
        self.begin_attempts(now, Duration::ZERO);
        if let Some(handshake) = self.phase.handshake_mut() {
            handshake.on_init(now);
        }
    }

    /// Handles an expiry of T1-init or T1-cookie (sections 5.1.4 and 5.1.6).
    pub(super) fn on_t1(&mut self, now: Instant) {
        let waits = matches!(self.phase, Phase::CookieWait(_));
        let Some(handshake) = self.phase.handshake_mut() else { return };
        if !handshake.retry(self.options.max_init_retransmits) {
            let failure = match handshake.refusals().any() {
                true => Failure::NoListener,
                false => Failure::NoAnswer,
            };
            return self.fail(failure);
        }
        self.counters.setup_retransmissions += 1;
        if waits {
            handshake.on_init(now);
            // COOKIE ECHO is sent to the source of INIT ACK, for which alone the cookie is valid.
            self.switch_control_path();
            self.control.push_first_once(Control::Init);
        } else {
            self.control.push_first_once(Control::CookieEcho);
        }
        if let Some(handshake) = self.phase.handshake_mut() {
            handshake.back_off(now, &self.options.policy);
        }
    }
}
