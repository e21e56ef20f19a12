//! Duplicate acknowledgements without SACK, as NewReno counts them.

use super::*;

#[test]
fn the_third_duplicate_resends_and_the_window_halves() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(10_000);
    assert_eq!(bench.at(100).ack(1), []);
    assert_eq!(bench.at(101).ack(1), []);
    assert_eq!(bench.at(102).ack(1), [(102, 1, 1000, false)]);
    let path = bench.sender.snapshot();
    assert_eq!((path.cwnd, path.ssthresh), (5000, 5000));
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 1);
    // All of it is acknowledged: the window is what the loss made of it, or the little that is in
    // flight.
    bench.at(200).ack(10_001);
    assert_eq!(bench.sender.snapshot().cwnd, 2000);
}

#[test]
fn two_duplicates_resend_nothing() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(10_000);
    assert_eq!(bench.at(100).ack(1), []);
    assert_eq!(bench.at(101).ack(1), []);
    assert_eq!(bench.at(150).ack(10_001), []);
    assert_eq!(bench.sender.recovery().stats().retransmissions.total(), 0);
}

#[test]
fn an_acknowledgement_of_new_data_begins_the_count_of_duplicates_anew() {
    for has_sack in [false, true] {
        let mut bench = Bench::new(if has_sack { sack() } else { newreno() });
        bench.has_sack = has_sack;
        bench.write(10_000);
        let duplicate = |bench: &mut Bench, at, ack: u64, reported: u64| {
            let block = ack + 1000..ack + 1000 + 10 * reported;
            let blocks = if has_sack { core::slice::from_ref(&block) } else { &[] };
            bench.at(at).ack_with(ack, blocks)
        };
        duplicate(&mut bench, 100, 1, 1);
        duplicate(&mut bench, 101, 1, 2);
        assert_eq!(bench.at(102).ack(3001), []);
        assert_eq!(duplicate(&mut bench, 103, 3001, 1), []);
        assert_eq!(duplicate(&mut bench, 104, 3001, 2), []);
        assert_eq!(bench.sender.recovery().stats().fast_recoveries, 0, "two and two");
        bench.at(150).ack(10_001);
        assert_eq!(bench.sender.recovery().stats().retransmissions.total(), 0);
    }
}

#[test]
fn limited_transmit_sends_one_new_segment_for_each_of_two_duplicates() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(20_000);
    assert_eq!(bench.at(100).ack(1), [(100, 10_001, 1000, false)]);
    assert_eq!(bench.at(101).ack(1), [(101, 11_001, 1000, false)]);
    assert_eq!(bench.sender.snapshot().cwnd, 10_000, "they do not open it");
    assert_eq!(bench.at(102).ack(1), [(102, 1, 1000, false)]);
    assert_eq!(
        bench.sender.snapshot().ssthresh,
        5000,
        "what it sent beyond the window does not count"
    );
    let mut policy = newreno();
    policy.congestion.limited_transmit = false;
    let mut bench = Bench::new(policy);
    bench.has_sack = false;
    bench.write(20_000);
    assert_eq!(bench.at(100).ack(1), []);
    // The peer's window has no room for them.
    let mut bench = Bench::with(SenderOptions::default(), newreno(), 10_000);
    (bench.has_sack, bench.window) = (false, 10_000);
    assert_eq!(bench.write(20_000).len(), 10);
    assert_eq!(bench.at(100).ack(1), []);
    assert_eq!(bench.at(101).ack(1), []);
}

#[test]
fn newreno_repairs_one_hole_per_partial_acknowledgement_and_inflates_meanwhile() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(40_000);
    // Segments at 1 and 4001 are lost: eight duplicates.
    let mut left = Vec::new();
    for duplicate in 0..8 {
        left.extend(bench.at(100 + duplicate).ack(1));
    }
    let limited = [(100, 10_001, 1000, false), (101, 11_001, 1000, false)];
    assert_eq!(left[..2], limited);
    assert_eq!(left[2], (102, 1, 1000, false));
    // Ten segments and two were sent; cwnd 5000 and eight duplicates let 13 stand.
    assert_eq!(left[3..], [(107, 12_001, 1000, false)]);
    // The retransmission arrives: everything below the second hole is acknowledged.
    assert_eq!(bench.at(202).ack(4001)[..1], [(202, 4001, 1000, false)]);
    assert!(bench.sender.recovery().is_recovering(PathId::FIRST));
    bench.at(302).ack(13_001);
    assert!(!bench.sender.recovery().is_recovering(PathId::FIRST));
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 1);
}

#[test]
fn impatient_restarts_the_timer_at_the_first_partial_acknowledgement_only() {
    use recovery::policy::PartialAck;
    let due = |partial_ack| {
        let mut policy = newreno();
        policy.loss.partial_ack = partial_ack;
        let mut bench = Bench::new(policy);
        bench.has_sack = false;
        bench.write(10_000);
        (0..3).for_each(|_| drop(bench.at(100).ack(1)));
        bench.at(150).ack(1001);
        bench.at(200).ack(2001);
        bench.sender.next_timeout().unwrap()
    };
    let rto = millis(300);
    assert_eq!(due(PartialAck::First), ms(150) + rto);
    assert_eq!(due(PartialAck::Every), ms(200) + rto);
}

#[test]
fn duplicates_of_what_a_timeout_resent_are_no_evidence() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(10_000);
    bench.run(300);
    bench.at(350).ack(1001);
    for at in 360..366 {
        bench.at(at).ack(1001);
    }
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 0);
}

#[test]
fn a_timeout_ends_the_recovery_in_progress() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(10_000);
    for at in [100, 101, 102] {
        bench.at(at).ack(1);
    }
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 1);
    assert_eq!(bench.run(500)[0], (402, 1, 1000, false));
    assert_eq!(bench.sender.timeouts(), 1);
    // In the recovery this acknowledgement of a part would have the next hole sent, and the window
    // of one segment full: after the timeout it opens slow start.
    assert_eq!(bench.at(510).ack(1001).len(), 2);
    // Duplicates of what had been sent before the timeout begin no other recovery.
    for at in [520, 521, 522] {
        bench.at(at).ack(1001);
    }
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 1);
}

#[test]
fn a_window_update_or_data_is_no_duplicate() {
    let mut bench = Bench::new(newreno());
    bench.has_sack = false;
    bench.write(10_000);
    for window in 1..10 {
        bench.window = 50_000 + window;
        assert_eq!(bench.at(100).ack(1), []);
    }
    for seq in 1..10 {
        let with_data = Acknowledgement {
            seq,
            ack: 1,
            window: bench.window,
            sack: &[],
            has_sack: false,
            has_data: true,
            rtt: None,
            ece: false,
            overtaken: false,
        };
        bench.sender.on_ack(bench.now, &with_data);
        assert_eq!(bench.poll(), []);
    }
}
