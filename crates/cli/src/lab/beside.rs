//! Plans of an earlier page in a folder of reproductions: a page that replaces it has them, too, so
//! that none is lost.

use std::fs;
use std::path::Path;

use ::lab::experiments::{self, Experiment};
use ::report::document::sections_of_page;
use ::report::section::{PlanResults, slug};
use runner::archive::read;

use crate::failure::Failure;
use crate::output;

/// Plans of the page that stands in the folder, other than those that are chosen now.
pub(super) struct Beside(Vec<PlanResults>);

impl Beside {
    /// Reads the results of these plans below `out`.
    ///
    /// # Errors
    /// When the file is no page, or has a plan whose results are not below `out`: a new page would
    /// lose it.
    pub(super) fn read(out: &Path, file: &Path, chosen: &[Experiment]) -> Result<Beside, Failure> {
        if !file.is_file() {
            return Ok(Beside(Vec::new()));
        }
        let lost = |what: &str| {
            Failure::usage(format!(
                "{} would be lost: it {what}; move it, or give another --out",
                file.display()
            ))
        };
        let text = fs::read_to_string(file).map_err(|error| Failure::file(file, error))?;
        let ids = sections_of_page(&text).ok_or_else(|| lost("is no page of results"))?;
        let others = ids.into_iter().filter(|id| chosen.iter().all(|one| slug(one.name) != *id));
        let kept = others.map(|id| {
            let known = experiments::all().into_iter().find(|one| slug(one.name) == id);
            let stored = known.and_then(|one| read(&out.join(one.name)).ok());
            let one = stored.map(PlanResults::new).filter(|one| one.id == id);
            one.ok_or_else(|| {
                lost(&format!("has \"{id}\", whose results are not in {}", out.display()))
            })
        });
        kept.collect::<Result<_, _>>().map(Beside)
    }

    /// All plans of the new page, those of the earlier one behind the others.
    pub(super) fn join(self, mut plans: Vec<PlanResults>) -> Vec<PlanResults> {
        if !self.0.is_empty() {
            let names: Vec<&str> = self.0.iter().map(|one| one.id.as_str()).collect();
            output::note(&format!("the page keeps what it had already: {}", names.join(", ")));
        }
        plans.extend(self.0);
        plans
    }
}
