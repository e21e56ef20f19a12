use std::cell::RefCell;
use std::rc::Rc;

use results::Results;

use super::rows::{flow_rows, group_rows};
use super::*;
use crate::measure::{Delivery, Needless};
use crate::workload::DueMessage;
use recovery::Cause;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn delivery(index: u64, due: u64, delivered: u64) -> Delivery {
    Delivery {
        index,
        size: 100,
        due: at(due),
        accepted: at(due),
        sent: at(due),
        arrived: at(delivered),
        delivered: at(delivered),
        retransmissions: 0,
        media: Duration::from_millis(due),
    }
}

/// The flow meter of a group with these wishes, in a window from 1 s to 11 s.
fn meter(change: impl FnOnce(&mut Wishes)) -> (GroupMeter, FlowMeter) {
    let mut wishes = Wishes::none(at(1000)..at(11_000));
    change(&mut wishes);
    let group = GroupMeter::new(wishes);
    let flow = FlowMeter::new(&group);
    (group, flow)
}

fn value(group: &GroupMeter, flows: &[FlowMeter], name: &str) -> Option<f64> {
    let mut results = Results::default();
    let mut sheet = results.sheet("x");
    group_rows(group, &mut sheet);
    flow_rows(group, flows, &mut sheet);
    let found =
        results.rows.iter().find(|row| results::full_name(&row.measure, &row.labels) == name);
    found.map(|row| row.value)
}

#[test]
fn only_what_lies_in_the_window_counts() {
    let (mut group, mut flow) = meter(|wishes| {
        wishes.latency = Some(LatencyWish {
            application: true,
            limits: vec!["100ms".parse().unwrap()],
            ..LatencyWish::default()
        });
        wishes.goodput = Some(GoodputWish::default());
    });
    for (due, delivered) in
        [(999, 2000), (1000, 1050), (5000, 5200), (10_999, 11_050), (11_000, 11_001)]
    {
        group.on_delivery(&delivery(0, due, delivered));
    }
    group.on_undelivered(at(4000));
    group.on_undelivered(at(400));
    for time in [999, 1000, 10_999, 11_000] {
        flow.on_read(at(time), 1250);
    }
    let flows = [flow];
    assert_eq!(value(&group, &flows, "latency.count"), Some(3.0));
    assert_eq!(value(&group, &flows, "latency.max"), Some(200.0));
    assert_eq!(value(&group, &flows, "messages.undelivered"), Some(1.0));
    // One took longer, one never came, of four.
    assert_eq!(value(&group, &flows, "latency.beyond[limit=100ms]"), Some(50.0));
    assert_eq!(value(&group, &flows, "goodput.sum"), Some(2.0), "2500 bytes in 10 s");
}

#[test]
fn gaps_without_progress_that_are_long_enough_are_frozen_time() {
    let (group, mut flow) =
        meter(|wishes| wishes.frozen = ["500ms", "2s"].map(|text| text.parse().unwrap()).to_vec());
    // 300 ms of the first gap lie in the window; the gap of 500 is not longer than the threshold.
    for time in [500, 1300, 1400, 1900, 3400, 10_000] {
        flow.on_progress(at(time), Duration::ZERO);
    }
    flow.finish(at(20_000));
    // 1.5 s, 6.6 s, and from 10 s to the end of the window.
    let flows = [flow];
    let frozen = |text: &str| value(&group, &flows, &format!("frozen.time[longer_than={text}]"));
    assert_eq!(frozen("500ms"), Some(1.5 + 6.6 + 1.0));
    assert_eq!(frozen("2s"), Some(6.6));
}

#[test]
fn a_gap_is_frozen_time_beyond_the_timeout_that_was_armed_when_it_began() {
    let (group, mut flow) = meter(|wishes| wishes.frozen = vec!["rto".parse().unwrap()]);
    // Gaps of 900, 900 and 400 ms behind timeouts of 1000, 800 and 400 ms: only the second is longer than its own.
    for (time, rto) in [(1000, 1000), (1900, 800), (2800, 400), (3200, 9000)] {
        flow.on_progress(at(time), Duration::from_millis(rto));
    }
    flow.finish(at(4000));
    let frozen = value(&group, &[flow], "frozen.time[longer_than=rto]");
    assert_eq!(frozen, Some(0.9));
    assert!("rtt".parse::<GapLimit>().unwrap_err().contains("\"rto\""));
}

#[test]
fn intervals_without_bytes_count() {
    let (mut group, mut flow) = meter(|wishes| {
        wishes.goodput = Some(GoodputWish {
            interval: Some(Duration::from_secs(1)),
            per_flow: true,
            over_time: true,
        });
    });
    flow.on_read(at(1100), 1000);
    flow.on_read(at(1900), 1000);
    flow.on_read(at(5000), 500);
    flow.finish(at(11_000));
    [(1100, 1000), (1900, 1000), (5000, 500), (11_000, 7)]
        .into_iter()
        .for_each(|(time, bytes)| group.on_read(at(time), bytes));
    let mut results = Results::default();
    group_rows(&group, &mut results.sheet("x"));
    let points = &results.curves[0].points;
    // 1500 bytes in the second that ends at 2 s are 16 kbit/s.
    assert_eq!((points[0], points[1], points[4]), ((2.0, 16.0), (3.0, 0.0), (6.0, 4.0)));
    assert_eq!((points.len(), points[9]), (10, (11.0, 0.0)));
    let detail = flow.detail.as_ref().unwrap();
    assert_eq!(detail.intervals, [(0, 8), (500, 1), (2000, 1)].into());
    assert_eq!(value(&group, &[flow], "goodput.interval[quantile=0.5]"), Some(0.0));
}

#[test]
fn data_has_left_a_path_when_it_does_not_come_back_before_the_loss() {
    let (group, flow) = meter(|wishes| wishes.switchover = Some(at(5000)));
    let time = |moves: &[(u64, u8)]| {
        let mut flow = flow.clone();
        moves.iter().for_each(|(time, path)| flow.on_path(at(*time), *path));
        flow.finish(at(11_000));
        let flows = [flow];
        (value(&group, &flows, "switchover.time"), value(&group, &flows, "switchover.stayed"))
    };
    assert_eq!(time(&[(7500, 1), (9000, 0)]), (Some(2.5), Some(0.0)));
    assert_eq!(time(&[(2000, 1), (3000, 0), (6000, 1)]), (Some(1.0), Some(0.0)));
    assert_eq!(time(&[(4000, 1)]), (Some(-1.0), Some(0.0)));
    assert_eq!(time(&[]), (None, Some(1.0)));
    let mut flow = flow.clone();
    [2000, 2500, 6000].into_iter().for_each(|time| flow.on_delivery(&delivery(0, 1000, time)));
    flow.finish(at(11_000));
    assert_eq!(value(&group, &[flow], "switchover.gap"), Some(5.0));
}

#[test]
fn fairness_is_one_for_equal_shares_and_one_nth_for_one_winner() {
    let (group, flow) = meter(|wishes| wishes.goodput = Some(GoodputWish::default()));
    let flows = |bytes: [u64; 4]| {
        bytes.map(|read| {
            let mut flow = flow.clone();
            flow.read = read;
            flow
        })
    };
    assert_eq!(value(&group, &flows([7, 7, 7, 7]), "goodput.jain"), Some(1.0));
    assert_eq!(value(&group, &flows([0, 0, 9, 0]), "goodput.jain"), Some(0.25));
    // Nothing at all has no fairness.
    assert_eq!(value(&group, &flows([0; 4]), "goodput.jain"), None);
}

#[test]
fn a_slower_player_forgives_more() {
    let (group, mut flow) = meter(|wishes| {
        wishes.late = Some(LateWish { pre_buffer: Duration::from_secs(1), ratios: vec![1.0, 2.0] });
    });
    // Begins to play at 1.1 s + 1 s. The second is due 1 s of media later, the third 2 s.
    for (index, due, delivered) in
        [(0, 1000, 1100), (1, 2000, 3101), (2, 3000, 6100), (3, 4000, 8200)]
    {
        flow.on_delivery(&delivery(index, due, delivered));
    }
    let flows = [flow];
    assert_eq!(value(&group, &flows, "late.share[ratio=1]"), Some(75.0));
    assert_eq!(value(&group, &flows, "late.share[ratio=2]"), Some(25.0));
    // The last one came 6.1 s after the player began, with 3 s of media before it; the third 4 s with 2 s.
    let needed = value(&group, &flows, "late.needed_ratio").unwrap();
    assert!((needed - 6.1 / 3.0).abs() < 1e-9, "{needed}");
}

#[test]
fn the_deviation_of_times_between_deliveries_is_that_of_the_sample() {
    let (group, mut flow) = meter(|wishes| wishes.inter_arrival = true);
    for (index, time) in [2000, 2010, 2030, 2060].into_iter().enumerate() {
        flow.on_delivery(&delivery(index as u64, 2000, time));
    }
    let deviation = value(&group, &[flow], "inter_arrival.deviation").unwrap();
    assert!((deviation - 10.0).abs() < 1e-9, "{deviation}");
}

#[test]
fn retransmissions_are_told_by_order_and_cause_with_their_needless_share() {
    let (group, flow) = meter(|wishes| wishes.retransmissions = true);
    let group = Rc::new(RefCell::new(group));
    for (cause, order) in
        [(Cause::Fast, 1), (Cause::Fast, 1), (Cause::Timeout, 1), (Cause::Timeout, 2)]
    {
        group.borrow_mut().on_resent(at(2000), cause, order);
    }
    group.borrow_mut().on_resent(at(12_000), Cause::Fast, 1);
    group.borrow_mut().on_needless(Needless { cause: Cause::Fast, order: 1, sent: at(2000) });
    let group = group.borrow();
    let flows = [flow];
    let share = value(&group, &flows, "retransmissions.share[order=1,cause=fast]").unwrap();
    assert!((share - 200.0 / 3.0).abs() < 1e-9);
    assert_eq!(value(&group, &flows, "retransmissions.count[order=2]"), Some(1.0));
    assert_eq!(value(&group, &flows, "retransmissions.spurious_share"), Some(25.0));
    let needless = "retransmissions.spurious_share[order=1,cause=fast]";
    assert_eq!(value(&group, &flows, needless), Some(50.0));
    // Of all orders.
    assert_eq!(value(&group, &flows, "retransmissions.share[cause=timeout]"), Some(50.0));
    assert_eq!(value(&group, &flows, "retransmissions.spurious_share[cause=fast]"), Some(50.0));
    assert_eq!(value(&group, &flows, "retransmissions.spurious_share[cause=early]"), None);
}

#[test]
fn a_stream_is_as_bad_as_its_worst_message_and_as_lossy_as_its_own_way() {
    let (group, good) = meter(|wishes| {
        wishes.streams = Some(vec!["500ms".parse().unwrap(), "fps".parse().unwrap()])
    });
    let (mut bad, mut stuck) = (good.clone(), good.clone());
    let mut good = good;
    for (flow, arrived) in [(&mut good, 100), (&mut bad, 98), (&mut stuck, 96)] {
        (0..100).for_each(|_| flow.on_data_sent());
        (0..arrived).for_each(|_| flow.on_data_arrived());
        flow.on_delivery(&delivery(0, 1000, 1500));
    }
    bad.on_delivery(&Delivery { retransmissions: 6, ..delivery(1, 2000, 69_000) });
    // Too early to count.
    good.on_delivery(&Delivery { retransmissions: 9, ..delivery(2, 500, 9000) });
    // Never delivered: 4 s at least.
    stuck.on_undelivered(at(8000), at(12_000));
    let flows = [good, bad, stuck];
    let share = value(&group, &flows, "streams.beyond[limit=500ms]").unwrap();
    assert!((share - 200.0 / 3.0).abs() < 1e-9, "500 ms are not beyond: {share}");
    assert_eq!(value(&group, &flows, "streams.longest.max"), Some(67_000.0));
    assert_eq!(value(&group, &flows, "streams.longest.count"), Some(3.0));
    assert_eq!(value(&group, &flows, "streams.most_resent"), Some(6.0));
    assert_eq!(value(&group, &flows, "streams.loss.mean"), Some(2.0));
    assert_eq!(value(&group, &flows, "streams.loss.max"), Some(4.0));
}

#[test]
fn timeouts_stand_beside_the_measurements_that_they_follow_from() {
    let (group, mut flow) = meter(|wishes| wishes.rto = Some(Duration::ZERO));
    for (time, rtt, rto) in [(500, 1, 1), (2000, 100, 300), (3000, 200, 500)] {
        let span = Duration::from_millis;
        flow.on_measurement(at(time), span(rtt), span(rto));
    }
    let flows = [flow];
    assert_eq!(value(&group, &flows, "rtt.mean"), Some(150.0));
    assert_eq!(value(&group, &flows, "rto.mean"), Some(400.0));
    assert_eq!(value(&group, &flows, "rto.deviation"), Some(2.0f64.sqrt() * 100.0));
}

#[test]
fn stored_media_are_late_by_their_place_in_the_media() {
    let (group, mut flow) = meter(|wishes| {
        wishes.late = Some(LateWish { pre_buffer: Duration::from_secs(1), ratios: vec![1.0] });
    });
    // All due at once; the third is played 3 s after the first, which is 4.1 s.
    for (index, delivered, media) in
        [(0, 1100, 0), (1, 3101, 1000), (2, 4100, 2000), (3, 5101, 3000)]
    {
        let media = Duration::from_millis(media);
        flow.on_delivery(&Delivery { media, ..delivery(index, 1000, delivered) });
    }
    assert_eq!(value(&group, &[flow], "late.share[ratio=1]"), Some(50.0));
}

#[test]
fn traffic_is_told_as_the_papers_tables_do() {
    let (mut group, mut flow) = meter(|wishes| wishes.traffic = true);
    for (due, size) in [(500, 9000), (1000, 10), (1100, 30), (1500, 80), (11_500, 9000)] {
        let media = Duration::from_millis(due);
        let message = DueMessage { index: 0, due: at(due), size, media };
        let interval = flow.on_due(message.due);
        group.on_due(&message, interval);
    }
    flow.on_sent(at(1000), 125);
    let flows = [flow];
    let of = |name: &str| value(&group, &flows, name).unwrap();
    assert_eq!([of("payload.mean"), of("payload.min"), of("payload.max")], [40.0, 10.0, 80.0]);
    assert_eq!([of("interval.max"), of("interval.min")].map(f64::round), [500.0, 100.0]);
    assert!((of("interval.mean") - 1000.0 / 3.0).abs() < 1e-6);
    assert!((of("interval.median") - 400.0).abs() < 1.0);
    assert_eq!([of("traffic.packets"), of("traffic.bits")], [0.1, 100.0]);
}

#[test]
fn shares_beyond_a_limit_are_told_of_both_layers() {
    let (mut group, flow) = meter(|wishes| {
        wishes.latency = Some(LatencyWish {
            application: true,
            transport: true,
            limits: vec!["100ms".parse().unwrap()],
            ..LatencyWish::default()
        });
    });
    // It had arrived in time, and waited for another one.
    let waited = Delivery { arrived: at(2050), ..delivery(0, 2000, 2300) };
    group.on_delivery(&waited);
    group.on_delivery(&delivery(1, 3000, 3050));
    let flows = [flow];
    assert_eq!(value(&group, &flows, "latency.beyond[limit=100ms]"), Some(50.0));
    assert_eq!(value(&group, &flows, "transport_latency.beyond[limit=100ms]"), Some(0.0));
}

#[test]
fn a_trace_sees_latency_begin_when_a_message_leaves() {
    let (mut group, flow) = meter(|wishes| {
        wishes.latency =
            Some(LatencyWish { application: true, since_sent: true, ..LatencyWish::default() });
    });
    // It waited 200 ms for room.
    group.on_delivery(&Delivery { sent: at(2200), ..delivery(0, 2000, 2260) });
    assert_eq!(value(&group, &[flow], "latency.max"), Some(60.0));
}

#[test]
fn what_comes_after_the_window_neither_arrives_nor_is_late_in_it() {
    let (group, mut flow) = meter(|wishes| {
        wishes.inter_arrival = true;
        wishes.late = Some(LateWish { pre_buffer: Duration::ZERO, ratios: vec![1.0] });
    });
    // A backlog of what was due early, the last of it when the network is empty.
    for (index, delivered) in [(0, 2000), (1, 4000), (2, 8000), (3, 11_000), (4, 11_001)] {
        flow.on_delivery(&delivery(index, 2000 + index, delivered));
    }
    let flows = [flow];
    let deviation = value(&group, &flows, "inter_arrival.deviation").unwrap();
    assert!((deviation - 2000.0 / 2f64.sqrt()).abs() < 1e-6, "of 2 s and 4 s: {deviation}");
    let late = value(&group, &flows, "late.share[ratio=1]").unwrap();
    assert!((late - 200.0 / 3.0).abs() < 1e-9, "{late}");
}
