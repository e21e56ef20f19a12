//! Sections 9.1 and 9.2: abort and shutdown, with losses at every step.

use base::{Duration, Instant, Machine};
use bytes::Bytes;
use sctp::wire::chunk::Shutdown;
use sctp::wire::{Chunk, ChunkType, Packet, Tsn};
use sctp::{AssociationId, Event, Failure, SendOptions};

use crate::support::wire::{Any, Bench, PEER_TSN, data, names};
use crate::support::{Pair, T0, plain};

fn server_id(pair: &Pair) -> AssociationId {
    pair.server().events[0].1
}

fn shut_down(pair: &mut Pair, client: bool, server: bool) {
    let (mine, theirs) = (pair.association, server_id(pair));
    if client {
        pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(mine).unwrap().shutdown(now)
        });
    }
    if server {
        pair.sim.with_host(pair.server, |peer, now| {
            peer.endpoint.association_mut(theirs).unwrap().shutdown(now)
        });
    }
}

fn assert_closed(pair: &Pair) {
    assert!(pair.client().has_event(&Event::Closed), "{:?}", pair.client().events);
    assert!(pair.server().has_event(&Event::Closed), "{:?}", pair.server().events);
    assert_eq!(pair.client().endpoint.poll_timeout(), None, "a timer is left");
    assert_eq!(pair.server().endpoint.poll_timeout(), None, "a timer is left");
}

#[test]
fn each_chunk_of_the_shutdown_may_be_lost() {
    // SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE leave at 0, 50, 100 ms after T0.
    let cases: [(&[u64], &[u64], [u64; 2]); 5] = [
        // Times at which client and server know of the end, in milliseconds.
        (&[], &[], [100, 150]),
        // The client's T2 expires at 1000.
        (&[1], &[], [1_100, 1_150]),
        // The server's has RTO.Initial, 1 s, too: SHUTDOWN at 1000 finds it 50 ms before.
        (&[], &[1], [1_100, 1_150]),
        // SHUTDOWN ACK at 1050 finds no association at 1100: SHUTDOWN COMPLETE with the T bit.
        (&[2], &[], [100, 1_150]),
        (&[2, 3], &[], [100, 3_150]),
    ];
    for (lost, lost_of_server, over) in cases {
        let mut pair = Pair::established_over(plain(), lost, lost_of_server, |_| ());
        shut_down(&mut pair, true, false);
        pair.at(60_000_000);
        assert_closed(&pair);
        let closed = |peer: &crate::support::Peer| {
            let event = peer.events.iter().find(|(_, _, event)| *event == Event::Closed).unwrap();
            event.0.since(T0).as_millis()
        };
        assert_eq!(
            [closed(pair.client()), closed(pair.server())],
            over,
            "{lost:?} {lost_of_server:?}"
        );
    }
}

#[test]
fn both_may_close_at_once() {
    for lost in [&[][..], &[1], &[2], &[3]] {
        let mut pair = Pair::established_over(plain(), lost, lost, |_| ());
        shut_down(&mut pair, true, true);
        pair.at(60_000_000);
        assert_closed(&pair);
    }
}

#[test]
fn data_of_both_sides_arrives_before_the_end_whatever_is_lost() {
    for first_lost in 1..14 {
        let lost = [first_lost, first_lost + 1];
        let mut pair = Pair::established_over(plain(), &lost, &[first_lost], |_| ());
        let theirs = server_id(&pair);
        for _ in 0..10 {
            pair.send(vec![1; 3000]).unwrap();
            pair.sim.with_host(pair.server, |peer, now| {
                let (stream, ppid) = (sctp::StreamId(0), sctp::Ppid(0));
                let payload = Bytes::from(vec![2; 3000]);
                peer.endpoint
                    .association_mut(theirs)
                    .unwrap()
                    .send(now, stream, ppid, payload, SendOptions::default())
                    .unwrap();
            });
        }
        pair.at(20_000);
        shut_down(&mut pair, true, first_lost % 2 == 0);
        assert_eq!(pair.send("late"), Err(sctp::SendError::Closed));
        pair.at(120_000_000);
        assert_closed(&pair);
        assert_eq!(pair.server().messages.len(), 10, "losses from {first_lost}");
        assert_eq!(pair.client().messages.len(), 10, "losses from {first_lost}");
    }
}

#[test]
fn a_shutdown_that_is_never_answered_fails_after_association_max_retrans() {
    let mut pair = Pair::established_over(plain(), &[], &[], |link| {
        link.blackouts.push(T0..Instant::FAR_FUTURE);
    });
    shut_down(&mut pair, true, false);
    pair.at(1_000_000_000);
    // T2 expires at 1, 3, ..., 63, 123, 183, 243 s; the guard T5 of 5 · 60 s comes before the
    // eleventh.
    let times = pair.sim.checker().millis_of(pair.client, ChunkType::SHUTDOWN);
    assert_eq!(times.len(), 10);
    let (at, _, event) = pair.client().events.back().unwrap();
    assert_eq!(
        (at.since(T0), event),
        (Duration::from_secs(300), &Event::Failed(Failure::ShutdownTimeout))
    );
    assert_eq!(pair.sim.checker().times_of(pair.client, ChunkType::ABORT).count(), 1);
}

#[test]
fn an_abort_tells_its_reason_and_leaves_no_timer() {
    let mut pair = Pair::established(plain(), &[]);
    pair.send(vec![1; 5000]).unwrap();
    let id = pair.association;
    let reason = Bytes::from_static(b"enough");
    let told = reason.clone();
    pair.sim
        .with_host(pair.client, |peer, _| peer.endpoint.association_mut(id).unwrap().abort(told));
    pair.at(5_000_000);
    let failed = Event::Failed(Failure::AbortedByPeer { code: 12, reason });
    assert!(pair.server().has_event(&failed), "{:?}", pair.server().events);
    assert!(pair.client().has_event(&Event::Failed(Failure::Aborted)));
    assert_eq!(pair.client().endpoint.poll_timeout(), None);
    assert_eq!(pair.server().endpoint.poll_timeout(), None);
}

#[test]
fn a_reason_too_long_for_a_packet_is_cut_and_the_abort_goes_all_the_same() {
    let mut pair = Pair::established(plain(), &[]);
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().abort(vec![b'x'; 9000].into())
    });
    pair.at(1_000_000);
    let aborted = |event: &Event| matches!(event, Event::Failed(Failure::AbortedByPeer { .. }));
    assert!(pair.server().events.iter().any(|(_, _, event)| aborted(event)));
}

#[test]
fn an_association_aborted_with_a_sack_pending_lets_time_go_on() {
    let mut policy = plain();
    policy.acknowledgement.delay = Some(Duration::from_millis(200));
    let mut pair = Pair::established(policy, &[]);
    // The first message is acknowledged at once, the second waits for its delay.
    pair.send_at(100, [0, 300_000]);
    pair.at(350_000);
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().abort(Bytes::new())
    });
    pair.at(10_000_000);
    assert_eq!(pair.server().endpoint.poll_timeout(), None);
    assert_eq!(pair.server().messages.len(), 2, "what arrived stays readable");
}

#[test]
fn shutdown_does_not_take_gap_reports_back() {
    let mut bench = Bench::established();
    let id = bench.id();
    let (stream, ppid) = (sctp::StreamId(0), sctp::Ppid(0));
    for _ in 0..3 {
        let payload = Bytes::from(vec![1; 100]);
        bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .send(bench.now, stream, ppid, payload, SendOptions::default())
            .unwrap();
    }
    bench.drain();
    let flight = |bench: &Bench| {
        bench.endpoint.association(id).unwrap().stats().paths[0].recovery.flight.bytes
    };
    assert_eq!(flight(&bench), 300);
    // The third has arrived; SHUTDOWN then acknowledges the first alone.
    let before = Tsn(bench.tsn.0.wrapping_sub(1));
    let mut sack = before.0.to_be_bytes().to_vec();
    sack.extend_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 3]);
    bench.give_right(|p| p.append(Any(3, 0, &sack)).unwrap());
    assert_eq!(flight(&bench), 200);
    let cumulative_tsn_ack = bench.tsn;
    bench.give_right(|p| p.append(Shutdown { cumulative_tsn_ack }).unwrap());
    assert_eq!(bench.state(), "SHUTDOWN-RECEIVED");
    assert_eq!(flight(&bench), 100);
}

#[test]
fn data_in_shutdown_sent_is_answered_with_shutdown_and_sack() {
    let mut bench = Bench::established();
    let id = bench.id();
    bench.endpoint.association_mut(id).unwrap().shutdown(bench.now);
    assert_eq!(names(&bench.drain()[0]), ["SHUTDOWN"]);
    bench.pass(Duration::from_millis(600));
    let answer = bench.give_right(|p| p.append(data(0, 0, 0, b"still here")).unwrap());
    assert_eq!(names(&answer[0]), ["SHUTDOWN", "SACK"]);
    assert_eq!(bench.state(), "SHUTDOWN-SENT");
    assert_eq!(PEER_TSN, Tsn(100));
    // T2 of 1 s began again with that SHUTDOWN; a gap is reported as well.
    bench.pass(Duration::from_millis(600));
    let answer = bench.give_right(|p| p.append(data(2, 0, 2, b"behind a gap")).unwrap());
    assert_eq!(names(&answer[0]), ["SHUTDOWN", "SACK"]);
    let packet = Packet::parse(answer[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Sack(sack))) = packet.chunks().nth(1) else { panic!() };
    let gaps: Vec<_> = sack.gap_ack_blocks().map(|gap| (gap.start, gap.end)).collect();
    assert_eq!(gaps, [(2, 2)]);
    // So is a duplicate.
    let answer = bench.give_right(|p| p.append(data(2, 0, 2, b"behind a gap")).unwrap());
    assert_eq!(names(&answer[0]), ["SHUTDOWN", "SACK"]);
    let packet = Packet::parse(answer[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Sack(sack))) = packet.chunks().nth(1) else { panic!() };
    assert_eq!(sack.duplicate_tsns().collect::<Vec<_>>(), [Tsn(PEER_TSN.0 + 2)]);
    assert!(bench.pass(Duration::from_millis(999)).is_empty());
    let again = bench.pass(Duration::from_millis(1));
    assert_eq!(names(&again[0])[0], "SHUTDOWN");
}

#[test]
fn shutdown_is_sent_again_no_more_than_association_max_retrans_times() {
    let mut bench = Bench::established();
    let id = bench.id();
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .set_options(|options| options.association_max_retrans = 3);
    bench.endpoint.association_mut(id).unwrap().shutdown(bench.now);
    bench.drain();
    // T2 expires at 1, 3, 7 and 15 s; T5 would at 300 s.
    let sent = bench.pass(Duration::from_secs(15));
    let sent: Vec<String> = sent.iter().flat_map(|packet| names(packet)).collect();
    assert_eq!(sent, ["SHUTDOWN", "SHUTDOWN", "SHUTDOWN", "ABORT"]);
    let told = bench.events.last().unwrap().1.clone();
    assert_eq!((told, bench.state()), (Event::Failed(Failure::Unreachable), "CLOSED"));
}
