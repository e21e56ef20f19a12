//! An attacker that knows addresses and ports but not the verification tag has no effect on
//! the association (RFC 9260, sections 8.4, 8.5 and 8.5.1).

use base::Duration;
use proptest::prelude::*;
use sctp::wire::VerificationTag;
use sctp::wire::chunk::{
    Abort, CookieAck, HeartbeatAck, OutgoingSack, Shutdown, ShutdownAck, ShutdownComplete,
};
use sctp::wire::{Cause, Tsn};

use crate::foe::{Foe, a_stranger_is_served};
use crate::support::address;
use crate::support::wire::{Any, data, names};

/// Tags other than the association's: zero, the peer's, neighbours, random ones.
fn wrong_tags(foe: &Foe) -> Vec<VerificationTag> {
    let own = foe.bench.tag.0;
    [0, 1, own ^ 1, own.wrapping_add(1), own.swap_bytes(), u32::MAX].map(VerificationTag).into()
}

#[test]
fn no_chunk_of_any_type_counts_without_the_tag() {
    let mut foe = Foe::new();
    foe.endpoint_sends(3_000).unwrap();
    let before = foe.stats();
    let deadline = base::Machine::poll_timeout(&foe.bench.endpoint);
    for tag in wrong_tags(&foe) {
        for chunk_type in 0..=u8::MAX {
            for flags in [0, 1, 3] {
                foe.bench.give(tag, |packet| {
                    packet.append(Any(chunk_type, flags, &[0; 24])).unwrap();
                });
                assert_eq!(foe.stats(), before, "type {chunk_type}, flags {flags}, {tag:?}");
            }
        }
    }
    assert_eq!(base::Machine::poll_timeout(&foe.bench.endpoint), deadline);
    assert_eq!(foe.bench.endpoint.association_count(), 1);
    foe.association_works(0, 0);
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn blind_abort_shutdown_data_sack_and_cookie_ack_change_nothing_and_get_no_answer() {
    let mut foe = Foe::new();
    foe.endpoint_sends(3_000).unwrap();
    let (before, tsn) = (foe.stats(), foe.bench.tsn);
    let causes = || [Cause::UserInitiatedAbort(b"die")];
    for tag in wrong_tags(&foe) {
        for t_bit in [false, true] {
            let abort = Abort { t_bit, causes: causes() };
            assert!(foe.bench.give(tag, |packet| packet.append(abort).unwrap()).is_empty());
            let complete = ShutdownComplete { t_bit };
            assert!(foe.bench.give(tag, |packet| packet.append(complete).unwrap()).is_empty());
        }
        let shutdown = Shutdown { cumulative_tsn_ack: tsn };
        let sack = OutgoingSack {
            cumulative_tsn_ack: Tsn(tsn.0.wrapping_add(1)),
            a_rwnd: 0,
            gap_ack_blocks: [],
            duplicate_tsns: [],
        };
        let answers = [
            foe.bench.give(tag, |packet| packet.append(shutdown).unwrap()),
            foe.bench.give(tag, |packet| packet.append(ShutdownAck).unwrap()),
            foe.bench.give(tag, |packet| packet.append(data(0, 0, 0, b"forged")).unwrap()),
            foe.bench.give(tag, |packet| packet.append(sack).unwrap()),
            foe.bench.give(tag, |packet| packet.append(HeartbeatAck { info: &[0; 9] }).unwrap()),
            foe.bench.give(tag, |packet| packet.append(CookieAck).unwrap()),
        ];
        assert!(answers.iter().all(Vec::is_empty), "{tag:?}");
        assert_eq!(foe.stats(), before);
    }
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.association_works(0, 0);
}

#[test]
fn the_association_s_own_tag_does_not_pass_for_a_reflected_one() {
    // With the T bit the tag must be the one that the endpoint sends, not the one that it expects.
    let mut foe = Foe::new();
    let before = foe.stats();
    let tag = foe.bench.tag;
    let abort = Abort { t_bit: true, causes: [] as [Cause<'_>; 0] };
    assert!(foe.bench.give(tag, |packet| packet.append(abort).unwrap()).is_empty());
    assert_eq!((foe.stats(), foe.bench.state()), (before, "ESTABLISHED"));
}

#[test]
fn an_init_that_cannot_be_right_kills_no_association() {
    // The ABORT in answer has the tag that it offers, never the association's.
    let mut foe = Foe::new();
    let before = foe.stats();
    let spoilt: [(&str, [u8; 16]); 3] = [
        ("no tag", [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
        ("no streams out", [0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]),
        ("no streams in", [0, 0, 0, 9, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    ];
    for (what, value) in spoilt {
        let answers = foe.bench.give(VerificationTag(0), |packet| {
            packet.append(Any(1, 0, &value)).unwrap();
        });
        for answer in &answers {
            assert_eq!(names(answer), ["ABORT"], "{what}");
            assert_eq!(crate::support::wire::tag_of(answer), VerificationTag(9), "{what}");
        }
        let short = &value[..8];
        let answers = foe.bench.give(VerificationTag(0), |packet| {
            packet.append(Any(1, 0, short)).unwrap();
        });
        assert!(answers.is_empty(), "a truncated INIT, {what}");
    }
    for chunk_type in [2, 10] {
        for length in [0, 3, 8, 16, 60] {
            let value = vec![0xff; length];
            for tag in wrong_tags(&foe) {
                foe.bench.give(tag, |packet| packet.append(Any(chunk_type, 0, &value)).unwrap());
            }
            assert_eq!(foe.stats(), before, "type {chunk_type} of {length} bytes");
        }
    }
    foe.association_works(0, 0);
}

#[test]
fn a_chunk_longer_or_shorter_than_its_packet_changes_nothing() {
    // Lengths below a chunk's header, of zero, and beyond the packet: with the right tag even.
    let mut foe = Foe::new();
    for chunk_type in 0..=u8::MAX {
        if matches!(chunk_type, 6 | 7 | 14) {
            continue; // An ABORT with no more than a header is one.
        }
        for length in [0u16, 1, 2, 3, 17, 0xffff] {
            let tag = foe.bench.tag;
            let mut bytes = crate::support::wire::packet(
                crate::support::wire::PEER_PORT,
                crate::support::PORT,
                tag,
                |packet| packet.append(Any(chunk_type, 0, &[0; 4])).unwrap(),
            );
            bytes[14..16].copy_from_slice(&length.to_be_bytes());
            crate::support::wire::fix_checksum(&mut bytes);
            foe.bench.give_bytes(bytes.clone());
            assert_eq!(foe.bench.state(), "ESTABLISHED", "type {chunk_type}, length {length}");
            // From a host without an association, with any tag.
            let home = std::mem::replace(&mut foe.bench.remote, address("10.0.0.66:9899"));
            for tag in [0, 1, tag.0] {
                bytes[4..8].copy_from_slice(&tag.to_be_bytes());
                crate::support::wire::fix_checksum(&mut bytes);
                let answers = foe.bench.give_bytes(bytes.clone());
                let got = answers.iter().map(Vec::len).sum::<usize>();
                assert!(got <= bytes.len(), "type {chunk_type}, length {length}: {got} bytes");
            }
            foe.bench.remote = home;
        }
    }
    assert_eq!(foe.bench.endpoint.association_count(), 1);
    foe.association_works(0, 0);
    a_stranger_is_served(&mut foe.bench);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn guesses_at_the_tag_never_count(
        guesses in prop::collection::vec((any::<u32>(), 0u8..16, prop::collection::vec(any::<u8>(), 0..40)), 1..50)
    ) {
        let mut foe = Foe::new();
        let before = foe.stats();
        for (guess, chunk_type, value) in guesses {
            // Neither the endpoint's own tag nor the one that the T bit permits.
            if guess == foe.bench.tag.0 || guess == crate::support::wire::PEER_TAG.0 {
                continue;
            }
            foe.bench.give(VerificationTag(guess), |packet| {
                packet.append(Any(chunk_type, 0, &value)).unwrap();
            });
            prop_assert_eq!(foe.stats(), before.clone());
        }
        foe.bench.pass(Duration::from_secs(1));
        foe.association_works(0, 0);
    }
}
