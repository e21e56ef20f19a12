//! A hand-made peer that authenticates (RFC 4895).

use std::sync::Arc;

use sctp::wire::chunk::{CookieEcho, Init};
use sctp::wire::signing::{ChunkTypes, HmacId, Signer};
use sctp::wire::{
    Chunk, ChunkType, CommonHeader, Packet, PacketBuilder, Parameter, Parameters, Tsn,
    VerificationTag,
};
use sctp::{AssociationOptions, EndpointOptions, KeyId};

use super::PORT;
use super::wire::{Bench, PEER_PORT, PEER_TAG, PEER_TSN, init_with, names};

const RANDOM: [u8; 32] = [5; 32];

/// The parameters by which the test's INIT or INIT ACK agrees to authentication.
pub(crate) const OWN: [Parameter<'static>; 2] =
    [Parameter::Random(&RANDOM), Parameter::HmacAlgorithms(&[0, 3, 0, 1])];

/// [`OWN`], as section 6.1 joins them.
fn own_vector() -> Vec<u8> {
    let mut bytes = vec![0x80, 2, 0, 36];
    bytes.extend(RANDOM);
    bytes.extend([0x80, 4, 0, 8, 0, 3, 0, 1]);
    bytes
}

/// The association shared key for the empty secret, with a side whose INIT or INIT ACK has these
/// parameters.
pub(crate) fn key_with(parameters: Parameters<'_>) -> Vec<u8> {
    let mut theirs = Vec::new();
    for parameter in parameters {
        let (number, value) = match parameter.unwrap() {
            Parameter::Random(value) => (2, value),
            Parameter::Chunks(value) => (3, value),
            Parameter::HmacAlgorithms(value) => (4, value),
            _ => continue,
        };
        theirs.extend([0x80, number, 0, 4 + value.len() as u8]);
        theirs.extend(value);
    }
    // The test's own vector has no CHUNKS: it is shorter, and so the smaller number.
    [own_vector(), theirs].concat()
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
    bench_from(PEER_TSN, options, further)
}

/// The bench of [`bench_with`], where the first TSN of the test is `initial_tsn`.
pub(crate) fn bench_from(
    initial_tsn: Tsn,
    options: EndpointOptions,
    further: &[Parameter<'static>],
) -> (Bench, Vec<u8>) {
    let mut bench = Bench::new(EndpointOptions { listen: true, ..options });
    let parameters = OWN.into_iter().chain(further.iter().copied());
    let init = Init { initial_tsn, ..init_with(PEER_TAG, parameters) };
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
    let answer = Packet::parse(answers[0].clone().into()).unwrap();
    let Some(Ok(Chunk::InitAck(ack))) = answer.chunks().next() else { panic!() };
    (bench.tag, bench.tsn) = (ack.0.initiate_tag, ack.0.initial_tsn);
    let cookie = ack.0.parameters.state_cookie().unwrap().to_vec();
    let is_wanted = |parameter| match parameter {
        Ok(Parameter::Chunks(types)) => types.contains(&ChunkType::COOKIE_ECHO.0),
        _ => false,
    };
    let wanted = ack.0.parameters.iter().any(is_wanted);
    let key = key_with(ack.0.parameters);
    let (tag, echo) = (bench.tag, CookieEcho { cookie: &cookie });
    if wanted {
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
