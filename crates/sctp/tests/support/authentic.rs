//! A hand-made peer that authenticates (RFC 4895).

use std::sync::Arc;

use sctp::wire::chunk::CookieEcho;
use sctp::wire::signing::{ChunkTypes, HmacId, Signer};
use sctp::wire::{
    Chunk, ChunkType, CommonHeader, Packet, PacketBuilder, Parameter, VerificationTag,
};
use sctp::{AssociationOptions, EndpointOptions, KeyId};

use super::PORT;
use super::wire::{Bench, PEER_PORT, PEER_TAG, init_with, names};

const RANDOM: [u8; 32] = [5; 32];

/// The parameters of the test's INIT, as section 6.1 joins them.
fn own_vector() -> Vec<u8> {
    let mut bytes = vec![0x80, 2, 0, 36];
    bytes.extend(RANDOM);
    bytes.extend([0x80, 4, 0, 8, 0, 3, 0, 1]);
    bytes
}

/// An endpoint with these options for what it accepts, its association set up by hand, with further
/// parameters in INIT; and the association shared key for the empty secret.
pub(crate) fn bench(
    accepted: AssociationOptions,
    further: &[Parameter<'static>],
) -> (Bench, Vec<u8>) {
    bench_with(EndpointOptions { accepted, ..Default::default() }, further)
}

/// A bench with options for the whole endpoint.
pub(crate) fn bench_with(
    options: EndpointOptions,
    further: &[Parameter<'static>],
) -> (Bench, Vec<u8>) {
    let mut bench = Bench::new(EndpointOptions { listen: true, ..options });
    let own = [Parameter::Random(&RANDOM), Parameter::HmacAlgorithms(&[0, 3, 0, 1])];
    let init = init_with(PEER_TAG, own.into_iter().chain(further.iter().copied()));
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
    let answer = Packet::parse(answers[0].clone().into()).unwrap();
    let Some(Ok(Chunk::InitAck(ack))) = answer.chunks().next() else { panic!() };
    (bench.tag, bench.tsn) = (ack.0.initiate_tag, ack.0.initial_tsn);
    let (mut theirs, mut cookie, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    let mut put = |number: u8, value: &[u8]| {
        theirs.extend([0x80, number, 0, 4 + value.len() as u8]);
        theirs.extend(value);
    };
    for parameter in ack.0.parameters {
        match parameter.unwrap() {
            Parameter::Random(value) => put(2, value),
            Parameter::Chunks(value) => {
                wanted = value.to_vec();
                put(3, value);
            }
            Parameter::HmacAlgorithms(value) => put(4, value),
            Parameter::StateCookie(value) => cookie = value.to_vec(),
            _ => {}
        }
    }
    // The test's own vector has no CHUNKS: it is shorter, and so the smaller number.
    let key = [own_vector(), theirs].concat();
    let (tag, echo) = (bench.tag, CookieEcho { cookie: &cookie });
    if wanted.contains(&ChunkType::COOKIE_ECHO.0) {
        assert!(bench.give(tag, |packet| packet.append(echo).unwrap()).is_empty());
        assert_eq!(bench.endpoint.association_count(), 0);
    }
    let bytes = signed(tag, &key, KeyId(0), HmacId::SHA_256, |p| p.append(echo).unwrap());
    assert_eq!(names(&bench.give_bytes(bytes)[0]), ["COOKIE ACK"]);
    (bench, key)
}

/// A packet whose chunks stand behind AUTH.
pub(crate) fn signed(
    tag: VerificationTag,
    secret: &[u8],
    key: KeyId,
    hmac_id: HmacId,
    fill: impl FnOnce(&mut PacketBuilder<'_>),
) -> Vec<u8> {
    let all: ChunkTypes = (0..=u8::MAX).map(ChunkType).collect();
    let signer = Signer::new(all, key, hmac_id, secret).map(Arc::new);
    let header =
        CommonHeader { source_port: PEER_PORT, destination_port: PORT, verification_tag: tag };
    let mut buffer = Vec::new();
    let mut builder = PacketBuilder::start(&mut buffer, header, 10_000).signed(signer);
    fill(&mut builder);
    builder.finish();
    buffer
}
