use super::*;

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn piece(start: u64, end: u64) -> Piece {
    Piece { start, end, bytes: (end - start) as u32 }
}

fn parts(pieces: &[(Kind, u64, u64)]) -> Parts {
    pieces
        .iter()
        .map(|(kind, start, end)| Part { kind: *kind, piece: piece(*start, *end) })
        .collect()
}

/// A mark by timestamps only.
fn stamp(value: u32) -> Mark {
    Mark { stamp: Some(value), identification: 0 }
}

const NO_MARK: Mark = Mark { stamp: None, identification: 0 };
const ROOM: usize = 1000;

fn lost(receiver: &mut Receiver) -> Vec<u64> {
    let mut lost = Vec::new();
    receiver.finish(Instant::ZERO, ms(100_000), |fate| lost.push(fate.at.as_nanos() / 1_000_000));
    lost
}

#[test]
fn timestamps_tell_which_transmission_was_lost() {
    for (arrives, expected) in [(1, 300), (2, 0)] {
        let mut receiver = Receiver::default();
        receiver.on_sent(ms(0), stamp(1), &parts(&[(Kind::New, 1, 101)]), &[]);
        receiver.on_sent(ms(300), stamp(2), &parts(&[(Kind::Again, 1, 101)]), &[]);
        receiver.on_arrival(ms(350), stamp(arrives), &[piece(1, 101)], ROOM);
        assert_eq!(lost(&mut receiver), [expected]);
        assert_eq!(receiver.counts.retransmissions_needed, u64::from(arrives == 2));
        assert_eq!(receiver.counts.packets, Losses { sent: 2, lost: 1 });
    }
}

#[test]
fn identifications_tell_it_where_there_are_no_timestamps() {
    let mark = |identification| Mark { stamp: None, identification };
    let mut receiver = Receiver::default();
    receiver.on_sent(ms(0), mark(7), &parts(&[(Kind::New, 1, 101)]), &[]);
    receiver.on_sent(ms(300), mark(8), &parts(&[(Kind::Again, 1, 101)]), &[]);
    receiver.on_arrival(ms(350), mark(7), &[piece(1, 101)], ROOM);
    assert_eq!(lost(&mut receiver), [300]);
}

#[test]
fn without_either_it_was_the_last_that_can_have_arrived() {
    let mut receiver = Receiver::default();
    receiver.on_sent(ms(0), NO_MARK, &parts(&[(Kind::New, 1, 101)]), &[]);
    assert_eq!(receiver.on_arrival(ms(50), NO_MARK, &[piece(1, 101)], ROOM), Some(50_000_000));
    receiver.on_sent(ms(100), NO_MARK, &parts(&[(Kind::New, 101, 201)]), &[]);
    receiver.on_sent(ms(400), NO_MARK, &parts(&[(Kind::Again, 101, 201)]), &[]);
    receiver.on_sent(ms(440), NO_MARK, &parts(&[(Kind::Again, 101, 201)]), &[]);
    let delay = receiver.on_arrival(ms(455), NO_MARK, &[piece(101, 201)], ROOM);
    assert_eq!(delay, Some(55_000_000), "the one of 440 ms would have been faster than any");
    assert_eq!(lost(&mut receiver), [100, 440]);
    assert_eq!(receiver.arrivals.seen(), 1, "a guess says nothing of delay");
}

#[test]
fn redundant_data_hit_what_was_lost_and_miss_what_was_there() {
    let mut receiver = Receiver::default();
    let second = [(Kind::Along, 1, 101), (Kind::New, 101, 201)];
    let third = [(Kind::Along, 101, 201), (Kind::New, 201, 301)];
    let fourth = [(Kind::Along, 201, 301), (Kind::New, 301, 401)];
    receiver.on_sent(ms(0), NO_MARK, &parts(&[(Kind::New, 1, 101)]), &[]);
    receiver.on_sent(ms(20), NO_MARK, &parts(&second), &[]);
    receiver.on_sent(ms(40), NO_MARK, &parts(&third), &[]);
    receiver.on_sent(ms(60), NO_MARK, &parts(&fourth), &[]);
    receiver.on_arrival(ms(70), NO_MARK, &[piece(1, 201)], ROOM);
    receiver.on_arrival(ms(90), NO_MARK, &[piece(101, 301)], ROOM);
    assert_eq!(lost(&mut receiver), [0, 60]);
    let counts = receiver.counts;
    assert_eq!((counts.bundle_hits, counts.bundle_misses, counts.lost_bundles), (1, 1, 1));
    assert_eq!((counts.hit_bytes, counts.missed_bytes), (100, 100));
    assert_eq!(counts.bytes, Losses { sent: 700, lost: 300 });
    assert_eq!(counts.new_bytes, Losses { sent: 400, lost: 200 });
    let delays: Vec<i64> =
        receiver.transport_layer.kept().iter().map(|sample| sample.delay / 1_000_000).collect();
    assert_eq!(delays, [70, 50, 50], "from the first sending, whichever copy arrives");
}

#[test]
fn segments_that_a_network_card_cut_or_joined_are_accounted_for() {
    let mut receiver = Receiver::default();
    receiver.on_sent(ms(0), stamp(1), &parts(&[(Kind::New, 1, 3001)]), &[]);
    for start in [1, 1001] {
        receiver.on_arrival(ms(50), stamp(1), &[piece(start, start + 1000)], ROOM);
    }
    receiver.on_sent(ms(100), stamp(2), &parts(&[(Kind::New, 3001, 4001)]), &[]);
    receiver.on_sent(ms(100), stamp(2), &parts(&[(Kind::New, 4001, 5001)]), &[]);
    receiver.on_arrival(ms(150), stamp(2), &[piece(3001, 5001)], ROOM);
    let mut fates = Vec::new();
    receiver.finish(Instant::ZERO, ms(100_000), |fate| fates.push((fate.bytes, fate.lost)));
    assert_eq!(fates, [(3000, 1000)], "a third of the first was lost");
    assert_eq!(receiver.counts.packets, Losses { sent: 3, lost: 0 });
    assert_eq!(receiver.counts.bytes, Losses { sent: 5000, lost: 1000 });
}

#[test]
fn what_the_receivers_capture_cannot_know_is_not_decided() {
    let mut receiver = Receiver::default();
    receiver.on_sent(ms(0), NO_MARK, &parts(&[(Kind::New, 1, 2)]), &[]);
    receiver.on_sent(ms(5000), NO_MARK, &parts(&[(Kind::New, 2, 3)]), &[]);
    receiver.on_sent(ms(9500), NO_MARK, &parts(&[(Kind::New, 3, 4)]), &[]);
    let mut lost = Vec::new();
    receiver.finish(ms(1000), ms(10_000), |fate| lost.push(fate.at));
    assert_eq!(lost, [ms(5000)]);
    assert_eq!(receiver.counts.undecided, 2, "before it began, and too short before it ended");
}

#[test]
fn a_packet_that_the_network_doubled_is_told_from_a_keep_alive() {
    let mut receiver = Receiver::default();
    receiver.on_sent(ms(0), NO_MARK, &parts(&[(Kind::New, 1, 101)]), &[]);
    for at in [50, 51] {
        receiver.on_arrival(ms(at), NO_MARK, &[piece(1, 101)], ROOM);
    }
    receiver.on_arrival(ms(60), NO_MARK, &[piece(100, 101)], ROOM);
    assert_eq!((receiver.counts.duplicated, receiver.counts.unmatched), (1, 0));
    receiver.on_arrival(ms(70), NO_MARK, &[piece(500, 600)], ROOM);
    assert_eq!(receiver.counts.unmatched, 1, "the sender's capture has missed it");
}
