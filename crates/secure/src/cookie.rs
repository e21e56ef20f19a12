//! Cookies that prove an address without state: a keyed hash of the address and of the client's
//! random.
//!
//! The DTLS crate makes a cookie from a secret of its session. Here it is made from a secret of the
//! host and the client's address instead, so that a session that was discarded after its answer can
//! be reconstructed identically when the cookie returns.

use core::net::{IpAddr, SocketAddr};
use std::cell::Cell;

use base::{Duration, Instant, RandomStream};
use dimpl::CryptoError;
use dimpl::crypto::rust_crypto::default_provider;
use dimpl::crypto::{CryptoProvider, HashAlgorithm, HmacProvider};

use crate::hello::{ClientHello, Padding};
use crate::signing::LateKeys;

/// Bytes of a cookie, with the secret's number and the padding in the first three.
const COOKIE: usize = 32;
/// Time for which one secret is used for new cookies; each cookie is valid for once to twice as
/// long.
const LIFE: Duration = Duration::from_secs(60);
/// The bit of a cookie's first byte that identifies its secret.
const NAME: u8 = 1;
/// Bytes of a cookie with the padding of the ClientHello that it answers.
const PADDING: core::ops::Range<usize> = 1..3;

/// The secret in use and the one before.
pub(crate) struct CookieSecrets {
    random: RandomStream,
    secrets: [[u8; COOKIE]; 2],
    newest: u8,
    since: Instant,
}

impl CookieSecrets {
    pub(crate) fn new(mut random: RandomStream, now: Instant) -> CookieSecrets {
        let secrets = [draw(&mut random), draw(&mut random)];
        CookieSecrets { random, secrets, newest: 0, since: now }
    }

    /// The binding of the cookie for this ClientHello of the client at `remote`; for a returned
    /// cookie, the binding that it states.
    pub(crate) fn binding(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        hello: &ClientHello<'_>,
    ) -> Binding {
        self.renew(now);
        let returned = hello.cookie().and_then(|cookie| <[u8; COOKIE]>::try_from(cookie).ok());
        let (name, padding) = match returned {
            Some([first, high, low, ..]) => {
                (first & NAME, Padding(u16::from_be_bytes([high, low])))
            }
            None => (self.newest, hello.padding()),
        };
        Binding { secret: self.secrets[usize::from(name)], name, padding, remote }
    }

    fn renew(&mut self, now: Instant) {
        // After a long silence both have become too old.
        for _ in 0..2 {
            if now.since(self.since) >= LIFE {
                self.newest ^= NAME;
                self.secrets[usize::from(self.newest)] = draw(&mut self.random);
                self.since += LIFE;
            }
        }
        if now.since(self.since) >= LIFE {
            self.since = now;
        }
    }
}

fn draw(random: &mut RandomStream) -> [u8; COOKIE] {
    let mut secret = [0; COOKIE];
    random.fill(&mut secret);
    secret
}

/// Input of a cookie, in addition to the client's random.
#[derive(Clone, Copy)]
pub(crate) struct Binding {
    secret: [u8; COOKIE],
    name: u8,
    padding: Padding,
    remote: SocketAddr,
}

impl Binding {
    /// Padding of the first ClientHello.
    pub(crate) fn padding(&self) -> Padding {
        self.padding
    }

    fn cookie(&self, client_random: &[u8]) -> Result<[u8; COOKIE], CryptoError> {
        let address = match self.remote.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let padding = self.padding.0.to_be_bytes();
        let text =
            [&address[..], &self.remote.port().to_be_bytes(), &padding, client_random].concat();
        let mut cookie = default_provider().hmac_provider.hmac_sha256(&self.secret, &text)?;
        cookie[0] = cookie[0] & !NAME | self.name;
        cookie[PADDING].copy_from_slice(&padding);
        Ok(cookie)
    }
}

thread_local! {
    /// The binding for cookies during the present call into the DTLS crate on this thread: the
    /// crate's cryptography consists of statics without access to a session.
    static BINDING: Cell<Option<Binding>> = const { Cell::new(None) };
}

/// Calls `call` with cookies made of `binding`.
pub(crate) fn bind<T>(binding: Binding, call: impl FnOnce() -> T) -> T {
    BINDING.set(Some(binding));
    let result = call();
    BINDING.set(None);
    result
}

/// RustCrypto's cryptography, with cookies that can be bound to an address, and keys that are
/// parsed only when they sign.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider { hmac_provider: &BoundHmac, key_provider: &LateKeys, ..default_provider() }
}

/// The DTLS crate's HMAC, which makes cookies from the binding if one is set. The crate calls
/// `hmac_sha256` for cookies only, and derives keys with `hmac`.
#[derive(Debug)]
struct BoundHmac;

impl HmacProvider for BoundHmac {
    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> Result<[u8; COOKIE], CryptoError> {
        match BINDING.get() {
            Some(binding) => binding.cookie(data),
            None => default_provider().hmac_provider.hmac_sha256(key, data),
        }
    }

    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        default_provider().hmac_provider.hmac(hash, key, data, out)
    }
}

#[cfg(test)]
mod tests {
    use base::Purpose;

    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn a_cookie_is_good_for_its_address_and_random_and_a_minute_or_two() {
        let random = RandomStream::new(1, Purpose("cookies", 0));
        let mut secrets = CookieSecrets::new(random, Instant::ZERO);
        let made = |secrets: &mut CookieSecrets, seconds, port, returned: Option<&[u8]>, random| {
            secrets.renew(Instant::ZERO + Duration::from_secs(seconds));
            let name = returned.map_or(secrets.newest, |cookie| cookie[0] & NAME);
            let secret = secrets.secrets[usize::from(name)];
            let binding = Binding { secret, name, padding: Padding(3), remote: address(port) };
            binding.cookie(&[random; 32]).unwrap()
        };
        let cookie = made(&mut secrets, 59, 1, None, 7);
        assert_ne!(made(&mut secrets, 59, 2, Some(&cookie), 7), cookie, "another port");
        assert_ne!(made(&mut secrets, 59, 1, Some(&cookie), 8), cookie, "another random");
        assert_eq!(made(&mut secrets, 119, 1, Some(&cookie), 7), cookie);
        assert_ne!(made(&mut secrets, 119, 1, None, 7), cookie, "new ones have a new secret");
        assert_ne!(made(&mut secrets, 120, 1, Some(&cookie), 7), cookie);
        let late = made(&mut secrets, 1000, 1, None, 7);
        assert_eq!(made(&mut secrets, 1059, 1, Some(&late), 7), late);
    }
}
