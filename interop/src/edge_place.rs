//! Place of edges of tests: behind a device of a machine with services, at the far end of a wire
//! from their clients.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use anyhow::{Context, Result};
use apps::edge::{EdgeOptions, Listen, Service};

use crate::namespace::Namespace;
use crate::wire::{Wire, WirePlan};

/// Address of an edge, or of another stack of ours behind a TUN device.
pub const EDGE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// The port at which clients reach its service.
pub const EDGE_PORT: u16 = 80;

/// Two machines with a wire between them.
pub struct EdgePlace {
    /// Namespace of the clients.
    pub near: Namespace,
    /// The namespace of the edge and its services.
    pub far: Namespace,
    /// Wire from the one to the other.
    pub wire: Wire,
}

impl EdgePlace {
    /// The machines, whose clients know no way to [`EDGE`].
    ///
    /// # Errors
    /// As [`Wire::start`].
    pub fn new(plan: WirePlan) -> Result<EdgePlace> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        let wire = Wire::start(&near, &far, plan)?;
        Ok(EdgePlace { near, far, wire })
    }

    /// Makes the place with a route to it, by which the far machine forwards packets as they are.
    ///
    /// # Errors
    /// As [`EdgePlace::new`].
    pub fn with_way(plan: WirePlan) -> Result<EdgePlace> {
        let place = EdgePlace::new(plan)?;
        place.far.forward()?;
        EdgePlace::lead_to_edge(&place.near)?;
        Ok(place)
    }

    /// Lets the machine at the near end of a wire send to the far one what is for [`EDGE`] and its
    /// network.
    ///
    /// # Errors
    /// With what `ip` said.
    pub fn lead_to_edge(near: &Namespace) -> Result<()> {
        near.ip(&format!("route add 10.78.0.0/24 via {}", Wire::address(1)))
    }

    /// A client's connection to the service at [`EDGE`].
    ///
    /// # Errors
    /// Where it is not available.
    pub fn connect(&self) -> Result<TcpStream> {
        let stream = self.near.enter(|| TcpStream::connect((EDGE, EDGE_PORT)))?;
        stream.context("cannot connect to the edge")
    }
}

/// Options of an edge at [`EDGE`] with `service` behind it and the recovery that it has unless told
/// otherwise.
///
/// # Errors
/// Where [`EDGE`] cannot be an edge's address.
pub fn edge_options(service: SocketAddr) -> Result<EdgeOptions> {
    let mut options = EdgeOptions::new(vec![format!("{EDGE}/24").parse()?]);
    let listen = Listen { address: None, port: EDGE_PORT };
    options.services.push(Service::new(listen, service));
    Ok(options)
}
