//! Combinations of the values of varied keys.

use core::fmt;
use std::collections::BTreeMap;

use super::error::PlanError;
use crate::toml_text::plain;

/// A dotted path to a value of the plan: `network.rtt`, `flow.NAME.policy`,
/// `flow.NAME,NAME.workload.arrivals`; or any other word, whose values are tables with several such
/// paths that change together.
pub type Key = String;

/// One combination of varied values.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cell(pub Vec<(Key, toml::Value)>);

/// Lists of swept values by key.
pub(super) type Lists = BTreeMap<Key, Vec<toml::Value>>;

/// Largest number of combinations; each takes about 13 kB.
const LIMIT: usize = 100_000;

/// All combinations; the last key varies fastest.
pub(super) fn expand(lists: &Lists) -> Result<Vec<Cell>, PlanError> {
    let mut cells = vec![Cell::default()];
    for (key, values) in lists {
        if values.is_empty() {
            return Err(PlanError::new(format!(
                "sweep \"{key}\" has no values; give one at least"
            )));
        }
        if cells.len().saturating_mul(values.len()) > LIMIT {
            return Err(PlanError::new(format!("the sweep has more than {LIMIT} combinations")));
        }
        cells = cells
            .into_iter()
            .flat_map(|cell| {
                values.iter().map(move |value| {
                    let mut cell = cell.clone();
                    cell.0.push((key.clone(), value.clone()));
                    cell
                })
            })
            .collect();
    }
    Ok(cells)
}

impl Cell {
    /// Replaces the plan's values by those of the cell.
    pub(crate) fn apply(&self, plan: &mut toml::Table) -> Result<(), PlanError> {
        self.0.iter().try_for_each(|(key, value)| set(plan, key, value))
    }

    /// The values of its keys as text.
    pub fn texts(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(key, value)| (key.clone(), value_text(value))).collect()
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> =
            self.0.iter().map(|(key, value)| format!("{key} = {}", value_text(value))).collect();
        f.write_str(&parts.join(", "))
    }
}

/// The value that rows write like this: a known one, or the text read as TOML.
pub(super) fn value(text: &str, known: &[toml::Value]) -> toml::Value {
    let is_it = |value: &&toml::Value| value_text(value) == text;
    let read = || toml::from_str::<toml::Table>(&format!("value = {text}")).ok()?.remove("value");
    let plain = || toml::Value::String(text.to_owned());
    known.iter().find(is_it).cloned().or_else(read).unwrap_or_else(plain)
}

/// A value on a command line in the form of rows.
pub fn text_of(written: &str) -> String {
    value_text(&value(written, &[]))
}

/// A value as text in rows, without quotes.
pub fn value_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        // A policy with changes goes by its name, if it has one.
        toml::Value::Table(table) => match table.get("name") {
            Some(toml::Value::String(name)) => name.clone(),
            _ => plain(value),
        },
        _ => plain(value),
    }
}

/// Sets the value of a key; a key may name several flows at once:
/// `flow.NAME,NAME.workload.arrivals`.
///
/// If the key is no path and names no section, the value is a table of keys, all set together.
fn set(plan: &mut toml::Table, key: &str, value: &toml::Value) -> Result<(), PlanError> {
    if let toml::Value::Table(values) = value
        && !key.contains(['.', ','])
        && !plan.contains_key(key)
    {
        let values = values.iter().filter(|(key, _)| *key != "name");
        return values.into_iter().try_for_each(|(key, value)| set_path(plan, key, value));
    }
    set_path(plan, key, value)
}

fn set_path(plan: &mut toml::Table, key: &str, value: &toml::Value) -> Result<(), PlanError> {
    let Some((place, names)) = key.split('.').enumerate().find(|(_, part)| part.contains(','))
    else {
        return set_one(plan, key, key, value);
    };
    names.split(',').try_for_each(|name| {
        let parts = key.split('.').enumerate();
        let one: Vec<&str> =
            parts.map(|(index, part)| if index == place { name.trim() } else { part }).collect();
        set_one(plan, key, &one.join("."), value)
    })
}

/// The section that a key names as a whole, `network` or `flow.NAME`; `None` for other keys.
fn section<'a>(plan: &'a mut toml::Table, path: &str) -> Option<&'a mut toml::Table> {
    match (path.split_once('.'), plan) {
        (None, plan) => plan.get_mut(path)?.as_table_mut(),
        (Some((kind, name)), plan) => {
            let entries = plan.get_mut(kind)?.as_array_mut()?;
            let is_it = |entry: &&mut toml::Value| {
                entry.get("name").is_some_and(|one| one.as_str() == Some(name))
            };
            entries.iter_mut().find(is_it)?.as_table_mut()
        }
    }
}

fn set_one(
    plan: &mut toml::Table,
    key: &str,
    path: &str,
    value: &toml::Value,
) -> Result<(), PlanError> {
    let refuse = |why: &str| Err(PlanError::new(format!("sweep \"{key}\": {why}")));
    if let (Some(section), toml::Value::Table(values)) = (section(plan, path), value) {
        // The name of a combination is for rows only.
        let values = values.iter().filter(|(key, _)| *key != "name");
        section.extend(values.map(|(key, value)| (key.clone(), value.clone())));
        return Ok(());
    }
    let mut parts: Vec<&str> = path.split('.').collect();
    let Some(last) = parts.pop().filter(|_| !parts.is_empty()) else {
        return refuse("a key names a section and a value, such as network.rtt");
    };
    let mut table = plan;
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        let next = match table.get_mut(part) {
            Some(toml::Value::Array(entries)) => {
                let Some(name) = parts.next() else {
                    return refuse("it needs the name of one, such as flow.NAME.policy");
                };
                entries
                    .iter_mut()
                    .find(|entry| entry.get("name").is_some_and(|one| one.as_str() == Some(name)))
            }
            Some(other) => Some(other),
            None => None,
        };
        match next {
            Some(toml::Value::Table(next)) => table = next,
            _ => return refuse(&format!("the plan has no section \"{part}\" of that name")),
        }
    }
    table.insert(last.to_owned(), value.clone());
    Ok(())
}
