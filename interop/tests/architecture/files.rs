//! Which file of a crate uses which other, read from their paths: `crate::`, `self::` and `super::`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module: its names from the crate's root on. A part of a crate is a module of its root, with all below it.
pub(crate) type Module = Vec<String>;

/// The files of a crate, each named by its module, with the files that it uses.
pub(crate) type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Whether a file of the folder `src` is the root of its crate.
fn is_root(name: &str) -> bool {
    name == "lib" || name == "main"
}

/// Reads all files below a crate's `src`, but for its root, and for tests.
pub(crate) fn read(src: &Path) -> BTreeMap<Module, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with("tests") || (folder == src && is_root(&name)) {
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

/// What the root of the crate in `src` re-exports by name, with the files that have it.
pub(crate) fn exports(src: &Path, files: &BTreeMap<Module, String>) -> BTreeMap<String, Module> {
    let root = ["lib.rs", "main.rs"].map(|name| std::fs::read_to_string(src.join(name)));
    exported(&root.into_iter().flatten().collect::<String>(), files)
}

fn exported(root: &str, files: &BTreeMap<Module, String>) -> BTreeMap<String, Module> {
    let mut found = Vec::new();
    let text = without_comments_and_tests(root);
    for (at, start) in text.match_indices("use ") {
        branches(&text[at + start.len()..], &Vec::new(), &mut found);
    }
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let of = |path: Vec<String>| {
        let module =
            resolve(&Module::new(), &path, &modules).filter(|module| !module.is_empty())?;
        Some((path.last()?.clone(), module))
    };
    found.into_iter().filter_map(of).collect()
}

/// Who uses whom. A name that is imported through the crate's root leads to the file that `exports` has for it; any
/// other counts as a use of the root: the empty module.
pub(crate) fn uses(files: &BTreeMap<Module, String>, exports: &BTreeMap<String, Module>) -> Uses {
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let used = |module: &Module, text: &str| {
        let text = without_comments_and_tests(text);
        let target = |path: &Vec<String>| {
            let target = resolve(module, path, &modules)?;
            let exported =
                path.iter().find(|name| !is_step(name)).and_then(|name| exports.get(name));
            Some(if target.is_empty() { exported.cloned().unwrap_or(target) } else { target })
        };
        let targets = paths(&text);
        targets.iter().filter_map(target).filter(|target| target != module).collect()
    };
    files.iter().map(|(module, text)| (module.clone(), used(module, text))).collect()
}

/// Which parts of the crate use which others; the root is none.
pub(crate) fn parts(uses: &Uses) -> Uses {
    let part = |module: &Module| module.first().map(|name| vec![name.clone()]);
    let mut parts = Uses::new();
    for (module, used) in uses {
        let Some(own) = part(module) else { continue };
        let others = used.iter().filter_map(part).filter(|other| *other != own);
        parts.entry(own.clone()).or_default().extend(others);
    }
    parts
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

/// Whether a name of a path is a step to a module by its place.
fn is_step(name: &str) -> bool {
    ["crate", "self", "super"].contains(&name)
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

    fn sources(texts: &[(&str, &str)]) -> BTreeMap<Module, String> {
        texts.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect()
    }

    fn files(texts: &[(&str, &str)]) -> Uses {
        uses(&sources(texts), &BTreeMap::new())
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

    #[test]
    fn a_circle_of_parts_is_found_however_it_is_written() {
        let circles = |texts: &[(&str, &str)]| {
            let files = sources(texts);
            let exports = exported("pub mod a;\npub use a::deep::{One, Two as Other};", &files);
            circles(&parts(&uses(&files, &exports)))
        };
        let there = ("a", "use crate::{c, b::Thing};");
        for back in [
            "use crate::a::Thing;",
            "fn f() { crate::a::f() }",
            "use super::super::a::{One, Two};",
            "use crate::One;",
        ] {
            let both = [there, ("a/deep", ""), ("b", ""), ("b/x", back), ("c", "")];
            assert_eq!(circles(&both), [["a", "b"].map(module).into()], "{back}");
        }
        for one_way in ["use super::y;", "/// [`crate::a`]\n// use crate::a;", "use crate::c;"] {
            let deep = ("a/deep", "use super::Thing;");
            let both = [there, deep, ("b", ""), ("b/x", one_way), ("c", "")];
            assert!(circles(&both).is_empty(), "{one_way}");
        }
    }
}
