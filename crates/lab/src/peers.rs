//! Other implementations' transports: the interface by which they carry flows of the laboratory,
//! and the registry in which plans find them.
//!
//! The laboratory has none itself. A crate that depends on other stacks implements [`Peers`] and
//! calls [`register`] once; from then on plans may name its transports, and every measure, sweep
//! and report works for them. Their messages begin with a [`mark`], which identifies them in
//! packets of any format that is not encrypted.

pub mod mark;
mod round_trips;

use core::fmt;
use core::net::SocketAddr;
use std::sync::OnceLock;

use base::{Instant, Machine};
use bytes::Bytes;
use netsim::Checker;
pub use round_trips::RoundTrips;
use serde::de::{Deserialize, Deserializer, Error};

/// Bytes of an IPv4 header.
pub const IP_HEADER: u64 = 20;
/// Bytes of a UDP header.
pub const UDP_HEADER: u64 = 8;

/// One end of a connection of any transport.
pub trait PeerEnd: Machine {
    /// Bytes of headers before each datagram: IP's, and UDP's where the transport runs over it.
    fn headers(&self) -> u64 {
        IP_HEADER + UDP_HEADER
    }

    /// Begins to set the connection up; called at the sender only.
    fn connect(&mut self, now: Instant);

    /// Sends a message; one passed before the connection is set up waits.
    fn send(&mut self, now: Instant, message: Bytes);

    /// The next bytes for the application, in order. A byte-stream transport may divide messages
    /// anywhere.
    fn receive(&mut self, now: Instant) -> Option<Bytes>;

    /// Whether the connection ended, though neither application closed it.
    fn has_failed(&self) -> bool {
        false
    }
}

/// Addresses of the two ends of a flow, and their random streams.
#[derive(Clone, Debug)]
pub struct Place {
    /// Address of the sender; its port is 0, as that of all hosts of the laboratory.
    pub sender: SocketAddr,
    /// Address of the receiver; its port is 0, too.
    pub receiver: SocketAddr,
    /// Round-trip times of the network without queues and jitter.
    pub round_trips: RoundTrips,
    /// The seed of the run.
    pub seed: u64,
    /// Number of the flow among those of the run.
    pub number: u32,
}

/// Both ends of a flow.
pub struct Pair {
    /// The end that sends messages.
    pub sender: Box<dyn PeerEnd>,
    /// The end that receives messages.
    pub receiver: Box<dyn PeerEnd>,
    /// Sees every packet of the run on behalf of both ends.
    pub watcher: Option<Box<dyn Checker>>,
}

/// A transport of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// Value of `transport` in plans.
    pub name: &'static str,
    /// Whether its ends speak SCTP (RFC 9260) directly over IP, and so receive from ours.
    pub speaks_sctp: bool,
    /// Whether the transport can be tuned beyond its defaults.
    pub has_tuned: bool,
    /// Whether it knows what was lost, which no transport can: a bound, and no competitor.
    pub is_bound: bool,
}

/// A registry of other implementations' transports.
pub trait Peers: Send + Sync {
    /// All transports of the registry.
    fn all(&self) -> &'static [Described];

    /// Reason for which a transport cannot be used on this machine, with a remedy; `None` if it
    /// can.
    fn missing(&self, _name: &str) -> Option<String> {
        None
    }

    /// Both ends of a flow over a transport, with its defaults or as the registry tunes it; `None`
    /// for an unknown name, and if an end does not start.
    fn pair(&self, name: &str, tuned: bool, place: &Place) -> Option<Pair>;
}

static REGISTRY: OnceLock<&'static dyn Peers> = OnceLock::new();

/// Makes these transports known to plans of this process. The first call counts: what a plan means
/// does not change while it runs.
pub fn register(peers: &'static dyn Peers) {
    REGISTRY.get_or_init(|| peers);
}

/// Transports of other implementations that were registered; none before.
fn known() -> &'static [Described] {
    REGISTRY.get().map_or(&[], |peers| peers.all())
}

/// Another implementation's transport, by its name in plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerName(Described);

impl PeerName {
    /// The transport of this name.
    ///
    /// # Errors
    /// The known names, or why this transport cannot be used on this machine.
    pub fn of(name: &str) -> Result<PeerName, String> {
        if let Some(reason) = REGISTRY.get().and_then(|peers| peers.missing(name)) {
            return Err(format!("transport \"{name}\" cannot be used here: {reason}"));
        }
        let found = known().iter().find(|one| one.name == name);
        found.copied().map(PeerName).ok_or_else(|| {
            let names: Vec<&str> = known().iter().map(|one| one.name).collect();
            let others = match names.is_empty() {
                true => "; transports of others need a build with the feature \"peers\"".to_owned(),
                false => format!(", {}", names.join(", ")),
            };
            format!("unknown transport \"{name}\", expected one of sctp, tcp{others}")
        })
    }

    /// Name and properties of the transport.
    pub fn described(self) -> Described {
        self.0
    }
}

impl<'de> Deserialize<'de> for PeerName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PeerName, D::Error> {
        PeerName::of(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Another implementation's transport, with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerChoice {
    /// Name under which the transport is registered.
    pub name: PeerName,
    /// Whether it is tuned, as far as its interface allows.
    pub tuned: bool,
}

impl PeerChoice {
    /// Both ends of a flow; `None` if an end does not start.
    pub fn pair(self, place: &Place) -> Option<Pair> {
        REGISTRY.get()?.pair(self.name.0.name, self.tuned, place)
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}
