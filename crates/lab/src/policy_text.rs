//! Text form of policies in plans and studies, and the transports that they are for.

use recovery::RecoveryPolicy;
use recovery::policy::{Changes, FieldError, Protocol};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::toml_text::plain;

/// Our transports, which have recovery policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportName {
    /// SCTP of this project, over IP.
    Sctp,
    /// TCP of this project, over IP.
    Tcp,
}

/// A preset's name, or a table with a preset, a `name` for rows, and the fields that differ, named
/// as the command's options.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PolicySection {
    preset: String,
    changes: Changes,
}

impl<'de> Deserialize<'de> for PolicySection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PolicySection, D::Error> {
        let mut table = match toml::Value::deserialize(from)? {
            toml::Value::String(preset) => {
                check_known(&preset).map_err(D::Error::custom)?;
                return Ok(PolicySection { preset, changes: Changes::new() });
            }
            toml::Value::Table(table) => table,
            other => {
                return Err(D::Error::custom(format!(
                    "{} is no policy; give a preset such as \"lksctp\", or a table with one",
                    plain(&other)
                )));
            }
        };
        // The name of a policy is for rows: they read it from the sweep.
        table.remove("name");
        let Some(toml::Value::String(preset)) = table.remove("preset") else {
            return Err(D::Error::custom(
                "a policy needs a preset to begin with: preset = \"lksctp\"",
            ));
        };
        check_known(&preset).map_err(D::Error::custom)?;
        let changes = toml::Value::Table(table).try_into().map_err(D::Error::custom)?;
        Ok(PolicySection { preset, changes })
    }
}

/// Refuses a name that is a preset of no protocol; which one it has to be of shows once the
/// transport is known.
fn check_known(preset: &str) -> Result<(), String> {
    let both = [Protocol::Sctp, Protocol::Tcp];
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in both.iter().flat_map(|protocol| protocol.presets()) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.contains(&preset) {
        return Ok(());
    }
    Err(format!("there is no policy \"{preset}\"; there are {}", names.join(", ")))
}

impl PolicySection {
    /// The preset `name` without changes.
    pub fn preset(name: &str) -> PolicySection {
        PolicySection { preset: name.to_owned(), changes: Changes::new() }
    }

    /// The policy.
    ///
    /// # Errors
    /// When the transport has no preset of that name, or a change makes no sense or has no effect
    /// on it.
    pub fn build(&self, transport: TransportName) -> Result<RecoveryPolicy, String> {
        let protocol = match transport {
            TransportName::Sctp => Protocol::Sctp,
            TransportName::Tcp => Protocol::Tcp,
        };
        if self.preset.is_empty() {
            return Err("a policy is missing; give one such as policy = \"thin\"".to_owned());
        }
        let wrong = |error: FieldError| format!("policy \"{}\": {error}", self.preset);
        let mut policy = RecoveryPolicy::of_preset(protocol, &self.preset).map_err(wrong)?;
        self.changes.apply_for(protocol, &mut policy).map_err(wrong)?;
        Ok(policy)
    }
}
