//! TCP (RFC 9293) as a sans-IO machine: an [`Endpoint`] with its connections and listeners, on the
//! loss recovery of the `recovery` crate.
//!
//! Nothing here reads a clock, opens a socket or draws ambient randomness: the driver passes `now`,
//! segments and a seeded random stream in, and carries segments and events out. The contract is
//! [`base::Machine`]; a datagram is a segment, what an IP packet carries, and the ports of its
//! addresses are 0.
//!
//! - [`wire`]: segments and their options, parsed and emitted.
//! - [`rx`]: the receiving side: reassembly, window, acknowledgements.
//! - [`tx`]: the sending side: buffer, segments, and the recovery that it shares with SCTP.
//! - [`Connection`]: one connection and its states.
//! - [`Endpoint`]: dispatch of segments to connections, listeners, and answers without a
//!   connection.
//! - [`ConnectionOptions`], [`ListenOptions`], [`EndpointOptions`]: the settings;
//!   [`ConnectionInfo`]: a snapshot of a connection's state.
//!
//! Inside, sequence numbers are offsets of 64 bits that never wrap: SYN has offset 0, data begins
//! at 1.
//!
//! Two endpoints that talk in memory, without sockets:
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use base::{DatagramMeta, Ecn, Instant, Machine, Purpose, RandomStream};
//! use tcp::{ConnectionOptions, Endpoint, EndpointOptions, ListenOptions, Received, SendFlags};
//!
//! /// Carries what one endpoint has to send to the other; whether there was anything.
//! fn carry(now: Instant, from: &mut Endpoint, to: &mut Endpoint) -> bool {
//!     let (mut buffer, mut any) = (Vec::new(), false);
//!     while let Some(transmit) = from.poll_transmit(now, &mut buffer) {
//!         let source = transmit.local.expect("a segment has a source");
//!         let (local, remote, ecn) = (transmit.remote, source, Ecn::NotEct);
//!         let meta = DatagramMeta { local, remote, ecn, origin: None };
//!         to.handle_datagram(now, meta, std::mem::take(&mut buffer).into());
//!         any = true;
//!     }
//!     any
//! }
//!
//! let endpoint = |seed| {
//!     // From the system's randomness, unless a run is to be repeated.
//!     Endpoint::new(EndpointOptions::default(), RandomStream::new(seed, Purpose("example", 0)))
//! };
//! let (mut client, mut server) = (endpoint(1), endpoint(2));
//! let (here, there): (SocketAddr, SocketAddr) = ("192.0.2.1:0".parse()?, "192.0.2.2:80".parse()?);
//! let now = Instant::from_millis(1);
//!
//! let listener = server.listen(there, ListenOptions::default())?;
//! let id = client.connect(now, here, there, ConnectionOptions::default())?;
//! while carry(now, &mut client, &mut server) || carry(now, &mut server, &mut client) {}
//! let mut ours = client.connection_mut(id).ok_or("no connection")?;
//! assert_eq!(ours.send(now, "hello".into(), SendFlags::default())?, 5);
//! drop(ours); // What was sent can leave now.
//! while carry(now, &mut client, &mut server) || carry(now, &mut server, &mut client) {}
//!
//! let theirs = server.accept(listener).ok_or("a connection")?;
//! let mut theirs = server.connection_mut(theirs).ok_or("no connection")?;
//! assert_eq!(theirs.receive(now, 100)?, Received::Data("hello".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connection;
mod endpoint;
mod event;
mod keep_alive;
mod memory;
mod options;
mod outbox;
mod path_mtu;
pub mod rx;
pub mod tx;
pub mod wire;

pub use self::endpoint::{
    ConnectError, ConnectionId, ConnectionMut, Endpoint, EndpointStats, ListenError, Stray,
};
pub use connection::{
    Connection, ConnectionError, ConnectionInfo, Counters, Received, SendError, State,
};
pub use event::{Event, Failure, ListenerId, SoftError};
pub use memory::{Buffered, MemoryLimits, MemoryState};
pub use options::{
    ConnectionOptions, EcnMode, EndpointOptions, KeepAlive, ListenOptions, SendFlags, SynCookies,
};
pub use tx::{Nagle, WindowProbe};
