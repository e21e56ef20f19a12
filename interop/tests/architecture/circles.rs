//! Circles among the modules of a room: a file of one folder that uses another folder, which uses the first.
//!
//! A module at the root of a crate and its folder count as one. What only tests use is not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Rooms whose modules use each other in one direction only.
const WITHOUT_CIRCLES: [&str; 6] = ["apps", "base", "endpoint", "io", "lab", "results"];

type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_of_a_room_use_each_other_in_one_direction_only() {
    for room in WITHOUT_CIRCLES {
        let uses = uses(&super::root().join("crates").join(room).join("src"));
        let circle = circle(&uses);
        assert!(circle.is_empty(), "{room}: modules in a circle: {}", circle.join(", "));
    }
}

#[test]
fn a_circle_of_modules_is_found_however_it_is_written() {
    let sources = |texts: &[(&str, &str)]| -> Uses {
        let modules: BTreeSet<String> = texts.iter().map(|(path, _)| module(path)).collect();
        let mut uses = Uses::new();
        for (path, text) in texts {
            let found = used(path, text, &modules, &BTreeMap::new());
            uses.entry(module(path)).or_default().extend(found);
        }
        uses
    };
    let one_way =
        [("a.rs", "use crate::{b::Thing, c};"), ("b/x.rs", "use super::y;"), ("c.rs", "")];
    assert!(circle(&sources(&one_way)).is_empty());
    for back in
        ["use crate::a::Thing;", "fn f() { crate::a::f() }", "use super::super::a::{One, Two};"]
    {
        let both = [("a.rs", "use crate::{c, b::Thing};"), ("b/x.rs", back), ("c.rs", "")];
        assert_eq!(circle(&sources(&both)), ["a", "b"], "{back}");
    }
    let remark = [("a.rs", "use crate::b;"), ("b.rs", "/// See [`crate::a`].\n// use crate::a;")];
    assert!(circle(&sources(&remark)).is_empty());
    let test = "fn f() {}\n#[cfg(test)]\nmod tests { use crate::a; }\n";
    assert!(circle(&sources(&[("a.rs", "use crate::b;"), ("b.rs", test)])).is_empty());
}

/// The module at the root of the crate that a file belongs to.
fn module(path: &str) -> String {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs").to_owned()
}

/// Which modules each module at the root of the crate in `folder` uses.
fn uses(folder: &Path) -> Uses {
    let mut files = Vec::new();
    collect(folder, folder, &mut files);
    let is_root = |path: &str| path == "lib.rs" || path == "main.rs";
    let modules = files.iter().filter(|(path, _)| !is_root(path)).map(|(path, _)| module(path));
    let modules: BTreeSet<String> = modules.collect();
    let root = files.iter().find(|(path, _)| is_root(path)).map_or("", |(_, text)| text);
    let mut names = BTreeMap::new();
    for path in paths(&without_remarks(root), "use ") {
        if let Some((first, rest)) =
            path.split_once("::").filter(|(first, _)| modules.contains(*first))
        {
            let name = rest.rsplit("::").next().unwrap_or(rest);
            names.insert(name.to_owned(), first.to_owned());
        }
    }
    let mut all = Uses::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_root(path)) {
        all.entry(module(path)).or_default().extend(used(path, text, &modules, &names));
    }
    all
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let place = path
                .strip_prefix(root)
                .expect("below the root")
                .to_string_lossy()
                .replace('\\', "/");
            files.push((place, std::fs::read_to_string(&path).expect("text")));
        }
    }
}

/// The modules other than its own that a file names from the root of its crate; `names` are those that the root
/// re-exports, with their modules.
fn used(
    path: &str,
    text: &str,
    modules: &BTreeSet<String>,
    names: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let own = module(path);
    let text = without_remarks(text);
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    // From a file in a folder the root is one step further up for each folder.
    let up = "super::".repeat(path.matches('/').count() + 1);
    let found = paths(text, "crate::").into_iter().chain(paths(text, &up));
    let first = found.filter_map(|path| {
        let first = path.split("::").next().unwrap_or_default().to_owned();
        if modules.contains(&first) { Some(first) } else { names.get(&first).cloned() }
    });
    first.filter(|module| *module != own).collect()
}

fn without_remarks(text: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// All paths behind `start`, those of a tree `{a, b::{c, d}}` one by one.
fn paths(text: &str, start: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(start) {
        let before = text[..at].chars().next_back().unwrap_or(' ');
        if before.is_alphanumeric() || before == '_' || before == ':' {
            continue;
        }
        expand("", &text[at + start.len()..], &mut found);
    }
    found
}

/// Reads one path or tree, and answers how much of the text it took.
fn expand(prefix: &str, text: &str, found: &mut Vec<String>) -> usize {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let length = text.find(|c: char| !is_path(c)).unwrap_or(text.len());
    let path = format!("{prefix}{}", &text[..length]);
    if !text[length..].starts_with('{') {
        found.push(path);
        return length;
    }
    let mut at = length + 1;
    loop {
        at += text[at..].find(|c: char| !c.is_whitespace() && c != ',').unwrap_or(text.len() - at);
        match text[at..].chars().next() {
            None => return at,
            Some('}') => return at + 1,
            Some(c) if is_path(c) || c == '{' => at += expand(&path, &text[at..], found),
            Some(c) => at += c.len_utf8(),
        }
    }
}

/// The modules of a circle, by name; none where there is no circle.
fn circle(uses: &Uses) -> Vec<String> {
    let reached = |from: &str| {
        let mut reached: BTreeSet<String> = BTreeSet::new();
        let mut next = vec![from.to_owned()];
        while let Some(module) = next.pop() {
            for to in uses.get(&module).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        reached
    };
    let all: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|module| (module, reached(module))).collect();
    let Some(first) =
        all.iter().find(|(module, to)| to.contains(module.as_str())).map(|(module, _)| *module)
    else {
        return Vec::new();
    };
    let meets = |(module, to): &(&&String, &BTreeSet<String>)| {
        all[first].contains(**module) && to.contains(first)
    };
    all.iter().filter(meets).map(|(module, _)| (**module).clone()).collect()
}
