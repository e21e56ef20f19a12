//! Expiries of the retransmission timer.

use super::*;

#[test]
fn the_timer_resends_the_oldest_segment_and_doubles() {
    let mut bench = Bench::new(sack());
    bench.write(3000);
    // RTO = 100 + 4 · 50 ms.
    let expected = [
        (300, 1, 1000, false),
        (900, 1, 1000, false),
        (2100, 1, 1000, false),
        (4500, 1, 1000, false),
    ];
    assert_eq!(bench.run(5000), expected);
    assert_eq!(bench.sender.timeouts(), 4);
    // Slow start: what else was outstanding follows as acknowledgements come.
    assert_eq!(bench.at(5100).ack(1001).len(), 2);
    assert_eq!(bench.sender.timeouts(), 0);
}

/// Expiries in a row that may be due to the path's MTU, after an outage of three seconds with a
/// message of `len` bytes each 50 ms.
fn large_timeouts_after_an_outage(len: usize, has_sack: bool) -> u8 {
    let mut bench = Bench::new(RecoveryPolicy::tcp_latency());
    bench.sender.recovery_mut().set_reports(has_sack);
    let mut most = 0;
    for at in (0..3000).step_by(50) {
        while let Some(due) = bench.sender.next_timeout().filter(|due| *due <= ms(at)) {
            bench.now = due;
            most = most.max(bench.sender.on_timeout(due).large_timeouts);
            bench.poll();
        }
        bench.at(at).write(len);
    }
    assert!(bench.sender.timeouts() >= 3);
    most
}

#[test]
fn an_outage_in_which_small_segments_are_missing_too_says_nothing_of_the_size_of_large_ones() {
    assert_eq!(large_timeouts_after_an_outage(100, true), 0);
    assert!(large_timeouts_after_an_outage(1000, true) >= 3);
    // Nothing tells whether small ones arrive.
    assert!(large_timeouts_after_an_outage(100, false) >= 3);
}

#[test]
fn retries_and_user_timeout_give_up() {
    let options = SenderOptions { retries: 2, no_delay: true, ..SenderOptions::default() };
    let mut bench = Bench::with(options, sack(), 10_000);
    bench.write(100);
    assert_eq!(bench.run(100_000).len(), 3);
    assert_eq!(bench.sender.on_timeout(ms(100_000)).give_up, Some(GiveUp::Retries));
    let options = SenderOptions { user_timeout: Some(millis(5000)), ..options };
    let mut bench = Bench::with(options, sack(), 10_000);
    bench.at(50).write(100);
    bench.run(5049);
    assert_eq!(bench.sender.next_timeout(), Some(ms(5050)));
    assert_eq!(bench.sender.on_timeout(ms(5050)).give_up, Some(GiveUp::UserTimeout));
}

#[test]
fn lost_segments_that_touch_are_sent_again_together_and_too_large_ones_are_cut() {
    let mut bench = Bench::new(sack());
    (0..4).for_each(|_| {
        bench.write(200);
    });
    assert_eq!(bench.run(300), [(300, 1, 800, false)]);
    let mut bench = Bench::new(sack());
    bench.write(2000);
    bench.sender.set_mss(ms(10), 600, true);
    bench.now = ms(10);
    let again = bench.poll();
    assert_eq!(again[0], (10, 1, 600, false));
    assert_eq!(bench.sender.snapshot().cwnd, 10_000, "no sign of congestion");
    bench.at(20).ack(601);
    let rest: Vec<_> = bench.at(30).ack(2001);
    assert_eq!(rest, []);
}

#[test]
fn an_acknowledgement_in_the_middle_of_a_segment_leaves_the_rest_outstanding() {
    let mut bench = Bench::new(sack());
    bench.write(1000);
    bench.at(50).ack(301);
    assert_eq!((bench.sender.snd_una(), bench.sender.unacked_bytes()), (301, 700));
    let again = bench.run(1000);
    assert_eq!(again[0].1, 301);
    assert_eq!(again[0].2, 700);
}

#[test]
fn karn_leaves_the_timeout_doubled_until_fresh_data_is_acknowledged_or_an_echo_tells() {
    let mut bench = Bench::new(sack());
    bench.write(100);
    bench.run(300);
    bench.at(350).ack(101);
    bench.write(100);
    assert_eq!(bench.sender.next_timeout(), Some(ms(350 + 600)));
    let mut bench = Bench::new(sack());
    bench.write(100);
    bench.run(300);
    bench.now = ms(400);
    let ack = Acknowledgement {
        seq: 1,
        ack: 101,
        window: 10_000,
        sack: &[],
        has_sack: true,
        has_data: false,
        rtt: Some(millis(100)),
        ece: false,
        overtaken: false,
    };
    bench.sender.on_ack(ms(400), &ack);
    bench.write(100);
    // Two samples of 100 ms: RTTVAR 37.5 ms.
    assert_eq!(bench.sender.next_timeout(), Some(ms(400 + 250)));
}
