//! Places of keys and values in a TOML text, for errors that are noticed after it was read.

use core::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key of a text, or an entry of an array, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Keys and numbers of array entries, from the outermost to its own.
    path: Vec<String>,
    /// Position of the key, or of the entry of the array, in bytes of the text.
    pub(crate) key: Range<usize>,
    /// Position of the value, in bytes of the text.
    pub(crate) value: Range<usize>,
    /// The value, if it is a string, a number or a switch.
    text: Option<String>,
}

/// All keys and values of a text, in their order; nothing if it is no TOML.
pub(crate) fn entries(text: &str) -> Vec<Entry> {
    let mut all = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        of_table(&[], table.get_ref(), &mut all);
    }
    all.sort_by_key(|entry| entry.key.start);
    all
}

fn of_table(path: &[String], table: &DeTable<'_>, all: &mut Vec<Entry>) {
    for (key, value) in table {
        of_value([path, &[key.get_ref().to_string()]].concat(), key.span(), value, all);
    }
}

fn of_value(
    path: Vec<String>,
    key: Range<usize>,
    value: &Spanned<DeValue<'_>>,
    all: &mut Vec<Entry>,
) {
    let text = match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(switch) => Some(switch.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    };
    all.push(Entry { path: path.clone(), key, value: value.span(), text });
    match value.get_ref() {
        DeValue::Table(table) => of_table(&path, table, all),
        DeValue::Array(values) => {
            for (place, one) in values.iter().enumerate() {
                of_value([&path[..], &[place.to_string()]].concat(), one.span(), one, all);
            }
        }
        _ => {}
    }
}

/// First entry with exactly this path of keys.
pub(crate) fn find<'a>(entries: &'a [Entry], path: &[&str]) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.path == path)
}

/// The place that an error is about: the last key with a dot, quoted value or quoted key that the
/// first clause of its message names and the text has.
pub(crate) fn mentioned(entries: &[Entry], message: &str) -> Option<Range<usize>> {
    let clause = message.split("; ").next().unwrap_or_default();
    let quoted = || clause.split('"').skip(1).step_by(2);
    let value = |word: &str| {
        let is_it = |entry: &&Entry| entry.text.as_deref() == Some(word);
        entries.iter().find(is_it).map(|entry| entry.value.clone())
    };
    let key = |word: &str| {
        let is_it = |entry: &&Entry| entry.path.last().is_some_and(|key| key == word);
        entries.iter().find(is_it).map(|entry| entry.key.clone())
    };
    let dotted = || {
        let words = clause.split([' ', ',', ':']).filter(|word| word.contains('.'));
        let of_word = |word: &str| find(entries, &word.split('.').collect::<Vec<_>>());
        let found = words.filter_map(of_word).next()?;
        Some(if found.text.is_some() { found.value.clone() } else { found.key.clone() })
    };
    quoted().filter_map(value).last().or_else(dotted).or_else(|| quoted().filter_map(key).last())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[run]\nseeds = 0\n[[flow]]\nname = \"a\"\n[measure]\nlatency = { of = \"b\" }\n[sweep]\n\"flow.a.polcy\" = [\"thin\", \"rfc\"]\n";

    #[test]
    fn what_an_error_names_is_found_in_the_text() {
        let entries = entries(TEXT);
        let told = |message: &str| mentioned(&entries, message).map(|place| &TEXT[place]);
        assert_eq!(told("run.seeds is 0: nothing would run; give 1"), Some("0"));
        assert_eq!(told("measure of \"b\": there is no such flow; there is \"a\""), Some("\"b\""));
        assert_eq!(told("flow \"a\": its workload is none; give one"), Some("\"a\""));
        assert_eq!(told("measure.latency needs more"), Some("latency"));
        assert_eq!(told("sweep \"flow.a.polcy\": it names nothing"), Some("\"flow.a.polcy\""));
        assert_eq!(told("something else is wrong; did you mean \"a\"?"), None);
        let second = find(&entries, &["sweep", "flow.a.polcy", "1"]).unwrap();
        assert_eq!(&TEXT[second.value.clone()], "\"rfc\"");
        assert_eq!(super::entries("not TOML"), []);
    }
}
