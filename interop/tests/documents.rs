//! The documents keep what they promise: Rust code in them is compiled.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// README.md and the pages of docs/, as paths from the root.
fn documents() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("docs");
    let names = entries.map(|entry| Path::new("docs").join(entry.expect("an entry").file_name()));
    let pages = names.filter(|name| name.extension().is_some_and(|ending| ending == "md"));
    pages.chain([PathBuf::from("README.md")]).collect()
}

/// What stands behind the opening fences of a document's blocks: the names of their languages.
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
