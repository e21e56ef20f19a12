//! WebRTC data channels for a server whose peers are unmodified browsers, sans-IO.
//!
//! - [`sdp`]: offers and answers, read and written.
//! - [`ice`]: STUN and ICE-lite: which address the peer is at.
//! - [`Peer`]: ICE, DTLS (room `secure`), SCTP and data channels (room `layers`) of one browser, as
//!   one machine.
//! - [`Server`]: all peers behind one port: takes offers and gives answers, or the other way round,
//!   and finds the peer of a datagram.
//!
//! Sockets, clocks and the exchange of offer and answer belong to the caller. docs/webrtc.md has
//! the whole way.
//!
//! ```
//! let offer: webrtc::sdp::Description = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
//!     m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=ice-ufrag:page\r\na=ice-pwd:0123456789012345678901\r\n\
//!     a=fingerprint:sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD\r\n\
//!     a=setup:actpass\r\na=sctp-port:5000\r\n"
//!     .parse()?;
//! assert_eq!((offer.mid.as_deref(), offer.sctp_port), (Some("0"), 5000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
