//! DTLS as a [`Sealer`], over the crate that docs/secure.md judges.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use dimpl::{Config, DtlsCertificate, Output};

use crate::cookie::{Binding, bind, provider};
use crate::fingerprint::Fingerprint;
use crate::hello::ClientHello;
use crate::identity::Identity;
use crate::randomness::{Randomness, key_exchanges, lend, seeded_provider};
use crate::sealer::{Failure, NotSealed, Peer, Sealer, State};
use crate::trust::Trust;

#[cfg(test)]
mod tests;

/// Bytes of plaintext in a record (RFC 9147, section 4; RFC 8446, section 5.1).
const RECORD: usize = 1 << 14;
/// Bytes that a record adds at most, in either version, and in DTLS 1.3.
const RECORD_OVERHEAD: usize = 37;
const RECORD_OVERHEAD_13: usize = 22;
/// Bytes of a datagram of the handshake that are taken: any Ethernet frame's.
const HANDSHAKE_DATAGRAM: usize = 2048;
/// Datagrams of the handshake that are kept until their fragments are complete.
const HANDSHAKE_QUEUE: usize = 30;
/// Least time to the next timeout. The engine, when fragments of one message arrive out of order, may ask for a timeout now,
/// acknowledge, and ask for the same again: a driver that obeyed would never stop sending.
const LEAST_WAIT: Duration = Duration::from_millis(10);
/// First byte of an alert's record in plaintext (RFC 9147, section 4.1).
const PLAIN_ALERT: u8 = 21;

/// The crate counts time in the standard library's instants, and only their differences: the first one is arbitrary.
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
static ORIGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

/// Versions of DTLS that a session accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Versions {
    /// DTLS 1.3 only (RFC 9147). No attacker can talk two such ends down.
    #[default]
    Only13,
    /// DTLS 1.2 only (RFC 6347), for peers that have nothing else.
    Only12,
    /// DTLS 1.3, or 1.2 if the peer does not offer it.
    Either,
}

/// Settings of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Versions to offer and to accept.
    pub versions: Versions,
    /// Bytes of a datagram of the handshake, without UDP and IP headers, 64 to 2,048. Sealed packets are not split.
    pub mtu: usize,
    /// Time from a flight to its first retransmission; doubles with each, and varies by 25 % either way. RFC 9147, section
    /// 5.8.2, has 1 s where nothing is known of the path.
    pub first_retransmission: Duration,
    /// Time from the first ClientHello to [`Failure::TimedOut`]; longer than zero, at most ten years.
    pub handshake_timeout: Duration,
    /// Time since 1970 (UTC) at [`Instant::ZERO`], for the validity of certificates that an authority signed. Nothing else asks
    /// for it.
    pub epoch: Duration,
}

impl Default for Settings {
    /// DTLS 1.3, datagrams of 1,150 bytes, first retransmission after a second, 30 s in all; the clock begins in 1970.
    fn default() -> Settings {
        Settings {
            versions: Versions::Only13,
            mtu: 1150,
            first_retransmission: Duration::from_secs(1),
            handshake_timeout: Duration::from_secs(30),
            epoch: Duration::ZERO,
        }
    }
}

/// How long a client's attempt to set a session up waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// As [`Settings::first_retransmission`].
    pub first_retransmission: Duration,
    /// As [`Settings::handshake_timeout`].
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
            handshake_timeout: self.handshake_timeout,
        }
    }
}

/// Settings or an identity with which no session can begin; the text says which.
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
    certificate: DtlsCertificate,
    /// Whether servers ask for a cookie.
    cookies: bool,
    config: Arc<Config>,
}

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

    /// As [`Context::new`], for servers whose clients have proved their address by other means, such as the checks of ICE:
    /// they ask for no cookie, which saves a round trip. [`Sessions`](crate::Sessions) with this context accept no client.
    pub fn without_cookies(
        settings: Settings,
        identity: &Identity,
    ) -> Result<Context, SettingsError> {
        Context::with_cookies(settings, identity, false)
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
        let private_key = identity.key_der().map_err(|error| SettingsError(error.to_string()))?;
        let certificate =
            DtlsCertificate { certificate: identity.certificate().to_vec(), private_key };
        let config = config(&settings, cookies, None)?;
        Ok(Context { settings, certificate, cookies, config })
    }

    /// What the sessions are set to.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A copy for sessions with other times.
    pub(crate) fn with_patience(&self, patience: Patience) -> Result<Context, SettingsError> {
        let Patience { first_retransmission, handshake_timeout } = patience;
        let settings = Settings { first_retransmission, handshake_timeout, ..self.settings };
        let config = config(&settings, self.cookies, None)?;
        Ok(Context {
            settings,
            config,
            certificate: self.certificate.clone(),
            cookies: self.cookies,
        })
    }
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
        // The time of the handshake is the limit: doubling from a millisecond, 40 retransmissions take 34 years.
        .flight_retries(40)
        .handshake_timeout(settings.handshake_timeout.into())
        .use_server_cookie(cookies)
        .require_client_certificate(true);
    let built = match seed {
        None => builder.with_crypto_provider(provider()).build(),
        // The crate tries its key exchange out when it is configured, with a stream that is thrown away.
        Some(seed) => lend(&mut Some(key_exchanges(seed)), || {
            builder.with_crypto_provider(seeded_provider()).dangerously_set_rng_seed(seed).build()
        }),
    };
    built.map(Arc::new).map_err(|error| SettingsError(error.to_string()))
}

/// Which end begins the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the ClientHello.
    Client,
    /// Waits for it.
    Server,
}

/// Answer of a server to a stranger's ClientHello.
pub(crate) enum Accepted {
    /// A datagram with a cookie to return.
    Retry(Bytes),
    /// A session with a client that receives at its address.
    Session(Box<Dtls>),
}

/// A DTLS session of one path.
pub struct Dtls {
    /// None once the session is over.
    engine: Option<dimpl::Dtls>,
    trust: Arc<Trust>,
    /// As [`Settings::epoch`].
    epoch: Duration,
    /// The stream of key exchanges of a seeded session.
    stream: Option<RandomStream>,
    state: State,
    /// Presented by the peer and accepted; not yet proved while the session is handshaking.
    presented: Option<Peer>,
    started: Instant,
    timeout: Option<Instant>,
    outgoing: VecDeque<Bytes>,
    opened: VecDeque<Bytes>,
}

impl core::fmt::Debug for Dtls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Dtls").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Dtls {
    /// A session that accepts the peers of `trust`. A client's ClientHello is ready to be sent at once. An error means that
    /// a seeded session could not be configured.
    pub fn new(
        context: &Context,
        role: Role,
        trust: impl Into<Arc<Trust>>,
        randomness: Randomness,
        now: Instant,
    ) -> Result<Dtls, SettingsError> {
        let (config, mut stream) = match randomness {
            Randomness::System => (context.config.clone(), None),
            Randomness::Seeded(seed) => {
                (config(&context.settings, context.cookies, Some(seed))?, Some(key_exchanges(seed)))
            }
        };
        let certificate = context.certificate.clone();
        let engine = lend(&mut stream, || {
            let new = match context.settings.versions {
                Versions::Only13 => dimpl::Dtls::new_13,
                Versions::Only12 => dimpl::Dtls::new_12,
                Versions::Either => dimpl::Dtls::new_auto,
            };
            let mut engine = new(config, certificate, to_std(now));
            engine.set_active(role == Role::Client);
            engine
        });
        let mut session = Dtls {
            engine: Some(engine),
            trust: trust.into(),
            epoch: context.settings.epoch,
            stream,
            state: State::Handshaking,
            presented: None,
            started: now,
            timeout: None,
            outgoing: VecDeque::new(),
            opened: VecDeque::new(),
        };
        session.handle_timeout(now);
        Ok(session)
    }

    /// Whether [`Sealer::poll_opened`] has something.
    pub(crate) fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    /// A server's answer to the ClientHello of a stranger, whose address `binding` names. Without a cookie the answer is a
    /// datagram, and nothing is kept; with the right one it is a session. None: the ClientHello, or its cookie, is wrong.
    ///
    /// The session that sent the cookie is gone. It is made again from the first ClientHello, which is the second without its
    /// cookie, and makes the same answer again, since what the cookie is made of is the host's.
    pub(crate) fn accept(
        context: &Context,
        trust: Arc<Trust>,
        randomness: Randomness,
        now: Instant,
        binding: Binding,
        (hello, datagram): (&ClientHello<'_>, &[u8]),
    ) -> Option<Accepted> {
        if !context.cookies {
            return None;
        }
        let mut session = Dtls::new(context, Role::Server, trust, randomness, now).ok()?;
        let first = hello.first(binding.padding());
        bind(binding, || session.handle_datagram(now, &first));
        let retry = session.poll_transmit().filter(|_| session.outgoing.is_empty())?;
        let Some(cookie) = hello.cookie() else { return Some(Accepted::Retry(retry)) };
        // A wrong cookie is not worth the second message. No secret is compared: the cookie that is right for this address
        // is known to its holder.
        if !retry.windows(cookie.len()).any(|part| part == cookie) {
            return None;
        }
        bind(binding, || session.handle_datagram(now, datagram));
        let goes_on = session.state == State::Handshaking && !session.outgoing.is_empty();
        goes_on.then(|| Accepted::Session(Box::new(session)))
    }

    /// Calls the engine, then collects what it has to say.
    fn drive(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dimpl::Dtls) -> Result<(), dimpl::Error>,
    ) {
        let Some(mut engine) = self.engine.take() else { return };
        let mut stream = self.stream.take();
        let ended =
            lend(&mut stream, || call(&mut engine).map_err(|error| self.failure(now, error)))
                .and_then(|()| lend(&mut stream, || self.collect(now, &mut engine)));
        self.stream = stream;
        match ended {
            Ok(()) => self.engine = Some(engine),
            Err(failure) => self.end(State::Failed(failure)),
        }
        if self.state == State::Closed {
            self.end(State::Closed);
        }
    }

    /// Moves the engine's output to the queues. Datagrams leave only after the peer's certificate, if there is one among
    /// the output, has been accepted: a peer that is refused gets no answer.
    fn collect(&mut self, now: Instant, engine: &mut dimpl::Dtls) -> Result<(), Failure> {
        // The engine panics if a certificate does not fit, which comes in at most this many bytes. Afterwards there are records,
        // which need no memory of the heap.
        let mut small = [0; HANDSHAKE_DATAGRAM];
        let mut large = match self.state {
            State::Handshaking => vec![0; HANDSHAKE_QUEUE * HANDSHAKE_DATAGRAM],
            _ => Vec::new(),
        };
        let mut outgoing = Vec::new();
        loop {
            let buffer = if large.is_empty() { &mut small[..] } else { &mut large[..] };
            match engine.poll_output(buffer) {
                Output::Packet(packet) => outgoing.push(Bytes::copy_from_slice(packet)),
                Output::PeerCert(certificate) => {
                    let fingerprint = Fingerprint::of_certificate(certificate);
                    let since_epoch = self.epoch + now.since(Instant::ZERO);
                    let judged = self.trust.judge_certificate(certificate, since_epoch);
                    let line_to_add = judged.map_err(Failure::Refused)?;
                    let certificate = Bytes::copy_from_slice(certificate);
                    self.presented = Some(Peer { fingerprint, certificate, line_to_add });
                }
                Output::Connected => {
                    let peer = self.presented.take();
                    let none = || Failure::Protocol("no certificate".to_owned());
                    self.state = State::Open(peer.ok_or_else(none)?);
                }
                Output::ApplicationData(packet) => {
                    self.opened.push_back(Bytes::copy_from_slice(packet))
                }
                Output::CloseNotify => self.state = State::Closed,
                Output::BufferTooSmall { needed } => large.resize(needed, 0),
                Output::Timeout(at) => {
                    self.timeout = Some(from_std(at).max(now + LEAST_WAIT));
                    break;
                }
                _ => {}
            }
        }
        self.outgoing.extend(outgoing);
        Ok(())
    }

    /// Forgets the engine and its keys.
    fn end(&mut self, state: State) {
        self.engine = None;
        self.timeout = None;
        self.presented = None;
        self.state = state;
    }

    fn failure(&self, now: Instant, error: dimpl::Error) -> Failure {
        match error {
            dimpl::Error::Timeout(_) => Failure::TimedOut(now.since(self.started)),
            error => Failure::Protocol(error.to_string()),
        }
    }
}

impl Sealer for Dtls {
    fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) {
        let handshaking = self.state == State::Handshaking;
        let limit = if handshaking { HANDSHAKE_DATAGRAM } else { RECORD + RECORD_OVERHEAD };
        // Bytes 20 to 63 begin DTLS records (RFC 7983, section 7).
        let begins_record = datagram.first().is_some_and(|first| (20..=63).contains(first));
        if !begins_record || datagram.len() > limit || handshaking && holds_plain_alert(datagram) {
            return;
        }
        self.drive(now, |engine| {
            engine.handle_timeout(to_std(now))?;
            engine.handle_packet(datagram)
        });
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.drive(now, |engine| engine.handle_timeout(to_std(now)));
    }

    fn poll_transmit(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    fn poll_opened(&mut self) -> Option<Bytes> {
        self.opened.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    fn seal(&mut self, now: Instant, packet: &[u8]) -> Result<(), NotSealed> {
        if !matches!(self.state, State::Open(_)) {
            return Err(NotSealed::NotOpen);
        }
        if packet.len() > RECORD {
            return Err(NotSealed::TooLong { limit: RECORD });
        }
        self.drive(now, |engine| engine.send_application_data(packet).map(|_| ()));
        if matches!(self.state, State::Open(_)) { Ok(()) } else { Err(NotSealed::NotOpen) }
    }

    fn close(&mut self, now: Instant) {
        if matches!(self.state, State::Failed(_) | State::Closed) {
            return;
        }
        self.drive(now, |engine| engine.close());
        self.end(State::Closed);
    }

    fn state(&self) -> &State {
        &self.state
    }
}

/// Whether one of the plaintext records of a datagram is an alert. Anybody can forge one, and to believe it would end the
/// handshake; neither end of ours sends any.
fn holds_plain_alert(mut datagram: &[u8]) -> bool {
    // A record's type, version, epoch and number, then its length (RFC 9147, section 4).
    while let [kind @ 20..=26, _, _, epoch @ .., _, _, _, _, _, _, high, low] =
        datagram.get(..13).unwrap_or_default()
    {
        if *kind == PLAIN_ALERT && epoch == [0, 0] {
            return true;
        }
        datagram =
            datagram.get(13 + usize::from(u16::from_be_bytes([*high, *low]))..).unwrap_or_default();
    }
    false
}

#[allow(clippy::disallowed_types)]
fn to_std(now: Instant) -> std::time::Instant {
    let since = core::time::Duration::from_nanos(now.as_nanos());
    ORIGIN.checked_add(since).unwrap_or(*ORIGIN)
}

#[allow(clippy::disallowed_types)]
fn from_std(at: std::time::Instant) -> Instant {
    Instant::ZERO + Duration::from(at.saturating_duration_since(*ORIGIN))
}
