//! Rows of what the flows of a group have in common.

use base::{Duration, Instant};
use results::{LatencyByRetransmissions, LatencyRecorder, Quantity, Sheet};

use crate::measure::group_meter::{CAUSES, Counts, ORDERS};
use crate::measure::{GoodputWish, GroupMeter, LatencyWish};

/// Adds the rows of a group.
pub fn group_rows(meter: &GroupMeter, sheet: &mut Sheet<'_>) {
    let wishes = meter.wishes();
    if let Some(wish) = &wishes.latency {
        latency(meter, wish, sheet);
    }
    if wishes.retransmissions {
        retransmissions(meter, sheet);
    }
    if let Some(GoodputWish { interval: Some(interval), over_time: true, .. }) = wishes.goodput {
        goodput_over_time(meter, interval, sheet);
    }
    if let Some(transfers) = &meter.transfers {
        sheet.add_latency("transfer", &[], transfers, (&[0.5, 0.9, 0.99], false));
    }
}

/// What the group's applications read, by the end of each interval; the last one is not drawn unless whole.
fn goodput_over_time(meter: &GroupMeter, interval: Duration, sheet: &mut Sheet<'_>) {
    let window = &meter.wishes().window;
    let begin = window.start.since(Instant::ZERO);
    let whole = window.end.since(window.start).as_nanos() / interval.as_nanos().max(1);
    let bytes = meter.over_time.iter().copied().chain(core::iter::repeat(0));
    let points = (1..=whole).zip(bytes).map(|(number, bytes)| {
        let end = (begin + interval * number).as_secs_f64();
        (end, bytes as f64 * 8e-3 / interval.as_secs_f64())
    });
    let axes = (Quantity::new("time", "s"), Quantity::new("goodput", "kbit/s"));
    sheet.add_curve("goodput", &[], axes, points);
}

fn latency(meter: &GroupMeter, wish: &LatencyWish, sheet: &mut Sheet<'_>) {
    sheet.add("messages.due", &[], meter.due as f64, "");
    sheet.add("messages.undelivered", &[], meter.undelivered as f64, "");
    if let Some(application) = &meter.application {
        by_retransmission("latency", application, wish, sheet);
    }
    if let Some(transport) = &meter.transport {
        by_retransmission("transport_latency", transport, wish, sheet);
    }
    let how = (&wish.quantiles[..], wish.distribution);
    if let Some(in_order) = &meter.in_order {
        sheet.add_latency("in_order_delay", &[], in_order, how);
    }
    let messages = (meter.delivered + meter.undelivered) as f64;
    let places = [
        ("latency.beyond", wish.application || !wish.transport),
        ("transport_latency.beyond", wish.transport),
    ];
    for ((measure, _), counts) in
        places.iter().zip(&meter.beyond).filter(|((_, wanted), _)| *wanted)
    {
        for (limit, count) in wish.limits.iter().zip(counts) {
            let share = 100.0 * *count as f64 / messages;
            sheet.add(measure, &[("limit", &limit.name)], share, "%");
        }
    }
}

fn by_retransmission(
    measure: &str,
    latencies: &LatencyByRetransmissions,
    wish: &LatencyWish,
    sheet: &mut Sheet<'_>,
) {
    let how = (&wish.quantiles[..], wish.distribution);
    sheet.add_latency(measure, &[], &latencies.all(), how);
    if !wish.by_retransmission {
        return;
    }
    let names = ["0", "1", "2", "3", "4+"];
    for (order, recorder) in names.iter().zip(latencies.columns()) {
        sheet.add_latency(measure, &[("order", order)], recorder, how);
    }
    let retransmitted: LatencyRecorder = latencies.retransmitted();
    sheet.add_latency(measure, &[("order", "1+")], &retransmitted, how);
}

/// Of each order: how many, the share of each cause in it, and how many of them had been needless.
fn retransmissions(meter: &GroupMeter, sheet: &mut Sheet<'_>) {
    sheet.add("timeouts", &[], meter.timeouts as f64, "");
    let sum = |counts: &Counts| counts.iter().flatten().sum::<u64>();
    let (all, needless) = (sum(&meter.resent), sum(&meter.needless));
    sheet.add("retransmissions.count", &[], all as f64, "");
    sheet.add("retransmissions.spurious", &[], needless as f64, "");
    sheet.add("retransmissions.spurious_share", &[], 100.0 * needless as f64 / all as f64, "%");
    for (row, cause) in CAUSES.iter().enumerate().filter(|_| all > 0) {
        let of = |counts: &Counts| counts[row].iter().sum::<u64>() as f64;
        let labels = [("cause", cause.name())];
        let (sent, needless) = (of(&meter.resent), of(&meter.needless));
        sheet.add("retransmissions.count", &labels, sent, "");
        sheet.add("retransmissions.share", &labels, 100.0 * sent / all as f64, "%");
        sheet.add("retransmissions.spurious_share", &labels, 100.0 * needless / sent, "%");
    }
    for (column, order) in ORDERS.iter().enumerate() {
        let of_order: u64 = meter.resent.iter().map(|row| row[column]).sum();
        if of_order == 0 {
            continue;
        }
        sheet.add("retransmissions.count", &[("order", order)], of_order as f64, "");
        for (row, cause) in CAUSES.iter().enumerate() {
            let (sent, needless) = (meter.resent[row][column], meter.needless[row][column]);
            let labels = [("order", *order), ("cause", cause.name())];
            sheet.add("retransmissions.share", &labels, 100.0 * sent as f64 / of_order as f64, "%");
            let share = 100.0 * needless as f64 / sent as f64;
            sheet.add("retransmissions.spurious_share", &labels, share, "%");
        }
    }
}
