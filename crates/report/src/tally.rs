//! Numbers of rows by verdict: predictions paper by paper and by claim, other rows beside them by
//! kind. The two are never added up.

use core::fmt::Write as _;

use super::document::{Comparison, Section};
use lab::plan::{Claim, RowKind};
use lab::verdict::Word;

/// The words that a prediction can earn, in the order of the columns.
const EARNED: [Word; 5] =
    [Word::Same, Word::SameDirection, Word::Differs, Word::NotDecided, Word::NotMeasured];

/// `3 same, 1 differs`: the words of these rows, those alone that there are.
fn words<'a>(rows: impl Iterator<Item = &'a Comparison> + Clone) -> String {
    let told = Word::JUDGEMENTS.into_iter().filter_map(|word| {
        let count = rows.clone().filter(|row| row.agreement() == word).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    told.collect::<Vec<_>>().join(", ")
}

fn is_reported(row: &Comparison) -> bool {
    row.verdict != Word::NotReported
}

/// Number of rows of each verdict: `3 same, 1 differs; beside them fitted: 4 same; 2 not reported`.
/// The part before the first semicolon is of predictions only.
pub fn counts<'a>(rows: impl Iterator<Item = &'a Comparison> + Clone) -> String {
    let of_kind = |kind: RowKind| rows.clone().filter(move |row| row.kind == kind);
    let predictions = words(of_kind(RowKind::Prediction).filter(|row| is_reported(row)));
    let others: Vec<String> = RowKind::ALL[1..]
        .iter()
        .map(|kind| (kind, words(of_kind(*kind))))
        .filter(|(_, words)| !words.is_empty())
        .map(|(kind, words)| format!("{kind}: {words}"))
        .collect();
    let silent = rows.clone().filter(|row| !is_reported(row)).count();
    let silent = (silent > 0).then(|| format!("{silent} {}", Word::NotReported));
    let predictions = match predictions.is_empty() && others.len() + silent.iter().len() > 0 {
        true => "no prediction".to_owned(),
        false => predictions,
    };
    let all = [predictions].into_iter().filter(|text| !text.is_empty()).chain(others).chain(silent);
    all.collect::<Vec<_>>().join("; ")
}

/// Papers in the order of a report, each with its rows.
fn by_paper(sections: &[Section]) -> Vec<(&str, Vec<&Comparison>)> {
    let mut papers: Vec<(&str, Vec<&Comparison>)> = Vec::new();
    for section in sections {
        let name = section.group.as_deref().unwrap_or("others");
        let place = papers.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            papers.push((name, Vec::new()));
            papers.len() - 1
        });
        papers[place].1.extend(&section.comparisons);
    }
    papers.retain(|(_, rows)| !rows.is_empty());
    papers
}

/// The headline of a report as Markdown: predictions by paper and claim, then all other rows by
/// paper and kind.
pub(super) fn headline(sections: &[Section]) -> String {
    let papers = by_paper(sections);
    if papers.is_empty() {
        return String::new();
    }
    let columns: Vec<String> = EARNED.map(|word| word.to_string()).into();
    let mut text = format!(
        "Predictions, by what the paper claims; a claim of no effect is met by whatever changes nothing:\n\n| paper | claims | {} |\n|---|---|{}\n",
        columns.join(" | "),
        "--:|".repeat(columns.len())
    );
    for (paper, rows) in &papers {
        for claim in Claim::ALL {
            let is_it = |row: &&&Comparison| {
                row.kind == RowKind::Prediction && row.claim == claim && is_reported(row)
            };
            let rows: Vec<&&Comparison> = rows.iter().filter(is_it).collect();
            if rows.is_empty() {
                continue;
            }
            let count = |word| rows.iter().filter(|row| row.agreement() == word).count();
            let cells = EARNED.map(|word| count(word).to_string());
            // Writing to a string does not fail.
            let _ = writeln!(text, "| {paper} | {claim} | {} |", cells.join(" | "));
        }
    }
    text += "\nBeside them, no predictions: what was put in, what a model was fitted to, bounds of ours where the paper has words, and our own measurements of a kernel, with how they came out; and what the papers do not report:\n\n| paper | input | fitted | bound | measured | not reported |\n|---|---|---|---|---|--:|\n";
    for (paper, rows) in &papers {
        let of_kind = |kind: RowKind| rows.iter().copied().filter(move |row| row.kind == kind);
        let cells: Vec<String> =
            RowKind::ALL[1..].iter().map(|kind| words(of_kind(*kind))).collect();
        let silent = rows.iter().filter(|row| !is_reported(row)).count();
        let _ = writeln!(text, "| {paper} | {} | {silent} |", cells.join(" | "));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: RowKind, verdict: Word, agreement: Option<Word>) -> Comparison {
        Comparison { kind, verdict, agreement, ..Comparison::sample() }
    }

    fn rows() -> Vec<Comparison> {
        vec![
            row(RowKind::Prediction, Word::Same, None),
            row(RowKind::Prediction, Word::Differs, None),
            row(RowKind::Prediction, Word::NotReported, None),
            row(RowKind::Fitted, Word::Fitted, Some(Word::Same)),
            row(RowKind::Fitted, Word::Fitted, Some(Word::Same)),
            row(RowKind::Bound, Word::Bound, Some(Word::Differs)),
        ]
    }

    #[test]
    fn predictions_are_counted_alone_and_all_others_beside_them_by_kind() {
        let all = rows();
        let told = counts(all.iter());
        assert_eq!(told, "1 same, 1 differs; fitted: 2 same; bound: 1 differs; 1 not reported");
        assert_eq!(counts(all[3..].iter()), "no prediction; fitted: 2 same; bound: 1 differs");
        assert_eq!(counts(all[..0].iter()), "");
    }

    #[test]
    fn a_headline_has_a_line_for_each_paper_and_claim_and_no_sum_of_both_tables() {
        let section = |group: &str, claim| Section {
            group: Some(group.to_owned()),
            comparisons: rows().into_iter().map(|row| Comparison { claim, ..row }).collect(),
            ..Section::default()
        };
        let text = headline(&[
            section("one", Claim::Number),
            section("two", Claim::Direction),
            section("one", Claim::Number),
        ]);
        for line in [
            "| one | number | 2 | 0 | 2 | 0 | 0 |\n",
            "| two | direction | 1 | 0 | 1 | 0 | 0 |\n",
            "| one |  | 4 same | 2 differs |  | 2 |\n",
            "| two |  | 2 same | 1 differs |  | 1 |\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(!text.contains("| 3 |") && headline(&[]).is_empty());
    }
}
