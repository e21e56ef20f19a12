//! Encryption of one path between two hosts, sans-IO: datagrams and time in, datagrams and opened
//! packets out.
//!
//! - [`Sealer`]: the contract of a session; [`Dtls`] is DTLS 1.3 (RFC 9147), and 1.2 (RFC 6347) on
//!   request, over a crate that docs/secure.md judges.
//! - [`Identity`]: an ECDSA P-256 key with a self-signed certificate; [`Fingerprint`] names it.
//! - [`Trust`]: which peers a session accepts; [`Authority`] is that in certificates of others.
//! - [`Sessions`]: all sessions of a host, by address; [`Secured`] is a machine below which they
//!   are.
//!
//! Files, sockets and clocks belong to the caller: keys, lists and certificates come and go as text
//! and bytes.
//!
//! ```
//! use base::{Purpose, RandomStream};
//! use secure::{Identity, Trust};
//!
//! let identity = Identity::generate(&mut RandomStream::from_secret([7; 32]));
//! let kept = identity.to_pem()?;
//! assert_eq!(Identity::from_pem(&kept)?.fingerprint(), identity.fingerprint());
//! // A peer is known by its fingerprint, as with ssh.
//! let trust = Trust::from(identity.fingerprint());
//! let stranger = Identity::generate(&mut RandomStream::new(1, Purpose("stranger", 0)));
//! assert!(trust.judge(identity.fingerprint()).is_ok() && trust.judge(stranger.fingerprint()).is_err());
//! # Ok::<(), secure::IdentityError>(())
//! ```

mod authority;
mod certificate;
mod cookie;
mod dtls;
mod fingerprint;
mod hello;
mod identity;
mod randomness;
mod sealer;
mod secured;
mod sessions;
mod signing;
mod trust;

pub use authority::{Authority, AuthorityError};
pub use dtls::{Context, Dtls, Patience, Role, Settings, SettingsError, Versions};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use hello::asks_for_session;
pub use identity::{Identity, IdentityError};
pub use randomness::Randomness;
pub use sealer::{Failure, NotSealed, Peer, Sealer, State};
pub use secured::Secured;
pub use sessions::{Limits, Migrant, Notice, SealWatch, Secrets, SessionStats, Sessions};
pub use trust::{PeerList, PeerListError, Refusal, Trust};
