//! How doc comments begin: with their subject.

/// Words with which no doc comment begins: they speak of something that stands elsewhere.
const OPENINGS: [&str; 6] = ["It", "Its", "That", "Those", "The same", "So many"];

/// The doc comments of a source that begin with one of these, each as its line and its first text.
pub(crate) fn faults(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut within = false;
    for (at, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let text = doc.filter(|rest| !rest.starts_with('/')).map(str::trim);
        if let Some(text) = text.filter(|_| !within)
            && OPENINGS.iter().any(|opening| begins_with(text, opening))
        {
            found.push((at + 1, text.to_owned()));
        }
        within = text.is_some();
    }
    found
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
    }
}
