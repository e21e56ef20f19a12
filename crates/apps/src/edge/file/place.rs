//! Line and column of an error in a file, and the key that was probably meant.

/// A parser's message on one line, behind the line and column that it is about: `3:1: unknown key "duraton"; did you
/// mean "duration"?`
pub(super) fn describe(text: &str, error: &toml::de::Error) -> String {
    let said = in_words(error.message());
    match error.span() {
        Some(span) => {
            let (line, column) = position(text, span.start);
            format!("{line}:{column}: {said}")
        }
        None => said,
    }
}

/// Line and column of the byte at `offset`, both from 1; columns count characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// What serde says of a key that it does not know names all that it knows; the nearest of them is enough.
fn in_words(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(rest) = message.strip_prefix("unknown field ") else { return message };
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let Some(found) = quoted.next() else { return message };
    let known: Vec<&str> = quoted.collect();
    let nearest = known.iter().map(|key| (distance(found, key), *key)).min();
    match nearest.filter(|(distance, key)| *distance <= key.len().div_ceil(3)) {
        Some((_, key)) => format!("unknown key \"{found}\"; did you mean \"{key}\"?"),
        None => format!("unknown key \"{found}\"; it should be one of {}", known.join(", ")),
    }
}

/// Letters to add, remove or replace that make one word of another (Levenshtein 1966).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], index + 1);
        for (at, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *wanted);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::EdgeFile;

    fn error(text: &str) -> String {
        describe(text, &toml::from_str::<EdgeFile>(text).unwrap_err())
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_what_it_resembles() {
        let text = "address = \"10.78.0.2/24\"\n\n[[service]]\nlisten = 22\n  fordward = \"127.0.0.1:22\"\n";
        assert_eq!(error(text), "5:3: unknown key \"fordward\"; did you mean \"forward\"?");
        let text = "zebra = 1\n";
        let said = error(text);
        assert!(
            said.starts_with("1:1: unknown key \"zebra\"; it should be one of address, "),
            "{said}"
        );
    }

    #[test]
    fn a_wrong_value_and_broken_syntax_are_placed_too() {
        let said = error("mtu = 1500\nmemory = \"lots\"\n");
        assert!(said.starts_with("2:10: ") && said.contains("lots"), "{said}");
        let said = error("mtu = 1500\nmemory = = 3\n");
        assert!(said.starts_with("2:10: ") && !said.contains('\n'), "{said}");
    }

    #[test]
    fn the_distance_of_words_counts_letters_added_removed_and_replaced() {
        for (one, other, expected) in
            [("", "", 0), ("duraton", "duration", 1), ("abc", "", 3), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(one, other), expected);
            assert_eq!(distance(other, one), expected);
        }
    }
}
