//! Answers without an association: INIT ACK, and the answers that RFC 9260 requires for packets out
//! of the blue (section 8.4).

use base::{DatagramMeta, Duration, Ecn, Origin, Transmit};

use crate::control::OwnedCause;
use crate::paths::addresses::{address_parameters, is_group, is_unicast};
use crate::setup::InitAnswer;
use crate::wire::chunk::{Abort, Init, InitAck, OperationError, ShutdownComplete};
use crate::wire::{
    Cause, Chunk, ChunkType, CommonHeader, DoesNotFit, Packet, PacketBuilder, Parameter,
    VerificationTag,
};
use crate::zero_checksum::ErrorDetection;

/// Upper bound of the length of any answer except INIT ACK.
const MAX_SIZE: usize = 1400;

/// Upper bound of the length of INIT ACK: cookie and reports are bounded, and a usual INIT ACK
/// consists mostly of the cookie of some hundred bytes. IP fragments one that is too long for the
/// path.
const MAX_INIT_ACK: usize = 4096;

/// A packet that answers another without an association.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    meta: DatagramMeta,
    header: CommonHeader,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    InitAck { answer: Box<InitAnswer>, sealed: Vec<u8>, a_rwnd: u32 },
    Abort(bool, Option<OwnedCause>),
    ShutdownComplete,
    StaleCookie(Duration),
}

/// Whether a datagram was sent by one host to one host: an answer to any other would reach many, or
/// this host (section 8.4, rule 1).
pub(super) fn is_between_hosts(meta: DatagramMeta) -> bool {
    is_unicast(meta.remote.ip()) && !is_group(meta.local.ip())
}

impl Reply {
    fn new(
        meta: DatagramMeta,
        received: CommonHeader,
        tag: VerificationTag,
        content: Content,
    ) -> Self {
        let header = CommonHeader {
            source_port: received.destination_port,
            destination_port: received.source_port,
            verification_tag: tag,
        };
        Reply { meta, header, content }
    }

    /// INIT ACK with its cookie.
    pub(super) fn init_ack(
        meta: DatagramMeta,
        answer: InitAnswer,
        sealed: Vec<u8>,
        a_rwnd: u32,
    ) -> Self {
        let cookie = &answer.cookie;
        let header = CommonHeader {
            source_port: cookie.local_port,
            destination_port: cookie.peer_port,
            verification_tag: cookie.peer_tag,
        };
        let content = Content::InitAck { answer: Box::new(answer), sealed, a_rwnd };
        Reply { meta, header, content }
    }

    /// ABORT to an INIT that offers `tag`.
    pub(super) fn abort(
        meta: DatagramMeta,
        received: CommonHeader,
        tag: VerificationTag,
        cause: OwnedCause,
    ) -> Self {
        Reply::new(meta, received, tag, Content::Abort(false, Some(cause)))
    }

    /// ABORT to an INIT without a listener (section 8.4, rule 3).
    pub(super) fn refusal(
        meta: DatagramMeta,
        received: CommonHeader,
        tag: VerificationTag,
    ) -> Self {
        Reply::new(meta, received, tag, Content::Abort(false, None))
    }

    /// ERROR to a COOKIE ECHO that arrived too late (section 5.2.6).
    pub(super) fn stale_cookie(
        meta: DatagramMeta,
        received: CommonHeader,
        tag: VerificationTag,
        by: Duration,
    ) -> Self {
        Reply::new(meta, received, tag, Content::StaleCookie(by))
    }

    /// The answer of section 8.4 to a packet without an association, if any.
    pub(super) fn out_of_the_blue(meta: DatagramMeta, packet: &Packet) -> Option<Self> {
        let received = packet.header();
        if !is_between_hosts(meta) {
            return None; // rule 1
        }
        let first = packet.raw_chunks().but_auth().next()?;
        if first.chunk_type == ChunkType::INIT {
            let Some(Ok(Chunk::Init(init))) = packet.chunks().next() else { return None };
            return Some(Reply::refusal(meta, received, init.initiate_tag));
        }
        let mut answer = Content::Abort(true, None);
        if packet.raw_chunks().any(|chunk| chunk.is_err()) {
            return None;
        }
        for chunk in packet.raw_chunks().but_auth() {
            match chunk.chunk_type {
                ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE | ChunkType::COOKIE_ACK => {
                    return None; // rules 2, 6 and 7
                }
                ChunkType::SHUTDOWN_ACK => answer = Content::ShutdownComplete, // rule 5
                ChunkType::ERROR if has_stale_cookie(packet) => return None,   // rule 7
                _ => {}
            }
        }
        Some(Reply::new(meta, received, received.verification_tag, answer)) // rules 5 and 8
    }

    /// Host that this packet answers and that alone may receive it, if a layer below authenticates
    /// hosts.
    pub(super) fn origin(&self) -> Option<Origin> {
        self.meta.origin
    }

    /// Appends the packet to `buffer`.
    pub(super) fn emit(self, buffer: &mut Vec<u8>) -> Transmit {
        let mut packet = PacketBuilder::start(buffer, self.header, self.content.max_size());
        let fits = self.content.emit(&mut packet);
        debug_assert!(fits.is_ok(), "an answer is small");
        let size = packet.finish();
        Transmit {
            local: Some(self.meta.local),
            remote: self.meta.remote,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size,
        }
    }
}

impl Content {
    fn max_size(&self) -> usize {
        if let Content::InitAck { .. } = self { MAX_INIT_ACK } else { MAX_SIZE }
    }

    fn emit(&self, packet: &mut PacketBuilder<'_>) -> Result<(), DoesNotFit> {
        match self {
            Content::InitAck { answer, sealed, a_rwnd } => {
                let cookie = &answer.cookie;
                let types = answer.offered.chunk_types();
                let cookie_parameter = core::iter::once(Parameter::StateCookie(sealed));
                let zero_checksum = answer.zero_checksum.map(ErrorDetection::parameter);
                let vectors = cookie.key_vectors.as_ref();
                let keys = vectors.map(|vectors| vectors.own.parameters()).into_iter().flatten();
                let reports = answer.unrecognized.iter();
                let reports = reports.map(|bytes| Parameter::UnrecognizedParameter(bytes));
                packet.append(InitAck(Init {
                    initiate_tag: cookie.local_tag,
                    a_rwnd: *a_rwnd,
                    outbound_streams: cookie.outbound_streams,
                    inbound_streams: cookie.inbound_streams,
                    initial_tsn: cookie.local_initial_tsn,
                    parameters: answer
                        .offered
                        .parameters(&types)
                        .chain(zero_checksum)
                        .chain(address_parameters(&answer.locals, cookie.remote.ip()))
                        .chain(keys)
                        .chain(cookie_parameter)
                        .chain(reports),
                }))
            }
            Content::Abort(t_bit, cause) => packet
                .append(Abort { t_bit: *t_bit, causes: cause.iter().map(OwnedCause::as_cause) }),
            Content::ShutdownComplete => packet.append(ShutdownComplete { t_bit: true }),
            Content::StaleCookie(by) => {
                packet.append(OperationError { causes: [Cause::StaleCookie(*by)] })
            }
        }
    }
}

fn has_stale_cookie(packet: &Packet) -> bool {
    packet.chunks().any(|chunk| match chunk {
        Ok(Chunk::Error(error)) => {
            error.causes.iter().any(|cause| matches!(cause, Ok(Cause::StaleCookie(_))))
        }
        _ => false,
    })
}
