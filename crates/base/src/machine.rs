//! The contract of a sans-IO protocol machine: datagrams, time and application calls in; datagrams,
//! events and the next deadline out.
//!
//! One driver owns a machine. After **every** input ([`Machine::handle_datagram`],
//! [`Machine::handle_timeout`], or an application's call) the driver drains
//! [`Machine::poll_transmit`] until it has nothing (and the machine's own events), then sleeps until
//! [`Machine::poll_timeout`]. `now` never goes back; a machine treats an earlier `now` as the latest it saw.
//! The same inputs at the same times give the same outputs.

use core::net::{IpAddr, SocketAddr};

use bytes::Bytes;

use crate::time::Instant;

/// Explicit congestion notification codepoint of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// What the IP header of a datagram asks of the network, beside ECN.
///
/// Heeded where the driver writes IP headers itself (a TUN device). The system's sockets keep to what they are set
/// to, and the virtual network treats all datagrams alike.
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

/// Where a datagram that arrived came from and where it arrived.
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
}

/// Where to send a datagram that [`Machine::poll_transmit`] appended to the buffer.
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
    /// Whether it must arrive in one piece or not at all (the DF bit), as path MTU discovery wants it. If
    /// not, IP may fragment it.
    pub dont_fragment: bool,
    /// What its IP header asks of the network.
    pub service: IpService,
    /// Bytes appended to the buffer.
    pub size: usize,
}

/// What an ICMP message says of a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// It is larger than a link on its way takes (*fragmentation needed*, *packet too big*).
    PacketTooBig {
        /// Bytes of an IP packet that the link takes.
        mtu: u32,
    },
    /// Nobody listens where it went: the protocol, or the port of its UDP encapsulation, is unknown there.
    NobodyThere,
    /// It does not get there: no route, host down, filtered.
    Unreachable,
}

/// An ICMP message about a datagram that was sent. Anybody may have sent it: a machine believes it only as
/// far as what it quotes proves that its sender saw the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp<'a> {
    /// The address that it left from, if the driver knows: the source in the quoted IP header.
    pub local: Option<IpAddr>,
    /// Where the datagram went.
    pub remote: SocketAddr,
    /// What is wrong.
    pub error: IcmpError,
    /// The beginning of the datagram's payload, as far as it is quoted.
    pub quoted: &'a [u8],
}

/// A sans-IO protocol machine (see the module's text for the order of calls).
pub trait Machine {
    /// Input: a datagram arrived. A bad one is counted and dropped.
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes);

    /// Input: as [`Machine::handle_datagram`], where the driver knows that the datagram is as it was sent: it never
    /// was on a wire, or the network card has verified it. Its checksum need not even be right.
    fn handle_checked_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        self.handle_datagram(now, meta, datagram);
    }

    /// Input: as [`Machine::handle_checked_datagram`], with a datagram as
    /// [`Machine::poll_transmit_gathered`] leaves it: `tail` follows `head`.
    fn handle_gathered_datagram(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        head: Bytes,
        tail: Bytes,
    ) {
        self.handle_checked_datagram(now, meta, join_bytes(head, tail));
    }

    /// Input: an ICMP message arrived. Verified before it counts.
    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        let _ = (now, icmp);
    }

    /// Input: time has come to `now`. Harmless when nothing is due.
    fn handle_timeout(&mut self, now: Instant);

    /// Output: appends the next datagram to `buffer` and says where it goes; none when there is no more.
    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit>;

    /// Output: as [`Machine::poll_transmit`], for a driver whose datagrams meet no wire, which hands them over by
    /// [`Machine::handle_gathered_datagram`]. As with the offloads of a network card, a machine may leave checksums
    /// out, and put the end of the datagram into `tail` (empty before) as it lies in memory, in the place of a
    /// copy of it into `buffer`; [`Transmit::size`] does not count it.
    fn poll_transmit_gathered(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        tail: &mut Bytes,
    ) -> Option<Transmit> {
        let _ = tail;
        self.poll_transmit(now, buffer)
    }

    /// Output: the next instant at which [`Machine::handle_timeout`] wants to be called.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// Both in one piece; copied only if neither is empty.
pub fn join_bytes(head: Bytes, tail: Bytes) -> Bytes {
    match (head.is_empty(), tail.is_empty()) {
        (_, true) => head,
        (true, false) => tail,
        (false, false) => Bytes::from([head, tail].concat()),
    }
}

/// Something that holds a machine and adds to it what an application does: it is a machine too, by handing
/// everything on.
pub trait Holder {
    /// The machine that it holds.
    type Held: Machine;

    /// The machine, to ask.
    fn held(&self) -> &Self::Held;

    /// The machine, to drive.
    fn held_mut(&mut self) -> &mut Self::Held;
}

impl<H: Holder> Machine for H {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        self.held_mut().handle_datagram(now, meta, datagram);
    }

    fn handle_checked_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        self.held_mut().handle_checked_datagram(now, meta, datagram);
    }

    fn handle_gathered_datagram(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        head: Bytes,
        tail: Bytes,
    ) {
        self.held_mut().handle_gathered_datagram(now, meta, head, tail);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.held_mut().handle_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.held_mut().handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.held_mut().poll_transmit(now, buffer)
    }

    fn poll_transmit_gathered(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        tail: &mut Bytes,
    ) -> Option<Transmit> {
        self.held_mut().poll_transmit_gathered(now, buffer, tail)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.held().poll_timeout()
    }
}
