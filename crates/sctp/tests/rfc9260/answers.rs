//! Sections 5.1.5, 5.2.4, 8.1 and 12.4: the form of answers, and the state that a restart leaves.

use base::{DatagramMeta, Duration, Ecn, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Heartbeat};
use sctp::wire::{Parameter, VerificationTag};
use sctp::{Event, PathState, Ppid, SendOptions, StreamId};

use crate::support::wire::{Any, Bench, PEER_PORT, PEER_TAG, data, names, packet, tag_of};
use crate::support::{PORT, SERVER, address};

fn all_names(packets: &[Vec<u8>]) -> Vec<String> {
    packets.iter().flat_map(|packet| names(packet)).collect()
}

fn send(bench: &mut Bench, size: usize) {
    let (id, now) = (bench.id(), bench.now);
    let (payload, options) = (Bytes::from(vec![7; size]), SendOptions::default());
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(0), Ppid(0), payload, options)
        .unwrap();
}

#[test]
fn cookie_ack_stands_before_the_sack_and_the_data_of_its_packet() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let bytes = packet(PEER_PORT, PORT, bench.tag, |p| {
        p.append(CookieEcho { cookie: &cookie }).unwrap();
        p.append(data(0, 0, 0, b"with the cookie")).unwrap();
    });
    let meta = DatagramMeta {
        local: address(SERVER),
        remote: bench.remote,
        ecn: Ecn::NotEct,
        origin: None,
    };
    bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
    while let Some(event) = bench.endpoint.poll_event() {
        bench.events.push(event);
    }
    send(&mut bench, 10);
    let sent = bench.drain();
    assert_eq!(
        (sent.len(), names(&sent[0])),
        (1, ["COOKIE ACK", "SACK", "DATA"].map(String::from).to_vec())
    );
}

#[test]
fn a_stale_cookie_for_a_restart_is_told_so_and_restarts_nothing() {
    let mut bench = Bench::established();
    let own = bench.tag;
    let cookie = bench.init(VerificationTag(0x99));
    let anew = std::mem::replace(&mut bench.tag, own);
    bench.pass(Duration::from_millis(60_001));
    let mut answer = bench.give(anew, |p| {
        p.append(CookieEcho { cookie: &cookie }).unwrap();
        p.append(data(0, 0, 0, b"x")).unwrap();
    });
    answer.retain(|packet| names(packet) != ["HEARTBEAT"]);
    assert_eq!(
        (all_names(&answer), tag_of(&answer[0])),
        (vec!["ERROR".to_owned()], VerificationTag(0x99))
    );
    assert_eq!(answer[0][16..18], [0, 3], "Stale Cookie");
    assert!(!bench.events.iter().any(|(_, event)| *event == Event::Restarted));
    assert_eq!(all_names(&bench.give_right(|p| p.append(data(0, 0, 0, b"x")).unwrap())), ["SACK"]);
}

#[test]
fn a_restart_begins_congestion_control_anew() {
    let mut bench = Bench::established();
    let id = bench.id();
    let path = |bench: &Bench| bench.endpoint.association(id).unwrap().stats().paths[0].recovery;
    let first = path(&bench);
    assert!(first.ssthresh > 1 << 32, "larger than any window");
    send(&mut bench, 20_000);
    bench.drain();
    bench.pass(Duration::from_secs(10));
    let spoilt = path(&bench);
    assert!(spoilt.cwnd < first.cwnd && spoilt.flight.bytes > 0, "{spoilt:?}");
    let cookie = bench.init(VerificationTag(0x99));
    bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    let anew = path(&bench);
    assert_eq!((anew.cwnd, anew.ssthresh, anew.rto), (first.cwnd, first.ssthresh, first.rto));
    assert_eq!(anew.flight.bytes, 0);
}

#[test]
fn the_answers_to_one_packet_leave_in_one_packet() {
    // Each chunk is reported, a header longer than it came.
    for size in [4, 100, 180, 340, 700] {
        let mut bench = Bench::established();
        let value = vec![0xaa; size - 4];
        let answers = bench.give_right(|p| {
            while p.remaining() > 60_000 - 1472 + size {
                p.append(Any(0xff, 0, &value)).unwrap();
            }
            p.append(Heartbeat { info: b"and this" }).unwrap();
        });
        assert_eq!(answers.len(), 1, "chunks of {size}: {:?}", all_names(&answers));
        assert!(answers[0].len() <= 1472, "{} bytes", answers[0].len());
    }
}

#[test]
fn unanswered_heartbeats_of_an_idle_path_leave_the_association_alone() {
    // The peer lists a second address, and answers at the first alone.
    let mut bench = Bench::listening();
    let second = Parameter::Ipv4Address([10, 7, 7, 7].into());
    let cookie = bench.init_with(PEER_TAG, &[second]);
    bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    let id = bench.id();
    for _ in 0..200 {
        bench.pass(Duration::from_secs(5));
        assert_eq!(bench.endpoint.association(id).unwrap().stats().error_count, 0);
        // The path in use carries data of the peer's and ours.
        send(&mut bench, 10);
        bench.drain();
        let stats = bench.endpoint.association(id).unwrap().stats();
        let sent = stats.counters.messages_sent as u32;
        let mut sack = bench.tsn.0.wrapping_add(sent - 1).to_be_bytes().to_vec();
        sack.extend([0, 1, 0, 0, 0, 0, 0, 0]);
        bench.give_right(|p| p.append(Any(3, 0, &sack)).unwrap());
    }
    let stats = bench.endpoint.association(id).unwrap().stats();
    assert_eq!((stats.state, stats.error_count), ("ESTABLISHED", 0));
    assert_eq!(stats.paths[1].state, PathState::Inactive);
    assert!(stats.paths[1].counters.heartbeats_sent > 7, "it is asked on");
}

#[test]
fn more_gaps_than_a_packet_has_room_for_are_reported_from_the_lowest_on_in_one_sack() {
    let mut bench = Bench::established();
    bench.give_right(|p| p.append(data(0, 0, 0, b"x")).unwrap());
    for gap in 1..=500 {
        let answer = bench.give_right(|p| p.append(data(2 * gap, 0, 0, b"x")).unwrap());
        assert_eq!((answer.len(), names(&answer[0])), (1, vec!["SACK".to_owned()]), "gap {gap}");
        assert!(answer[0].len() <= 1472, "{} bytes", answer[0].len());
        let packet = sctp::wire::Packet::parse(answer[0].clone().into()).unwrap();
        let Some(Ok(sctp::wire::Chunk::Sack(sack))) = packet.chunks().next() else { panic!() };
        let told: Vec<_> = sack.gap_ack_blocks().map(|block| (block.start, block.end)).collect();
        // 12 and 16 bytes of headers, 4 of each block.
        let expected = (gap as usize).min((1472 - 12 - 16) / 4);
        let lowest: Vec<_> = (1..=expected as u16).map(|at| (2 * at, 2 * at)).collect();
        assert_eq!(told, lowest, "gap {gap}");
    }
}
