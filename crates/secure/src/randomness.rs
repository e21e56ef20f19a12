//! Sources of a session's secrets, and the key exchange with seeded secrets.

use std::cell::Cell;

use base::{Purpose, RandomStream};
use dimpl::crypto::{ActiveKeyExchange, Buf, CryptoProvider, NamedGroup, SupportedKxGroup};
use dimpl::{CryptoError, CryptoOperation};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::cookie::provider;

/// Source of a session's secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// Random bytes of the operating system.
    System,
    /// A seed that determines every byte, for virtual time and tests only: a session with a known
    /// seed has no secrecy. Each session needs a different seed.
    Seeded(u64),
}

thread_local! {
    /// The stream of the seeded session during its call into the DTLS crate on this thread. The
    /// crate's key exchange groups are statics without a session, so the session lends its stream
    /// for the length of a call.
    static LENT: Cell<Option<RandomStream>> = const { Cell::new(None) };
}

/// The stream of a seeded session's key exchanges.
pub(crate) fn key_exchanges(seed: u64) -> RandomStream {
    RandomStream::new(seed, Purpose("key exchange", 0))
}

/// Calls `call` with `stream` lent to the key exchange.
pub(crate) fn lend<T>(stream: &mut Option<RandomStream>, call: impl FnOnce() -> T) -> T {
    LENT.set(stream.take());
    let result = call();
    *stream = LENT.take();
    result
}

/// The cryptography of RustCrypto, with X25519 from the lent stream as the only key exchange.
/// X25519 is also what two ends with the system's randomness choose, so packets have the same
/// sizes.
pub(crate) fn seeded_provider() -> CryptoProvider {
    CryptoProvider { kx_groups: &[&SeededX25519], ..provider() }
}

#[derive(Debug)]
struct SeededX25519;

impl SupportedKxGroup for SeededX25519 {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn start_exchange(&self, mut buf: Buf) -> Result<Box<dyn ActiveKeyExchange>, CryptoError> {
        let mut stream =
            LENT.take().ok_or(CryptoError::OperationFailed(CryptoOperation::StartKeyExchange))?;
        let mut secret = [0; 32];
        stream.fill(&mut secret);
        LENT.set(Some(stream));
        let secret = StaticSecret::from(secret);
        buf.clear();
        buf.extend_from_slice(PublicKey::from(&secret).as_bytes());
        Ok(Box::new(SeededExchange { secret, public: buf }))
    }
}

struct SeededExchange {
    secret: StaticSecret,
    public: Buf,
}

impl core::fmt::Debug for SeededExchange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SeededExchange")
    }
}

impl ActiveKeyExchange for SeededExchange {
    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn complete(self: Box<Self>, peer: &[u8], out: &mut Buf) -> Result<(), CryptoError> {
        let invalid = CryptoError::InvalidPublicKey(NamedGroup::X25519);
        let peer: [u8; 32] = peer.try_into().map_err(|_| invalid.clone())?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        // A point of small order gives a secret that everybody knows (RFC 7748, section 6.1).
        if !shared.was_contributory() {
            return Err(invalid);
        }
        out.clear();
        out.extend_from_slice(shared.as_bytes());
        Ok(())
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
