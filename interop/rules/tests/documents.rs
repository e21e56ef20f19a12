//! The documents keep what they promise: Rust code in them is compiled, and their links lead
//! somewhere.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_owned()
}

/// README.md and the pages of docs/, as paths from the root.
fn documents() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("docs");
    let names = entries.map(|entry| Path::new("docs").join(entry.expect("an entry").file_name()));
    let pages = names.filter(|name| name.extension().is_some_and(|ending| ending == "md"));
    pages.chain([PathBuf::from("README.md")]).collect()
}

/// Languages named at the opening fences of a document's blocks.
fn languages(text: &str) -> Vec<&str> {
    let fences = text.lines().filter_map(|line| line.trim_start().strip_prefix("```"));
    fences.step_by(2).map(str::trim).collect()
}

#[test]
fn languages_are_those_of_opening_fences() {
    assert_eq!(languages("```rust\nfn x() {}\n```\n  ```\nls\n  ```\n"), ["rust", ""]);
}

#[test]
fn every_document_with_rust_code_is_compiled_and_names_the_language_of_each_block() {
    let compiled = std::fs::read_to_string(root().join("crates/thinstream/src/documents.rs"));
    let compiled = compiled.unwrap();
    let mut with_rust = 0;
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        let languages = languages(&text);
        if !languages.iter().any(|language| language.starts_with("rust")) {
            continue;
        }
        with_rust += 1;
        let name = document.display();
        let included = format!("include_str!(\"../../../{name}\")");
        assert!(compiled.contains(&included), "{name} has Rust code that no test compiles");
        // rustdoc takes a block without a language for Rust.
        assert!(
            !languages.contains(&""),
            "{name}: a block of no language would be compiled as Rust"
        );
    }
    assert!(with_rust >= 1, "README.md has Rust code");
}

#[test]
fn the_front_page_of_each_library_has_an_example_that_is_run() {
    let entries = std::fs::read_dir(root().join("crates")).unwrap();
    let pages = entries.map(|entry| entry.unwrap().path().join("src/lib.rs"));
    let mut read = 0;
    // The transports of others are no part of what ships.
    for page in pages.filter(|page| page.exists() && !page.ends_with("peers/src/lib.rs")) {
        let text = std::fs::read_to_string(&page).unwrap();
        let head = text.lines().take_while(|line| line.starts_with("//!"));
        let fences: Vec<&str> = head.filter_map(|line| line.strip_prefix("//! ```")).collect();
        // A fence with other words, such as `no_run`, would not be run.
        let mut openings = fences.iter().step_by(2);
        assert!(openings.any(|words| words.is_empty()), "{}: no example", page.display());
        read += 1;
    }
    assert!(read >= 20, "only {read} libraries");
}

#[test]
fn the_game_server_of_the_page_on_browsers_is_the_example() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (page, example) =
        (read("docs/webrtc.md"), read("crates/thinstream/examples/game_server.rs"));
    let block = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let (uses, server) = block.split_once("\n\n///").unwrap();
    assert!(example.ends_with(server), "docs/webrtc.md and the example differ");
    assert!(server.lines().count() + uses.lines().count() < 70);
}

#[test]
fn the_bevy_of_the_page_on_the_library_is_the_program_that_is_tested() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (page, program) = (read("docs/library.md"), read("interop/bevy/src/main.rs"));
    let section = page.split("## In Bevy").nth(1).expect("a section on Bevy");
    let block = section.split("```rust,ignore\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.expect("a program");
    let (_, shown) = program.split_once("\n\n").expect("a head");
    assert_eq!(shown.strip_suffix("\n#[cfg(test)]\nmod tests;\n"), Some(block));
    assert!(program.lines().count() < 100, "it cannot be read at once");
}

/// A document without its code, by lines.
fn prose(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let kept = if fenced || fence { "" } else { line };
        lines.push(kept.to_owned());
    }
    lines
}

/// The targets of a document's links to files and headings of the project.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text).join("\n");
    let without_code: String = prose.split('`').step_by(2).collect();
    let targets = without_code.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The anchor that a heading gets: lower case, words joined by hyphens, other signs left out.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn links_and_anchors_are_read_outside_of_code() {
    let text = "# A `b`: c, d_e\n[x](y.md#z) `[no](no)` [w](https://w)\n```\n# no\n```\n[v](#a)\n";
    assert_eq!(links(text), ["y.md#z", "#a"]);
    assert_eq!(anchors(text), ["a-b-c-d_e"]);
}

#[test]
fn every_page_has_its_place_in_the_site() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed = links(&summary);
    let pages = documents().into_iter().filter(|page| !page.ends_with("SUMMARY.md"));
    let missing: Vec<_> = pages
        .map(|page| match page.strip_prefix("docs") {
            Ok(name) => name.display().to_string(),
            Err(_) => format!("../{}", page.display()),
        })
        .filter(|page| !listed.contains(page))
        .collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

#[test]
fn what_copies_gain_and_cost_stands_in_the_readme_as_it_was_measured() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (readme, table) = (read("README.md"), read("docs/tcp.md"));
    let table = table.split("### The default policy").nth(1).expect("a section");
    // The last column, of BZFlag's gaps: share within a millisecond, mean and quantiles, megabytes.
    let numbers = |row: &str| {
        let row = table.lines().find(|line| line.starts_with(row)).expect(row).replace("**", "");
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().to_owned()).collect();
        let parts: Vec<&str> = cells[4].split(", ").collect();
        (parts[0].to_owned(), parts[2].to_owned())
    };
    let (copies, kernel) = (numbers("| **edge `latency`**"), numbers("| kernel |"));
    let gain = format!("{} of a game's small messages", copies.0);
    let beside = format!("with the kernel's TCP, {} do", kernel.0);
    let price = format!("{} MB where the kernel sends {}", copies.1, kernel.1);
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [gain, beside, price] {
        assert!(readme.contains(&said), "README.md does not say \"{said}\"");
    }
}

/// Rows of README's table of transports, and their names in docs/comparison.md.
const TRANSPORTS: [(&str, &str); 11] = [
    ("`latency`, SCTP", "SCTP latency"),
    ("`latency-lean`, SCTP", "SCTP latency-lean"),
    ("`latency-max`, SCTP", "SCTP latency-max"),
    ("`latency`, TCP", "TCP latency"),
    ("dcsctp", "dcsctp tuned"),
    ("usrsctp", "usrsctp tuned"),
    ("KCP", "KCP turbo with flush"),
    ("ENet", "ENet tuned"),
    ("QUIC (quinn)", "QUIC tuned"),
    ("TCP as Linux", "TCP linux"),
    ("SCTP as RFC 9260", "SCTP rfc"),
];

/// Numbers of a transport over a network of docs/comparison.md, and its bytes for each message as
/// over UDP: there SCTP runs over IP.
struct Compared<'a> {
    mean: &'a str,
    p99: &'a str,
    p999: &'a str,
    bytes: f64,
}

fn compared<'a>(comparison: &'a str, network: &str, row: &str) -> Compared<'a> {
    const UDP_HEADER: f64 = 8.0;
    let section = comparison.split(network).nth(1).expect(network);
    let start = format!("| {row} |");
    let line = section.lines().find(|line| line.starts_with(&start)).expect(row);
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let number = |place: usize| cells[place].parse::<f64>().expect(row);
    let is_sctp = row.to_lowercase().contains("sctp");
    let headers = if is_sctp { UDP_HEADER * number(10) } else { 0.0 };
    Compared { mean: cells[2], p99: cells[5], p999: cells[6], bytes: number(9) + headers }
}

#[test]
fn the_transports_in_the_readme_have_the_numbers_of_the_comparison() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (readme, comparison) = (read("README.md"), read("docs/comparison.md"));
    for (ours, row) in TRANSPORTS {
        let line = readme.lines().find(|line| line.starts_with(&format!("| {ours}"))).expect(ours);
        for (column, network) in (2..).zip(["### W1:", "### W2:"]) {
            let Compared { mean, p99, p999, bytes } = compared(&comparison, network, row);
            let wanted = format!("{mean} / {p99} / {p999}, {bytes:.0} B");
            assert_eq!(line.split('|').nth(column).map(str::trim), Some(&*wanted), "{ours}");
        }
    }
}

#[test]
fn what_a_game_pays_stands_beside_what_it_gains_as_it_was_measured() {
    let read = |name: &str| {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let comparison = std::fs::read_to_string(root().join("docs/comparison.md")).unwrap();
    let of = |row: &str| compared(&comparison, "### W2:", row);
    let (copies, lean, rfc) = (of("SCTP latency"), of("SCTP latency-lean"), of("SCTP rfc"));
    let said = [
        ("README.md", format!("within {} ms of the one-way delay", copies.p99)),
        ("README.md", format!("within {} ms. The price", rfc.p99)),
        (
            "README.md",
            format!("{:.0} for each message where `rfc` sends {:.0}", copies.bytes, rfc.bytes),
        ),
        ("docs/recipes.md", format!("take {:.0} bytes with IP and UDP headers", copies.bytes)),
        ("docs/recipes.md", format!("instead of {:.0} with `latency-lean`", lean.bytes)),
        ("docs/recipes.md", format!("within {} ms above the one-way delay", copies.p99)),
        ("docs/recipes.md", format!("instead of {} ms", lean.p99)),
    ];
    for (document, words) in said {
        assert!(read(document).contains(&words), "{document} does not say \"{words}\"");
    }
    // The most that a packet count or bytes grow, over both networks.
    let networks = ["### W1:", "### W2:"];
    let grows = |network| {
        let before = compared(&comparison, network, "SCTP rfc").bytes;
        ["SCTP latency", "SCTP latency-lean", "SCTP latency-max"]
            .map(|row| compared(&comparison, network, row).bytes / before)
    };
    let most = networks.map(grows).concat().into_iter().fold(0.0, f64::max);
    let words = format!("about 1.1 to {most:.1} times the packets or the bytes");
    let most_said = read("README.md").contains(&words.replace(".0 times", " times"));
    assert!(most_said, "README.md does not say \"{words}\"");
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let further =
        ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/requirements/README.md"];
    let mut faults = Vec::new();
    let mut read = 0;
    for document in documents().into_iter().chain(further.map(PathBuf::from)) {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        for link in links(&text) {
            read += 1;
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = document.parent().expect("a document has a folder");
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            let target = root().join(target);
            let has_heading = || {
                let text = std::fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).iter().any(|anchor| anchor == heading)
            };
            if !target.exists() || !heading.is_empty() && !has_heading() {
                faults.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(read > 100, "only {read} links");
    assert!(faults.is_empty(), "these links lead nowhere: {faults:#?}");
}

/// The numbers of a version such as `0.2.0`.
fn version(text: &str) -> [u32; 3] {
    let numbers: Vec<u32> = text.split('.').filter_map(|number| number.parse().ok()).collect();
    numbers.try_into().expect("a version of three numbers")
}

#[test]
fn the_changelog_names_the_version_that_comes_next() {
    let changes = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let (unreleased, released) = changes
        .split_once("\n## [Unreleased]\n")
        .and_then(|(_, rest)| rest.split_once("\n## ["))
        .expect("a section [Unreleased] before that of the last release");
    let last = version(released.split(']').next().unwrap_or_default());
    if !unreleased.lines().any(|line| line.starts_with("- ")) {
        return;
    }
    // `make semver` says whether the changes may have this version.
    let (_, next) = unreleased.split_once("\nThe next version is ").expect("the next version");
    let next = version(next.split([' ', ':', ';']).next().unwrap_or_default());
    assert!(next > last, "{next:?} does not follow {last:?}");
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let own = manifest.lines().find_map(|line| line.strip_prefix("version = \"")).unwrap();
    let own = version(own.trim_end_matches('"'));
    assert!(own == last || own == next, "the crates are of {own:?}");
}

/// Most words of a version in the changelog: those that are read in a minute.
const WORDS_OF_A_VERSION: usize = 260;

#[test]
fn a_version_in_the_changelog_is_read_in_a_minute() {
    let changes = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let versions: Vec<&str> = changes.split("\n## [").skip(1).collect();
    assert!(versions.len() > 1, "only {} versions", versions.len());
    for version in versions {
        let words = version.split_whitespace().count();
        let heading = version.lines().next().unwrap_or_default();
        assert!(
            words <= WORDS_OF_A_VERSION,
            "[{heading} has {words} words: move what few need to docs/changes.md"
        );
    }
}

#[test]
fn each_workspace_and_its_lock_file_have_the_version_of_the_crates() {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let own = |text: &str| {
        let line =
            text.lines().find_map(|line| line.strip_prefix("version = \"")).expect("a version");
        line.trim_end_matches('"').to_owned()
    };
    let wanted = own(&read(&root().join("Cargo.toml")));
    let mut compared = 0;
    for part in [
        "",
        "bindings/python",
        "bindings/web",
        "fuzz",
        "interop/bevy",
        "benches/peers",
        "benches/set-up",
        "benches/sockets",
    ] {
        let folder = root().join(part);
        let lock = read(&folder.join("Cargo.lock"));
        for package in lock.split("[[package]]") {
            // A package of a registry has a line of its source.
            let is_ours =
                package.contains("\nname = \"thinstream") && !package.contains("\nsource = ");
            if is_ours && !package.contains("\nversion = \"0.0.0\"") {
                compared += 1;
                assert_eq!(
                    own(package),
                    wanted,
                    "{part}/Cargo.lock: cargo update --workspace there"
                );
            }
        }
        if part.starts_with("bindings") {
            assert_eq!(own(&read(&folder.join("Cargo.toml"))), wanted, "{part}/Cargo.toml");
        }
    }
    assert!(compared > 80, "only {compared} packages of ours");
}

/// Keys of plans and their parts: fields of the structures that refuse unknown keys.
fn keys_of_plans() -> Vec<(String, PathBuf)> {
    let mut keys = Vec::new();
    for folder in ["crates/lab/src/plan", "crates/lab/src/measure"] {
        let mut waiting = vec![root().join(folder)];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(
                    std::fs::read_dir(&path)
                        .expect("a folder")
                        .map(|entry| entry.expect("an entry").path()),
                );
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            for part in text.split("deny_unknown_fields").skip(1) {
                let Some((_, body)) = part.split_once(" {\n") else { continue };
                let mut renamed = None;
                for line in body.lines().map(str::trim).take_while(|line| *line != "}") {
                    if let Some((_, name)) = line.split_once("rename = \"") {
                        renamed = name.split('"').next();
                    } else if !line.starts_with(['/', '#'])
                        && let Some((name, _)) = line.split_once(": ")
                    {
                        let name = name.split_whitespace().last().unwrap_or_default();
                        let name = renamed.take().unwrap_or(name.trim_start_matches("r#"));
                        keys.push((name.to_owned(), path.clone()));
                    }
                }
            }
        }
    }
    keys
}

#[test]
fn each_key_of_a_plan_stands_in_the_page_on_the_laboratory() {
    let page = std::fs::read_to_string(root().join("docs/laboratory.md")).unwrap();
    // In code, since many keys are English words.
    let code = page.split('`').skip(1).step_by(2);
    let words: std::collections::HashSet<&str> = code
        .flat_map(|code| code.split(|sign: char| !sign.is_alphanumeric() && sign != '_'))
        .collect();
    // Of the library that ships, which has no page of its own.
    let of_library = |path: &Path| path.ends_with("plan/library.rs");
    // A macro's.
    let is_name = |key: &str| !key.starts_with('$');
    let keys = keys_of_plans();
    assert!(keys.len() > 100, "only {} keys", keys.len());
    let missing: Vec<_> = keys
        .iter()
        .filter(|(key, path)| is_name(key) && !words.contains(key.as_str()) && !of_library(path))
        .collect();
    assert!(missing.is_empty(), "docs/laboratory.md does not name {missing:?}");
}
