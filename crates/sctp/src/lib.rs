//! SCTP (RFC 9260) as a sans-IO machine: an [`Endpoint`] with its associations, on the loss recovery of
//! the `recovery` crate.
//!
//! Nothing here reads a clock, opens a socket or draws ambient randomness: the driver passes `now`,
//! datagrams and a seeded random stream in, and carries datagrams and events out. The contract is
//! [`base::Machine`].
//!
//! - [`wire`]: packets, chunks, parameters, causes.
//! - [`Endpoint`]: which association is a packet for; what needs no state.
//! - [`Association`]: set-up, transfer, shutdown. Its parts own their state and know nothing of it: phase, paths, sender,
//!   receiver, control chunks, extensions.
//! - [`AssociationOptions`], [`EndpointOptions`], [`AssociationStats`]: what can be chosen and seen.
//!
//! Traffic is not encrypted.

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
mod tx;
pub mod wire;
mod zero_checksum;

pub use self::endpoint::{AssociationId, ConnectError, Endpoint, EndpointStats};
pub use ::endpoint::memory::{MemoryLimits, MemoryState};
pub use address_reconfiguration::kinds::{AddressChange, AddressError};
pub use association::{Association, AssociationStats, Buffered, Counters, LeftBehind, PathStats};
pub use authentication::{AuthenticationOptions, KeyError};
pub use event::{Event, Failure, PathChange};
pub use extensions::Extensions;
pub use options::{AssociationOptions, EndpointOptions, PathHeartbeats, PathOptions};
pub use paths::addresses::PeerAddresses;
pub use paths::mtu_discovery::PathMtuState;
pub use paths::path::PathCounters;
pub use paths::switchover::{
    PathHint, PathState, PotentiallyFailed, Redundancy, RedundantWhen, RisingRtt, SwitchoverPolicy,
};
pub use reconfigure::kinds::{
    ReconfigurationPolicy, ReconfigurationRequest, ReconfigureError, ResetDirection,
};
pub use rx::message::{Message, Part, Payload};
pub use tx::partial_reliability::AbandonCounts;
pub use tx::scheduler::{DEFAULT_STREAM_VALUE, Scheduler};
pub use tx::send_options::{
    AbandonReason, Abandoned, MessagePart, Reliability, SendError, SendOptions,
};
pub use tx::sender::QueueingDelay;
pub use wire::chunk::ReconfigResult;
pub use wire::{KeyId, Mid, Ppid, Ssn, StreamId, Tsn, VerificationTag};
pub use zero_checksum::ErrorDetection;
