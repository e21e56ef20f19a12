//! Cost of a packet: bounded per chunk, however many chunks it has.

use bytes::Bytes;
use cpu_time::ThreadTime;
use sctp::wire::chunk::{GapAckBlock, Init, OutgoingSack};
use sctp::wire::{ChunkType, Packet, PacketBuilder, Parameter, Tsn, VerificationTag};
use sctp::{AssociationOptions, EndpointOptions, SendOptions};

use crate::support::wire::*;
use crate::support::{PORT, options, plain};

/// CPU time of a packet with `most` chunks that `append` adds, after `bench` was made.
fn cost(bench: &mut Bench, most: usize, mut append: impl FnMut(&mut PacketBuilder<'_>)) -> f64 {
    let bytes = packet(PEER_PORT, PORT, bench.tag, |packet| (0..most).for_each(|_| append(packet)));
    let from = ThreadTime::now();
    bench.give_bytes(bytes);
    from.elapsed().as_secs_f64()
}

#[test]
fn chunks_that_were_not_agreed_on_cost_the_same_each_however_many_there_are() {
    for chunk_type in [ChunkType::FORWARD_TSN, ChunkType::I_FORWARD_TSN] {
        let of = |most| {
            let cost = |_| {
                let mut bench = Bench::established();
                cost(&mut bench, most, |packet| {
                    packet.append(Any(chunk_type.0, 0, &100u32.to_be_bytes())).unwrap();
                })
            };
            (0..5).map(cost).fold(f64::MAX, f64::min)
        };
        let (few, many) = (of(900), of(7_200));
        // Eight times the chunks; sixty-four times the cost if each was searched from the start.
        assert!(many < few * 24.0, "{chunk_type:?}: {few} s, {many} s");
    }
}

#[test]
fn an_init_full_of_unknown_parameters_gets_a_short_init_ack_with_a_few_of_them() {
    for length in [4, 32, 250] {
        let mut bench = Bench::listening();
        let mut value = Vec::new();
        value.extend(PEER_TAG.0.to_be_bytes());
        value.extend(100_000u32.to_be_bytes());
        value.extend([0, 10, 0, 10]);
        value.extend(PEER_TSN.0.to_be_bytes());
        while value.len() < 30_000 {
            value.extend([0xff, 0, 0, 4 + length]);
            value.resize((value.len() + usize::from(length)).next_multiple_of(4), 7);
        }
        let answers = bench.give(VerificationTag(0), |packet| {
            packet.append(Any(ChunkType::INIT.0, 0, &value)).unwrap();
        });
        assert_eq!(names(&answers[0]), ["INIT ACK"]);
        assert!((400..800).contains(&answers[0].len()), "{} bytes", answers[0].len());
    }
    // The parameter of RFC 3758 where that is not in use, as many times as fit.
    let accepted = AssociationOptions { extensions: sctp::Extensions::NONE, ..options(plain()) };
    let mut bench = Bench::new(EndpointOptions { listen: true, accepted, ..Default::default() });
    let init = Init {
        initiate_tag: PEER_TAG,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: PEER_TSN,
        parameters: vec![Parameter::ForwardTsnSupported; 2_000].into_iter(),
    };
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
    assert_eq!(names(&answers[0]), ["INIT ACK"]);
    assert!(answers[0].len() < 800, "{} bytes", answers[0].len());
}

#[test]
fn of_several_sacks_in_a_packet_one_counts() {
    let mut bench = Bench::established();
    let (id, now) = (bench.id(), bench.now);
    let stream = sctp::StreamId(0);
    for _ in 0..4 {
        let payload = Bytes::from_static(&[7; 100]);
        let ppid = sctp::Ppid(0);
        bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .send(now, stream, ppid, payload, SendOptions::default())
            .unwrap();
    }
    let sent: usize = bench
        .drain()
        .into_iter()
        .map(|bytes| {
            let packet = Packet::parse(bytes.into()).unwrap();
            packet
                .raw_chunks()
                .filter(|chunk| chunk.as_ref().unwrap().chunk_type == ChunkType::DATA)
                .count()
        })
        .sum();
    assert_eq!(sent, 4);
    let first = bench.tsn;
    let sack = |gaps: Vec<GapAckBlock>| OutgoingSack {
        cumulative_tsn_ack: Tsn(first.0.wrapping_sub(1)),
        a_rwnd: 100_000,
        gap_ack_blocks: gaps.into_iter(),
        duplicate_tsns: [],
    };
    bench.give_right(|packet| {
        // Reported and revoked as many times as fit: each would cost a walk over the outstanding
        // data.
        while packet.append(sack(vec![GapAckBlock { start: 2, end: 4 }])).is_ok()
            && packet.append(sack(Vec::new())).is_ok()
        {}
    });
    let stats = bench.endpoint.association(id).unwrap().stats();
    assert_eq!(stats.counters.sacks_received, 1);
    assert_eq!(stats.paths[0].recovery.flight.bytes, 100, "the gaps of the first hold");
}
