//! An endpoint: a socket with associations.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use io::{BindError, CarrierStatistics, Clock};
use sctp::{AssociationOptions, EndpointStats, MemoryState};
use secure::Fingerprint;

use crate::association::Association;
use crate::driver::Driver;
use crate::error::{AssociationError, ConnectError, EndpointError};
use crate::node::RefusedClient;
use crate::options::EndpointOptions;
use crate::peer_address::PeerAddress;
use crate::reach;
use io::HandOverStatistics;

/// A socket with any number of associations, at one SCTP port.
///
/// Clones are handles to the same endpoint. Once the last handle is dropped, no more associations
/// are accepted, and existing ones go on; the socket is closed with the last handle of the last
/// association.
///
/// An endpoint can have one association at a time to an SCTP port of an IP address. For more, open
/// further endpoints, each with its own SCTP port, as [`Association::connect`] does.
#[derive(Clone, Debug)]
pub struct Endpoint {
    listener: Arc<Listener>,
}

/// State that all handles of an endpoint share; accepting ends when the last handle is dropped.
#[derive(Debug)]
struct Listener {
    driver: Arc<Driver>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        for shard in self.driver.shards() {
            shard.post(|node, _| node.refuse(EndpointError::Closed));
        }
    }
}

impl Endpoint {
    /// Opens a socket at `address`; port 0 means a free one, and `[::]` includes IPv4. Over raw IP
    /// the port is ignored. Must be called within a tokio runtime with I/O and time enabled.
    ///
    /// # Errors
    /// When the address is not available, or a limit is too small for anything to work; the error
    /// names the address and says why.
    pub fn bind(address: SocketAddr, options: EndpointOptions) -> Result<Endpoint, BindError> {
        Endpoint::bind_all(&[address], options)
    }

    /// Opens a multihomed endpoint, with a socket at each of `addresses`, all of which it announces
    /// to peers. With port 0 the later sockets get the first one's port if it is free. Like
    /// [`Endpoint::bind`] with one address.
    ///
    /// # Errors
    /// When an address is not available, or there is none, or a limit is too small for anything to
    /// work.
    pub fn bind_all(
        addresses: &[SocketAddr],
        options: EndpointOptions,
    ) -> Result<Endpoint, BindError> {
        Ok(Endpoint::of(Driver::bind(addresses, options)?))
    }

    fn of(driver: Arc<Driver>) -> Endpoint {
        Endpoint { listener: Arc::new(Listener { driver }) }
    }

    /// Opens an endpoint for associations to `remote` and other hosts of its address family, at any
    /// address and port of this machine. It does not listen.
    ///
    /// # Errors
    /// When no socket can be opened.
    pub fn client(remote: SocketAddr) -> Result<Endpoint, BindError> {
        Endpoint::bind(io::unspecified_for(remote), EndpointOptions::client())
    }

    /// Sets up an association to `peer`: a host name, or one or several socket addresses, with SCTP
    /// port [`DEFAULT_PORT`](crate::DEFAULT_PORT), or a [`PeerAddress`]. Of the addresses of a
    /// name, those that the endpoint's sockets can reach are tried, as in [`Association::connect`].
    ///
    /// INIT goes to the first address, and without an answer to the others in turn. INIT ACK
    /// carries the peer's further addresses.
    ///
    /// The attempt fails when INIT was sent without an answer as often as `options` and their
    /// policy allow, which takes half a minute by default and minutes with the values of RFC 9260;
    /// [`connect_timeout`](Endpoint::connect_timeout) has another limit. An encrypted session with
    /// the peer is set up first, within the same time again. On Linux an endpoint that does not
    /// listen learns within about two seconds that no socket listens at the peer's address
    /// ([`ConnectError::NoListener`]).
    ///
    /// Dropping the future gives the attempt up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        &self,
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        let attempt = |peer: PeerAddress| {
            let opened = self.open(peer, options.clone());
            async {
                let association = opened?;
                association.established().await?;
                Ok(association)
            }
        };
        let local = self.local_addrs();
        reach::reach(peer.into(), |remote| reaches(&local, remote), attempt).await
    }

    /// Like [`connect`](Endpoint::connect), with a limit of time that includes the lookup of a
    /// name.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`ConnectError::TimedOut`] once the time has passed.
    pub async fn connect_timeout(
        &self,
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
        timeout: Duration,
    ) -> Result<Association, ConnectError> {
        let peer = peer.into();
        reach::within(timeout, peer.to_string(), self.connect(peer, options)).await
    }

    /// Like [`connect`](Endpoint::connect), but without waiting for the peer: messages can be sent
    /// at once, and leave with COOKIE ECHO, half a round-trip time earlier than after `connect`.
    /// [`Association::established`] returns the result. The peer must be given by addresses: names
    /// are not looked up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn open(
        &self,
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        Association::open(&self.listener.driver, peer.into(), options)
    }

    /// Waits for a peer to open an association.
    ///
    /// Dropping the future loses nothing: the association waits for the next call.
    ///
    /// # Errors
    /// When the endpoint does not listen, was closed, or its socket failed.
    pub async fn accept(&self) -> Result<Association, EndpointError> {
        let driver = &self.listener.driver;
        loop {
            let incoming = driver.incoming.notified();
            tokio::pin!(incoming);
            incoming.as_mut().enable();
            if let Some(association) = self.try_accept()? {
                return Ok(association);
            }
            incoming.await;
        }
    }

    /// The next association that a peer opened, if there is one: [`accept`](Endpoint::accept) for
    /// callers that never wait.
    ///
    /// # Errors
    /// When the endpoint does not listen, was closed, or its socket failed.
    pub fn try_accept(&self) -> Result<Option<Association>, EndpointError> {
        let driver = &self.listener.driver;
        let mut refusing = Ok(None);
        for shard in driver.rotated_shards() {
            let accepted = shard.look(|node| {
                let ticket = node.accept()?;
                Ok(ticket.map(|ticket| {
                    let remote = node.association(&ticket).map(sctp::Association::remote);
                    (ticket, remote.unwrap_or(self.local_addr()))
                }))
            });
            match accepted {
                Ok(None) => {}
                Ok(Some((ticket, remote))) => {
                    let own = (Arc::clone(driver), Arc::clone(shard));
                    return Ok(Some(Association::new(own, ticket, remote)));
                }
                Err(error) => refusing = Err(error),
            }
        }
        refusing
    }

    /// Ends the endpoint: aborts all associations (shut them down first), and returns when the last
    /// packet was sent and the socket is closed.
    ///
    /// Dropping the future does not stop this.
    pub async fn close(self) {
        let driver = &self.listener.driver;
        for shard in driver.shards() {
            shard.call(|node, _| {
                node.refuse(EndpointError::Closed);
                node.end_all(&AssociationError::EndpointClosed);
            });
        }
        driver.close();
        let tasks =
            std::mem::take(&mut *driver.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            // A driver that panicked has ended as well.
            let _ = task.await;
        }
    }

    /// The address of the (first) socket; its port is that of the UDP encapsulation, 0 over raw IP.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.driver.local_addr()
    }

    /// The addresses of all sockets, in the order in which they were asked for.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.listener.driver.local_addrs()
    }

    /// Fingerprint of this side's key, by which peers know it; none without encryption.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.listener.driver.fingerprint
    }

    /// Waits for a client that was refused because its key is not among
    /// [`EndpointOptions::clients`]. The latest 64 wait for a call.
    ///
    /// Dropping the future loses nothing.
    pub async fn refused(&self) -> RefusedClient {
        let driver = &self.listener.driver;
        loop {
            let refused = driver.refused.notified();
            tokio::pin!(refused);
            refused.as_mut().enable();
            let mut shards = driver.rotated_shards();
            if let Some(client) = shards.find_map(|shard| shard.look(|node| node.poll_refused())) {
                return client;
            }
            refused.await;
        }
    }

    /// The SCTP port of this side.
    pub fn sctp_port(&self) -> u16 {
        self.listener.driver.sctp_port
    }

    /// The endpoint's clock, to which the instants of events and statistics belong.
    pub fn clock(&self) -> Clock {
        self.listener.driver.clock()
    }

    /// Counters of packets that belonged to no association, and of associations that were refused
    /// or ended because of a limit.
    pub fn stats(&self) -> EndpointStats {
        let mut sum = EndpointStats::default();
        self.of_shards(sctp::Endpoint::stats).for_each(|stats| sum += stats);
        sum
    }

    /// Bytes that all associations hold together, bounded by [`EndpointOptions::memory`].
    pub fn buffered_bytes(&self) -> usize {
        self.of_shards(sctp::Endpoint::buffered_bytes).sum()
    }

    /// State of the memory for associations, in the shard with the least left.
    pub fn memory_state(&self) -> MemoryState {
        self.of_shards(sctp::Endpoint::memory_state).max().unwrap_or_default()
    }

    /// Number of associations, including ended ones that still have a handle.
    pub fn association_count(&self) -> usize {
        self.of_shards(sctp::Endpoint::association_count).sum()
    }

    /// The answer of each shard's machine to `ask`.
    fn of_shards<R>(&self, ask: impl Fn(&sctp::Endpoint) -> R) -> impl Iterator<Item = R> {
        self.listener.driver.shards().map(move |shard| shard.inspect(|node| ask(node.machine())))
    }

    /// Counters of the datagrams and bytes that passed through the socket.
    pub fn carrier_statistics(&self) -> CarrierStatistics {
        self.listener.driver.carrier_statistics()
    }

    /// Counters of datagrams that the system delivered to the wrong shard; none without
    /// [shards](EndpointOptions::shards).
    pub fn hand_over_statistics(&self) -> HandOverStatistics {
        self.listener.driver.hand_over_statistics()
    }
}

/// Whether a socket at one of these addresses can send to `remote`.
fn reaches(local: &[SocketAddr], remote: SocketAddr) -> bool {
    let takes_both = |own: &SocketAddr| own.is_ipv6() && own.ip().is_unspecified();
    local.iter().any(|own| own.is_ipv4() == remote.is_ipv4() || takes_both(own))
}

#[cfg(test)]
mod tests;
