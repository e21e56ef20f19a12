//! Which file of a crate uses which other, read from their paths: `crate::`, `self::` and `super::`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module: its names from the crate's root on. A part of a crate is a module of its root, with all below it.
pub(crate) type Module = Vec<String>;

/// The files of a crate, each named by its module, with the files that it uses.
pub(crate) type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Reads all files below a crate's `src`, but for its root, and for tests.
pub(crate) fn read(src: &Path) -> BTreeMap<Module, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with("tests") || (folder == src && name == "lib") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(src).expect("below src").with_extension("");
                let parts = inside.components();
                let module = parts.map(|part| part.as_os_str().to_string_lossy().into_owned());
                files.insert(module.collect(), std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    files
}

/// Who uses whom. What is imported through the crate's root counts as a use of the root: the empty module.
pub(crate) fn uses(files: &BTreeMap<Module, String>) -> Uses {
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let used = |module: &Module, text: &str| {
        let text = without_comments_and_tests(text);
        let paths = paths(&text);
        let targets = paths.iter().filter_map(|path| resolve(module, path, &modules));
        targets.filter(|target| target != module).collect()
    };
    files.iter().map(|(module, text)| (module.clone(), used(module, text))).collect()
}

fn without_comments_and_tests(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths that begin with `crate::`, `self::` or `super::`, with the branches of their braces.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                branches(&text[at..], &Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one path, and those of its braces; the answer is what follows it.
fn branches<'t>(text: &'t str, prefix: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let mut path = prefix.to_vec();
    path.push(text[..end].to_owned());
    let rest = &text[end..];
    let Some(behind) = rest.strip_prefix("::") else {
        found.push(path);
        return rest;
    };
    let Some(mut inner) = behind.strip_prefix('{') else {
        return branches(behind, &path, found);
    };
    loop {
        inner = inner.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        match inner.strip_prefix('}') {
            Some(rest) => return rest,
            None if inner.is_empty() => return inner,
            None => inner = branches(inner, &path, found),
        }
        // What is renamed, or a star.
        inner = inner.trim_start_matches(|c: char| c != ',' && c != '}');
    }
}

/// The file that a path leads to from a module.
fn resolve(from: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let mut at = from.clone();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            _ => break,
        }
        rest = others;
    }
    // The longest beginning that is a file: behind it stand the names in it.
    let mut found = Some(at.clone()).filter(|at| at.is_empty() || modules.contains(at));
    for name in rest {
        at.push(name.clone());
        if modules.contains(&at) {
            found = Some(at.clone());
        }
    }
    found
}

/// Files that are used by what they use: every set of them in which each reaches each other.
pub(crate) fn circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for to in uses.get(module).into_iter().flatten() {
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (module, reached(module))).collect();
    let mut circles = BTreeSet::new();
    for (module, to) in &reached {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|its| its.contains(module));
        let circle: BTreeSet<Module> = to.iter().filter(back).map(|m| (**m).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn files(texts: &[(&str, &str)]) -> Uses {
        uses(&texts.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect())
    }

    #[test]
    fn paths_lead_to_the_files_in_which_their_names_stand() {
        let uses = files(&[
            ("a", "use self::b::{C, d::{E, F as G}};\nuse crate::{e, Root};"),
            ("a/b", "use super::*; // crate::e::Nothing\nfn f(e: crate::e::H) {}"),
            ("a/b/d", "use super::super::X;\n#[cfg(test)]\nmod tests {\nuse crate::e::I;\n}"),
            ("e", "/// Of [`crate::a::A`].\nstruct H;"),
        ]);
        let of = |name: &str| uses[&module(name)].clone();
        assert_eq!(of("a"), ["a/b", "a/b/d", "e", ""].map(module).into());
        assert_eq!(of("a/b"), ["a", "e"].map(module).into());
        assert_eq!(of("a/b/d"), ["a"].map(module).into());
        assert!(of("e").is_empty());
    }

    #[test]
    fn a_circle_is_found_however_many_files_it_has() {
        let uses = files(&[
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", "use crate::a::A;\nuse crate::d::D;"),
            ("d", ""),
        ]);
        assert_eq!(circles(&uses), [["a", "b", "c"].map(module).into()]);
        assert!(circles(&files(&[("a", "use crate::b::B;"), ("b", "")])).is_empty());
    }
}
