//! Plain English of the field: how doc comments begin, what they add to a name, and phrases that neither comments nor
//! documents nor texts for people use.

use super::tokens;

/// Words with which no doc comment begins: they refer to a subject named elsewhere.
const OPENINGS: [&str; 17] = [
    "And", "But", "He", "His", "It", "Its", "She", "So many", "So much", "That", "The same",
    "Their", "They", "Those", "Who", "Whom", "Whose",
];

/// Phrases that have a noun or a preposition of the field in their stead, such as caller, peer, application, number, instead of.
const PHRASES: [&str; 14] = [
    "at the most",
    "hear of",
    "hears of",
    "in the place of",
    "so many",
    "so much",
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "of late",
    "tell of",
    "tells of",
    "what was sent that",
];

/// The doc comments of a source that ask for their subject, such as `What is sent.` or `How many.`, each as its line and
/// its text.
pub(crate) fn questions(source: &str) -> Vec<(usize, String)> {
    let docs: Vec<Option<&str>> = source.lines().map(doc_comment).collect();
    let doc_at = |at: usize| docs.get(at).copied().flatten();
    let mut found = Vec::new();
    for at in 0..docs.len() {
        let Some(text) = doc_at(at).filter(|_| at == 0 || doc_at(at - 1).is_none()) else {
            continue;
        };
        let is_word =
            |word: &String| EMPTY.contains(&word.as_str()) || ASKING.contains(&word.as_str());
        let said = words(text);
        let is_empty = doc_at(at + 1).is_none()
            && said.iter().any(|word| ASKING.contains(&word.as_str()))
            && said.iter().all(is_word);
        if is_empty || begins_with(text, "What") {
            found.push((at + 1, text.to_owned()));
        }
    }
    found
}

/// The text of a line of a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    doc.filter(|rest| !rest.starts_with('/')).map(str::trim)
}

/// The doc comments of a source that begin with one of the openings, and its lines of comment, of docs or not, with one
/// of the phrases, each as its line and its text.
pub(crate) fn faults(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut within = false;
    for (at, line) in source.lines().enumerate() {
        let doc = doc_comment(line);
        let opens_badly = doc.is_some_and(|text| {
            !within && OPENINGS.iter().any(|opening| begins_with(text, opening))
        });
        let comment = doc.or_else(|| line.trim_start().strip_prefix("//").map(str::trim));
        if let Some(text) = comment.filter(|text| opens_badly || phrase(text).is_some()) {
            found.push((at + 1, text.to_owned()));
        }
        within = doc.is_some();
    }
    found
}

/// The lines of the literal texts of a source in Rust with one of the phrases.
pub(crate) fn faults_of_texts(source: &str) -> Vec<(usize, String)> {
    let lines = tokens::lines_of_texts(source).into_iter();
    lines.filter(|(_, line)| phrase(line).is_some()).collect()
}

/// The lines of any other text, such as a plan or a script, with one of the phrases.
pub(crate) fn faults_of_lines(text: &str) -> Vec<(usize, String)> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| phrase(line).is_some());
    lines.map(|(number, line)| (number, line.trim().to_owned())).collect()
}

/// Words of a doc comment that say nothing by themselves.
const EMPTY: [&str; 24] = [
    "a", "an", "and", "are", "at", "be", "by", "for", "from", "in", "is", "it", "its", "of", "on",
    "or", "own", "that", "the", "their", "this", "to", "which", "with",
];

/// Words of questions, of which a doc comment does not consist alone.
const ASKING: [&str; 9] = ["how", "long", "many", "much", "what", "when", "where", "which", "why"];

/// The doc comments of one line that only repeat the name of their item, each as its line and its text.
pub(crate) fn repetitions(source: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_doc = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("///"));
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(doc) = line.strip_prefix("///") else { continue };
        if doc.starts_with('/') || is_doc(at + 1) || at > 0 && is_doc(at - 1) {
            continue;
        }
        let item = lines[at + 1..].iter().find(|line| !line.starts_with("#[") && !line.is_empty());
        let named = item.map(|item| words(name_of(item))).unwrap_or_default();
        let said = words(doc).into_iter().filter(|word| !EMPTY.contains(&word.as_str()));
        let said: Vec<String> = said.map(|word| stem(&word)).collect();
        let named: Vec<String> = named.iter().map(|word| stem(word)).collect();
        if !said.is_empty() && said.iter().all(|word| named.contains(word)) {
            found.push((at + 1, doc.trim().to_owned()));
        }
    }
    found
}

/// The name of the item, field or variant that a line declares.
fn name_of(line: &str) -> &str {
    const KEYWORDS: [&str; 12] = [
        "pub",
        "const",
        "async",
        "struct",
        "enum",
        "union",
        "trait",
        "type",
        "fn",
        "static",
        "mod",
        "macro_rules",
    ];
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
fn words(text: &str) -> Vec<String> {
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

/// The lines of a document in Markdown with one of the phrases, outside of blocks of code and of `code`.
pub(crate) fn faults_of_document(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence && phrase(line).is_some() {
            found.push((at + 1, line.to_owned()));
        }
    }
    found
}

/// A phrase that stands in the text, outside of `code`.
fn phrase(text: &str) -> Option<&'static str> {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`").to_lowercase();
    PHRASES.into_iter().find(|phrase| {
        prose.match_indices(phrase).any(|(at, _)| {
            let before = prose[..at].chars().next_back();
            let after = prose[at + phrase.len()..].chars().next();
            let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !goes_on(before) && !goes_on(after)
        })
    })
}

fn begins_with(text: &str, opening: &str) -> bool {
    let rest = text.strip_prefix(opening);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doc_comment_that_speaks_of_something_else_is_found() {
        let source = "//! That module.\n\n/// Item of it.\n/// It is second.\nfn a() {}\n    /// It's told.\n// It is no doc.\n//// It.";
        assert_eq!(faults(source), [(1, "That module.".to_owned()), (6, "It's told.".to_owned())]);
        assert!(faults("/// Items.\n/// Thatch.\n").is_empty());
        assert!(faults("/// Whole.\nfn a() {}\n/// Butter.\n").is_empty());
    }

    #[test]
    fn a_doc_comment_that_asks_for_its_subject_is_found() {
        let source = "//! What is sent.\n\n/// Bytes.\n/// What was.\nfn a() {}\n    /// How many.\n// What.\n/// Whatever.\n\n/// Why.\n/// Here.\n";
        let expected = [(1, "What is sent."), (6, "How many.")];
        assert_eq!(questions(source), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_doc_comment_that_repeats_the_name_of_its_item_is_found_and_no_other() {
        for (source, is_fault) in [
            ("/// The path.\npub(crate) path: u8,", true),
            ("/// Packets sent.\n#[serde(default)]\npub packets_sent: u64,", true),
            ("/// An option of the kernel.\npub struct KernelOption;", true),
            ("/// The address.\n#[doc(hidden)]\nfn address() {", true),
            ("/// TCP.\nTcp,", true),
            ("/// Its path, by index.\npath: u8,", false),
            ("/// The path.\n/// From 0.\npath: u8,", false),
            ("/// Packets sent, copies among them.\npackets_sent: u64,", false),
            ("// The path.\npath: u8,", false),
        ] {
            assert_eq!(!repetitions(source).is_empty(), is_fault, "{source}");
        }
    }

    #[test]
    fn a_phrase_is_found_in_texts_and_lines() {
        let source = "// nobody\nfn nobody() { say(\"to\\\n  nobody's\", `so many`) }\n";
        assert_eq!(faults_of_texts(source), [(3, "  nobody's\"".to_owned())]);
        let plan = "about = \"so many\"\nkey = `nobody`\nnobody_there = 1\n";
        assert_eq!(faults_of_lines(plan), [(1, "about = \"so many\"".to_owned())]);
    }

    #[test]
    fn a_phrase_is_found_in_the_words_of_a_comment_and_of_a_document() {
        let source = "/// Reads.\n/// Whoever calls: `nobody`.\nfn a() { so many }\n    // It is of late.\n/// Mean of latency.\n";
        assert_eq!(
            faults(source),
            [(2, "Whoever calls: `nobody`.".to_owned()), (4, "It is of late.".to_owned())]
        );
        let document =
            "Nobody's.\n```\nnobody\n```\n| `of late` | so many |\n`a::nobody_b` of latency\n";
        assert_eq!(
            faults_of_document(document),
            [(1, "Nobody's.".to_owned()), (5, "| `of late` | so many |".to_owned())]
        );
    }
}
