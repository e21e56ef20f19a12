//! Set-up of associations (RFC 9260, sections 5.1 and 5.2).
//!
//! The accepting side stores nothing until COOKIE ECHO: [`answer_init`] puts all data into a signed
//! state cookie, and [`judge_cookie`] decides what a returned cookie means for an existing
//! association. The opening side counts its attempts in a [`handshake`].

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

/// The parameter Forward-TSN-Supported in its wire form (RFC 3758, section 3.1).
pub(crate) const FORWARD_TSN_SUPPORTED: &[u8] = &[0xc0, 0, 0, 4];

/// Longest part of a rejected parameter that is returned; a host name has at most 255 bytes.
const REPORT_LIMIT: usize = 260;

/// Draws the first TSN of a new association, unless the options fix it.
pub(crate) fn draw_tsn(options: &EndpointOptions, random: &mut RandomStream) -> Tsn {
    let drawn = Tsn(random.next_u32());
    options.initial_tsn.unwrap_or(drawn)
}

/// Facts about an existing association that a set-up meets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Existing<'a> {
    pub(crate) options: &'a AssociationOptions,
    pub(crate) state: State,
    pub(crate) tags: Tags,
    pub(crate) local_initial_tsn: Tsn,
    /// This side's key vector, if it offers authentication.
    pub(crate) vector: Option<&'a KeyVector>,
}

/// The verification tags of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// Tag in packets that the peer sends.
    pub(crate) local: VerificationTag,
    /// Tag in packets that this side sends; 0 until it is known.
    pub(crate) peer: VerificationTag,
}

/// An endpoint's answer to an INIT, derived from the INIT and the endpoint's secrets only.
#[derive(Clone, Debug)]
pub(crate) struct InitAnswer {
    pub(crate) cookie: StateCookie,
    /// Extensions that this side offers, whatever the peer supports.
    pub(crate) offered: Extensions,
    /// Error detection method, if this side offers to accept packets without a checksum.
    pub(crate) zero_checksum: Option<ErrorDetection>,
    /// Unrecognised parameters of the INIT that are reported, with headers.
    pub(crate) unrecognized: Vec<Bytes>,
    /// This side's addresses, to be listed.
    pub(crate) locals: Arc<Vec<SocketAddr>>,
}

/// Inputs of the answer to an INIT.
#[derive(Debug)]
pub(crate) struct Answering<'a> {
    pub(crate) options: &'a EndpointOptions,
    pub(crate) tie_key: &'a CookieKey,
    pub(crate) locals: &'a Arc<Vec<SocketAddr>>,
    pub(crate) random: &'a mut RandomStream,
}

/// The answer to a valid INIT. `existing` is the association that exists with the peer: in
/// COOKIE-WAIT and COOKIE-ECHOED the answer has the tag and TSN of its own INIT (section 5.2.1),
/// otherwise new ones, and its tags as tie-tags (section 5.2.2).
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
        None => (options.shard.draw_tag(random), draw_tsn(options, random)),
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
    let (outbound_streams, inbound_streams) = accepted.offered_streams();
    let cookie = StateCookie {
        created_at: now,
        lifetime,
        local_tag,
        peer_tag: init.initiate_tag,
        local_initial_tsn,
        peer_initial_tsn: init.initial_tsn,
        peer_a_rwnd: init.a_rwnd,
        outbound_streams: outbound_streams.min(init.inbound_streams),
        inbound_streams: inbound_streams.min(init.outbound_streams),
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

/// The peer's key vector, if both sides authenticate.
pub(crate) fn peer_vector(
    extensions: Extensions,
    parameters: &Parameters<'_>,
) -> Option<KeyVector> {
    let agreed = extensions.contains(Extensions::AUTHENTICATION);
    KeyVector::announced_by(parameters).ok().flatten().filter(|_| agreed)
}

/// Chunk types that an association with these options accepts only if authenticated: the
/// application's choice, and those required by RFC 5061, section 4.1.
pub(crate) fn wanted_chunks(options: &AssociationOptions) -> ChunkTypes {
    let moves = options.extensions.contains(Extensions::ADDRESS_RECONFIGURATION);
    let further: &[ChunkType] =
        if moves { &[ChunkType::ASCONF, ChunkType::ASCONF_ACK] } else { &[] };
    wanted_types(options.authentication.as_ref(), further)
}

/// The fault in the peer's key vector, if this side offers authentication: such an association is
/// aborted with Protocol Violation (RFC 4895, sections 3 and 6.1; RFC 5061, section 6).
pub(crate) fn vector_fault(own: Extensions, parameters: &Parameters<'_>) -> Option<&'static str> {
    if own.are_unsafe_with(parameters) {
        return Some("ASCONF without AUTH");
    }
    let offers = own.contains(Extensions::AUTHENTICATION);
    let fault = KeyVector::announced_by(parameters).err().filter(|_| offers);
    fault.map(VectorFault::reason)
}

/// The cookie's lifetime, which the peer may extend, and the parameters to report (section 3.2.1:
/// the two upper bits of an unrecognised type determine the treatment).
fn read_parameters(
    parameters: &Parameters<'_>,
    options: &EndpointOptions,
    own: Extensions,
) -> (base::Duration, Vec<Bytes>) {
    let (mut lifetime, mut reports) = (options.cookie_life, Reports::default());
    for parameter in parameters.iter() {
        match parameter {
            Ok(Parameter::CookiePreservative(increment)) => {
                // At most doubled, since a cookie is a commitment to an unknown host.
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

/// Most bytes of parameters returned in one INIT ACK: an unknown host must not make the answer
/// large.
const REPORTS_LIMIT: usize = 400;

/// Bytes of the parameter header around a returned one.
const PARAMETER_HEADER: usize = 4;

/// Parameters returned as unrecognised; those that do not fit are not reported.
#[derive(Default)]
struct Reports {
    parameters: Vec<Bytes>,
    /// Bytes of all reports, each with header and padding.
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

/// Whether a side with these extensions recognises the parameter of RFC 3758; otherwise the
/// parameter is skipped and reported.
pub(crate) fn recognizes_forward_tsn(own: Extensions) -> bool {
    own.contains(Extensions::PARTIAL_RELIABILITY)
}

/// The fault that makes an INIT ACK unusable: the cause for the peer, and the text for this side
/// (sections 3.3.3 and 5.1.2).
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

/// The part of a parameter that is returned.
pub(crate) fn reported(parameter: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&parameter[..parameter.len().min(REPORT_LIMIT)])
}

/// Action for a COOKIE ECHO that meets an existing association (section 5.2.4, table 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieAction {
    /// Case A of section 5.2.4: the peer restarted.
    Restart,
    /// B: both sides opened at once.
    Collision,
    /// Case C of section 5.2.4: the cookie is late and is discarded.
    Discard,
    /// D: a duplicate, or the end of the handshake.
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
