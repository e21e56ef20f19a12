//! DTLS as a [`Sealer`], over the crate that docs/secure.md judges.

mod clock;
mod context;
mod plaintext;

use std::collections::VecDeque;
use std::sync::Arc;

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use dimpl::Output;

use self::clock::EngineClock;
pub use self::context::{Context, Patience, Role, Settings, SettingsError, Versions};
use self::context::{HANDSHAKE_DATAGRAM, HANDSHAKE_QUEUE, RECORD_OVERHEAD};
use crate::cookie::{Binding, bind};
use crate::fingerprint::Fingerprint;
use crate::hello::ClientHello;
use crate::randomness::{Randomness, lend};
use crate::sealer::{Failure, NotSealed, Peer, Sealer, State};
use crate::trust::Trust;

#[cfg(test)]
mod tests;

/// Bytes of plaintext in a record (RFC 9147, section 4; RFC 8446, section 5.1).
const RECORD: usize = 1 << 14;
/// Time after which a client starts an unfinished handshake again, and the number of attempts after
/// errors: an attacker may have forged a plaintext handshake message, after which genuine ones
/// cannot be processed.
const ATTEMPT: Duration = Duration::from_secs(10);
const ERRORS: u8 = 4;

/// Packets that may wait in the engine if they overtake the end of the handshake. The engine keeps
/// them in the queue of the handshake's datagrams, and fails when that is full.
const EARLY: u8 = 8;

/// A server's answer to the ClientHello of an address without a session.
pub(crate) enum Accepted {
    /// A datagram with a cookie to return.
    Retry(Bytes),
    /// A session with a client that has proved its address.
    Session(Box<Dtls>),
}

/// A DTLS session of one path.
pub struct Dtls {
    /// The session's engine; none once the session has ended, or until a client begins again.
    engine: Option<dimpl::Dtls>,
    context: Context,
    role: Role,
    randomness: Randomness,
    trust: Arc<Trust>,
    clock: EngineClock,
    /// The stream of key exchanges of a seeded session.
    stream: Option<RandomStream>,
    state: State,
    /// The peer's accepted key; proved once the handshake has ended.
    presented: Option<Peer>,
    started: Instant,
    attempt: Attempt,
    /// Deadline of the handshake, set with its first datagram.
    deadline: Option<Instant>,
    timeout: Option<Instant>,
    /// Time at which a server last answered a whole ClientHello.
    greeted: Option<Instant>,
    /// Packets that overtook the handshake.
    early: u8,
    outgoing: VecDeque<Bytes>,
    opened: VecDeque<Bytes>,
}

/// The current attempt of a client's handshake; each begins with a new ClientHello.
#[derive(Debug)]
struct Attempt {
    number: u8,
    begun: Instant,
    errors: u8,
    /// Error that ended the latest attempt.
    error: Option<String>,
}

impl core::fmt::Debug for Dtls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Dtls").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Dtls {
    /// A session that accepts the peers of `trust`. A client's ClientHello is ready to be sent at
    /// once. An error means that a seeded session could not be configured.
    pub fn new(
        context: &Context,
        role: Role,
        trust: impl Into<Arc<Trust>>,
        randomness: Randomness,
        now: Instant,
    ) -> Result<Dtls, SettingsError> {
        let clock = EngineClock::new(context.settings().linear_retransmissions, now);
        let (engine, stream) = context.engine(role, randomness, 0, clock.read(now))?;
        let mut session = Dtls {
            engine: Some(engine),
            context: context.clone(),
            role,
            randomness,
            trust: trust.into(),
            clock,
            stream,
            state: State::Handshaking,
            presented: None,
            started: now,
            attempt: Attempt { number: 0, begun: now, errors: 0, error: None },
            deadline: None,
            timeout: None,
            greeted: None,
            early: 0,
            outgoing: VecDeque::new(),
            opened: VecDeque::new(),
        };
        session.handle_timeout(now);
        Ok(session)
    }

    /// Notes that the datagram from [`Sealer::poll_transmit`] is sent only now: its retransmission
    /// timer starts at `now`.
    pub fn note_held_up(&mut self, now: Instant) {
        self.clock.note_held_up(now);
        self.drive(now, |_| Ok(()));
    }

    /// Whether [`Sealer::poll_opened`] has a packet.
    pub(crate) fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    /// A server's answer to the ClientHello from the address in `binding`, without a session so
    /// far. Without a cookie the answer is a datagram, and no state is kept; with a valid one it is
    /// a session. None if the ClientHello or its cookie is invalid.
    ///
    /// The session that sent the cookie was discarded. It is reconstructed from the first
    /// ClientHello, which is the second without its cookie, and repeats the same answer, since the
    /// cookie depends only on the host.
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
        // A wrong cookie is not worth the second message. No secret is compared: the cookie that is
        // right for this address is known to its holder.
        if !retry.windows(cookie.len()).any(|part| part == cookie) {
            return None;
        }
        bind(binding, || session.handle_datagram(now, datagram));
        session.greeted = Some(now);
        let goes_on = session.state == State::Handshaking && !session.outgoing.is_empty();
        goes_on.then(|| Accepted::Session(Box::new(session)))
    }

    /// Calls the engine, then collects its output.
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
            Err(Failure::Protocol(error)) if self.may_begin_anew(now) => {
                self.attempt.errors += 1;
                self.attempt.error = Some(error);
                self.timeout = Some(now + self.context.settings().first_retransmission);
            }
            Err(failure) => self.end(State::Failed(failure)),
        }
        if self.state == State::Closed {
            self.end(State::Closed);
        }
    }

    /// Moves the engine's output to the queues. Datagrams leave only after the peer's certificate,
    /// if there is one among the output, has been accepted: a rejected peer gets no answer.
    fn collect(&mut self, now: Instant, engine: &mut dimpl::Dtls) -> Result<(), Failure> {
        // The engine panics if a certificate does not fit, which comes in at most this many bytes.
        // Afterwards there are records, which need no memory of the heap.
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
                    let since_epoch = self.context.settings().epoch + now.since(Instant::ZERO);
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
                    self.timeout = self.clock.ask(now, at);
                    break;
                }
                _ => {}
            }
        }
        if !outgoing.is_empty() {
            self.clock.note_sent(now);
            let settings = self.context.settings();
            self.deadline.get_or_insert(now + settings.handshake_timeout);
        }
        self.outgoing.extend(outgoing);
        Ok(())
    }

    /// Whether this end may send another first ClientHello. Our server accepts it; others may not.
    fn is_beginner(&self) -> bool {
        self.role == Role::Client
            && self.state == State::Handshaking
            && self.context.settings().versions == Versions::Only13
    }

    /// Whether the handshake may start again after an error.
    fn may_begin_anew(&self, now: Instant) -> bool {
        self.is_beginner()
            && self.attempt.errors < ERRORS
            && self.deadline.is_some_and(|deadline| now < deadline)
    }

    /// Starts a client's next attempt.
    fn begin_anew(&mut self, now: Instant) {
        let number = self.attempt.number.saturating_add(1);
        self.clock = EngineClock::new(self.context.settings().linear_retransmissions, now);
        let engine = self.context.engine(self.role, self.randomness, number, self.clock.read(now));
        // The same settings were good for the first one.
        let Ok((engine, stream)) = engine else { return };
        (self.engine, self.stream) = (Some(engine), stream);
        (self.attempt.number, self.attempt.begun, self.presented) = (number, now, None);
    }

    /// Whether a client's attempt has lasted so long that it should start again.
    fn is_stuck(&self, now: Instant) -> bool {
        self.is_beginner() && now.since(self.attempt.begun) >= ATTEMPT
    }

    /// Whether a datagram may reach the engine: plaintext records can be forged, and some would end
    /// the handshake.
    fn takes(&self, now: Instant, datagram: &[u8]) -> bool {
        let handshaking = self.state == State::Handshaking;
        if self.context.settings().versions != Versions::Only13 {
            return !(handshaking && plaintext::holds_alert(datagram));
        }
        let Some(greeted) = self.greeted else {
            return if handshaking {
                plaintext::holds_hellos_alone(datagram, self.role)
            } else {
                !plaintext::holds_any(datagram)
            };
        };
        // The ClientHello again, whose answer was lost. Each copy has the whole flight sent again.
        let pause =
            Duration::from_nanos(self.context.settings().first_retransmission.as_nanos() / 2);
        let again =
            || handshaking && now >= greeted + pause && ClientHello::parse(datagram).is_some();
        !plaintext::holds_any(datagram) || again()
    }

    /// Drops the engine and its keys.
    fn end(&mut self, state: State) {
        self.engine = None;
        self.timeout = None;
        self.presented = None;
        self.state = state;
    }

    fn failure(&self, now: Instant, error: dimpl::Error) -> Failure {
        match error {
            dimpl::Error::Timeout(_) => self.late(now),
            error => Failure::Protocol(error.to_string()),
        }
    }

    fn late(&self, now: Instant) -> Failure {
        match &self.attempt.error {
            Some(error) => Failure::Protocol(error.clone()),
            None => Failure::TimedOut(now.since(self.started)),
        }
    }
}

impl Sealer for Dtls {
    fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) {
        let handshaking = self.state == State::Handshaking;
        let limit = if handshaking { HANDSHAKE_DATAGRAM } else { RECORD + RECORD_OVERHEAD };
        // Bytes 20 to 63 begin DTLS records (RFC 7983, section 7).
        let begins_record = datagram.first().is_some_and(|first| (20..=63).contains(first));
        if !begins_record || datagram.len() > limit || !self.takes(now, datagram) {
            return;
        }
        if self.greeted.is_some() && plaintext::holds_any(datagram) {
            self.greeted = Some(now);
        }
        if handshaking && holds_packet(datagram) {
            if self.early == EARLY {
                return;
            }
            self.early += 1;
        }
        let engine_now = self.clock.read(now);
        self.drive(now, |engine| {
            engine.handle_timeout(engine_now)?;
            engine.handle_packet(datagram)
        });
    }

    fn handle_timeout(&mut self, now: Instant) {
        let handshaking = self.state == State::Handshaking;
        if handshaking && self.deadline.is_some_and(|deadline| deadline <= now) {
            return self.end(State::Failed(self.late(now)));
        }
        if self.timeout.is_some_and(|due| due <= now) {
            if self.engine.is_none() || self.is_stuck(now) {
                self.begin_anew(now);
            } else {
                self.clock.expire(now);
            }
        }
        let engine_now = self.clock.read(now);
        self.drive(now, |engine| engine.handle_timeout(engine_now));
    }

    fn poll_transmit(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    fn poll_opened(&mut self) -> Option<Bytes> {
        self.opened.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let deadline = self.deadline.filter(|_| self.state == State::Handshaking);
        self.timeout.into_iter().chain(deadline).min()
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

/// Whether a datagram begins with a record under the keys of application data: those of epoch 3 in
/// DTLS 1.3, content type 23 in 1.2.
fn holds_packet(datagram: &[u8]) -> bool {
    matches!(datagram, [first, ..] if *first == 23 || *first & 0xe3 == 0x23)
}
