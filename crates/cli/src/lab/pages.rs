//! Pages of results: their names, and the places of their pictures.

use std::fs;
use std::path::{Path, PathBuf};

use ::report::markdown::to_markdown;
use ::report::section::{PlanResults, document};
use ::report::svg::to_svg;

use crate::failure::Failure;
use crate::file::OutFile;
use crate::output;

/// A page to be written, with a folder of its figures beside it, unless it goes to a device or a
/// pipe.
pub(crate) struct Page {
    file: OutFile,
    figures: Option<PathBuf>,
}

impl Page {
    /// Tries whether the page can be written, and refuses one that is there already unless it is to
    /// be made `anew`; changes nothing.
    pub(crate) fn try_open(file: &Path, anew: bool) -> Result<Page, Failure> {
        let figures = file.parent().unwrap_or(Path::new("")).join("figures");
        let file = OutFile::try_open(file, "page", anew)?;
        match fs::metadata(&figures) {
            _ if file.is_special() => Ok(Page { file, figures: None }),
            Ok(found) if !found.is_dir() => Err(Failure::file(&figures, "figures go to a folder")),
            _ => Ok(Page { file, figures: Some(figures) }),
        }
    }

    /// Writes the page of these results, and its figures; a file that ends with .md is Markdown.
    pub(crate) fn write(&self, mut all: Vec<PlanResults>) -> Result<(), Failure> {
        tell_apart(&mut all);
        let (title, about) = match all.as_slice() {
            [one] => (one.plan.base.title.clone(), one.plan.base.about.clone()),
            several => ("Paper and laboratory".to_owned(), about(several)),
        };
        let (document, problems) = document(&title, &about, &all);
        problems.iter().for_each(|problem| output::note(problem));
        let file = self.file.path();
        let is_markdown = file.extension().is_some_and(|ending| ending == "md");
        let text = if is_markdown { to_markdown(&document, "figures") } else { document.to_page() };
        self.file.write_silently(&text)?;
        let Some(folder) = &self.figures else { return Ok(()) };
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        for figure in document.sections.iter().flat_map(|section| &section.figures) {
            let path = folder.join(format!("{}.svg", figure.name()));
            fs::write(&path, to_svg(figure)).map_err(|error| Failure::file(&path, error))?;
        }
        output::note(&format!("{} has the page, {} its figures", file.display(), folder.display()));
        Ok(())
    }
}

fn about(all: &[PlanResults]) -> String {
    let papers: std::collections::BTreeSet<_> =
        all.iter().filter_map(|one| one.plan.base.paper.as_deref()).collect();
    let of = if papers.is_empty() {
        String::new()
    } else {
        format!(" of {}", papers.into_iter().collect::<Vec<_>>().join(", "))
    };
    format!(
        "{} plans{of}: what was measured here, with 95 % intervals, beside what the papers report.",
        all.len()
    )
}

/// Two plans of one name get numbers behind it.
fn tell_apart(all: &mut [PlanResults]) {
    for place in 1..all.len() {
        let (before, rest) = all.split_at_mut(place);
        let is_taken = |id: &str| before.iter().any(|one| one.id == id);
        let id = rest[0].id.clone();
        let other = (2..).map(|number| format!("{id}-{number}")).find(|one| !is_taken(one));
        if is_taken(&id) {
            rest[0].id = other.unwrap_or(id);
        }
    }
}
