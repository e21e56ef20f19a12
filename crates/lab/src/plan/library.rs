//! The laboratory's library of networks: recorded ones, and models of published numbers.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use netsim::link::{Recording, parse_recording};
use serde::Deserialize;

use super::error::PlanError;
use super::link::LinkSection;
use super::network_name::NETWORKS;
use super::network_name::NetworkName;

/// A network of the library, as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedNetwork {
    /// Description of the network, a line.
    pub about: String,
    /// Source of the numbers: a publication or data.
    pub source: String,
    /// Licence under which the source's data may be used.
    pub licence: String,
    /// Values that the source does not give.
    pub assumed: String,
    /// Settings of a link that has this network's properties.
    #[serde(rename = "link")]
    pub(super) section: LinkSection,
}

/// Recordings, by their names in descriptions.
const RECORDINGS: [(&str, &str); 1] =
    [("5g-drive.csv", include_str!("../../networks/5g-drive.csv"))];

impl NetworkName {
    /// The network of this name.
    ///
    /// # Errors
    /// None: the laboratory's tests build all networks.
    pub fn network(self) -> Result<&'static NamedNetwork, PlanError> {
        static READ: [OnceLock<Result<NamedNetwork, PlanError>>; NETWORKS.len()] =
            [const { OnceLock::new() }; NETWORKS.len()];
        let unknown = || PlanError::new(format!("the library has no network {self}"));
        let place = self.place();
        let (_, text) = NETWORKS.get(place).ok_or_else(unknown)?;
        let read = || {
            let refused = |error: toml::de::Error| PlanError::of_text(text, &error);
            toml::from_str(text).map_err(refused)
        };
        READ.get(place).ok_or_else(unknown)?.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

/// Parsed recording of the library, cached by the first call; an error if there is none.
pub(super) fn recording(name: &str) -> Result<Recording, PlanError> {
    static READ: [OnceLock<Result<Recording, PlanError>>; RECORDINGS.len()] =
        [const { OnceLock::new() }; RECORDINGS.len()];
    let unknown = || PlanError::new(format!("the library has no recording {name}"));
    let place = RECORDINGS.iter().position(|(known, _)| *known == name).ok_or_else(unknown)?;
    let read = || {
        let refused = |error| PlanError::new(format!("{name}: {error}"));
        parse_recording(RECORDINGS[place].1).map_err(refused)
    };
    READ[place].get_or_init(read).clone()
}
