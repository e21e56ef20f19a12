//! Text form of a replay's networks.

use core::fmt;
use core::str::FromStr;

use toml::{Table, Value};

use super::conditions::Conditions;
use crate::plan::LinkSection;

/// Returns the text of the file of this name.
type ReadText<'a> = &'a dyn Fn(&str) -> Result<String, String>;

fn no_file(name: &str) -> Result<String, String> {
    Err(format!("{name}: no files are read here"))
}

/// A link with the keys of a plan's `[network]`, on one line:
/// `rtt=100ms loss=bursts 5% 4 forward.jitter=5ms`. A word that does not begin with a key belongs
/// to the value before it.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkText {
    text: String,
    keys: Table,
}

impl NetworkText {
    /// The network of a capture. Delays beyond the least are drawn from an exponential distribution
    /// and do not reorder packets.
    pub fn measured(conditions: &Conditions) -> NetworkText {
        let Conditions { rtt, loss, jitter, .. } = conditions;
        let mut said = vec![(None, "rtt", rtt.to_string())];
        said.push((Some("forward"), "loss", format!("{:.2}%", 100.0 * loss.clamp(0.0, 1.0))));
        if let Some(jitter) = jitter.filter(|jitter| !jitter.is_zero()) {
            said.push((Some("forward"), "jitter", format!("exponential {jitter}")));
        }
        let words = said.iter().map(|(side, name, value)| match side {
            Some(side) => format!("{side}.{name}={value}"),
            None => format!("{name}={value}"),
        });
        let text = words.collect::<Vec<_>>().join(" ");
        // No number or flag is among them that could not be read.
        NetworkText { text, keys: table(&said, &no_file).unwrap_or_default() }
    }

    /// Entries of the policy in a plan.
    pub(super) fn keys(&self) -> &Table {
        &self.keys
    }
}

/// A key with its direction and value; `None` if the word is no key of a link.
fn key(word: &str) -> Option<(Option<&str>, &str, &str)> {
    let (name, value) = word.split_once('=')?;
    let (side, name) = match name.split_once('.') {
        Some((side @ ("forward" | "backward"), name)) => (Some(side), name),
        Some(_) => return None,
        None => (None, name),
    };
    // A recording is a file that a plan brings, and a replay has none.
    let is_own = !["forward", "backward", "recording"].contains(&name);
    (is_own && LinkSection::KEYS.contains(&name)).then_some((side, name, value))
}

/// Value of a network's field in TOML, as a plan would have it.
fn value(name: &str, text: &str, read: ReadText<'_>) -> Result<Value, String> {
    let string = |text: &str| Value::String(text.to_owned());
    Ok(match name {
        "mtu" => Value::Integer(text.parse().map_err(|_| format!("mtu={text} is no number"))?),
        "allow_reordering" => {
            Value::Boolean(text.parse().map_err(|_| format!("{name}={text} is not true or false"))?)
        }
        "blackouts" => Value::Array(text.split(',').map(|one| string(one.trim())).collect()),
        // The lines themselves: a plan would look for a file beside it.
        "profile" => string(&read(text)?),
        _ => string(text),
    })
}

/// Entries of a plan: those of a direction in a separate table.
fn table(said: &[(Option<&str>, &str, String)], read: ReadText<'_>) -> Result<Table, String> {
    let mut keys = Table::new();
    for (side, name, text) in said {
        let value = value(name, text, read)?;
        let Some(side) = side else {
            keys.insert((*name).to_owned(), value);
            continue;
        };
        let side = keys.entry(*side).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(side) = side {
            side.insert((*name).to_owned(), value);
        }
    }
    Ok(keys)
}

impl NetworkText {
    /// Reads a network; `read` returns the text of a file that `profile` names.
    ///
    /// # Errors
    /// The word that is no key of a link, or a value that cannot be read.
    pub fn parse(text: &str, read: ReadText<'_>) -> Result<NetworkText, String> {
        let mut said: Vec<(Option<&str>, &str, String)> = Vec::new();
        for word in text.split_whitespace() {
            match (key(word), said.last_mut()) {
                (Some((side, name, value)), _) => said.push((side, name, value.to_owned())),
                (None, Some((.., value))) => *value += &format!(" {word}"),
                (None, None) => {
                    return Err(format!(
                        "\"{word}\" does not begin with a key of a link such as rtt=100ms; keys are {}, of one direction forward.loss and backward.loss",
                        LinkSection::KEYS.join(", ")
                    ));
                }
            }
        }
        let keys = table(&said, read)?;
        match keys.is_empty() {
            true => Err("the network is empty; give one such as \"rtt=100ms loss=2%\"".to_owned()),
            false => Ok(NetworkText {
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                keys,
            }),
        }
    }
}

/// Reads a network that names no file.
impl FromStr for NetworkText {
    type Err = String;

    fn from_str(text: &str) -> Result<NetworkText, String> {
        NetworkText::parse(text, &no_file)
    }
}

impl fmt::Display for NetworkText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
