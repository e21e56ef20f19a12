use super::*;

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn delivery(packet: PacketNumber, sent_ms: u64, again: bool) -> Delivery {
    Delivery { packet, sent_at: at(sent_ms), again, partly: false, by_gap: false, echo: None }
}

fn situation(recovering: bool, gap_acked: u32) -> Situation {
    let policy = ReorderingWindow::Quarter;
    Situation { policy, recovering, gap_acked, dup_threshold: 3, srtt: millis(100) }
}

const MIN_RTT: Option<Duration> = Some(millis_const(80));

const fn millis_const(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn a_packet_is_lost_a_round_trip_and_the_window_after_it_was_sent() {
    let mut rack = Rack::default();
    assert_eq!(rack.deadline(0, at(0), Duration::ZERO), None, "nothing was delivered");
    rack.on_delivered(at(110), delivery(1, 10, false), MIN_RTT);
    let window = rack.reordering_window(situation(false, 1), MIN_RTT);
    assert_eq!(window, millis(20)); // a quarter of 80 ms
    assert_eq!(rack.deadline(0, at(0), window), Some(at(120)));
    assert_eq!(rack.deadline(1, at(10), window), None, "itself");
    assert_eq!(rack.deadline(2, at(10), window), None, "sent after it, at the same time");
}

#[test]
fn what_is_missing_below_a_part_that_was_delivered_is_lost_as_if_sent_before_it() {
    let mut rack = Rack::default();
    let part = Delivery { partly: true, ..delivery(1, 10, false) };
    rack.on_delivered(at(110), part, MIN_RTT);
    assert_eq!(rack.deadline(1, at(10), Duration::ZERO), Some(at(110)));
    assert_eq!(rack.deadline(2, at(10), Duration::ZERO), None, "sent after it");
    // One more packet is reported beyond a hole.
    for (gap_acked, window) in [(1, 20), (2, 0)] {
        assert_eq!(rack.reordering_window(situation(false, gap_acked), MIN_RTT), millis(window));
    }
}

#[test]
fn three_reports_or_a_recovery_close_the_window_where_nothing_was_ever_reordered() {
    let rack = Rack::default();
    for (recovering, gap_acked, window) in
        [(false, 2, 20), (false, 3, 0), (true, 0, 0), (false, 0, 20)]
    {
        assert_eq!(
            rack.reordering_window(situation(recovering, gap_acked), MIN_RTT),
            millis(window),
            "{recovering} {gap_acked}"
        );
    }
}

/// The last-sent of the delivered packets.
fn newest(rack: &Rack) -> Option<PacketNumber> {
    rack.newest.map(|newest| newest.packet)
}

#[test]
fn reordering_that_was_seen_opens_the_window_for_good() {
    let mut rack = Rack::default();
    rack.on_reordering(at(0), at(0));
    assert_eq!(rack.reordering_window(situation(true, 9), MIN_RTT), millis(20));
}

#[test]
fn a_measured_window_is_an_eighth_more_than_the_latest_was_late_and_a_quarter_at_most() {
    let mut rack = Rack::default();
    let measured = Situation { policy: ReorderingWindow::Measured, ..situation(true, 9) };
    rack.on_delivered(at(110), delivery(1, 10, false), MIN_RTT);
    // Packet 0 left at 5 ms and was expected by 105 ms.
    rack.on_reordering(at(113), at(5));
    assert_eq!(rack.reordering_window(measured, MIN_RTT), millis(9));
    assert_eq!(rack.reordering_window(situation(true, 9), MIN_RTT), millis(20));
    rack.on_reordering(at(109), at(5));
    assert_eq!(rack.reordering_window(measured, MIN_RTT), millis(9), "less late");
    rack.on_duplicate(10);
    assert_eq!(rack.reordering_window(measured, MIN_RTT), millis(29), "and a quarter");
    rack.on_reordering(at(200), at(5));
    assert_eq!(rack.reordering_window(measured, MIN_RTT), millis(40));
}

#[test]
fn an_acknowledgement_too_soon_after_a_retransmission_is_not_its_own() {
    let mut rack = Rack::default();
    rack.on_delivered(at(79), delivery(5, 0, true), MIN_RTT);
    assert_eq!(newest(&rack), None);
    rack.on_delivered(at(79), delivery(5, 0, true), None);
    assert_eq!(newest(&rack), None);
    rack.on_delivered(at(80), delivery(5, 0, true), MIN_RTT);
    assert_eq!(newest(&rack), Some(5));
}

#[test]
fn an_acknowledgement_that_echoes_an_earlier_timestamp_is_not_that_of_the_retransmission() {
    // Sent again at 100 ms, acknowledged 500 ms later.
    let newest_with = |echo: u64, by_gap| {
        let mut rack = Rack::default();
        rack.on_delivered(at(90), delivery(1, 0, false), MIN_RTT);
        let again = Delivery { by_gap, echo: Some(millis(echo)), ..delivery(5, 100, true) };
        rack.on_delivered(at(600), again, MIN_RTT);
        newest(&rack)
    };
    assert_eq!([500, 501, 502].map(|echo| newest_with(echo, false)), [Some(5), Some(5), Some(1)]);
    assert_eq!(newest_with(502, true), Some(5), "the echo is of data before the hole");
}

#[test]
fn behind_a_hole_a_retransmission_is_not_delivered_much_sooner_than_the_packet_before() {
    let newest_after = |took: u64| {
        let mut rack = Rack::default();
        rack.on_delivered(at(400), delivery(1, 0, false), MIN_RTT);
        let again = Delivery { by_gap: true, ..delivery(5, 400, true) };
        rack.on_delivered(at(400 + took), again, MIN_RTT);
        newest(&rack)
    };
    assert_eq!([299, 300].map(newest_after), [Some(1), Some(5)]);
}

#[test]
fn a_retransmission_that_is_lost_is_found_by_what_was_sent_after_it() {
    let mut rack = Rack::default();
    // Packet 0 is lost, retransmitted as packet 4 at 120 ms, and lost again; packet 5, sent at 130
    // ms, arrives.
    rack.on_delivered(at(230), delivery(5, 130, false), MIN_RTT);
    assert_eq!(rack.deadline(4, at(120), Duration::ZERO), Some(at(220)));
}

#[test]
fn an_older_packet_that_arrives_later_changes_no_clock() {
    let mut rack = Rack::default();
    rack.on_delivered(at(110), delivery(3, 10, false), MIN_RTT);
    rack.on_delivered(at(200), delivery(2, 5, false), MIN_RTT);
    assert_eq!(newest(&rack), Some(3));
    assert_eq!(rack.deadline(1, at(4), Duration::ZERO), Some(at(104)));
}

#[test]
fn duplicate_reports_widen_the_window_once_per_round_trip_and_up_to_the_smoothed_round_trip() {
    let mut rack = Rack::default();
    rack.on_delivered(at(100), delivery(0, 0, false), MIN_RTT);
    assert!(rack.on_duplicate(10));
    assert_eq!(rack.reordering_window(situation(false, 0), MIN_RTT), millis(40));
    assert!(!rack.on_duplicate(11), "the same round trip");
    rack.on_delivered(at(200), delivery(10, 100, false), MIN_RTT);
    assert!(rack.on_duplicate(20));
    assert_eq!(rack.reordering_window(situation(false, 0), MIN_RTT), millis(60));
    for round in 2..10 {
        rack.on_delivered(at(300), delivery(round * 10, 200, false), MIN_RTT);
        rack.on_duplicate(round * 10 + 10);
    }
    assert_eq!(rack.reordering_window(situation(false, 0), MIN_RTT), millis(100), "SRTT");
}

#[test]
fn sixteen_recoveries_without_a_duplicate_report_narrow_it_again() {
    let mut rack = Rack::default();
    rack.on_duplicate(1);
    for _ in 0..15 {
        rack.on_recovered();
    }
    assert_eq!(rack.reordering_window(situation(false, 0), MIN_RTT), millis(40));
    rack.on_recovered();
    assert_eq!(rack.reordering_window(situation(false, 0), MIN_RTT), millis(20));
    rack.on_recovered();
}

#[test]
fn a_timeout_takes_for_lost_what_had_time_enough() {
    let mut rack = Rack::default();
    assert_eq!(rack.lost_at_timeout(at(1000), millis(20)), None);
    rack.on_delivered(at(100), delivery(0, 0, false), MIN_RTT);
    assert_eq!(rack.lost_at_timeout(at(1000), millis(20)), Some(at(880)));
}

#[test]
fn the_shortest_round_trip_is_forgotten_after_five_to_ten_minutes() {
    let secs = |n: u64| Instant::ZERO + Duration::from_secs(n);
    let mut least = RecentMinimum::default();
    assert_eq!(least.get(), None);
    least.on_sample(secs(0), millis(50));
    least.on_sample(secs(299), millis(90));
    assert_eq!(least.get(), Some(millis(50)));
    least.on_sample(secs(300), millis(90));
    assert_eq!(least.get(), Some(millis(50)), "of the period before");
    least.on_sample(secs(600), millis(80));
    assert_eq!(least.get(), Some(millis(80)));
    least.on_sample(secs(5000), millis(100));
    assert_eq!(least.get(), Some(millis(100)));
}

#[test]
fn a_packet_that_is_delivered_in_two_parts_keeps_the_round_trip_of_the_first() {
    let mut rack = Rack::default();
    rack.on_delivered(at(100), delivery(5, 0, false), MIN_RTT);
    rack.on_delivered(at(150), delivery(5, 0, false), MIN_RTT);
    assert_eq!(rack.deadline(4, at(10), Duration::ZERO), Some(at(110)));
}

#[test]
fn what_was_learned_of_reordering_is_kept_while_nothing_is_outstanding() {
    let mut rack = Rack::default();
    assert!(rack.is_blank());
    rack.on_duplicate(10);
    assert!(!rack.is_blank());
    let mut rack = Rack::default();
    rack.on_reordering(at(0), at(0));
    assert!(!rack.is_blank());
}
