//! `lab run --capture`: chosen flows of chosen runs as captures and events.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use ::lab::engine::Job;
use ::lab::plan::Plan;
use ::lab::record::{Files, FlowName, check, record};

use crate::failure::Failure;
use crate::output;

/// Flows and runs to capture.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Captures")]
pub(super) struct Captures {
    /// Write the packets of this flow (pcapng, at the sender and at the receiver) and the events
    /// of its sender's recovery (qlog) to the folder captures in --out: a name from the plan,
    /// and a number from 0 if it has several flows, such as thin:3.
    #[arg(long, value_name = "FLOW[:N]", requires = "out")]
    capture: Vec<FlowName>,
    /// Seeds to capture; by default the first.
    #[arg(long, value_name = "N,..", value_delimiter = ',', requires = "capture")]
    capture_seeds: Vec<u64>,
    /// Cells to capture: those with this value of a varied key; by default all.
    #[arg(long, value_name = "KEY=VALUE", requires = "capture")]
    capture_where: Vec<String>,
}

impl Captures {
    /// Fails for flows that do not exist, before anything is run.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), Failure> {
        self.capture.iter().try_for_each(|flow| check(plan, flow).map_err(Failure::usage))?;
        let seeds = plan.seed_range();
        if let Some(seed) = self.capture_seeds.iter().find(|seed| !seeds.contains(seed)) {
            let (first, last) = (seeds.start(), seeds.end());
            let what = format!("--capture-seeds {seed}: the plan has seeds {first} to {last}");
            return Err(Failure::usage(what));
        }
        let none = !self.capture.is_empty() && self.cells(plan).next().is_none();
        if none {
            let what = format!(
                "--capture-where {}: no cell of the plan is so; a key and a value as the results show them, such as {}",
                self.capture_where.join(" "),
                plan.cells.first().map(|(cell, _)| cell.to_string()).unwrap_or_default()
            );
            return Err(Failure::usage(what));
        }
        Ok(())
    }

    /// Places of the cells that are meant.
    fn cells<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = usize> + use<'a> {
        let is_meant = |texts: &[(String, String)]| {
            self.capture_where.iter().all(|one| {
                texts.iter().any(|(key, value)| {
                    one.strip_prefix(key.as_str()) == Some(&format!("={value}"))
                })
            })
        };
        let cells = plan.cells.iter().enumerate();
        cells.filter(move |(_, (cell, _))| is_meant(&cell.texts())).map(|(place, _)| place)
    }

    /// Writes them to the folder of the results.
    pub(super) fn write(&self, plan: &Plan, out: Option<&Path>) -> Result<(), Failure> {
        let Some(out) = out.filter(|_| !self.capture.is_empty()) else { return Ok(()) };
        let folder = out.join("captures");
        let failed = |what: &dyn ToString| Failure::file(&folder, what.to_string());
        fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        let first = [*plan.seed_range().start()];
        let seeds = if self.capture_seeds.is_empty() { &first[..] } else { &self.capture_seeds };
        let mut count = 0;
        for cell in self.cells(plan) {
            for (flow, seed) in
                self.capture.iter().flat_map(|flow| seeds.iter().map(move |seed| (flow, *seed)))
            {
                let name = name(plan, cell, seed, flow);
                let create = |kind: &str| {
                    File::create(folder.join(format!("{name},{kind}"))).map(BufWriter::new)
                };
                let files = || -> std::io::Result<_> {
                    Ok(Files {
                        sender: create("sender.pcapng")?,
                        receiver: create("receiver.pcapng")?,
                        events: create("events.sqlog")?,
                    })
                };
                let files = files().map_err(|error| failed(&error))?;
                record(plan, Job { cell, seed }, flow, files).map_err(|error| failed(&error))?;
                count += 1;
            }
        }
        let what = if count == 1 { "run" } else { "runs" };
        output::note(&format!("captures of {count} {what}: {}", folder.display()));
        Ok(())
    }
}

/// `policy=lksctp,seed=1,thin-0`, without what the name of a file may not have.
fn name(plan: &Plan, cell: usize, seed: u64, flow: &FlowName) -> String {
    let texts = plan.cells.get(cell).map(|(cell, _)| cell.texts()).unwrap_or_default();
    runner::archive::file_name(&texts, seed, &[format!("{}-{}", flow.group, flow.number)])
}
