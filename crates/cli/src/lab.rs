//! `thinstream lab`: arguments and printing.

mod capture;
mod compare;
mod pages;
mod report;
mod reproduce;
pub(crate) mod show;
mod workloads;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ::lab::engine::{self, EngineError, Finished, Shard};
use ::lab::plan::{Plan, PlanError, Size};
use ::lab::report::section::Study;
use ::lab::results::manifest::Surroundings;
use ::lab::results::{Folder, Manifest, Stored, merge};
use base::Probability;
use clap::Subcommand;

use crate::failure::Failure;
use crate::number::within;
use crate::output::{self, Progress};

/// Run plans of experiments in virtual time: networks, flows, policies, what is varied, what is measured.
///
/// A plan is a TOML file; those in experiments/ reproduce figures of papers. The same plan and seed give the
/// same numbers on any number of threads, in shards, or resumed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Run),
    Reproduce(reproduce::Arguments),
    Report(report::Arguments),
    Compare(compare::Arguments),
    List(List),
    Merge(Merge),
    Workloads(workloads::Arguments),
}

/// Run a plan, show its numbers with confidence intervals beside what the paper reports, and write tables.
#[derive(clap::Args)]
struct Run {
    /// The plan, a TOML file.
    plan: PathBuf,
    /// Folder for tables (CSV, Parquet), pictures, manifest and the journal of finished runs.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads; as many as the machine has processors.
    #[arg(long, value_name = "N", value_parser = within(1..=4096_u64))]
    jobs: Option<u64>,
    /// Only this share of the runs, such as 1/4; "lab merge" joins them.
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<Shard>,
    /// Keep what is finished in --out and do the rest.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Say how many seeds it takes to know the plan's quantiles to within this share of them, such as 5%.
    #[arg(long, value_name = "SHARE", conflicts_with = "json")]
    precision: Option<Probability>,
    #[command(flatten)]
    captures: capture::Captures,
    #[command(flatten)]
    size: SizeArguments,
    /// Write a page with figures, tables and the paper beside them; each figure stands beside it as SVG, too.
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    report: Option<PathBuf>,
    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Which size of a plan.
#[derive(Clone, Default, clap::Args)]
struct SizeArguments {
    /// Seeds of each cell, in the place of the plan's number.
    #[arg(long, value_name = "N", value_parser = within(1..=1_000_000_u64))]
    seeds: Option<u64>,
    /// The paper's own durations and numbers of runs.
    #[arg(long, conflicts_with = "small")]
    full: bool,
    /// What the tests run.
    #[arg(long)]
    small: bool,
}

/// List the plans in a folder.
#[derive(clap::Args)]
struct List {
    /// Where to look, in depth.
    #[arg(default_value = "experiments")]
    folder: PathBuf,
}

/// Join what shards of a plan finished, and write the tables of all.
#[derive(clap::Args)]
struct Merge {
    /// The plan.
    plan: PathBuf,
    /// The folders of the shards.
    #[arg(required = true, value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// Folder for the whole.
    #[arg(long, value_name = "DIR", required = true)]
    out: PathBuf,
    #[command(flatten)]
    size: SizeArguments,
    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Run(arguments) => arguments.run(),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::List(arguments) => list(&arguments.folder),
        Command::Merge(arguments) => arguments.run(),
        Command::Workloads(arguments) => workloads::run(arguments),
    }
}

/// Reads a plan, with these values of a key in the place of its own.
fn read_plan(
    path: &Path,
    size: &SizeArguments,
    varied: Option<(&str, &[String])>,
) -> Result<Plan, Failure> {
    let name = path.display();
    let refused = |error| Failure::usage(format!("plan {name}: {error}"));
    let text = ::lab::plan::read(path).map_err(refused)?;
    size.plan(&text, varied).map_err(refused)
}

impl SizeArguments {
    fn plan(&self, text: &str, varied: Option<(&str, &[String])>) -> Result<Plan, PlanError> {
        let chosen = match (self.full, self.small) {
            (true, _) => Size::Full,
            (_, true) => Size::Small,
            _ => Size::Normal,
        };
        Plan::parse_varied(text, chosen, self.seeds, varied)
    }
}

/// What this command was built from: results of another build do not mix with its own.
const BUILD: &str = env!("THINSTREAM_BUILD");

/// What the results cannot know themselves.
fn surroundings(began: Instant, command: String) -> Surroundings {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    Surroundings {
        commit: option_env!("THINSTREAM_COMMIT").map(str::to_owned),
        build: BUILD.to_owned(),
        host: host.map(|name| name.trim().to_owned()),
        processors: Some(processors() as u64),
        time_s: SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|span| span.as_secs()),
        wall_s: Some(began.elapsed().as_secs_f64()),
        command: Some(command),
    }
}

/// The command as it was typed, so that it can be typed again.
fn typed() -> String {
    let rest = std::env::args().skip(1).map(|word| output::quoted(&word));
    std::iter::once("thinstream".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

/// Runs of a plan, to be done.
struct Work<'a> {
    plan: &'a Plan,
    shard: Shard,
    jobs: Option<u64>,
    /// What the line of progress begins with.
    what: &'a str,
    /// What the manifest says how they were done.
    command: String,
}

impl Work<'_> {
    /// Does what is not finished yet; gives all that is, and what follows from it.
    fn run(self, mut folder: Option<Folder>) -> Result<Finished, Failure> {
        let began = Instant::now();
        let Work { plan, shard, .. } = self;
        let mut finished = folder.as_ref().map_or_else(Finished::new, |one| one.finished().clone());
        let done = finished.keys().copied().collect();
        let threads = self.jobs.map_or_else(processors, |jobs| jobs as usize);
        let (count, all) = (AtomicU64::new(finished.len() as u64), plan.jobs().div_ceil(shard.of));
        let mut progress = Progress::new();
        let ran = engine::run(plan, shard, &done, threads, |job, results| {
            if let Some(folder) = &mut folder {
                folder.add(job, results.clone())?;
            }
            finished.insert(job, results);
            let count = count.fetch_add(1, Ordering::Relaxed) + 1;
            let seconds = began.elapsed().as_secs_f64();
            progress.show(&format!("{}{count} of {all} runs, {seconds:.0} s", self.what));
            Ok(())
        });
        drop(progress);
        ran.map_err(|error| match error {
            EngineError::Journal(error) => Failure::check(error),
            other => Failure::usage(other),
        })?;
        match folder {
            Some(folder) => folder
                .write_tables(plan, shard, surroundings(began, self.command))
                .map_err(Failure::check),
            None => {
                engine::conclude(plan, &mut finished);
                Ok(finished)
            }
        }
    }
}

/// Runs a plan that the command made itself; its numbers go to a folder and a page, if these are asked for.
pub(crate) fn run_made(
    plan: &Plan,
    jobs: Option<u64>,
    out: Option<&Path>,
    page: Option<&Path>,
) -> Result<Finished, Failure> {
    let began = Instant::now();
    let shard = Shard::default();
    let folder = out.map(|path| Folder::open(path, plan, false, BUILD)).transpose();
    let work = Work { plan, shard, jobs, what: "", command: typed() };
    let finished = work.run(folder.map_err(Failure::usage)?)?;
    if let Some(page) = page {
        let around = surroundings(began, typed());
        let manifest = Manifest::new(plan, shard, engine::count(&finished), around);
        let stored = Stored { plan: plan.clone(), finished: finished.clone(), manifest };
        pages::write(page, vec![Study::new(stored)])?;
    }
    Ok(finished)
}

impl Run {
    fn run(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let mut plan = read_plan(&self.plan, &self.size, None)?;
        if self.precision.is_some() {
            plan.keep_distributions();
        }
        self.captures.check(&plan)?;
        let shard = self.shard.unwrap_or_default();
        let folder = match &self.out {
            None => None,
            Some(path) => {
                Some(Folder::open(path, &plan, self.resume, BUILD).map_err(Failure::usage)?)
            }
        };
        let work = Work { plan: &plan, shard, jobs: self.jobs, what: "", command: typed() };
        let in_plan = |failure| match failure {
            Failure::Usage(what) => Failure::usage(format!("plan {}: {what}", self.plan.display())),
            other => other,
        };
        let finished = work.run(folder).map_err(in_plan)?;
        self.captures.write(&plan, self.out.as_deref())?;
        show::results(&plan, &finished, self.json)?;
        if let Some(share) = self.precision {
            show::seeds_needed(&plan, &finished, share.as_f64())?;
        }
        let Some(file) = &self.report else { return Ok(()) };
        let around = surroundings(began, typed());
        let manifest = Manifest::new(&plan, shard, engine::count(&finished), around);
        pages::write(file, vec![Study::new(Stored { plan, finished, manifest })])
    }
}

impl Merge {
    fn run(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let plan = read_plan(&self.plan, &self.size, None)?;
        let finished = merge(&plan, &self.shards, &self.out, surroundings(began, typed()))
            .map_err(Failure::usage)?;
        let missing = plan.jobs().saturating_sub(engine::count(&finished));
        if missing > 0 {
            output::note(&format!("{missing} of {} runs are in none of the shards", plan.jobs()));
        }
        show::results(&plan, &finished, self.json)
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn list(folder: &Path) -> Result<(), Failure> {
    let mut found = Vec::new();
    collect(folder, &mut found)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    found.sort();
    let mut text = String::new();
    for path in found {
        let said = ::lab::plan::read(&path).and_then(|text| Plan::parse(&text, Size::Normal, None));
        let said = match said {
            Ok(plan) => format!("{} ({} runs)", plan.base.title, plan.jobs()),
            Err(error) => {
                format!("cannot be run: {}", error.to_string().lines().next().unwrap_or_default())
            }
        };
        text.push_str(&format!("{}  {said}\n", path.display()));
    }
    output::print(&text)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        lab: Arguments,
    }

    #[test]
    fn the_command_knows_what_it_was_built_from() {
        let around = surroundings(Instant::now(), String::new());
        assert_eq!(around.build.len(), 16, "{around:?}");
        assert!(around.build.bytes().all(|byte| byte.is_ascii_hexdigit()), "{around:?}");
        let commit = around.commit.as_deref().map(|commit| commit.trim_end_matches("-dirty"));
        assert!(commit.is_none_or(|commit| commit.len() >= 7), "{around:?}");
    }

    #[test]
    fn every_number_of_every_command_can_be_given() {
        for typed in [
            "x run p.toml --seeds 3 --jobs 2 --out d --shard 1/2 --resume --precision 5% --full",
            "x run p.toml --out d --capture thin:2 --capture thin --capture-seeds 1,3 --capture-where a.b=1",
            "x compare p.toml --key a.b one other --seeds 3 --jobs 2 --quantiles 0.5,0.9 --small",
            "x merge p.toml d e --out f --seeds 3",
        ] {
            let line = Line::try_parse_from(typed.split_whitespace());
            assert!(line.is_ok(), "{typed}: {}", line.err().unwrap());
        }
    }
}
