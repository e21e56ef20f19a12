//! An edge's description in TOML.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base::{ByteCount, Duration};
use lab::plan::{Several, Text};
use lab::toml_text::{describe, placed};
use recovery::RecoveryPolicy;
use recovery::policy::{Changes, Protocol};
use serde::de::Error;
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
    /// Largest IP packet in bytes, headers included.
    pub mtu: Option<u16>,
    /// Parts of the edge, each with a queue of the device, a stack and a thread.
    pub shards: Option<usize>,
    /// Whether large packets may pass the device whole.
    pub offload: Option<bool>,
    /// Bytes of memory that the process may have.
    #[serde(default, deserialize_with = "text")]
    pub memory: Option<ByteCount>,
    /// Address at which metrics are served.
    #[serde(default, deserialize_with = "metrics")]
    pub metrics: Option<SocketAddr>,
    /// Time that connections may continue once the edge was asked to end.
    #[serde(default, deserialize_with = "text")]
    pub drain: Option<Duration>,
    /// Whether the rules for clients outside are applied.
    pub setup: Option<bool>,
    /// The network interface from which these come.
    pub outside: Option<String>,
    /// Policy of services that name none.
    #[serde(default, deserialize_with = "policy")]
    pub policy: Option<String>,
    /// A `[[service]]` for each address that clients connect to.
    #[serde(default)]
    pub service: Vec<ServiceFile>,
    /// The text that all this was read from.
    #[serde(skip)]
    text: String,
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
    /// Real place of the service: address or name, and port.
    #[serde(deserialize_with = "forward")]
    pub forward: String,
    /// Name of the preset that recovers the service's connections.
    #[serde(default, deserialize_with = "policy")]
    pub policy: Option<String>,
    /// Fields of the policy that differ from the preset, named as the options of `thinstream
    /// edge`.
    #[serde(default)]
    pub recovery: Changes,
    /// Whether each connection begins with a line of the PROXY protocol.
    #[serde(default)]
    pub proxy_protocol: bool,
    /// Most connections at a time, of all clients.
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
        let wrong = |error| EdgeFileError::Parse(path.to_owned(), describe(&text, &error));
        let file: EdgeFile = toml::from_str(&text).map_err(wrong)?;
        Ok(EdgeFile { text, ..file })
    }

    /// An error about what the file says that shows only when it is put to use: with the line and
    /// column of what it quotes.
    pub fn placed(&self, error: &str) -> String {
        placed(&self.text, error)
    }
}

/// The address of a service, looked up if it is a name.
///
/// # Errors
/// A name without an address, with the reason.
pub(crate) fn resolve(forward: &str) -> Result<SocketAddr, String> {
    let failed = |why: &dyn std::fmt::Display| {
        format!("cannot find where \"{forward}\" is: {why}; it should be like 127.0.0.1:22")
    };
    let found = io::lookup(forward).map_err(|error| failed(&error))?;
    found.first().copied().ok_or_else(|| failed(&"it has no address"))
}

impl ServiceFile {
    /// The service's name, or where it listens, for messages.
    pub fn called(&self) -> String {
        match &self.name {
            Some(name) => format!("service \"{name}\""),
            None => format!("service {}", self.listen),
        }
    }

    /// Real address of the service.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn resolve(&self) -> Result<SocketAddr, String> {
        resolve(&self.forward)
    }
}

fn text<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
{
    Text::deserialize(deserializer).map(|text| Some(text.0))
}

/// One text, or a list of several.
fn texts<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: Display>,
{
    Several::deserialize(deserializer).map(|several| several.0)
}

/// A port, or a text with an address and a port.
fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Listen, D::Error> {
    Text::deserialize(deserializer).map(|text| text.0)
}

/// An address and a port.
fn metrics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || format!("\"{text}\" is no address with a port such as 127.0.0.1:9178");
    text.parse().map(Some).map_err(|_| D::Error::custom(wrong()))
}

/// A host and a port; which address the host has is looked up later.
fn forward<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    match port {
        Some(1..) => Ok(text),
        _ => Err(D::Error::custom(format!(
            "\"{text}\" is no host with a port such as 127.0.0.1:22 or [::1]:22"
        ))),
    }
}

/// A policy of TCP: a preset, and changes to it.
fn policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    RecoveryPolicy::parse(Protocol::Tcp, &text).map_err(D::Error::custom)?;
    Ok(Some(text))
}
