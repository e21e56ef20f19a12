//! Reliable, low-latency delivery of thin streams over SCTP (RFC 9260): small, infrequent messages,
//! each of which a user or a machine waits for, over networks that lose packets.
//!
//! **Traffic is encrypted and peers prove their keys** (DTLS 1.3 below SCTP, RFC 8261 and RFC
//! 9147), unless an endpoint is opened with [`Encapsulation::PlainUdp`] or
//! [`Encapsulation::PlainRawIp`]. A peer is identified by the [`Fingerprint`] of its key, as with
//! ssh, or by a certificate of an authority ([`Trust::Authority`]). A client names the server's
//! key, or how to verify it ([`Trust`]); a server can identify its clients ([`Association::peer`])
//! and restrict them ([`EndpointOptions::clients`]).
//!
//! - [`Endpoint`]: a socket (UDP encapsulation after RFC 6951, or raw IP) with any number of
//!   associations.
//! - [`Association`]: messages to and from one peer, on many streams, ordered or not.
//! - [`StreamHandle`]: one stream of an association, with a separate receiving side.
//! - [`RecoveryPolicy`]: all decisions about what to retransmit and when; the default is
//!   [`RecoveryPolicy::sctp_default`], and it can be replaced at any time
//!   ([`Association::set_policy`]); [`policy`] has the types of its fields.
//!
//! # A server and a client
//!
//! ```
//! use thinstream::{Association, AssociationOptions, Endpoint, EndpointOptions, StreamId};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::server())?;
//! let peer = (server.local_addr(), server.fingerprint().expect("it is not plain"));
//! tokio::spawn(async move {
//!     while let Ok(association) = server.accept().await {
//!         tokio::spawn(async move {
//!             while let Ok(Some(message)) = association.receive().await {
//!                 let echo = association.send(message.stream, message.payload.into_bytes());
//!                 if echo.await.is_err() {
//!                     break;
//!                 }
//!             }
//!         });
//!     }
//! });
//!
//! let association = Association::connect(peer, AssociationOptions::default()).await?;
//! association.send(StreamId(0), "hello").await?;
//! let answer = association.receive().await?.expect("the server answers before it closes");
//! assert_eq!(answer.payload.into_bytes(), "hello");
//! association.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Several paths
//!
//! With several addresses on both sides an association has several paths, and data leaves a path
//! that fails: [`SwitchoverPolicy`] says when, or sends everything twice. Applications are notified
//! ([`Association::path_event`]), and can pass on what they know about a path
//! ([`Association::path_hint`]).
//!
//! ```
//! use thinstream::{
//!     AssociationOptions, Endpoint, EndpointOptions, PeerAddress, StreamId, SwitchoverPolicy,
//! };
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let here = ["127.0.0.1:0".parse()?, "127.0.0.2:0".parse()?];
//! let server = Endpoint::bind_all(&here, EndpointOptions::server())?;
//! let client = Endpoint::bind_all(&here, EndpointOptions::client())?;
//! let options =
//!     AssociationOptions { switchover: SwitchoverPolicy::EVIDENCE, ..AssociationOptions::default() };
//! let key = server.fingerprint().expect("it is not plain");
//! let peer = PeerAddress::from(server.local_addrs()).trusting(key);
//! let association = client.connect(peer, options).await?;
//! let accepted = server.accept().await?;
//!
//! // The second network is the better one from now on.
//! association.set_primary(server.local_addrs()[1]);
//! association.send(StreamId(0), "over the other path").await?;
//! let message = accepted.receive().await?.expect("it was sent");
//! assert_eq!(message.payload.into_bytes(), "over the other path");
//! assert_eq!(association.stats().expect("it lives").data_path, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Streams and addresses that change
//!
//! Streams begin again ([`Association::reset_streams`]), their number grows, and addresses come and
//! go while an association lives; either side is told ([`Association::reconfiguration_event`]).
//!
//! ```
//! use thinstream::{
//!     Association, AssociationOptions, Endpoint, EndpointOptions, ReconfigurationEvent, ResetDirection,
//!     StreamId,
//! };
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::server())?;
//! let peer = (server.local_addr(), server.fingerprint().expect("it is not plain"));
//! let client = Association::connect(peer, AssociationOptions::default()).await?;
//! let accepted = server.accept().await?;
//!
//! client.send(StreamId(3), "number 0").await?;
//! client.reset_streams(ResetDirection::Outgoing, &[StreamId(3)])?;
//! client.send(StreamId(3), "number 0 again").await?;
//! for _ in 0..2 {
//!     assert_eq!(accepted.receive().await?.expect("it was sent").ssn().0, 0);
//! }
//! let event = accepted.reconfiguration_event().await.expect("it lives");
//! assert!(matches!(event, ReconfigurationEvent::StreamsReset { .. }));
//! # Ok(())
//! # }
//! ```
//!
//! # When the peer is gone
//!
//! A peer that does not answer any more is given up after 30 s of silence
//! ([`EndpointOptions::dead_after`], [`Failure::Silent`]), idle or not; one that restarted says at
//! once that it does not know the association ([`Failure::Forgotten`]).
//! [`AssociationStats::left_behind`] then says how many messages did not arrive, and
//! [`Association::reconnect`] sets up another association to the same peer.
//!
//! # Time
//!
//! Options and errors of the library have [`std::time::Duration`]. Fields of policies and
//! statistics have [`time::Duration`], 64-bit nanoseconds whose arithmetic saturates; it converts
//! from and into the former, and it reads and prints `50ms`.
//!
//! ```
//! use std::time::Duration;
//! use thinstream::{AssociationOptions, RecoveryPolicy};
//!
//! let mut policy = RecoveryPolicy::sctp_default();
//! policy.rto.min_while_thin = Some(Duration::from_millis(100).into());
//! policy.rto.max = "20s".parse()?;
//! let options = AssociationOptions {
//!     policy: policy.into(),
//!     max_queueing_delay: Some(Duration::from_millis(50).into()),
//!     ..AssociationOptions::default()
//! };
//! assert_eq!(Duration::from(options.policy.rto.max), Duration::from_secs(20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sends reach the socket at once, timers are exact to some tens of microseconds, and an idle
//! endpoint costs nothing. All of it needs a tokio runtime with I/O and time enabled.
//!
//! # Features
//!
//! None is on by default. `futures`: messages as `Stream` and `Sink`. `tokio-io`: a stream as
//! `AsyncRead` and `AsyncWrite`. `tracing`: spans and events. `qlog`: what loss recovery did and
//! why. `capture`: an endpoint's packets in a file. `webrtc`: unmodified browsers connect by data
//! channels (the module `webrtc`).
//!
//! # Cancellation
//!
//! Every future here can be dropped at any time, as `tokio::select!` and timeouts do, and says what
//! that means. None ever takes a message and loses it, or sends half of one.

mod association;
#[cfg(doctest)]
mod documents;
mod driver;
mod endpoint;
mod error;
mod node;
mod notices;
mod options;
mod peer_address;
mod reach;
mod shards;
mod stash;
mod tap;
#[cfg(feature = "tracing")]
mod telemetry;
#[cfg(feature = "webrtc")]
pub mod webrtc;

#[cfg(feature = "tokio-io")]
pub use association::ByteStream;
pub use association::{Association, StreamHandle};
#[cfg(feature = "futures")]
pub use association::{MessageSink, Messages};
pub use endpoint::Endpoint;
pub use error::{
    AddressError, AssociationError, ConnectError, EndpointError, SendError, SessionError,
    TrySendError,
};
pub use io::HandOverStatistics;
pub use node::RefusedClient;
pub use notices::{AbandonNotice, PathEvent};
pub use options::{
    DEAD_AFTER, DEFAULT_PORT, Encapsulation, EndpointOptions, SEND_BUFFER, SendOptions,
    new_identity,
};
pub use peer_address::PeerAddress;
#[cfg(feature = "qlog")]
pub use qlog::QlogWriter;
pub use tap::PacketTap;

/// Time in fields of policies, statistics and events: 64-bit nanoseconds with saturating
/// arithmetic.
///
/// In a module of its own, so that `use thinstream::*` does not collide with the names of
/// [`std::time`].
pub mod time {
    pub use base::{Duration, Instant};
}

pub use bytes::Bytes;
#[cfg(feature = "capture")]
pub use io::PcapTap;
pub use io::{BindError, CarrierStatistics, Clock};
pub use recovery::policy;
pub use recovery::policy::{FieldError, Protocol};
pub use recovery::{Event as RecoveryEvent, PRESETS, RecoveryPolicy, TimedEvent};
pub use sctp::{
    AbandonCounts, AbandonReason, Abandoned, AddressChange, AssociationOptions, AssociationStats,
    AuthenticationOptions, Counters, EndpointStats, Extensions, Failure, LeftBehind, MemoryLimits,
    MemoryState, Message, PathChange, PathCounters, PathHeartbeats, PathHint, PathOptions,
    PathState, PathStats, Payload, PeerAddresses, PotentiallyFailed, Ppid, QueueingDelay,
    ReconfigResult, ReconfigurationEvent, ReconfigurationPolicy, ReconfigurationRequest,
    ReconfigureError, Redundancy, RedundantWhen, Reliability, ResetDirection, RisingRtt, Scheduler,
    Ssn, StreamId, SwitchoverPolicy, Tsn,
};
pub use secure::{
    Authority, AuthorityError, Fingerprint, Identity, IdentityError, ParseFingerprintError, Peer,
    PeerList, PeerListError, Refusal, Trust,
};
