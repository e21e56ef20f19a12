//! `thinstream lab report`: a page of results that are there already.

use std::path::{Path, PathBuf};

use ::lab::engine;
use ::lab::experiments::natural_order;
use ::lab::stored::{Manifest, Stored};
use ::report::document::Comparison;
use ::report::section::{PlanResults, comparisons};
use runner::archive::read;

use super::pages::Page;
use crate::failure::Failure;
use crate::output;

/// Make a page of folders of results: figures, the paper beside them, what was set, and how to do
/// it again.
///
/// Folders are searched in depth. Shards of one plan are joined. The page needs no network; each of
/// its figures is written beside it as SVG, too.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders written by "lab run --out" or "lab reproduce".
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// File of the page; Markdown, if its name ends with .md.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Replace a page that is there already; without it such a file is refused.
    #[arg(long)]
    anew: bool,
    /// Fail if a row differs from the paper's number and has no note that says why.
    #[arg(long)]
    need_notes: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let page = Page::try_open(&arguments.out, arguments.anew)?;
    let mut paths = Vec::new();
    for folder in &arguments.folders {
        let before = paths.len();
        collect(folder, &mut paths)
            .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
        if paths.len() == before {
            return Err(Failure::usage(format!(
                "{}: no manifest.json in it or below; give a folder that \"thinstream lab run PLAN --out DIR\" wrote",
                folder.display()
            )));
        }
    }
    let mut all: Vec<Stored> = Vec::new();
    for path in paths {
        let one = read(&path).map_err(Failure::usage)?;
        match all.iter_mut().find(|other| is_same_plan(&other.manifest, &one.manifest)) {
            Some(other) => join(other, one),
            None => all.push(one),
        }
    }
    for one in &all {
        let missing = one.plan.jobs().saturating_sub(engine::count(&one.finished));
        if missing > 0 {
            output::note(&format!(
                "{}: {missing} of {} runs are in none of the folders",
                one.plan.base.title,
                one.plan.jobs()
            ));
        }
    }
    let all: Vec<PlanResults> = all.into_iter().map(PlanResults::new).collect();
    let bare: Vec<String> = all.iter().flat_map(without_note).collect();
    page.write(all)?;
    if arguments.need_notes && !bare.is_empty() {
        bare.iter().for_each(|row| output::note(row));
        let what = "rows are not the paper's number, and their plans have no note that says why";
        return Err(Failure::check(format!("{} {what}", bare.len())));
    }
    Ok(())
}

/// Rows that want a note and have none, in words.
fn without_note(one: &PlanResults) -> Vec<String> {
    let rows = comparisons(&one.plan, &one.finished).into_iter();
    let is_bare = |row: &Comparison| row.agreement().wants_note() && row.note.is_none();
    rows.filter(is_bare)
        .map(|row| {
            let Comparison { measure, case, here, verdict, .. } = &row;
            let paper = row.paper.as_deref().unwrap_or("-");
            format!("{}: {measure} ({case}): paper {paper}, here {here}: {verdict}", one.id)
        })
        .collect()
}

/// Whether two folders are shards of one plan: the same runs, and the same words about them.
fn is_same_plan(one: &Manifest, other: &Manifest) -> bool {
    one.fingerprint == other.fingerprint && one.plan == other.plan
}

/// Adds the finished runs of another shard.
fn join(one: &mut Stored, other: Stored) {
    one.finished.extend(other.finished);
    engine::conclude(&one.plan, &mut one.finished);
    one.manifest.finished = engine::count(&one.finished);
    let spent = one.manifest.wall_s.zip(other.manifest.wall_s);
    one.manifest.wall_s = spent.map(|(one, other)| one + other);
}

/// Folders with a manifest, in natural order.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if folder.join("manifest.json").is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    let mut inner = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            inner.push(path);
        }
    }
    inner.sort_by(|one, other| natural_order(&one.to_string_lossy(), &other.to_string_lossy()));
    inner.iter().try_for_each(|path| collect(path, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::lab::engine::{Shard, run_all};
    use ::lab::plan::{Plan, Size};

    const PLAN: &str = r#"
title = "A walk"
paper = "rto-wlan"
study = "rto-wlan"
[run]
seeds = 2
[[expect]]
measure = "delay.lowest.alpha"
value = 3
source = "invented"
[[expect]]
measure = "delay.lowest.alpha"
value = 4
source = "invented"
note = "alphas end at 1"
[[expect]]
measure = "delay.lowest.alpha"
below = 2
source = "invented"
"#;

    #[test]
    fn a_row_that_differs_without_a_note_is_named_and_no_other() {
        studies::register();
        let plan = Plan::parse(PLAN, Size::Normal, None).unwrap();
        let finished = run_all(&plan).unwrap();
        let manifest = Manifest::new(&plan, Shard::default(), 2, Default::default());
        let found = without_note(&PlanResults::new(Stored { plan, finished, manifest }));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a-walk: delay.lowest.alpha (): paper 3, here 0"));
    }

    #[test]
    fn shards_are_of_the_same_words_too() {
        studies::register();
        let manifest = |text: &str| {
            let plan = Plan::parse(text, Size::Normal, None).unwrap();
            Manifest::new(&plan, Shard::default(), 0, Default::default())
        };
        let (one, other) = (manifest(PLAN), manifest(&PLAN.replace("A walk", "Another walk")));
        assert_eq!(one.fingerprint, other.fingerprint);
        assert!(is_same_plan(&one, &one.clone()) && !is_same_plan(&one, &other));
    }
}
