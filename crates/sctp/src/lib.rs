//! SCTP (RFC 9260) as a sans-IO machine: an [`Endpoint`] with its associations, on the loss
//! recovery of the `recovery` crate.
//!
//! Nothing here reads a clock, opens a socket or draws ambient randomness: the driver passes `now`,
//! datagrams and a seeded random stream in, and carries datagrams and events out. The contract is
//! [`base::Machine`].
//!
//! - [`wire`]: packets, chunks, parameters, causes.
//! - [`Endpoint`]: dispatch of packets to associations, and answers without an association.
//! - [`Association`]: set-up, transfer, shutdown. Its parts own their state and do not know the
//!   association: phase, paths, sender, receiver, control chunks, extensions.
//! - [`AssociationOptions`], [`EndpointOptions`]: the settings; [`AssociationStats`]: a snapshot of
//!   an association's state.
//!
//! Traffic is not encrypted.
//!
//! Two endpoints that talk in memory, without sockets:
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use base::{DatagramMeta, Ecn, Instant, Machine, Purpose, RandomStream};
//! use sctp::{AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendOptions, StreamId};
//!
//! /// Carries the packets of one endpoint to the other; returns whether there were any.
//! fn carry(now: Instant, from: (&mut Endpoint, SocketAddr), to: (&mut Endpoint, SocketAddr)) -> bool {
//!     let (mut buffer, mut any) = (Vec::new(), false);
//!     while from.0.poll_transmit(now, &mut buffer).is_some() {
//!         let meta = DatagramMeta { local: to.1, remote: from.1, ecn: Ecn::NotEct, origin: None };
//!         to.0.handle_datagram(now, meta, std::mem::take(&mut buffer).into());
//!         any = true;
//!     }
//!     any
//! }
//!
//! let endpoint = |listen, seed| {
//!     let options = EndpointOptions { listen, ..EndpointOptions::default() };
//!     // Seed it from the system's randomness, unless a run is to be repeated.
//!     Endpoint::new(options, RandomStream::new(seed, Purpose("example", 0)))
//! };
//! let (mut client, mut server) = (endpoint(false, 1), endpoint(true, 2));
//! let (here, there): (SocketAddr, SocketAddr) =
//!     ("192.0.2.1:9899".parse()?, "192.0.2.2:9899".parse()?);
//! let now = Instant::ZERO;
//!
//! let id = client.connect(now, there, 9899, AssociationOptions::default())?;
//! let mut association = client.association_mut(id).ok_or("just opened")?;
//! association.send(now, StreamId(3), Ppid(0), "hello".into(), SendOptions::default())?;
//! drop(association);
//! while carry(now, (&mut client, here), (&mut server, there))
//!     || carry(now, (&mut server, there), (&mut client, here))
//! {}
//!
//! let (theirs, event) = server.poll_event().ok_or("an association")?;
//! assert_eq!(event, Event::Established);
//! let mut association = server.association_mut(theirs).ok_or("just announced")?;
//! let message = association.receive(now).ok_or("a message")?;
//! assert_eq!(message.payload, bytes::Bytes::from("hello").into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address_reconfiguration;
mod association;
mod authentication;
mod backoff;
mod control;
mod cookie;
mod endpoint;
mod event;
mod extensions;
mod options;
mod paths;
mod phase;
mod reconfigure;
mod rx;
mod setup;
mod shard;
mod signalled_init;
mod state;
mod stream_numbers;
mod switchover;
mod tx;
pub mod wire;
mod zero_checksum;

pub use self::endpoint::association_mut::AssociationMut;
pub use self::endpoint::census::Census;
pub use self::endpoint::{AssociationId, ConnectError, Endpoint, EndpointStats};
pub use ::endpoint::memory::{MemoryLimits, MemoryState};
pub use address_reconfiguration::error::AddressError;
pub use association::{Association, AssociationStats, Buffered, Counters, LeftBehind, PathStats};
pub use authentication::{AuthenticationOptions, KeyError};
pub use event::reconfiguration::{
    AddressChange, ReconfigurationEvent, ReconfigurationRequest, ResetDirection,
};
pub use event::{Event, Failure, PathChange};
pub use extensions::Extensions;
pub use options::{
    AssociationOptions, EndpointOptions, PathHeartbeats, PathOptions, ReconfigurationPolicy,
};
pub use paths::addresses::PeerAddresses;
pub use paths::path::PathCounters;
pub use reconfigure::error::ReconfigureError;
pub use recovery::path_mtu::PathMtuState;
pub use rx::message::{Message, Part, Payload};
pub use shard::{Destination, Shard};
pub use signalled_init::{NotAnInit, SignalledInit};
pub use switchover::{
    PathHint, PathState, PotentiallyFailed, Redundancy, RedundantWhen, RisingRtt, SwitchoverPolicy,
};
pub use tx::partial_reliability::AbandonCounts;
pub use tx::scheduler::{DEFAULT_STREAM_VALUE, Scheduler};
pub use tx::send_options::{
    AbandonReason, Abandoned, MessagePart, Reliability, SendError, SendOptions,
};
pub use tx::sender::QueueingDelay;
pub use wire::chunk::ReconfigResult;
pub use wire::{KeyId, Mid, Ppid, Ssn, StreamId, Tsn, VerificationTag};
pub use zero_checksum::ErrorDetection;
