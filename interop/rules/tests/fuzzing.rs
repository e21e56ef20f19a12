//! The sources of each fuzz target in ci/fuzz.py, whose changes make its time count anew, are those
//! that it drives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

/// Names and paths of ci/fuzz.py's `STACK`, `WEBRTC` and `SOURCES`, the lists in them spread out.
fn sources(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let quoted = |text: &str| -> BTreeSet<String> {
        text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let list = |name: &str| {
        let (_, rest) = text.split_once(&format!("\n{name} = [")).expect("the list");
        rest.split(']').next().unwrap_or_default()
    };
    let stack = quoted(list("STACK"));
    let webrtc: BTreeSet<String> = quoted(list("WEBRTC")).union(&stack).cloned().collect();
    let (_, all) = text.split_once("\nSOURCES = {\n").expect("SOURCES");
    let all = all.split("\n}\n").next().unwrap_or_default();
    let targets = all.split("\n    \"").map(|target| target.trim_start_matches("    \""));
    let of = targets.map(|target| {
        let (name, paths) = target.split_once("\":").expect("a name and a list");
        let mut found = quoted(paths);
        for (shared, spread) in [("STACK", &stack), ("WEBRTC", &webrtc)] {
            if paths.contains(shared) {
                found.extend(spread.iter().cloned());
            }
        }
        (name.to_owned(), found)
    });
    of.collect()
}

/// Crates of the workspace, by their names in code.
fn crates() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("crates")).expect("crates");
    entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect()
}

/// The crate at the head of a path such as `crates/tcp/src/wire`, and whether all of its sources
/// are meant.
fn crate_of(path: &str) -> (&str, bool) {
    let rest = path.strip_prefix("crates/").expect("a path below crates/");
    let (name, inner) = rest.split_once('/').unwrap_or((rest, "src"));
    (name, inner == "src")
}

/// Files of the harness that belong to a target: its module, those below it, and those that these
/// use.
fn files_of(target: &str) -> BTreeSet<String> {
    let folder = "fuzz/harness/src";
    let (mut found, mut modules) = (BTreeSet::new(), vec![target.to_owned()]);
    while let Some(module) = modules.pop() {
        let mut files = vec![format!("{folder}/{module}.rs")];
        if let Ok(inner) = std::fs::read_dir(root().join(folder).join(&module)) {
            let names = inner.map(|entry| entry.expect("an entry").file_name());
            files.extend(names.map(|name| format!("{folder}/{module}/{}", name.display())));
        }
        for file in files {
            if !root().join(&file).is_file() || !found.insert(file.clone()) {
                continue;
            }
            let text = read(&file);
            for part in text.split("crate::").skip(1) {
                // `crate::air::Air`, or `crate::{Blob, sdp}`.
                let names = match part.strip_prefix('{') {
                    Some(list) => list.split('}').next().unwrap_or_default(),
                    None => part.split([':', ';']).next().unwrap_or_default(),
                };
                let names = names.split(',').map(|name| name.trim().to_owned());
                let is_module = |name: &String| {
                    !name.is_empty() && root().join(folder).join(format!("{name}.rs")).is_file()
                };
                modules.extend(names.filter(is_module));
            }
        }
    }
    found
}

/// Crates of the workspace whose names lead a path in a text: `tcp::Segment`.
fn used_in(text: &str, crates: &BTreeSet<String>) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let leads = |name: &&String| {
        let path = format!("{name}::");
        text.match_indices(&path).any(|(at, _)| !text[..at].ends_with(is_name))
    };
    crates.iter().filter(leads).cloned().collect()
}

/// Crates of the workspace that a crate cannot be built without.
fn needed_by(name: &str, crates: &BTreeSet<String>) -> BTreeSet<String> {
    let text = read(&format!("crates/{name}/Cargo.toml"));
    let (_, rest) = text.split_once("\n[dependencies]\n").unwrap_or_default();
    let lines = rest.split("\n[").next().unwrap_or_default().lines();
    let needed =
        lines.filter(|line| line.contains("workspace = true") && !line.contains("optional"));
    let names = needed.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned()));
    names.filter(|name| crates.contains(name)).collect()
}

#[test]
fn a_fuzz_target_counts_anew_when_anything_that_it_drives_has_changed() {
    let crates = crates();
    let sources = sources(&read("ci/fuzz.py"));
    let mut wrong = Vec::new();
    for (target, paths) in &sources {
        let named: BTreeSet<&str> = paths.iter().map(|path| crate_of(path).0).collect();
        let files = files_of(target);
        assert!(!files.is_empty(), "{target} has no file in the harness");
        for file in &files {
            let used = used_in(&read(file), &crates);
            wrong.extend(
                used.iter()
                    .filter(|one| !named.contains(one.as_str()))
                    .map(|one| format!("{target}: {file} drives crates/{one}")),
            );
        }
        for path in paths {
            if !root().join(path).exists() {
                wrong.push(format!("{target}: there is no {path}"));
            }
            // Parts of a crate are named where a target drives those alone.
            let (name, is_whole) = crate_of(path);
            let needed = if is_whole { needed_by(name, &crates) } else { BTreeSet::new() };
            let missing = needed.iter().filter(|one| !named.contains(one.as_str()));
            wrong.extend(missing.map(|one| format!("{target}: {path} needs crates/{one}")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let targets = std::fs::read_dir(root().join("fuzz/fuzz_targets")).expect("targets");
    assert_eq!(targets.count(), sources.len(), "a target has no sources");
}

#[test]
fn crates_are_found_in_a_harness_and_below_a_crate() {
    let crates = crates();
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        used_in("use tcp::x;\nlet a = tokio::io::y(base::Z);", &crates),
        set(&["base", "tcp"])
    );
    assert_eq!(needed_by("sctp", &crates), set(&["base", "endpoint", "recovery"]));
    assert!(!needed_by("io", &crates).contains("netsim"), "optional");
    assert!(files_of("flow").contains("fuzz/harness/src/flow/stacked.rs"));
    assert!(files_of("flow").contains("fuzz/harness/src/tcp_policy.rs"), "used by it");
    assert_eq!(crate_of("crates/tcp/src/wire"), ("tcp", false));
    assert_eq!(crate_of("crates/trace/src"), ("trace", true));
}
