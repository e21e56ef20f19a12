//! `[files]`: what a plan read from other files, so that its text alone is whole: shards, a manifest and who gets the
//! plan have it all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use netsim::link::{ProfileStep, parse_profile};
use serde::Deserialize;

use super::PlanError;

/// Contents of files by the names that the plan has for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// A profile given by its lines, or by the name of a file that has them.
    pub(super) fn profile(&self, text: &str) -> Result<Vec<ProfileStep>, PlanError> {
        if !is_name(text) {
            let refused = |error| PlanError::new(format!("network.profile: {error}"));
            return parse_profile(text).map_err(refused);
        }
        let Some(lines) = self.0.get(text) else {
            return Err(PlanError::new(format!(
                "network.profile names a file \"{text}\", which is not among the plan's [files]"
            )));
        };
        parse_profile(lines).map_err(|error| PlanError::new(format!("{text}: {error}")))
    }
}

/// A profile has a time and a value apart on each line; a name has no blanks.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// The text of the plan at `path`, with the files that it names (relative to its folder) behind it as `[files]`.
///
/// # Errors
/// The file that cannot be read or understood, and where.
pub fn read(path: &Path) -> Result<String, PlanError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| PlanError::new(format!("cannot be read: {error}")))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    attach(text, |name| {
        std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string())
    })
}

/// The plan's text with the contents of the files that it names, which `read` gets.
fn attach(
    mut text: String,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<String, PlanError> {
    // What cannot be read is refused later, with its place.
    let Ok(table) = toml::from_str::<toml::Table>(&text) else { return Ok(text) };
    let mut names = BTreeSet::new();
    if let Some(network) = table.get("network") {
        collect(network, &mut names);
    }
    for section in [
        Some(&table),
        table.get("full").and_then(|full| full.as_table()),
        table.get("small").and_then(|small| small.as_table()),
    ] {
        let sweep =
            section.and_then(|section| section.get("sweep")).and_then(|sweep| sweep.as_table());
        for (key, values) in sweep.into_iter().flatten() {
            if key.starts_with("network.") && key.ends_with(".profile") {
                add_names(values, &mut names);
            }
        }
    }
    let known = table.get("files").and_then(|files| files.as_table());
    names.retain(|name| known.is_none_or(|files| !files.contains_key(*name)));
    let mut appended = String::new();
    for name in names {
        let lines = read(name).map_err(|error| PlanError::new(format!("{name}: {error}")))?;
        parse_profile(&lines).map_err(|error| PlanError::new(format!("{name}: {error}")))?;
        appended += &entry(name, &lines);
    }
    if !appended.is_empty() {
        if known.is_some() {
            return Err(PlanError::new("a plan that brings [files] must bring all that it names"));
        }
        text = format!("{}\n\n[files]\n{appended}", text.trim_end());
    }
    Ok(text)
}

/// A file as a line of `[files]`, with its line breaks.
fn entry(name: &str, lines: &str) -> String {
    let lines = lines.replace("\r\n", "\n");
    let plain =
        !lines.contains("'''") && !lines.contains(|c: char| c.is_control() && !"\n\t".contains(c));
    match plain {
        true => format!("{} = '''\n{}\n'''\n", quoted(name), lines.trim_end()),
        false => format!("{} = {}\n", quoted(name), quoted(&lines)),
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn collect<'a>(value: &'a toml::Value, names: &mut BTreeSet<&'a str>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                match key.as_str() {
                    "profile" => add_names(value, names),
                    _ => collect(value, names),
                }
            }
        }
        toml::Value::Array(values) => values.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}

fn add_names<'a>(value: &'a toml::Value, names: &mut BTreeSet<&'a str>) {
    match value {
        toml::Value::String(text) if is_name(text) => drop(names.insert(text)),
        toml::Value::Array(values) => values.iter().for_each(|value| add_names(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "title = \"t\"\n[network]\nkind = \"pair\"\nforward = { profile = \"walk.csv\" }\n\
                        [sweep]\n\"network.backward.profile\" = [\"walk.csv\", \"2s loss=3%\", \"other.csv\"]\n";

    #[test]
    fn a_plan_carries_the_files_that_it_names() {
        let read = |name: &str| Ok(format!("time,delay\r\n1s,{}ms\r\n", name.len()));
        let text = attach(PLAN.to_owned(), read).unwrap();
        assert!(text.starts_with(PLAN.trim_end()));
        let table: toml::Table = toml::from_str(&text).unwrap();
        let files: Files = table["files"].clone().try_into().unwrap();
        assert_eq!(files.0.len(), 2);
        let delay = |name| files.profile(name).unwrap()[0].delay.unwrap().as_millis();
        assert_eq!((delay("walk.csv"), delay("other.csv")), (8, 9));
        // What is whole stays as it is.
        assert_eq!(attach(text.clone(), |_| Err("gone".into())).unwrap(), text);
    }

    #[test]
    fn contents_that_are_hard_to_quote_come_back_all_the_same() {
        for lines in
            ["1s delay=1ms # it's '''\n", "1s delay=1ms # bell \u{7}\n", "1s delay=1ms\n2s loss=1%"]
        {
            let text = format!("[files]\n{}", entry("odd \"name\".csv", lines));
            let table: toml::Table = toml::from_str(&text).unwrap();
            let found = table["files"]["odd \"name\".csv"].as_str().unwrap();
            assert_eq!(found.trim_end(), lines.trim_end());
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        let wrong = |lines: &str| {
            let read = |_: &str| Ok(lines.to_owned());
            attach(PLAN.to_owned(), read).unwrap_err().to_string()
        };
        let error = wrong("time,delay\n1s,5ms\n2s,slow\n");
        assert!(
            error.contains("other.csv") && error.contains("line 3") && error.contains("slow"),
            "{error}"
        );
        let missing = attach(PLAN.to_owned(), |_| Err("no such file".to_owned())).unwrap_err();
        assert!(missing.to_string().contains("other.csv: no such file"));
        let unread = Files::default().profile("walk.csv").unwrap_err().to_string();
        assert!(unread.contains("walk.csv") && unread.contains("[files]"), "{unread}");
    }
}
