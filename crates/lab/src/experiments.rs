//! The plans of the papers, embedded from `experiments/` when the crate was built.

use std::collections::BTreeSet;

/// Path below `experiments/`, and content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// A plan of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Path of the file without the ending: `sctp-thin/fig8a`.
    pub name: &'static str,
    /// Text of the plan, in TOML.
    pub text: &'static str,
}

/// The reason why a name does not stand for plans.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownExperiment {
    /// No plan, paper or figure has the name.
    #[error("nothing is called \"{0}\"; there is all, {names}", names = list())]
    Unknown(String),
    /// Several papers have a figure of that number.
    #[error("\"{wanted}\" could be {}; say which", .names.join(" or "))]
    Ambiguous {
        /// Name as the user gave it.
        wanted: String,
        /// Plans that have the name.
        names: Vec<&'static str>,
    },
}

/// All of them, by name: figure 9 before figure 10.
pub fn all() -> Vec<Experiment> {
    let plans = FILES.iter().filter_map(|(path, bytes)| {
        let name = path.strip_suffix(".toml")?;
        Some(Experiment { name, text: core::str::from_utf8(bytes).ok()? })
    });
    let mut all: Vec<Experiment> = plans.collect();
    all.sort_by(|one, other| natural_order(one.name, other.name));
    all
}

/// The name of a plan that a misspelt `name` is nearest to, if one is near enough.
pub fn nearest(name: &str) -> Option<&'static str> {
    let names: Vec<&str> = all().into_iter().map(|one| one.name).collect();
    crate::toml_text::nearest(name, &names)
}

/// Order by letters, but of numbers by their size.
pub fn natural_order(one: &str, other: &str) -> core::cmp::Ordering {
    let pieces = |text: &str| {
        let mut pieces: Vec<(String, u64)> = Vec::new();
        for part in text.chars() {
            match (part.to_digit(10), pieces.last_mut()) {
                (Some(digit), Some((_, number))) if *number < u64::MAX / 20 => {
                    // Counted from one, so that nothing comes before 0.
                    let read = number.saturating_sub(1);
                    *number = read * 10 + u64::from(digit) + 1;
                }
                (None, Some((word, 0))) => word.push(part),
                _ => pieces.push((part.to_string(), 0)),
            }
        }
        pieces
    };
    pieces(one).cmp(&pieces(other))
}

impl Experiment {
    /// The paper's part of the name.
    pub fn paper(&self) -> &'static str {
        self.name.split_once('/').map_or(self.name, |(paper, _)| paper)
    }

    /// The part of the name after the paper's.
    pub fn file(&self) -> &'static str {
        self.name.split_once('/').map_or(self.name, |(_, file)| file)
    }

    /// The figures and tables that it reproduces, as text: `8a`, `table 1`.
    fn parts(&self) -> Vec<String> {
        let Ok(table) = self.text.parse::<toml::Table>() else { return Vec::new() };
        let told = table.get("reproduces").and_then(toml::Value::as_str).unwrap_or_default();
        told.split(',').flat_map(|part| spread(&plain(part))).collect()
    }
}

/// All numbers of a span such as `1 to 6` or `11-12`; others as they are.
fn spread(part: &str) -> Vec<String> {
    let ends = part.split_once('-').or_else(|| part.split_once(" to "));
    let span = ends.and_then(|(from, to)| Some(from.parse::<u32>().ok()?..=to.parse().ok()?));
    match span {
        Some(span) => span.take(100).map(|number| number.to_string()).collect(),
        None => vec![part.to_owned()],
    }
}

/// `Fig. 8a`, `figure 8a`, `fig8a` and `8A` are all `8a`.
fn plain(part: &str) -> String {
    let part = part.trim().to_lowercase();
    let rest = ["figure", "fig.", "fig"].into_iter().find_map(|word| part.strip_prefix(word));
    rest.unwrap_or(&part).trim().to_owned()
}

/// The plans that a name stands for: `all`, a paper (`sctp-thin`), a plan (`sctp-thin/fig8a`,
/// `fig8a`), or a figure or table (`8a`, `sctp-thin/8a`, `table 1`).
///
/// # Errors
/// When nothing has that name, or figures of several papers have it.
pub fn find(wanted: &str) -> Result<Vec<Experiment>, UnknownExperiment> {
    if wanted == "all" {
        return Ok(all());
    }
    let of_paper: Vec<_> = all().into_iter().filter(|one| one.paper() == wanted).collect();
    if !of_paper.is_empty() {
        return Ok(of_paper);
    }
    if let Some(one) = all().into_iter().find(|one| one.name == wanted) {
        return Ok(vec![one]);
    }
    let (paper, part) = match wanted.split_once('/') {
        Some((paper, part)) => (Some(paper), plain(part)),
        None => (None, plain(wanted)),
    };
    let is_it = |one: &Experiment| {
        paper.is_none_or(|paper| one.paper() == paper)
            && (plain(one.file()) == part || one.parts().contains(&part))
    };
    let found: Vec<_> = all().into_iter().filter(is_it).collect();
    let papers: BTreeSet<_> = found.iter().map(Experiment::paper).collect();
    match papers.len() {
        0 => Err(UnknownExperiment::Unknown(wanted.to_owned())),
        1 => Ok(found),
        _ => Err(UnknownExperiment::Ambiguous {
            wanted: wanted.to_owned(),
            names: found.iter().map(|one| one.name).collect(),
        }),
    }
}

fn list() -> String {
    let papers: BTreeSet<_> = all().iter().map(Experiment::paper).collect();
    let names = papers.into_iter().chain(all().into_iter().map(|one| one.name));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &str) -> Vec<&'static str> {
        find(wanted).unwrap().iter().map(|one| one.name).collect()
    }

    #[test]
    fn plans_are_found_by_paper_by_file_and_by_figure() {
        assert!(names("all").len() >= 15);
        assert!(names("sctp-thin").iter().all(|name| name.starts_with("sctp-thin/")));
        for wanted in ["sctp-thin/fig8a", "8a", "Fig. 8a", "fig8a", "sctp-thin/8a"] {
            assert_eq!(names(wanted), ["sctp-thin/fig8a"], "{wanted}");
        }
        assert_eq!(names("sctp-thin/12"), ["sctp-thin/fig11-12"]);
        assert_eq!(names("6b"), ["tcp-thin-game/fig5-6"]);
        assert!(names("rto-wlan/Table 1").contains(&"rto-wlan/analysis"));
    }

    #[test]
    fn what_nothing_or_several_are_called_is_said_with_what_there_is() {
        let unknown = find("fig99").unwrap_err().to_string();
        assert!(unknown.contains("\"fig99\"") && unknown.contains("sctp-thin/fig8a"), "{unknown}");
        let several = find("9").unwrap_err().to_string();
        assert!(several.contains("sctp-thin/fig9 ") || several.contains("or "), "{several}");
    }

    #[test]
    fn nine_comes_before_ten() {
        let mut names = ["fig10", "fig9", "fig8b", "fig11-12", "fig8a", "a", "fig"];
        names.sort_by(|one, other| natural_order(one, other));
        assert_eq!(names, ["a", "fig", "fig8a", "fig8b", "fig9", "fig10", "fig11-12"]);
    }

    #[test]
    fn a_span_is_all_its_numbers() {
        assert_eq!(spread("11-12"), ["11", "12"]);
        assert_eq!(spread("1 to 3"), ["1", "2", "3"]);
        assert_eq!(spread("table 1"), ["table 1"]);
        assert_eq!(plain(" Figure 8A"), "8a");
    }
}
