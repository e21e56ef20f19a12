//! Plain English of the field: how doc comments begin, and phrases that neither comments nor documents use.

/// Words with which no doc comment begins: they refer to a subject named elsewhere.
const OPENINGS: [&str; 17] = [
    "And", "But", "He", "His", "It", "Its", "She", "So many", "So much", "That", "The same",
    "Their", "They", "Those", "Who", "Whom", "Whose",
];

/// Phrases that have a noun or a preposition of the field in their stead, such as caller, peer, application, number, instead of.
const PHRASES: [&str; 9] = [
    "in the place of",
    "so many",
    "so much",
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "of late",
    "what was sent that",
];

/// The doc comments of a source that begin with one of the openings, and its lines of comment, of docs or not, with one
/// of the phrases, each as its line and its text.
pub(crate) fn faults(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut within = false;
    for (at, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let doc = doc.filter(|rest| !rest.starts_with('/')).map(str::trim);
        let opens_badly = doc.is_some_and(|text| {
            !within && OPENINGS.iter().any(|opening| begins_with(text, opening))
        });
        let comment = doc.or_else(|| line.strip_prefix("//").map(str::trim));
        if let Some(text) = comment.filter(|text| opens_badly || phrase(text).is_some()) {
            found.push((at + 1, text.to_owned()));
        }
        within = doc.is_some();
    }
    found
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
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
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
