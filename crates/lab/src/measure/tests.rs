use base::{Duration, Instant};
use recovery::Cause;
use results::{Results, Row, full_name};

use super::*;
use crate::observed::{Delivery, FlowMeter, GroupMeter, Needless, Seen};
use crate::workload::DueMessage;

pub(super) fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub(super) fn delivery(index: u64, due: u64, delivered: u64) -> Delivery {
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

/// A group of flows with the measures that a plan's text asks for, in a window from 1 s to 11 s.
pub(super) struct Watched {
    group: GroupMeter,
    flows: Vec<FlowMeter>,
}

impl Watched {
    pub(super) fn new(asked: &str) -> Watched {
        Watched::with_lost(asked, None)
    }

    pub(super) fn with_lost(asked: &str, lost: Option<Duration>) -> Watched {
        let section: MeasureSection = toml::from_str(asked).unwrap();
        section.check(&Planned { groups: &[("x", 1)], lost }).unwrap();
        Watched { group: section.meter("x", at(1000)..at(11_000), lost), flows: Vec::new() }
    }

    /// Reports an event of flow 0.
    pub(super) fn see(&mut self, seen: Seen<'_>) {
        self.see_of(0, seen);
    }

    pub(super) fn see_of(&mut self, flow: usize, seen: Seen<'_>) {
        while self.flows.len() <= flow {
            self.flows.push(self.group.join().1);
        }
        if let Seen::Read { at, bytes } = seen {
            self.flows[flow].on_read(at, bytes);
        }
        self.group.observe(flow, &seen);
    }

    pub(super) fn results(&self) -> Results {
        let mut results = Results::default();
        self.group.rows(&self.flows, &mut results.sheet("x"));
        results
    }

    pub(super) fn value(&self, name: &str) -> Option<f64> {
        let results = self.results();
        let is_it = |row: &&Row| full_name(&row.measure, &row.labels) == name;
        results.rows.iter().find(is_it).map(|row| row.value)
    }
}

#[test]
fn only_what_lies_in_the_window_counts() {
    let mut watched = Watched::new("latency = { limits = [\"100ms\"] }\ngoodput = {}");
    for (due, delivered) in
        [(999, 2000), (1000, 1050), (5000, 5200), (10_999, 11_050), (11_000, 11_001)]
    {
        watched.see(Seen::Delivered(&delivery(0, due, delivered)));
    }
    for due in [4000, 400] {
        watched.see(Seen::Undelivered { due: at(due), at: at(12_000) });
    }
    for time in [999, 1000, 10_999, 11_000] {
        watched.see(Seen::Read { at: at(time), bytes: 1250 });
    }
    assert_eq!(watched.value("latency.count"), Some(3.0));
    assert_eq!(watched.value("latency.max"), Some(200.0));
    assert_eq!(watched.value("messages.undelivered"), Some(1.0));
    // Of four messages one took longer and one never arrived.
    assert_eq!(watched.value("latency.beyond[limit=100ms]"), Some(50.0));
    assert_eq!(watched.value("goodput.sum"), Some(2.0), "2500 bytes in 10 s");
}

#[test]
fn gaps_without_progress_that_are_long_enough_are_frozen_time() {
    let mut watched = Watched::new("frozen = { longer_than = [\"500ms\", \"2s\"] }");
    // 300 ms of the first gap lie in the window; the gap of 500 is not longer than the threshold.
    for time in [500, 1300, 1400, 1900, 3400, 10_000] {
        watched.see(Seen::Progress { at: at(time), rto: Duration::ZERO });
    }
    watched.see(Seen::Finished { at: at(20_000) });
    // 1.5 s, 6.6 s, and from 10 s to the end of the window.
    let frozen = |text: &str| watched.value(&format!("frozen.time[longer_than={text}]"));
    assert_eq!(frozen("500ms"), Some(1.5 + 6.6 + 1.0));
    assert_eq!(frozen("2s"), Some(6.6));
}

#[test]
fn a_gap_in_which_the_timer_expired_is_frozen_time_however_short() {
    let mut watched = Watched::new("frozen = { longer_than = [\"timeout\", \"1s\"] }");
    let resent = |time, cause| Seen::Resent { at: at(time), cause, order: 1 };
    // A gap of 300 ms ends by a timeout, one of 2 s by a fast retransmission, the last not before
    // the end.
    watched.see(Seen::Progress { at: at(2000), rto: Duration::ZERO });
    watched.see(resent(2200, Cause::Timeout));
    watched.see(Seen::Progress { at: at(2300), rto: Duration::ZERO });
    watched.see(resent(2400, Cause::Fast));
    watched.see(Seen::Progress { at: at(4300), rto: Duration::ZERO });
    watched.see(resent(4500, Cause::Timeout));
    watched.see(Seen::Finished { at: at(5000) });
    assert_eq!(watched.value("frozen.time[longer_than=timeout]"), Some(0.3 + 0.7));
    assert_eq!(watched.value("frozen.time[longer_than=1s]"), Some(2.0));
}

#[test]
fn a_gap_is_frozen_time_beyond_the_timeout_that_was_armed_when_it_began() {
    let mut watched = Watched::new("frozen = { longer_than = \"rto\" }");
    // Gaps of 900, 900 and 400 ms behind timeouts of 1000, 800 and 400 ms: only the second is
    // longer than its own.
    for (time, rto) in [(1000, 1000), (1900, 800), (2800, 400), (3200, 9000)] {
        watched.see(Seen::Progress { at: at(time), rto: Duration::from_millis(rto) });
    }
    watched.see(Seen::Finished { at: at(4000) });
    let frozen = watched.value("frozen.time[longer_than=rto]");
    assert_eq!(frozen, Some(0.9));
    assert!("rtt".parse::<GapLimit>().unwrap_err().contains("\"rto\""));
}

#[test]
fn intervals_without_bytes_count() {
    let asked = "goodput = { interval = \"1s\", per_flow = true, over_time = true }";
    let mut watched = Watched::new(asked);
    for (time, bytes) in [(1100, 1000), (1900, 1000), (5000, 500), (11_000, 7)] {
        watched.see(Seen::Read { at: at(time), bytes });
    }
    watched.see(Seen::Finished { at: at(11_000) });
    let results = watched.results();
    let points = &results.curves[0].points;
    // 2000 bytes in the second that ends at 2 s are 16 kbit/s.
    assert_eq!((points[0], points[1], points[4]), ((2.0, 16.0), (3.0, 0.0), (6.0, 4.0)));
    assert_eq!((points.len(), points[9]), (10, (11.0, 0.0)));
    assert_eq!(results.distributions[0].bins, [(0, 8), (4, 1), (16, 1)]);
    assert_eq!(watched.value("goodput.interval[quantile=0.5]"), Some(0.0));
    assert_eq!(watched.value("goodput.flow[flow=0]"), Some(2.0));
}

#[test]
fn data_has_left_a_path_when_it_does_not_come_back_before_the_loss() {
    let lost = Some(Duration::from_secs(5));
    let time = |moves: &[(u64, u8)]| {
        let mut watched = Watched::with_lost("switchover = {}", lost);
        for (time, path) in moves {
            watched.see(Seen::Path { at: at(*time), path: *path });
        }
        watched.see(Seen::Finished { at: at(11_000) });
        (watched.value("switchover.time"), watched.value("switchover.stayed"))
    };
    assert_eq!(time(&[(7500, 1), (9000, 0)]), (Some(2.5), Some(0.0)));
    assert_eq!(time(&[(2000, 1), (3000, 0), (6000, 1)]), (Some(1.0), Some(0.0)));
    assert_eq!(time(&[(4000, 1)]), (Some(-1.0), Some(0.0)));
    assert_eq!(time(&[]), (None, Some(1.0)));
    let mut watched = Watched::with_lost("switchover = {}", lost);
    for time in [2000, 2500, 6000] {
        watched.see(Seen::Delivered(&delivery(0, 1000, time)));
    }
    watched.see(Seen::Finished { at: at(11_000) });
    assert_eq!(watched.value("switchover.gap"), Some(5.0));
}

#[test]
fn fairness_is_one_for_equal_shares_and_one_nth_for_one_winner() {
    let fairness = |bytes: [u64; 4]| {
        let mut watched = Watched::new("goodput = {}");
        for (flow, bytes) in bytes.into_iter().enumerate() {
            watched.see_of(flow, Seen::Read { at: at(2000), bytes });
        }
        watched.value("goodput.jain")
    };
    assert_eq!(fairness([7, 7, 7, 7]), Some(1.0));
    assert_eq!(fairness([0, 0, 9, 0]), Some(0.25));
    // Without values there is no fairness.
    assert_eq!(fairness([0; 4]), None);
}

#[test]
fn a_slower_player_forgives_more() {
    let mut watched = Watched::new("late = { pre_buffer = \"1s\", ratios = [1.0, 2.0] }");
    // Playback begins at 1.1 s + 1 s. The second message is due 1 s of media later, the third 2 s.
    for (index, due, delivered) in
        [(0, 1000, 1100), (1, 2000, 3101), (2, 3000, 6100), (3, 4000, 8200)]
    {
        watched.see(Seen::Delivered(&delivery(index, due, delivered)));
    }
    assert_eq!(watched.value("late.share[ratio=1]"), Some(75.0));
    assert_eq!(watched.value("late.share[ratio=2]"), Some(25.0));
    // The last message arrived 6.1 s after playback began, with 3 s of media before it; the third 4
    // s, with 2 s.
    let needed = watched.value("late.needed_ratio").unwrap();
    assert!((needed - 6.1 / 3.0).abs() < 1e-9, "{needed}");
}

#[test]
fn the_deviation_of_times_between_deliveries_is_that_of_the_sample() {
    let mut watched = Watched::new("inter_arrival = {}");
    for (index, time) in [2000, 2010, 2030, 2060].into_iter().enumerate() {
        watched.see(Seen::Delivered(&delivery(index as u64, 2000, time)));
    }
    let deviation = watched.value("inter_arrival.deviation").unwrap();
    assert!((deviation - 10.0).abs() < 1e-9, "{deviation}");
}

#[test]
fn retransmissions_are_told_by_order_and_cause_with_their_needless_share() {
    let mut watched = Watched::new("retransmissions = {}");
    for (cause, order) in
        [(Cause::Fast, 1), (Cause::Fast, 1), (Cause::Timeout, 1), (Cause::Timeout, 2)]
    {
        watched.see(Seen::Resent { at: at(2000), cause, order });
    }
    watched.see(Seen::Resent { at: at(12_000), cause: Cause::Fast, order: 1 });
    watched.see(Seen::Needless(Needless { cause: Cause::Fast, order: 1, sent: at(2000) }));
    let share = watched.value("retransmissions.share[order=1,cause=fast]").unwrap();
    assert!((share - 200.0 / 3.0).abs() < 1e-9);
    assert_eq!(watched.value("retransmissions.count[order=2]"), Some(1.0));
    assert_eq!(watched.value("retransmissions.spurious_share"), Some(25.0));
    let needless = "retransmissions.spurious_share[order=1,cause=fast]";
    assert_eq!(watched.value(needless), Some(50.0));
    // Retransmissions of all orders together.
    assert_eq!(watched.value("retransmissions.share[cause=timeout]"), Some(50.0));
    assert_eq!(watched.value("retransmissions.spurious_share[cause=fast]"), Some(50.0));
    assert_eq!(watched.value("retransmissions.spurious_share[cause=early]"), None);
}

#[test]
fn a_stream_is_as_bad_as_its_worst_message_and_as_lossy_as_its_own_way() {
    let mut watched = Watched::new("streams = { limits = [\"500ms\", \"fps\"] }");
    for (flow, arrived) in [100, 98, 96].into_iter().enumerate() {
        (0..100).for_each(|_| watched.see_of(flow, Seen::DataSent));
        (0..arrived).for_each(|_| {
            watched.see_of(flow, Seen::DataArrived { at: Instant::ZERO, fresh: 1, again: 0 })
        });
        watched.see_of(flow, Seen::Delivered(&delivery(0, 1000, 1500)));
    }
    let bad = Delivery { retransmissions: 6, ..delivery(1, 2000, 69_000) };
    watched.see_of(1, Seen::Delivered(&bad));
    let too_early_to_count = Delivery { retransmissions: 9, ..delivery(2, 500, 9000) };
    watched.see_of(0, Seen::Delivered(&too_early_to_count));
    // Never delivered: 4 s at least.
    watched.see_of(2, Seen::Undelivered { due: at(8000), at: at(12_000) });
    let share = watched.value("streams.beyond[limit=500ms]").unwrap();
    assert!((share - 200.0 / 3.0).abs() < 1e-9, "500 ms are not beyond: {share}");
    assert_eq!(watched.value("streams.longest.max"), Some(67_000.0));
    assert_eq!(watched.value("streams.longest.count"), Some(3.0));
    assert_eq!(watched.value("streams.most_resent"), Some(6.0));
    assert_eq!(watched.value("streams.loss.mean"), Some(2.0));
    assert_eq!(watched.value("streams.loss.max"), Some(4.0));
}

#[test]
fn timeouts_stand_beside_the_measurements_that_they_follow_from() {
    let mut watched = Watched::new("rto = {}");
    for (time, rtt, rto) in [(500, 1, 1), (2000, 100, 300), (3000, 200, 500)] {
        let span = Duration::from_millis;
        watched.see(Seen::RoundTrip { at: at(time), rtt: span(rtt), rto: span(rto) });
    }
    assert_eq!(watched.value("rtt.mean"), Some(150.0));
    assert_eq!(watched.value("rto.mean"), Some(400.0));
    assert_eq!(watched.value("rto.deviation"), Some(2.0f64.sqrt() * 100.0));
}

#[test]
fn stored_media_are_late_by_their_place_in_the_media() {
    let mut watched = Watched::new("late = { pre_buffer = \"1s\", ratios = [1.0] }");
    // All due at once; the third is played 3 s after the first, which is 4.1 s.
    for (index, delivered, media) in
        [(0, 1100, 0), (1, 3101, 1000), (2, 4100, 2000), (3, 5101, 3000)]
    {
        let media = Duration::from_millis(media);
        let delivery = Delivery { media, ..delivery(index, 1000, delivered) };
        watched.see(Seen::Delivered(&delivery));
    }
    assert_eq!(watched.value("late.share[ratio=1]"), Some(50.0));
}

#[test]
fn traffic_is_told_as_the_papers_tables_do() {
    let mut watched = Watched::new("traffic = {}");
    for (due, size) in [(500, 9000), (1000, 10), (1100, 30), (1500, 80), (11_500, 9000)] {
        let media = Duration::from_millis(due);
        let message = DueMessage { index: 0, due: at(due), size, media };
        watched.see(Seen::Due(&message));
    }
    watched.flows[0].on_sent(at(1000), 125);
    let of = |name: &str| watched.value(name).unwrap();
    assert_eq!([of("payload.mean"), of("payload.min"), of("payload.max")], [40.0, 10.0, 80.0]);
    assert_eq!([of("interval.max"), of("interval.min")].map(f64::round), [500.0, 100.0]);
    assert!((of("interval.mean") - 1000.0 / 3.0).abs() < 1e-6);
    assert!((of("interval.median") - 400.0).abs() < 1.0);
    assert_eq!([of("traffic.packets"), of("traffic.bits")], [0.1, 100.0]);
}

#[test]
fn shares_beyond_a_limit_are_told_of_both_layers() {
    let mut watched =
        Watched::new("latency = { at = [\"application\", \"transport\"], limits = [\"100ms\"] }");
    // The message had arrived in time, and waited for an earlier one.
    let waited = Delivery { arrived: at(2050), ..delivery(0, 2000, 2300) };
    watched.see(Seen::Delivered(&waited));
    watched.see(Seen::Delivered(&delivery(1, 3000, 3050)));
    assert_eq!(watched.value("latency.beyond[limit=100ms]"), Some(50.0));
    assert_eq!(watched.value("transport_latency.beyond[limit=100ms]"), Some(0.0));
}

#[test]
fn a_trace_sees_latency_begin_when_a_message_leaves() {
    let mut watched = Watched::new("latency = { since = \"sent\" }");
    // The message waited 200 ms for room in the send buffer.
    watched.see(Seen::Delivered(&Delivery { sent: at(2200), ..delivery(0, 2000, 2260) }));
    assert_eq!(watched.value("latency.max"), Some(60.0));
}

#[test]
fn what_comes_after_the_window_neither_arrives_nor_is_late_in_it() {
    let mut watched =
        Watched::new("inter_arrival = {}\nlate = { pre_buffer = \"0s\", ratios = [1.0] }");
    // A backlog of what was due early, the last of it when the network is empty.
    for (index, delivered) in [(0, 2000), (1, 4000), (2, 8000), (3, 11_000), (4, 11_001)] {
        watched.see(Seen::Delivered(&delivery(index, 2000 + index, delivered)));
    }
    let deviation = watched.value("inter_arrival.deviation").unwrap();
    assert!((deviation - 2000.0 / 2f64.sqrt()).abs() < 1e-6, "of 2 s and 4 s: {deviation}");
    let late = watched.value("late.share[ratio=1]").unwrap();
    assert!((late - 200.0 / 3.0).abs() < 1e-9, "{late}");
}
