//! Extensions used by a hostile peer: FORWARD TSN and I-FORWARD-TSN, I-DATA, RE-CONFIG, all of
//! which are negotiated.

use base::Duration;
use sctp::wire::chunk::{Init, ReconfigParameter};
use sctp::wire::{Chunk, Packet, Parameter, VerificationTag};
use sctp::{AssociationOptions, EndpointOptions, Extensions, ResetDirection};

use crate::foe::{Foe, a_stranger_is_served, bytes, memory};
use crate::support::wire::{Bench, PEER_TAG, PEER_TSN, names};

const FORWARD_TSN: u8 = 0xc0;
const I_FORWARD_TSN: u8 = 0xc2;
const I_DATA: u8 = 0x40;
const RE_CONFIG: u8 = 0x82;

/// Bytes of the receive buffer, and the memory that it may cost: the overhead
/// charged for a chunk is an estimate, and interleaved messages need more than others.
const BUFFER: u32 = 200_000;
const BOUND: u64 = 6 * BUFFER as u64;

/// An association on which the chunk types `announced` are agreed.
fn foe(announced: &'static [u8]) -> Foe {
    let extensions = Extensions::PARTIAL_RELIABILITY
        | Extensions::INTERLEAVING
        | Extensions::STREAM_RECONFIGURATION
        | Extensions::PADDING;
    let accepted = AssociationOptions {
        extensions,
        receive_buffer: BUFFER,
        inbound_streams: 1_000,
        outbound_streams: 1_000,
        heartbeat_interval: None,
        ..AssociationOptions::default()
    };
    let options = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    let init = Init {
        initiate_tag: PEER_TAG,
        a_rwnd: 1 << 20,
        outbound_streams: 1_000,
        inbound_streams: 1_000,
        initial_tsn: PEER_TSN,
        parameters: [Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(announced)],
    };
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
    bench.answer_init_ack(&answers[0]);
    Foe::with(bench)
}

fn plain() -> Foe {
    foe(&[FORWARD_TSN, RE_CONFIG, 0x84])
}

fn interleaving() -> Foe {
    foe(&[FORWARD_TSN, I_FORWARD_TSN, I_DATA, RE_CONFIG, 0x84])
}

/// The TSN `offset` after the peer's first.
fn tsn(offset: u32) -> [u8; 4] {
    PEER_TSN.0.wrapping_add(offset).to_be_bytes()
}

/// FORWARD TSN over `offset` TSNs from the first, with streams and their numbers.
fn forward(foe: &mut Foe, offset: u32, skips: &[(u16, u16)]) -> Vec<Vec<u8>> {
    let mut value = tsn(offset).to_vec();
    for (stream, ssn) in skips {
        value.extend_from_slice(&stream.to_be_bytes());
        value.extend_from_slice(&ssn.to_be_bytes());
    }
    foe.chunk(FORWARD_TSN, 0, &value)
}

/// I-FORWARD-TSN, which skips messages given by their streams and MIDs.
fn i_forward(foe: &mut Foe, offset: u32, skips: &[(u16, u32)]) -> Vec<Vec<u8>> {
    let mut value = tsn(offset).to_vec();
    for (stream, mid) in skips {
        value.extend_from_slice(&stream.to_be_bytes());
        value.extend_from_slice(&[0, 0]);
        value.extend_from_slice(&mid.to_be_bytes());
    }
    foe.chunk(I_FORWARD_TSN, 0, &value)
}

/// An I-DATA chunk: flags 2 begins, 1 ends, 4 is unordered.
fn i_data(
    foe: &mut Foe,
    offset: u32,
    stream: u16,
    mid: u32,
    fsn: u32,
    flags: u8,
    size: usize,
) -> Vec<Vec<u8>> {
    let mut value = tsn(offset).to_vec();
    value.extend_from_slice(&stream.to_be_bytes());
    value.extend_from_slice(&[0, 0]);
    value.extend_from_slice(&mid.to_be_bytes());
    value.extend_from_slice(&fsn.to_be_bytes());
    value.resize(16 + size, 0x2a);
    foe.chunk(I_DATA, flags, &value)
}

/// RE-CONFIG with one parameter of this type and value.
fn reconfig(foe: &mut Foe, kind: u16, value: &[u8]) -> Vec<Vec<u8>> {
    let mut parameter = kind.to_be_bytes().to_vec();
    parameter.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
    parameter.extend_from_slice(value);
    foe.chunk(RE_CONFIG, 0, &parameter)
}

/// An Outgoing SSN Reset Request (RFC 6525, section 4.1) of the peer.
fn outgoing_reset(foe: &mut Foe, sequence: u32, streams: &[u16]) -> Vec<Vec<u8>> {
    let mut value = PEER_TSN.0.wrapping_add(sequence).to_be_bytes().to_vec();
    value.extend_from_slice(&0u32.to_be_bytes());
    value.extend_from_slice(&PEER_TSN.0.wrapping_sub(1).to_be_bytes());
    for stream in streams {
        value.extend_from_slice(&stream.to_be_bytes());
    }
    reconfig(foe, 13, &value)
}

/// The results in RE-CONFIG chunks of packets (section 4.4).
fn results(packets: &[Vec<u8>]) -> Vec<u32> {
    let mut found = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(bytes::Bytes::copy_from_slice(bytes)).unwrap();
        for chunk in packet.chunks().flatten() {
            let Chunk::ReConfig(chunk) = chunk else { continue };
            found.extend(chunk.parameters.iter().flatten().filter_map(
                |parameter| match parameter {
                    ReconfigParameter::Response { result, .. } => Some(result.0),
                    _ => None,
                },
            ));
        }
    }
    found
}

/// Data that the SACK in a packet acknowledges.
fn cumulative(packet: &[u8]) -> Option<u32> {
    let packet = Packet::parse(bytes::Bytes::copy_from_slice(packet)).unwrap();
    packet.chunks().flatten().find_map(|chunk| match chunk {
        Chunk::Sack(sack) => Some(sack.cumulative_tsn_ack.0),
        _ => None,
    })
}

fn lawful(foe: &Foe) -> bool {
    matches!(foe.bench.state(), "ESTABLISHED" | "CLOSED")
}

#[test]
fn a_forward_tsn_flood_costs_a_sack_each_and_no_memory() {
    let mut foe = plain();
    forward(&mut foe, 0, &[]);
    let used = memory(|| {
        for offset in 1..10_000 {
            let answers = forward(&mut foe, offset, &[(5, offset as u16)]);
            assert!(answers.len() <= 1);
            assert!(bytes(&answers) <= 64);
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_current < 4_096, "{} bytes stay", used.bytes_current);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    let later = foe.bench.pass(Duration::from_secs(1));
    let last = forward(&mut foe, 9_999, &[]).into_iter().chain(later);
    let highest = last.filter_map(|packet| cumulative(&packet)).max();
    assert_eq!(highest, Some(PEER_TSN.0 + 9_999), "what it says it gave up is gone");
    foe.association_works(10_000, 0);
    // Again, with outdated contents.
    for offset in 0..1_000 {
        let answers = forward(&mut foe, offset, &[(0, 60_000)]);
        assert!(answers.len() <= 1);
        foe.bench.events.truncate(1);
    }
    foe.association_works(10_001, 1);
}

#[test]
fn a_forward_tsn_names_streams_that_do_not_exist_in_vain() {
    // Stream numbers up to the largest, on an association with 1000.
    let mut foe = plain();
    let skips: Vec<(u16, u16)> = (0..14_000u32).map(|n| ((n * 5) as u16, 9)).collect();
    let used = memory(|| {
        for round in 0..20 {
            forward(&mut foe, round, &skips);
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_current < 256 << 10, "{} bytes stay", used.bytes_current);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn forward_tsns_that_jump_as_far_as_they_can_keep_nothing() {
    let mut foe = plain();
    let used = memory(|| {
        for round in 1..2_000u32 {
            let far = round.wrapping_mul(0x7fff_ffff);
            let answers = forward(&mut foe, far, &[(1, 1)]);
            assert!(answers.len() <= 2);
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_current < 16 << 10, "{} bytes stay", used.bytes_current);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn fragments_that_are_begun_and_skipped_leave_nothing_behind() {
    let mut foe = plain();
    let begin = |foe: &mut Foe, offset: u32| {
        let payload = vec![3; 1_000];
        let mut chunk = crate::support::wire::data(offset, 3, 0, &payload);
        chunk.flags = sctp::wire::chunk::DataFlags::BEGINNING;
        foe.bench.give_right(|packet| packet.append(chunk).unwrap());
    };
    let round = |foe: &mut Foe, offset: u32| {
        begin(foe, offset);
        forward(foe, offset, &[(3, 0)]);
        foe.bench.events.truncate(1);
    };
    round(&mut foe, 0);
    let used = memory(|| (1..5_000).for_each(|offset| round(&mut foe, offset)));
    assert!(used.bytes_current < 8_192, "{} bytes stay", used.bytes_current);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn interleaved_beginnings_without_ends_fill_the_buffer_and_no_more() {
    // Messages on every stream, in order of TSNs and beyond a gap, none of them whole.
    for gap in [0, 1] {
        for size in [1, 100, 1_400] {
            let mut foe = interleaving();
            let used = memory(|| {
                for index in 0..20_000u32 {
                    let (stream, mid) = ((index % 1_000) as u16, index / 1_000);
                    let answers = i_data(&mut foe, index + gap, stream, mid, 0, 2, size);
                    assert!(bytes(&answers) <= 1_500);
                    foe.bench.events.truncate(1);
                }
            });
            assert!(used.bytes_max < BOUND, "{size}, {gap}: {} bytes", used.bytes_max);
            assert!(lawful(&foe));
            a_stranger_is_served(&mut foe.bench);
        }
    }
}

#[test]
fn interleaved_fragments_with_numbers_that_leap_fill_the_buffer_and_no_more() {
    let mut foe = interleaving();
    let used = memory(|| {
        for index in 0..20_000u32 {
            let leap = index.wrapping_mul(0x9e37_79b9);
            i_data(&mut foe, index, (index % 7) as u16, leap, leap | 1, 0, 10);
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_max < BOUND, "{} bytes", used.bytes_max);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn data_where_i_data_is_agreed_and_the_reverse_end_it_lawfully() {
    let mut foe = interleaving();
    let chunk = crate::support::wire::data(0, 0, 0, b"plain");
    foe.bench.give_right(|packet| packet.append(chunk).unwrap());
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
    let mut foe = plain();
    i_data(&mut foe, 0, 0, 0, 0, 3, 10);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn an_i_forward_tsn_flood_keeps_nothing() {
    let mut foe = interleaving();
    i_forward(&mut foe, 0, &[]);
    let used = memory(|| {
        for offset in 1..5_000u32 {
            let mid = offset.wrapping_mul(0x10_0001);
            let answers = i_forward(&mut foe, offset, &[(5, mid), (60_000, mid)]);
            assert!(answers.len() <= 1);
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_current < 8_192, "{} bytes stay", used.bytes_current);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn a_reset_storm_is_answered_one_for_one_and_keeps_nothing() {
    let mut foe = plain();
    let first = outgoing_reset(&mut foe, 0, &[1]);
    assert_eq!(first.iter().map(|packet| names(packet)).collect::<Vec<_>>(), [["RE-CONFIG"]]);
    assert_eq!(results(&first), [1], "it is performed");
    let used = memory(|| {
        for sequence in 1..5_000 {
            let answers = outgoing_reset(&mut foe, sequence, &[1, 2, 3]);
            assert_eq!(answers.len(), 1);
            assert!(bytes(&answers) <= 64);
            assert_eq!(foe.bench.events.len(), 2 + usize::from(sequence == 1), "told once");
            foe.bench.events.truncate(1);
        }
        // The last request repeatedly: answered each time, and executed once.
        for _ in 0..5_000 {
            let answers = outgoing_reset(&mut foe, 4_999, &[1, 2, 3]);
            assert_eq!(answers.len(), 1);
            assert_eq!(foe.bench.events.len(), 1, "not done again");
        }
    });
    assert!(used.bytes_current < 16 << 10, "{} bytes stay", used.bytes_current);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.association_works(0, 0);
}

#[test]
fn resets_of_streams_by_the_thousand_that_do_not_exist_are_refused() {
    let mut foe = plain();
    let all: Vec<u16> = (0..25_000u32).map(|n| (n * 2) as u16).collect();
    let used = memory(|| {
        for sequence in 0..50 {
            let answers = outgoing_reset(&mut foe, sequence, &all);
            assert!(bytes(&answers) <= 1_500);
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_current < 256 << 10, "{} bytes stay", used.bytes_current);
    assert!(lawful(&foe));
    foe.association_works(0, 0);
}

#[test]
fn resets_that_wait_for_data_that_never_comes_are_few_and_hold_nothing_up() {
    let mut foe = plain();
    let ask = |foe: &mut Foe, sequence: u32| {
        let mut value = PEER_TSN.0.wrapping_add(sequence).to_be_bytes().to_vec();
        value.extend_from_slice(&[0; 4]);
        value.extend_from_slice(&PEER_TSN.0.wrapping_add(50_000).to_be_bytes());
        (0..400u16).for_each(|stream| value.extend_from_slice(&stream.to_be_bytes()));
        reconfig(foe, 13, &value)
    };
    let used = memory(|| {
        for sequence in 0..2_000 {
            let answers = ask(&mut foe, sequence);
            // Eight wait, the others are denied.
            assert_eq!(results(&answers), [if sequence < 8 { 6 } else { 2 }], "{sequence}");
            assert_eq!(foe.bench.events.len(), 1);
        }
    });
    assert!(used.bytes_current < 16 << 10, "{} bytes stay", used.bytes_current);
    assert!(foe.bench.pass(Duration::from_secs(3_600)).len() < 100);
    foe.association_works(0, 0);
    let id = foe.bench.id();
    foe.bench.endpoint.release(id);
    foe.bench.drain();
    assert_eq!(foe.bench.endpoint.association_count(), 0);
}

#[test]
fn a_reset_that_never_gets_its_answer_is_asked_for_as_often_as_data_and_no_more() {
    // The application resets; the peer always answers that it is not done, or not at all.
    for says in [None, Some(6)] {
        let mut foe = plain();
        let (id, now) = (foe.bench.id(), foe.bench.now);
        let reset = foe.bench.endpoint.association_mut(id).unwrap().reset_streams(
            now,
            ResetDirection::Outgoing,
            &[],
        );
        assert_eq!(reset, Ok(()));
        let mut asked = foe.bench.drain().len();
        assert_eq!(asked, 1);
        for _ in 0..600 {
            let again = foe.bench.pass(Duration::from_secs(1)).len();
            asked += again;
            if let (Some(result), true) = (says, again > 0) {
                let mut value = foe.bench.tsn.0.to_be_bytes().to_vec();
                value.extend_from_slice(&u32::to_be_bytes(result));
                reconfig(&mut foe, 16, &value);
            }
        }
        // Silence ends the association as for data; otherwise the request is repeated after each
        // RTO.
        let (state, most) = if says.is_none() { ("CLOSED", 12) } else { ("ESTABLISHED", 610) };
        assert_eq!(foe.bench.state(), state);
        assert!(asked <= most, "{asked} packets");
        a_stranger_is_served(&mut foe.bench);
    }
}

#[test]
fn requests_that_make_the_endpoint_ask_in_turn_do_so_within_limits() {
    // Incoming SSN Reset Requests, with no streams: all of them.
    let mut foe = plain();
    let mut answers = 0;
    for sequence in 0..1_000u32 {
        let value = PEER_TSN.0.wrapping_add(sequence).to_be_bytes();
        answers += reconfig(&mut foe, 14, &value).len();
        foe.bench.events.truncate(1);
    }
    assert!(answers <= 2_000, "{answers} packets for 1000");
    let later = foe.bench.pass(Duration::from_secs(60));
    assert!(later.len() <= 30, "{} packets in a minute", later.len());
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn adding_streams_and_resetting_the_association_without_end_is_denied() {
    let mut foe = plain();
    let used = memory(|| {
        for sequence in 0..3_000u32 {
            // Add Outgoing, Add Incoming Streams, SSN/TSN Reset.
            for kind in [17, 18, 15] {
                let mut value =
                    PEER_TSN.0.wrapping_add(3 * sequence + kind - 15).to_be_bytes().to_vec();
                if kind != 15 {
                    value.extend_from_slice(&[0xff, 0xff, 0, 0]);
                }
                let answers = reconfig(&mut foe, kind as u16, &value);
                assert!(answers.len() <= 2);
            }
            foe.bench.events.truncate(1);
        }
    });
    assert!(used.bytes_current < 64 << 10, "{} bytes stay", used.bytes_current);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn answers_to_questions_that_nobody_asked_change_nothing() {
    let mut foe = plain();
    for sequence in 0..2_000u32 {
        let mut value = sequence.wrapping_mul(0x1234_5677).to_be_bytes().to_vec();
        value.extend_from_slice(&(sequence % 9).to_be_bytes());
        assert!(reconfig(&mut foe, 16, &value).is_empty());
    }
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.association_works(0, 0);
}

#[test]
fn a_bundle_of_a_thousand_requests_is_bounded() {
    let mut foe = plain();
    let mut value = Vec::new();
    for sequence in 0..1_000u32 {
        value.extend_from_slice(&[0, 13, 0, 18]);
        value.extend_from_slice(&PEER_TSN.0.wrapping_add(sequence).to_be_bytes());
        value.extend_from_slice(&[0; 8]);
        value.extend_from_slice(&[0, 1, 0, 0]);
    }
    let answers = foe.chunk(RE_CONFIG, 0, &value);
    assert!(answers.len() <= 4);
    assert!(bytes(&answers) <= 4_000);
    assert!(lawful(&foe));
    a_stranger_is_served(&mut foe.bench);
}
