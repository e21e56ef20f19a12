//! WebRTC data channels for a server whose peers are unmodified browsers, sans-IO.
//!
//! - [`sdp`]: offers and answers, read and written.
//! - [`ice`]: STUN and ICE-lite: which address the peer is at.
//! - [`Peer`]: ICE, DTLS (room `secure`), SCTP and data channels (room `layers`) of one browser, as one machine.
//! - [`Server`]: all peers behind one port: takes offers and gives answers, or the other way round, and finds the peer of a datagram.
//!
//! Sockets, clocks and the exchange of offer and answer belong to the caller. docs/webrtc.md has the whole way.

pub mod demultiplex;
pub mod ice;
mod peer;
pub mod sdp;
mod server;
pub mod stun;

pub use layers::data_channel::{
    ChannelError, ChannelEvent, ChannelOptions, ChannelReliability, MessageKind,
};
pub use peer::{Ended, Peer, PeerEvent, PeerOptions};
pub use sctp::StreamId;
pub use server::{AcceptError, PeerId, Server, ServerLimits, ServerOptions, ServerStats};
