//! Rows of what each flow of a group has of its own, alone and together.

use std::collections::BTreeMap;

use base::{Duration, Instant};
use results::{Moments, Quantity, Sheet, jain, mean, quantile_of};

use super::streams::streams;
use crate::measure::{FlowMeter, GroupMeter, TimeoutTrace, Traffic};

/// Adds the rows of the flows of a group.
pub fn flow_rows(group: &GroupMeter, flows: &[FlowMeter], sheet: &mut Sheet<'_>) {
    let wishes = group.wishes();
    let seconds = wishes.window.end.since(wishes.window.start).as_secs_f64();
    if wishes.goodput.is_some() {
        goodput(group, flows, seconds, sheet);
    }
    for (place, limit) in wishes.frozen.iter().enumerate() {
        let each = |flow: &FlowMeter| Some(flow.detail.as_ref()?.frozen.get(place)?.1);
        let time = mean(flows.iter().filter_map(each).map(Duration::as_secs_f64));
        let limit = limit.to_string();
        let labels = [("longer_than", limit.as_str())];
        sheet.add("frozen.time", &labels, time, "s");
        sheet.add("frozen.share", &labels, 100.0 * time / seconds, "%");
    }
    if let Some(sent) = &group.traffic {
        traffic(sent, flows, seconds, sheet);
    }
    if wishes.inter_arrival {
        let gaps = flows.iter().filter_map(|flow| flow.detail.as_ref().map(|one| one.gaps));
        let deviations = gaps.filter_map(|gaps| gaps.deviation());
        sheet.add("inter_arrival.deviation", &[], 1e3 * mean(deviations), "ms");
    }
    if wishes.late.is_some() {
        late(flows, sheet);
    }
    if wishes.overhead {
        overhead(flows, sheet);
    }
    if let Some(limits) = &wishes.streams {
        streams(flows, limits, sheet);
    }
    if wishes.rto.is_some() {
        timeouts(flows, sheet);
    }
    if wishes.switchover.is_some() {
        switchover(flows, sheet);
    }
    if wishes.latency.as_ref().is_some_and(|latency| latency.per_flow) {
        for (number, flow) in flows.iter().enumerate() {
            let Some(detail) = &flow.detail else { continue };
            let number = number.to_string();
            sheet.add("latency.max", &[("flow", &number)], detail.longest.as_millis_f64(), "ms");
        }
    }
}

/// Kilobits a second.
fn rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8e-3 / seconds
}

fn goodput(group: &GroupMeter, flows: &[FlowMeter], seconds: f64, sheet: &mut Sheet<'_>) {
    let all: u64 = flows.iter().map(|flow| flow.read).sum();
    sheet.add("goodput.sum", &[], rate(all, seconds), "kbit/s");
    sheet.add("goodput.mean", &[], rate(all, seconds) / flows.len() as f64, "kbit/s");
    sheet.add("goodput.jain", &[], jain(flows.iter().map(|flow| flow.read as f64)), "");
    let Some(wish) = group.wishes().goodput else { return };
    if wish.per_flow {
        for (number, flow) in flows.iter().enumerate() {
            let number = number.to_string();
            sheet.add("goodput.flow", &[("flow", &number)], rate(flow.read, seconds), "kbit/s");
        }
    }
    if let Some(interval) = wish.interval {
        let mut intervals: BTreeMap<u64, u64> = BTreeMap::new();
        for (bytes, count) in
            flows.iter().filter_map(|flow| flow.detail.as_ref()).flat_map(|one| &one.intervals)
        {
            *intervals.entry(rate(*bytes, interval.as_secs_f64()).round() as u64).or_default() +=
                count;
        }
        let bins: Vec<(u64, u64)> = intervals.into_iter().collect();
        for quantile in [0.25, 0.5, 0.75] {
            let text = quantile.to_string();
            let labels = [("quantile", text.as_str())];
            sheet.add("goodput.interval", &labels, quantile_of(&bins, quantile), "kbit/s");
        }
        sheet.add_distribution("goodput.interval", &[], "kbit/s", bins);
    }
}

fn late(flows: &[FlowMeter], sheet: &mut Sheet<'_>) {
    let played: u64 = flows.iter().map(FlowMeter::played).sum();
    let ratios = flows.first().map_or(&[][..], FlowMeter::late);
    for (place, (ratio, _)) in ratios.iter().enumerate() {
        let late: u64 =
            flows.iter().filter_map(|flow| flow.late().get(place)).map(|one| one.1).sum();
        let ratio = ratio.to_string();
        let share = 100.0 * late as f64 / played as f64;
        sheet.add("late.share", &[("ratio", &ratio)], share, "%");
    }
    let needed = flows.iter().filter_map(FlowMeter::needed_ratio);
    sheet.add("late.needed_ratio", &[], needed.fold(0.0, f64::max), "");
}

/// The columns of the papers' tables: sizes and intervals of messages, packets and bits of each flow.
fn traffic(sent: &Traffic, flows: &[FlowMeter], seconds: f64, sheet: &mut Sheet<'_>) {
    for (name, size) in ["mean", "min", "max"].iter().zip(sent.payload().into_iter().flatten()) {
        sheet.add(&format!("payload.{name}"), &[], size, "B");
    }
    let intervals = &sent.intervals;
    if let Some(summary) = intervals.summary() {
        sheet.add("interval.mean", &[], summary.mean, "ms");
        sheet.add("interval.max", &[], summary.max, "ms");
    }
    for (name, quantile) in [("min", 0.0), ("median", 0.5)] {
        let value = intervals.quantile(quantile).map_or(f64::NAN, Duration::as_millis_f64);
        sheet.add(&format!("interval.{name}"), &[], value, "ms");
    }
    for quantile in [0.01, 0.99] {
        let value = intervals.quantile(quantile).map_or(f64::NAN, Duration::as_millis_f64);
        sheet.add("interval.quantile", &[("quantile", &quantile.to_string())], value, "ms");
    }
    let each = |of: fn(&FlowMeter) -> u64| mean(flows.iter().map(|flow| of(flow) as f64)) / seconds;
    sheet.add("traffic.packets", &[], each(|flow| flow.packets), "/s");
    sheet.add("traffic.bits", &[], 8.0 * each(|flow| flow.bytes), "bit/s");
}

/// Means and deviations over all measurements of all flows.
fn timeouts(flows: &[FlowMeter], sheet: &mut Sheet<'_>) {
    let traces = || {
        let details = flows.iter().filter_map(|flow| flow.detail.as_ref());
        details.filter_map(|detail| detail.timeouts.as_deref())
    };
    let mut add = |name: &str, moments: fn(&TimeoutTrace) -> Moments| {
        let means = traces().map(moments).filter(|one| one.count > 0);
        sheet.add(&format!("{name}.mean"), &[], mean(means.map(|one| one.mean)), "ms");
        let deviations = traces().filter_map(|trace| moments(trace).deviation());
        sheet.add(&format!("{name}.deviation"), &[], mean(deviations), "ms");
    };
    add("rtt", |trace| trace.rtt);
    add("rto", |trace| trace.rto);
    let Some(first) = traces().next().filter(|trace| !trace.points.is_empty()) else { return };
    let time = |at: &Instant| at.since(Instant::ZERO).as_secs_f64();
    let axes = |label| (Quantity::new("time", "s"), Quantity::new(label, "ms"));
    let rtt = first.points.iter().map(|(at, rtt, _)| (time(at), rtt.as_millis_f64()));
    sheet.add_curve("rtt", &[], axes("round-trip time"), rtt);
    let rto = first.points.iter().map(|(at, _, rto)| (time(at), rto.as_millis_f64()));
    sheet.add_curve("rto", &[], axes("timeout"), rto);
}

fn switchover(flows: &[FlowMeter], sheet: &mut Sheet<'_>) {
    let leaving = || flows.iter().filter_map(|flow| flow.detail.as_ref()?.leaving.as_ref());
    let stayed = leaving().filter(|one| one.at.is_none()).count();
    sheet.add("switchover.time", &[], mean(leaving().filter_map(|one| one.seconds())), "s");
    sheet.add("switchover.stayed", &[], stayed as f64, "");
    sheet.add("switchover.moves", &[], mean(leaving().map(|one| one.moves as f64)), "");
    sheet.add("switchover.gap", &[], mean(leaving().map(|one| one.gap.as_secs_f64())), "s");
}

fn overhead(flows: &[FlowMeter], sheet: &mut Sheet<'_>) {
    let sum = |of: fn(&FlowMeter) -> u64| flows.iter().map(of).sum::<u64>() as f64;
    let messages = sum(|flow| flow.detail.as_ref().map_or(0, |detail| detail.delivered));
    let (packets, bytes, read) =
        (sum(|flow| flow.packets), sum(|flow| flow.bytes), sum(|flow| flow.read));
    sheet.add("overhead.packets_per_message", &[], packets / messages, "");
    sheet.add("overhead.bytes_per_byte", &[], bytes / read, "");
}
