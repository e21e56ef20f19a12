//! Places of both sides of a run in real time, and of the relay between them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::Result;

use super::{Column, Matrix};
use crate::agent::Part;
use crate::live::{Carrier, Socket};
use crate::namespace::Namespace;
use crate::program::{Encapsulation, free_udp_port};
use crate::relay::{Impairment, Relay};
use crate::uml::{GUEST, HOST, Uml};

/// Address of our endpoint over raw IP, in a namespace of its own.
const OURS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Address of the relay over raw IP, in our namespace.
const RELAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// Addresses over raw IP of a peer's program, at one end of a wire, and of the relay, at the other.
const WIRE: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 88, 0, 1), Ipv4Addr::new(10, 88, 0, 2)];

/// A run's place: our socket, the peer's namespace if it has one, and the relay between.
pub(super) struct Place {
    pub(super) socket: Socket,
    pub(super) theirs: Option<Namespace>,
    /// Address of a peer's program.
    pub(super) their_address: Ipv4Addr,
    pub(super) relay: Relay,
    /// Encapsulation passed to the peer's program.
    pub(super) encapsulation: Encapsulation,
    /// Address to which a peer that is a client connects.
    pub(super) relay_for_peer: Ipv4Addr,
    _ours: Option<Namespace>,
}

impl Place {
    /// The place of a run in which we have `part`; `number` tells it from others at the guest's
    /// wire.
    pub(super) fn new(
        matrix: &Matrix,
        column: Column,
        carrier: Carrier,
        part: Part,
        number: u8,
        impairment: &Impairment,
    ) -> Result<Place> {
        let ours = match carrier {
            Carrier::Udp => None,
            Carrier::RawIp => Some(loopback_like_ethernet()?),
        };
        let ip: IpAddr = if ours.is_some() { OURS.into() } else { Ipv4Addr::LOCALHOST.into() };
        let handle = matrix.runtime.handle();
        let socket = Socket::bind(handle, ours.as_ref(), carrier, &[(ip, 0).into()])?;
        let at = socket.local_addrs()[0];
        let guest = matrix.uml.as_ref().ok().filter(|_| column.is_kernel());
        let wire = match (carrier, guest) {
            (Carrier::RawIp, None) => Some(wire()?),
            _ => None,
        };
        let their_address = if wire.is_some() { WIRE[0] } else { Ipv4Addr::LOCALHOST };
        let peer_port = if carrier == Carrier::Udp { free_udp_port()? } else { 0 };
        let mut relay_for_peer = if guest.is_some() { HOST } else { Ipv4Addr::LOCALHOST };
        let relay = match (carrier, guest, part) {
            (Carrier::Udp, None, Part::Server) => Relay::on_loopback(at, impairment)?,
            (Carrier::Udp, None, Part::Client) => {
                Relay::on_loopback((their_address, peer_port).into(), impairment)?
            }
            (Carrier::Udp, Some(uml), Part::Server) => uml.relay_from_client(at, impairment)?,
            (Carrier::Udp, Some(uml), Part::Client) => uml.relay_to_server(impairment)?,
            (Carrier::RawIp, ..) => {
                let our_end = raw_socket(ours.as_ref(), RELAY)?;
                let (their_end, server) = match (guest, &wire) {
                    (Some(uml), _) => {
                        relay_for_peer = address_at_guest(number);
                        (raw_socket_at_guest(uml, number)?, IpAddr::from(GUEST))
                    }
                    (None, wire) => {
                        relay_for_peer = WIRE[1];
                        let beyond = wire.as_ref().map(|(_, beyond)| beyond);
                        (raw_socket(beyond, WIRE[1])?, their_address.into())
                    }
                };
                match part {
                    Part::Server => Relay::start_raw(their_end, our_end, at.ip(), impairment)?,
                    Part::Client => Relay::start_raw(our_end, their_end, server, impairment)?,
                }
            }
        };
        let encapsulation = match carrier {
            Carrier::RawIp => Encapsulation::Raw,
            Carrier::Udp => Encapsulation::Udp {
                local: peer_port,
                remote: if part == Part::Server { relay.address().port() } else { 0 },
            },
        };
        let theirs = wire.map(|(theirs, _)| theirs);
        let _ours = ours;
        Ok(Place { socket, theirs, their_address, relay, encapsulation, relay_for_peer, _ours })
    }

    /// Address to which we connect.
    pub(super) fn peer(&self) -> SocketAddr {
        let port = match self.encapsulation {
            Encapsulation::Udp { .. } => self.relay.address().port(),
            Encapsulation::Raw => 0,
        };
        (self.relay.address().ip(), port).into()
    }
}

/// A namespace whose loopback carries packets no larger than Ethernet's.
fn loopback_like_ethernet() -> Result<Namespace> {
    let namespace = Namespace::new()?;
    namespace.ip("link set lo mtu 1500")?;
    Ok(namespace)
}

/// Namespaces at the two ends of a wire: the peer's, and the relay's. On one loopback a raw socket
/// would get all that is sent, and usrsctp takes its own packets for those of strangers: it answers
/// its own SHUTDOWN ACK with the SHUTDOWN COMPLETE that it waits for.
fn wire() -> Result<(Namespace, Namespace)> {
    let [theirs, beyond] = [Namespace::new()?, Namespace::new()?];
    beyond.ip("link add far type veth peer name near")?;
    beyond.ip(&format!("link set near netns {}", theirs.path()))?;
    for (namespace, device, address) in [(&theirs, "near", WIRE[0]), (&beyond, "far", WIRE[1])] {
        namespace.ip(&format!("addr add {address}/24 dev {device}"))?;
        namespace.ip(&format!("link set {device} up"))?;
    }
    Ok((theirs, beyond))
}

/// An address at the guest's wire that no other run uses at the same time.
fn address_at_guest(number: u8) -> Ipv4Addr {
    let [a, b, c, _] = HOST.octets();
    Ipv4Addr::new(a, b, c, 100 + number % 128)
}

fn raw_socket_at_guest(uml: &Uml, number: u8) -> Result<UdpSocket> {
    let address = address_at_guest(number);
    uml.add_address(address)?;
    raw_socket(Some(uml.namespace()), address)
}

fn raw_socket(namespace: Option<&Namespace>, address: Ipv4Addr) -> Result<UdpSocket> {
    let open = || Relay::raw_socket(address.into());
    match namespace {
        Some(namespace) => namespace.enter(open)?,
        None => open(),
    }
}
