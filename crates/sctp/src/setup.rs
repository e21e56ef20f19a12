//! How associations begin (RFC 9260, sections 5.1 and 5.2).
//!
//! The side that accepts keeps nothing until COOKIE ECHO: [`answer_init`] puts all it learned into a
//! signed state cookie, and [`judge_cookie`] says what a returned one means for an association that
//! exists already. The side that opens counts its attempts in a [`handshake`].

use core::net::SocketAddr;
use std::sync::Arc;

use base::{DatagramMeta, Instant, RandomStream};
use bytes::Bytes;

use crate::authentication::vector::{KeyVector, KeyVectors, VectorFault};
use crate::authentication::{draw_vector, wanted_types};
use crate::control::OwnedCause;
use crate::cookie::{CookieKey, StateCookie};
use crate::extensions::Extensions;
use crate::options::{AssociationOptions, EndpointOptions};
use crate::paths::addresses::listed_addresses;
use crate::state::State;
use crate::wire::chunk::Init;
use crate::wire::signing::ChunkTypes;
use crate::wire::{ChunkType, CommonHeader, Parameter, Parameters, Tsn, VerificationTag};
use crate::zero_checksum::{self, ErrorDetection};

pub(crate) mod handshake;
mod refusals;
pub(crate) mod schedule;

/// The parameter Forward-TSN-Supported as it stands on the wire (RFC 3758, section 3.1).
pub(crate) const FORWARD_TSN_SUPPORTED: &[u8] = &[0xc0, 0, 0, 4];

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

/// What is known of an association that a set-up meets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Existing<'a> {
    pub(crate) options: &'a AssociationOptions,
    pub(crate) state: State,
    pub(crate) tags: Tags,
    pub(crate) local_initial_tsn: Tsn,
    /// This side's part of the keys, where it offers to authenticate.
    pub(crate) vector: Option<&'a KeyVector>,
}

/// The verification tags of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// In packets that the peer sends.
    pub(crate) local: VerificationTag,
    /// In packets that this side sends; 0 until the peer told it.
    pub(crate) peer: VerificationTag,
}

/// What an endpoint answers to an INIT, all of it derived from the INIT and its own secrets.
#[derive(Clone, Debug)]
pub(crate) struct InitAnswer {
    pub(crate) cookie: StateCookie,
    /// Extensions that this side offers, whatever the peer knows.
    pub(crate) offered: Extensions,
    /// How errors are detected, where this side offers to take packets without a checksum.
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
    existing: Option<Existing<'_>>,
    own: Answering<'_>,
) -> InitAnswer {
    let Answering { options, tie_key, locals, random } = own;
    let accepted = existing.map_or(&options.accepted, |own| own.options);
    let opening = existing.filter(|own| own.state.is_opening());
    let (local_tag, local_initial_tsn) = match opening {
        Some(own) => (own.tags.local, own.local_initial_tsn),
        None => (draw_tag(random), draw_tsn(options, random)),
    };
    let knows_peer = existing.filter(|own| own.state != State::CookieWait);
    let tie_tags = knows_peer.map(|own| tie_key.tie_tags(own.tags.local, own.tags.peer));
    let (local_tie_tag, peer_tie_tag) = tie_tags.unwrap_or_default();
    let (lifetime, unrecognized) = read_parameters(&init.parameters, options, accepted.extensions);
    let extensions = accepted.extensions.agreed(&init.parameters, false)
        | zero_checksum::agreed(accepted.zero_checksum, &init.parameters);
    let own_vector = opening.and_then(|own| own.vector).cloned();
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
pub(crate) fn peer_vector(
    extensions: Extensions,
    parameters: &Parameters<'_>,
) -> Option<KeyVector> {
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
/// association is aborted with Protocol Violation (RFC 4895, sections 3 and 6.1; RFC 5061, section 6).
pub(crate) fn vector_fault(own: Extensions, parameters: &Parameters<'_>) -> Option<&'static str> {
    if own.are_unsafe_with(parameters) {
        return Some("ASCONF without AUTH");
    }
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
pub(crate) fn recognizes_forward_tsn(own: Extensions) -> bool {
    own.contains(Extensions::PARTIAL_RELIABILITY)
}

/// What makes an INIT ACK unusable: the cause for the peer, and the words for this side (sections
/// 3.3.3 and 5.1.2).
pub(crate) fn init_ack_fault(
    init_ack: &Init<Parameters<'_>>,
) -> Option<(OwnedCause, &'static str)> {
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
pub(crate) fn judge_cookie(cookie: &StateCookie, own: Tags, tie_key: &CookieKey) -> CookieAction {
    let local = cookie.local_tag == own.local;
    let peer = cookie.peer_tag == own.peer;
    let ties = (cookie.local_tie_tag, cookie.peer_tie_tag);
    match (local, peer) {
        (true, true) => CookieAction::Confirm,
        (true, false) => CookieAction::Collision,
        (false, false) if ties == tie_key.tie_tags(own.local, own.peer) => CookieAction::Restart,
        _ => CookieAction::Discard,
    }
}
