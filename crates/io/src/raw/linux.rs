//! The raw socket of Linux. The kernel writes IP headers of sent packets, finds the path MTU and
//! reassembles fragments.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::task::{Context, Poll};

use base::{DatagramMeta, Ecn, Transmit};
use etherparse::Ipv4HeaderSlice;
use nix::libc;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt,
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::carrier::{
    BindError, Carrier, CarrierStatistics, Counters, PASSING_ERRORS_MAX, RecvBatch, SLOT_SIZE,
    is_passing,
};
use crate::controls::Controls;
use crate::fragmentation::Fragmentation;
use crate::ip::from_bits;
use crate::registered::Registered;

/// A raw IP socket for SCTP, of one address family. Ports in its addresses are 0.
#[derive(Debug)]
pub struct RawCarrier {
    socket: Registered,
    fragmentation: Fragmentation,
    local: SocketAddr,
    counters: Counters,
}

impl RawCarrier {
    /// Opens a socket for packets to the IP address of `address`, or to any of its family if that
    /// is unspecified. The port is ignored. Needs root or CAP_NET_RAW, and a tokio runtime with I/O
    /// enabled.
    pub fn bind(address: SocketAddr) -> Result<RawCarrier, BindError> {
        let address = without_port(address);
        open(address).map_err(|source| BindError::new("raw IP", address, source))
    }

    /// Reads a burst of packets; `WouldBlock` if there is none.
    fn receive_burst(&self, batch: &mut RecvBatch) -> io::Result<()> {
        /// Packets read before other tasks get their turn.
        const BURST: usize = 32;
        let mut errors = 0;
        while batch.len() < BURST {
            match self.receive_one(batch) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !batch.is_empty() => {
                    break;
                }
                Err(error) if is_passing(&error) && errors < PASSING_ERRORS_MAX => {
                    errors += 1;
                    self.counters.on_receive_error(&error);
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Reads one packet and adds it to `batch` without its IP header.
    fn receive_one(&self, batch: &mut RecvBatch) -> io::Result<()> {
        let mut control = nix::cmsg_space!(libc::in6_pktinfo, i32);
        let (length, remote, mut meta) = {
            let mut slots = [IoSliceMut::new(&mut batch.storage[..SLOT_SIZE])];
            let message = recvmsg::<SockaddrStorage>(
                self.socket.socket().as_raw_fd(),
                &mut slots,
                Some(&mut control),
                MsgFlags::empty(),
            )?;
            let remote = message.address.as_ref().and_then(to_socket_addr);
            let mut meta = DatagramMeta {
                local: self.local,
                remote: self.local,
                ecn: Ecn::NotEct,
                origin: None,
            };
            for control in message.cmsgs().into_iter().flatten() {
                read_control(&control, &mut meta);
            }
            (message.bytes, remote, meta)
        };
        let header = match remote {
            None => None,
            Some(remote) => {
                meta.remote = remote;
                let header = strip_header(&batch.storage[..length], &mut meta);
                header.filter(|_| self.is_for_us(meta.local.ip()))
            }
        };
        if let Some(header) = header {
            batch.push(meta, header, length - header, 0);
            self.counters.on_received(1, length - header);
        }
        Ok(())
    }

    /// Whether a packet to `destination` belongs to this carrier. Until a raw socket is bound, the
    /// system gives it packets to any address: those of other endpoints of this host may enter its
    /// queue, and a machine that answered them with ABORT would end their associations.
    fn is_for_us(&self, destination: IpAddr) -> bool {
        let own = self.local.ip();
        own.is_unspecified() || own == destination
    }

    /// Sends one packet; `WouldBlock` when the socket's buffer is full.
    fn send_one(&self, transmit: &Transmit, packet: &[u8]) -> io::Result<()> {
        let source = transmit.local.map(|local| local.ip()).filter(|ip| !ip.is_unspecified());
        let controls = Controls::of(transmit, source);
        let remote = SockaddrStorage::from(without_port(transmit.remote));
        let parts = [IoSlice::new(packet)];
        let flags = MsgFlags::empty();
        sendmsg(
            self.socket.socket().as_raw_fd(),
            &parts,
            &controls.messages(),
            flags,
            Some(&remote),
        )?;
        Ok(())
    }
}

impl Carrier for RawCarrier {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    async fn send(&self, transmits: &[Transmit], buffer: &[u8]) {
        let mut rest = buffer;
        for transmit in transmits {
            let (packet, after) = rest.split_at(transmit.size.min(rest.len()));
            rest = after;
            self.fragmentation.prepare(
                self.socket.socket(),
                self.local.is_ipv4(),
                transmit.dont_fragment,
            );
            let send = || self.send_one(transmit, packet);
            match self.socket.send(send).await {
                Ok(()) => self.counters.on_sent(1, packet.len()),
                Err(error) => self.counters.on_send_error(transmit.remote, &error),
            }
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_readable(context)
    }

    fn try_recv(&self, batch: &mut RecvBatch) -> io::Result<()> {
        self.socket.try_read(|| self.receive_burst(batch))
    }

    fn statistics(&self) -> CarrierStatistics {
        self.counters.snapshot()
    }
}

fn open(address: SocketAddr) -> io::Result<RawCarrier> {
    bound(unbound(address)?, address)
}

/// A socket for the family of `address`, prepared except for its address.
fn unbound(address: SocketAddr) -> io::Result<Socket> {
    let protocol = Protocol::from(i32::from(crate::ip::SCTP));
    let socket = Socket::new(Domain::for_address(address), Type::RAW, Some(protocol))?;
    // A wish, as for UDP.
    let _ = socket.set_recv_buffer_size(4 << 20);
    let _ = socket.set_send_buffer_size(4 << 20);
    if address.is_ipv6() {
        // IPv6 raw sockets yield no header: its addresses and class come beside the packet.
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
        setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn bound(socket: Socket, address: SocketAddr) -> io::Result<RawCarrier> {
    socket.bind(&address.into())?;
    let socket = Registered::new(socket)?;
    let (fragmentation, counters) = Default::default();
    Ok(RawCarrier { socket, fragmentation, local: address, counters })
}

/// Length of the IP header before the SCTP packet; copies the fields that the machine needs to
/// `meta`. None if `packet` is not a whole IPv4 packet. IPv6 has no header here.
fn strip_header(packet: &[u8], meta: &mut DatagramMeta) -> Option<usize> {
    if meta.remote.is_ipv6() {
        return Some(0);
    }
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    meta.local = (header.destination_addr(), 0).into();
    meta.ecn = from_bits(header.ecn().value());
    Some(header.slice().len())
}

/// Reads local address and codepoint of an IPv6 packet from a control message.
fn read_control(control: &ControlMessageOwned, meta: &mut DatagramMeta) {
    match control {
        ControlMessageOwned::Ipv6PacketInfo(info) => {
            let ip = Ipv6Addr::from(info.ipi6_addr.s6_addr);
            let scope = if ip.is_unicast_link_local() { info.ipi6_ifindex } else { 0 };
            meta.local = SocketAddrV6::new(ip, 0, 0, scope).into();
        }
        ControlMessageOwned::Ipv6TClass(class) => meta.ecn = from_bits((*class & 0xff) as u8),
        _ => {}
    }
}

fn to_socket_addr(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some((v4.ip(), 0).into());
    }
    let v6 = address.as_sockaddr_in6()?;
    Some(SocketAddrV6::new(v6.ip(), 0, 0, v6.scope_id()).into())
}

/// Sets the port to zero: raw sockets interpret it as the protocol number.
fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Two sockets at loopback addresses, or none where the process may not have them.
    fn pair(first: IpAddr, second: IpAddr) -> Option<(RawCarrier, RawCarrier)> {
        let bind = |ip| RawCarrier::bind(SocketAddr::new(ip, 9));
        match (bind(first), bind(second)) {
            (Ok(a), Ok(b)) => Some((a, b)),
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    /// Receives until a packet that starts with `mark` comes: other tests send SCTP here, too.
    async fn receive(carrier: &RawCarrier, mark: &[u8]) -> (DatagramMeta, Vec<u8>) {
        let mut batch = RecvBatch::new(1);
        loop {
            let wait = carrier.recv(&mut batch);
            tokio::time::timeout(std::time::Duration::from_secs(5), wait).await.unwrap().unwrap();
            if let Some((meta, data)) = batch.drain().find(|(_, data)| data.head.starts_with(mark))
            {
                return (meta, data.head.to_vec());
            }
        }
    }

    async fn send(
        from: &RawCarrier,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        ecn: Ecn,
        packet: &[u8],
    ) {
        let (service, size) = (base::IpService::default(), packet.len());
        let transmit = Transmit { local, remote, ecn, dont_fragment: false, service, size };
        from.send(&[transmit], packet).await;
    }

    async fn exchange(first: IpAddr, second: IpAddr, mark: &'static [u8]) {
        let Some((a, b)) = pair(first, second) else { return };
        for (ecn, local) in [(Ecn::Ect0, None), (Ecn::Ce, Some(a.local_addr()))] {
            send(&a, local, SocketAddr::new(second, 36_412), ecn, mark).await;
            let (meta, data) = receive(&b, mark).await;
            assert_eq!((&data[..], meta.ecn), (mark, ecn));
            assert_eq!((meta.local, meta.remote), (b.local_addr(), a.local_addr()));
        }
        assert_eq!(a.statistics().datagrams_sent, 2);
        assert_eq!(a.statistics().last_error, None);
    }

    #[tokio::test]
    async fn sctp_travels_in_ipv4_and_loses_its_header_on_the_way_in() {
        let ip = |last| Ipv4Addr::new(127, 13, 2, last).into();
        exchange(ip(1), ip(2), b"thinstream raw ipv4").await;
    }

    #[tokio::test]
    async fn sctp_travels_in_ipv6() {
        let ip = Ipv6Addr::LOCALHOST.into();
        exchange(ip, ip, b"thinstream raw ipv6").await;
    }

    #[tokio::test]
    async fn what_came_for_another_address_before_the_socket_had_one_is_nobodys() {
        let [own, neighbour, peer] =
            [5, 6, 7].map(|last| SocketAddr::from(([127, 13, 2, last], 0)));
        let socket = match unbound(own) {
            Ok(socket) => socket,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let peer = RawCarrier::bind(peer).unwrap();
        send(&peer, None, neighbour, Ecn::NotEct, b"for the neighbour").await;
        let carrier = bound(socket, own).unwrap();
        send(&peer, None, own, Ecn::NotEct, b"for us").await;
        let mut batch = RecvBatch::new(1);
        let wait = carrier.recv(&mut batch);
        tokio::time::timeout(std::time::Duration::from_secs(5), wait).await.unwrap().unwrap();
        let (meta, data) = batch.pop().unwrap();
        assert_eq!((meta.local, &data.head[..]), (own, &b"for us"[..]));
        assert!(batch.is_empty());
    }

    #[tokio::test]
    async fn an_address_of_others_is_refused_by_name() {
        let Err(error) = RawCarrier::bind("192.0.2.1:0".parse().unwrap()) else {
            panic!("bound an address that is not here");
        };
        let text = error.to_string();
        assert!(text.contains("192.0.2.1") || text.contains("root or CAP_NET_RAW"), "{text}");
    }

    #[test]
    fn what_is_no_whole_ip_packet_yields_nothing() {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut meta =
            DatagramMeta { local: address, remote: address, ecn: Ecn::NotEct, origin: None };
        for packet in [&[][..], &[0x45; 19], &[0x4f; 24], &[0x65; 40]] {
            assert_eq!(strip_header(packet, &mut meta), None);
        }
    }
}
