//! `thinstream lab reproduce`: the papers' figures and tables, from plans that are part of the
//! command.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use ::lab::engine::Shard;
use ::lab::experiments::{self, Experiment};
use ::lab::plan::Plan;
use ::lab::stored::{Manifest, Stored};
use ::report::document::Comparison;
use ::report::section::{PlanResults, comparisons};
use ::report::tally::counts;
use clap::builder::{PossibleValue, StringValueParser};
use runner::archive::{Existing, Folder, read};
use serde_json::json;

use super::beside::Beside;
use super::pages::Page;
use super::work::{Done, Work, stop_on_request, unusable};
use super::{BUILD, SizeArguments, list, show, surroundings};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::number::within;
use crate::output;
use crate::suggested::Suggested;

/// Names of the papers and of their plans, and `all`.
fn plans() -> Vec<PossibleValue> {
    let mut names = vec!["all"];
    for plan in experiments::all() {
        let paper = plan.name.split_once('/').map_or(plan.name, |(paper, _)| paper);
        for name in [paper, plan.name] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.into_iter().map(PossibleValue::new).collect()
}

/// Reproduce figures and tables of papers: measure again what they report, and show both side by
/// side.
///
/// The plans are part of the command. Without --full, durations and numbers of runs are smaller
/// than the papers', as each plan says. What is finished in --out stays so: called again, it does
/// the rest.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A paper (sctp-thin), a plan (sctp-thin/fig8a), a figure or table (8a, "rto-wlan/table 1"),
    /// or all; without any, the list of plans.
    #[arg(value_name = "PAPER|FIGURE|all", value_parser = Suggested { parser: StringValueParser::new(), words: plans }, hide_possible_values = true)]
    what: Vec<String>,
    /// Folder for tables, pages and figures.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Number of threads; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = within(1..=4096_u64))]
    jobs: Option<u64>,
    /// Run only this share of the runs, such as 1/4; "lab report DIR..." makes a page of all
    /// shares.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    size: SizeArguments,
    /// Keep finished runs in --out and do the rest: the default.
    #[arg(long)]
    resume: bool,
    /// Remove the results of these plans in --out first, including those of another build or of
    /// other numbers of runs, which are kept otherwise.
    #[arg(long, conflicts_with = "resume")]
    anew: bool,
    /// Only list the plans.
    #[arg(long)]
    list: bool,
    /// Print the table of the paper's and our numbers as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut chosen: Vec<Experiment> = Vec::new();
    for wanted in &arguments.what {
        let found = experiments::find(wanted).map_err(Failure::usage)?;
        chosen.extend(found.into_iter().filter(|one| !chosen.contains(one)).collect::<Vec<_>>());
    }
    if arguments.list || chosen.is_empty() {
        let listed = if chosen.is_empty() { experiments::all() } else { chosen };
        let listed: Vec<_> = listed.iter().map(list::listed).collect();
        return output::print(&list::table(&listed));
    }
    arguments.reproduce(&chosen)
}

impl Arguments {
    fn reproduce(&self, chosen: &[Experiment]) -> Result<(), Failure> {
        let began = Instant::now();
        let page = self.shard.is_none().then(|| self.page(chosen)).transpose()?;
        let mut work = Vec::new();
        for one in chosen {
            let plan = self
                .size
                .plan(one.text, None)
                .map_err(|error| Failure::usage(format!("plan {}: {error}", one.name)))?;
            let folder = self.out.join(one.name);
            Folder::check(&folder, &plan, self.existing(), BUILD).map_err(unusable)?;
            work.push((*one, plan, folder));
        }
        let (mut plans, mut failures) = (Vec::new(), Failures::default());
        for (place, (one, plan, folder)) in work.iter().enumerate() {
            let what = format!("{} ({} of {}): ", one.name, place + 1, chosen.len());
            let results = self.one(one, plan, folder, &what, &mut failures);
            let results = results.map_err(|failure| match failure {
                Failure::Usage(why) => {
                    Failure::check(format!("{} is not reproduced: {why}", one.name))
                }
                other => other,
            });
            if let Some(results) = failures.keep(results) {
                if !self.json && self.shard.is_none() {
                    failures.keep(output::print(&told(one, &results)));
                }
                plans.push(results);
            }
            if stop_on_request().load(Ordering::Relaxed) {
                return failures.finish();
            }
        }
        failures.keep(self.conclude(plans, page, began));
        failures.finish()
    }

    /// The page of all plans, in the folder, which is made for it, and what the page that stands
    /// there has beside them.
    fn page(&self, chosen: &[Experiment]) -> Result<(Page, Beside), Failure> {
        std::fs::create_dir_all(&self.out).map_err(|error| Failure::file(&self.out, error))?;
        let file = self.out.join("report.html");
        let page = Page::try_open(&file, true)?;
        Ok((page, Beside::read(&self.out, &file, chosen)?))
    }

    /// The choice for results in a plan's folder: runs of this plan and build stay, and others are
    /// removed only with `--anew`.
    fn existing(&self) -> Existing {
        if self.anew { Existing::Replace } else { Existing::Resume }
    }

    /// Runs one plan in its folder.
    fn one(
        &self,
        one: &Experiment,
        plan: &Plan,
        path: &Path,
        what: &str,
        failures: &mut Failures,
    ) -> Result<PlanResults, Failure> {
        let began = Instant::now();
        let command = self.command(one.name);
        let spent = read(path).ok().filter(|_| !self.anew).and_then(|one| one.manifest.wall_s);
        let folder = Folder::open(path, plan, self.existing(), BUILD).map_err(unusable)?;
        let shard = self.shard.unwrap_or_default();
        let work = Work { plan, shard, jobs: self.jobs, what, command: command.clone() };
        let Done { finished, stopped, failures: of_work } = work.run(Some(folder))?;
        failures.extend(of_work);
        stopped.map_or(Ok(()), Err)?;
        let mut around = surroundings(began, command);
        around.wall_s = around.wall_s.map(|now| now + spent.unwrap_or(0.0));
        let manifest = Manifest::new(plan, shard, ::lab::engine::count(&finished), around);
        Ok(PlanResults::new(Stored { plan: plan.clone(), finished, manifest }))
    }

    /// The command that makes one of them again.
    fn command(&self, name: &str) -> String {
        let SizeArguments { seeds, seed_offset, full, small } = &self.size;
        let mut text = format!("thinstream lab reproduce {name}");
        for (flag, set) in [(" --full", *full), (" --small", *small)] {
            text += if set { flag } else { "" };
        }
        let numbers =
            [("--seeds", *seeds), ("--seed-offset", Some(*seed_offset).filter(|one| *one > 0))];
        for (flag, number) in numbers {
            text += &number.map_or(String::new(), |number| format!(" {flag} {number}"));
        }
        text
    }

    /// The page, and a word on all of them.
    fn conclude(
        &self,
        plans: Vec<PlanResults>,
        page: Option<(Page, Beside)>,
        began: Instant,
    ) -> Result<(), Failure> {
        if let Some(shard) = self.shard {
            output::note(&format!(
                "share {shard} is done; \"thinstream lab report DIR...\" makes a page of the folders of all shares"
            ));
            return Ok(());
        }
        let rows: Vec<(String, Vec<Comparison>)> = plans
            .iter()
            .map(|results| (results.id.clone(), comparisons(&results.plan, &results.finished)))
            .collect();
        if self.json {
            let list = rows.iter().map(|(id, rows)| json!({ "plan": id, "comparisons": rows }));
            let text = serde_json::to_string_pretty(&list.collect::<Vec<_>>());
            output::print(&text.unwrap_or_default())?;
        }
        let all = rows.iter().flat_map(|(_, rows)| rows);
        output::note(&format!(
            "{} plans in {:.0} s: {}",
            plans.len(),
            began.elapsed().as_secs_f64(),
            counts(all)
        ));
        match page.filter(|_| !plans.is_empty()) {
            Some((page, beside)) => page.write(beside.join(plans)),
            None => Ok(()),
        }
    }
}

/// A plan's name and title, and its table paper/here.
fn told(one: &Experiment, results: &PlanResults) -> String {
    let rows = comparisons(&results.plan, &results.finished);
    let seconds = results.manifest.wall_s.unwrap_or(0.0);
    format!(
        "{}: {} ({} runs, {seconds:.0} s; {})\n{}",
        one.name,
        results.plan.base.title,
        results.manifest.finished,
        counts(rows.iter()),
        show::paper(&rows)
    )
}
