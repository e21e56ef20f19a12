//! Names of the networks that are part of the laboratory.

use core::fmt;
use core::str::FromStr;

/// A network of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkName(usize);

/// Names, and their descriptions in TOML.
pub(super) const NETWORKS: [(&str, &str); 8] = [
    ("5g-drive", include_str!("../../networks/5g-drive.toml")),
    ("dsl", include_str!("../../networks/dsl.toml")),
    ("hotel", include_str!("../../networks/hotel.toml")),
    ("leo", include_str!("../../networks/leo.toml")),
    ("lte", include_str!("../../networks/lte.toml")),
    ("wifi-far", include_str!("../../networks/wifi-far.toml")),
    ("wifi-mid", include_str!("../../networks/wifi-mid.toml")),
    ("wifi-near", include_str!("../../networks/wifi-near.toml")),
];

impl NetworkName {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = NetworkName> {
        (0..NETWORKS.len()).map(NetworkName)
    }

    /// Place in the list of all.
    pub(super) fn place(self) -> usize {
        self.0
    }

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        NETWORKS.get(self.0).map_or("", |(name, _)| name)
    }
}

impl FromStr for NetworkName {
    type Err = String;

    fn from_str(text: &str) -> Result<NetworkName, String> {
        let found = NETWORKS.iter().position(|(name, _)| *name == text);
        found.map(NetworkName).ok_or_else(|| {
            let names = NETWORKS.map(|(name, _)| name);
            format!("\"{text}\" is no network of the library; there is {}", names.join(", "))
        })
    }
}

impl fmt::Display for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
