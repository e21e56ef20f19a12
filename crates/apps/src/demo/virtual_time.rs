//! The demo in virtual time.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use lab::DemoReport;
use lab::scenario::{EventFile, PacketFile, ThinFlows, compare, draw_ladder, pick_loss, simulate};

use super::{DemoError, DemoOptions};
use crate::FileError;

/// Runs all policies in virtual time, on all cores, and compares them. The same options give the same
/// report on any machine. `progress` gets the number of flows done and of all flows, from any thread.
///
/// # Errors
/// See [`DemoError`].
pub fn run_virtual(
    options: &DemoOptions,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<DemoReport, DemoError> {
    let (plan, contenders) = (options.plan(), &options.policies);
    plan.check()?;
    write_files(options, &plan)?;
    let threads = available_parallelism().map_or(1, NonZero::get);
    let outcomes = compare(&plan, contenders, threads, progress)?;
    let loss = pick_loss(outcomes.iter().map(|outcome| &outcome.losses[..]));
    let mut reports = Vec::new();
    for (contender, outcome) in contenders.iter().zip(&outcomes) {
        let mut report = outcome.meter.report(&contender.name, &contender.description);
        if let Some(loss) = loss {
            report.ladder = draw_ladder(&plan.setup(&contender.policy, 0, loss.flow), loss)?;
        }
        reports.push(report);
    }
    Ok(options.report(reports))
}

/// Captures and events come from a run of their own, flow by flow, so that their order is always the
/// same.
fn write_files(options: &DemoOptions, plan: &ThinFlows) -> Result<(), DemoError> {
    if options.pcap.is_none() && options.events.is_none() {
        return Ok(());
    }
    let pcap = options.pcap.as_deref();
    let begin = |path| PacketFile::new(create(path)?).map_err(failed(path));
    let mut packets = pcap.map(begin).transpose()?;
    let path = options.events.as_deref();
    let mut events = path.map(|path| create(path).map(EventFile::new)).transpose()?;
    for (lane, contender) in options.policies.iter().enumerate() {
        for flow in 0..plan.flows {
            if let (Some(file), Some(path)) = (&mut packets, pcap) {
                file.begin(&contender.name, flow).map_err(failed(path))?;
            }
            if let (Some(file), Some(path)) = (&mut events, path) {
                file.begin(&contender.name, flow).map_err(failed(path))?;
            }
            let setup = plan.setup(&contender.policy, lane as u8, flow);
            simulate(&setup, (packets.as_mut(), events.as_mut()))?;
        }
    }
    if let (Some(file), Some(path)) = (packets, pcap) {
        file.finish().map_err(failed(path))?;
    }
    if let (Some(file), Some(path)) = (events, path) {
        file.finish().map_err(failed(path))?;
    }
    Ok(())
}

fn create(path: &Path) -> Result<BufWriter<File>, FileError> {
    File::create(path).map(BufWriter::new).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> FileError {
    move |error| FileError::new("write", path, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Length;
    use base::{Duration, Probability};
    use lab::Arrivals;
    use lab::scenario::Contender;
    use recovery::{PRESETS, RecoveryPolicy};
    use std::sync::Arc;

    fn options() -> DemoOptions {
        let contender = |(name, description): (&str, &str)| Contender {
            name: name.to_owned(),
            description: description.to_owned(),
            policy: Arc::new(RecoveryPolicy::preset(name).unwrap()),
        };
        DemoOptions {
            length: Length::Messages(500),
            rtt: Duration::from_millis(100),
            loss: Probability::from_ratio(5, 100),
            arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
            size: 100,
            flows: 5,
            seed: 1,
            policies: PRESETS.map(contender).to_vec(),
            pcap: None,
            events: None,
            verbose: false,
            reproduce: "thinstream demo --virtual".to_owned(),
        }
    }

    #[test]
    fn the_report_has_every_policy_in_order_with_numbers_and_a_ladder() {
        let report = run_virtual(&options(), &|_, _| {}).unwrap();
        let names: Vec<_> = report.policies.iter().map(|policy| &*policy.name).collect();
        assert_eq!(names, PRESETS.map(|(name, _)| name));
        for policy in &report.policies {
            assert_eq!((policy.results.messages, policy.results.delivered), (500, 500));
            assert!(policy.ladder.is_some() && !policy.cdf.is_empty());
        }
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        let thin = &json["policies"]["thin"];
        for field in ["p50", "p90", "p99", "p999", "max", "mean"] {
            assert!(thin["latency_ms"][field].as_f64().unwrap() >= 50.0, "{field}");
        }
        for field in ["messages", "delivered", "spurious", "packets_sent", "bytes_sent"] {
            assert!(thin[field].is_u64(), "{field}");
        }
        assert!(report.to_html().contains("thin"));
    }

    #[test]
    fn files_are_written_and_one_that_cannot_be_is_named() {
        let folder = std::env::temp_dir().join(format!("thinstream-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (pcap, events) = (folder.join("demo.pcapng"), folder.join("demo.jsonl"));
        let with_files =
            DemoOptions { pcap: Some(pcap.clone()), events: Some(events.clone()), ..options() };
        run_virtual(&with_files, &|_, _| {}).unwrap();
        assert!(std::fs::metadata(&pcap).unwrap().len() > 500 * 150);
        let lines = std::fs::read_to_string(&events).unwrap();
        let one: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(one["policy"], "thin");
        std::fs::remove_dir_all(&folder).unwrap();

        let error = run_virtual(&with_files, &|_, _| {}).unwrap_err().to_string();
        assert!(error.contains("demo.pcapng"), "{error}");
    }
}
