//! Doc comments that only repeat names: those of their item, of the items around it, and of its
//! file.

use super::languages::{Kind, Piece};

/// Words of a doc comment that say nothing by themselves.
pub(crate) const EMPTY: [&str; 81] = [
    "a",
    "add",
    "adds",
    "all",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "by",
    "changes",
    "creates",
    "current",
    "each",
    "far",
    "for",
    "from",
    "given",
    "had",
    "has",
    "have",
    "holds",
    "in",
    "into",
    "is",
    "it",
    "item",
    "its",
    "kind",
    "makes",
    "name",
    "names",
    "new",
    "now",
    "number",
    "numbers",
    "of",
    "on",
    "one",
    "option",
    "options",
    "or",
    "own",
    "parameter",
    "parameters",
    "present",
    "removes",
    "returns",
    "sets",
    "setting",
    "settings",
    "so",
    "some",
    "sort",
    "state",
    "states",
    "such",
    "that",
    "the",
    "their",
    "them",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "to",
    "type",
    "value",
    "values",
    "was",
    "were",
    "whether",
    "which",
    "whose",
    "with",
    "within",
];

/// Words that declare an item of Rust, TypeScript or Python, or stand before its name.
const KEYWORDS: [&str; 25] = [
    "abstract",
    "async",
    "class",
    "const",
    "def",
    "default",
    "enum",
    "export",
    "extern",
    "fn",
    "function",
    "impl",
    "interface",
    "let",
    "macro_rules",
    "mod",
    "namespace",
    "pub",
    "readonly",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
];

/// The doc comments of one line in a source in Rust that only repeat names, each as its line and
/// its text. The file is given by its path.
pub(crate) fn of_rust(file: &str, source: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let is_doc = |at: usize| lines.get(at).is_some_and(|line| line.trim().starts_with("///"));
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(doc) = line.trim().strip_prefix("///") else { continue };
        if doc.starts_with('/') || is_doc(at + 1) || at > 0 && is_doc(at - 1) {
            continue;
        }
        let is_attribute = |line: &&&str| line.trim().starts_with("#[") || line.trim().is_empty();
        let item = lines[at + 1..].iter().find(|line| !is_attribute(line));
        let item = item.map(|item| names_of(item)).unwrap_or_default();
        let names = [item, around(&lines, at), module(file)].concat();
        if repeats(doc, &names) {
            found.push((at + 1, doc.trim().to_owned()));
        }
    }
    found
}

/// The doc comments of one line in a source in TypeScript, given with its pieces, that only repeat
/// names.
pub(crate) fn of_typescript(file: &str, source: &str, pieces: &[Piece]) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (at, doc) in docs_of_one_line(pieces) {
        let item = lines.get(at + 1).map(|item| names_of(item)).unwrap_or_default();
        let names = [item, around(&lines, at), module(file)].concat();
        if repeats(doc, &names) {
            found.push((at + 1, doc.to_owned()));
        }
    }
    found
}

/// The docstrings of one line in a source in Python, given with its pieces, that only repeat names.
/// They follow the line that declares their item.
pub(crate) fn of_python(file: &str, source: &str, pieces: &[Piece]) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (at, doc) in docs_of_one_line(pieces) {
        let names = [around(&lines, at), module(file)].concat();
        if repeats(doc, &names) {
            found.push((at + 1, doc.to_owned()));
        }
    }
    found
}

/// Doc comments of one line, each as its line from 0 and its text.
fn docs_of_one_line(pieces: &[Piece]) -> impl Iterator<Item = (usize, &str)> {
    let docs = pieces.iter().filter(|piece| piece.kind == Kind::Doc);
    docs.filter_map(|piece| match &piece.lines[..] {
        [text] => Some((piece.line - 1, text.as_str())),
        _ => None,
    })
}

/// Whether each word of a doc comment is one of the names', or begins with one as `milliseconds`
/// does with `millis`, or says nothing by itself.
fn repeats(doc: &str, names: &[&str]) -> bool {
    let named: Vec<String> = names.iter().flat_map(|name| words(name)).map(|w| stem(&w)).collect();
    let is_named = |word: &str| {
        named.iter().any(|name| word == name || name.len() > 3 && word.starts_with(name))
    };
    let said = words(&doc.replace("'s", ""));
    let says = |word: &String| !EMPTY.contains(&word.as_str()) && !is_named(&stem(word));
    !said.is_empty() && !said.iter().any(says)
}

/// Names of the module that a file is: of its own, or of its folder, and of its crate for the root.
fn module(file: &str) -> Vec<&str> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let stem = name.split('.').next().unwrap_or_default();
    if !["lib", "main", "mod", "index", "__init__"].contains(&stem) {
        return vec![stem];
    }
    let mut folders = folder.rsplit('/').filter(|folder| *folder != "src");
    folders.next().into_iter().collect()
}

/// Names of the items that enclose a line, the innermost first: for `impl Trait for Type` both.
fn around<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut names = Vec::new();
    let mut inside = indent(lines[at]);
    for line in lines[..at].iter().rev() {
        if inside == 0 {
            break;
        }
        if line.trim().is_empty() || indent(line) >= inside || !declares(line) {
            continue;
        }
        inside = indent(line);
        if line.trim_start().starts_with("impl") {
            names.extend(line.split(|c: char| !c.is_alphanumeric() && c != '_').skip(1));
        } else {
            names.push(name_of(line));
        }
    }
    names
}

/// Whether a line declares an item or a variant with items of its own.
fn declares(line: &str) -> bool {
    let line = line.trim();
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let first = words.next().unwrap_or_default();
    let is_variant = first.starts_with(char::is_uppercase) && line.ends_with(['{', '(']);
    is_variant || KEYWORDS.contains(&first)
}

/// The name of the item, field or variant that a line declares, and the names in its type, of its
/// arguments and of its result.
fn names_of(line: &str) -> Vec<&str> {
    let declaration = line.split([';', '=']).next().unwrap_or_default();
    let name = name_of(declaration);
    let (_, rest) = declaration.split_once(name).unwrap_or_default();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let others = rest.split(|c: char| !is_name(c)).filter(|part| !part.is_empty());
    std::iter::once(name).chain(others).collect()
}

/// The name of the item, field or variant that a line declares.
fn name_of(line: &str) -> &str {
    let mut parts =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|p| !p.is_empty());
    let line_has = |inside: &str| line.contains(&format!("({inside}"));
    parts
        .find(|part| {
            let is_scope = ["crate", "super", "in"].contains(part) && line_has(part);
            !KEYWORDS.contains(part) && !is_scope
        })
        .unwrap_or_default()
}

/// The words of a text or a name, in small letters: `snake_case` and `CamelCase` are several.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in text.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        before = letter;
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A word without an ending of plurals and verbs.
fn stem(word: &str) -> String {
    let ending = ["ing", "ed", "es", "s", "e"].into_iter().find_map(|end| word.strip_suffix(end));
    ending.filter(|stem| stem.len() > 2).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::languages;
    use super::*;

    fn is_fault(file: &str, source: &str) -> bool {
        !of_rust(file, source).is_empty()
    }

    #[test]
    fn a_doc_comment_that_repeats_the_name_of_its_item_is_found_and_no_other() {
        for (source, expected) in [
            ("/// The path.\npub(crate) path: u8,", true),
            ("/// Packets sent.\n#[serde(default)]\npub packets_sent: u64,", true),
            ("/// An option of the kernel.\npub struct KernelOption;", true),
            ("/// The address.\n#[doc(hidden)]\nfn address() {", true),
            ("/// TCP.\nTcp,", true),
            ("/// Number of the flow.\npub flow: u32,", true),
            ("/// Adds a member.\npub fn insert(&mut self, member: T) {", true),
            ("/// Identifier of the path.\nidentifier: PathId,", true),
            ("/// Milliseconds.\nmillis: u16,", true),
            ("/// Statistics so far.\npub fn statistics(&self) -> S {", true),
            ("/// All of these.\nname: T,", true),
            ("/// `...`\nAny,", false),
            ("/// Flow, from 0.\npub flow: u32,", false),
            ("/// Microseconds.\nfn time(self) -> u64 {", false),
            ("/// Its path, by index.\npath: u8,", false),
            ("/// The path.\n/// From 0.\npath: u8,", false),
            ("/// Packets sent, copies among them.\npackets_sent: u64,", false),
            ("// The path.\npath: u8,", false),
        ] {
            assert_eq!(is_fault("src/a.rs", source), expected, "{source}");
        }
    }

    #[test]
    fn the_names_around_an_item_and_of_its_file_add_nothing() {
        let method = "impl<T> Endpoint<T>\nwhere\n    T: Clone,\n{\n    fn other() {\n    }\n\n    /// Options of the endpoint.\n    pub fn options(&self) {}\n}\n";
        assert!(is_fault("src/a.rs", method));
        assert!(!is_fault("src/a.rs", &method.replace("<T> Endpoint", "<T> Node")));
        assert!(is_fault("src/endpoint.rs", &method.replace("<T> Endpoint", "<T> Node")));
        let field = "enum Event {\n    Sent {\n        /// Packet number.\n        packet: PacketNumber,\n    },\n}\n";
        assert!(is_fault(
            "src/event.rs",
            &field.replace("packet: ", "number: ").replace("Sent", "Packet")
        ));
        assert!(is_fault(
            "src/a.rs",
            "impl Ask for Delay {\n    /// Asks for the delay.\n    fn of() {}\n}\n"
        ));
        assert!(is_fault("crates/netsim/src/lib.rs", "/// Error of netsim.\nenum Error {}\n"));
        // A function beside the item is not around it.
        assert!(!is_fault(
            "src/a.rs",
            "fn endpoint() {}\n\n/// Options of the endpoint.\nfn options() {}\n"
        ));
    }

    #[test]
    fn repetitions_in_typescript_and_python_are_found() {
        let source = "export class Chart {\n  /** The chart's width. */\n  width: number;\n  /** Width in pixels. */\n  wide: number;\n}\n";
        let found = of_typescript("web/a.ts", source, &languages::of_typescript(source));
        assert_eq!(found, [(2, "The chart's width.".to_owned())]);
        let source = "class Plan:\n    def flows(self):\n        \"\"\"The flows of the plan.\"\"\"\n\n    def seeds(self):\n        \"\"\"Seeds from 1.\"\"\"\n";
        let found = of_python("a.py", source, &languages::of_python(source));
        assert_eq!(found, [(3, "The flows of the plan.".to_owned())]);
    }
}
