//! ASCONF and AUTH from a sender without the key: no address is added, deleted or made primary (RFC
//! 5061, section 4.1.1; RFC 4895), whatever the number of requests.

use base::Duration;
use sctp::wire::VerificationTag;
use sctp::{AssociationOptions, EndpointOptions, Extensions};

use crate::foe::{Foe, a_stranger_is_served, bytes, memory};
use crate::support::PORT;
use crate::support::wire::{Any, Bench, PEER_PORT, PEER_TAG, PEER_TSN, packet};

const AUTH: u8 = 0x0f;
const ASCONF: u8 = 0xc1;
const ASCONF_ACK: u8 = 0x80;

/// An association whose peer announced AUTH and ASCONF in its INIT, with a random number, the
/// chunks that must be authenticated and the algorithms.
fn foe() -> Foe {
    let accepted = AssociationOptions {
        extensions: Extensions::ADDRESS_RECONFIGURATION,
        heartbeat_interval: None,
        ..AssociationOptions::default()
    };
    let options = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    let mut value = PEER_TAG.0.to_be_bytes().to_vec();
    value.extend_from_slice(&(1u32 << 20).to_be_bytes());
    value.extend_from_slice(&[0, 10, 0, 10]);
    value.extend_from_slice(&PEER_TSN.0.to_be_bytes());
    value.extend_from_slice(&[0x80, 0x08, 0, 7, AUTH, ASCONF, ASCONF_ACK, 0]);
    value.extend_from_slice(&[0x80, 0x02, 0, 36]);
    value.extend_from_slice(&[0x3c; 32]);
    value.extend_from_slice(&[0x80, 0x03, 0, 6, ASCONF, ASCONF_ACK, 0, 0]);
    value.extend_from_slice(&[0x80, 0x04, 0, 8, 0, 3, 0, 1]);
    let init = packet(PEER_PORT, PORT, VerificationTag(0), |packet| {
        packet.append(Any(1, 0, &value)).unwrap();
    });
    let answers = bench.give_bytes(init);
    bench.answer_init_ack(&answers[0]);
    let agreed = bench.endpoint.association(bench.id()).unwrap().extensions();
    assert_eq!(agreed, Extensions::ADDRESS_RECONFIGURATION);
    Foe::with(bench)
}

/// ASCONF number `serial` from the peer's address, asking for `kind` (add 0xc001, delete 0xc002,
/// set primary 0xc004) of an address.
fn asconf(serial: u32, kind: u16, address: [u8; 4]) -> Vec<u8> {
    let mut value = PEER_TSN.0.wrapping_add(serial).to_be_bytes().to_vec();
    value.extend_from_slice(&[0, 5, 0, 8, 10, 0, 0, 1]);
    value.extend_from_slice(&kind.to_be_bytes());
    value.extend_from_slice(&[0, 16, 0, 0, 0, 1, 0, 5, 0, 8]);
    value.extend_from_slice(&address);
    value
}

/// AUTH with an existing key and algorithm and a guessed digest.
fn auth(algorithm: u16, digest: usize) -> Vec<u8> {
    let mut value = vec![0, 0];
    value.extend_from_slice(&algorithm.to_be_bytes());
    value.resize(4 + digest, 0x77);
    value
}

fn peers(foe: &Foe) -> Vec<std::net::SocketAddr> {
    foe.stats().paths.iter().map(|path| path.remote).collect()
}

#[test]
fn an_asconf_without_a_key_changes_no_address_however_often_it_comes() {
    let mut foe = foe();
    let before = peers(&foe);
    let used = memory(|| {
        for serial in 0..3_000u32 {
            let kind = [0xc001, 0xc002, 0xc004][serial as usize % 3];
            let [_, b, c, d] = serial.to_be_bytes();
            let value = asconf(serial, kind, [13, b, c, d]);
            let answers = foe.chunk(ASCONF, 0, &value);
            assert!(answers.len() <= 1);
            assert!(bytes(&answers) <= value.len() + 32);
        }
    });
    assert!(used.bytes_current < 8_192, "{} bytes stay", used.bytes_current);
    assert_eq!(peers(&foe), before);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.association_works(0, 0);
}

#[test]
fn a_guessed_digest_is_no_key() {
    let mut foe = foe();
    let before = peers(&foe);
    for serial in 0..1_000u32 {
        let value = asconf(0, 0xc001, [13, 0, 0, 1]);
        let algorithm = [1, 3, 2, 0][serial as usize % 4];
        let proof = auth(algorithm, [20, 32, 0, 7, 1_000][serial as usize % 5]);
        let answers = foe.bench.give_right(|packet| {
            packet.append(Any(AUTH, 0, &proof)).unwrap();
            packet.append(Any(ASCONF, 0, &value)).unwrap();
        });
        assert!(answers.len() <= 1);
        assert!(bytes(&answers) <= 200, "{} bytes", bytes(&answers));
    }
    assert_eq!(peers(&foe), before);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.association_works(0, 0);
}

#[test]
fn a_packet_full_of_auth_and_asconf_is_bounded() {
    let mut foe = foe();
    let before = peers(&foe);
    let (proof, value) = (auth(3, 32), asconf(0, 0xc001, [13, 0, 0, 1]));
    let answers = foe.bench.give_right(|packet| {
        for _ in 0..700 {
            packet.append(Any(AUTH, 0, &proof)).unwrap();
            packet.append(Any(ASCONF, 0, &value)).unwrap();
        }
    });
    assert!(answers.len() <= 32, "{} packets", answers.len());
    assert!(bytes(&answers) <= 8_000, "{} bytes", bytes(&answers));
    assert_eq!(peers(&foe), before);
    assert!(matches!(foe.bench.state(), "ESTABLISHED" | "CLOSED"));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn an_asconf_ack_that_nobody_waits_for_changes_nothing() {
    let mut foe = foe();
    let before = peers(&foe);
    for serial in 0..1_000u32 {
        let mut value = serial.wrapping_mul(0x0301_0007).to_be_bytes().to_vec();
        value.extend_from_slice(&[0xc0, 0x03, 0, 8, 0, 0, 0, 1]);
        assert!(foe.chunk(ASCONF_ACK, 0, &value).len() <= 1);
    }
    foe.bench.pass(Duration::from_secs(5));
    assert_eq!(peers(&foe), before);
    assert!(matches!(foe.bench.state(), "ESTABLISHED" | "CLOSED"));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn asconf_parameters_whose_lengths_lie_are_no_requests() {
    for claimed in [0u16, 3, 4, 7, 8, 15, 16, 17, 40, u16::MAX] {
        for inner in [0u16, 3, 4, 5, 8, 20, u16::MAX] {
            for cut in [0, 1, 4, 9, 12] {
                let mut foe = foe();
                let before = peers(&foe);
                let mut value = asconf(0, 0xc001, [13, 0, 0, 1]);
                value[14..16].copy_from_slice(&claimed.to_be_bytes());
                value[22..24].copy_from_slice(&inner.to_be_bytes());
                value.truncate(value.len() - cut);
                let answers = foe.chunk(ASCONF, 0, &value);
                assert!(bytes(&answers) <= 200);
                assert_eq!(peers(&foe), before);
            }
        }
    }
}
