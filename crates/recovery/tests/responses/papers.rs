//! Senders that exist for the reproduction of papers: without Karn's algorithm, with a least window
//! of one segment, with algorithm 1 of TCP-ER to the letter, with the early timer as it is
//! described, and with the rules of ns-2's SACK sender, together and one by one.

use recovery::policy::{
    EarlyRule, EarlyWindow, FineGrainedTimer, LeastWindow, RttSamples, SackFlight, SackLosses,
    WindowFalls,
};
use recovery::{PathId, RecoveryPolicy};

use crate::line::{Line, plain};

fn srtt(line: &Line) -> u64 {
    line.recovery.snapshot(PathId::FIRST).srtt.unwrap().as_micros()
}

/// SRTT in microseconds after a segment that was sent at 0 and, by the timer, at 1000 ms is
/// acknowledged at 1100 ms; it was 100 ms before.
fn after_a_resent_segment(samples: RttSamples) -> u64 {
    let mut policy = plain();
    policy.rto.samples = samples;
    let mut line = Line::new(policy, 4);
    line.send(0, 1);
    assert_eq!(line.wait(1000), [(1000, 0, true)]);
    line.ack(1150, 1, &[]);
    srtt(&line)
}

#[test]
fn without_karns_algorithm_a_resent_segment_is_a_sample_of_its_first_or_latest_transmission() {
    assert_eq!(after_a_resent_segment(RttSamples::SentOnce), 100_000);
    // 7/8 of 100 ms and 1/8 of 1150 ms, or of 150 ms.
    assert_eq!(after_a_resent_segment(RttSamples::FromFirst), 231_250);
    assert_eq!(after_a_resent_segment(RttSamples::FromLatest), 106_250);
}

#[test]
fn a_small_window_falls_to_one_segment_and_the_threshold_to_two() {
    let windows = |least, cwnd| {
        let mut policy = plain();
        policy.congestion.least_window = least;
        let mut line = Line::new(policy, cwnd);
        line.send(0, 4);
        line.send(10, 4);
        line.ack(100, 0, &[1..2]);
        line.ack(101, 0, &[1..3]);
        line.ack(102, 0, &[1..4]);
        assert_eq!(line.recovery.stats().fast_recoveries, 1, "{cwnd}");
        line.windows()
    };
    // Data leaves for what duplicates report, so that three arrive even of a window of two.
    for (cwnd, controller, segment) in
        [(2, (2, 2), (1, 2)), (3, (2, 2), (1, 2)), (4, (2, 2), (2, 2)), (8, (4, 4), (4, 4))]
    {
        assert_eq!(windows(LeastWindow::Controller, cwnd), controller, "{cwnd}");
        assert_eq!(windows(LeastWindow::OnePacket, cwnd), segment, "{cwnd}");
    }
}

fn algorithm_1() -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.fine_grained = FineGrainedTimer::On;
    policy.congestion.early_window = EarlyWindow::Algorithm1;
    policy
}

#[test]
fn algorithm_1_to_the_letter_opens_a_small_window_to_four_at_once() {
    let mut line = Line::new(algorithm_1(), 3);
    line.send(0, 13);
    let left = line.ack(190, 0, &[1..2]);
    assert_eq!(left, [(190, 0, true), (190, 3, false), (190, 4, false)], "two were in flight");
    assert_eq!(line.windows(), (2, 2));
    line.ack(290, 5, &[]);
    assert_eq!(line.flight(), 2, "the inflation ends with recovery");
}

#[test]
fn algorithm_1_to_the_letter_inflates_a_large_window_by_the_duplicates() {
    let mut line = Line::new(algorithm_1(), 8);
    line.send(0, 20);
    line.ack(100, 0, &[1..2]);
    let left = line.ack(190, 0, &[1..3]);
    assert_eq!(left, [(190, 0, true)]);
    assert_eq!(line.windows(), (4, 4));
    // Four, and two for the duplicates: what is reported leaves the flight all the same.
    line.ack(191, 0, &[1..6]);
    assert_eq!(line.flight(), 6);
}

#[test]
fn algorithm_1_to_the_letter_inflates_by_three_at_a_fast_retransmission() {
    let mut line = Line::new(algorithm_1(), 8);
    line.send(0, 20);
    for end in [2, 3, 4, 8] {
        line.ack(100 + end, 0, &[1..end]);
    }
    assert_eq!(line.windows(), (4, 4));
    assert_eq!(line.flight(), 7);
}

#[test]
fn algorithm_1_to_the_letter_answers_each_early_retransmission() {
    let mut line = Line::new(algorithm_1(), 16);
    line.send(0, 16);
    assert_eq!(line.ack(190, 0, &[1..2]), [(190, 0, true)]);
    assert_eq!(line.windows(), (8, 8));
    // The retransmission is lost as well, and older than the timer stretched by an eighth.
    let left = line.ack(190 + 210, 0, &[1..3]);
    assert_eq!(left.first(), Some(&(400, 0, true)));
    assert_eq!(line.windows(), (4, 4));
}

fn early_timer(rule: EarlyRule, cwnd: u64) -> Line {
    let mut policy = plain();
    policy.loss.early_timer = Some(base::Duration::from_millis(10));
    policy.loss.early_rule = rule;
    Line::new(policy, cwnd)
}

#[test]
fn the_early_timer_as_described_times_each_packet() {
    // SRTT 100 ms, RTTVAR 37.5 ms. The second segment is acknowledged at 130 ms.
    let run = |rule| {
        let mut line = early_timer(rule, 8);
        line.send(0, 1);
        line.send(30, 1);
        line.ack(130, 0, &[1..2]);
        line.wait(400)
    };
    let first = run(EarlyRule::Described)[0];
    assert_eq!(first, (138, 0, true));
    assert!(run(EarlyRule::FreeBsd)[0].0 > 300, "from the last acknowledgement on");
}

#[test]
fn the_early_timer_as_described_rests_while_as_many_packets_are_in_flight_as_the_window_has() {
    let run = |rule, cwnd, count| {
        let mut line = early_timer(rule, cwnd).of(100);
        line.send(0, count);
        line.wait(500).len()
    };
    assert!(run(EarlyRule::Described, 2, 1) > 0);
    assert_eq!(run(EarlyRule::Described, 2, 2), 0, "two small segments, a window of two");
    assert_eq!(run(EarlyRule::Described, 1, 1), 0, "collapsed");
    assert!(run(EarlyRule::FreeBsd, 1, 1) > 0, "by bytes there is room");
}

/// The plain policy with these of the rules of ns-2's SACK sender.
fn policy_of(losses: SackLosses, flight: SackFlight, falls: WindowFalls) -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.sack_losses = losses;
    policy.loss.sack_flight = flight;
    policy.congestion.window_falls = falls;
    policy
}

fn ns2() -> RecoveryPolicy {
    policy_of(SackLosses::EachHole, SackFlight::Acknowledgements, WindowFalls::Once)
}

fn each_hole() -> RecoveryPolicy {
    policy_of(SackLosses::EachHole, SackFlight::Reports, WindowFalls::Again)
}

fn by_acknowledgements() -> RecoveryPolicy {
    policy_of(SackLosses::IsLost, SackFlight::Acknowledgements, WindowFalls::Again)
}

fn falls_once() -> RecoveryPolicy {
    policy_of(SackLosses::IsLost, SackFlight::Reports, WindowFalls::Once)
}

#[test]
fn ns_2_repairs_the_two_losses_of_table_iv_as_the_table_has_it() {
    // Segments 0 and 1 of six are lost. The numbers of the table are these and seven.
    let mut line = Line::new(ns2(), 6);
    assert_eq!(line.send(0, 20).len(), 6);
    assert_eq!(line.ack(100, 0, &[2..3]), []);
    assert_eq!(line.ack(101, 0, &[2..4]), []);
    assert_eq!(line.ack(102, 0, &[2..5]), [(102, 0, true)], "pipe = 3");
    assert_eq!(line.windows(), (3, 3));
    assert_eq!(line.ack(103, 0, &[2..6]), [(103, 1, true)], "pipe = 2");
    let left = line.ack(202, 1, &[2..6]);
    assert_eq!(left, [(202, 6, false), (202, 7, false)], "pipe = 1");
    assert_eq!(line.ack(203, 6, &[]), [(203, 8, false)]);
    assert!(!line.recovery.is_recovering(PathId::FIRST));
}

#[test]
fn a_flight_by_acknowledgements_keeps_lost_packets_until_the_cumulative_point_passes_them() {
    // Four of eight are lost: RFC 6675 sends three of them again at the third duplicate, since lost
    // packets are not in flight.
    let run = |policy| {
        let mut line = Line::new(policy, 8);
        line.send(0, 8);
        line.ack(100, 0, &[4..5]);
        line.ack(101, 0, &[4..6]);
        let third = line.ack(102, 0, &[4..7]).len();
        (third, line.ack(103, 0, &[4..8]).len())
    };
    assert_eq!([plain(), each_hole(), falls_once()].map(run), [(3, 1); 3]);
    assert_eq!([ns2(), by_acknowledgements()].map(run), [(1, 0); 2]);
}

#[test]
fn in_a_recovery_each_hole_may_be_lost_without_three_reports_above_it_once() {
    // Segments 0 and 5 of twelve are lost. Segment 5 leaves again as soon as the window has room,
    // or for three reports.
    let run = |policy| {
        let mut line = Line::new(policy, 12);
        line.send(0, 12);
        line.ack(100, 0, &[1..2]);
        line.ack(101, 0, &[1..3]);
        assert_eq!(line.ack(102, 0, &[1..4]), [(102, 0, true)]);
        line.ack(103, 0, &[1..5]);
        let sends =
            |end: u64| line.ack(97 + end, 0, &[1..5, 6..end]).contains(&(97 + end, 5, true));
        [7, 8, 9, 10, 11].map(sends)
    };
    assert_eq!([plain(), falls_once()].map(run), [[false, false, true, false, false]; 2]);
    assert_eq!(run(each_hole()), [false, true, false, false, false]);
}

#[test]
fn the_window_may_fall_once_in_a_recovery_even_if_a_retransmission_is_lost() {
    let windows = |mut policy: RecoveryPolicy| {
        policy.loss.fine_grained = FineGrainedTimer::On;
        let mut line = Line::new(policy, 16);
        line.send(0, 16);
        line.ack(190, 0, &[1..2]);
        line.ack(190 + 210, 0, &[1..3]);
        line.windows()
    };
    assert_eq!([plain(), each_hole(), by_acknowledgements()].map(windows), [(4, 4); 3]);
    assert_eq!([ns2(), falls_once()].map(windows), [(8, 8); 2]);
}

#[test]
fn ns_2_sends_a_new_packet_at_each_of_the_first_two_duplicates_if_transmit_is_limited() {
    let mut policy = ns2();
    policy.congestion.limited_transmit = true;
    let mut line = Line::new(policy, 4);
    line.send(0, 8);
    assert_eq!(line.ack(100, 0, &[1..2]), [(100, 4, false)]);
    assert_eq!(line.ack(101, 0, &[1..3]), [(101, 5, false)]);
    assert_eq!(line.ack(102, 0, &[1..4]), [(102, 0, true)], "pipe = 3, window 2");
}
