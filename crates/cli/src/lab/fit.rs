//! `thinstream lab fit`: the setting of a plan's unknowns with which its numbers are the paper's.

use std::path::PathBuf;
use std::time::Instant;

use ::lab::fit::{Fit, Residual};
use ::lab::plan::{Plan, value_text};
use ::report::four_digits;
use results::text_table::Table;
use runner::fit::{FitError, Search, Searched};
use serde_json::{Value, json};

use super::work::stop_on_request;
use super::{PlanArguments, processors, read_plan};
use crate::failure::Failure;
use crate::file::OutFile;
use crate::live::Progress;
use crate::number::within;
use crate::output;

/// Search the ranges of a plan's unknown settings for one with which its numbers are those of the
/// paper.
///
/// The plan's section fit.unknown names keys and ranges; every row "expect" with a value is a
/// number to meet. The answer is a setting with which all numbers are the paper's within their
/// rounding, or the best of those tried, with how far each number is off. The same plan, --tries
/// and --choice give the same on any number of threads. That none was found does not prove that
/// there is none.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The plan, a TOML file, or the name of one that "lab list" shows.
    #[arg(value_parser = super::plan_or_file(), hide_possible_values = true)]
    plan: PathBuf,
    /// Number of settings to try; fewer if one gives all numbers.
    #[arg(long, value_name = "N", default_value = "600", value_parser = within(1..=1_000_000_u64))]
    tries: u64,
    /// Seed of the choice of settings; the runs of each have the plan's seeds.
    #[arg(long, value_name = "N", default_value = "1", value_parser = within(0..=1_000_000_u64))]
    choice: u64,
    /// Number of threads; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = within(1..=4096_u64))]
    jobs: Option<u64>,
    #[command(flatten)]
    plan_as: PlanArguments,
    /// Write the plan with the best setting, without figures, targets and rows that the fit does
    /// not use; "lab run" shows all its numbers.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a plan of --out that is there already; without it such a file is refused.
    #[arg(long, requires = "out")]
    anew: bool,
    /// Print the answer as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let began = Instant::now();
    let plan = read_plan(&arguments.plan, &arguments.plan_as, None)?;
    let refused = |error: ::lab::plan::PlanError| {
        Failure::usage(error.in_file(&arguments.plan.display().to_string()))
    };
    let fit = Fit::of(&plan).map_err(refused)?;
    // Opened first: a search is too long to end without a place for its result.
    let out = arguments.out.as_deref().map(|path| OutFile::try_open(path, "plan", arguments.anew));
    let out = out.transpose()?;
    let mut progress = Progress::new();
    let search = Search {
        fit: &fit,
        tries: arguments.tries,
        seed: arguments.choice,
        threads: arguments.jobs.map_or_else(processors, |jobs| jobs as usize),
        stopped: stop_on_request(),
    };
    let searched = search.run(|tried, lowest| {
        let seconds = began.elapsed().as_secs_f64();
        progress.show(&format!(
            "{tried} of {} settings, lowest cost {}, {seconds:.0} s",
            arguments.tries,
            four_digits(lowest)
        ));
    });
    drop(progress);
    let searched = searched.map_err(|error| match error {
        FitError::Stopped => Failure::Interrupted(format!("interrupted: {error}")),
        FitError::NoneMakesSense(_) | FitError::Engine(_) => {
            Failure::usage(format!("plan {}: {error}", arguments.plan.display()))
        }
    })?;
    if let Some(out) = out {
        let best = fit.plan(&searched.best.setting).map_err(refused)?;
        out.write_silently(&best.text)?;
    }
    let told = Told { plan: &plan, fit: &fit, searched: &searched, began };
    match arguments.json {
        true => output::print(&serde_json::to_string_pretty(&told.to_json()).unwrap_or_default())?,
        false => output::print(&told.text())?,
    }
    match searched.stopped {
        true => Err(Failure::Interrupted(format!(
            "interrupted: {} of {} settings tried",
            searched.tried, arguments.tries
        ))),
        false => Ok(()),
    }
}

/// The answer, to be printed.
struct Told<'a> {
    plan: &'a Plan,
    fit: &'a Fit<'a>,
    searched: &'a Searched,
    began: Instant,
}

impl Told<'_> {
    fn is_met(&self) -> bool {
        self.searched.best.residuals.iter().all(Residual::is_within_rounding)
    }

    fn count(&self, is_it: fn(&Residual) -> bool) -> usize {
        self.searched.best.residuals.iter().filter(|one| is_it(one)).count()
    }

    fn text(&self) -> String {
        let Searched { best, tried, refused, .. } = self.searched;
        let all = best.residuals.len();
        let answer = match self.is_met() {
            true => format!("This setting gives all {all} numbers within their rounding."),
            false => format!(
                "None was found that gives all {all} numbers within their rounding. The best gives {} within their rounding, and {} \
                 within the tolerance of their rows.",
                self.count(Residual::is_within_rounding),
                self.count(Residual::is_within_room)
            ),
        };
        let mut settings = Table::new(3);
        settings.row(["unknown".to_owned(), "searched".to_owned(), "best".to_owned()]);
        for ((key, unknown), (_, value)) in self.fit.unknowns().zip(&best.setting.0) {
            settings.row([key.clone(), unknown.to_string(), value_text(value)]);
        }
        let mut numbers = Table::new(5);
        numbers.row(["number", "paper", "here", "off by", ""].map(str::to_owned));
        best.residuals.iter().for_each(|one| numbers.row(row(one)));
        let refused = match refused {
            0 => String::new(),
            1 => "; 1 more contradicts itself".to_owned(),
            more => format!("; {more} more contradict themselves"),
        };
        format!(
            "{}\n{answer}\n\n{settings}\n{numbers}\n{tried} settings, {} each, in {:.0} s{refused}.\n",
            self.plan.base.title,
            match self.runs() {
                1 => "a run".to_owned(),
                runs => format!("{runs} runs"),
            },
            self.began.elapsed().as_secs_f64()
        )
    }

    /// Number of runs that one setting of the unknowns takes.
    fn runs(&self) -> u64 {
        self.fit.plan(&self.searched.best.setting).map_or(0, |plan| plan.jobs())
    }

    fn to_json(&self) -> Value {
        let Searched { best, tried, refused, stopped } = self.searched;
        let unknowns = self.fit.unknowns().zip(&best.setting.0).map(|((key, unknown), (_, value))| {
            json!({ "key": key, "searched": unknown.to_string(), "best": value_text(value) })
        });
        let numbers = best.residuals.iter().map(|one| {
            json!({
                "number": one.what,
                "unit": one.unit,
                "paper": one.paper.number,
                "stated": one.paper.text,
                "here": one.here,
                "rounding": one.rounding,
                "tolerance": one.room,
                "within_rounding": one.is_within_rounding(),
                "within_tolerance": one.is_within_room(),
            })
        });
        json!({
            "title": self.plan.base.title,
            "found": self.is_met(),
            "cost": best.cost,
            "tried": tried,
            "refused": refused,
            "stopped": stopped,
            "seconds": self.began.elapsed().as_secs_f64(),
            "unknowns": unknowns.collect::<Vec<_>>(),
            "numbers": numbers.collect::<Vec<_>>(),
        })
    }
}

/// A number beside the paper's.
fn row(one: &Residual) -> [String; 5] {
    let unit = if one.unit.is_empty() { String::new() } else { format!(" {}", one.unit) };
    let here = one
        .here
        .map_or_else(|| "not measured".to_owned(), |here| format!("{}{unit}", four_digits(here)));
    let off = match (one.distance(), one.paper.number.abs()) {
        (Some(distance), paper) if paper > 0.0 => format!("{:.1} %", 100.0 * distance / paper),
        (Some(distance), _) => format!("{}{unit}", four_digits(distance)),
        (None, _) => String::new(),
    };
    let met = match (one.is_within_rounding(), one.is_within_room()) {
        (true, _) => "within rounding",
        (false, true) => "within tolerance",
        (false, false) => "off",
    };
    [one.what.clone(), format!("{}{unit}", one.paper.text), here, off, met.to_owned()]
}
