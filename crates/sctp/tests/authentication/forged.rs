//! Hand-made packets: with a valid AUTH, with an invalid one, and without one where it is required.

use sctp::wire::chunk::Heartbeat;
use sctp::wire::signing::HmacId;
use sctp::wire::{PacketBuilder, VerificationTag};

use super::*;
use crate::support::authentic::{self, signed};
use crate::support::wire::{Any, Bench, PEER_PORT, data, fix_checksum, names, packet};

/// An endpoint that accepts these chunks only authenticated, and the association shared key.
fn bench(chunks: &[ChunkType]) -> (Bench, Vec<u8>) {
    authentic::bench(authenticating(chunks, None), &[])
}

fn messages(bench: &mut Bench) -> usize {
    let (id, now) = (bench.id(), bench.now);
    std::iter::from_fn(|| bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now)))
        .count()
}

#[test]
fn data_is_taken_with_either_hmac_and_dropped_without() {
    let (mut bench, key) = bench(&[ChunkType::DATA, ChunkType::COOKIE_ECHO]);
    let tag = bench.tag;
    assert!(bench.give_right(|p| p.append(data(0, 0, 0, b"bare")).unwrap()).is_empty());
    for (offset, hmac_id) in [(0, HmacId::SHA_256), (1, HmacId::SHA_1)] {
        let ssn = offset as u16;
        let fill = |p: &mut PacketBuilder<'_>| p.append(data(offset, 0, ssn, b"signed")).unwrap();
        let answers = bench.give_bytes(signed(tag, &key, KeyId(0), hmac_id, fill));
        assert_eq!(names(&answers[0]), ["SACK"]);
    }
    assert_eq!(messages(&mut bench), 2);
    // Chunks before AUTH are not covered; those that need no AUTH are accepted in the same packet.
    let heartbeat = Heartbeat { info: b"who" };
    let answers = bench.give_right(|packet| {
        packet.append(data(2, 0, 2, b"bare")).unwrap();
        packet.append(heartbeat).unwrap();
    });
    assert_eq!(names(&answers[0]), ["HEARTBEAT ACK"]);
    assert_eq!(messages(&mut bench), 0);
}

#[test]
fn no_bit_of_what_is_covered_can_be_changed() {
    let (mut bench, key) = bench(&[ChunkType::DATA]);
    let fill = |p: &mut PacketBuilder<'_>| p.append(data(0, 0, 0, b"x")).unwrap();
    let good = signed(bench.tag, &key, KeyId(0), HmacId::SHA_256, fill);
    // Every bit but those of the AUTH chunk's type, which could become that of a chunk without
    // AUTH.
    for bit in 13 * 8..good.len() * 8 {
        let mut changed = good.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fix_checksum(&mut changed);
        bench.give_bytes(changed);
        assert_eq!(messages(&mut bench), 0, "{bit}");
    }
    assert_eq!(bench.state(), "ESTABLISHED");
    bench.give_bytes(good);
    assert_eq!(messages(&mut bench), 1);
}

#[test]
fn an_abort_that_nobody_can_forge() {
    let (mut bench, key) = bench(&[ChunkType::ABORT]);
    bench.give_right(|packet| packet.append(Any(6, 0, &[])).unwrap());
    assert_eq!(bench.state(), "ESTABLISHED");
    let abort = |p: &mut PacketBuilder<'_>| p.append(Any(6, 0, &[])).unwrap();
    let wrong = signed(bench.tag, b"guess", KeyId(0), HmacId::SHA_1, |p| {
        abort(p);
        // Neither does what needs no proof, behind a wrong one.
        p.append(Heartbeat { info: b"who" }).unwrap();
    });
    assert!(bench.give_bytes(wrong).is_empty());
    assert_eq!(bench.state(), "ESTABLISHED");
    let right = signed(bench.tag, &key, KeyId(0), HmacId::SHA_1, abort);
    bench.give_bytes(right);
    assert_eq!(bench.state(), "CLOSED");
}

#[test]
fn an_hmac_that_was_not_offered_is_named_and_an_unknown_key_is_not() {
    let (mut bench, key) = bench(&[ChunkType::DATA]);
    let unknown = [0, 0, 0, 9, 1, 2, 3, 4];
    let answers = bench.give_right(|packet| {
        packet.append(Any(15, 0, &unknown)).unwrap();
        packet.append(Heartbeat { info: b"who" }).unwrap();
    });
    assert_eq!(names(&answers[0]), ["ERROR"], "what follows is dropped");
    assert_eq!(answers[0][16..], [1, 5, 0, 6, 0, 9, 0, 0]);
    let fill = |p: &mut PacketBuilder<'_>| p.append(data(0, 0, 0, b"x")).unwrap();
    let other_key = signed(bench.tag, &key, KeyId(1), HmacId::SHA_256, fill);
    assert!(bench.give_bytes(other_key).is_empty());
    assert_eq!(messages(&mut bench), 0);
}

#[test]
fn where_it_was_not_agreed_on_auth_stops_the_packet_in_silence() {
    let mut bench = Bench::established();
    let answers = bench.give_right(|packet| {
        packet.append(Any(15, 0, &[0; 24])).unwrap();
        packet.append(Heartbeat { info: b"who" }).unwrap();
    });
    assert!(answers.is_empty());
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn out_of_the_blue_a_packet_is_judged_without_its_auth() {
    let mut bench = Bench::listening();
    let auth = Any(15, 0, &[0; 24]);
    let mut answer = |chunk: Option<u8>| {
        let bytes = packet(PEER_PORT, crate::support::PORT, VerificationTag(9), |packet| {
            packet.append(Any(auth.0, auth.1, auth.2)).unwrap();
            if let Some(chunk_type) = chunk {
                packet.append(Any(chunk_type, 0, &[])).unwrap();
            }
        });
        bench.give_bytes(bytes).first().map(|answer| names(answer).remove(0))
    };
    assert_eq!(answer(Some(8)).as_deref(), Some("SHUTDOWN COMPLETE"));
    assert_eq!(answer(Some(0)).as_deref(), Some("ABORT"));
    assert_eq!(answer(Some(6)), None);
    assert_eq!(answer(None), None);
}

#[test]
fn behind_one_that_proved_right_further_auth_chunks_are_passed_over_unseen() {
    let (mut bench, key) = bench(&[ChunkType::DATA]);
    let tag = bench.tag;
    // Each would require a hash over the rest of the packet.
    let bytes = signed(tag, &key, KeyId(0), HmacId::SHA_256, |packet| {
        for _ in 0..200 {
            packet.append(Any(ChunkType::AUTH.0, 0, &[0, 0, 0, 3, 1, 2, 3, 4])).unwrap();
        }
        packet.append(data(0, 0, 0, b"covered")).unwrap();
    });
    bench.give_bytes(bytes);
    assert_eq!(messages(&mut bench), 1);
}
