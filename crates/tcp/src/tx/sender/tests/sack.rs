//! Recovery by SACK, and thin streams.

use super::*;

#[test]
fn three_segments_reported_above_a_hole_mean_loss_and_pipe_governs() {
    let mut bench = Bench::new(sack());
    bench.write(40_000);
    assert_eq!(bench.at(100).ack_with(1, &[1001..2001]), [(100, 10_001, 1000, false)]);
    assert_eq!(bench.at(101).ack_with(1, &[1001..3001]), [(101, 11_001, 1000, false)]);
    assert_eq!(bench.at(102).ack_with(1, &[1001..4001]), [(102, 1, 1000, false)]);
    // Nine in flight with cwnd five: nothing until the pipe falls below.
    for (at, end) in [(103, 5001), (104, 6001), (105, 7001), (106, 8001)] {
        assert_eq!(bench.at(at).ack_with(1, &[1001..end]), [], "at {at}");
    }
    assert_eq!(bench.at(107).ack_with(1, &[1001..9001]), [(107, 12_001, 1000, false)]);
}

#[test]
fn blocks_add_up_and_both_holes_are_resent_in_the_first_round_trip() {
    let mut bench = Bench::new(sack());
    bench.write(10_000);
    // 1 and 5001 are lost. Later acknowledgements name the later block alone.
    bench.at(100).ack_with(1, &[1001..4001]);
    bench.at(101).ack_with(1, &[4001..5001]);
    let mut left = Vec::new();
    for end in [7001, 8001, 9001, 10_001] {
        left.extend(bench.at(102).ack_with(1, &[6001..end]));
    }
    assert_eq!(left, [(102, 5001, 1000, false)]);
    assert_eq!(bench.sender.snapshot().flight.bytes, 2000);
    bench.at(200).ack(10_001);
    assert_eq!(bench.sender.next_timeout(), None);
}

#[test]
fn the_last_segment_is_rescued_once_when_nothing_else_can_be_sent() {
    let mut policy = sack();
    let run = |policy: RecoveryPolicy| {
        let mut bench = Bench::new(policy);
        bench.write(10_000);
        // The first and the last are lost.
        let mut left = Vec::new();
        for end in [2001, 3001, 4001, 5001, 6001, 7001, 8001, 9001] {
            left.extend(bench.at(100).ack_with(1, &[1001..end]));
        }
        left.extend(bench.at(200).ack(9001));
        left
    };
    assert_eq!(run(policy.clone()), [(100, 1, 1000, false), (200, 9001, 1000, false)]);
    policy.loss.rescue = false;
    assert_eq!(run(policy), [(100, 1, 1000, false)]);
}

#[test]
fn a_rescue_is_not_repeated_and_leaves_the_holes_below_it_to_the_other_rules() {
    // The first and the last three are lost, but the third from the end is only late.
    let recovering = || {
        let mut bench = Bench::new(sack());
        bench.write(10_000);
        for end in [2001, 3001, 4001, 5001, 6001, 7001] {
            bench.at(100).ack_with(1, &[1001..end]);
        }
        assert_eq!(bench.at(200).ack(7001), [(200, 9001, 1000, false)]);
        bench
    };
    assert_eq!(recovering().at(250).ack(8001), []);
    // The report of the rescue is too little evidence of a loss, and rule 3 sends what is below it.
    let left = recovering().at(300).ack_with(7001, &[9001..10_001]);
    assert_eq!(left, [(300, 7001, 1000, false), (300, 8001, 1000, false)]);
}

#[test]
fn reports_above_the_end_of_a_recovery_outlive_it() {
    let mut bench = Bench::new(sack());
    bench.write(40_000);
    // The first segment is lost. Recovery ends with 12,000, which limited transmit had reached.
    for end in [2001, 3001, 4001] {
        bench.at(100).ack_with(1, &[1001..end]);
    }
    let left = bench.at(110).ack_with(1, &[1001..12_001]);
    assert_eq!(left.first(), Some(&(110, 12_001, 1000, false)));
    assert!(left.len() >= 3, "{left:?}");
    // So is the first segment sent in recovery, and a single segment above it is reported before
    // recovery ends.
    bench.at(120).ack_with(1, &[1001..12_001, 13_001..14_001]);
    let resent = |left: &[Left]| left.contains(&(left[0].0, 12_001, 1000, false));
    let left = bench.at(200).ack_with(12_001, &[13_001..14_001]);
    assert!(!resent(&left), "{left:?}");
    // Two further reports make three above the hole: the one from before counts.
    let left = bench.at(210).ack_with(12_001, &[14_001..15_001]);
    assert!(left.is_empty() || !resent(&left), "{left:?}");
    let left = bench.at(220).ack_with(12_001, &[15_001..16_001]);
    assert!(resent(&left), "{left:?}");
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 2);
}

#[test]
fn a_timeout_ends_a_recovery_and_none_begins_below_what_was_sent_by_then() {
    let mut bench = Bench::new(sack());
    bench.write(40_000);
    for end in [2001, 3001, 4001] {
        bench.at(100).ack_with(1, &[1001..end]);
    }
    assert!(bench.sender.recovery().is_recovering(recovery::PathId::FIRST));
    // The retransmission is lost too. HighData is 12,000.
    bench.run(500);
    assert_eq!(bench.sender.recovery().stats().timeouts, 1);
    assert!(!bench.sender.recovery().is_recovering(recovery::PathId::FIRST));
    // Reports below HighData begin no recovery, however many they are.
    bench.at(600).ack(1001);
    for end in [4001, 5001, 6001, 7001, 8001, 9001] {
        bench.at(610).ack_with(1001, &[3001..end]);
    }
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 1);
    // Once everything up to it is acknowledged, the next loss does.
    let end = bench.sender.snd_max();
    bench.at(700).ack(end);
    let first = end + 1000;
    for end in [first + 1000, first + 2000, first + 3000] {
        bench.at(900).ack_with(first - 1000, &[first..end]);
    }
    assert_eq!(bench.sender.recovery().stats().fast_recoveries, 2);
}

#[test]
fn thin_streams_resend_at_the_first_duplicate_and_thick_ones_do_not() {
    let mut bench = Bench::new(RecoveryPolicy::tcp_thin());
    for at in [0, 24, 48] {
        bench.at(at).write(30);
    }
    assert_eq!(bench.at(124).ack_with(1, &[31..61]), [(124, 1, 30, false)]);
    let mut bench = Bench::new(RecoveryPolicy::tcp_thin());
    (0..6).for_each(|_| drop(bench.write(30)));
    assert_eq!(bench.at(124).ack_with(1, &[31..61]), []);
    let mut bench = Bench::new(sack());
    for at in [0, 24, 48] {
        bench.at(at).write(30);
    }
    assert_eq!(bench.at(124).ack_with(1, &[31..61]), []);
}

#[test]
fn thin_streams_time_out_linearly_six_times() {
    let mut bench = Bench::new(RecoveryPolicy::tcp_thin_paper());
    bench.write(30);
    let at: Vec<u64> = bench.run(6000).iter().map(|left| left.0).collect();
    assert_eq!(at, [300, 600, 900, 1200, 1500, 1800, 2100, 2700, 3900]);
    // Doubled up to a second. The first timeouts allow for a peer that delays: 125 ms and 200.
    let mut bench = Bench::new(RecoveryPolicy::tcp_thin());
    bench.write(30);
    let at: Vec<u64> = bench.run(6000).iter().map(|left| left.0).collect();
    assert_eq!(at, [325, 650, 975, 1300, 1625, 1950, 2275, 2875, 3875, 4875, 5875]);
    let mut bench = Bench::new(sack());
    bench.write(30);
    let at: Vec<u64> = bench.run(6000).iter().map(|left| left.0).collect();
    assert_eq!(at, [300, 900, 2100, 4500]);
}

#[test]
fn rto_restart_counts_from_the_oldest_segment_while_few_are_outstanding() {
    let due = |policy: RecoveryPolicy| {
        let mut bench = Bench::new(policy);
        bench.write(30);
        bench.at(80).write(30);
        bench.at(100).ack(31);
        bench.sender.next_timeout().unwrap()
    };
    // The sample of 100 ms makes RTO 250 ms. The peer may delay what nothing follows, for all that
    // is known.
    assert_eq!(due(RecoveryPolicy::tcp_thin_paper()), ms(80 + 250));
    assert_eq!(due(RecoveryPolicy::tcp_thin()), ms(80 + 325));
    assert_eq!(due(sack()), ms(100 + 250));
}

#[test]
fn early_retransmit_needs_all_but_one_reported_and_nothing_to_send() {
    let mut policy = sack();
    policy.loss.early_retransmit = true;
    for (sacked, expected) in
        [(vec![1001..2001], vec![]), (vec![1001..3001], vec![(100, 1, 1000, false)])]
    {
        let mut bench = Bench::new(policy.clone());
        bench.write(3000);
        assert_eq!(bench.at(100).ack_with(1, &sacked), expected);
    }
    // Without SACK: two duplicates of three segments.
    let mut policy = newreno();
    policy.loss.early_retransmit = true;
    let mut bench = Bench::new(policy);
    bench.has_sack = false;
    bench.write(3000);
    assert_eq!(bench.at(100).ack(1), []);
    assert_eq!(bench.at(101).ack(1), [(101, 1, 1000, false)]);
}

#[test]
fn a_timeout_forgets_reports_or_keeps_them_as_the_policy_says() {
    for (forget, resent) in [(true, 3000), (false, 1000)] {
        let mut policy = sack();
        policy.loss.forget_sack_at_timeout = forget;
        let mut bench = Bench::new(policy);
        bench.write(3000);
        bench.at(100).ack_with(1, &[1001..3001]);
        bench.run(300);
        bench.at(400).ack(1001);
        bench.poll();
        assert_eq!(bench.sender.counters().bytes_retransmitted, resent, "forget: {forget}");
    }
}

#[test]
fn a_peer_that_discards_what_it_reported_gets_it_again() {
    let mut bench = Bench::new(sack());
    bench.write(3000);
    bench.at(100).ack_with(1, &[1001..3001]);
    bench.run(700);
    let again = bench.at(800).ack(1001);
    assert_eq!(again.iter().map(|left| left.1).collect::<Vec<_>>(), [1001, 2001]);
    // Everything reported, and yet the point stands still: the timer goes on.
    let mut bench = Bench::new(sack());
    bench.write(2000);
    bench.at(50).ack_with(1, &[2..2001]);
    bench.at(60).ack(2);
    assert!(bench.sender.next_timeout().is_some());
    let again = bench.run(2000);
    assert!(again.iter().any(|left| left.1 == 2), "{again:?}");
}

#[test]
fn duplicate_reports_prove_a_retransmission_needless() {
    let mut bench = Bench::new(sack());
    bench.write(1000);
    bench.run(300);
    bench.at(350).ack(1001);
    bench.at(360).ack_with(1001, &[1..1001]);
    assert_eq!(bench.sender.recovery().stats().spurious, 1);
}

#[test]
fn a_duplicate_report_does_no_harm_to_a_sender_that_makes_no_use_of_it() {
    // Below the point, and inside the block that it stands before.
    let with = |report: bool| {
        let mut policy = sack();
        policy.congestion.undo = false;
        let mut bench = Bench::new(policy);
        bench.write(40_000);
        let mut left = Vec::new();
        let duplicate = |block: core::ops::Range<u64>| if report { vec![block] } else { vec![] };
        for (at, ack, old, blocks) in [
            (100, 2001, 1001..2001, vec![]),
            (101, 2001, 1..1001, vec![]),
            (102, 2001, 1001..2001, vec![]),
            (103, 2001, 3001..4001, vec![3001..5001]),
            (104, 2001, 4001..5001, vec![3001..5001]),
            (105, 6001, 2001..3001, vec![]),
            (106, 6001, 4001..5001, vec![]),
        ] {
            left.extend(bench.at(at).ack_with(ack, &[duplicate(old), blocks].concat()));
        }
        (left, bench.sender.snapshot(), bench.sender.next_timeout())
    };
    let (left, snapshot, due) = with(false);
    assert!(left.iter().all(|(_, start, ..)| *start > 10_000), "nothing was lost: {left:?}");
    assert_eq!(format!("{:?}", with(true)), format!("{:?}", (left, snapshot, due)));
}

#[test]
fn the_age_of_a_segment_is_that_of_its_last_transmission_to_the_nanosecond() {
    let mut policy = sack();
    policy.loss.rack = true;
    let mut bench = Bench::new(policy);
    let at = |bench: &mut Bench, nanos| bench.now = Instant::from_nanos(nanos);
    at(&mut bench, 0);
    bench.write(1000);
    at(&mut bench, 10_001);
    bench.write(1000);
    // The first segment is lost. The second took 200,004 ns, a quarter of which is the window.
    at(&mut bench, 210_005);
    assert_eq!(bench.ack_with(1, &[1001..2001]), []);
    assert_eq!(bench.sender.next_timeout(), Some(Instant::from_nanos(250_005)));
    at(&mut bench, 240_003);
    bench.write(1000);
    at(&mut bench, 250_005);
    let _ = bench.sender.on_timeout(bench.now);
    assert_eq!(bench.poll(), [(0, 1, 1000, false)]);
    assert_eq!(bench.write(1000), [], "the window is full");
    // What left 10,002 ns before the retransmission says nothing of it, what left after it says
    // that it is lost.
    at(&mut bench, 440_007);
    assert_eq!(bench.ack_with(1, &[1001..3001]), [(0, 3001, 1000, false)]);
    at(&mut bench, 640_011);
    assert_eq!(bench.ack_with(1, &[1001..4001]), [(0, 1, 1000, false)]);
}

#[test]
fn a_probe_repeats_the_last_segment_where_the_peers_window_has_no_room_for_new_data() {
    for (window, probed) in [(10_000, 10_001), (30_000, 11_001)] {
        let mut policy = sack();
        policy.loss.rack = true;
        policy.loss.tail_probe = Some(millis(200));
        let mut bench = Bench::with(SenderOptions::default(), policy, window);
        bench.window = window;
        bench.write(1000);
        bench.at(100).ack(1001);
        assert_eq!(bench.write(20_000).len(), 10);
        assert_eq!(bench.run(300), [(300, probed, 1000, false)], "a window of {window}");
        assert_eq!(bench.sender.recovery().stats().probes, 1);
    }
}

#[test]
fn congestion_marks_halve_the_window_once_per_round_trip_and_are_answered() {
    let mut bench = Bench::new(sack());
    bench.write(40_000);
    let mut ack = Acknowledgement {
        seq: 1,
        ack: 1001,
        window: 100_000,
        sack: &[],
        has_sack: true,
        has_data: false,
        rtt: None,
        ece: true,
        overtaken: false,
    };
    bench.sender.on_ack(ms(100), &ack);
    assert_eq!(bench.sender.snapshot().cwnd, 5000);
    ack.ack = 2001;
    bench.sender.on_ack(ms(101), &ack);
    assert_eq!(bench.sender.snapshot().cwnd, 5000);
    ack = Acknowledgement { ack: 7001, ece: false, ..ack };
    bench.sender.on_ack(ms(102), &ack);
    bench.now = ms(102);
    let sent = bench.poll_all();
    assert_eq!(sent.iter().map(|segment| segment.cwr).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn an_acknowledgement_that_tells_of_congestion_does_not_open_the_window() {
    let window = |ece| {
        let mut bench = Bench::new(sack());
        bench.write(4000);
        let ack = Acknowledgement {
            seq: 1,
            ack: 4001,
            window: 100_000,
            sack: &[],
            has_sack: true,
            has_data: false,
            rtt: None,
            ece,
            overtaken: false,
        };
        bench.sender.on_ack(ms(100), &ack);
        bench.sender.snapshot().cwnd
    };
    assert_eq!(window(true), 2000);
    // Four of ten segments are less than half of the window: it was not needed.
    assert_eq!(window(false), 10_000);
}

#[test]
fn what_reduces_the_window_is_told_once_with_new_data() {
    let mut bench = Bench::new(sack());
    bench.write(40_000);
    (2..4).for_each(|end| drop(bench.at(100).ack_with(1, &[1001..1000 * end + 1])));
    let ack = Acknowledgement {
        seq: 1,
        ack: 1,
        window: 100_000,
        sack: &[1001..4001],
        has_sack: true,
        has_data: false,
        rtt: None,
        ece: false,
        overtaken: false,
    };
    let told = |bench: &mut Bench| -> Vec<bool> {
        bench.poll_all().iter().map(|segment| segment.cwr).collect()
    };
    bench.sender.on_ack(ms(100), &ack);
    assert_eq!(told(&mut bench), [false], "what is sent again");
    bench.now = ms(200);
    bench.sender.on_ack(ms(200), &Acknowledgement { ack: 10_001, sack: &[], ..ack });
    let told = told(&mut bench);
    assert_eq!(told.iter().filter(|cwr| **cwr).count(), 1, "{told:?}");
}

#[test]
fn early_retransmit_by_bytes_is_sooner_for_small_segments() {
    let run = |by_bytes| {
        let mut policy = newreno();
        policy.loss.early_retransmit = true;
        policy.loss.early_retransmit_by_bytes = by_bytes;
        let mut bench = Bench::new(policy);
        bench.has_sack = false;
        (0..3).for_each(|_| drop(bench.write(100)));
        let first = bench.at(100).ack(1);
        (first.len(), bench.at(101).ack(1).len())
    };
    assert_eq!(run(true), (1, 0));
    assert_eq!(run(false), (0, 1));
}
