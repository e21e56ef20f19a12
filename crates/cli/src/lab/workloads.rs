//! `thinstream lab workloads`: applications of the papers, and how well their models fit.

use ::lab::workload::{Application, ApplicationRow, Fit};
use results::text_table::Table;
use serde_json::json;

use super::show::short;
use crate::failure::Failure;
use crate::output;

/// List the application models with the percentiles that the papers report and those of the fit.
///
/// Rows "from memory, unverified" stand in no paper as we have it: no report has their numbers.
/// Times between packets are independent draws: what comes in bursts, such as BZFlag's median of 0
/// ms, has the right share of them but not their order.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

/// Mean, median, smallest, largest, 1 % and 99 % of a distribution.
fn numbers(fit: &Fit) -> [f64; 6] {
    let at = |quantile| fit.quantile(quantile);
    [fit.mean(), at(0.5), at(0.0), at(1.0), at(0.01), at(0.99)]
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        let rows: Vec<_> = Application::all().map(to_json).collect();
        return output::print(&serde_json::to_string_pretty(&rows).unwrap_or_default());
    }
    output::print(&table())
}

fn table() -> String {
    let mut table = Table::headed(&[
        "payload in B, intervals in ms",
        "B mean",
        "min",
        "max",
        "ms mean",
        "median",
        "min",
        "max",
        "1 %",
        "99 %",
        "packets/s",
        "bits/s",
    ]);
    for application in Application::all() {
        let row = application.row();
        table.line(row.title);
        let payload = row.payload.map(|value| known(*row, value));
        let intervals = row.interval_ms.map(|value| known(*row, value));
        let rates = row.rates.map(|(packets, bits)| [short(packets), short(bits)]);
        let cells = payload.into_iter().chain(intervals);
        let cells = cells.chain(rates.into_iter().flatten());
        table.row([format!("  {}", source(*row))].into_iter().chain(cells));
        let payload = application.payloads();
        let payload = [payload.mean(), payload.quantile(0.0), payload.quantile(1.0)];
        let intervals = application.intervals();
        let rate = 1000.0 / intervals.mean();
        let rates = [rate, rate * 8.0 * payload[0]];
        let cells = payload.into_iter().chain(numbers(&intervals)).chain(rates);
        table.row([format!("  {}", row.name)].into_iter().chain(cells.map(short)));
    }
    table.to_string()
        + "\nBits a second of the models are those of the payload; the papers count headers, too.\n"
}

/// The origin of a row's numbers.
fn source(row: ApplicationRow) -> &'static str {
    if row.verified { "reported" } else { "from memory, unverified" }
}

/// A number as the source has it: where that says `<1`, the model takes 0.5.
fn known(row: ApplicationRow, value: f64) -> String {
    if !row.verified && value == 0.5 { "<1".to_owned() } else { short(value) }
}

fn to_json(application: Application) -> serde_json::Value {
    let row = application.row();
    let (payload, intervals) = (application.payloads(), application.intervals());
    let named = |names: &[&str], values: &[serde_json::Value]| {
        let pairs =
            names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.clone()));
        serde_json::Value::Object(pairs.collect())
    };
    let given = |value: f64| match known(*row, value) {
        text if text.starts_with('<') => json!(text),
        _ => json!(value),
    };
    let (sizes, times) = (["mean", "min", "max"], ["mean", "median", "min", "max", "p1", "p99"]);
    let mut object = json!({ "name": row.name, "title": row.title, "verified": row.verified });
    // Numbers from memory do not have the names of reported ones.
    let prefix = if row.verified { "" } else { "remembered_" };
    let (packets, bits) = row.rates.unzip();
    let rate = 1000.0 / intervals.mean();
    for (name, value) in [
        (format!("{prefix}payload_bytes"), named(&sizes, &row.payload.map(given))),
        (format!("{prefix}interval_ms"), named(&times, &row.interval_ms.map(given))),
        (format!("{prefix}packets_per_second"), json!(packets)),
        (format!("{prefix}bits_per_second"), json!(bits)),
        (
            "fitted_payload_bytes".to_owned(),
            named(
                &sizes,
                &[payload.mean(), payload.quantile(0.0), payload.quantile(1.0)]
                    .map(|one| json!(one)),
            ),
        ),
        (
            "fitted_interval_ms".to_owned(),
            named(&times, &numbers(&intervals).map(|one| json!(one))),
        ),
        ("fitted_packets_per_second".to_owned(), json!(rate)),
        ("fitted_payload_bits_per_second".to_owned(), json!(rate * 8.0 * payload.mean())),
    ] {
        object[name] = value;
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_never_shown_as_reported() {
        let text = table();
        let lines: Vec<&str> = text.lines().collect();
        for application in Application::all() {
            let row = application.row();
            let place = lines.iter().position(|line| *line == row.title).unwrap();
            assert_eq!(lines[place + 1].starts_with("  reported"), row.verified, "{}", row.title);
            assert_eq!(
                lines[place + 1].starts_with("  from memory, unverified"),
                !row.verified,
                "{}",
                row.title
            );
            let object = to_json(application);
            assert_eq!(object.get("payload_bytes").is_some(), row.verified);
            assert_eq!(object.get("remembered_interval_ms").is_some(), !row.verified);
        }
        let ssh = lines.iter().position(|line| *line == "SSH text session").unwrap();
        assert!(
            lines[ssh + 1].contains(" <1 ") && !lines[ssh + 1].contains("0.5"),
            "{}",
            lines[ssh + 1]
        );
        let rates: Vec<&str> = lines[ssh + 1].split_whitespace().rev().take(2).collect();
        assert_eq!(rates, ["2825", "3.096"], "{}", lines[ssh + 1]);
        let ftp = Application::all().last().unwrap();
        assert_eq!(to_json(ftp)["remembered_interval_ms"]["mean"], json!("<1"));
    }
}
