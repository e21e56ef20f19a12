//! How associations begin (RFC 9260, sections 5.1 and 5.2).
//!
//! The side that accepts keeps nothing until COOKIE ECHO: [`answer_init`] puts all it learned into a
//! signed state cookie, and [`judge_cookie`] says what a returned one means for an association that
//! exists already.

use core::net::SocketAddr;
use std::sync::Arc;

use base::{DatagramMeta, Instant, RandomStream};
use bytes::Bytes;

use crate::association::{Association, Control, Identity, OwnedCause, State, Timer};
use crate::authentication::{
    Authentication, KeyVector, KeyVectors, VectorFault, draw_vector, wanted_types,
};
use crate::cookie::{CookieKey, StateCookie};
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::options::{AssociationOptions, EndpointOptions};
use crate::paths::addresses::listed_addresses;
use crate::wire::chunk::Init;
use crate::wire::parameter::emit_address;
use crate::wire::signing::ChunkTypes;
use crate::wire::{ChunkType, CommonHeader, Parameter, Parameters, Tsn, VerificationTag};
use crate::zero_checksum::{self, ErrorDetection};

mod refusals;
mod schedule;

pub(crate) use self::refusals::Refusals;
use self::schedule::setup_timeout;

/// Stale cookies after which an association is given up.
const STALE_COOKIE_LIMIT: u8 = 3;

/// The parameter Forward-TSN-Supported as it stands on the wire (RFC 3758, section 3.1).
const FORWARD_TSN_SUPPORTED: &[u8] = &[0xc0, 0, 0, 4];

/// Longest part of a refused parameter that is sent back; a host name has 255 bytes at the most.
const REPORT_LIMIT: usize = 260;

/// A tag that no packet may carry by chance: any number but 0.
pub(crate) fn draw_tag(random: &mut RandomStream) -> VerificationTag {
    VerificationTag(random.next_u32().max(1))
}

/// The first TSN of a new association.
pub(crate) fn draw_tsn(options: &EndpointOptions, random: &mut RandomStream) -> Tsn {
    let drawn = Tsn(random.next_u32());
    options.initial_tsn.unwrap_or(drawn)
}

/// What an endpoint answers to an INIT, all of it derived from the INIT and its own secrets.
#[derive(Clone, Debug)]
pub(crate) struct InitAnswer {
    pub(crate) cookie: StateCookie,
    /// Extensions that this side offers, whatever the peer knows.
    pub(crate) offered: Extensions,
    /// The same of packets without a checksum.
    pub(crate) zero_checksum: Option<ErrorDetection>,
    /// Parameters of the INIT that were not recognised and are to be reported, header and all.
    pub(crate) unrecognized: Vec<Bytes>,
    /// This side's addresses, to be named.
    pub(crate) locals: Arc<Vec<SocketAddr>>,
}

/// What an endpoint draws on to answer an INIT.
#[derive(Debug)]
pub(crate) struct Answering<'a> {
    pub(crate) options: &'a EndpointOptions,
    pub(crate) tie_key: &'a CookieKey,
    pub(crate) locals: &'a Arc<Vec<SocketAddr>>,
    pub(crate) random: &'a mut RandomStream,
}

/// The answer to a valid INIT. `existing` is the association that the peer has with us already: in
/// COOKIE-WAIT and COOKIE-ECHOED it answers with the tag and TSN of its own INIT (section 5.2.1), else
/// with new ones and its tags as tie-tags (section 5.2.2).
pub(crate) fn answer_init(
    now: Instant,
    meta: DatagramMeta,
    header: CommonHeader,
    init: &Init<Parameters<'_>>,
    existing: Option<&Association>,
    own: Answering<'_>,
) -> InitAnswer {
    let Answering { options, tie_key, locals, random } = own;
    let accepted = existing.map_or(&options.accepted, |association| &association.options);
    let opening =
        existing.filter(|own| matches!(own.state, State::CookieWait | State::CookieEchoed { .. }));
    let (local_tag, local_initial_tsn) = match opening {
        Some(own) => (own.local_tag, own.local_initial_tsn),
        None => (draw_tag(random), draw_tsn(options, random)),
    };
    let knows_peer = existing.filter(|own| own.state != State::CookieWait);
    let tie_tags = knows_peer.map(|own| tie_key.tie_tags(own.local_tag, own.peer_tag));
    let (local_tie_tag, peer_tie_tag) = tie_tags.unwrap_or_default();
    let (lifetime, unrecognized) = read_parameters(&init.parameters, options, accepted.extensions);
    let extensions = accepted.extensions.agreed(&init.parameters, false)
        | zero_checksum::agreed(accepted.zero_checksum, &init.parameters);
    let own_vector =
        opening.and_then(|own| own.authentication.as_ref()).map(|own| own.own().clone());
    let key_vectors = peer_vector(extensions, &init.parameters).map(|peer| {
        let own = own_vector.unwrap_or_else(|| draw_vector(wanted_chunks(accepted), random));
        Box::new(KeyVectors { own, peer })
    });
    let cookie = StateCookie {
        created_at: now,
        lifetime,
        local_tag,
        peer_tag: init.initiate_tag,
        local_initial_tsn,
        peer_initial_tsn: init.initial_tsn,
        peer_a_rwnd: init.a_rwnd,
        outbound_streams: accepted.outbound_streams.min(init.inbound_streams),
        inbound_streams: accepted.inbound_streams.min(init.outbound_streams),
        local_port: header.destination_port,
        peer_port: header.source_port,
        local_tie_tag,
        peer_tie_tag,
        remote: meta.remote,
        further_addresses: listed_addresses(&init.parameters, meta.remote.ip()),
        extensions,
        key_vectors,
    };
    let offered = accepted.extensions.listed_to(&init.parameters);
    let zero_checksum = accepted.zero_checksum;
    let locals = Arc::clone(locals);
    InitAnswer { cookie, offered, zero_checksum, unrecognized, locals }
}

/// The peer's part of the keys, where both sides authenticate.
fn peer_vector(extensions: Extensions, parameters: &Parameters<'_>) -> Option<KeyVector> {
    let agreed = extensions.contains(Extensions::AUTHENTICATION);
    KeyVector::announced_by(parameters).ok().flatten().filter(|_| agreed)
}

/// Chunk types that an association with these options takes only authenticated: those that the
/// application chose, and those that RFC 5061, section 4.1, demands.
pub(crate) fn wanted_chunks(options: &AssociationOptions) -> ChunkTypes {
    let moves = options.extensions.contains(Extensions::ADDRESS_RECONFIGURATION);
    let further: &[ChunkType] =
        if moves { &[ChunkType::ASCONF, ChunkType::ASCONF_ACK] } else { &[] };
    wanted_types(options.authentication.as_ref(), further)
}

/// What is wrong with the peer's part of the keys, if this side offers to authenticate: such an
/// association is aborted with Protocol Violation (RFC 4895, sections 3 and 6.1).
pub(crate) fn vector_fault(own: Extensions, parameters: &Parameters<'_>) -> Option<&'static str> {
    let offers = own.contains(Extensions::AUTHENTICATION);
    let fault = KeyVector::announced_by(parameters).err().filter(|_| offers);
    fault.map(VectorFault::reason)
}

/// The cookie's lifetime, as the peer may ask for more, and the parameters to be reported
/// (section 3.2.1: the two upper bits of an unrecognised type say what to do).
fn read_parameters(
    parameters: &Parameters<'_>,
    options: &EndpointOptions,
    own: Extensions,
) -> (base::Duration, Vec<Bytes>) {
    let (mut lifetime, mut reports) = (options.cookie_life, Reports::default());
    for parameter in parameters.iter() {
        match parameter {
            Ok(Parameter::CookiePreservative(increment)) => {
                // No more than twice: a cookie is a promise to a stranger.
                lifetime = options.cookie_life + increment.min(options.cookie_life);
            }
            Ok(Parameter::Unrecognized(raw)) => {
                let action = raw.parameter_type.unrecognized_action();
                if action.reports() {
                    reports.push(raw.bytes);
                }
                if action.stops() {
                    break;
                }
            }
            Ok(Parameter::ForwardTsnSupported) if !recognizes_forward_tsn(own) => {
                reports.push(FORWARD_TSN_SUPPORTED);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    (lifetime, reports.parameters)
}

/// Bytes of parameters that are sent back in one INIT ACK at most: what a stranger sends is not to make the
/// answer large.
const REPORTS_LIMIT: usize = 400;

/// Bytes of the parameter around one that is sent back.
const PARAMETER_HEADER: usize = 4;

/// Parameters that are sent back as not recognized; those that do not fit go without a report.
#[derive(Default)]
struct Reports {
    parameters: Vec<Bytes>,
    /// Bytes of them, each with a header and padding.
    length: usize,
}

impl Reports {
    fn push(&mut self, parameter: &[u8]) {
        let length = self.length + PARAMETER_HEADER + parameter.len().next_multiple_of(4);
        if length <= REPORTS_LIMIT {
            self.length = length;
            self.parameters.push(Bytes::copy_from_slice(parameter));
        }
    }
}

/// Whether the parameter of RFC 3758 means anything to a side with these extensions; to one without, it
/// is one to be skipped and reported.
fn recognizes_forward_tsn(own: Extensions) -> bool {
    own.contains(Extensions::PARTIAL_RELIABILITY)
}

/// What makes an INIT ACK unusable: the cause for the peer, and the words for this side (sections
/// 3.3.3 and 5.1.2).
fn init_ack_fault(init_ack: &Init<Parameters<'_>>) -> Option<(OwnedCause, &'static str)> {
    if init_ack.validate().is_err() {
        let what = "INIT ACK with a tag, streams or a window of nothing";
        return Some((OwnedCause::InvalidMandatoryParameter, what));
    }
    if let Some(host_name) = init_ack.parameters.host_name() {
        let cause = OwnedCause::UnresolvableAddress(reported(host_name));
        return Some((cause, "INIT ACK with a host name"));
    }
    if init_ack.parameters.state_cookie().is_err() {
        return Some((OwnedCause::MissingStateCookie, "INIT ACK without a state cookie"));
    }
    None
}

/// Addresses of an INIT that the association `own`, which it would restart, does not know (sections
/// 5.2.1 and 5.2.2), as the cause repeats them; none where the association does not know any yet.
pub(crate) fn new_addresses(
    own: &Association,
    meta: DatagramMeta,
    init: &Init<Parameters<'_>>,
) -> Option<Bytes> {
    if matches!(own.state, State::CookieWait | State::Closed) {
        return None;
    }
    let mut added = Vec::new();
    for address in listed_addresses(&init.parameters, meta.remote.ip()) {
        let on_path = own.paths.iter().any(|path| path.leads_to(address));
        if !on_path && !own.listed_addresses.contains(&address) {
            emit_address(&mut added, address);
        }
    }
    (!added.is_empty()).then(|| added.into())
}

/// As much of a parameter as is sent back.
pub(crate) fn reported(parameter: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&parameter[..parameter.len().min(REPORT_LIMIT)])
}

/// What a COOKIE ECHO means for an association that exists (section 5.2.4, table 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieAction {
    /// A: the peer restarted.
    Restart,
    /// B: both sides began at once.
    Collision,
    /// C: late, to be discarded.
    Discard,
    /// D: a duplicate, or the handshake's end.
    Confirm,
}

/// Compares a cookie's tags with those of the association.
pub(crate) fn judge_cookie(
    cookie: &StateCookie,
    own: &Association,
    tie_key: &CookieKey,
) -> CookieAction {
    let local = cookie.local_tag == own.local_tag;
    let peer = cookie.peer_tag == own.peer_tag;
    let ties = (cookie.local_tie_tag, cookie.peer_tie_tag);
    match (local, peer) {
        (true, true) => CookieAction::Confirm,
        (true, false) => CookieAction::Collision,
        (false, false) if ties == tie_key.tie_tags(own.local_tag, own.peer_tag) => {
            CookieAction::Restart
        }
        _ => CookieAction::Discard,
    }
}

/// The association that a returned cookie describes, set up.
pub(crate) fn accept(
    now: Instant,
    meta: DatagramMeta,
    cookie: &StateCookie,
    options: Arc<AssociationOptions>,
    locals: Arc<Vec<SocketAddr>>,
    random: &mut RandomStream,
) -> Association {
    let identity = Identity {
        local_port: cookie.local_port,
        peer_port: cookie.peer_port,
        local_tag: cookie.local_tag,
        peer_tag: cookie.peer_tag,
        local_initial_tsn: cookie.local_initial_tsn,
        remote: meta.remote,
        local: Some(meta.local),
        locals,
    };
    let mut association = Association::new(options, identity, State::Established);
    association.extensions = cookie.extensions;
    if let Some(vectors) = &cookie.key_vectors {
        association.authentication = Some(Box::new(Authentication::new(vectors.own.clone())));
        association.agree_on_authentication(Some(vectors.peer.clone()));
    }
    // It has no messages yet that could be too many for the streams.
    let _ = association.open(
        cookie.peer_initial_tsn,
        cookie.peer_a_rwnd,
        cookie.outbound_streams,
        cookie.inbound_streams,
    );
    association.listed_addresses = cookie.further_addresses.as_slice().into();
    association.complete_paths(&cookie.further_addresses);
    association.push_control(Control::CookieAck);
    association.announce(Event::Established);
    association.start_heartbeats(now, random);
    association
}

impl Association {
    /// The application opens: INIT goes out.
    pub(crate) fn start(&mut self, now: Instant) {
        self.push_control(Control::Init);
        self.first_attempt_at = now;
        self.refusals.on_init(now);
        self.timers.arm(Timer::T1 as usize, now + self.options.policy.rto.initial);
    }

    /// The peer answered INIT.
    pub(crate) fn on_init_ack(
        &mut self,
        now: Instant,
        path: usize,
        init_ack: &Init<Parameters<'_>>,
    ) {
        if self.state != State::CookieWait {
            // Section 5.2.3: an INIT ACK at any other time is old.
            self.counters.chunks_dropped += 1;
            return;
        }
        self.peer_tag = init_ack.initiate_tag;
        if let Some((cause, what)) = init_ack_fault(init_ack) {
            return self.refuse_init_ack(cause, what);
        }
        if let Some(fault) = vector_fault(self.options.extensions, &init_ack.parameters) {
            return self.refuse_init_ack(OwnedCause::ProtocolViolation(fault), fault);
        }
        let cookie = init_ack.parameters.state_cookie().unwrap_or_default();
        self.report_parameters(&init_ack.parameters);
        let speaker = self.paths[path].remote.ip();
        self.listed_addresses = listed_addresses(&init_ack.parameters, speaker).into();
        self.on_answer_from(path);
        self.extensions = self.options.extensions.agreed(&init_ack.parameters, true)
            | zero_checksum::agreed(self.options.zero_checksum, &init_ack.parameters);
        self.agree_on_authentication(peer_vector(self.extensions, &init_ack.parameters));
        if self.attempts == 0 {
            let path = self.control_route();
            self.tx.recovery.on_rtt_sample(path, now.since(self.first_attempt_at));
        }
        let outbound = self.options.outbound_streams.min(init_ack.inbound_streams);
        let inbound = self.options.inbound_streams.min(init_ack.outbound_streams);
        if self.open(init_ack.initial_tsn, init_ack.a_rwnd, outbound, inbound).is_err() {
            return;
        }
        self.state = State::CookieEchoed { cookie: cookie.into() };
        self.attempts = 0;
        self.first_attempt_at = now;
        self.control.push_front(Control::CookieEcho);
        self.timers.arm(Timer::T1 as usize, now + self.control_rto());
    }

    /// An association that cannot be ends with an ABORT, even where there is no tag to send it with.
    fn refuse_init_ack(&mut self, cause: OwnedCause, what: &'static str) {
        let failure = Failure::ProtocolViolation(what);
        if self.peer_tag == VerificationTag(0) {
            self.control.clear();
            self.control.push_back(Control::ReflectedAbort(cause));
            return self.fail(failure);
        }
        self.abort_with(cause, failure);
    }

    /// Parameters of INIT ACK that are not recognised are reported with the COOKIE ECHO.
    fn report_parameters(&mut self, parameters: &Parameters<'_>) {
        for parameter in parameters.iter() {
            let own = self.options.extensions;
            if parameter == Ok(Parameter::ForwardTsnSupported) && !recognizes_forward_tsn(own) {
                let report = Bytes::from_static(FORWARD_TSN_SUPPORTED);
                self.push_control(Control::Error(OwnedCause::UnrecognizedParameters(report)));
            }
            let Ok(Parameter::Unrecognized(raw)) = parameter else { continue };
            let action = raw.parameter_type.unrecognized_action();
            if action.reports() && raw.bytes.len() <= 256 {
                let report = Bytes::copy_from_slice(raw.bytes);
                self.push_control(Control::Error(OwnedCause::UnrecognizedParameters(report)));
            }
            if action.stops() {
                break;
            }
        }
    }

    /// The peer accepted the cookie.
    pub(crate) fn on_cookie_ack(&mut self, now: Instant, random: &mut RandomStream) {
        if !matches!(self.state, State::CookieEchoed { .. }) {
            // Section 5.2.5: silently discarded in any other state.
            return;
        }
        if self.attempts == 0 {
            let path = self.control_route();
            self.tx.recovery.on_rtt_sample(path, now.since(self.first_attempt_at));
        }
        self.establish(now, random);
    }

    /// The handshake is over.
    pub(crate) fn establish(&mut self, now: Instant, random: &mut RandomStream) {
        self.state = State::Established;
        self.timers.stop(Timer::T1 as usize);
        self.attempts = 0;
        self.error_count = 0;
        let opening = |control: &Control| matches!(control, Control::Init | Control::CookieEcho);
        self.control.retain(|control| !opening(control));
        self.announce(Event::Established);
        self.start_heartbeats(now, random);
    }

    /// A COOKIE ECHO that confirms this association or collides with its own handshake
    /// (actions B and D): answered with COOKIE ACK.
    pub(crate) fn on_cookie_confirmed(
        &mut self,
        now: Instant,
        cookie: &StateCookie,
        random: &mut RandomStream,
    ) {
        let opening = matches!(self.state, State::CookieWait | State::CookieEchoed { .. });
        let collides = self.peer_tag != cookie.peer_tag;
        self.peer_tag = cookie.peer_tag;
        if opening && (collides || self.rx.is_none()) {
            self.listed_addresses = cookie.further_addresses.as_slice().into();
            self.extensions = cookie.extensions;
            self.agree_on_authentication(cookie.key_vectors.as_ref().map(|v| v.peer.clone()));
            let (outbound, inbound) = (cookie.outbound_streams, cookie.inbound_streams);
            let (tsn, a_rwnd) = (cookie.peer_initial_tsn, cookie.peer_a_rwnd);
            if self.open(tsn, a_rwnd, outbound, inbound).is_err() {
                return;
            }
            self.complete_paths(&cookie.further_addresses);
        }
        if opening {
            self.establish(now, random);
        }
        // Section 3.3.12: before anything else in its packet.
        self.control.push_front(Control::CookieAck);
    }

    /// The peer found the cookie stale (section 5.2.6): begin anew.
    pub(crate) fn on_stale_cookie(&mut self, now: Instant) {
        self.stale_cookies += 1;
        if self.stale_cookies >= STALE_COOKIE_LIMIT {
            return self.fail(Failure::StaleCookie);
        }
        self.state = State::CookieWait;
        self.peer_tag = VerificationTag(0);
        self.rx = None;
        if let Some(own) = &mut self.authentication {
            own.forget_peer();
        }
        self.attempts = 0;
        self.first_attempt_at = now;
        self.control.clear();
        self.refusals.on_init(now);
        self.push_control(Control::Init);
        self.timers.arm(Timer::T1 as usize, now + self.control_rto());
    }

    /// T1-init or T1-cookie expired (sections 5.1.4 and 5.1.6).
    pub(crate) fn on_t1(&mut self, now: Instant) {
        let control = match self.state {
            State::CookieWait => Control::Init,
            State::CookieEchoed { .. } => Control::CookieEcho,
            _ => return,
        };
        if self.attempts >= self.options.max_init_retransmits {
            let failure = match self.refusals.any {
                true => Failure::NobodyThere,
                false => Failure::NoAnswer,
            };
            return self.fail(failure);
        }
        self.attempts += 1;
        self.counters.setup_retransmissions += 1;
        if self.state == State::CookieWait {
            self.refusals.on_init(now);
            // COOKIE ECHO goes where INIT ACK came from: the cookie is good for no other.
            self.turn_control_path();
        }
        if !self.control.contains(&control) {
            self.control.push_front(control);
        }
        let base = match self.state {
            State::CookieWait => self.options.policy.rto.initial,
            _ => self.control_rto(),
        };
        let wait = setup_timeout(&self.options.policy, base, self.attempts);
        self.timers.arm(Timer::T1 as usize, now + wait);
    }
}
