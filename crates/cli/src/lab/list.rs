//! `thinstream lab list`: the plans that there are.

use std::path::{Path, PathBuf};

use ::lab::experiments::{self, Experiment};
use ::lab::plan::{Plan, PlanError, Size};
use results::text_table::Table;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// List plans: those of the papers, which are part of the command, or those in a folder.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Folder in which to look for plans, in depth.
    folder: Option<PathBuf>,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

/// A plan with its name, or the error in it.
pub(super) type Listed = (String, Result<Plan, PlanError>);

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plans = match &arguments.folder {
        Some(folder) => in_folder(folder)?,
        None => built_in(),
    };
    if let (true, Some(folder)) = (plans.is_empty(), &arguments.folder) {
        let folder = folder.display();
        return Err(Failure::usage(format!("no plan, a file that ends in .toml, in {folder}")));
    }
    match arguments.json {
        true => {
            let list: Vec<Value> = plans.iter().map(to_json).collect();
            output::print(&serde_json::to_string_pretty(&list).unwrap_or_default())
        }
        false => output::print(&table(&plans)),
    }
}

fn built_in() -> Vec<Listed> {
    experiments::all().iter().map(listed).collect()
}

/// A plan that is part of the command.
pub(super) fn listed(one: &Experiment) -> Listed {
    (one.name.to_owned(), Plan::parse(one.text, Size::Normal, None))
}

fn in_folder(folder: &Path) -> Result<Vec<Listed>, Failure> {
    let mut found = Vec::new();
    collect(folder, &mut found)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    found.sort_by(|one, other| {
        experiments::natural_order(&one.to_string_lossy(), &other.to_string_lossy())
    });
    let parse = |path: &PathBuf| {
        runner::plan_file::read(path).and_then(|text| Plan::parse(&text, Size::Normal, None))
    };
    Ok(found.iter().map(|path| (path.display().to_string(), parse(path))).collect())
}

/// Plans below a folder: files that end with `.toml`.
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

/// Names, figures of papers, and titles, in columns.
pub(super) fn table(plans: &[Listed]) -> String {
    let mut table = Table::new(3);
    for (name, plan) in plans {
        match plan {
            Ok(plan) => {
                let part = plan.base.reproduces.as_deref().unwrap_or("-");
                let runs = plan.jobs();
                let unit = if runs == 1 { "run" } else { "runs" };
                let title = format!("{} ({runs} {unit})", plan.base.title);
                table.row([name, part, title.as_str()]);
            }
            Err(error) => table.row([name, &format!("cannot be run: {}", first_line(error))]),
        }
    }
    table.to_string()
}

fn first_line(error: &PlanError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn to_json((name, plan): &Listed) -> Value {
    match plan {
        Ok(plan) => json!({
            "name": name,
            "title": plan.base.title,
            "paper": plan.base.paper,
            "reproduces": plan.base.reproduces,
            "runs": plan.jobs(),
            "error": null,
        }),
        Err(error) => json!({
            "name": name,
            "title": null,
            "paper": null,
            "reproduces": null,
            "runs": null,
            "error": first_line(error),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_of_the_papers_are_listed_without_their_files_in_aligned_columns() {
        studies::register();
        let plans = built_in();
        assert!(plans.len() >= 40 && plans.iter().all(|(_, plan)| plan.is_ok()));
        let text = table(&plans);
        let starts = plans
            .iter()
            .zip(text.lines())
            .map(|((_, plan), line)| line.find(&plan.as_ref().unwrap().base.title).unwrap());
        let starts: std::collections::BTreeSet<usize> = starts.collect();
        assert_eq!(starts.len(), 1, "{text}");
        assert!(to_json(&plans[0])["runs"].is_u64());
    }
}
