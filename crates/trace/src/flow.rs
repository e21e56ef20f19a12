//! A connection or an association, and its two directions.

pub(crate) mod association;
pub(crate) mod connection;

use core::net::{IpAddr, SocketAddr};

use base::Instant;

use self::association::SctpDirection;
use self::connection::TcpDirection;
use crate::packet::Protocol;
use crate::receiver::Receiver;
use crate::sender::{Acknowledged, Sender, Told};
use crate::way::Way;

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) sender: Sender,
    pub(crate) tcp: TcpDirection,
    pub(crate) sctp: Option<Box<SctpDirection>>,
    /// State from the receiver's capture, if there is one.
    pub(crate) receiver: Option<Box<Receiver>>,
}

/// Observations about a packet, which the analysis hands on.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// User data of the packet, if any.
    pub(crate) told: Option<Told>,
    /// Whether it was pushed (PSH): nothing more had been written by then.
    pub(crate) pushed: bool,
    /// Ranges of the other direction's data that it acknowledged cumulatively.
    pub(crate) acknowledged: Vec<Acknowledged>,
}

/// A TCP connection or SCTP association, with both of its directions.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Number from 1, in the order in which flows were first seen.
    pub(crate) number: u64,
    pub(crate) protocol: Protocol,
    /// Sender and receiver of the first packet.
    pub(crate) ends: [SocketAddr; 2],
    pub(crate) udp: Option<(u16, u16)>,
    /// Interface in the capture file on which its packets were seen.
    pub(crate) interface: u32,
    pub(crate) interface_name: Option<Box<str>>,
    pub(crate) last_seen: Instant,
    /// Whether the connection was closed or reset.
    pub(crate) is_closed: bool,
    /// Whether the capture has the connection's beginning.
    pub(crate) is_whole: bool,
    /// Whether a packet came since the table last checked.
    pub(crate) touched: bool,
    pub(crate) directions: [Direction; 2],
}

impl Flow {
    /// The direction and its opposite.
    pub(crate) fn both(&mut self, way: Way) -> (&mut Direction, &mut Direction) {
        let [there, back] = &mut self.directions;
        match way {
            Way::There => (there, back),
            Way::Back => (back, there),
        }
    }

    /// Source and destination of a direction.
    pub(crate) fn addresses(&self, way: Way) -> (SocketAddr, SocketAddr) {
        let [first, second] = self.ends;
        match way {
            Way::There => (first, second),
            Way::Back => (second, first),
        }
    }

    /// Direction of a packet that `source` sent.
    pub(crate) fn way_of(&self, source: SocketAddr) -> Way {
        let [first, second] = self.ends;
        // An end may send to itself: packets from its address and port then go there.
        if source == first || source != second { Way::There } else { Way::Back }
    }
}

/// Joins address and port; an IPv4 address mapped into IPv6 becomes plain.
pub(crate) fn socket(address: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(crate::packet::canonical(address), port)
}
