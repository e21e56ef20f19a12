//! The house rules that a machine can check: direction of dependencies, between rooms and within them, no circles among
//! modules, minimum Rust version, no unsafe code.

#[path = "architecture/files.rs"]
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates that no room depends on and that may use every room.
const OUTSIDE: [&str; 3] = ["interop", "fuzz-harness", "virtual-peers"];
/// Rooms that may have unsafe code of their own.
const MAY_BE_UNSAFE: [&str; 1] = ["io"];

/// Crates whose parts know nothing of the whole that they are part of, with their topmost modules, the lowest first: nothing
/// below may use one of these. No circle joins files of different parts.
const BUILT_OF_PARTS: [(&str, &[&str]); 3] =
    [("sctp", &["association", "endpoint"]), ("recovery", &[]), ("endpoint", &[])];

/// Words of one protocol, as parts of names: `recovery` has units and packets.
const OF_ONE_PROTOCOL: [&str; 9] =
    ["chunk", "chunks", "segment", "segments", "tsn", "tsns", "pmdcs", "smss", "seq"];

/// Crates whose modules at the root use each other in one direction only, by whatever name.
const WITHOUT_CIRCLES: [&str; 6] = ["apps", "base", "endpoint", "io", "lab", "results"];

type Rooms = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Where the sources of a room are.
fn source_of(room: &str) -> PathBuf {
    root().join("crates").join(room).join("src")
}

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let output =
        Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("metadata is JSON")
}

/// `base` is the room `base`; the crate `thinstream` is the room of its own name.
fn room(package: &str) -> &str {
    package.strip_prefix("thinstream-").unwrap_or(package)
}

/// The table `a, b -> c, d` in the block that ARCHITECTURE.md marks as `rooms`.
fn read_table(text: &str) -> Rooms {
    let block = text.split("```rooms").nth(1).and_then(|rest| rest.split("```").next());
    let mut rooms = Rooms::new();
    for line in block.expect("ARCHITECTURE.md has a block ```rooms").lines() {
        let Some((from, to)) = line.split_once("->") else { continue };
        let names = |text: &str| -> Vec<String> {
            text.split(',').map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect()
        };
        for from in names(from) {
            rooms.entry(from).or_default().extend(names(to));
        }
    }
    rooms
}

/// What a room may use: what it points to, and what those point to.
fn reachable(rooms: &Rooms, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(room) = next.pop() {
        for to in rooms.get(&room).into_iter().flatten() {
            if reached.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    reached
}

fn strings<'a>(values: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    values[key].as_array().into_iter().flatten()
}

fn members(metadata: &Value) -> Vec<&Value> {
    let ids: Vec<&Value> = strings(metadata, "workspace_members").collect();
    strings(metadata, "packages").filter(|package| ids.contains(&&package["id"])).collect()
}

#[test]
fn rooms_depend_on_each_other_only_as_the_table_says() {
    let metadata = metadata();
    let rooms = read_table(&std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap());
    let members = members(&metadata);
    let names: Vec<&str> = members.iter().filter_map(|package| package["name"].as_str()).collect();
    for package in &members {
        let name = package["name"].as_str().unwrap();
        if OUTSIDE.contains(&name) {
            continue;
        }
        let from = room(name);
        assert!(rooms.contains_key(from), "{from} is not in the table of ARCHITECTURE.md");
        let allowed = reachable(&rooms, from);
        assert!(!allowed.contains(from), "the table has a circle through {from}");
        // Tests may use more (the virtual network, say): only what ships is judged.
        let shipped =
            strings(package, "dependencies").filter(|d| d["kind"].as_str() != Some("dev"));
        for dependency in shipped.filter_map(|d| d["name"].as_str()) {
            if names.contains(&dependency) {
                let to = room(dependency);
                assert!(allowed.contains(to), "{from} must not depend on {to}");
            }
        }
    }
}

#[test]
fn modules_of_a_room_use_each_other_in_one_direction_only() {
    for room in WITHOUT_CIRCLES {
        let src = source_of(room);
        let files = files::read(&src);
        let circles =
            files::circles(&files::parts(&files::uses(&files, &files::exports(&src, &files))));
        assert!(circles.is_empty(), "{room}: modules in circles: {circles:?}");
    }
}

#[test]
fn parts_know_nothing_of_the_whole_and_no_circle_joins_them() {
    for (name, tops) in BUILT_OF_PARTS {
        let files = files::read(&source_of(name));
        let faults = faults(&files::uses(&files, &BTreeMap::new()), tops);
        assert!(faults.is_empty(), "in crates/{name}/src: {}", faults.join("\n"));
    }
}

/// What is wrong with the way in which the files of a crate use each other.
fn faults(uses: &files::Uses, tops: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    let level = |part: &str| tops.iter().position(|top| *top == part).map_or(0, |at| at + 1);
    for (from, used) in uses {
        for to in used {
            match (from.first(), to.first()) {
                (_, None) => faults.push(format!(
                    "{} imports through the crate's root: name the module",
                    from.join("/")
                )),
                (Some(part), Some(other)) if level(part) < level(other) => faults.push(format!(
                    "{} must not use {}: a part returns what is to be done",
                    from.join("/"),
                    to.join("/")
                )),
                _ => {}
            }
        }
    }
    for circle in files::circles(uses) {
        let parts: BTreeSet<&str> =
            circle.iter().filter_map(|module| module.first()).map(String::as_str).collect();
        if parts.len() > 1 {
            let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            faults.push(format!("these use each other in a circle: {}", names.join(", ")));
        }
    }
    faults
}

#[test]
fn an_arrow_up_and_a_circle_between_parts_are_found() {
    let check = |texts: &[(&str, &str)]| {
        let module = |path: &str| path.split('/').map(str::to_owned).collect();
        let files = texts.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        faults(&files::uses(&files, &BTreeMap::new()), &["association", "endpoint"])
    };
    let whole = ("association", "use crate::tx::sender::Sender;\nuse crate::paths::Paths;");
    let paths = [("paths", ""), ("paths/id", "")];
    let good = [&[whole, ("tx/sender", "use crate::paths::id::PathId;")], &paths[..]].concat();
    assert_eq!(check(&good), Vec::<String>::new());
    let up = ("tx/sender", "use crate::association::Association;");
    let up = check(&[&[whole, up], &paths[..]].concat());
    assert!(up[0].starts_with("tx/sender must not use association"), "{up:?}");
    let circle = check(&[
        ("tx/sender", "use crate::paths::Paths;"),
        ("paths", "use self::states::Judge;"),
        ("paths/states", "use crate::tx::sender::Sender;"),
    ]);
    assert_eq!(circle, ["these use each other in a circle: paths, paths/states, tx/sender"]);
    let within = [("paths", "use self::states::Judge;"), ("paths/states", "use super::Paths;")];
    assert_eq!(check(&within), Vec::<String>::new(), "a part is one");
    let root = check(&[("layer", "use crate::Ppid;")]);
    assert!(root[0].contains("the crate's root"), "{root:?}");
}

#[test]
fn no_dependency_needs_a_newer_rust_than_we_state() {
    let metadata = metadata();
    let version = |text: &str| -> Vec<u64> {
        let mut parts: Vec<u64> = text.split('.').map(|part| part.parse().unwrap()).collect();
        parts.resize(3, 0);
        parts
    };
    let own = members(&metadata)[0]["rust_version"].as_str().expect("rust-version is stated");
    for package in strings(&metadata, "packages") {
        let Some(needed) = package["rust_version"].as_str() else { continue };
        let name = &package["name"];
        assert!(version(needed) <= version(own), "{name} needs Rust {needed}, we state {own}");
    }
}

#[test]
fn every_room_but_io_forbids_unsafe_code() {
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""), "the workspace's lints changed");
    for package in members(&metadata()) {
        let name = package["name"].as_str().unwrap();
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        let inherits = manifest.contains("[lints]\nworkspace = true");
        assert!(
            inherits || MAY_BE_UNSAFE.contains(&room(name)),
            "{name} does not inherit the lints"
        );
    }
}

/// The names in a source, without what comments and texts say.
fn names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            names.push(rest[..end].to_owned());
            end
        } else {
            first.len_utf8()
        };
        rest = &rest[skipped..];
    }
    names
}

/// The words that make a name: `snake_case` and `CamelCase`, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        before = letter;
        if let Some(word) = words.last_mut().filter(|_| letter != '_') {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

fn is_of_one_protocol(name: &str) -> bool {
    let words = words(name);
    let numbered = words.windows(2).any(|pair| pair[0] == "sequence" && pair[1] == "number");
    numbered || words.iter().any(|word| OF_ONE_PROTOCOL.contains(&word.as_str()))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn recovery_knows_neither_chunk_nor_segment() {
    let mut files = Vec::new();
    sources(&root().join("crates/recovery/src"), &mut files);
    assert!(files.len() > 40, "only {} files", files.len());
    let mut of_one = Vec::new();
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let wrong = names(&source).into_iter().filter(|name| is_of_one_protocol(name));
        of_one.extend(wrong.map(|name| format!("{}: {name}", file.display())));
    }
    assert!(of_one.is_empty(), "these names are of one protocol: {of_one:#?}");
}

#[test]
fn names_are_found_between_comments_and_texts() {
    let source =
        "// a chunk\nlet sent = \"a \\\"segment\"; struct SackChunk<'a>(SeqNumber, '\"', u8);";
    let found = names(source);
    assert_eq!(found, ["let", "sent", "struct", "SackChunk", "a", "SeqNumber", "u8"]);
    let wrong: Vec<_> = found.iter().filter(|name| is_of_one_protocol(name)).collect();
    assert_eq!(wrong, ["SackChunk", "SeqNumber"]);
    for name in ["on_segment_ack", "MSS_OF_CHUNKS", "sequence_number", "initial_tsn"] {
        assert!(is_of_one_protocol(name), "{name}");
    }
    for name in ["any_sequence_of_steps", "consequence", "fields"] {
        assert!(!is_of_one_protocol(name), "{name}");
    }
}

#[test]
fn the_table_is_read_with_its_indirect_ways() {
    let rooms = read_table("text\n```rooms\na, b -> c\nc -> d\nd ->\n```\nx -> y\n");
    assert_eq!(reachable(&rooms, "a"), ["c", "d"].map(str::to_owned).into());
    assert!(reachable(&rooms, "d").is_empty());
    assert!(!rooms.contains_key("x"));
}
