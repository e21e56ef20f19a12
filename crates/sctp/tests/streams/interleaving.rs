//! I-DATA, and the schedulers with and without it.

use sctp::{Reliability, Scheduler, SendOptions, StreamId};

use crate::peer::{Peer, Sent};

/// An association with this scheduler, whose first packets leave one at a time:
/// each acknowledged before the next.
fn sequence(
    scheduler: Scheduler,
    interleaving: bool,
    prepare: impl FnOnce(&mut Peer),
) -> Vec<(u16, usize)> {
    let change = |options: &mut sctp::AssociationOptions| options.scheduler = scheduler;
    let mut peer =
        if interleaving { Peer::interleaving_with(change) } else { Peer::partial_with(change) };
    // The window is full of this, so that the rest is queued when the first of it leaves.
    peer.send(9, 4 * 1440, Reliability::Full);
    prepare(&mut peer);
    let mut order = Vec::new();
    let mut highest = 3;
    for _ in 0..100 {
        for packet in peer.sack(highest, &[]) {
            for chunk in packet {
                let (tsn, stream, len) = match chunk {
                    Sent::Data(tsn, stream, _, _, len) => (tsn, stream, len),
                    Sent::IData(tsn, stream, _, _, _, len) => (tsn, stream, len),
                    other => panic!("{other:?}"),
                };
                highest = highest.max(i64::from(tsn));
                order.push((stream, len));
            }
        }
    }
    order
}

fn send(peer: &mut Peer, stream: u16, size: usize) {
    assert!(peer.send(stream, size, Reliability::Full).is_empty());
}

fn streams(order: &[(u16, usize)]) -> Vec<u16> {
    order.iter().map(|(stream, _)| *stream).collect()
}

#[test]
fn fragments_carry_message_and_fragment_numbers_and_fit_with_20_bytes_of_header() {
    let mut peer = Peer::interleaving();
    let sent = peer.send(1, 3000, Reliability::Full);
    let whole: Vec<Sent> = sent.into_iter().flatten().collect();
    assert_eq!(
        whole,
        [
            Sent::IData(0, 1, 0, 0, "B", 1440),
            Sent::IData(1, 1, 0, 1, "", 1440),
            Sent::IData(2, 1, 0, 2, "E", 120),
        ]
    );
    peer.sack(2, &[]);
    // Ordered and unordered messages have separate numbers, and each stream its own.
    let unordered = SendOptions { unordered: true, ..SendOptions::default() };
    peer.try_send(1, 10, unordered).unwrap();
    assert_eq!(peer.drain(), [[Sent::IData(3, 1, 0, 0, "UBE", 10)]]);
    peer.try_send(1, 10, unordered).unwrap();
    assert_eq!(peer.drain(), [[Sent::IData(4, 1, 1, 0, "UBE", 10)]]);
    assert_eq!(peer.send(1, 10, Reliability::Full), [[Sent::IData(5, 1, 1, 0, "BE", 10)]]);
    assert_eq!(peer.send(2, 10, Reliability::Full), [[Sent::IData(6, 2, 0, 0, "BE", 10)]]);
}

#[test]
fn a_stream_finishes_a_message_before_it_begins_the_next_whatever_the_scheduler() {
    for scheduler in [
        Scheduler::FirstCome,
        Scheduler::RoundRobin,
        Scheduler::RoundRobinPerPacket,
        Scheduler::Priority,
        Scheduler::FairBandwidth,
        Scheduler::WeightedFair,
    ] {
        let change = |options: &mut sctp::AssociationOptions| options.scheduler = scheduler;
        let mut peer = Peer::interleaving_with(change);
        peer.send(9, 4 * 1440, Reliability::Full);
        for size in [3 * 1440, 2 * 1440, 1440] {
            send(&mut peer, 1, size);
            send(&mut peer, 2, size);
        }
        let mut order = [Vec::new(), Vec::new()];
        let mut highest = 3;
        for _ in 0..100 {
            for chunk in peer.sack(highest, &[]).into_iter().flatten() {
                let Sent::IData(tsn, stream, mid, fsn, ..) = chunk else { panic!("{chunk:?}") };
                highest = highest.max(i64::from(tsn));
                order[usize::from(stream) - 1].push((mid, fsn));
            }
        }
        for order in order {
            assert_eq!(order, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)], "{scheduler:?}");
        }
    }
}

#[test]
fn without_i_data_a_message_that_has_begun_is_finished_first_whatever_the_scheduler() {
    for scheduler in [
        Scheduler::FirstCome,
        Scheduler::RoundRobin,
        Scheduler::RoundRobinPerPacket,
        Scheduler::Priority,
        Scheduler::FairBandwidth,
        Scheduler::WeightedFair,
    ] {
        let order = sequence(scheduler, false, |peer| {
            send(peer, 1, 4 * 1444);
            send(peer, 2, 100);
        });
        assert_eq!(streams(&order), [1, 1, 1, 1, 2], "{scheduler:?}");
    }
}

#[test]
fn first_come_first_served_does_not_interleave() {
    let order = sequence(Scheduler::FirstCome, true, |peer| {
        send(peer, 1, 3 * 1440);
        send(peer, 2, 100);
        send(peer, 1, 100);
    });
    assert_eq!(streams(&order), [1, 1, 1, 2, 1]);
}

#[test]
fn round_robin_alternates_fragments_with_i_data_and_messages_without() {
    let prepare = |peer: &mut Peer| {
        send(peer, 1, 3 * 1440);
        send(peer, 1, 1440);
        send(peer, 2, 1440);
        send(peer, 2, 1440);
        send(peer, 3, 1440);
    };
    assert_eq!(streams(&sequence(Scheduler::RoundRobin, true, prepare)), [1, 2, 3, 1, 2, 1, 1]);
    assert_eq!(streams(&sequence(Scheduler::RoundRobin, false, prepare)), [1, 1, 1, 2, 3, 1, 2]);
}

#[test]
fn round_robin_per_packet_fills_a_packet_from_one_stream() {
    let prepare = |peer: &mut Peer| {
        for _ in 0..3 {
            send(peer, 1, 600);
            send(peer, 2, 600);
        }
    };
    let pairs = streams(&sequence(Scheduler::RoundRobinPerPacket, false, prepare));
    assert_eq!(pairs, [1, 1, 2, 2, 1, 2]);
    let pairs = streams(&sequence(Scheduler::RoundRobinPerPacket, true, prepare));
    assert_eq!(pairs, [1, 1, 2, 2, 1, 2]);
}

#[test]
fn the_most_urgent_goes_first_and_equals_take_turns() {
    let order = sequence(Scheduler::Priority, true, |peer| {
        let id = peer.bench.id();
        peer.bench.endpoint.association_mut(id).unwrap().set_stream_priority(StreamId(3), 1);
        peer.bench.endpoint.association_mut(id).unwrap().set_stream_priority(StreamId(4), 300);
        send(peer, 4, 1440);
        send(peer, 1, 2 * 1440);
        send(peer, 2, 2 * 1440);
        send(peer, 3, 2 * 1440);
    });
    assert_eq!(streams(&order), [3, 3, 1, 2, 1, 2, 4]);
}

#[test]
fn an_urgent_message_waits_for_no_other_once_messages_interleave() {
    let change = |options: &mut sctp::AssociationOptions| options.scheduler = Scheduler::Priority;
    for interleaving in [true, false] {
        let mut peer =
            if interleaving { Peer::interleaving_with(change) } else { Peer::partial_with(change) };
        let id = peer.bench.id();
        peer.bench.endpoint.association_mut(id).unwrap().set_stream_priority(StreamId(2), 1);
        assert_eq!(peer.send(1, 20 * 1440, Reliability::Full).len(), 4);
        send(&mut peer, 2, 100);
        // The next packet carries it; in DATA it follows the message that has begun.
        let sent = peer.sack(0, &[]);
        let first = &sent[0][0];
        if interleaving {
            assert_eq!(*first, Sent::IData(4, 2, 0, 0, "BE", 100));
        } else {
            assert_eq!(*first, Sent::Data(4, 1, 0, "", 1444));
        }
    }
}

#[test]
fn fair_bandwidth_counts_bytes_not_messages() {
    let order = sequence(Scheduler::FairBandwidth, true, |peer| {
        for _ in 0..3 {
            send(peer, 1, 1440);
        }
        for _ in 0..12 {
            send(peer, 2, 360);
        }
    });
    // At no time is either ahead by more than a packet.
    let mut bytes = [0i64; 3];
    for (stream, len) in &order {
        bytes[usize::from(*stream)] += *len as i64;
        assert!((bytes[1] - bytes[2]).abs() <= 1440, "{order:?}");
    }
    assert_eq!(bytes, [0, 3 * 1440, 12 * 360]);
}

#[test]
fn weights_share_bytes_in_proportion() {
    let order = sequence(Scheduler::WeightedFair, true, |peer| {
        let id = peer.bench.id();
        peer.bench.endpoint.association_mut(id).unwrap().set_stream_weight(StreamId(1), 300);
        peer.bench.endpoint.association_mut(id).unwrap().set_stream_weight(StreamId(2), 100);
        send(peer, 1, 30 * 1440);
        send(peer, 2, 30 * 1440);
    });
    let first: Vec<u16> = streams(&order[..24]);
    assert_eq!(first.iter().filter(|stream| **stream == 2).count(), 6, "{first:?}");
}

#[test]
fn the_scheduler_may_change_while_messages_wait() {
    let order = sequence(Scheduler::FirstCome, true, |peer| {
        send(peer, 1, 3 * 1440);
        send(peer, 2, 3 * 1440);
        let id = peer.bench.id();
        peer.bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .set_options(|options| options.scheduler = Scheduler::RoundRobin);
    });
    assert_eq!(streams(&order), [1, 2, 1, 2, 1, 2]);
}

#[test]
fn one_endpoint_has_associations_with_i_data_and_with_data() {
    use sctp::wire::chunk::{CookieEcho, IData};
    use sctp::wire::{Fsn, Mid, Parameter, Ppid, Tsn, VerificationTag};

    use crate::support::address;
    use crate::support::wire::{PEER_TAG, PEER_TSN, data, names};

    let mut peer = Peer::interleaving();
    let interleaving = (peer.bench.id(), peer.bench.remote, peer.bench.tag, peer.bench.tsn);
    // A second peer of the same endpoint, which does not know I-DATA.
    peer.bench.remote = address("10.0.0.9:9899");
    let tag = VerificationTag(PEER_TAG.0 + 1);
    let cookie = peer.bench.init_with(tag, &[Parameter::ForwardTsnSupported]);
    peer.bench.events.clear();
    let answer = peer.bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(names(&answer[0]), ["COOKIE ACK"]);
    let plain = (peer.bench.id(), peer.bench.remote, peer.bench.tag, peer.bench.tsn);
    assert_ne!(interleaving.0, plain.0);
    for number in 0..2u32 {
        for (id, remote, tag, tsn) in [interleaving, plain] {
            (peer.bench.remote, peer.bench.tag, peer.bench.tsn) = (remote, tag, tsn);
            peer.bench.events = vec![(id, sctp::Event::Established)];
            let sent = peer.send(1, 100, Reliability::Full);
            let arrives = if id == interleaving.0 {
                assert_eq!(sent, [[Sent::IData(number, 1, number, 0, "BE", 100)]]);
                peer.bench.give_right(|p| {
                    let of_peer = IData {
                        tsn: Tsn(PEER_TSN.0 + number),
                        stream: StreamId(1),
                        mid: Mid(number),
                        ppid: Ppid(0),
                        fsn: Fsn(0),
                        flags: sctp::wire::chunk::DataFlags::WHOLE,
                        payload: &b"whole"[..],
                    };
                    p.append(of_peer).unwrap();
                })
            } else {
                assert_eq!(sent, [[Sent::Data(number, 1, number as u16, "BE", 100)]]);
                peer.bench.give_right(|p| {
                    p.append(data(number, 1, number as u16, b"whole")).unwrap();
                })
            };
            assert_eq!(names(&arrives[0]), ["SACK"]);
            assert!(peer.sack(number.into(), &[]).is_empty());
            let now = peer.bench.now;
            let message = peer.bench.endpoint.association_mut(id).unwrap().receive(now).unwrap();
            assert_eq!(message.payload.into_bytes(), &b"whole"[..]);
        }
    }
}
