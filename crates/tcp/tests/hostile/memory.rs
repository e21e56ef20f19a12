//! Peers that make this side hold as much memory as they can: the sum over all connections has a
//! limit.

use base::Machine;
use proptest::prelude::*;
use tcp::wire::{Options, Segment};
use tcp::{
    ConnectionId, ConnectionOptions, EndpointOptions, MemoryLimits, MemoryState, Received,
    SendFlags,
};

use crate::crowd::{Crowd, Honest, stranger, syn};
use crate::support::address;

const LIMIT: usize = 1 << 20;

/// Bytes that a connection may hold in any state of the budget, with overhead.
const LEAST: usize = 8 << 10;

/// An endpoint with a memory limit of one mebibyte and `connections` connections.
fn crowd(connections: u32) -> (Crowd, Vec<Honest>) {
    crowd_with(connections, LIMIT)
}

fn crowd_with(connections: u32, limit: usize) -> (Crowd, Vec<Honest>) {
    let options = EndpointOptions { memory: MemoryLimits::of(limit), ..EndpointOptions::default() };
    let accepted = ConnectionOptions {
        no_delay: true,
        send_buffer: 256 << 10,
        receive_buffer: 256 << 10,
        ..ConnectionOptions::default()
    };
    let mut crowd = Crowd::new(options, accepted);
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..Options::default()
    };
    let honest = (0..connections).map(|index| crowd.connect(stranger(index), options.clone()));
    let honest = honest.collect();
    crowd.drain();
    (crowd, honest)
}

fn send(crowd: &mut Crowd, id: ConnectionId, bytes: usize) -> usize {
    let data = vec![1; bytes].into();
    let taken = crowd
        .endpoint
        .connection_mut(id)
        .unwrap()
        .send(crowd.now, data, SendFlags::default())
        .unwrap();
    crowd.drain();
    taken
}

/// Fills a connection's window with in-order data, unread.
fn fill(crowd: &mut Crowd, honest: &mut Honest) {
    for _ in 0..500 {
        crowd.give(honest.remote, &honest.segment(1460));
        while let Some((to, answer)) = crowd.next() {
            if to == honest.remote {
                honest.seq = answer.ack;
            }
        }
    }
}

fn read_all(crowd: &mut Crowd, id: ConnectionId) -> usize {
    let mut bytes = 0;
    if let Some(mut own) = crowd.endpoint.connection_mut(id) {
        while let Ok(Received::Data(data)) = own.receive(crowd.now, 1 << 20) {
            bytes += data.len();
        }
    }
    crowd.drain();
    bytes
}

fn held(crowd: &Crowd) -> usize {
    let connections = crowd.endpoint.connections();
    let held = connections.map(|(_, connection)| connection.buffered().total()).sum();
    assert_eq!(crowd.endpoint.buffered_bytes(), held, "the sum is kept as it is");
    held
}

#[test]
fn data_that_nobody_reads_is_kept_up_to_the_limit_and_not_beyond() {
    let (mut crowd, mut honest) = crowd(20);
    honest.iter_mut().for_each(|honest| fill(&mut crowd, honest));
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
    let held = held(&crowd);
    assert!((LIMIT..LIMIT + 20 * LEAST).contains(&held), "{held}");
}

#[test]
fn the_last_connection_gets_a_thin_stream_through_when_others_hold_everything() {
    let (mut crowd, mut honest) = crowd(11);
    let (thin, thick) = honest.split_last_mut().unwrap();
    thick.iter_mut().for_each(|honest| fill(&mut crowd, honest));
    for index in 0..10 {
        let id = crowd.accepted[index];
        send(&mut crowd, id, 1 << 20);
    }
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
    let id = crowd.accepted[10];
    for _ in 0..100 {
        crowd.give(thin.remote, &thin.segment(100));
        thin.seq = thin.seq.advance(100);
        assert_eq!(read_all(&mut crowd, id), 100);
        assert_eq!(send(&mut crowd, id, 100), 100);
        thin.ack = thin.ack.advance(100);
        crowd.give(thin.remote, &thin.segment(0));
    }
    assert_eq!(crowd.endpoint.connection(id).unwrap().buffered().total(), 0);
}

#[test]
fn at_the_limit_connections_come_to_be_up_to_the_reserve_and_not_beyond() {
    let (mut crowd, mut honest) = crowd(60);
    let (thin, thick) = honest.split_at_mut(50);
    // All have moved more than they hold, so none is reset for a newcomer.
    for (honest, id) in thick.iter_mut().zip(crowd.accepted[50..].to_vec()) {
        for _ in 0..8 {
            fill(&mut crowd, honest);
            read_all(&mut crowd, id);
        }
    }
    thick.iter_mut().for_each(|honest| fill(&mut crowd, honest));
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
    crowd.serves();
    assert_eq!(crowd.endpoint.stats().syns_without_memory, 0);
    // Connections that hold little use the amount that each may have.
    for (index, honest) in thin.iter_mut().enumerate() {
        fill(&mut crowd, honest);
        let id = crowd.accepted[index];
        send(&mut crowd, id, LEAST);
    }
    assert_eq!(crowd.endpoint.stats().stalled_reset, 0);
    let all = held(&crowd);
    assert!((LIMIT + LIMIT / 8..LIMIT + 61 * LEAST).contains(&all), "{all}");
    let late = address("10.0.8.8:888");
    crowd.give(late, &syn(late, tcp::wire::SeqNumber(5)));
    assert_eq!((crowd.drain(), crowd.endpoint.stats().syns_without_memory), (0, 1));
    for id in crowd.accepted.clone() {
        crowd.endpoint.connection_mut(id).unwrap().abort(crowd.now);
        crowd.endpoint.release(crowd.now, id);
    }
    crowd.drain();
    assert_eq!((held(&crowd), crowd.endpoint.memory_state()), (0, MemoryState::Ease));
    crowd.serves();
}

#[test]
fn who_holds_more_than_it_ever_moved_makes_room_for_newcomers_the_largest_first() {
    let (mut crowd, mut honest) = crowd(60);
    let (thin, thick) = honest.split_at_mut(50);
    thick.iter_mut().for_each(|honest| fill(&mut crowd, honest));
    assert_eq!(crowd.endpoint.stats().stalled_reset, 0);
    for (index, honest) in thin.iter_mut().enumerate() {
        fill(&mut crowd, honest);
        let id = crowd.accepted[index];
        send(&mut crowd, id, LEAST);
    }
    let reset = crowd.endpoint.stats().stalled_reset;
    assert!((1..=10).contains(&reset), "{reset}");
    assert!(held(&crowd) < LIMIT + LIMIT / 8, "newcomers have room");
    let failure = |id: &ConnectionId| crowd.endpoint.connection(*id).unwrap().failure();
    let failed = crowd.accepted.iter().enumerate().filter(|(_, id)| failure(id).is_some());
    let failed: Vec<usize> = failed.map(|(index, _)| index).collect();
    assert_eq!(failed.len() as u64, reset);
    assert!(failed.iter().all(|index| *index >= 50), "{failed:?}: thin ones go on");
    crowd.serves();
    assert_eq!(crowd.endpoint.stats().syns_without_memory, 0);
}

#[test]
fn what_a_connection_that_is_over_still_has_for_its_application_makes_no_room() {
    let (mut crowd, mut honest) = crowd(60);
    let ids = crowd.accepted.clone();
    let (thin, thick) = honest.split_at_mut(50);
    // Unread data, and a peer that never acknowledges: the connection fails, and its data stays
    // readable.
    fill(&mut crowd, &mut thick[0]);
    send(&mut crowd, ids[50], 100);
    let failure = |crowd: &Crowd| crowd.endpoint.connection(ids[50]).unwrap().failure();
    for _ in 0..200 {
        crowd.wait(base::Duration::from_secs(30));
        crowd.drain();
    }
    assert_eq!(failure(&crowd), Some(tcp::Failure::TimedOut));
    assert!(crowd.endpoint.connection(ids[50]).unwrap().buffered().unread > 2 * LEAST);
    for honest in &mut thick[1..] {
        fill(&mut crowd, honest);
    }
    for (index, honest) in thin.iter_mut().enumerate() {
        fill(&mut crowd, honest);
        send(&mut crowd, ids[index], LEAST);
    }
    assert!(crowd.endpoint.stats().stalled_reset > 0, "others make room");
    assert!(read_all(&mut crowd, ids[50]) > 2 * LEAST);
}

/// Writes up to a mebibyte on each of these, as far as it is accepted.
fn send_much(crowd: &mut Crowd, ids: &[ConnectionId]) -> Vec<usize> {
    let mut much = |id| (0..64).map(|_| send(crowd, id, 16 << 10)).sum();
    ids.iter().map(|id| much(*id)).collect()
}

#[test]
fn under_pressure_nobody_takes_more_to_send_than_its_share() {
    let (mut crowd, _) = crowd(16);
    let ids = crowd.accepted.clone();
    assert_eq!(send_much(&mut crowd, &ids[..3]), [256 << 10; 3]);
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Pressure);
    assert_eq!(send_much(&mut crowd, &ids[3..6]), [64 << 10; 3], "a sixteenth");
    assert_eq!(send_much(&mut crowd, &ids[..1]), [0], "who has more gets no more");
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Pressure);
}

#[test]
fn under_pressure_an_address_takes_no_more_than_an_eighth_through_all_its_connections() {
    let (mut crowd, _) = crowd(0);
    let from = |port| address(&format!("10.0.7.7:{port}"));
    (0..8).for_each(|port| _ = crowd.connect(from(2000 + port), Options::default()));
    (0..8).for_each(|index| _ = crowd.connect(stranger(index), Options::default()));
    let ids = crowd.accepted.clone();
    // Until memory is scarce, one connection may have all of it.
    assert_eq!(send_much(&mut crowd, &ids[..3]), [256 << 10; 3]);
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Pressure);
    assert_eq!(send_much(&mut crowd, &ids[3..8]), [4096; 5], "for its thin streams");
    assert_eq!(send_much(&mut crowd, &ids[8..10]), [64 << 10; 2], "others have their share");
    // Released memory no longer counts.
    for id in &ids[..3] {
        crowd.endpoint.connection_mut(*id).unwrap().abort(crowd.now);
        crowd.endpoint.release(crowd.now, *id);
    }
    crowd.drain();
    assert_eq!(send_much(&mut crowd, &ids[10..13])[..2], [256 << 10; 2]);
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Pressure);
    let taken = send_much(&mut crowd, &ids[4..5]);
    assert_eq!(taken, [LIMIT / 13 - 4096], "so it has its share, too");
}

/// A minute and a half, in which peers with closed windows answer probes.
fn live(crowd: &mut Crowd, stubborn: &[Honest]) {
    for _ in 0..9 {
        crowd.wait(base::Duration::from_secs(10));
        for peer in stubborn {
            crowd.give(peer.remote, &Segment { window: 0, ..peer.segment(0) });
        }
        crowd.drain();
    }
}

#[test]
fn who_fills_the_memory_and_keeps_its_window_closed_is_reset_after_a_minute_the_largest_first() {
    let (mut crowd, honest) = crowd(5);
    for peer in &honest {
        crowd.give(peer.remote, &Segment { window: 0, ..peer.segment(0) });
    }
    let ids = crowd.accepted.clone();
    send_much(&mut crowd, &ids);
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
    crowd.wait(base::Duration::from_secs(50));
    assert_eq!(crowd.endpoint.stats().stalled_reset, 0);
    live(&mut crowd, &honest);
    // To reset one of the largest suffices.
    assert_eq!(crowd.endpoint.stats().stalled_reset, 1);
    let failures = ids.iter().map(|id| crowd.endpoint.connection(*id).unwrap().failure());
    let failures: Vec<_> = failures.flatten().collect();
    assert_eq!(failures, [tcp::Failure::NoMemory]);
    assert!(held(&crowd) < LIMIT && crowd.endpoint.memory_state() != MemoryState::Full);
    // While memory suffices, they stay.
    (0..10).for_each(|_| live(&mut crowd, &honest));
    assert_eq!(crowd.endpoint.stats().stalled_reset, 1);
    crowd.serves();
}

#[test]
fn what_nobody_reads_for_a_minute_is_given_up_at_the_limit_and_a_crumb_is_no_progress() {
    let (mut crowd, mut honest) = crowd(20);
    honest.iter_mut().for_each(|honest| fill(&mut crowd, honest));
    let ids = crowd.accepted.clone();
    for _ in 0..30 {
        assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
        for id in &ids {
            let _ = crowd.endpoint.connection_mut(*id).unwrap().receive(crowd.now, 10);
        }
        crowd.wait(base::Duration::from_secs(5));
        if crowd.endpoint.stats().stalled_reset > 0 {
            break;
        }
    }
    assert!((1..3).contains(&crowd.endpoint.stats().stalled_reset));
    assert!(held(&crowd) < LIMIT);
}

#[test]
fn who_fills_the_memory_and_gets_on_is_never_reset() {
    let (mut crowd, mut honest) = crowd(6);
    let ids = crowd.accepted.clone();
    for _ in 0..30 {
        send_much(&mut crowd, &ids);
        assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
        crowd.wait(base::Duration::from_secs(9));
        // Slow progress: a third of 4 KiB in nine seconds.
        for (peer, id) in honest.iter_mut().zip(&ids) {
            let unacked = crowd.endpoint.connection(*id).unwrap().info(crowd.now).unacked_bytes;
            peer.ack = peer.ack.advance(unacked.min(1365) as u32);
            crowd.give(peer.remote, &peer.segment(0));
        }
        crowd.drain();
    }
    assert_eq!(crowd.endpoint.stats().stalled_reset, 0);
    assert!(ids.iter().all(|id| crowd.endpoint.connection(*id).unwrap().failure().is_none()));
}

#[test]
fn a_writer_is_told_when_a_holder_that_had_failed_is_forgotten() {
    let (mut crowd, mut honest) = crowd_with(2, 64 << 10);
    let ids = crowd.accepted.clone();
    // The first holds unread data, and its peer is gone; the second is refused.
    fill(&mut crowd, &mut honest[0]);
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
    let gives_up = |options: &mut ConnectionOptions| {
        options.user_timeout = Some(base::Duration::from_secs(2));
    };
    crowd.endpoint.connection_mut(ids[0]).unwrap().set_options(crowd.now, gives_up);
    send(&mut crowd, ids[0], 100);
    crowd.wait(base::Duration::from_secs(3));
    let failure = crowd.endpoint.connection(ids[0]).unwrap().failure();
    assert_eq!(failure, Some(tcp::Failure::UserTimeout));
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full, "it can still be read");
    assert_eq!(send(&mut crowd, ids[1], 16 << 10), 4096);
    while crowd.endpoint.poll_event().is_some() {}
    crowd.endpoint.release(crowd.now, ids[0]);
    crowd.drain();
    assert_eq!((crowd.endpoint.connection_count(), held(&crowd)), (1, 4096 + 64));
    let told: Vec<_> = core::iter::from_fn(|| crowd.endpoint.poll_event()).collect();
    assert_eq!(told, [(ids[1], tcp::Event::Writable)]);
}

#[test]
fn what_came_out_of_order_is_given_up_first_from_the_worst_on_and_comes_again() {
    let (mut crowd, mut honest) = crowd(4);
    // The window reaches its maximum; then all segments but one arrive, of two connections more
    // than of the third.
    for (index, segments) in [(0, 170), (1, 160), (2, 20)] {
        crowd.give(honest[index].remote, &honest[index].segment(1460));
        honest[index].seq = honest[index].seq.advance(1460);
        let id = crowd.accepted[index];
        assert_eq!(read_all(&mut crowd, id), 1460);
        for number in 1..segments {
            let mut segment = honest[index].segment(1460);
            segment.seq = segment.seq.advance(number * 1460);
            crowd.give(honest[index].remote, &segment);
        }
        crowd.drain();
    }
    let behind = |crowd: &Crowd, index: usize| {
        crowd.endpoint.connection(crowd.accepted[index]).unwrap().buffered().behind_holes
    };
    assert!(behind(&crowd, 0) > 240_000 && behind(&crowd, 1) > 230_000);
    fill(&mut crowd, &mut honest[3]);
    let pruned = crowd.endpoint.stats().pruned_bytes;
    assert!(pruned >= 159 * 1460, "{pruned}");
    assert_eq!(behind(&crowd, 0).min(behind(&crowd, 1)), 0, "one of the two with the most");
    assert!(behind(&crowd, 2) > 0, "and not the one with little");
    assert!(crowd.endpoint.buffered_bytes() < LIMIT);
    // The peers that must retransmit succeed.
    let full = crowd.accepted[3];
    read_all(&mut crowd, full);
    let (honest, id) = (&mut honest[0], crowd.accepted[0]);
    for _ in 0..170 {
        crowd.give(honest.remote, &honest.segment(1460));
        honest.seq = honest.seq.advance(1460);
    }
    assert_eq!(read_all(&mut crowd, id), 170 * 1460);
}

#[test]
fn under_pressure_windows_open_no_further_than_the_least() {
    let (mut crowd, mut honest) = crowd(5);
    honest[..3].iter_mut().for_each(|honest| fill(&mut crowd, honest));
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Pressure);
    let window = |crowd: &Crowd| {
        crowd.endpoint.connection(crowd.accepted[4]).unwrap().info(crowd.now).receive_window
    };
    let (id, before) = (crowd.accepted[4], window(&crowd));
    let mut sent = 0;
    while sent + 1460 <= before {
        crowd.give(honest[4].remote, &honest[4].segment(1460));
        honest[4].seq = honest[4].seq.advance(1460);
        sent += 1460;
        read_all(&mut crowd, id);
    }
    assert!(window(&crowd) <= 4096 + 128, "{}", window(&crowd));
    assert!(window(&crowd) >= 2 * 1460, "it goes on: {}", window(&crowd));
    let others: Vec<_> = crowd.accepted[..3].to_vec();
    others.into_iter().for_each(|id| assert!(read_all(&mut crowd, id) > 0));
    crowd.give(honest[4].remote, &honest[4].segment(1460));
    read_all(&mut crowd, id);
    assert!(window(&crowd) > 200_000, "and opens again: {}", window(&crowd));
}

#[test]
fn writers_are_refused_at_the_limit_and_told_when_there_is_memory() {
    let (mut crowd, mut honest) = crowd(12);
    let taken: Vec<_> = (0..11)
        .map(|index| {
            let id = crowd.accepted[index];
            (0..64).map(|_| send(&mut crowd, id, 16 << 10)).sum::<usize>()
        })
        .collect();
    assert_eq!(taken[..3], [256 << 10; 3]);
    assert_eq!(taken[8], 4096, "no more than everybody gets");
    assert!(held(&crowd) < LIMIT + 12 * LEAST);
    let refused = crowd.accepted[8];
    assert_eq!(crowd.writable, []);
    take_all(&mut crowd, &mut honest, 0);
    crowd.wait(base::Duration::from_millis(200));
    assert!(crowd.writable.contains(&refused), "{:?}", crowd.writable);
    assert!(send(&mut crowd, refused, 16 << 10) > 4096);
}

/// The client of a connection acknowledges all segments.
fn take_all(crowd: &mut Crowd, honest: &mut [Honest], index: usize) {
    let (id, peer) = (crowd.accepted[index], &mut honest[index]);
    loop {
        let info = crowd.endpoint.connection(id).unwrap().info(crowd.now);
        if info.unacked_bytes == 0 {
            return;
        }
        peer.ack = peer.ack.advance(info.unacked_bytes as u32);
        crowd.give(peer.remote, &peer.segment(0));
        crowd.drain();
    }
}

#[test]
fn of_those_that_wait_for_memory_no_more_are_told_at_a_time_than_there_is_room_for() {
    let (mut crowd, mut honest) = crowd(40);
    let ids = crowd.accepted.clone();
    send_much(&mut crowd, &ids);
    assert_eq!(crowd.endpoint.memory_state(), MemoryState::Full);
    assert_eq!(crowd.writable, []);
    take_all(&mut crowd, &mut honest, 0);
    take_all(&mut crowd, &mut honest, 1);
    // The first two have their own share again. An eighth is free when the first of the others are
    // notified, and each has a share of a fortieth.
    let told = |crowd: &mut Crowd| {
        let told = core::mem::take(&mut crowd.writable);
        told.into_iter().filter(|id| !ids[..2].contains(id)).collect::<Vec<_>>()
    };
    let first = told(&mut crowd);
    assert!((3..=6).contains(&first.len()), "{first:?}");
    // No application writes, so there is room for more, and in the end for all.
    crowd.wait(base::Duration::from_millis(10));
    let second = told(&mut crowd);
    assert!((1..=20).contains(&second.len()), "{second:?}");
    crowd.wait(base::Duration::from_millis(200));
    let third = told(&mut crowd);
    let mut all = [first, second, third].concat();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(count, all.len(), "each is told once");
    assert!(all.contains(&ids[39]) && count > 20, "{count}");
    assert!(crowd.endpoint.poll_timeout().is_none_or(|at| at > crowd.now));
}

#[test]
fn orphans_are_reset_at_the_limit_at_once_and_connections_that_are_held_are_not() {
    let (mut crowd, _) = crowd(6);
    let ids = crowd.accepted.clone();
    for (id, pieces) in [(ids[0], 6), (ids[1], 16), (ids[2], 16)] {
        for _ in 0..pieces {
            send(&mut crowd, id, 16 << 10);
        }
    }
    crowd.endpoint.release(crowd.now, ids[0]);
    crowd.endpoint.release(crowd.now, ids[1]);
    crowd.drain();
    assert_eq!(crowd.endpoint.connection_count(), 6, "orphans send what they have");
    for id in &ids[3..] {
        for _ in 0..16 {
            send(&mut crowd, *id, 16 << 10);
        }
    }
    assert_eq!(crowd.endpoint.stats().orphans_reset, 1);
    assert_eq!(crowd.endpoint.connection_count(), 5);
    assert!(crowd.endpoint.connection(ids[0]).is_some(), "the one with less to send goes on");
    let failed = |id| crowd.endpoint.connection(id).and_then(|held| held.failure());
    assert!(ids[2..].iter().all(|id| failed(*id).is_none()));
    held(&crowd);
}

proptest! {
    #[test]
    fn the_account_is_right_and_the_limit_holds_whatever_happens(
        steps in prop::collection::vec((0usize..6, 0u8..8, 1usize..20_000), 1..300),
    ) {
        let (mut crowd, mut honest) = crowd_with(6, 64 << 10);
        let ids = crowd.accepted.clone();
        let mut most = 0;
        for (index, step, amount) in steps {
            let (now, id, peer) = (crowd.now, ids[index], &mut honest[index]);
            match step {
                // In order, or beyond a hole.
                0 | 1 => {
                    let known = crowd.endpoint.connection(id).map(|held| held.info(now));
                    let mut segment = peer.segment(amount.min(1460));
                    let gap = if step == 1 { amount as u32 } else { 0 };
                    let received = known.map_or(0, |info| info.counters.bytes_received);
                    segment.seq = peer.seq.advance(received as u32 + gap);
                    crowd.give(peer.remote, &segment);
                }
                2 | 3 => {
                    let data = vec![1; amount].into();
                    if let Some(mut own) = crowd.endpoint.connection_mut(id) {
                        let _ = own.send(now, data, SendFlags::default());
                    }
                }
                // All sent data is acknowledged, or part of it.
                4 => {
                    let known = crowd.endpoint.connection(id).map(|held| held.info(now));
                    let unacked = known.map_or(0, |info| info.unacked_bytes);
                    peer.ack = peer.ack.advance((amount as u64).min(unacked) as u32);
                    crowd.give(peer.remote, &peer.segment(0));
                }
                5 => drop(read_all(&mut crowd, id)),
                6 if amount < 2000 => crowd.endpoint.release(now, id),
                _ => crowd.wait(base::Duration::from_millis(amount as u64 / 10)),
            }
            crowd.drain();
            prop_assert!(held(&crowd) < (64 << 10) + 6 * LEAST + 20_000);
            let stats = crowd.endpoint.stats();
            let gave_up = stats.pruned_bytes + stats.orphans_reset > 0;
            prop_assert!(!gave_up || most + 22_000 >= 48 << 10, "at {most}");
            most = most.max(held(&crowd));
        }
        for id in ids {
            if let Some(mut own) = crowd.endpoint.connection_mut(id) {
                own.abort(crowd.now);
            }
            crowd.endpoint.release(crowd.now, id);
        }
        crowd.drain();
        prop_assert_eq!((crowd.endpoint.buffered_bytes(), crowd.endpoint.connection_count()), (0, 0));
    }
}
