//! Options for the packets to analyse.

use core::net::{IpAddr, SocketAddr};
use core::ops::RangeInclusive;
use std::collections::BTreeSet;

use base::Duration;

use crate::capture::Frame;
use crate::packet::SCTP_OVER_UDP;

/// Interfaces of a capture that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Interfaces {
    /// Each by itself: a packet that crosses two of them belongs to two connections.
    #[default]
    Each,
    /// Every interface: packets of a connection belong together whichever they crossed.
    All,
    /// The interface with this name or index.
    Only(String),
}

impl Interfaces {
    pub(crate) fn admits(&self, frame: &Frame<'_>) -> bool {
        match self {
            Interfaces::Only(wanted) => match frame.interface_name {
                Some(name) if name == wanted => true,
                _ => wanted.parse() == Ok(frame.interface),
            },
            _ => true,
        }
    }

    /// Index of the interface to which a frame counts; 0 if all count as one.
    pub(crate) fn of(&self, frame: &Frame<'_>) -> u32 {
        if *self == Interfaces::All { 0 } else { frame.interface }
    }
}

/// An address that a translator replaced on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRule {
    /// Address in the sender's capture.
    pub at_sender: IpAddr,
    /// Address in the receiver's capture.
    pub at_receiver: IpAddr,
    /// The port that it replaced, too: at the sender and at the receiver. Without it ports are the
    /// same on both sides.
    pub ports: Option<(u16, u16)>,
}

impl AddressRule {
    /// The sender's address for the receiver's address `at`; `None` if the rule is for another.
    fn apply(&self, at: SocketAddr) -> Option<SocketAddr> {
        if self.at_receiver != at.ip() {
            return None;
        }
        match self.ports {
            None => Some(SocketAddr::new(self.at_sender, at.port())),
            Some((port, translated)) => {
                (translated == at.port()).then(|| SocketAddr::new(self.at_sender, port))
            }
        }
    }
}

/// One end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// One of these addresses, if there are any.
    pub hosts: Vec<IpAddr>,
    /// A port in one of these ranges, if there are any.
    pub ports: Vec<RangeInclusive<u16>>,
}

impl End {
    fn is(&self, at: SocketAddr) -> bool {
        (self.hosts.is_empty() || self.hosts.contains(&at.ip()))
            && (self.ports.is_empty() || self.ports.iter().any(|range| range.contains(&at.port())))
    }
}

/// Packets to analyse, and bounds of what is held in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// UDP ports that carry SCTP.
    pub udp_ports: Vec<u16>,
    /// Only connections with one of these addresses, if there are any.
    pub hosts: Vec<IpAddr>,
    /// Only connections with one of these ports, if there are any.
    pub ports: Vec<u16>,
    /// Only directions from this end.
    pub source: End,
    /// Only directions to this end.
    pub destination: End,
    /// Only packets so long after the first of the sender's capture, or later.
    pub start: Duration,
    /// Only packets before this time after the first.
    pub end: Option<Duration>,
    /// Only directions with these names are reported and summed up, if there are any: `3a`.
    pub streams: Option<BTreeSet<String>>,
    /// Interfaces of the sender's capture.
    pub interfaces: Interfaces,
    /// Interfaces of the receiver's capture.
    pub receiver_interfaces: Interfaces,
    /// Addresses that differ between the captures.
    pub translated: Vec<AddressRule>,
    /// Connections that may be open at a time. Beyond them one that has been idle for long is
    /// ended; if it goes on it counts as another. Each takes some 10 kB, and up to about 150
    /// kB for a direction with many packets.
    pub most_connections: usize,
    /// Most directions that are reported one by one.
    pub most_streams: usize,
    /// Further percentiles of distributions, from 0 to 100.
    pub percentiles: Vec<f64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            udp_ports: vec![SCTP_OVER_UDP],
            hosts: Vec::new(),
            ports: Vec::new(),
            source: End::default(),
            destination: End::default(),
            start: Duration::ZERO,
            end: None,
            streams: None,
            interfaces: Interfaces::default(),
            receiver_interfaces: Interfaces::default(),
            translated: Vec::new(),
            most_connections: 16_384,
            most_streams: 100_000,
            percentiles: Vec::new(),
        }
    }
}

impl Options {
    pub(crate) fn wants_time(&self, since: Duration) -> bool {
        since >= self.start && self.end.is_none_or(|end| since < end)
    }

    pub(crate) fn wants_hosts(&self, source: IpAddr, destination: IpAddr) -> bool {
        self.hosts.is_empty() || [source, destination].iter().any(|it| self.hosts.contains(it))
    }

    /// Whether a packet belongs to a connection that is asked for: what is sent in the other
    /// direction answers it.
    pub(crate) fn wants_ends(&self, from: SocketAddr, to: SocketAddr) -> bool {
        let is_wanted = |port: u16| self.ports.contains(&port);
        (self.ports.is_empty() || is_wanted(from.port()) || is_wanted(to.port()))
            && (self.wants_direction(from, to) || self.wants_direction(to, from))
    }

    /// Whether a direction is asked for.
    pub(crate) fn wants_direction(&self, from: SocketAddr, to: SocketAddr) -> bool {
        self.source.is(from) && self.destination.is(to)
    }

    /// An end of a connection in the receiver's capture as the sender's has it: a rule for its port
    /// comes before one for its address.
    pub(crate) fn translate(&self, at: SocketAddr) -> SocketAddr {
        let of = |has_ports: bool| {
            self.translated.iter().filter(move |it| it.ports.is_some() == has_ports)
        };
        of(true).chain(of(false)).find_map(|rule| rule.apply(at)).unwrap_or(at)
    }
}
