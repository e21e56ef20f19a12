//! The demo in virtual time.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use lab::scenario::{EventFile, PacketFile, ThinFlows, compare, draw_ladder, pick_loss, simulate};

use super::{DemoError, DemoOptions, Outcome};
use crate::{FileError, Unwritten};

/// Runs all policies in virtual time, on all cores, and compares them. The same options give the same
/// report on any machine. `progress` gets the number of flows done and of all flows, from any thread.
///
/// # Errors
/// See [`DemoError`].
pub fn run_virtual(
    options: &DemoOptions,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Outcome, DemoError> {
    let (plan, contenders) = (options.plan(), &options.policies);
    plan.check()?;
    let files = Files::create(options)?;
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
    let unwritten = files.write(options, &plan)?;
    Ok(Outcome { report: options.report(reports), unwritten })
}

/// Captures and events of a demo, those that were asked for. They come from a run of their own, flow by flow, so that
/// their order is always the same.
struct Files {
    packets: Option<PacketFile<BufWriter<File>>>,
    events: Option<EventFile<BufWriter<File>>>,
}

impl Files {
    fn create(options: &DemoOptions) -> Result<Files, DemoError> {
        let begin = |path: &Path| PacketFile::new(create(path)?).map_err(failed(path));
        let packets = options.pcap.as_deref().map(begin).transpose()?;
        let begin = |path: &Path| create(path).map(EventFile::new);
        let events = options.events.as_deref().map(begin).transpose()?;
        Ok(Files { packets, events })
    }

    /// Runs the flows once more and writes them down; gives what could not be written. A file that fails is
    /// given up, and the other goes on.
    fn write(
        mut self,
        options: &DemoOptions,
        plan: &ThinFlows,
    ) -> Result<Vec<Unwritten>, DemoError> {
        let (pcap, events) = (options.pcap.as_deref(), options.events.as_deref());
        let mut unwritten = Vec::new();
        for (lane, contender) in options.policies.iter().enumerate() {
            for flow in 0..plan.flows {
                let name = contender.name.as_str();
                let begun = self.packets.as_mut().map_or(Ok(()), |file| file.begin(name, flow));
                give_up(&mut self.packets, begun, pcap, &mut unwritten);
                let begun = self.events.as_mut().map_or(Ok(()), |file| file.begin(name, flow));
                give_up(&mut self.events, begun, events, &mut unwritten);
                if self.packets.is_none() && self.events.is_none() {
                    return Ok(unwritten);
                }
                let setup = plan.setup(&contender.policy, lane as u8, flow);
                simulate(&setup, (self.packets.as_mut(), self.events.as_mut()))?;
            }
        }
        let ended = self.packets.take().map_or(Ok(()), PacketFile::finish);
        give_up(&mut self.packets, ended, pcap, &mut unwritten);
        let ended = self.events.take().map_or(Ok(()), EventFile::finish);
        give_up(&mut self.events, ended, events, &mut unwritten);
        Ok(unwritten)
    }
}

/// Where a file failed, forgets it and says why.
fn give_up<T>(
    file: &mut Option<T>,
    result: std::io::Result<()>,
    path: Option<&Path>,
    unwritten: &mut Vec<Unwritten>,
) {
    if let (Err(error), Some(path)) = (result, path) {
        *file = None;
        unwritten.push(failed(path)(error).into());
    }
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
        let report = run_virtual(&options(), &|_, _| {}).unwrap().report;
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

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_costs_the_files_and_not_the_report() {
        let full = || Some("/dev/full".into());
        let both = DemoOptions { pcap: full(), events: full(), ..options() };
        let outcome = run_virtual(&both, &|_, _| {}).unwrap();
        assert_eq!(outcome.unwritten.len(), 2);
        assert!(outcome.unwritten.iter().all(|error| error.to_string().contains("/dev/full")));
        assert!(outcome.report.policies.iter().all(|one| one.results.delivered == 500));
    }
}
