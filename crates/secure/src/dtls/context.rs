//! Settings of DTLS, and the state that the sessions of a host share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::{Duration, RandomStream};
use dimpl::{Config, DtlsCertificate};

use crate::cookie::provider;
use crate::identity::Identity;
use crate::randomness::{Randomness, key_exchanges, lend, seeded_provider};

/// Most bytes that a record adds, in either version, and in DTLS 1.3.
pub(super) const RECORD_OVERHEAD: usize = 37;
const RECORD_OVERHEAD_13: usize = 22;
/// Longest accepted datagram of a handshake, in bytes: more than an Ethernet frame holds.
pub(super) const HANDSHAKE_DATAGRAM: usize = 2048;
/// Most datagrams of a handshake that are kept until their fragments are complete.
pub(super) const HANDSHAKE_QUEUE: usize = 30;

/// End of the handshake: the one that begins it, or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that sends the ClientHello.
    Client,
    /// The end that waits for the ClientHello.
    Server,
}

/// Versions of DTLS that a session accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Versions {
    /// DTLS 1.3 only (RFC 9147). No attacker can downgrade two such ends.
    #[default]
    Only13,
    /// DTLS 1.2 only (RFC 6347), for peers without DTLS 1.3.
    Only12,
    /// DTLS 1.3, or 1.2 if the peer does not offer it.
    Either,
}

/// The longest time of a handshake that can be set.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(365 * 86_400);

/// Settings that the handshakes of a host share, in either role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Versions to offer and to accept.
    pub versions: Versions,
    /// Bytes of a datagram of the handshake, without UDP and IP headers, 64 to 2,048. Sealed
    /// packets are not split.
    pub mtu: usize,
    /// Time from a flight to its first retransmission; doubles with each, and varies by 25 %
    /// either way. RFC 9147, section 5.8.2, recommends 1 s for an unknown path.
    pub first_retransmission: Duration,
    /// Number of doublings that leave the timeout at one second; later ones double it again. Under
    /// high loss a handshake of several flights would otherwise mostly wait. 0 in RFC 9147.
    pub linear_retransmissions: u8,
    /// Time from the first ClientHello to [`Failure::TimedOut`](crate::Failure::TimedOut); longer
    /// than zero, at most a year.
    pub handshake_timeout: Duration,
    /// Time since 1970 (UTC) at [`Instant::ZERO`](base::Instant::ZERO), used only for the validity
    /// of certificates that an authority signed.
    pub epoch: Duration,
}

impl Default for Settings {
    /// DTLS 1.3, datagrams of 1,150 bytes, first retransmission after a second, 30 s in all; the
    /// clock begins in 1970.
    fn default() -> Settings {
        Settings {
            versions: Versions::Only13,
            mtu: 1150,
            first_retransmission: Duration::from_secs(1),
            linear_retransmissions: 0,
            handshake_timeout: Duration::from_secs(30),
            epoch: Duration::ZERO,
        }
    }
}

/// Timeouts of a client's attempt to set up a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time from a flight to its first retransmission, as [`Settings::first_retransmission`].
    pub first_retransmission: Duration,
    /// Doublings left out, as [`Settings::linear_retransmissions`].
    pub linear_retransmissions: u8,
    /// Most time for the handshake, as [`Settings::handshake_timeout`].
    pub handshake_timeout: Duration,
}

impl Settings {
    /// Bytes that a record adds to a packet at most.
    pub fn record_overhead(&self) -> usize {
        match self.versions {
            Versions::Only13 => RECORD_OVERHEAD_13,
            Versions::Only12 | Versions::Either => RECORD_OVERHEAD,
        }
    }

    /// The times of an attempt.
    pub fn patience(&self) -> Patience {
        Patience {
            first_retransmission: self.first_retransmission,
            linear_retransmissions: self.linear_retransmissions,
            handshake_timeout: self.handshake_timeout,
        }
    }
}

/// Invalid settings or an unusable identity; the text says which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub String);

impl core::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for SettingsError {}

/// Settings and identity that the sessions of a host share.
#[derive(Clone)]
pub struct Context {
    settings: Settings,
    certificate: Arc<DtlsCertificate>,
    /// Whether servers require a cookie.
    pub(super) cookies: bool,
    config: Arc<Config>,
}

/// A session of the DTLS crate, and the stream of its key exchanges if it is seeded.
pub(super) type Engine = (dimpl::Dtls, Option<RandomStream>);

impl core::fmt::Debug for Context {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Context").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Context {
    /// Sessions with `settings` that prove `identity`.
    pub fn new(settings: Settings, identity: &Identity) -> Result<Context, SettingsError> {
        Context::with_cookies(settings, identity, true)
    }

    /// A context as of [`Context::new`], for servers whose clients have proved their address by
    /// other means, such as the checks of ICE: they require no cookie, which saves a round
    /// trip. [`Sessions`](crate::Sessions) with this context accept no client.
    pub fn without_cookies(
        settings: Settings,
        identity: &Identity,
    ) -> Result<Context, SettingsError> {
        Context::with_cookies(settings, identity, false)
    }

    /// A session of the DTLS crate that begins at `now`. Each `attempt` with the same seed differs.
    #[allow(clippy::disallowed_types)]
    pub(super) fn engine(
        &self,
        role: Role,
        randomness: Randomness,
        attempt: u8,
        now: std::time::Instant,
    ) -> Result<Engine, SettingsError> {
        let (config, mut stream) = match randomness {
            Randomness::System => (self.config.clone(), None),
            Randomness::Seeded(seed) => {
                let seed = seed ^ u64::from(attempt) << 56;
                (config(&self.settings, self.cookies, Some(seed))?, Some(key_exchanges(seed)))
            }
        };
        let engine = lend(&mut stream, || {
            let new = match self.settings.versions {
                Versions::Only13 => dimpl::Dtls::new_13,
                Versions::Only12 => dimpl::Dtls::new_12,
                Versions::Either => dimpl::Dtls::new_auto,
            };
            let mut engine = new(config, (*self.certificate).clone(), now);
            engine.set_active(role == Role::Client);
            engine
        });
        Ok((engine, stream))
    }

    /// A client's session of the DTLS crate that changes its keys every few records.
    #[cfg(test)]
    pub(super) fn engine_that_changes_keys(
        &self,
        clock: &super::clock::EngineClock,
    ) -> dimpl::Dtls {
        let config = Config::builder()
            .with_crypto_provider(provider())
            .aead_encryption_limit(4)
            .require_client_certificate(true)
            .build();
        let certificate = (*self.certificate).clone();
        let now = clock.read(base::Instant::ZERO);
        let mut engine =
            dimpl::Dtls::new_13(Arc::new(config.expect("good settings")), certificate, now);
        engine.set_active(true);
        engine
    }

    fn with_cookies(
        settings: Settings,
        identity: &Identity,
        cookies: bool,
    ) -> Result<Context, SettingsError> {
        if !(64..=HANDSHAKE_DATAGRAM).contains(&settings.mtu) {
            return Err(SettingsError(format!(
                "mtu: {} bytes, expected 64 to {HANDSHAKE_DATAGRAM}",
                settings.mtu
            )));
        }
        if !(Duration::from_nanos(1)..=LONGEST_HANDSHAKE).contains(&settings.handshake_timeout) {
            let why = "handshake_timeout: expected more than zero and a year at most";
            return Err(SettingsError(why.to_owned()));
        }
        let most = most_certificate(settings.mtu);
        if identity.certificate().len() > most {
            return Err(SettingsError(format!(
                "certificate: {} bytes, expected {most} at most with an mtu of {}",
                identity.certificate().len(),
                settings.mtu
            )));
        }
        Context::unchecked(settings, identity, cookies)
    }

    /// A context with a certificate of any size.
    pub(super) fn unchecked(
        settings: Settings,
        identity: &Identity,
        cookies: bool,
    ) -> Result<Context, SettingsError> {
        let private_key = identity.key_der().map_err(|error| SettingsError(error.to_string()))?;
        let certificate = identity.certificate().to_vec();
        let certificate = Arc::new(DtlsCertificate { certificate, private_key });
        let config = kept_config(&settings, cookies)?;
        Ok(Context { settings, certificate, cookies, config })
    }

    /// The settings of the sessions.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A copy for sessions with other timeouts.
    pub(crate) fn with_patience(&self, patience: Patience) -> Result<Context, SettingsError> {
        let Patience { first_retransmission, linear_retransmissions, handshake_timeout } = patience;
        let settings = Settings {
            first_retransmission,
            linear_retransmissions,
            handshake_timeout,
            ..self.settings
        };
        let config = kept_config(&settings, self.cookies)?;
        Ok(Context {
            settings,
            config,
            certificate: self.certificate.clone(),
            cookies: self.cookies,
        })
    }
}

/// Bytes of the longest certificate whose flight, in datagrams of `mtu` bytes, fits the engine's
/// limits: twelve records, beyond which it panics, and ten datagrams.
fn most_certificate(mtu: usize) -> usize {
    (4 * mtu).saturating_sub(200)
}

/// Settings that a configuration without a seed depends on: the size of a datagram in bytes, the
/// time to the first retransmission, and whether a server requires a cookie.
type ConfigKey = (usize, Duration, bool);

/// Configurations of this process. The crate tries all its cryptography whenever it makes one,
/// which takes three milliseconds of processor time: too much for each client endpoint, and for
/// each session that is set up anew.
static CONFIGS: Mutex<BTreeMap<ConfigKey, Arc<Config>>> = Mutex::new(BTreeMap::new());
/// Most configurations that are kept.
const MOST_CONFIGS: usize = 64;

/// The crate's form of `settings`, without a seed.
fn kept_config(settings: &Settings, cookies: bool) -> Result<Arc<Config>, SettingsError> {
    let key = (settings.mtu, settings.first_retransmission, cookies);
    let mut configs = CONFIGS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(config) = configs.get(&key) {
        return Ok(config.clone());
    }
    let config = config(settings, cookies, None)?;
    if configs.len() >= MOST_CONFIGS {
        configs.clear();
    }
    configs.insert(key, config.clone());
    Ok(config)
}

/// The crate's form of `settings`.
fn config(
    settings: &Settings,
    cookies: bool,
    seed: Option<u64>,
) -> Result<Arc<Config>, SettingsError> {
    let builder = Config::builder()
        .mtu(settings.mtu)
        .max_queue_rx(HANDSHAKE_QUEUE)
        .flight_start_rto(settings.first_retransmission.into())
        // The time of the handshake, which the session keeps, is the limit.
        .flight_retries(1000)
        .handshake_timeout((LONGEST_HANDSHAKE * 2).into())
        .use_server_cookie(cookies)
        .require_client_certificate(true);
    let built = match seed {
        None => builder.with_crypto_provider(provider()).build(),
        // The crate tries its key exchange out when it is configured, with a stream that is thrown
        // away.
        Some(seed) => lend(&mut Some(key_exchanges(seed)), || {
            builder.with_crypto_provider(seeded_provider()).dangerously_set_rng_seed(seed).build()
        }),
    };
    built.map(Arc::new).map_err(|error| SettingsError(error.to_string()))
}
