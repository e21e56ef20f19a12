//! A relay that loses packets: the network between two peers, also from one namespace to another,
//! over UDP or raw IP.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use base::{Probability, Purpose, RandomStream};
use socket2::{Domain, Protocol, Socket, Type};

use crate::capture::Capture;

/// Interval at which an idle relay looks whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// Impairment of packets by a relay.
#[derive(Clone)]
pub struct Impairment {
    /// Probability that a packet is lost, in each direction and independently.
    pub loss: Probability,
    /// Seed by which the losses are drawn.
    pub seed: u64,
    /// Capture of everything before it is lost or sent on.
    pub capture: Option<Capture>,
}

impl Impairment {
    /// A relay that only carries.
    pub fn none() -> Impairment {
        Impairment { loss: Probability::from_ratio(0, 1), seed: 0, capture: None }
    }

    /// Loss of `percent` in each direction.
    pub fn losing(percent: u32, seed: u64) -> Impairment {
        Impairment { loss: Probability::from_ratio(percent.into(), 100), seed, capture: None }
    }

    /// Writes everything to `capture`, too.
    pub fn captured(self, capture: &Capture) -> Impairment {
        Impairment { capture: Some(capture.clone()), ..self }
    }
}

/// Packets that a relay carried and lost, in both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayCounts {
    /// Packets that the relay sent on.
    pub carried: u64,
    /// Packets that the relay dropped on purpose.
    pub lost: u64,
}

/// A running relay for one client and one server; dropping it stops it.
pub struct Relay {
    address: SocketAddr,
    server: SocketAddr,
    shared: Arc<Shared>,
    far: Arc<Far>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    carried: AtomicU64,
    lost: AtomicU64,
}

/// The socket towards the server, and the one that a rebinding will put in its place.
struct Far(Mutex<(Arc<UdpSocket>, Option<Arc<UdpSocket>>)>);

impl Far {
    /// Socket on which answers to the client's last packet arrive.
    fn back(&self) -> Arc<UdpSocket> {
        self.lock().0.clone()
    }

    /// The socket for a packet of the client: the new one, once there is one.
    fn forth(&self) -> Arc<UdpSocket> {
        let (current, next) = &mut *self.lock();
        if let Some(next) = next.take() {
            *current = next;
        }
        current.clone()
    }

    fn lock(&self) -> MutexGuard<'_, (Arc<UdpSocket>, Option<Arc<UdpSocket>>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Carries what arrives at `near` (bound, not connected) over `far` (bound likewise) to
    /// `server`, and answers back to the client: the first to send to `near`. The two sockets
    /// may belong to different namespaces.
    ///
    /// # Errors
    /// Where the sockets cannot be used.
    pub fn start(
        near: UdpSocket,
        far: UdpSocket,
        server: SocketAddr,
        impairment: &Impairment,
    ) -> Result<Relay> {
        Relay::carry(Wire::Udp, near, far, server, impairment)
    }

    /// Starts a relay for SCTP over raw IP; the sockets are of [`Relay::raw_socket`]. Each peer
    /// knows the other by the relay's address on its side, as behind a NAT; the checksum of
    /// SCTP does not cover addresses.
    ///
    /// # Errors
    /// Where the sockets cannot be used.
    pub fn start_raw(
        near: UdpSocket,
        far: UdpSocket,
        server: IpAddr,
        impairment: &Impairment,
    ) -> Result<Relay> {
        Relay::carry(Wire::RawIp, near, far, (server, 0).into(), impairment)
    }

    /// A raw socket for SCTP packets to `address`, in the clothes of a UDP socket (its calls are
    /// the same); needs root.
    ///
    /// # Errors
    /// Where the right is missing or the address is not of this namespace.
    pub fn raw_socket(address: IpAddr) -> Result<UdpSocket> {
        let open = || bound_to(address, unbound_raw_socket()?);
        open().with_context(|| format!("no raw socket at {address}"))
    }

    fn carry(
        wire: Wire,
        near: UdpSocket,
        far: UdpSocket,
        server: SocketAddr,
        impairment: &Impairment,
    ) -> Result<Relay> {
        let address = near.local_addr()?;
        near.set_read_timeout(Some(TICK))?;
        prepare_far(&far, server)?;
        let shared = Arc::<Shared>::default();
        let far = Arc::new(Far(Mutex::new((Arc::new(far), None))));
        let client = Arc::new(OnceLock::new());
        let forth = Direction::new(true, wire, impairment, &shared);
        let back = Direction::new(false, wire, impairment, &shared);
        let near_back = near.try_clone()?;
        let (far_forth, far_back) = (far.clone(), far.clone());
        let (known, learned) = (client.clone(), client);
        let near = Arc::new(near);
        let threads = vec![
            std::thread::spawn(move || {
                forth.run(
                    || near.clone(),
                    |from, packet| {
                        learned.get_or_init(|| from);
                        let far = far_forth.forth();
                        send_whatever_came_before(|| far.send(packet));
                    },
                );
            }),
            std::thread::spawn(move || {
                back.run(
                    || far_back.back(),
                    |_, packet| {
                        if let Some(client) = known.get() {
                            send_whatever_came_before(|| near_back.send_to(packet, client));
                        }
                    },
                );
            }),
        ];
        Ok(Relay { address, server, shared, far, threads })
    }

    /// Lets the server see the client from its next packet on at `far` (bound, not connected), as
    /// when a NAT makes a new mapping in place of one that it forgot: what still comes to the
    /// old port then is lost.
    ///
    /// # Errors
    /// Where the socket cannot be used.
    pub fn rebind(&self, far: UdpSocket) -> Result<()> {
        prepare_far(&far, self.server)?;
        self.far.lock().1 = Some(Arc::new(far));
        Ok(())
    }

    /// A relay on two loopback ports that the system chooses, to `server`.
    ///
    /// # Errors
    /// Where no port can be bound.
    pub fn on_loopback(server: SocketAddr, impairment: &Impairment) -> Result<Relay> {
        Relay::start(loopback_socket()?, loopback_socket()?, server, impairment)
    }

    /// Address to which the client sends.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Packets carried and lost until now.
    pub fn counts(&self) -> RelayCounts {
        RelayCounts {
            carried: self.shared.carried.load(Ordering::Relaxed),
            lost: self.shared.lost.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A UDP socket on 127.0.0.1 with a port that the system chooses.
pub(crate) fn loopback_socket() -> Result<UdpSocket> {
    UdpSocket::bind("127.0.0.1:0").context("no UDP port on 127.0.0.1")
}

fn unbound_raw_socket() -> std::io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(SCTP_PROTOCOL)))
}

fn bound_to(address: IpAddr, socket: Socket) -> std::io::Result<UdpSocket> {
    socket.bind(&SocketAddr::new(address, 0).into())?;
    Ok(socket.into())
}

fn prepare_far(far: &UdpSocket, server: SocketAddr) -> Result<()> {
    far.connect(server).with_context(|| format!("no way to {server}"))?;
    Ok(far.set_read_timeout(Some(TICK))?)
}

/// Number of SCTP among the protocols over IP.
const SCTP_PROTOCOL: i32 = 132;

/// Socket that a relay reads.
#[derive(Clone, Copy)]
enum Wire {
    /// Datagrams of UDP with an SCTP packet each.
    Udp,
    /// IPv4 packets, header and all.
    RawIp,
}

impl Wire {
    /// The SCTP packet in what was read from `socket`; none where there is none for its address. A
    /// raw socket takes what comes to any address until it is bound to one: packets of other
    /// runs, from other addresses of the peer, one of which would pass for the client's.
    fn strip<'a>(self, read: &'a [u8], socket: &UdpSocket) -> Option<&'a [u8]> {
        if let Wire::Udp = self {
            return Some(read);
        }
        let destination: [u8; 4] = read.get(16..20)?.try_into().ok()?;
        let own = socket.local_addr().ok()?.ip();
        if own != IpAddr::from(destination) {
            return None;
        }
        read.get(usize::from(read.first()? & 0x0f) * 4..)
    }
}

struct Direction {
    from_client: bool,
    wire: Wire,
    impairment: Impairment,
    losses: RandomStream,
    shared: Arc<Shared>,
}

impl Direction {
    fn new(
        from_client: bool,
        wire: Wire,
        impairment: &Impairment,
        shared: &Arc<Shared>,
    ) -> Direction {
        let losses = RandomStream::new(impairment.seed, Purpose("relay", u64::from(from_client)));
        let (impairment, shared) = (impairment.clone(), shared.clone());
        Direction { from_client, wire, impairment, losses, shared }
    }

    fn run(mut self, socket: impl Fn() -> Arc<UdpSocket>, mut send: impl FnMut(SocketAddr, &[u8])) {
        let mut buffer = vec![0; 65_536];
        while !self.shared.stop.load(Ordering::Relaxed) {
            let socket = socket();
            let (size, from) = match socket.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if is_silence(error.kind()) => continue,
                // What ICMP said of an earlier packet: the other side is not there, or (Linux
                // answers "protocol unreachable") its raw socket is full. Everyday
                // life of a network, of which a relay goes on to be a part.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            let Some(packet) = self.wire.strip(&buffer[..size], &socket) else { continue };
            if let Some(capture) = &self.impairment.capture {
                let _ = capture.add(self.from_client, packet);
            }
            if self.losses.happens(self.impairment.loss) {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            } else {
                self.shared.carried.fetch_add(1, Ordering::Relaxed);
                send(from, packet);
            }
        }
    }
}

fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Sends a packet with `send`. An error that ICMP left behind says nothing of this packet: then it
/// is sent again.
fn send_whatever_came_before(send: impl Fn() -> std::io::Result<usize>) {
    if send().is_err() {
        // The second time an error is of this packet, and the packet lost, as in a network.
        let _ = send();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Namespace, available};

    #[test]
    fn packets_cross_both_ways_and_the_asked_share_is_lost() {
        let server = loopback_socket().unwrap();
        let target = server.local_addr().unwrap();
        let relay = Relay::on_loopback(target, &Impairment::losing(10, 1)).unwrap();
        let client = loopback_socket().unwrap();
        let (mut arrived, mut buffer) = (0, [0; 16]);
        for _ in 0..1000 {
            let before = relay.counts();
            client.send_to(b"ping", relay.address()).unwrap();
            while relay.counts() == before {
                std::thread::yield_now();
            }
            if relay.counts().carried > before.carried {
                assert_eq!(server.recv_from(&mut buffer).unwrap().0, 4);
                arrived += 1;
            }
        }
        assert!((850..950).contains(&arrived), "{arrived} of 1000 arrived");
        let relay = Relay::on_loopback(target, &Impairment::none()).unwrap();
        client.send_to(b"ping", relay.address()).unwrap();
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(b"answer", from).unwrap();
        assert_eq!(client.recv_from(&mut buffer).unwrap(), (6, relay.address()));
    }

    #[test]
    fn a_relay_outlives_what_icmp_says_of_a_server_that_is_not_there() {
        let gone = loopback_socket().unwrap();
        let target = gone.local_addr().unwrap();
        drop(gone);
        let relay = Relay::on_loopback(target, &Impairment::none()).unwrap();
        let client = loopback_socket().unwrap();
        for sent in 1..=20 {
            client.send_to(b"ping", relay.address()).unwrap();
            while relay.counts().carried < sent {
                std::thread::yield_now();
            }
        }
        let server = UdpSocket::bind(target).unwrap();
        client.send_to(b"pong", relay.address()).unwrap();
        let mut buffer = [0; 16];
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(b"answer", from).unwrap();
        assert_eq!(client.recv_from(&mut buffer).unwrap(), (6, relay.address()));
    }

    #[test]
    fn a_raw_relay_outlives_a_server_whose_protocol_is_unreachable() {
        let Some(()) = available(Namespace::find()) else { return };
        let namespace = Namespace::new().unwrap();
        let [client, near, far, server] = [1, 2, 3, 4].map(|host| IpAddr::from([127, 0, 0, host]));
        let open = |address| namespace.enter(|| Relay::raw_socket(address)).unwrap().unwrap();
        let (client, relay_near) = (open(client), open(near));
        let relay = Relay::start_raw(relay_near, open(far), server, &Impairment::none()).unwrap();
        for sent in 1..=20 {
            client.send_to(b"ping", relay.address()).unwrap();
            while relay.counts().carried < sent {
                std::thread::yield_now();
            }
        }
        let server = open(server);
        client.send_to(b"pong", relay.address()).unwrap();
        let mut buffer = [0; 64];
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(b"answer", from).unwrap();
        let (size, from) = client.recv_from(&mut buffer).unwrap();
        assert_eq!((size, from.ip()), (20 + 6, near));
    }

    #[test]
    fn a_raw_relay_carries_nothing_that_came_for_another_address_before_its_sockets_had_theirs() {
        let Some(()) = available(Namespace::find()) else { return };
        let namespace = Namespace::new().unwrap();
        let ip = |host| IpAddr::from([127, 0, 0, host]);
        let open = |host| namespace.enter(|| Relay::raw_socket(ip(host))).unwrap().unwrap();
        let unbound = || namespace.enter(unbound_raw_socket).unwrap().unwrap();
        let [stranger, client, server] = [5, 1, 4].map(open);
        let [near, far] = [unbound(), unbound()];
        stranger.send_to(b"stray", (ip(6), 0)).unwrap();
        let [near, far] = [bound_to(ip(2), near).unwrap(), bound_to(ip(3), far).unwrap()];
        let relay = Relay::start_raw(near, far, ip(4), &Impairment::none()).unwrap();
        client.send_to(b"ping", relay.address()).unwrap();
        let mut buffer = [0; 64];
        let (size, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[20..size], b"ping");
        server.send_to(b"answer", from).unwrap();
        let (size, _) = client.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[20..size], b"answer");
        assert_eq!(relay.counts().carried, 2);
    }

    #[test]
    fn after_a_rebinding_the_server_sees_another_port_and_its_answers_still_arrive() {
        let server = loopback_socket().unwrap();
        let relay = Relay::on_loopback(server.local_addr().unwrap(), &Impairment::none()).unwrap();
        let client = loopback_socket().unwrap();
        let mut buffer = [0; 16];
        let mut port = || {
            client.send_to(b"ping", relay.address()).unwrap();
            let (_, from) = server.recv_from(&mut buffer).unwrap();
            server.send_to(b"answer", from).unwrap();
            assert_eq!(client.recv_from(&mut buffer).unwrap(), (6, relay.address()));
            from.port()
        };
        let before = port();
        relay.rebind(loopback_socket().unwrap()).unwrap();
        assert_ne!(port(), before);
    }
}
