//! A peer's address, and its consent to receive (RFC 8445, RFC 7675).

mod lite;

use core::net::SocketAddr;

use base::{DatagramMeta, Instant, RandomStream};

pub use self::lite::IceLite;

/// Characters of username fragments and passwords (RFC 8839, section 5.4).
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Username fragment and password of one side, from its session description.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Identifies the side's end of the session in connectivity checks.
    pub ufrag: String,
    /// Authenticates the checks that the side receives.
    pub password: String,
}

impl core::fmt::Debug for Credentials {
    /// Prints the username fragment, never the password.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Credentials").field("ufrag", &self.ufrag).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Fresh credentials: 72 bits of username fragment, 144 of password (RFC 8445, section 5.3,
    /// asks for 24 and 128).
    pub fn generate(random: &mut RandomStream) -> Credentials {
        let mut text = |length: usize| -> String {
            let character = |_| {
                let index = random.below(CHARACTERS.len() as u64) as usize;
                char::from(CHARACTERS.get(index).copied().unwrap_or(b'A'))
            };
            (0..length).map(character).collect()
        };
        Credentials { ufrag: text(12), password: text(24) }
    }
}

/// Addresses of the two ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Address of this side at which the peer's packets arrive.
    pub local: SocketAddr,
    /// Address of the peer to which packets go.
    pub remote: SocketAddr,
}

/// One side of ICE, sans-IO: finds the path to the peer by STUN messages.
///
/// [`IceLite`] is the implementation for servers; tests use a full agent, like those of browsers,
/// instead. After each input the owner drains [`Ice::poll_transmit`] and looks at [`Ice::selected`]
/// and [`Ice::is_lost`].
pub trait Ice {
    /// Input: a STUN message arrived. Messages that are not authentic change nothing.
    fn handle_stun(&mut self, now: Instant, meta: DatagramMeta, datagram: &[u8]);

    /// Input: the time is now `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Output: the next STUN message, and its addresses.
    fn poll_transmit(&mut self) -> Option<(Pair, Vec<u8>)>;

    /// Output: when to call [`Ice::handle_timeout`] next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The path for packets; none before a message of the peer has arrived.
    fn selected(&self) -> Option<Pair>;

    /// Whether a peer at `remote` has proved that it knows the credentials of this session.
    fn has_verified(&self, remote: SocketAddr) -> bool;

    /// Whether the peer has proved that it receives at `remote`, by answering a check of this side.
    /// A lite agent sends no checks.
    fn has_proved(&self, remote: SocketAddr) -> bool;

    /// Whether the peer's consent has expired, so that no more packets may be sent (RFC 7675).
    fn is_lost(&self) -> bool;
}
