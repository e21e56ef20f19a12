//! `thinstream lab workloads`: applications of the papers, and how well their models fit.

use std::fmt::Write;

use ::lab::workload::{Application, Fit};
use serde_json::json;

use super::show::short;
use crate::failure::Failure;
use crate::output;

/// List the application models with the percentiles that the papers report and those of the fit.
///
/// Rows marked "from memory" stand in no paper as we have it and are unverified. Times between packets are
/// independent draws: what comes in bursts, such as BZFlag's median of 0 ms, has the right share of them but
/// not their order.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

/// What a distribution is shown by: mean, median, smallest, largest, 1 % and 99 %.
fn numbers(fit: &Fit) -> [f64; 6] {
    let at = |quantile| fit.quantile(quantile);
    [fit.mean(), at(0.5), at(0.0), at(1.0), at(0.01), at(0.99)]
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        let rows: Vec<_> = Application::all().map(to_json).collect();
        return output::print(&serde_json::to_string_pretty(&rows).unwrap_or_default());
    }
    let mut text = String::from(
        "                       payload, B            time between packets, ms\n\
         name                   mean    min    max    mean   median  min    max     1 %     99 %\n",
    );
    for application in Application::all() {
        let row = application.row();
        let remark = if row.verified { "" } else { " (from memory)" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}{remark}", row.title);
        let [mean, low, high] = row.payload;
        line(&mut text, "  reported", [mean, low, high], row.interval_ms);
        let payload = application.payloads();
        let payload = [payload.mean(), payload.quantile(0.0), payload.quantile(1.0)];
        line(&mut text, &format!("  {}", row.name), payload, numbers(&application.intervals()));
    }
    output::print(&text)
}

fn line(text: &mut String, name: &str, payload: [f64; 3], intervals: [f64; 6]) {
    let _ = write!(text, "{name:22}");
    payload.into_iter().chain(intervals).for_each(|value| {
        let _ = write!(text, " {:7}", short(value));
    });
    text.push('\n');
}

fn to_json(application: Application) -> serde_json::Value {
    let row = application.row();
    let [mean, smallest, largest] = row.payload;
    let payload = application.payloads();
    let names = ["mean", "median", "min", "max", "p1", "p99"];
    let named = |values: [f64; 6]| -> serde_json::Map<_, _> {
        names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    };
    json!({
        "name": row.name,
        "title": row.title,
        "verified": row.verified,
        "payload_bytes": { "mean": mean, "min": smallest, "max": largest },
        "fitted_payload_bytes": {
            "mean": payload.mean(), "min": payload.quantile(0.0), "max": payload.quantile(1.0),
        },
        "interval_ms": named(row.interval_ms),
        "fitted_interval_ms": named(numbers(&application.intervals())),
    })
}
