//! Sections 1.6, 3.3.1, 6.1, 6.5, 6.9 and 6.10: DATA chunks as sent.

use base::Duration;
use bytes::Bytes;
use sctp::wire::chunk::{Data, DataFlags, GapAckBlock, Heartbeat, OutgoingSack, Shutdown};
use sctp::wire::{Chunk, Packet, Tsn};
use sctp::{AssociationOptions, EndpointOptions, Ppid, SendOptions, StreamId};

use crate::support::plain;
use crate::support::wire::{Bench, PEER_TAG, data, names};

/// DATA of a packet, with the TSN counted from the first.
fn data_of(bench: &Bench, packet: &[u8]) -> Vec<(u32, Data<Bytes>)> {
    let packet = Packet::parse(Bytes::copy_from_slice(packet)).unwrap();
    assert_eq!(packet.header().verification_tag, PEER_TAG);
    let chunks = packet.chunks().filter_map(|chunk| match chunk.unwrap() {
        Chunk::Data(data) => Some((data.tsn.0.wrapping_sub(bench.tsn.0), data)),
        _ => None,
    });
    chunks.collect()
}

fn send(bench: &mut Bench, stream: u16, size: usize, unordered: bool) {
    let (id, now) = (bench.id(), bench.now);
    let options = SendOptions { unordered, ..SendOptions::default() };
    let payload = Bytes::from(vec![7; size]);
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(stream), Ppid(0x1234_5678), payload, options)
        .unwrap();
}

fn sack(bench: &mut Bench, cumulative: Tsn, gap: Option<(u16, u16)>, a_rwnd: u32) -> Vec<Vec<u8>> {
    bench.give_right(|packet| {
        let gaps: Vec<GapAckBlock> =
            gap.into_iter().map(|(start, end)| GapAckBlock { start, end }).collect();
        let sack = OutgoingSack {
            cumulative_tsn_ack: cumulative,
            a_rwnd,
            gap_ack_blocks: gaps,
            duplicate_tsns: [],
        };
        packet.append(sack).unwrap();
    })
}

fn established(initial_tsn: Option<Tsn>) -> Bench {
    let accepted = AssociationOptions {
        policy: plain().into(),
        send_buffer: 64 << 20,
        ..AssociationOptions::default()
    };
    Bench::established_with(EndpointOptions { accepted, initial_tsn, ..Default::default() }, &[])
}

/// A bench with I-DATA instead of DATA.
fn interleaving() -> Bench {
    let accepted = AssociationOptions {
        policy: plain().into(),
        extensions: sctp::Extensions::INTERLEAVING,
        send_buffer: 64 << 20,
        ..AssociationOptions::default()
    };
    let listed = [sctp::wire::Parameter::SupportedExtensions(&[0x40])];
    Bench::established_with(EndpointOptions { accepted, ..Default::default() }, &listed)
}

#[test]
fn fragments_have_consecutive_tsns_one_ssn_and_each_the_payload_protocol_and_the_u_bit() {
    for unordered in [false, true] {
        let mut bench = established(None);
        send(&mut bench, 3, 4000, unordered);
        let sent: Vec<_> =
            bench.drain().iter().flat_map(|packet| data_of(&bench, packet)).collect();
        assert_eq!(sent.iter().map(|(tsn, _)| *tsn).collect::<Vec<_>>(), [0, 1, 2]);
        for (index, (_, data)) in sent.iter().enumerate() {
            let has = |flag| data.flags.contains(flag);
            assert_eq!((data.stream.0, data.ssn.0, data.ppid.0), (3, 0, 0x1234_5678));
            assert_eq!(has(DataFlags::UNORDERED), unordered);
            assert_eq!(
                (has(DataFlags::BEGINNING), has(DataFlags::ENDING)),
                (index == 0, index == 2)
            );
        }
        assert_eq!(sent.iter().map(|(_, data)| data.payload.len()).sum::<usize>(), 4000);
    }
}

#[test]
fn before_any_data_the_tsn_before_the_first_is_acknowledged_and_the_first_was_never_sent() {
    let mut bench = established(Some(Tsn(0)));
    let (before, first) = (Tsn(bench.tsn.0.wrapping_sub(1)), bench.tsn);
    assert_eq!(sack(&mut bench, before, None, 10_000).len(), 0);
    assert_eq!(bench.state(), "ESTABLISHED");
    assert_eq!(names(&sack(&mut bench, first, None, 10_000)[0]), ["ABORT"]);
}

#[test]
fn in_shutdown_received_a_sack_acknowledges_the_last_data() {
    let mut bench = established(None);
    send(&mut bench, 0, 100, false);
    assert_eq!(bench.drain().len(), 1);
    let (before, first) = (Tsn(bench.tsn.0.wrapping_sub(1)), bench.tsn);
    let shutdown = Shutdown { cumulative_tsn_ack: before };
    assert_eq!(bench.give_right(|packet| packet.append(shutdown).unwrap()).len(), 0);
    assert_eq!(bench.state(), "SHUTDOWN-RECEIVED");
    assert_eq!(names(&sack(&mut bench, first, None, 10_000)[0]), ["SHUTDOWN ACK"]);
}

#[test]
fn padding_is_of_zeros_at_most_three_and_no_part_of_the_length() {
    for size in 1..=8 {
        let mut bench = established(None);
        send(&mut bench, 0, size, false);
        let packet = bench.drain().remove(0);
        assert_eq!(usize::from(packet[14]) << 8 | usize::from(packet[15]), 16 + size);
        assert_eq!(packet.len(), 12 + 16 + size.next_multiple_of(4));
        assert!(packet[28 + size..].iter().all(|byte| *byte == 0), "{packet:?}");
    }
}

#[test]
fn ssns_and_tsns_go_on_at_0_after_their_largest() {
    let mut bench = established(Some(Tsn(u32::MAX - 70_000 + 65_000)));
    let (mut next, mut wrapped) = (0u32, 0);
    while next < 70_000 {
        (0..100).for_each(|_| send(&mut bench, 0, 1, false));
        let mut packets = bench.drain();
        while !packets.is_empty() {
            for (tsn, data) in packets.iter().flat_map(|packet| data_of(&bench, packet)) {
                assert_eq!((tsn, data.ssn.0), (next, next as u16));
                wrapped += usize::from(data.ssn.0 == 0) + usize::from(data.tsn.0 == 0);
                next += 1;
            }
            let last = Tsn(bench.tsn.0.wrapping_add(next - 1));
            packets = sack(&mut bench, last, None, 1 << 20);
        }
    }
    // SSN 0 twice, TSN 0 once.
    assert_eq!(wrapped, 3);
}

#[test]
fn no_more_than_65_535_messages_are_outstanding_whatever_the_peer_says_has_arrived_behind_a_gap() {
    let offsets = |bench: &Bench, packet: &[u8]| -> Vec<u32> {
        let packet = Packet::parse(Bytes::copy_from_slice(packet)).unwrap();
        let tsns = packet.chunks().filter_map(|chunk| match chunk.unwrap() {
            Chunk::Data(data) => Some(data.tsn),
            Chunk::IData(data) => Some(data.tsn),
            _ => None,
        });
        tsns.map(|tsn| tsn.0.wrapping_sub(bench.tsn.0)).collect()
    };
    for mut bench in [established(None), interleaving()] {
        let before = Tsn(bench.tsn.0.wrapping_sub(1));
        let mut highest = 0;
        let mut packets = Vec::new();
        for _ in 0..7_000 {
            (0..10).for_each(|_| send(&mut bench, 0, 1, false));
            packets.extend(bench.drain());
            for tsn in packets.drain(..).flat_map(|packet| offsets(&bench, &packet)) {
                highest = highest.max(tsn);
            }
            // All but the first, which is lost again and again.
            let end = u16::try_from(highest + 1).expect("a gap ack block can report it");
            packets = sack(&mut bench, before, (end > 1).then_some((2, end)), 1 << 20);
        }
        assert!(highest > 50_000, "{highest}");
        assert_eq!(bench.state(), "ESTABLISHED");
        // Once the first arrives, the rest follows.
        let last = Tsn(bench.tsn.0.wrapping_add(highest));
        let more = sack(&mut bench, last, None, 1 << 20);
        assert!(offsets(&bench, &more[0])[0] == highest + 1);
    }
}

#[test]
fn control_chunks_and_a_sack_that_waits_stand_before_data_in_one_packet() {
    let mut bench = established(None);
    bench.give_right(|p| p.append(data(0, 0, 0, b"first")).unwrap());
    let id = bench.id();
    // Messages sent before the answers are polled leave in their packets.
    let (now, options) = (bench.now, SendOptions::default());
    let meta = base::DatagramMeta {
        local: crate::support::address(crate::support::SERVER),
        remote: bench.remote,
        ecn: base::Ecn::NotEct,
        origin: None,
    };
    let bytes = crate::support::wire::packet(
        crate::support::wire::PEER_PORT,
        crate::support::PORT,
        bench.tag,
        |p| {
            p.append(Heartbeat { info: b"there?" }).unwrap();
            p.append(data(1, 0, 1, b"second")).unwrap();
        },
    );
    base::Machine::handle_datagram(&mut bench.endpoint, now, meta, bytes.into());
    let payload = Bytes::from_static(b"answer");
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(0), Ppid(0), payload, options)
        .unwrap();
    let sent = bench.drain();
    assert_eq!(
        (sent.len(), names(&sent[0])),
        (1, ["HEARTBEAT ACK", "SACK", "DATA"].map(String::from).to_vec())
    );
}

#[test]
fn without_room_at_the_peer_one_chunk_probes_and_its_interval_doubles() {
    let mut bench = established(None);
    send(&mut bench, 0, 100, false);
    bench.drain();
    let (tsn, now) = (bench.tsn, bench.now);
    sack(&mut bench, tsn, None, 0);
    (0..5).for_each(|_| send(&mut bench, 0, 100, false));
    let mut times = Vec::new();
    let mut packets = bench.drain();
    while bench.now < now + Duration::from_secs(16) {
        if !packets.is_empty() {
            let chunks: usize = packets.iter().map(|packet| data_of(&bench, packet).len()).sum();
            assert_eq!(chunks, 1);
            times.push(bench.now.since(now).as_millis());
            sack(&mut bench, tsn, None, 0);
        }
        packets = bench.pass(Duration::from_millis(100));
    }
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{times:?}");
    assert!(gaps.len() >= 3, "{times:?}");
    let own = bench.endpoint.association(bench.id()).unwrap().stats();
    assert_eq!((own.error_count, own.state), (0, "ESTABLISHED"));
    // The window opens, and the rest leaves.
    assert!(!sack(&mut bench, Tsn(tsn.0.wrapping_add(1)), None, 100_000).is_empty());
}

#[test]
fn while_a_closed_window_is_probed_the_congestion_window_follows_section_7_2_1() {
    let mut bench = established(None);
    let cwnd = |bench: &Bench| {
        bench.endpoint.association(bench.id()).unwrap().stats().paths[0].recovery.cwnd
    };
    let before = cwnd(&bench);
    send(&mut bench, 0, 100, false);
    bench.drain();
    let tsn = bench.tsn;
    sack(&mut bench, tsn, None, 0);
    send(&mut bench, 0, 100, false);
    bench.drain();
    sack(&mut bench, tsn, None, 0);
    // The probe goes unacknowledged: after the timeout there is a packet of window.
    bench.pass(Duration::from_millis(1500));
    assert!(before > 1460 && cwnd(&bench) <= 1460, "{before} {}", cwnd(&bench));
}

#[test]
fn no_packet_exceeds_the_path_mtu_whatever_is_bundled() {
    let mut bench = established(None);
    // SACKs and answers to HEARTBEATs are pending while messages of all sizes leave.
    let mut next = 0;
    for (index, size) in (1..4500).step_by(97).enumerate() {
        send(&mut bench, 0, size, false);
        let mut sent = bench.give_right(|p| {
            p.append(Heartbeat { info: &vec![1; index % 300] }).unwrap();
            p.append(data(2 * index as u32, 0, index as u16, b"there")).unwrap();
        });
        while !sent.is_empty() {
            // 1500 less the headers of IP and UDP.
            assert!(sent.iter().all(|packet| packet.len() <= 1472), "a message of {size}");
            next += sent.iter().map(|packet| data_of(&bench, packet).len()).sum::<usize>() as u32;
            let cumulative = Tsn(bench.tsn.0.wrapping_add(next).wrapping_sub(1));
            sent = sack(&mut bench, cumulative, None, 1 << 20);
        }
    }
}

#[test]
fn a_sack_that_acknowledges_and_reports_a_loss_grows_the_window_first() {
    let mut bench = established(None);
    let id = bench.id();
    let path = |bench: &Bench| bench.endpoint.association(id).unwrap().stats().paths[0].recovery;
    (0..3_000).for_each(|_| send(&mut bench, 0, 1444, false));
    // Slow start until the window is wide, one SACK for each packet.
    let (mut sent, mut acked) = (bench.drain().len() as u32, 0);
    while path(&bench).cwnd < 60_000 {
        acked += 1;
        let last = Tsn(bench.tsn.0.wrapping_add(acked - 1));
        sent += sack(&mut bench, last, None, 1 << 20).len() as u32;
    }
    assert!(sent - acked > 10);
    // The next and the fourth are missing: two reports of both, one of the fourth that acknowledges
    // the next.
    let last = Tsn(bench.tsn.0.wrapping_add(acked - 1));
    bench.give_right(|packet| {
        let gaps = vec![GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }];
        let (a_rwnd, duplicate_tsns) = (1 << 20, []);
        let first =
            OutgoingSack { cumulative_tsn_ack: last, a_rwnd, gap_ack_blocks: gaps, duplicate_tsns };
        packet.append(first).unwrap();
    });
    bench.give_right(|packet| {
        let gaps = vec![GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 6 }];
        let (a_rwnd, duplicate_tsns) = (1 << 20, []);
        let second =
            OutgoingSack { cumulative_tsn_ack: last, a_rwnd, gap_ack_blocks: gaps, duplicate_tsns };
        packet.append(second).unwrap();
    });
    let before = path(&bench);
    assert!(before.flight.bytes >= before.cwnd, "the window is full: {before:?}");
    sack(&mut bench, Tsn(last.0.wrapping_add(3)), Some((2, 4)), 1 << 20);
    let after = path(&bench);
    assert_eq!((after.ssthresh, after.cwnd), ((before.cwnd + 1460) / 2, (before.cwnd + 1460) / 2));
}

#[test]
fn a_delay_of_acknowledgements_above_500_ms_is_cut() {
    let mut policy = plain();
    policy.acknowledgement.delay = Some(Duration::from_secs(3));
    let accepted = AssociationOptions { policy: policy.into(), ..AssociationOptions::default() };
    let mut bench =
        Bench::established_with(EndpointOptions { accepted, ..Default::default() }, &[]);
    bench.give_right(|p| p.append(data(0, 0, 0, b"first")).unwrap());
    assert!(bench.give_right(|p| p.append(data(1, 0, 1, b"second")).unwrap()).is_empty());
    assert!(bench.pass(Duration::from_millis(499)).is_empty());
    assert_eq!(names(&bench.pass(Duration::from_millis(1))[0]), ["SACK"]);
}

#[test]
fn the_congestion_window_and_the_peers_window_hold_for_i_data_too() {
    let mut bench = interleaving();
    (0..20).for_each(|_| send(&mut bench, 0, 1440, false));
    let sent = bench.drain();
    assert!(sent.iter().all(|packet| names(packet) == ["I-DATA"]));
    assert_eq!(sent.len(), 4, "cwnd is 4404 bytes, exceeded by less than a packet");
    // The peer's window has room for one message.
    let last = Tsn(bench.tsn.0.wrapping_add(3));
    assert_eq!(sack(&mut bench, last, None, 1500).len(), 1);
}

#[test]
fn what_was_sent_before_a_lower_tsn_went_again_measures_nothing() {
    let mut bench = established(None);
    let id = bench.id();
    let srtt =
        |bench: &Bench| bench.endpoint.association(id).unwrap().stats().paths[0].recovery.srtt;
    (0..2).for_each(|_| send(&mut bench, 0, 1444, false));
    assert_eq!(bench.drain().len(), 2);
    // The timer retransmits the first, and the second not yet.
    let again = bench.pass(Duration::from_secs(1));
    assert_eq!(again.iter().map(|packet| data_of(&bench, packet)[0].0).collect::<Vec<_>>(), [0]);
    bench.pass(Duration::from_millis(100));
    let last = Tsn(bench.tsn.0.wrapping_add(1));
    sack(&mut bench, last, None, 1 << 20);
    assert_eq!(srtt(&bench), None);
    // What is sent once does.
    send(&mut bench, 0, 10, false);
    bench.drain();
    bench.pass(Duration::from_millis(300));
    sack(&mut bench, Tsn(last.0.wrapping_add(1)), None, 1 << 20);
    assert_eq!(srtt(&bench), Some(Duration::from_millis(300)));
}

#[test]
fn a_sack_from_before_the_latest_moves_no_window() {
    let mut bench = established(None);
    let chunks = |bench: &Bench, packets: &[Vec<u8>]| -> usize {
        packets.iter().map(|packet| data_of(bench, packet).len()).sum()
    };
    (0..2).for_each(|_| send(&mut bench, 0, 100, false));
    assert_eq!(bench.drain().len(), 1);
    let (first, second) = (bench.tsn, Tsn(bench.tsn.0.wrapping_add(1)));
    sack(&mut bench, first, None, 10_000);
    sack(&mut bench, second, None, 10_000);
    // The first again, with a closed window: one chunk would probe that.
    assert!(sack(&mut bench, first, None, 0).is_empty());
    (0..3).for_each(|_| send(&mut bench, 0, 100, false));
    let sent = bench.drain();
    assert_eq!(chunks(&bench, &sent), 3);
}

#[test]
fn a_fast_retransmission_of_another_chunk_than_the_earliest_leaves_the_timer_alone() {
    let mut bench = established(None);
    let id = bench.id();
    let due =
        |bench: &Bench| bench.endpoint.association(id).unwrap().stats().paths[0].recovery.t3_rtx;
    for _ in 0..9 {
        send(&mut bench, 0, 100, false);
        assert_eq!(bench.drain().len(), 1);
    }
    let before = Tsn(bench.tsn.0.wrapping_sub(1));
    let again = |bench: &mut Bench, gaps: &[(u16, u16)]| -> Vec<u32> {
        let sent = bench.give_right(|packet| {
            let gaps = gaps.iter().map(|(start, end)| GapAckBlock { start: *start, end: *end });
            packet
                .append(OutgoingSack {
                    cumulative_tsn_ack: before,
                    a_rwnd: 100_000,
                    gap_ack_blocks: gaps.collect::<Vec<_>>(),
                    duplicate_tsns: [],
                })
                .unwrap();
        });
        sent.iter().flat_map(|packet| data_of(bench, packet)).map(|(tsn, _)| tsn).collect()
    };
    bench.pass(Duration::from_millis(100));
    let lost = [2, 3, 4].map(|last| again(&mut bench, &[(2, last)]));
    assert_eq!(lost, [vec![], vec![], vec![0]]);
    let restarted = Some(bench.now + Duration::from_secs(1));
    assert_eq!(due(&bench), restarted, "by the earliest chunk");
    bench.pass(Duration::from_millis(100));
    let lost = [6, 7, 8].map(|last| again(&mut bench, &[(2, 4), (6, last)]));
    assert_eq!(lost, [vec![], vec![], vec![4]]);
    assert_eq!(due(&bench), restarted);
}
