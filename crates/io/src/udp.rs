//! UDP sockets with batched sends and receives: UDP encapsulation of SCTP (RFC 6951).

#[cfg(target_os = "linux")]
mod acks;
#[cfg(target_os = "linux")]
mod many;

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::task::{Context, Poll};

use base::{DatagramMeta, Ecn, Transmit};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

#[cfg(target_os = "linux")]
pub(crate) use self::acks::AckSocket;
use crate::carrier::{
    BindError, Carrier, CarrierStatistics, Counters, PASSING_ERRORS_MAX, RecvBatch, SLOT_SIZE,
    canonical, is_passing,
};
#[cfg(target_os = "linux")]
use crate::error_queue::ErrorQueue;
use crate::fragmentation::Fragmentation;
use crate::registered::Registered;

/// The UDP port of SCTP's encapsulation (RFC 6951, section 4).
pub const SCTP_OVER_UDP_PORT: u16 = 9899;

/// Requested size of the socket buffers in bytes, so that a burst of many associations fits while
/// the task waits to run; the system may grant less.
pub(crate) const SOCKET_BUFFER: usize = 4 << 20;

/// Most bytes of payload in one send of several datagrams: those that an IPv4 packet holds.
const LARGEST_JOINED_SEND: usize = 65_507;

/// An UDP socket.
///
/// Where the system supports it, consecutive datagrams of equal size to one destination leave in
/// one system call (GSO), many arrive in one (recvmmsg, GRO), and the ECN codepoint and the local
/// address of each datagram are set and reported. On Linux the don't-fragment bit is set for each
/// datagram.
#[derive(Debug)]
pub struct UdpCarrier {
    socket: Arc<Registered>,
    /// ICMP errors about sent datagrams, if requested.
    #[cfg(target_os = "linux")]
    errors: Option<ErrorQueue>,
    /// Socket at which packets that only acknowledge arrive apart.
    #[cfg(target_os = "linux")]
    acks: Option<Box<AckSocket>>,
    state: UdpSocketState,
    fragmentation: Fragmentation,
    local: SocketAddr,
    counters: Counters,
}

impl UdpCarrier {
    /// Opens a socket at `address`; port 0 takes a free one. The unspecified IPv6 address `[::]`
    /// takes IPv4 as well. Needs a tokio runtime with I/O enabled.
    pub fn bind(address: SocketAddr) -> Result<UdpCarrier, BindError> {
        open(address, false).map_err(|source| BindError::new("UDP", address, source))
    }

    /// Opens a further socket at an address that others share.
    #[cfg(target_os = "linux")]
    pub(crate) fn bind_beside(address: SocketAddr) -> io::Result<UdpCarrier> {
        open(address, true)
    }

    /// Packets that only acknowledge arrive at this socket from now on.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_acks(&mut self, acks: AckSocket) {
        self.acks = Some(Box::new(acks));
    }

    /// The socket, to set options.
    #[cfg(target_os = "linux")]
    pub(crate) fn socket(&self) -> &Socket {
        self.socket.socket()
    }

    /// Like [`UdpCarrier::bind`], and ICMP messages about sent datagrams reach the machine
    /// ([`base::Machine::handle_icmp`]) on Linux; elsewhere it equals `bind`.
    ///
    /// For clients: a message about one destination also makes the next call for another one fail,
    /// which is then repeated.
    pub fn bind_with_icmp(address: SocketAddr) -> Result<UdpCarrier, BindError> {
        #[cfg(target_os = "linux")]
        {
            let mut carrier = UdpCarrier::bind(address)?;
            let errors = ErrorQueue::open(&carrier.socket, carrier.local.ip());
            carrier.errors = Some(errors.map_err(|source| BindError::new("UDP", address, source))?);
            Ok(carrier)
        }
        #[cfg(not(target_os = "linux"))]
        UdpCarrier::bind(address)
    }

    /// Adds the waiting ICMP messages to `batch`; returns whether there were any.
    fn receive_errors(&self, batch: &mut RecvBatch) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(errors) = &self.errors {
            let reports = errors.drain();
            let any = !reports.is_empty();
            batch.push_icmp(reports);
            return any;
        }
        let _ = batch;
        false
    }

    fn reads_errors(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.errors.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Datagrams that the system refused to send; copies no other counter.
    #[cfg(feature = "emulator")]
    pub(crate) fn send_errors(&self) -> u64 {
        self.counters.send_errors()
    }

    /// Makes one receiving system call; returns whether it filled all buffers, so that more may
    /// wait.
    fn receive_slots(&self, batch: &mut RecvBatch) -> io::Result<bool> {
        let mut metas = [RecvMeta::default(); quinn_udp::BATCH_SIZE];
        let (count, offered) = {
            let mut slots: [IoSliceMut<'_>; quinn_udp::BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(&mut []));
            let mut used = 0;
            for (slot, memory) in slots.iter_mut().zip(batch.storage.chunks_mut(SLOT_SIZE)) {
                *slot = IoSliceMut::new(memory);
                used += 1;
            }
            let socket = UdpSockRef::from(self.socket.socket());
            (self.state.recv(socket, &mut slots[..used], &mut metas)?, used)
        };
        let mut bytes = 0;
        let before = batch.len();
        for (index, meta) in metas[..count].iter().enumerate() {
            let length = meta.len.min(SLOT_SIZE);
            bytes += length;
            batch.push(self.describe(meta), index * SLOT_SIZE, length, meta.stride);
        }
        self.counters.on_received(batch.len() - before, bytes);
        Ok(count == offered)
    }

    /// Receives the waiting datagrams, or as many as one system call returns.
    fn receive(&self, batch: &mut RecvBatch) -> io::Result<()> {
        let mut is_all = false;
        let received = self.socket.try_read(|| match self.receive_slots(batch) {
            Ok(true) => Ok(()),
            // The socket is empty now: as after a call in vain, which this saves, the system
            // reports the next datagram.
            Ok(false) => {
                is_all = true;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error),
        });
        if is_all { Ok(()) } else { received }
    }

    /// Converts the system's metadata of a datagram to the machine's.
    fn describe(&self, meta: &RecvMeta) -> DatagramMeta {
        let remote = canonical(meta.addr);
        let local = match (meta.dst_ip.map(|ip| ip.to_canonical()), remote) {
            // A link-local address means something only with its interface, which is the sender's.
            (Some(IpAddr::V6(ip)), SocketAddr::V6(remote)) if ip.is_unicast_link_local() => {
                SocketAddrV6::new(ip, self.local.port(), 0, remote.scope_id()).into()
            }
            (Some(ip), _) => SocketAddr::new(ip, self.local.port()),
            (None, _) => self.local,
        };
        DatagramMeta { local, remote, ecn: from_codepoint(meta.ecn), origin: None }
    }

    /// The address in the form of the socket's family.
    fn for_socket(&self, address: SocketAddr) -> SocketAddr {
        match (self.local, address) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                SocketAddr::from((v4.ip().to_ipv6_mapped(), v4.port()))
            }
            _ => address,
        }
    }

    /// The address to name as the source of a datagram: none where the socket's own is the only
    /// one.
    fn source(&self, transmit: &Transmit) -> Option<IpAddr> {
        let named = transmit.local.map(|local| local.ip());
        named.filter(|ip| !ip.is_unspecified() && *ip != self.local.ip())
    }

    /// Number of `transmits`, from the first, that can leave in one system call.
    fn joinable(&self, transmits: &[Transmit]) -> usize {
        joinable(transmits, self.state.max_gso_segments())
    }

    /// Sends `contents`, datagrams of `segment` bytes each, the last may be shorter, if the socket
    /// accepts them now.
    fn send_joined(&self, first: &Transmit, contents: &[u8], segment: usize) -> io::Result<()> {
        let transmit = quinn_udp::Transmit {
            destination: self.for_socket(first.remote),
            ecn: to_codepoint(first.ecn),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            src_ip: self.source(first),
        };
        self.fragmentation.prepare(self.socket.socket(), self.local.is_ipv4(), first.dont_fragment);
        let send = || {
            let send = || self.state.try_send(UdpSockRef::from(self.socket.socket()), &transmit);
            self.socket.try_send(send)
        };
        match send() {
            // It may be what ICMP said of an earlier datagram, which is reported once.
            Err(error) if self.reads_errors() && is_passing(&error) => send(),
            sent => sent,
        }
    }

    /// Sends the first datagrams, if they are for several peers and the socket accepts them now;
    /// returns their number. The others, and refused ones, are for [`UdpCarrier::send_joined`].
    fn send_spread(&self, transmits: &[Transmit], buffer: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        if let count @ 2.. = many::count(transmits) {
            let (transmits, first) = (&transmits[..count], &transmits[0]);
            let (source, to) = (self.source(first), |to| self.for_socket(to));
            self.fragmentation.prepare(
                self.socket.socket(),
                self.local.is_ipv4(),
                first.dont_fragment,
            );
            return many::send(self.socket.socket(), transmits, buffer, source, to);
        }
        let _ = (transmits, buffer);
        Ok(0)
    }

    /// Sends each datagram in `contents` separately, after the system refused them together;
    /// returns how many are sent or dropped.
    fn send_apart(&self, transmits: &[Transmit], contents: &[u8]) -> usize {
        let mut rest = contents;
        for (index, transmit) in transmits.iter().enumerate() {
            let (datagram, after) = rest.split_at(transmit.size.min(rest.len()));
            rest = after;
            match self.send_joined(transmit, datagram, datagram.len()) {
                Ok(()) => self.counters.on_sent(1, datagram.len()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return index,
                Err(error) => self.counters.on_send_error(transmit.remote, &error),
            }
        }
        transmits.len()
    }
}

impl Carrier for UdpCarrier {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    async fn send(&self, transmits: &[Transmit], buffer: &[u8]) {
        let (mut transmits, mut buffer) = (transmits, buffer);
        loop {
            let handled = self.try_send(transmits, buffer);
            let (done, rest) = transmits.split_at(handled);
            let size: usize = done.iter().map(|transmit| transmit.size).sum();
            (transmits, buffer) = (rest, &buffer[size.min(buffer.len())..]);
            // An error means that the runtime ends.
            if transmits.is_empty() || self.socket.writable().await.is_err() {
                return;
            }
        }
    }

    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize {
        let (mut handled, mut rest) = (0, buffer);
        while let Some(first) = transmits.get(handled) {
            let spread = self.send_spread(&transmits[handled..], rest);
            if let Ok(sent @ 1..) = spread {
                let size: usize = transmits[handled..][..sent].iter().map(|one| one.size).sum();
                self.counters.on_sent(sent, size);
                (handled, rest) = (handled + sent, &rest[size..]);
                continue;
            }
            let together = &transmits[handled..][..self.joinable(&transmits[handled..])];
            let size: usize = together.iter().map(|transmit| transmit.size).sum();
            let (contents, after) = rest.split_at(size.min(rest.len()));
            let done = match self.send_joined(first, contents, first.size) {
                Ok(()) => {
                    self.counters.on_sent(together.len(), contents.len());
                    together.len()
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(_) if together.len() > 1 => self.send_apart(together, contents),
                Err(error) => {
                    self.counters.on_send_error(first.remote, &error);
                    1
                }
            };
            handled += done;
            rest = after;
            if done < together.len() {
                break;
            }
        }
        handled
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        #[cfg(target_os = "linux")]
        if let Some(errors) = &self.errors
            && errors.poll_readable(context).is_ready()
        {
            return Poll::Ready(Ok(()));
        }
        self.socket.poll_readable(context)
    }

    #[cfg(target_os = "linux")]
    fn separates_acks(&self) -> bool {
        self.acks.is_some()
    }

    #[cfg(target_os = "linux")]
    fn wake_on_acks(&self, wakes: bool) {
        if let Some(acks) = &self.acks {
            acks.set_waking(wakes);
        }
    }

    #[cfg(target_os = "linux")]
    fn poll_acks(&self, context: &mut Context<'_>) -> Poll<()> {
        self.acks.as_ref().map_or(Poll::Pending, |acks| acks.poll_arrival(context))
    }

    #[cfg(target_os = "linux")]
    fn try_recv_acks(&self, batch: &mut RecvBatch) {
        let Some(acks) = &self.acks else { return };
        let received = acks.receive(|waited, meta, bytes| {
            self.counters.on_received(1, bytes.len());
            batch.push_ack(waited.into(), self.describe(meta), bytes);
        });
        match received {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.counters.on_receive_error(&error);
            }
            _ => {}
        }
    }

    fn try_recv(&self, batch: &mut RecvBatch) -> io::Result<()> {
        let mut received = self.receive(batch);
        for _ in 0..PASSING_ERRORS_MAX {
            match received {
                Err(error) if is_passing(&error) => self.counters.on_receive_error(&error),
                _ => break,
            }
            received = self.receive(batch);
        }
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if self.receive_errors(batch) { Ok(()) } else { Err(error) }
            }
            other => other,
        }
    }

    fn statistics(&self) -> CarrierStatistics {
        self.counters.snapshot()
    }
}

/// Opens and prepares the socket; with `beside`, others may share its address.
fn open(address: SocketAddr, beside: bool) -> io::Result<UdpCarrier> {
    let socket = open_socket(address, beside)?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    let local = local_address(&socket)?;
    #[cfg(target_os = "linux")]
    omit_known_address(&socket, local)?;
    let (fragmentation, counters) = Default::default();
    Ok(UdpCarrier {
        socket: Arc::new(Registered::new(socket)?),
        #[cfg(target_os = "linux")]
        errors: None,
        #[cfg(target_os = "linux")]
        acks: None,
        state,
        fragmentation,
        local,
        counters,
    })
}

fn local_address(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?;
    address.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Has the system leave out the local address of each datagram where it is always the same.
#[cfg(target_os = "linux")]
fn omit_known_address(socket: &impl std::os::fd::AsFd, local: SocketAddr) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    if local.is_ipv4() && !local.ip().is_unspecified() {
        setsockopt(socket, sockopt::Ipv4PacketInfo, &false)?;
    }
    Ok(())
}

/// A socket at `address`, where others may be if it is opened `beside` them.
fn open_socket(address: SocketAddr, beside: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    #[cfg(target_os = "linux")]
    if beside {
        socket.set_reuse_port(true)?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = beside;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // Larger buffers are a wish: less only means more loss under load.
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Number of `transmits`, from the first, that the kernel can segment from one buffer: same
/// addresses and codepoint, all of one size except for a shorter last one, no more than `limit`,
/// and no more bytes than a packet holds.
fn joinable(transmits: &[Transmit], limit: usize) -> usize {
    let Some(first) = transmits.first() else { return 0 };
    let mut count = 1;
    let mut bytes = first.size;
    for next in &transmits[1..] {
        let same = (next.local, next.remote, next.ecn) == (first.local, first.remote, first.ecn)
            && next.dont_fragment == first.dont_fragment;
        bytes += next.size;
        let fits = count < limit && bytes <= LARGEST_JOINED_SEND;
        if !same || !fits || next.size > first.size || next.size == 0 {
            break;
        }
        count += 1;
        if next.size < first.size {
            break;
        }
    }
    count
}

fn to_codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn from_codepoint(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// The unspecified address, port 0, of the family of `remote`, for a client to bind.
pub fn unspecified_for(remote: SocketAddr) -> SocketAddr {
    match remote {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

#[cfg(test)]
mod tests;
