//! Associations that wait for an encrypted session, and the events of sessions.

use std::net::SocketAddr;

use base::{Duration, Instant};
use sctp::{AssociationId, AssociationOptions};
use secure::{Failure, Fingerprint, Notice, Patience, Refusal, Role, Trust};

use super::{Entry, Node, Phase, Ticket};
use crate::error::{AssociationError, SessionError};
use crate::peer_address::PeerAddress;

/// Refused clients of which the application has not asked yet; beyond them the oldest go.
const REFUSED: usize = 64;

/// An association whose INIT waits.
#[derive(Debug)]
pub(super) struct Waiting {
    id: AssociationId,
    trust: Trust,
    /// Addresses of the peer whose sessions are under way.
    remotes: Vec<SocketAddr>,
    /// Failure of an attempt at another address, if any.
    failure: Option<SessionError>,
}

/// A client that was refused because of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedClient {
    /// Address from which the client sent.
    pub remote: SocketAddr,
    /// Fingerprint of the key that the client presented.
    pub fingerprint: Fingerprint,
    /// Reason for which the client's key was not accepted.
    pub reason: Refusal,
}

impl Node {
    /// Prepares an association, and sets sessions up on all paths to its peer: INIT leaves on the
    /// first that opens.
    pub(super) fn open_secure(
        &mut self,
        now: Instant,
        peer: PeerAddress,
        trust: Trust,
        options: AssociationOptions,
    ) -> Result<Ticket, sctp::ConnectError> {
        let (stash_limit, patience) = (options.receive_buffer, patience(&options));
        let endpoint = self.stack.endpoint_mut();
        let id = endpoint.prepare(now, peer.addresses, peer.sctp_port, options)?;
        let paths = endpoint.association(id).map(|own| own.stats().paths).unwrap_or_default();
        let ticket = self.enter(id, Phase::Opening, stash_limit);
        let remotes = paths.iter().map(|path| path.remote).collect();
        self.waiting.push(Waiting { id, trust: trust.clone(), remotes, failure: None });
        for path in paths {
            let Some(sessions) = self.stack.sessions_mut() else { break };
            if let Some(peer) = sessions.peer_at(path.remote).cloned() {
                self.on_opened(now, path.remote, &peer);
                continue;
            }
            let at = (path.remote, path.local);
            if let Err(error) = sessions.connect(now, at, trust.clone(), patience) {
                self.on_session_failed(path.remote, &SessionError::Broken(error.to_string()));
            }
        }
        Ok(ticket)
    }

    /// Takes what the sessions have to tell.
    pub(super) fn take_session_notices(&mut self, now: Instant) {
        while let Some(notice) = self.stack.sessions_mut().and_then(|own| own.poll_notice()) {
            match notice {
                Notice::Opened { remote, peer, .. } => {
                    self.on_opened(now, remote, &peer);
                    self.ask_further_path(now, remote, peer.fingerprint);
                }
                Notice::Failed { remote, role: Role::Client, failure, answered } => {
                    self.on_session_failed(remote, &error_of(failure, answered));
                }
                Notice::Failed { remote, failure: Failure::Refused(refusal), .. } => {
                    self.on_refused(remote, refusal);
                }
                Notice::Failed { .. } | Notice::Closed { .. } => {}
            }
        }
    }

    /// A session with `peer` is open: associations that wait for it begin.
    fn on_opened(&mut self, now: Instant, remote: SocketAddr, peer: &secure::Peer) {
        let mut refused = None;
        let sessions = self.stack.sessions();
        let since_epoch = sessions.map(|own| own.since_epoch(now)).unwrap_or_default();
        self.waiting.retain(|waiting| {
            if !waiting.remotes.contains(&remote) {
                return true;
            }
            // The session may have been set up for an association that trusts others.
            if let Err(refusal) = waiting.trust.judge_certificate(&peer.certificate, since_epoch) {
                refused = Some(SessionError::Untrusted(refusal));
                return true;
            }
            if let Some(entry) = self.entries.of(waiting.id) {
                entry.peer = Some(Box::new(peer.clone()));
            }
            if let Some(mut own) = self.stack.endpoint_mut().association_mut(waiting.id) {
                own.begin(now, remote, peer.fingerprint.origin());
            }
            false
        });
        if let Some(error) = refused {
            self.on_session_failed(remote, &error);
        }
    }

    /// A session failed: associations that wait for no other end.
    fn on_session_failed(&mut self, remote: SocketAddr, error: &SessionError) {
        #[cfg(feature = "tracing")]
        crate::telemetry::on_session_failed(remote, error);
        let mut ended = Vec::new();
        self.waiting.retain_mut(|waiting| {
            let before = waiting.remotes.len();
            waiting.remotes.retain(|other| *other != remote);
            if waiting.remotes.len() < before {
                // A wrong key says more than silence.
                let first = waiting.failure.take();
                waiting.failure = first
                    .filter(|_| !matches!(error, SessionError::Untrusted(_)))
                    .or(Some(error.clone()));
            }
            if waiting.remotes.is_empty() {
                ended.push((waiting.id, waiting.failure.take()));
            }
            !waiting.remotes.is_empty()
        });
        for (id, failure) in ended {
            let error = failure.unwrap_or_else(|| error.clone());
            if let Some(entry) = self.entries.of(id) {
                entry.end(AssociationError::Session(error));
            }
            self.stack.endpoint_mut().release(id);
        }
    }

    /// A further session with a peer is open: the path that it makes possible is tried at once.
    fn ask_further_path(&mut self, now: Instant, remote: SocketAddr, fingerprint: Fingerprint) {
        let origin = fingerprint.origin();
        if self.stack.sessions().is_none_or(|own| own.sessions_with(origin) < 2) {
            return;
        }
        let endpoint = self.stack.endpoint_mut();
        let with_path: Vec<AssociationId> = endpoint.with_path_to(remote).collect();
        for id in with_path {
            if endpoint.association(id).is_some_and(|own| own.origin() == Some(origin))
                && let Some(mut own) = endpoint.association_mut(id)
            {
                own.request_heartbeat(now, remote);
            }
        }
    }

    fn on_refused(&mut self, remote: SocketAddr, reason: Refusal) {
        #[cfg(feature = "tracing")]
        crate::telemetry::on_refused(remote, &reason);
        let Some(fingerprint) = reason.presented() else { return };
        if self.refused.len() == REFUSED {
            self.refused.pop_front();
        }
        self.refused.push_back(RefusedClient { remote, fingerprint, reason });
        self.refused_signal.notify_waiters();
    }

    /// The next client that was refused.
    pub(crate) fn poll_refused(&mut self) -> Option<RefusedClient> {
        self.refused.pop_front()
    }

    /// Nothing waits for a session any more.
    pub(super) fn stop_waiting(&mut self, id: AssociationId) {
        self.waiting.retain(|waiting| waiting.id != id);
    }

    /// Certificate and fingerprint by which the peer of an accepted association proved itself; none
    /// without encryption.
    pub(super) fn proved_peer(&self, id: AssociationId) -> Option<Box<secure::Peer>> {
        let origin = self.stack.endpoint().association(id)?.origin()?;
        self.stack.sessions()?.peer(origin).cloned().map(Box::new)
    }

    /// Sessions close once all that is to be sent has left.
    pub(crate) fn hang_up(&mut self) {
        if let Some(sessions) = self.stack.sessions_mut() {
            sessions.close();
        }
    }
}

impl Entry {
    /// The peer, once it has proved its key.
    pub(super) fn peer(&self) -> Option<secure::Peer> {
        self.peer.as_deref().cloned()
    }
}

/// The times of a handshake: as long between attempts, and as long in all, as the policy gives
/// INIT.
fn patience(options: &AssociationOptions) -> Patience {
    let rto = &options.policy.rto;
    let first = options.policy.backoff.first_setup.unwrap_or(rto.initial).min(rto.initial);
    let waits = (0..=options.max_init_retransmits).scan(rto.initial, |wait, _| {
        let this = *wait;
        *wait = (this * 2).min(rto.max.max(rto.initial));
        Some(this)
    });
    let all = waits.fold(Duration::ZERO, |all, wait| all + wait);
    const LEAST: Duration = Duration::from_millis(1);
    const MOST: Duration = Duration::from_secs(3600);
    Patience {
        first_retransmission: first.max(LEAST).min(MOST),
        linear_retransmissions: options.policy.backoff.linear_setup,
        handshake_timeout: all.max(LEAST).min(MOST),
    }
}

fn error_of(failure: Failure, answered: bool) -> SessionError {
    match failure {
        Failure::Refused(refusal) => SessionError::Untrusted(refusal),
        Failure::TimedOut(after) if answered => SessionError::TimedOut { after: after.into() },
        Failure::TimedOut(_) => SessionError::NoAnswer,
        Failure::NoListener => SessionError::NoListener,
        Failure::Protocol(reason) => SessionError::Broken(reason),
    }
}
