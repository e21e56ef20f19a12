use super::vector::VectorFault;
use super::*;
use crate::wire::chunk::Init;
use crate::wire::{CommonHeader, PacketBuilder, Parameter};

fn vector(byte: u8, types: &[ChunkType]) -> KeyVector {
    KeyVector::new([byte; 32], types.iter().copied().collect(), &HMAC_IDS)
}

/// The parameters of a vector as a peer would read them.
fn announced(parameters: &[Parameter<'_>]) -> Result<Option<KeyVector>, VectorFault> {
    let header =
        CommonHeader { source_port: 1, destination_port: 2, verification_tag: Default::default() };
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::start(&mut buffer, header, 1000);
    let init = Init {
        initiate_tag: Default::default(),
        a_rwnd: 0,
        outbound_streams: 0,
        inbound_streams: 0,
        initial_tsn: Default::default(),
        parameters: parameters.iter().copied(),
    };
    packet.append(init).unwrap();
    packet.finish();
    let packet = Packet::parse(buffer.into()).unwrap();
    let Some(Ok(Chunk::Init(init))) = packet.chunks().next() else { panic!() };
    KeyVector::announced_by(&init.parameters)
}

#[test]
fn the_association_key_is_the_secret_and_both_vectors_in_the_order_of_their_numbers() {
    let (small, large) = (vector(1, &[ChunkType::DATA]), vector(2, &[ChunkType::DATA]));
    let longer = vector(0, &[ChunkType::DATA, ChunkType::SACK]);
    let key = |own: &KeyVector, peer: &KeyVector| vector::association_key(b"secret", own, peer);
    assert_eq!(key(&small, &large), key(&large, &small));
    let one = |byte: u8, chunks: &[u8]| {
        let mut bytes = vec![0x80, 0x02, 0, 36];
        bytes.extend([byte; 32]);
        bytes.extend([0x80, 0x03, 0, 4 + chunks.len() as u8]);
        bytes.extend(chunks);
        bytes.extend([0x80, 0x04, 0, 8, 0, 3, 0, 1]);
        bytes
    };
    assert_eq!(key(&large, &small), [&b"secret"[..], &one(1, &[0]), &one(2, &[0])].concat());
    // As numbers, the longer is the larger, whatever its bytes.
    assert_eq!(key(&longer, &large), [&b"secret"[..], &one(2, &[0]), &one(0, &[0, 3])].concat());
    // Without CHUNKS the parameter is left out.
    let none = vector(5, &[]);
    assert_eq!(key(&none, &none).len(), 6 + 2 * (36 + 8));
}

#[test]
fn the_hmac_of_a_known_packet_is_known() {
    // These values were computed independently of this code, from the text of sections 6.1 and 6.2.
    let (own, peer) = (vector(0x11, &[ChunkType::ASCONF]), vector(0x22, &[]));
    let options = AuthenticationOptions {
        keys: BTreeMap::from([
            (KeyId(0), Bytes::new()),
            (KeyId(1), Bytes::from_static(b"swordfish")),
        ]),
        ..AuthenticationOptions::default()
    };
    let mut authentication = Authentication::new(own);
    authentication.establish(peer, &options);
    let cases: [(u16, u16, &[u8]); 4] = [
        (0, 1, &KNOWN_SHA_1_EMPTY),
        (0, 3, &KNOWN_SHA_256_EMPTY),
        (1, 1, &KNOWN_SHA_1_SECRET),
        (1, 3, &KNOWN_SHA_256_SECRET),
    ];
    for (key, id, known) in cases {
        let length = 8 + known.len() as u8;
        let mut covered = vec![15, 0, 0, length, 0, key as u8, 0, id as u8];
        covered.extend_from_slice(known);
        covered.extend_from_slice(&[193, 0, 0, 8, 1, 2, 3, 4]);
        let (key, hmac_id) = (KeyId(key), HmacId(id));
        let auth = Auth { key, hmac_id, hmac: known };
        assert_eq!(authentication.verify(&auth, &covered, &options), Verdict::Proved, "{id}");
        let other_key = Auth { key: KeyId(1 - key.0), ..auth };
        assert_eq!(authentication.verify(&other_key, &covered, &options), Verdict::Refused);
        let no_key = Auth { key: KeyId(9), ..auth };
        assert_eq!(authentication.verify(&no_key, &covered, &options), Verdict::Refused);
    }
    let unknown = Auth { key: KeyId(0), hmac_id: HmacId(2), hmac: &[0; 16] };
    let verdict = authentication.verify(&unknown, &[0; 24], &options);
    assert_eq!(verdict, Verdict::UnsupportedHmac(HmacId(2)));
}

#[rustfmt::skip]
const KNOWN_SHA_1_EMPTY: [u8; 20] = [
    0xd2, 0xe8, 0xff, 0x57, 0xd4, 0x54, 0xb5, 0xd5, 0x5e, 0x61,
    0xb7, 0x24, 0xfc, 0xfa, 0x82, 0x21, 0x1b, 0x5c, 0x06, 0x2d,
];
#[rustfmt::skip]
const KNOWN_SHA_256_EMPTY: [u8; 32] = [
    0x5d, 0x0d, 0x3e, 0xb5, 0x39, 0x5a, 0x62, 0xd9, 0xc0, 0x07,
    0x14, 0xd5, 0x59, 0x02, 0xc6, 0xc0, 0x7c, 0xc0, 0x6d, 0x1b,
    0xf2, 0x95, 0x5d, 0x9e, 0xa5, 0xd0, 0xbd, 0x41, 0xfb, 0x8a,
    0xda, 0x8e,
];
#[rustfmt::skip]
const KNOWN_SHA_1_SECRET: [u8; 20] = [
    0x27, 0x0a, 0xa8, 0x66, 0x7b, 0xe9, 0x9a, 0x7b, 0xb3, 0xb1,
    0x36, 0x40, 0xf0, 0x2b, 0xea, 0xf0, 0xbb, 0x5d, 0xc6, 0x97,
];
#[rustfmt::skip]
const KNOWN_SHA_256_SECRET: [u8; 32] = [
    0xbf, 0x63, 0x48, 0x75, 0x52, 0x89, 0x9e, 0x56, 0x0a, 0xa5,
    0x15, 0xc8, 0xf2, 0xd3, 0xe1, 0x5f, 0xbb, 0x5a, 0xee, 0x68,
    0x3b, 0x59, 0x52, 0x85, 0xa7, 0x1f, 0x25, 0x15, 0xfc, 0x98,
    0x57, 0xb7,
];

#[test]
fn the_first_algorithm_of_the_peers_list_that_this_side_knows_is_used() {
    let chosen = |list: &[HmacId]| {
        let types = ChunkTypes::from_iter([ChunkType::DATA]);
        let mut authentication = Authentication::new(vector(1, &[]));
        let peer = KeyVector::new([2; 32], types, list);
        authentication.establish(peer, &AuthenticationOptions::default());
        authentication.signer.map(|signer| signer.mac.id())
    };
    assert_eq!(chosen(&[HmacId(2), HmacId::SHA_1, HmacId::SHA_256]), Some(HmacId::SHA_1));
    assert_eq!(chosen(&[HmacId::SHA_256, HmacId::SHA_1]), Some(HmacId::SHA_256));
}

#[test]
fn nothing_is_signed_that_the_peer_did_not_ask_for() {
    let mut authentication = Authentication::new(vector(1, &[ChunkType::DATA]));
    authentication.establish(vector(2, &[]), &AuthenticationOptions::default());
    assert!(authentication.signer.is_none());
    // A list as it arrives from a peer that breaks section 3.2.
    let listed: Vec<u8> = NEVER.iter().map(|never| never.0).chain([ChunkType::DATA.0]).collect();
    let own = vector(3, &[]);
    let [random, hmacs] = own.parameters().collect::<Vec<_>>()[..] else { panic!() };
    let peer = announced(&[random, Parameter::Chunks(&listed), hmacs]).unwrap().unwrap();
    assert!(peer.chunks().iter().eq([ChunkType::DATA]));
    authentication.establish(peer, &AuthenticationOptions::default());
    let signer = authentication.signer.unwrap();
    assert!(signer.types.iter().eq([ChunkType::DATA]));
}

#[test]
fn chunks_that_cannot_be_authenticated_are_never_asked_for() {
    let all: Vec<ChunkType> = (0..=u8::MAX).map(ChunkType).collect();
    let options = AuthenticationOptions { chunks: all, ..AuthenticationOptions::default() };
    let types = wanted_types(Some(&Arc::new(options)), &[]);
    assert_eq!(types.iter().count(), 256 - NEVER.len());
    assert_eq!(wanted_types(None, &[ChunkType::ASCONF]).iter().count(), 1);
}

#[test]
fn a_vector_is_what_the_parameters_say_or_a_fault() {
    let own = vector(7, &[ChunkType::DATA, ChunkType::ASCONF]);
    let parameters: Vec<_> = own.parameters().collect();
    assert_eq!(announced(&parameters), Ok(Some(own.clone())));
    assert_eq!(announced(&parameters[..2]), Ok(None), "without HMAC-ALGO");
    assert_eq!(announced(&parameters[1..]), Ok(None), "without RANDOM");
    let (random, hmacs) = (parameters[0], parameters[2]);
    let short = [Parameter::Random(&[1; 31]), hmacs];
    assert_eq!(announced(&short), Err(VectorFault::RandomLength));
    let only_sha_256 = [random, Parameter::HmacAlgorithms(&[0, 3])];
    assert_eq!(announced(&only_sha_256), Err(VectorFault::NoSha1));
    let long = [random, Parameter::Chunks(&[0; 257]), hmacs];
    assert_eq!(announced(&long), Err(VectorFault::TooLong));
}

#[test]
fn a_cookie_keeps_a_vector_as_it_is() {
    for own in [vector(7, &[]), vector(8, &[ChunkType::DATA, ChunkType::SACK])] {
        let mut bytes = Vec::new();
        own.emit(&mut bytes);
        bytes.push(9);
        assert_eq!(KeyVector::read(&bytes), Some((own.clone(), &[9][..])));
        for length in 0..bytes.len() - 1 {
            assert_eq!(KeyVector::read(&bytes[..length]), None);
        }
    }
}

#[test]
fn secrets_do_not_print_themselves() {
    let keys = BTreeMap::from([(KeyId(1), Bytes::from_static(b"swordfish"))]);
    let options = AuthenticationOptions { keys, ..AuthenticationOptions::default() };
    assert!(!format!("{options:?}").contains("sword"));
}
