//! `advice` of a flow: who advises its recovery.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::advisor::{AdvisorFactory, Advisors};
use crate::toml_text::plain;

/// The name by which a flow goes without advice.
const NONE: &str = "none";

/// An advisor's name, or a table with `name` and `version`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdviceSection {
    name: Option<String>,
    version: Option<String>,
}

impl<'de> Deserialize<'de> for AdviceSection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<AdviceSection, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            name: String,
            #[serde(default)]
            version: Option<String>,
        }
        let (name, version) = match toml::Value::deserialize(from)? {
            toml::Value::String(name) => (name, None),
            toml::Value::Table(table) => {
                let named: Named =
                    toml::Value::Table(table).try_into().map_err(D::Error::custom)?;
                (named.name, named.version)
            }
            other => {
                return Err(D::Error::custom(format!(
                    "{} is no advice; give an advisor's name, or {{ name = \"mine\", version = \"1\" }}",
                    plain(&other)
                )));
            }
        };
        if name.trim().is_empty() {
            return Err(D::Error::custom("advice has an empty name; give an advisor's, or none"));
        }
        let name = Some(name).filter(|name| name != NONE);
        Ok(AdviceSection { name, version })
    }
}

impl AdviceSection {
    /// Name of the advisor; none without one.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether it lacks the version of an advisor.
    pub(super) fn is_unversioned(&self) -> bool {
        self.name.is_some() && self.version.is_none()
    }

    /// The advisor; none without one.
    pub(super) fn of<'a>(
        &self,
        advisors: &'a Advisors,
    ) -> Result<Option<&'a Arc<dyn AdvisorFactory>>, String> {
        let Some(name) = &self.name else { return Ok(None) };
        let Some(factory) = advisors.get(name) else {
            let names: Vec<&str> = advisors.names().collect();
            let known = match names.is_empty() {
                true => format!(
                    "a plan with advice runs from Python, lab.run(plan, advisors={{\"{name}\": ...}})"
                ),
                false => format!("there are {}", names.join(", ")),
            };
            return Err(format!("advice = \"{name}\" names no advisor; {known}"));
        };
        match (&self.version, factory.version()) {
            (Some(wanted), there) if there.as_ref() != Some(wanted) => {
                let there = there.map_or_else(|| "none".to_owned(), |one| format!("\"{one}\""));
                Err(format!(
                    "advice = \"{name}\" is of version \"{wanted}\" in the plan, and the advisor's version is {there}"
                ))
            }
            _ => Ok(Some(factory)),
        }
    }
}
