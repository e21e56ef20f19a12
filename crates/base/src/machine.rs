//! The contract of a sans-IO protocol machine: datagrams, time and application calls in; datagrams,
//! events and the next deadline out.
//!
//! One driver owns a machine. After **every** input ([`Machine::handle_datagram`],
//! [`Machine::handle_icmp`], [`Machine::handle_timeout`], or an application's call) the driver
//! drains [`Machine::poll_transmit`] until it has nothing (and the machine's own events), then
//! sleeps until [`Machine::poll_timeout`]; over real sockets one datagram of each of several peers,
//! and calls that follow from them, may come before one drain. `now` never goes back; a machine
//! treats an earlier `now` as the latest it saw. The same inputs at the same times give the same
//! outputs.

use core::net::{IpAddr, SocketAddr};

use bytes::Bytes;

use crate::time::Instant;

/// Explicit congestion notification codepoint of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable: a congested router drops the packet.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0): the codepoint of classic congestion control.
    Ect0,
    /// ECN-capable, ECT(1): the codepoint of L4S (RFC 9331).
    Ect1,
    /// Congestion experienced: a router marked the packet instead of dropping it.
    Ce,
}

/// Requests of a datagram's IP header to the network, beside ECN.
///
/// Used where the driver writes IP headers itself (a TUN device). The system's sockets keep their
/// settings, and the virtual network treats all datagrams alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpService {
    /// Differentiated services codepoint (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// Time to live of IPv4, hop limit of IPv6: routers that it may pass, and one; at least 1.
    pub hop_limit: u8,
}

impl Default for IpService {
    /// Best effort, and 64 hops as RFC 1700 has it.
    fn default() -> Self {
        IpService { dscp: 0, hop_limit: 64 }
    }
}

/// Addresses and codepoint of a datagram that arrived, and its proven sender.
///
/// Ports are those of the UDP encapsulation; 0 where the protocol runs directly over IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramMeta {
    /// The address at which it arrived.
    pub local: SocketAddr,
    /// The address from which it came.
    pub remote: SocketAddr,
    /// Codepoint in its IP header.
    pub ecn: Ecn,
    /// Host that sent it, where a layer below the machine proved that; none where packets are not
    /// authenticated.
    pub origin: Option<Origin>,
}

/// A host that has proved its identity to a layer below the machine: a digest of its public key.
///
/// Datagrams with the same origin come from holders of one key, whatever their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin(pub [u8; 16]);

/// Addresses and codepoint for a datagram that [`Machine::poll_transmit`] wrote.
///
/// Ports are those of the UDP encapsulation; 0 where the protocol runs directly over IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The address to send from; none leaves the choice to the system.
    pub local: Option<SocketAddr>,
    /// The address to send to.
    pub remote: SocketAddr,
    /// Codepoint for its IP header.
    pub ecn: Ecn,
    /// Whether it must arrive in one piece or not at all (the DF bit), as path MTU discovery wants
    /// it. If not, IP may fragment it.
    pub dont_fragment: bool,
    /// Requests of the IP header to the network.
    pub service: IpService,
    /// Bytes appended to [`TransmitBuffer::head`]; those of its tail do not count.
    pub size: usize,
}

/// Report of an ICMP message about a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// The datagram is larger than a link's MTU on its way (*fragmentation needed*, *packet too
    /// big*).
    PacketTooBig {
        /// Bytes of an IP packet that the link takes.
        mtu: u32,
    },
    /// No receiver there: the protocol, or the port of its UDP encapsulation, is unknown there.
    NoListener,
    /// The datagram does not arrive: no route, host down, filtered.
    Unreachable,
}

/// An ICMP message about a datagram that was sent. Any host may have sent it: a machine trusts it
/// only as far as its quotation proves that its sender saw the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp<'a> {
    /// The address that it left from, if the driver knows: the source in the quoted IP header.
    pub local: Option<IpAddr>,
    /// Destination of the datagram that the error quotes.
    pub remote: SocketAddr,
    /// Kind of the reported error.
    pub error: IcmpError,
    /// The beginning of the datagram's payload, as far as it is quoted.
    pub quoted: &'a [u8],
}

/// A datagram that arrived, as its driver hands it to a [`Machine`].
///
/// Plain bytes from a socket are one by `into()`: without a tail, and not verified.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Datagram {
    /// The bytes that the UDP or IP header precedes: all of them, or the first if there is a tail.
    pub head: Bytes,
    /// The bytes that follow `head`, where they lie elsewhere in memory (see
    /// [`TransmitBuffer::tail`]); mostly empty.
    pub tail: Bytes,
    /// Whether the driver vouches that the bytes are those that were sent: a network card has
    /// verified them, or they were handed over in memory. The machine then ignores the checksum,
    /// which may be wrong.
    pub verified: bool,
}

impl Datagram {
    /// A datagram that the driver vouches for, in one piece.
    pub fn verified(bytes: Bytes) -> Datagram {
        Datagram { head: bytes, tail: Bytes::new(), verified: true }
    }

    /// Bytes of head and tail.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Whether both head and tail are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Head and tail in one piece; copied only if neither is empty.
    pub fn into_bytes(self) -> Bytes {
        join_bytes(self.head, self.tail)
    }
}

impl From<Bytes> for Datagram {
    fn from(head: Bytes) -> Datagram {
        Datagram { head, tail: Bytes::new(), verified: false }
    }
}

impl From<Vec<u8>> for Datagram {
    fn from(head: Vec<u8>) -> Datagram {
        Bytes::from(head).into()
    }
}

/// Buffer into which a [`Machine`] writes a datagram that leaves.
///
/// A `Vec<u8>` takes all of its bytes, checksum included. A driver within the process may take less
/// with [`GatheredBuffer`].
pub trait TransmitBuffer {
    /// The datagram, or its head if the end goes to [`TransmitBuffer::tail`], is appended here.
    fn head(&mut self) -> &mut Vec<u8>;

    /// Offered by drivers whose datagrams never leave the process, and which hand them over with
    /// [`Datagram::verified`]. As with the offloads of a network card, a machine may leave out
    /// checksums, and put the end of the datagram here (empty before) as it lies in memory
    /// instead of copying it. A machine may ignore it.
    fn tail(&mut self) -> Option<&mut Bytes> {
        None
    }

    /// The datagram is for this host alone: a layer that authenticates hosts gives it to no other
    /// that may be at the same address. Drivers without such a layer ignore it.
    fn only_for(&mut self, _origin: Origin) {}
}

impl TransmitBuffer for Vec<u8> {
    fn head(&mut self) -> &mut Vec<u8> {
        self
    }
}

/// Takes the end of a datagram as it lies in memory, and asks for no checksum; for one datagram at
/// a time.
#[derive(Clone, Debug, Default)]
pub struct GatheredBuffer {
    /// The first bytes of the datagram: headers, and payload that is not gathered.
    pub head: Vec<u8>,
    /// Payload that continues the head, by reference; empty where all is in the head.
    pub tail: Bytes,
}

impl TransmitBuffer for GatheredBuffer {
    fn head(&mut self) -> &mut Vec<u8> {
        &mut self.head
    }

    fn tail(&mut self) -> Option<&mut Bytes> {
        Some(&mut self.tail)
    }
}

/// A sans-IO protocol machine (see the module's text for the order of calls).
pub trait Machine {
    /// Input: a datagram arrived. A bad one is counted and dropped.
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram);

    /// Input: an ICMP message arrived. A machine verifies it against the datagram that it quotes
    /// before it counts.
    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>);

    /// Input: time has come to `now`. Harmless when nothing is due.
    fn handle_timeout(&mut self, now: Instant);

    /// Output: writes the next datagram to `buffer` and says where it goes; none when there is no
    /// more.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit>;

    /// Output: the next instant at which [`Machine::handle_timeout`] wants to be called.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// Joins `head` and `tail`; copies them only if neither is empty.
pub fn join_bytes(head: Bytes, tail: Bytes) -> Bytes {
    match (head.is_empty(), tail.is_empty()) {
        (_, true) => head,
        (true, false) => tail,
        (false, false) => Bytes::from([head, tail].concat()),
    }
}

/// A type that holds a machine and adds to it what an application does; it implements [`Machine`]
/// by delegation.
pub trait Holder {
    /// The machine that it holds: `dyn Machine` where it is one of several.
    type Held: Machine + ?Sized;

    /// The machine by shared reference, for its deadlines and state.
    fn held(&self) -> &Self::Held;

    /// The machine by exclusive reference, for its inputs and outputs.
    fn held_mut(&mut self) -> &mut Self::Held;
}

impl<H: Holder> Machine for H {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        self.held_mut().handle_datagram(now, meta, datagram);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.held_mut().handle_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.held_mut().handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        self.held_mut().poll_transmit(now, buffer)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.held().poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_joined_in_the_order_of_its_bytes() {
        let of = |head: &'static [u8], tail: &'static [u8]| Datagram {
            head: Bytes::from_static(head),
            tail: Bytes::from_static(tail),
            verified: true,
        };
        for (head, tail) in [(&b"ab"[..], &b"cd"[..]), (b"abcd", b""), (b"", b"abcd")] {
            assert_eq!(of(head, tail).len(), 4);
            assert_eq!(of(head, tail).into_bytes(), &b"abcd"[..]);
        }
        assert!(of(b"", b"").is_empty());
    }

    #[test]
    fn plain_bytes_are_not_verified_and_take_everything() {
        assert!(!Datagram::from(vec![1, 2]).verified);
        assert!(!Datagram::from(Bytes::from_static(b"ab")).verified);
        assert_eq!(Vec::new().tail(), None);
        assert_eq!(GatheredBuffer::default().tail(), Some(&mut Bytes::new()));
    }
}
