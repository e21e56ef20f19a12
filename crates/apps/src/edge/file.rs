//! An edge's description in TOML.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base::{ByteCount, Duration};
use lab::toml_text::describe;
use recovery::policy::Changes;
use serde::{Deserialize, Deserializer};

use super::address::{Listen, Network};

/// An edge described by a file. Keys that are missing have the command's defaults.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeFile {
    /// The edge's addresses with the lengths of their networks' prefixes.
    #[serde(default, deserialize_with = "texts")]
    pub address: Vec<Network>,
    /// Name of the TUN device.
    pub device: Option<String>,
    /// Largest IP packet.
    pub mtu: Option<u16>,
    /// Parts of the edge, each with a queue of the device, a stack and a thread.
    pub shards: Option<usize>,
    /// Whether large packets may pass the device whole.
    pub offload: Option<bool>,
    /// Bytes of memory that the process may have.
    #[serde(default, deserialize_with = "text")]
    pub memory: Option<ByteCount>,
    /// Address at which metrics are served.
    pub metrics: Option<SocketAddr>,
    /// How long connections may go on once the edge was asked to end.
    #[serde(default, deserialize_with = "text")]
    pub drain: Option<Duration>,
    /// Whether the rules for clients outside are applied.
    pub setup: Option<bool>,
    /// The network interface from which these come.
    pub outside: Option<String>,
    /// Policy of services that name none.
    pub policy: Option<String>,
    /// A `[[service]]` for each address that clients connect to.
    #[serde(default)]
    pub service: Vec<ServiceFile>,
}

/// A `[[service]]`: an address that clients connect to, and the local service behind it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceFile {
    /// Name of the service in statistics; where it listens, if none is given.
    pub name: Option<String>,
    /// Port, and address if not all, that clients connect to.
    #[serde(deserialize_with = "listen")]
    pub listen: Listen,
    /// Where it really is: address or name, and port.
    pub forward: String,
    /// Name of its policy.
    pub policy: Option<String>,
    /// Fields of the policy that differ from the preset, named as the options of `thinstream edge`.
    #[serde(default)]
    pub recovery: Changes,
    /// Whether each connection begins with a line of the PROXY protocol.
    #[serde(default)]
    pub proxy_protocol: bool,
    /// Connections at a time.
    pub max_connections: Option<usize>,
    /// Connections of one client address at a time.
    pub max_per_client: Option<usize>,
    /// Bytes kept for each connection and direction.
    pub buffer_bytes: Option<usize>,
    /// Silence of a client after which its connection is reset; `off` leaves it to `keep_alive`.
    pub dead_after: Option<String>,
    /// Silence after which an idle client is probed, instead of `dead_after`; `off` never probes.
    pub keep_alive: Option<String>,
}

/// The reason why a file describes no edge.
#[derive(Debug, thiserror::Error)]
pub enum EdgeFileError {
    /// The file cannot be read.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Read(PathBuf, std::io::Error),
    /// The text is no description: line, column, and the error there.
    #[error("{path}:{1}", path = .0.display())]
    Parse(PathBuf, String),
}

impl EdgeFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read, or what it says is not understood.
    pub fn read(path: &Path) -> Result<EdgeFile, EdgeFileError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| EdgeFileError::Read(path.to_owned(), error))?;
        toml::from_str(&text)
            .map_err(|error| EdgeFileError::Parse(path.to_owned(), describe(&text, &error)))
    }
}

/// The address of a service, looked up if it is a name.
///
/// # Errors
/// With the name, where it has none.
pub(crate) fn resolve(forward: &str) -> Result<SocketAddr, String> {
    let failed = |why: &dyn std::fmt::Display| {
        format!("cannot find where \"{forward}\" is: {why}; it should be like 127.0.0.1:22")
    };
    let found = io::lookup(forward).map_err(|error| failed(&error))?;
    found.first().copied().ok_or_else(|| failed(&"it has no address"))
}

impl ServiceFile {
    /// Where the service really is.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn resolve(&self) -> Result<SocketAddr, String> {
        resolve(&self.forward)
    }
}

fn text<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// One text or several.
fn texts<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: std::fmt::Display>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    let texts = match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(text) => vec![text],
        OneOrMore::More(texts) => texts,
    };
    let parsed: Result<Vec<T>, _> = texts.iter().map(|text| text.parse()).collect();
    parsed.map_err(serde::de::Error::custom)
}

/// A port, or a text with an address and a port.
fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Listen, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum PortOrText {
        Port(u16),
        Text(String),
    }
    let text = match PortOrText::deserialize(deserializer)? {
        PortOrText::Port(port) => port.to_string(),
        PortOrText::Text(text) => text,
    };
    text.parse().map_err(serde::de::Error::custom)
}
