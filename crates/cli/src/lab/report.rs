//! `thinstream lab report`: a page of results that are there already.

use std::path::{Path, PathBuf};

use ::lab::engine;
use ::lab::experiments::natural_order;
use ::lab::report::section::Study;
use ::lab::results::{Stored, read};

use super::pages;
use crate::failure::Failure;
use crate::output;

/// Make a page of folders of results: figures, the paper beside them, what was set, and how to do it again.
///
/// Folders are searched in depth. Shards of one plan are joined. The page needs no network; each of its figures is
/// written beside it as SVG, too.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders that "lab run --out" or "lab reproduce" wrote.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The page; Markdown, if its name ends with .md.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
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
        let fingerprint = |of: &Stored| of.manifest.fingerprint.clone();
        match all.iter_mut().find(|other| fingerprint(other) == fingerprint(&one)) {
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
    pages::write(&arguments.out, all.into_iter().map(Study::new).collect())
}

/// What two shards finished, together.
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
