//! `policy` and `receiver` of a flow.

use base::ByteCount;
use recovery::RecoveryPolicy;
use recovery::policy::{Changes, FieldError, Only};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::sweep::plain;
use super::traffic::TransportName;
use super::{PlanError, Text};

/// A preset's name, or a table with a preset, a `name` for rows and fields that differ, by the names that the
/// command's options have.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySection {
    preset: String,
    changes: Changes,
}

impl<'de> Deserialize<'de> for PolicySection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PolicySection, D::Error> {
        let mut table = match toml::Value::deserialize(from)? {
            toml::Value::String(preset) => {
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
        // What a policy is called is for rows: they read it from the sweep.
        table.remove("name");
        let Some(toml::Value::String(preset)) = table.remove("preset") else {
            return Err(D::Error::custom(
                "a policy needs a preset to begin with: preset = \"lksctp\"",
            ));
        };
        let changes = toml::Value::Table(table).try_into().map_err(D::Error::custom)?;
        Ok(PolicySection { preset, changes })
    }
}

impl PolicySection {
    /// A preset as it is.
    pub fn preset(name: &str) -> PolicySection {
        PolicySection { preset: name.to_owned(), changes: Changes::new() }
    }

    /// The policy.
    ///
    /// # Errors
    /// When the transport has no preset of that name, or a change makes no sense or has no effect on it.
    pub fn build(&self, transport: TransportName) -> Result<RecoveryPolicy, PlanError> {
        let protocol = match transport {
            TransportName::Sctp => Only::Sctp,
            TransportName::Tcp => Only::Tcp,
        };
        let wrong =
            |error: FieldError| PlanError::new(format!("policy \"{}\": {error}", self.preset));
        let mut policy = RecoveryPolicy::of_preset(protocol, &self.preset).map_err(wrong)?;
        self.changes.apply_for(protocol, &mut policy).map_err(wrong)?;
        Ok(policy)
    }
}

/// What the receiving end does otherwise than the sender's policy says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverSection {
    /// Longest delay of an acknowledgement, or `off`.
    #[serde(default)]
    pub delayed_ack: Option<String>,
    /// Packets after which one is not delayed any more.
    #[serde(default)]
    pub every: Option<u8>,
    /// Receive buffer.
    #[serde(default)]
    pub buffer: Option<Text<ByteCount>>,
}

impl ReceiverSection {
    /// The receiver's policy: the sender's with other acknowledgements.
    ///
    /// # Errors
    /// When the delay is none.
    pub fn policy(&self, sender: &RecoveryPolicy) -> Result<RecoveryPolicy, PlanError> {
        let mut policy = sender.clone();
        if let Some(text) = &self.delayed_ack {
            policy.acknowledgement.delay = match text.as_str() {
                "off" => None,
                span => Some(span.parse().map_err(|_| {
                    PlanError::new(format!(
                        "receiver.delayed_ack \"{text}\" is neither a duration such as 200ms nor off"
                    ))
                })?),
            };
        }
        if let Some(every) = self.every {
            policy.acknowledgement.every_packets = every.max(1);
        }
        Ok(policy)
    }
}
