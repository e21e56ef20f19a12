//! The demo in virtual time: the laboratory's engine runs its plan.

mod files;

use std::num::NonZero;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use lab::engine::{EngineError, Finished, Job};
use lab::plan::Plan;
use results::Results;
use runner::threads::run_jobs;

use super::error::DemoError;
use super::options::DemoOptions;
use super::report::Outcome;
use files::Files;

/// Runs all policies in virtual time, on a core each, and compares them. The same options give the
/// same report on any machine. `progress` gets the number of policies done and of all policies,
/// from any thread.
///
/// # Errors
/// See [`DemoError`].
pub fn run_virtual(
    options: &DemoOptions,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Outcome, DemoError> {
    let plan = options.plan()?;
    let files = Files::create(options)?;
    let runs = run_all(&plan, options.seed, progress)?;
    let unwritten = files.write(options, &plan)?;
    Ok(Outcome { report: options.report(plan, runs), unwritten })
}

/// The results of all cells with this seed, in their order.
fn run_all(
    plan: &Plan,
    seed: u64,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Results>, EngineError> {
    let jobs: Vec<Job> = (0..plan.cells.len()).map(|cell| Job { cell, seed }).collect();
    let count = jobs.len() as u64;
    let threads = available_parallelism().map_or(1, NonZero::get);
    let mut runs = Finished::new();
    run_jobs(plan, jobs, threads, &AtomicBool::new(false), |job, results| {
        runs.insert(job, results);
        progress(runs.len() as u64, count);
        Ok(())
    })?;
    Ok(runs.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Contender, Length};
    use base::{Duration, Probability};
    use lab::Arrivals;
    use recovery::{PRESETS, RecoveryPolicy};
    use report::document::Figure;
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
            network: None,
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
        }
        let figures = &report.document().sections[0].figures;
        let kinds = |kind: fn(&Figure) -> bool| figures.iter().filter(|one| kind(one)).count();
        assert_eq!(kinds(|one| matches!(one, Figure::Plot { .. })), 4, "{figures:?}");
        assert_eq!(kinds(|one| matches!(one, Figure::Ladder { .. })), PRESETS.len());
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        let thin = &json["policies"]["thin"];
        for field in ["p50", "p90", "p99", "p999", "max", "mean"] {
            assert!(thin["latency_ms"][field].as_f64().unwrap() >= 50.0, "{field}");
        }
        for field in ["messages", "delivered", "spurious", "packets_sent", "bytes_sent"] {
            assert!(thin[field].is_u64(), "{field}");
        }
        assert!(report.to_page().contains("thin"));
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
        assert_eq!(one["policy"], PRESETS[PRESETS.len() - 1].0);
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
