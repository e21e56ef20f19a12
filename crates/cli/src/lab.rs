//! `thinstream lab`: arguments and printing.

mod beside;
mod capture;
mod compare;
mod fit;
mod list;
mod live;
mod networks;
mod overview;
mod pages;
mod report;
mod reproduce;
pub(crate) mod show;
mod work;
mod workloads;

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ::lab::engine::{self, Shard};
use ::lab::experiments::{self, Experiment};
use ::lab::plan::{NetworkName, Plan, PlanError, Size, on_network};
use ::lab::stored::{Manifest, Stored, Surroundings};
use ::report::section::PlanResults;
use base::Probability;
use clap::Subcommand;
use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use runner::archive::{Existing, Folder, merge};

use self::work::{Done, Work, unusable};
use crate::failure::Failure;
use crate::number::within;
use crate::output;
use crate::suggested::Suggested;

pub(crate) use self::pages::Page;
pub(crate) use self::work::run_made;

/// Run plans of experiments in virtual time.
///
/// A plan is a TOML file; those in experiments/ reproduce figures of papers. The same plan and seed
/// give the same numbers on any number of threads, in shards, or resumed.
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
    Fit(fit::Arguments),
    List(list::Arguments),
    Live(live::Arguments),
    Merge(Merge),
    Workloads(workloads::Arguments),
    Networks(networks::Arguments),
}

/// Run a plan, show its numbers with confidence intervals beside what the paper reports, and write
/// tables.
#[derive(clap::Args)]
struct Run {
    /// The plan, a TOML file, or the name of one that "lab list" shows.
    #[arg(value_parser = plan_or_file(), hide_possible_values = true)]
    plan: PathBuf,
    /// Folder for tables (CSV, Parquet), pictures, manifest and the journal of finished runs.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of threads; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = within(1..=4096_u64))]
    jobs: Option<u64>,
    /// Run only this share of the runs, such as 1/4; "lab merge" joins them.
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<Shard>,
    /// Keep finished runs in --out and do the rest; a page of --report is replaced.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Remove the results in --out first, and replace a page of --report. Without this or
    /// --resume, a folder with results is refused, and so is a page that is there already.
    #[arg(long, conflicts_with = "resume")]
    anew: bool,
    /// Report the number of seeds needed to know the plan's quantiles to within this share of
    /// them, such as 5%.
    #[arg(long, value_name = "SHARE", conflicts_with = "json")]
    precision: Option<Probability>,
    #[command(flatten)]
    captures: capture::Captures,
    #[command(flatten)]
    plan_as: PlanArguments,
    /// Write a page with figures, tables and the paper's numbers; each figure is also written
    /// beside it as SVG.
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    report: Option<PathBuf>,
    /// Print every number of every cell, and every row of the paper, instead of an overview that
    /// fits a screen.
    #[arg(long, short)]
    verbose: bool,
    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,
}

/// The greatest offset of seeds: readers of JSON know seeds up to 2^53 exactly.
const MOST_OFFSET: u64 = 1_000_000_000_000;

/// The size of a plan, and its seeds.
#[derive(Clone, Default, clap::Args)]
struct SizeArguments {
    /// Number of seeds of each cell, instead of the plan's.
    #[arg(long, value_name = "N", value_parser = within(1..=1_000_000_u64))]
    seeds: Option<u64>,
    /// Begin after this seed instead of with seed 1: the same plan with other random numbers.
    /// Results of different offsets are independent replications.
    #[arg(long, value_name = "N", default_value = "0", value_parser = within(0..=MOST_OFFSET))]
    seed_offset: u64,
    /// Use the paper's own durations and numbers of runs.
    #[arg(long, conflicts_with = "small")]
    full: bool,
    /// Use the size that tests run.
    #[arg(long)]
    small: bool,
}

/// Options to read a plan.
#[derive(Clone, Default, clap::Args)]
struct PlanArguments {
    #[command(flatten)]
    size: SizeArguments,
    /// Run the plan's flows over a network of the library ("lab networks" lists them) instead of
    /// its own.
    #[arg(long, value_name = "NAME", value_parser = crate::network::names())]
    network: Option<NetworkName>,
}

/// Join the finished runs of a plan's shards, and write the tables of all.
#[derive(clap::Args)]
struct Merge {
    /// Plan of the shards: a file, or a name that "lab list" shows.
    #[arg(value_parser = plan_or_file(), hide_possible_values = true)]
    plan: PathBuf,
    /// Folders of the shards.
    #[arg(required = true, value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// Folder for the joined results.
    #[arg(long, value_name = "DIR", required = true)]
    out: PathBuf,
    /// Remove the results in --out first.
    #[arg(long)]
    anew: bool,
    #[command(flatten)]
    plan_as: PlanArguments,
    /// Print every number of every cell, and every row of the paper, instead of an overview that
    /// fits a screen.
    #[arg(long, short)]
    verbose: bool,
    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Reads the path of a plan; shells complete the names of those that are built in.
fn plan_or_file() -> impl TypedValueParser<Value = PathBuf> {
    let words = || experiments::all().into_iter().map(|one| PossibleValue::new(one.name)).collect();
    Suggested { parser: PathBufValueParser::new(), words }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    studies::register();
    #[cfg(feature = "peers")]
    peers::register();
    match &arguments.command {
        Command::Run(arguments) => arguments.run(),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::List(arguments) => list::run(arguments),
        Command::Live(arguments) => live::run(arguments),
        Command::Merge(arguments) => arguments.run(),
        Command::Workloads(arguments) => workloads::run(arguments),
        Command::Networks(arguments) => networks::run(arguments),
    }
}

/// Reads a plan, in which these values of a key replace its own.
fn read_plan(
    path: &Path,
    plan_as: &PlanArguments,
    varied: Option<(&str, &[String])>,
) -> Result<Plan, Failure> {
    let name = path.display();
    let refused = |error: PlanError| Failure::usage(error.in_file(&name.to_string()));
    let text = match built_in(path) {
        Some(text) => text.to_owned(),
        None if path.exists() => runner::plan_file::read(path).map_err(refused)?,
        None => return Err(no_plan(path)),
    };
    let text = match plan_as.network {
        Some(name) => on_network(&text, name).map_err(refused)?,
        None => text,
    };
    plan_as.size.plan(&text, varied).map_err(refused)
}

/// There is neither a file nor a plan of a paper of this name.
fn no_plan(path: &Path) -> Failure {
    let name = path.display().to_string();
    let advice = match experiments::nearest(&name) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "\"thinstream lab list\" has the names of plans".to_owned(),
    };
    Failure::usage(format!("there is no file \"{name}\", and no plan is called so; {advice}"))
}

/// The plan of a paper of this name, if there is no such file: the command works outside of the
/// source tree, too.
fn built_in(path: &Path) -> Option<&'static str> {
    if path.exists() {
        return None;
    }
    let name = path.strip_prefix("experiments").unwrap_or(path).with_extension("");
    let is_it = |one: &Experiment| Path::new(one.name) == name;
    experiments::all().into_iter().find(is_it).map(|one| one.text)
}

impl SizeArguments {
    fn plan(&self, text: &str, varied: Option<(&str, &[String])>) -> Result<Plan, PlanError> {
        let chosen = match (self.full, self.small) {
            (true, _) => Size::Full,
            (_, true) => Size::Small,
            _ => Size::Normal,
        };
        Plan::parse_varied(text, chosen, self.seeds, varied)?.with_seed_offset(self.seed_offset)
    }
}

/// Name of the sources that the command was built from: results of different builds do not mix.
const BUILD: &str = env!("THINSTREAM_BUILD");

/// Facts for the manifest that the results do not contain.
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

impl Run {
    fn run(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let mut plan = read_plan(&self.plan, &self.plan_as, None)?;
        if self.precision.is_some() {
            plan.keep_distributions();
        }
        self.captures.check(&plan)?;
        let page = self.report.as_deref();
        let page = page.map(|path| Page::try_open(path, self.anew || self.resume)).transpose()?;
        let shard = self.shard.unwrap_or_default();
        let existing = Existing::of(self.resume, self.anew);
        let open = |path: &PathBuf| Folder::open(path, &plan, existing, BUILD);
        let folder = self.out.as_ref().map(open).transpose().map_err(unusable)?;
        let work = Work { plan: &plan, shard, jobs: self.jobs, what: "", command: typed() };
        let in_plan = |failure| match failure {
            Failure::Usage(what) => Failure::usage(format!("plan {}: {what}", self.plan.display())),
            other => other,
        };
        let Done { finished, stopped, mut failures } = work.run(folder).map_err(in_plan)?;
        let is_whole = stopped.is_none();
        failures.keep(stopped.map_or(Ok(()), Err));
        if is_whole || (self.out.is_none() && !finished.is_empty()) {
            failures.keep(show::results(&plan, &finished, show::Form::of(self.json, self.verbose)));
        }
        if !is_whole {
            return failures.finish();
        }
        if let Some(share) = self.precision {
            failures.keep(show::seeds_needed(&plan, &finished, share.as_f64()));
        }
        failures.keep(self.captures.write(&plan, self.out.as_deref()));
        if let Some(page) = page {
            let around = surroundings(began, typed());
            let manifest = Manifest::new(&plan, shard, engine::count(&finished), around);
            failures.keep(page.write(vec![PlanResults::new(Stored { plan, finished, manifest })]));
        }
        failures.finish()
    }
}

impl Merge {
    fn run(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let plan = read_plan(&self.plan, &self.plan_as, None)?;
        let existing = Existing::of(false, self.anew);
        let around = surroundings(began, typed());
        let finished = merge(&plan, &self.shards, &self.out, existing, around).map_err(unusable)?;
        let missing = plan.jobs().saturating_sub(engine::count(&finished));
        if missing > 0 {
            output::note(&format!("{missing} of {} runs are in none of the shards", plan.jobs()));
        }
        show::results(&plan, &finished, show::Form::of(self.json, self.verbose))
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;

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
            "run p.toml --seeds 3 --jobs 2 --out d --shard 1/2 --resume --precision 5% --full",
            "run p.toml --out d --capture thin:2 --capture thin --capture-seeds 1,3 --capture-where a.b=1",
            "compare p.toml --key a.b one other --seeds 3 --jobs 2 --quantiles 0.5,0.9 --small",
            "merge p.toml d e --out f --seeds 3 --anew",
            "list --json",
            "networks --json",
            "run p.toml --network lte --small --seed-offset 1000",
            "compare p.toml --network 5g-drive",
            "fit p.toml --tries 9 --choice 2 --jobs 2 --seeds 3 --small --out f --json",
        ] {
            let line = parse::<Arguments>(&typed.split(' ').collect::<Vec<_>>());
            assert!(line.is_ok(), "{typed}: {}", line.err().unwrap());
        }
    }
}
