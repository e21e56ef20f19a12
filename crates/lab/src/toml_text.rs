//! Errors of a TOML text as compilers write them: line, column, and a sentence.

pub(crate) mod places;

use core::ops::Range;

/// `3:1: unknown key "duraton"; did you mean "duration"?`, with the line and column where `error`
/// is in `text`.
pub fn describe(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map(|span| format!("{}: ", place(text, &span)));
    place.unwrap_or_default() + &sentence(error.message())
}

/// `error` with the line and column of the value or key of `text` that it quotes, if there is one:
/// for errors that are noticed after the text was read.
pub fn placed(text: &str, error: &str) -> String {
    match places::mentioned(&places::entries(text), error) {
        Some(span) => format!("{}: {error}", place(text, &span)),
        None => format!(" {error}"),
    }
}

/// A value as people would write it, more or less.
pub(crate) fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(table) => {
            let parts: Vec<_> =
                table.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
            parts.join(" ")
        }
        toml::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
    }
}

/// Line and column, counted from 1, of the beginning of a span.
pub(crate) fn place(text: &str, span: &Range<usize>) -> String {
    let before: String =
        text.char_indices().take_while(|(at, _)| *at < span.start).map(|(_, c)| c).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|one| *one != '\n').count() + 1;
    format!("{line}:{column}")
}

/// A message on one line, in our words where it is about a key, and with the nearest word of a list
/// of known ones.
pub(crate) fn sentence(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let of_unknown = || {
        let plain = || message.split_once("unknown field `");
        let (before, rest) = plain().or_else(|| message.split_once("unknown key \""))?;
        let (key, rest) = rest.split_once(['`', '"'])?;
        let list = rest.split_once("expected ").map_or("", |(_, list)| list);
        let list = list.trim_start_matches("one of ");
        let known = list.split(", ").flat_map(|part| part.split(" or "));
        let known: Vec<&str> =
            known.map(|one| one.trim_matches(['`', '"'])).filter(|one| !one.is_empty()).collect();
        let advice = match nearest(key, &known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if known.is_empty() => "none is expected here".to_owned(),
            None => format!("expected one of \"{}\"", known.join("\", \"")),
        };
        Some(format!("{before}unknown key \"{key}\"; {advice}"))
    };
    let of_missing = || {
        let (before, key) = message.split_once("missing field `")?;
        Some(format!("{before}the key \"{}\" is missing", key.trim_end_matches('`')))
    };
    let of_list = || {
        let (before, list) = message.split_once("; there are ")?;
        let word = before.rsplit('"').nth(1)?;
        let near = nearest(word, &list.split(", ").collect::<Vec<_>>())?;
        Some(format!("{before}; did you mean \"{near}\"?"))
    };
    of_unknown().or_else(of_missing).or_else(of_list).unwrap_or(message.clone())
}

/// The known word nearest to a misspelt `word`, if one is near enough.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = (word.chars().count() / 3).max(1);
    let distances = known.iter().map(|one| (distance(word, one), *one));
    distances.filter(|(far, _)| *far <= most).min().map(|(_, one)| one)
}

/// Characters to insert, delete, replace or exchange with their neighbours to make one word of the
/// other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (line, letter) in one.iter().enumerate() {
        let mut row = vec![line + 1];
        for (place, found) in other.iter().enumerate() {
            let replaced = rows[line][place] + usize::from(letter != found);
            let mut least = replaced.min(rows[line][place + 1] + 1).min(row[place] + 1);
            if line > 0 && place > 0 && *letter == other[place - 1] && one[line - 1] == *found {
                least = least.min(rows[line - 1][place - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Run {
        #[expect(dead_code)]
        duration: u64,
        #[expect(dead_code)]
        seeds: Option<u64>,
    }

    fn told(text: &str) -> String {
        describe(text, &toml::from_str::<Run>(text).unwrap_err())
    }

    #[test]
    fn a_mistake_has_its_line_and_column_and_what_would_be_right() {
        assert_eq!(
            told("# ä\n\n  duraton = 3\n"),
            "3:3: unknown key \"duraton\"; did you mean \"duration\"?"
        );
        let far = told("xyz = 3\n");
        assert_eq!(far, "1:1: unknown key \"xyz\"; expected one of \"duration\", \"seeds\"");
        assert_eq!(told("duration = 3\nseeds = \"x\"\n").split(": ").next(), Some("2:9"));
        assert_eq!(
            sentence("parameters of \"tank\": unknown field `tonks`, expected `tanks` or `rtt`"),
            "parameters of \"tank\": unknown key \"tonks\"; did you mean \"tanks\"?"
        );
        assert_eq!(
            sentence("unknown key \"xyz\", expected one of kind, rtt"),
            "unknown key \"xyz\"; expected one of \"kind\", \"rtt\""
        );
        assert_eq!(
            sentence("there is no policy \"rcf\" for TCP; there are rfc, thin, latency"),
            "there is no policy \"rcf\" for TCP; did you mean \"rfc\"?"
        );
        assert_eq!(placed("a = 1\nb = \"x\"\n", "\"x\" is no y"), "2:5: \"x\" is no y");
        assert!(told("seeds = 3\n").ends_with("the key \"duration\" is missing"));
        assert!(told("duration = \n").starts_with("1:12: "), "{}", told("duration = \n"));
        assert!(!told("duration = 3\nduration = 4\n").contains('\n'));
    }

    #[test]
    fn words_are_as_far_apart_as_their_letters() {
        let far = |one, other| distance(one, other);
        assert_eq!((far("", "abc"), far("rtt", "rtt"), far("los", "loss")), (3, 0, 1));
        assert_eq!((far("duraton", "duration"), far("sweep", "seeds")), (1, 3));
        assert_eq!((far("rcf", "rfc"), far("abcd", "badc")), (1, 2));
        assert_eq!(nearest("sees", &["duration", "seeds"]), Some("seeds"));
        assert_eq!(nearest("x", &["duration", "seeds"]), None);
    }
}
