//! Rows of flows as whole streams: how many of them had a bad moment, and how lossy their way was.

use results::{LatencyRecorder, Quantity, Sheet, mean};

use crate::measure::{FlowMeter, LatencyLimit, flow_meter::FlowDetail};

/// Adds the rows of streams, where limits of their longest latency are asked for.
pub(super) fn streams(flows: &[FlowMeter], limits: &[LatencyLimit], sheet: &mut Sheet<'_>) {
    let streams: Vec<&FlowDetail> =
        flows.iter().filter_map(|flow| flow.detail.as_deref()).collect();
    let count = streams.len() as f64;
    sheet.add("streams.count", &[], count, "");
    for limit in limits {
        let beyond = streams.iter().filter(|stream| stream.longest > limit.span).count() as f64;
        sheet.add("streams.beyond", &[("limit", &limit.name)], 100.0 * beyond / count, "%");
    }
    let mut longest = LatencyRecorder::new();
    streams.iter().for_each(|stream| longest.record(stream.longest));
    sheet.add_latency("streams.longest", &[], &longest, (&[0.5], true));
    let losses: Vec<f64> = streams.iter().filter_map(|stream| stream.loss()).collect();
    sheet.add("streams.loss.mean", &[], mean(losses.iter().map(|loss| loss * 100.0)), "%");
    let most = losses.iter().copied().fold(f64::NAN, f64::max);
    sheet.add("streams.loss.max", &[], 100.0 * most, "%");
    let mut millionths = std::collections::BTreeMap::new();
    for loss in &losses {
        *millionths.entry((loss * 1e6).round() as u64).or_insert(0u64) += 1;
    }
    sheet.add_distribution("streams.loss", &[], "ppm", millionths.into_iter().collect());
    let resent = streams.iter().map(|stream| stream.most_resent).max();
    sheet.add("streams.most_resent", &[], resent.map_or(f64::NAN, f64::from), "");
    curves(streams, sheet);
}

/// Both in the same order, that of the longest latency: one stream stands at one place of both.
fn curves(mut streams: Vec<&FlowDetail>, sheet: &mut Sheet<'_>) {
    streams.sort_by_key(|stream| stream.longest);
    let number = || Quantity::new("stream, by its longest latency", "");
    let numbers = || (1u32..).map(f64::from);
    let longest = streams.iter().map(|stream| stream.longest.as_millis_f64());
    let latency = Quantity::new("longest latency", "ms");
    sheet.add_curve("streams.longest", &[], (number(), latency), numbers().zip(longest));
    let losses = streams.iter().map(|stream| 100.0 * stream.loss().unwrap_or(f64::NAN));
    let loss = Quantity::new("loss", "%");
    sheet.add_curve("streams.loss", &[], (number(), loss), numbers().zip(losses));
}
