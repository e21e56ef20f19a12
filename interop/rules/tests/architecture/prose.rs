//! Plain English of the field: how doc comments and their paragraphs begin, and phrases that
//! neither comments nor documents nor texts for people use.

use super::languages::{Kind, Piece};
use super::repetitions::{EMPTY, words};
use super::tokens;

/// Words with which no paragraph of a doc comment begins: they refer to a subject named elsewhere,
/// or ask for it.
const OPENINGS: [&str; 20] = [
    "And", "But", "He", "His", "How", "It", "Its", "She", "So many", "So much", "That", "The same",
    "Their", "They", "Those", "Which", "Who", "Whom", "Whose", "Why",
];

/// Words with which no doc comment begins: the clause or phrase behind them stands for a noun of
/// the field, such as number, time, reason, position.
const WITHOUT_NOUN: [&str; 21] = [
    "Anything",
    "As",
    "By",
    "Does as",
    "Everything",
    "From",
    "How",
    "In",
    "Likewise",
    "None",
    "Of",
    "Others",
    "Same",
    "Something",
    "Such",
    "What",
    "When",
    "Where",
    "Which",
    "Why",
    "With",
];

/// Words that stand for a noun themselves where one of [`NO_NOUNS`] follows, as in `One in eight`
/// or `More is known`, and with which no doc comment begins then.
const PRONOUNS: [&str; 2] = ["More", "One"];
const NO_NOUNS: [&str; 12] =
    ["arrives", "does", "for", "has", "in", "is", "since", "than", "that", "was", "whose", "with"];

/// Names of programs and libraries that are written in small letters, at the beginning, too.
const IN_SMALL_LETTERS: [&str; 10] = [
    "aiortc",
    "dcsctp",
    "libdatachannel",
    "pion",
    "quinn",
    "sctp-proto",
    "thinstream",
    "tshark",
    "usrsctp",
    "webrtc-rs",
];

/// Prepositions with which no doc comment begins where a word of a question follows, as in `For how
/// long`.
const PREPOSITIONS: [&str; 12] = [
    "After", "At", "Before", "Behind", "Between", "Beyond", "For", "On", "Over", "Since", "To",
    "Until",
];

/// Phrases that have a noun or a preposition of the field in their stead, such as caller, peer,
/// application, number, instead of.
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

/// The doc comments of a source that ask for their subject, such as `What is sent.` or `How many.`,
/// or have none, such as `From the client.`, each as its line and its text.
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
        if is_empty || has_no_noun(text) {
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

/// The paragraphs of doc comments of a source in Rust that begin with one of the openings, and its
/// lines of comment, of docs or not, with one of the phrases, each as its line and its text.
pub(crate) fn faults(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut paragraphs = Paragraphs::default();
    for (at, line) in source.lines().enumerate() {
        let doc = doc_comment(line);
        let opens_badly = paragraphs.begin_with(doc) && doc.is_some_and(opens_badly);
        let comment = doc.or_else(|| line.trim_start().strip_prefix("//").map(str::trim));
        if let Some(text) = comment.filter(|text| opens_badly || phrase(text).is_some()) {
            found.push((at + 1, text.to_owned()));
        }
    }
    found
}

/// Whether a doc comment that begins with this text has no noun for its subject.
fn has_no_noun(text: &str) -> bool {
    let mut words = text.split_whitespace().map(|word| word.trim_end_matches([',', ':', ';', '.']));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_one_of = |all: &[&str]| all.iter().any(|one| first.eq_ignore_ascii_case(one));
    WITHOUT_NOUN.iter().any(|opening| begins_with(text, opening))
        || ASKING.contains(&second) && is_one_of(&PREPOSITIONS)
        || NO_NOUNS.contains(&second) && is_one_of(&PRONOUNS)
        || continues(first)
}

/// Whether a word at the beginning of a doc comment continues a sentence: in small letters, but
/// neither code nor a name.
fn continues(first: &str) -> bool {
    let first = first.strip_suffix("'s").unwrap_or(first);
    let is_small = |c: char| c.is_ascii_lowercase() || c == '-';
    first.starts_with(|c: char| c.is_ascii_lowercase())
        && first.chars().all(is_small)
        && !IN_SMALL_LETTERS.contains(&first)
}

/// The faults of a source in another language, by its pieces, and its doc comments without a
/// subject. The signs that mark code in a comment mark none in a text for people.
pub(crate) fn faults_of_pieces(pieces: &[Piece]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for piece in pieces {
        let mut paragraphs = Paragraphs::default();
        let is_doc = piece.kind == Kind::Doc;
        let first = piece.lines.iter().position(|text| !text.is_empty()).unwrap_or(0);
        for (at, text) in piece.lines.iter().enumerate() {
            let begins = is_doc && paragraphs.begin_with(Some(text));
            let is_fault = match piece.kind {
                Kind::Text => phrase_in(text).is_some(),
                Kind::Doc | Kind::Comment => phrase(text).is_some(),
            };
            if is_fault || begins && (opens_badly(text) || at == first && has_no_noun(text)) {
                found.push((piece.line + at, text.clone()));
            }
        }
    }
    found
}

/// Finds where the paragraphs of doc comments begin, outside of blocks of code.
#[derive(Default)]
struct Paragraphs {
    within: bool,
    fenced: bool,
}

impl Paragraphs {
    /// Whether the next line, or none that is a doc comment, begins a paragraph.
    fn begin_with(&mut self, doc: Option<&str>) -> bool {
        let begins = !self.within && !self.fenced;
        self.fenced = doc.is_some_and(|text| text.starts_with("```") != self.fenced);
        self.within = doc.is_some_and(|text| !text.is_empty());
        begins
    }
}

fn opens_badly(text: &str) -> bool {
    OPENINGS.iter().any(|opening| begins_with(text, opening))
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

/// Words of questions, of which a doc comment does not consist alone.
const ASKING: [&str; 11] =
    ["how", "long", "many", "much", "what", "when", "where", "which", "whom", "whose", "why"];

/// The lines of a document in Markdown with one of the phrases, outside of blocks of code and of
/// `code`.
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

/// A phrase that stands in the text, outside of `code` and of ``code``.
fn phrase(text: &str) -> Option<&'static str> {
    let text = text.replace("``", "`");
    phrase_in(&text.split('`').step_by(2).collect::<Vec<_>>().join("`"))
}

/// A phrase that stands anywhere in the text.
fn phrase_in(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    PHRASES.into_iter().find(|phrase| {
        text.match_indices(phrase).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + phrase.len()..].chars().next();
            let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !goes_on(before) && !goes_on(after)
        })
    })
}

/// Whether a text begins with these words, whatever the case of their letters.
fn begins_with(text: &str, opening: &str) -> bool {
    let begins = text.get(..opening.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(opening));
    let goes_on = |next: char| next.is_alphanumeric() || next == '-';
    begins && !text[opening.len()..].starts_with(goes_on)
}

#[cfg(test)]
mod tests {
    use super::super::languages;
    use super::*;

    #[test]
    fn a_doc_comment_that_speaks_of_something_else_is_found() {
        let source = "//! That module.\n\n/// Item of it.\n/// It is second.\nfn a() {}\n    /// It's told.\n// It is no doc.\n//// It.";
        assert_eq!(faults(source), [(1, "That module.".to_owned()), (6, "It's told.".to_owned())]);
        assert!(faults("/// Items.\n/// Thatch.\n").is_empty());
        assert!(faults("/// Whole.\nfn a() {}\n/// Butter.\n").is_empty());
    }

    #[test]
    fn a_later_paragraph_that_speaks_of_something_else_is_found() {
        let source = "//! Links.\n//!\n//! The same seed.\n//! It is second.\n//!\n//! ```\n//! let a = 1;\n//!\n//! It;\n//! ```\n//! Those.\n//!\n//! Its.\n";
        assert_eq!(faults(source), [(3, "The same seed.".to_owned()), (13, "Its.".to_owned())]);
    }

    #[test]
    fn faults_of_typescript_are_found_in_doc_comments_and_texts() {
        let source = "/** Its own time. */\n/** It as a picture.\n *\n * The same with its unit.\n */\n// `nobody` It\nconst ITS = {};\nsays(3, `Lost. Nobody knows: ${\"so many\"} ${nobody}.`);\n/** What is shown. */\n/**\n * To whom.\n *\n * In turns.\n */\n";
        let expected = [
            (1, "Its own time."),
            (2, "It as a picture."),
            (4, "The same with its unit."),
            (8, "so many"),
            (8, "Lost. Nobody knows: {} {}."),
            (9, "What is shown."),
            (11, "To whom."),
        ];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(faults_of_pieces(&languages::of_typescript(source)), expected);
    }

    #[test]
    fn faults_of_python_are_found_in_docstrings_comments_and_texts() {
        let source = "def of_lab(path):\n    \"\"\"The same, by policy.\n\n    It returns ``so many``.\n    \"\"\"\n    # Whoever calls: It, `nobody`.\n    print(f'of late {It}')\n";
        let expected = [
            (2, "The same, by policy."),
            (4, "It returns ``so many``."),
            (6, "Whoever calls: It, `nobody`."),
            (7, "of late {It}"),
        ];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(faults_of_pieces(&languages::of_python(source)), expected);
    }

    #[test]
    fn a_doc_comment_that_asks_for_its_subject_is_found() {
        let source = "//! What is sent.\n\n/// Bytes.\n/// What was.\nfn a() {}\n    /// How many.\n// What.\n/// Whatever.\n\n/// Why.\n/// Here.\n";
        let expected = [(1, "What is sent."), (6, "How many."), (10, "Why.")];
        assert_eq!(questions(source), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_doc_comment_without_a_noun_is_found() {
        for text in [
            "How many packets.",
            "When the last SACK arrived.",
            "Where it stands.",
            "Which side.",
            "As it is by default.",
            "Of the client.",
            "From the client.",
            "None: no limit.",
            "By time.",
            "With a notice.",
            "In short.",
            "For how long.",
            "Between which addresses.",
            "of this other measure,",
            "in these cells.",
            "Likewise of SCTP.",
            "One in eight does.",
            "More is known of a packet.",
            "Does as [`push`], for one host.",
            "what is sent.",
            "and the others.",
        ] {
            let source = format!("/// {text}\nfn a() {{}}\n");
            assert_eq!(questions(&source), [(1, text.to_owned())]);
        }
        for text in [
            "Whether it is sent.",
            "In-order data.",
            "Time when all was sent.",
            "Before the end.",
            "One packet in eight.",
            "`of` a flow.",
            "pion, in a process.",
            "p50 in ms.",
            "bind() to an address.",
            "Number.\n///\n/// When it ends, so does this.",
        ] {
            assert_eq!(questions(&format!("/// {text}\nfn a() {{}}\n")), []);
        }
        let source = "/// Number.\n///\n/// How many.\nfn a() {}\n";
        assert_eq!(faults(source), [(3, "How many.".to_owned())]);
    }

    #[test]
    fn a_doc_comment_of_words_of_questions_alone_is_found() {
        let source = "/// For each, how many.\nfn a() {}\n";
        let expected = [(1, "For each, how many.")];
        assert_eq!(questions(source), expected.map(|(line, text)| (line, text.to_owned())));
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
