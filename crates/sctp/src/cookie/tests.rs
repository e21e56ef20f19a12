use proptest::prelude::*;

use super::*;
use crate::wire::ChunkType;

fn key(byte: u8) -> CookieKey {
    CookieKey::new([byte; 32])
}

fn cookie() -> StateCookie {
    StateCookie {
        created_at: Instant::from_millis(10_000),
        lifetime: Duration::from_secs(60),
        local_tag: VerificationTag(1),
        peer_tag: VerificationTag(u32::MAX),
        local_initial_tsn: Tsn(3),
        peer_initial_tsn: Tsn(4),
        peer_a_rwnd: 131_072,
        outbound_streams: 10,
        inbound_streams: 65_535,
        local_port: 9,
        peer_port: 5000,
        local_tie_tag: VerificationTag(0),
        peer_tie_tag: VerificationTag(0),
        extensions: Extensions::PARTIAL_RELIABILITY,
        remote: "192.0.2.1:9899".parse().unwrap(),
        further_addresses: vec!["198.51.100.7".parse().unwrap(), "2001:db8::7".parse().unwrap()],
        key_vectors: None,
    }
}

const NOW: Instant = Instant::from_millis(11_000);

#[test]
fn every_flipped_bit_is_refused() {
    let keys = [key(1), key(2)];
    let sealed = cookie().seal(&keys[0]);
    for bit in 0..sealed.len() * 8 {
        let mut changed = sealed.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            StateCookie::open(&changed, &keys, NOW),
            Err(CookieError::BadSignature),
            "{bit}"
        );
    }
}

#[test]
fn a_truncated_or_extended_cookie_is_refused() {
    let keys = [key(1)];
    let mut sealed = cookie().seal(&keys[0]);
    for length in 0..sealed.len() {
        let expected =
            if length < SIGNATURE { CookieError::Malformed } else { CookieError::BadSignature };
        assert_eq!(StateCookie::open(&sealed[..length], &keys, NOW), Err(expected));
    }
    sealed.push(0);
    assert_eq!(StateCookie::open(&sealed, &keys, NOW), Err(CookieError::BadSignature));
}

#[test]
fn a_cookie_lives_exactly_as_long_as_it_says_and_can_be_read_when_stale() {
    let keys = [key(1)];
    let sealed = cookie().seal(&keys[0]);
    let end = cookie().created_at + cookie().lifetime;
    assert_eq!(StateCookie::open(&sealed, &keys, end), Ok(cookie()));
    let by = Duration::from_nanos(1);
    assert_eq!(
        StateCookie::open(&sealed, &keys, end + by),
        Err(CookieError::Stale { by, cookie: Box::new(cookie()) })
    );
}

#[test]
fn a_cookie_survives_one_change_of_keys_but_not_two() {
    let sealed = cookie().seal(&key(1));
    assert_eq!(StateCookie::open(&sealed, &[key(1), key(0)], NOW), Ok(cookie()));
    assert_eq!(StateCookie::open(&sealed, &[key(2), key(1)], NOW), Ok(cookie()));
    let twice = StateCookie::open(&sealed, &[key(3), key(2)], NOW);
    assert_eq!(twice, Err(CookieError::BadSignature));
    assert_eq!(StateCookie::open(&sealed, &[], NOW), Err(CookieError::BadSignature));
}

#[test]
fn signed_contents_of_another_version_or_form_are_malformed() {
    let sign = |fields: &[u8]| {
        let signature = key(1).0.chain_update(fields).finalize().into_bytes();
        [fields, &signature].concat()
    };
    let sealed = cookie().seal(&key(1));
    let fields = &sealed[..sealed.len() - SIGNATURE];
    assert_eq!(sign(fields), sealed);

    let mut newer = fields.to_vec();
    newer[0] = VERSION + 1;
    let longer = [fields, &[0]].concat();
    let half_a_vector = [fields, &[0; 40]].concat();
    let shorter = &fields[..fields.len() - 1];
    for changed in [&newer, &longer, &half_a_vector, shorter, &[]] {
        let opened = StateCookie::open(&sign(changed), &[key(1)], NOW);
        assert_eq!(opened, Err(CookieError::Malformed));
    }
}

#[test]
fn a_peer_that_lists_many_addresses_does_not_swell_the_cookie() {
    let many: Vec<IpAddr> = (0..1000u128).map(|n| IpAddr::V6(n.into())).collect();
    let sealed = StateCookie { further_addresses: many.clone(), ..cookie() }.seal(&key(1));
    assert!(sealed.len() < 400, "{}", sealed.len());
    let opened = StateCookie::open(&sealed, &[key(1)], NOW).unwrap();
    assert_eq!(opened.further_addresses, many[..StateCookie::FURTHER_ADDRESSES_MAX]);
}

#[test]
fn the_scope_of_a_link_local_address_is_kept() {
    let remote = SocketAddrV6::new("fe80::1".parse().unwrap(), 9899, 0, 3).into();
    let sealed = StateCookie { remote, ..cookie() }.seal(&key(1));
    assert_eq!(StateCookie::open(&sealed, &[key(1)], NOW).unwrap().remote, remote);
}

#[test]
fn the_signature_is_hmac_sha256_and_a_key_does_not_print_itself() {
    // RFC 4231, test case 1, with its key of 20 bytes padded with zeros as HMAC itself would.
    let mut secret = [0; 32];
    secret[..20].fill(0x0b);
    let tag = CookieKey::new(secret).0.chain_update(b"Hi There").finalize().into_bytes();
    assert_eq!(tag[..8], [0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53]);
    assert_eq!(format!("{:?}", key(7)), "CookieKey(secret)");
}

proptest! {
    #[test]
    fn what_is_sealed_opens(
        times in any::<(u64, u64)>(), tags in any::<[u32; 4]>(), numbers in any::<[u32; 4]>(),
        small in any::<[u16; 4]>(), remote in any::<SocketAddr>(),
        further_addresses in proptest::collection::vec(any::<IpAddr>(), 0..17),
        vectors in any::<bool>(),
    ) {
        let remote = match remote {
            SocketAddr::V6(mut address) => { address.set_flowinfo(0); address.into() }
            v4 => v4,
        };
        let sent = StateCookie {
            created_at: Instant::from_nanos(times.0),
            lifetime: Duration::from_nanos(times.1),
            local_tag: VerificationTag(tags[0]),
            peer_tag: VerificationTag(tags[1]),
            local_initial_tsn: Tsn(numbers[0]),
            peer_initial_tsn: Tsn(numbers[1]),
            peer_a_rwnd: numbers[2],
            outbound_streams: small[0],
            inbound_streams: small[1],
            local_port: small[2],
            peer_port: small[3],
            local_tie_tag: VerificationTag(tags[2]),
            peer_tie_tag: VerificationTag(tags[3]),
            extensions: Extensions::from_bits(numbers[3]),
            remote,
            further_addresses,
            key_vectors: vectors.then(|| {
                let vector = |byte| KeyVector::new([byte; 32], [ChunkType::DATA].into_iter().collect(), &[]);
                Box::new(KeyVectors { own: vector(1), peer: vector(2) })
            }),
        };
        let opened = StateCookie::open(&sent.seal(&key(1)), &[key(1)], sent.created_at);
        prop_assert_eq!(opened, Ok(sent));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(StateCookie::open(&bytes, &[key(1)], NOW).is_err());
        // With a valid signature the decoder reaches the fields.
        let signature = key(1).0.chain_update(&bytes).finalize().into_bytes();
        let signed = [&bytes[..], &signature].concat();
        let _ = StateCookie::open(&signed, &[key(1)], NOW);
    }
}
