//! TCP (RFC 9293) as a sans-IO machine: an [`Endpoint`] with its connections and listeners, on the loss
//! recovery of the `recovery` crate.
//!
//! Nothing here reads a clock, opens a socket or draws ambient randomness: the driver passes `now`,
//! segments and a seeded random stream in, and carries segments and events out. The contract is
//! [`base::Machine`]; a datagram is a segment, what an IP packet carries, and the ports of its addresses
//! are 0.
//!
//! - [`wire`]: segments and their options, parsed and emitted.
//! - [`rx`]: the receiving side: reassembly, window, acknowledgements.
//! - [`tx`]: the sending side: buffer, segments, and the recovery that it shares with SCTP.
//! - [`Connection`]: one connection and its states.
//! - [`Endpoint`]: which connection a segment belongs to, listeners, and what needs no state.
//! - [`ConnectionOptions`], [`ListenOptions`], [`EndpointOptions`], [`ConnectionInfo`]: what can be chosen
//!   and seen.
//!
//! Inside, sequence numbers are offsets of 64 bits that never wrap: SYN has offset 0, data begins at 1.

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

pub use self::endpoint::{ConnectError, ConnectionId, Endpoint, EndpointStats, ListenError};
pub use connection::{
    Connection, ConnectionError, ConnectionInfo, Counters, Received, SendError, State,
};
pub use event::{Event, Failure, ListenerId, SoftError};
pub use memory::{Buffered, MemoryLimits, MemoryState};
pub use options::{
    ConnectionOptions, EcnMode, EndpointOptions, KeepAlive, ListenOptions, SendFlags, SynCookies,
};
pub use tx::{Nagle, WindowProbe};
