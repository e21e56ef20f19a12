//! The house rules that a machine can check: direction of dependencies, between rooms and within
//! them, no circles among files, the size of files and functions, how doc comments begin and
//! whether they say more than names, minimum Rust version, minimum versions of dependencies, no
//! unsafe code.

#[path = "architecture/files.rs"]
mod files;
#[path = "architecture/languages.rs"]
mod languages;
#[path = "architecture/prose.rs"]
mod prose;
#[path = "architecture/repetitions.rs"]
mod repetitions;
#[path = "architecture/size.rs"]
mod size;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/tokens.rs"]
mod tokens;
#[path = "architecture/versions.rs"]
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates that no room depends on and that may use every room.
const OUTSIDE: [&str; 6] =
    ["interop", "house-rules", "fuzz-harness", "peers", "peer-programs", "virtual-peers"];
/// Rooms that may have unsafe code of their own.
const MAY_BE_UNSAFE: [&str; 1] = ["io"];

/// Crates whose parts know nothing of the whole that they are part of, with their topmost modules,
/// the lowest first: nothing below may use one of these, and nothing may import through the crate's
/// root.
const BUILT_OF_PARTS: [(&str, &[&str]); 4] = [
    ("sctp", &["association", "endpoint"]),
    ("recovery", &[]),
    ("endpoint", &[]),
    // The commands: none uses another.
    ("apps", &["demo", "doctor", "edge", "emulate", "send", "serve"]),
];

/// Words of one protocol, as parts of names: `recovery` has units and packets.
const OF_ONE_PROTOCOL: [&str; 9] =
    ["chunk", "chunks", "segment", "segments", "tsn", "tsns", "pmdcs", "smss", "seq"];

/// Folders, from the root, whose comments are in plain English: all that have sources.
const PLAIN_COMMENTS: [&str; 6] =
    ["benches", "bindings/python/src", "crates", "fuzz/fuzz_targets", "fuzz/harness", "interop"];

/// Folders, from the root, whose plans, scripts, notebooks and programs in other languages are in
/// plain English.
const WRITTEN: [&str; 9] = [
    "benches",
    "bindings",
    "conformance",
    "crates",
    "experiments",
    "fuzz",
    "interop",
    "packaging",
    "web",
];
/// Endings of the names of such files.
const WRITTEN_ENDINGS: [&str; 9] = ["c", "cc", "go", "h", "ipynb", "pkt", "py", "toml", "ts"];

type Rooms = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_owned()
}

/// The folder `crates/ROOM/src`.
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

/// Rooms that a room may use: those that its arrows point to, and theirs in turn.
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
        if OUTSIDE.contains(&room(name)) {
            continue;
        }
        let from = room(name);
        assert!(rooms.contains_key(from), "{from} is not in the table of ARCHITECTURE.md");
        let allowed = reachable(&rooms, from);
        assert!(!allowed.contains(from), "the table has a circle through {from}");
        // Tests may use more (the virtual network, say), and so may what is optional: only what
        // ships is judged.
        let shipped = strings(package, "dependencies")
            .filter(|d| d["kind"].as_str() != Some("dev") && d["optional"].as_bool() != Some(true));
        for dependency in shipped.filter_map(|d| d["name"].as_str()) {
            if names.contains(&dependency) {
                let to = room(dependency);
                assert!(allowed.contains(to), "{from} must not depend on {to}");
            }
        }
    }
}

/// The folders with sources, by their paths from the root: those of crates, and of each example and
/// each test of several files.
fn source_folders() -> Vec<String> {
    let mut crates: Vec<String> =
        folders_in("crates").into_iter().map(|room| format!("crates/{room}")).collect();
    let others = [
        "benches/peers",
        "benches/set-up",
        "benches/sockets",
        "bindings/python",
        "bindings/web",
        "fuzz/harness",
        "interop",
        "interop/bevy",
        "interop/peers/webrtc",
        "interop/programs",
        "interop/rules",
        "interop/virtual",
    ];
    crates.extend(others.map(str::to_owned));
    let mut folders: Vec<String> = crates.iter().map(|path| format!("{path}/src")).collect();
    for place in
        crates.iter().flat_map(|path| ["examples", "tests"].map(|kind| format!("{path}/{kind}")))
    {
        let programs = folders_in(&place).into_iter().map(|name| format!("{place}/{name}"));
        folders.extend(programs.filter(|path| root().join(path).join("main.rs").exists()));
    }
    folders.sort();
    folders
}

/// The names of the folders in a folder, by its path from the root; none where it does not exist.
fn folders_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).into_iter().flatten();
    let folders = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    folders
        .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn the_folders_with_sources_have_the_examples_of_several_files() {
    let folders = source_folders();
    for folder in ["crates/lab/src", "crates/lab/examples/soak", "crates/trace/tests/simulated"] {
        assert!(folders.iter().any(|found| found == folder), "{folder} is not among {folders:?}");
    }
}

/// Crates in which a module and the files of its own folder do not use each other in a circle
/// either.
const WITHOUT_CIRCLES: [&str; 2] = ["lab", "sctp"];

/// Dependencies between the modules of the root, each with all below it.
fn parts(uses: &files::Uses) -> files::Uses {
    let part = |module: &files::Module| vec![module[0].clone()];
    let mut parts = files::Uses::new();
    for (module, used) in uses {
        let own = part(module);
        let others = used.iter().map(part).filter(|other| *other != own);
        parts.entry(own.clone()).or_default().extend(others);
    }
    parts
}

/// The files of a circle, and below them an arrow from each to those that it uses.
fn shown(folder: &str, circle: &BTreeSet<files::Module>, uses: &files::Uses) -> Vec<String> {
    let names = |modules: &mut dyn Iterator<Item = &files::Module>| {
        modules.map(|module| module.join("/")).collect::<Vec<_>>().join(", ")
    };
    let all = names(&mut circle.iter());
    let arrows = circle.iter().map(|module| {
        let to = names(&mut uses[module].iter().filter(|to| circle.contains(*to)));
        format!("  {} uses {to}", module.join("/"))
    });
    let head = format!("{folder}: these use each other in a circle: {all}");
    std::iter::once(head).chain(arrows).collect()
}

#[test]
fn files_and_modules_of_every_crate_use_each_other_in_one_direction_only() {
    let mut faults = Vec::new();
    let mut read = 0;
    for folder in source_folders() {
        let files = files::Crate::read(&root().join(&folder));
        read += files.files();
        let uses = files.uses();
        for uses in [&uses, &parts(&uses)] {
            let circles = files::circles(uses);
            faults.extend(circles.iter().flat_map(|circle| shown(&folder, circle, uses)));
        }
        for (module, name) in files.strangers() {
            let place = format!("{folder}/{}", module.join("/"));
            faults.push(format!("{place}: methods of {name}, which stands elsewhere"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(read > 600, "only {read} files");
}

#[test]
fn files_of_lab_and_sctp_use_their_own_module_in_one_direction_only() {
    let mut faults = Vec::new();
    for name in WITHOUT_CIRCLES {
        let uses = files::Crate::read(&source_of(name)).uses();
        let circles = files::all_circles(&uses);
        faults.extend(circles.iter().flat_map(|circle| shown(name, circle, &uses)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn parts_know_nothing_of_the_whole() {
    for (name, tops) in BUILT_OF_PARTS {
        let faults = faults(&files::Crate::read(&source_of(name)), tops);
        assert!(faults.is_empty(), "in crates/{name}/src: {}", faults.join("\n"));
    }
}

/// Paths that WebAssembly lacks: files, threads, processes, clocks and sockets.
const OF_A_SYSTEM: [&[&str]; 9] = [
    &["std", "env"],
    &["std", "fs"],
    &["std", "net", "TcpListener"],
    &["std", "net", "TcpStream"],
    &["std", "net", "UdpSocket"],
    &["std", "os"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time"],
];

#[test]
fn rooms_that_compile_for_webassembly_use_no_files_threads_sockets_or_clocks() {
    let script = std::fs::read_to_string(root().join("ci/wasm")).unwrap();
    let rooms = script.split_once("rooms=(").and_then(|(_, rest)| rest.split_once(')'));
    let rooms: Vec<&str> = rooms.expect("ci/wasm lists rooms").0.split_whitespace().collect();
    assert!(rooms.contains(&"lab") && rooms.contains(&"sctp"), "{rooms:?}");
    for name in rooms {
        let found = files::Crate::read(&source_of(name)).using(&OF_A_SYSTEM);
        assert!(found.is_empty(), "crates/{name}/src: {found:?}");
    }
    let runner = files::Crate::read(&source_of("runner")).using(&OF_A_SYSTEM);
    assert!(runner.len() > 3, "uses are found where there are some: {runner:?}");
}

/// Arrows of a crate that lead up to a topmost module, or through the root.
fn faults(files: &files::Crate, tops: &[&str]) -> Vec<String> {
    let through_root = files.through_root().into_iter().map(|(module, name)| {
        format!("{} imports {name} through the crate's root: name the module", module.join("/"))
    });
    let mut faults: Vec<String> = through_root.collect();
    let level = |part: &str| tops.iter().position(|top| *top == part).map_or(0, |at| at + 1);
    for (from, used) in files.uses() {
        for to in used.iter().filter(|to| level(&from[0]) < level(&to[0])) {
            faults.push(format!(
                "{} must not use {}: a part returns what is to be done",
                from.join("/"),
                to.join("/")
            ));
        }
    }
    faults
}

#[test]
fn an_arrow_up_and_a_way_through_the_root_are_found() {
    let check = |texts: &[(&str, &str)]| {
        let module = |path: &str| path.split('/').map(str::to_owned).collect();
        let files = texts.iter().map(|(path, text)| (module(path), (*text).to_owned()));
        faults(&files::Crate::of(files), &["association", "endpoint"])
    };
    let whole = ("association", "use crate::tx::sender::Sender;\nuse crate::paths::Paths;");
    let paths = [("paths", ""), ("path_id", "")];
    let good = [&[whole, ("tx/sender", "use crate::path_id::PathId;")], &paths[..]].concat();
    assert_eq!(check(&good), Vec::<String>::new());
    let up = ("tx/sender", "use crate::association::Association;");
    let up = check(&[&[whole, up], &paths[..]].concat());
    assert!(up[0].starts_with("tx/sender must not use association"), "{up:?}");
    let root = check(&[("layer", "use crate::Ppid;")]);
    assert!(root[0].contains("through the crate's root"), "{root:?}");
    for all in
        ["use crate::*;", "use super::*;", "use crate::{paths::Paths, *};", "use crate as root;"]
    {
        let control = format!("{all}\nfn enter(association: &mut Association) {{}}");
        let found = check(&[&[("control", &*control)], &paths[..]].concat());
        assert_eq!(
            found,
            ["control imports * through the crate's root: name the module"],
            "a bare name behind it would be no arrow: {all}"
        );
    }
    let of_a_module = [("paths/set", "use super::*;"), ("control", "use crate::paths::*;")];
    assert!(check(&[&of_a_module, &paths[..]].concat()).is_empty());
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
fn tests_run_with_the_least_versions_that_the_manifests_allow() {
    let untested = versions::untested(&metadata());
    assert!(untested.is_empty(), "{}", untested.join("\n"));
    let loose = serde_json::json!({ "workspace_members": ["own"], "packages": [
        { "id": "own", "name": "own", "version": "0.1.0", "dependencies": [
            { "name": "other", "req": "^1", "source": "registry" },
            { "name": "exact", "req": "=2.0.1", "source": "registry" },
        ] },
        { "id": "a", "name": "other", "version": "1.2.3" },
        { "id": "b", "name": "exact", "version": "2.0.1+built" },
    ] });
    assert_eq!(versions::untested(&loose), [r#"own asks for other ^1, locked: ["1.2.3"]"#]);
}

#[test]
fn a_registry_shows_what_each_crate_is() {
    let lacking = versions::not_shown(&metadata());
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    let bare = serde_json::json!({ "packages": [{ "name": "own", "description": "", "license": "MIT",
        "repository": "https://", "readme": "README.md", "publish": null, "source": null }] });
    assert_eq!(versions::not_shown(&bare), [r#""own" has no description"#]);
}

/// The file of a crate whose text is of the tree: documents, compiled by tests alone.
const OF_THE_TREE: &str = "crates/thinstream/src/documents.rs";

/// Files that a source includes from outside its crate's folder. `file` is its path from there.
fn included_from_outside(file: &Path, text: &str) -> Vec<String> {
    let depth = file.components().count() - 1;
    let mut calls = vec!["include_str!(\"", "include_bytes!(\"", "include!(\""];
    // A build script reads files itself.
    calls.extend(file.ends_with("build.rs").then_some("join(\""));
    let literals = calls
        .into_iter()
        .flat_map(|call| text.split(call).skip(1))
        .filter_map(|rest| rest.split('"').next());
    let is_outside = |path: &&str| path.split('/').take_while(|part| *part == "..").count() > depth;
    literals.filter(is_outside).map(str::to_owned).collect()
}

#[test]
fn packed_crates_hold_what_they_are_built_from() {
    let found = included_from_outside(
        Path::new("src/a/b.rs"),
        "include_str!(\"../../x\"), include_bytes!(\"../../../y\")",
    );
    assert_eq!(found, ["../../../y"]);
    let found = included_from_outside(Path::new("build.rs"), "root.join(\"../../plans\")");
    assert_eq!(found, ["../../plans"]);

    let mut outside = Vec::new();
    for (name, text) in texts("crates") {
        let own: PathBuf = Path::new(&name).components().skip(2).collect();
        let is_built = own.starts_with("src") || own == Path::new("build.rs");
        if !is_built
            || name.ends_with("tests.rs")
            || name.contains("/tests/")
            || name == OF_THE_TREE
        {
            continue;
        }
        // Modules of tests stand at the end of a file.
        let built = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let included = included_from_outside(&own, built);
        outside.extend(included.into_iter().map(|path| format!("{name}: {path}")));
    }
    assert!(outside.is_empty(), "a packed crate lacks these files: {outside:#?}");
}

#[test]
fn an_application_is_built_without_the_laboratory() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = |arguments: &[&str]| {
        let usual = ["tree", "--locked", "-p", "thinstream", "-e", "normal", "--prefix", "none"];
        let output = Command::new(cargo.clone())
            .args(usual.iter().chain(arguments))
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("names are text");
        text.lines()
            .filter_map(|line| line.split(' ').next())
            .map(|name| room(name).to_owned())
            .collect()
    };
    let usual: BTreeSet<String> = tree(&[]);
    assert!(usual.contains("sctp") && usual.contains("io"), "{usual:?}");
    for of_the_laboratory in ["netsim", "results", "lab", "hdrhistogram", "statrs", "pcap-file"] {
        assert!(!usual.contains(of_the_laboratory), "{of_the_laboratory} is part of thinstream");
    }
    let with_captures: BTreeSet<String> = tree(&["--features", "capture"]);
    assert!(with_captures.contains("netsim") && !with_captures.contains("results"));
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

/// Folders of what is built, found or installed, which are no sources.
const BUILT: [&str; 6] = ["target", "node_modules", "corpus", "artifacts", "dist", ".venv"];

/// Whether a folder has what is built, found or installed: the peers of `interop` are, too.
fn is_built(folder: &Path) -> bool {
    let named = |name: &&str| folder.file_name().is_some_and(|own| own == *name);
    BUILT.iter().any(named) || folder == root().join("interop/build")
}

/// The files below a folder whose names have one of the endings.
fn sources(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !is_built(&path) {
                sources(&path, endings, found);
            }
        } else if name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending)) {
            found.push(path);
        }
    }
}

/// Sources in Rust below a folder, by their paths from the root, with their texts.
fn texts(folder: &str) -> Vec<(String, String)> {
    texts_with(folder, &["rs"])
}

/// Files below a folder whose names have one of the endings, by their paths from the root, with
/// their texts.
fn texts_with(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(&root().join(folder), endings, &mut files);
    let text = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a text");
        let name = file.strip_prefix(root()).expect("below the root").display().to_string();
        (name, text)
    };
    files.into_iter().map(text).collect()
}

#[test]
fn no_comment_is_wider_than_code() {
    let mut faults = Vec::new();
    let mut read = 0;
    for folder in ["benches", "bindings", "crates", "fuzz", "interop"] {
        let texts = texts(folder).into_iter().filter(|(name, _)| !name.contains("/target/"));
        for (name, text) in texts {
            read += 1;
            let wide = size::wide_comments(&text).into_iter();
            faults
                .extend(wide.map(|(line, width)| format!("{name}:{line} has {width} characters")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(read > 1_000, "only {read} files");
}

#[test]
fn no_file_and_no_function_is_too_long() {
    let others = ["benches", "bindings", "fuzz", "interop"].map(str::to_owned);
    let mut faults = Vec::new();
    let mut read = 0;
    for folder in [String::from("crates")].into_iter().chain(others) {
        for (name, text) in texts(&folder) {
            let is_of_tests =
                name.ends_with("tests.rs") || name.contains("/tests/") || name.contains("/target/");
            // Tests of whole crates, as modules: the file says so where it is declared.
            let is_test_module =
                ["own_scripts.rs", "hostile_scripts.rs"].iter().any(|end| name.ends_with(end));
            if !is_of_tests && !is_test_module {
                read += 1;
                faults.extend(size::faults(&name, &text));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(read > 600, "only {read} files");
}

#[test]
fn comments_are_in_plain_english() {
    let mut faults = Vec::new();
    for folder in PLAIN_COMMENTS {
        let texts = texts(folder);
        assert!(!texts.is_empty(), "{folder} has no sources");
        for (name, text) in texts {
            let found = prose::faults(&text).into_iter();
            faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
        }
    }
    assert!(
        faults.is_empty(),
        "these have an opening or a phrase of `prose.rs`:\n{}",
        faults.join("\n")
    );
}

/// Sources in TypeScript, by their paths from the root, with their texts.
fn typescript() -> Vec<(String, String)> {
    texts_with("web", &["ts"])
}

/// Sources in Python, by their paths from the root, with their texts.
fn python() -> Vec<(String, String)> {
    let folders = ["benches", "bindings", "ci", "crates", "docs", "interop"];
    folders.iter().flat_map(|folder| texts_with(folder, &["py"])).collect()
}

#[test]
fn typescript_and_python_are_in_plain_english() {
    let (typescript, python) = (typescript(), python());
    assert!(typescript.len() > 30 && python.len() > 20, "files are missing");
    let typescript = typescript.iter().map(|(name, text)| (name, languages::of_typescript(text)));
    let python = python.iter().map(|(name, text)| (name, languages::of_python(text)));
    let mut faults = Vec::new();
    for (name, pieces) in typescript.chain(python) {
        let found = prose::faults_of_pieces(&pieces).into_iter();
        faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
    }
    assert!(
        faults.is_empty(),
        "these have an opening or a phrase of `prose.rs`:\n{}",
        faults.join("\n")
    );
}

#[test]
fn doc_comments_name_their_subject_instead_of_asking_for_it() {
    let mut faults = Vec::new();
    for (name, text) in PLAIN_COMMENTS.iter().flat_map(|folder| texts(folder)) {
        let found = prose::questions(&text).into_iter();
        faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
    }
    assert!(faults.is_empty(), "these ask for their subject:\n{}", faults.join("\n"));
}

#[test]
fn doc_comments_say_more_than_the_names_of_their_items() {
    let mut faults = Vec::new();
    for folder in PLAIN_COMMENTS {
        for (name, text) in texts(folder) {
            let found = repetitions::of_rust(&name, &text).into_iter();
            faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
        }
    }
    for (name, text) in typescript() {
        let pieces = languages::of_typescript(&text);
        let found = repetitions::of_typescript(&name, &text, &pieces).into_iter();
        faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
    }
    for (name, text) in python() {
        let pieces = languages::of_python(&text);
        let found = repetitions::of_python(&name, &text, &pieces).into_iter();
        faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
    }
    assert!(faults.is_empty(), "these only repeat a name:\n{}", faults.join("\n"));
}

#[test]
fn texts_for_people_are_in_plain_english() {
    let mut faults = Vec::new();
    let mut read = 0;
    for folder in PLAIN_COMMENTS {
        // The list of phrases itself.
        for (name, text) in texts(folder).iter().filter(|(name, _)| !name.ends_with("/prose.rs")) {
            let found = prose::faults_of_texts(text).into_iter();
            faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
        }
    }
    for folder in WRITTEN {
        for (name, text) in texts_with(folder, &WRITTEN_ENDINGS) {
            read += 1;
            let found = prose::faults_of_lines(&text).into_iter();
            faults.extend(found.map(|(line, text)| format!("{name}:{line}: {text}")));
        }
    }
    assert!(read > 500, "only {read} files");
    assert!(faults.is_empty(), "these have a phrase of `PHRASES`:\n{}", faults.join("\n"));
}

#[test]
fn documents_are_in_plain_english() {
    let mut faults = Vec::new();
    let mut read = 0;
    for folder in ["", "docs", "docs/requirements"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            // What was written about past versions stays as it was.
            let is_kept = path.ends_with("docs/changes.md");
            if path.extension().is_some_and(|ending| ending == "md") && !is_kept {
                read += 1;
                let mut text = std::fs::read_to_string(&path).expect("a document");
                if path.ends_with("docs/claims.md") {
                    // The papers' own words stay as they are.
                    text = text.split('"').step_by(2).collect();
                }
                let found = prose::faults_of_document(&text).into_iter();
                faults
                    .extend(found.map(|(line, text)| format!("{}:{line}: {text}", path.display())));
            }
        }
    }
    assert!(read > 50, "only {read} documents");
    assert!(faults.is_empty(), "these have a phrase of `PHRASES`:\n{}", faults.join("\n"));
}

#[test]
fn recovery_knows_neither_chunk_nor_segment() {
    let texts = texts("crates/recovery/src");
    assert!(texts.len() > 40, "only {} files", texts.len());
    let mut of_one = Vec::new();
    for (file, source) in texts {
        let names = tokens::names(&source).into_iter();
        of_one.extend(
            names.filter(|name| is_of_one_protocol(name)).map(|name| format!("{file}: {name}")),
        );
    }
    assert!(of_one.is_empty(), "these names are of one protocol: {of_one:#?}");
}

#[test]
fn names_of_one_protocol_are_told_by_their_words() {
    let source =
        "// a chunk\nlet sent = \"a \\\"segment\"; struct SackChunk<'a>(SeqNumber, '\"', u8);";
    let found = tokens::names(source);
    assert_eq!(found, ["let", "sent", "struct", "SackChunk", "SeqNumber", "u8"]);
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
