//! Data channels with unmodified browsers.
//!
//! A [`Listener`] answers the offers of pages, or makes offers that they answer, and accepts their
//! [`Connection`]s. The application carries offers and answers; one HTTP exchange suffices, as in
//! WHIP. A page makes its channels before the offer, waits until its candidates are gathered or
//! not, posts `localDescription.sdp`, and sets the answer.
//!
//! ```
//! use thinstream::webrtc::{ChannelEvent, Listener, ListenerOptions, PeerEvent};
//!
//! /// Sends back what the pages of a listener send.
//! async fn echo(listener: Listener) {
//!     while let Ok(page) = listener.accept().await {
//!         tokio::spawn(async move {
//!             while let Some(event) = page.event().await {
//!                 if let PeerEvent::Channel(ChannelEvent::Message { id, kind, payload }) = event {
//!                     let _ = page.send(id, kind, payload);
//!                 }
//!             }
//!         });
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = Listener::bind("127.0.0.1:0".parse()?, ListenerOptions::default())?;
//! let error = listener.answer("no offer", None, &[listener.local_addr()]).unwrap_err();
//! assert_eq!(error.to_string(), "the offer, line 1, \"no offer\": expected TYPE=VALUE");
//! tokio::spawn(echo(listener));
//! # Ok(())
//! # }
//! ```

mod connection;
mod inner;
mod node;
mod reach;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::RandomStream;
use io::{BindError, Clock, Shared, UdpCarrier};
use recovery::RecoveryPolicy;
use tokio::sync::Notify;

pub use self::connection::Connection;
use self::inner::Inner;
use self::node::Node;
pub use self::reach::candidates;
use crate::error::EndpointError;

pub use ::webrtc::{
    AcceptError, ChannelError, ChannelEvent, ChannelOptions, ChannelReliability, Ended,
    MessageKind, PeerEvent, PeerId, PeerOptions, ServerLimits, ServerOptions, StreamId,
};
pub use secure::{Identity, SettingsError};

/// Key and machine options of a [`Listener`]; each is generated if none.
#[derive(Clone, Debug, Default)]
pub struct ListenerOptions {
    /// The server's key, whose fingerprint is in the answers; none makes a new one for this
    /// listener.
    pub identity: Option<Identity>,
    /// Options of the machine; its addresses are those of each answer.
    pub server: Option<ServerOptions>,
}

/// Reason for which a [`Listener`] could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The socket cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings of DTLS are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// A socket to which pages connect.
#[derive(Clone, Debug)]
pub struct Listener {
    inner: Arc<Inner>,
}

impl Listener {
    /// Opens a UDP socket at `address`; port 0 takes a free one. Needs a tokio runtime with I/O and
    /// time enabled.
    ///
    /// # Errors
    /// The socket cannot be bound, or the settings of DTLS are wrong.
    pub fn bind(address: SocketAddr, options: ListenerOptions) -> Result<Listener, ListenError> {
        let carrier = UdpCarrier::bind(address)?;
        let local = io::Carrier::local_addr(&carrier);
        let random = RandomStream::from_secret(crate::options::secret());
        let identity = options.identity.unwrap_or_else(crate::new_identity);
        let server = options.server.unwrap_or_else(|| ServerOptions::new(Vec::new()));
        let server = ::webrtc::Server::new(server, identity, random)?;
        let incoming = Arc::new(Notify::new());
        let shared = Shared::new(Node::new(server, Arc::clone(&incoming)), Clock::start());
        tokio::spawn(node::drive(Arc::clone(&shared), Arc::new(carrier)));
        Ok(Listener { inner: Arc::new(Inner { shared, incoming, local }) })
    }

    /// Address and port at which the socket is bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local
    }

    /// Answers the offer of a page; the text is the answer's SDP. The page then connects to one of
    /// `candidates`, addresses of the socket, the best first. `from` is the host that sent the
    /// offer, for the bound on pages that do not connect. [`Listener::accept`] returns the
    /// connection with this id once it is set up.
    ///
    /// # Errors
    /// The offer cannot be used, and the error names the line; or there are as many connections as
    /// there may be.
    pub fn answer(
        &self,
        offer: &str,
        from: Option<IpAddr>,
        candidates: &[SocketAddr],
    ) -> Result<(PeerId, String), AcceptError> {
        self.answer_with(None, offer, from, candidates)
    }

    /// Like [`Listener::answer`], for a connection with this recovery policy from its beginning;
    /// without one it has that of [`ServerOptions::association`].
    ///
    /// # Errors
    /// As [`Listener::answer`].
    pub fn answer_with(
        &self,
        policy: Option<Arc<RecoveryPolicy>>,
        offer: &str,
        from: Option<IpAddr>,
        candidates: &[SocketAddr],
    ) -> Result<(PeerId, String), AcceptError> {
        let (id, answer) = self
            .inner
            .shared
            .call(|node, now| node.answer(now, policy, offer, (from, candidates)))?;
        Ok((id, answer.to_string()))
    }

    /// Makes an offer, as SDP, for a peer that answers: a page that gets it from the application,
    /// or another server that is a full ICE agent. The peer then connects to one of `candidates`,
    /// addresses of the socket, the best first. `to` is the peer's host, for the bound on peers
    /// that do not connect. [`Listener::take_answer`] must be called within a minute;
    /// [`Listener::accept`] returns the connection with this id once it is set up.
    ///
    /// # Errors
    /// There are as many connections and offers as there may be.
    pub fn offer(
        &self,
        to: Option<IpAddr>,
        candidates: &[SocketAddr],
    ) -> Result<(PeerId, String), AcceptError> {
        let (id, offer) =
            self.inner.shared.call(|node, now| node.server.offer_at(now, to, candidates))?;
        Ok((id, offer.to_string()))
    }

    /// Takes the answer to an offer of this side. An unusable answer changes nothing: another may
    /// follow.
    ///
    /// # Errors
    /// No such offer waits, or the answer cannot be used, and the error names its line.
    pub fn take_answer(&self, id: PeerId, answer: &str) -> Result<(), AcceptError> {
        self.inner.shared.call(|node, now| node.server.take_answer(now, id, answer))
    }

    /// Waits for the next page that has connected. The future can be dropped at any time.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn accept(&self) -> Result<Connection, EndpointError> {
        loop {
            let notified = self.inner.incoming.notified();
            if let Some((id, signal)) = self.inner.shared.look(Node::accept)? {
                return Ok(Connection::new(Arc::clone(&self.inner), id, signal));
            }
            notified.await;
        }
    }

    /// Number of connections, including those not set up yet.
    pub fn connections(&self) -> usize {
        self.inner.shared.inspect(|node| node.server.len())
    }
}
