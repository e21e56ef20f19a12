//! SECURITY.md names a test for each weakness: every one of them must exist.

use std::path::{Path, PathBuf};

/// Folders in which a test's file may be, seen from the root.
const PLACES: [&str; 7] = [
    "crates/sctp/tests",
    "crates/tcp/tests",
    "crates/tcp/src",
    "crates/io/src",
    "crates/base/src",
    "fuzz/harness/tests",
    "interop/tests",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Tests named as `` `file.rs::function` `` in a text.
fn named_tests(text: &str) -> Vec<(String, String)> {
    let quoted = text.split('`').skip(1).step_by(2);
    let split = quoted.filter_map(|name| name.split_once(".rs::"));
    split.map(|(file, function)| (format!("{file}.rs"), function.to_owned())).collect()
}

/// Whether a function of that name is marked as a test, or stands in a block of property tests.
fn is_test(source: &str, function: &str) -> bool {
    let Some(at) = source.find(&format!("fn {function}(")) else { return false };
    let before = &source[..at];
    before.trim_end().ends_with("#[test]")
}

#[test]
fn every_test_that_the_security_policy_names_exists() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let named = named_tests(&text);
    assert!(named.len() >= 30, "{} tests are named", named.len());
    for (file, function) in named {
        let sources = PLACES.map(|place| std::fs::read_to_string(root().join(place).join(&file)));
        let mut sources = sources.iter().flatten().peekable();
        assert!(sources.peek().is_some(), "{file} is in none of {PLACES:?}");
        assert!(sources.any(|source| is_test(source, &function)), "{file} has no test {function}");
    }
}

#[test]
fn every_weakness_has_a_test_and_a_source() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let rows =
        text.lines().filter(|line| line.starts_with("| CVE-") || line.starts_with("| no number"));
    let mut count = 0;
    for row in rows {
        count += 1;
        assert!(row.contains(".rs::"), "no test: {row}");
        let source = row.split(['[', ']']).nth(1).expect("a source in brackets");
        assert!(text.matches(&format!("[{source}]")).count() >= 2, "source [{source}] is not told");
    }
    assert!(count >= 20, "{count} weaknesses");
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    let source = "#[test]\nfn a_thing_works() {}\nfn helper() {}\n";
    assert!(is_test(source, "a_thing_works"));
    assert!(!is_test(source, "a_thing") && !is_test(source, "helper"));
    assert_eq!(named_tests("see `a/b.rs::c` and `d`"), [("a/b.rs".into(), "c".into())]);
}
