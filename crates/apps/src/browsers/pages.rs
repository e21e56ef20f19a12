//! The connections of pages: answers to their offers, and what is sent on their channels.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recovery::RecoveryPolicy;
use thinstream::webrtc::{
    AcceptError, ChannelError, ChannelEvent, Connection, Listener, MessageKind, PeerEvent, PeerId,
    StreamId,
};

use super::link::{LinkSetting, LinkSettingError, LossyLink};
use super::reach::reachable;

/// Label of the channel on which the server sends where things are.
const MOVES: &str = "moves";
/// Time between two positions, a game's.
const INTERVAL: Duration = Duration::from_millis(30);
/// Bytes of a position: its number and the time, and some for the things of a game.
const POSITION: usize = 40;
/// Time in which a page connects whose offer was answered.
const EXPECTED: Duration = Duration::from_secs(90);

/// Why an offer was not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    #[error(transparent)]
    Accept(#[from] AcceptError),
    #[error("no recovery policy {0:?}: expected one of {names}", names = names())]
    Policy(String),
}

/// The presets of policies.
fn names() -> String {
    let names: Vec<&str> = recovery::policy::Only::Sctp.presets().iter().map(|one| one.0).collect();
    names.join(", ")
}

/// All pages.
pub(super) struct Pages {
    listener: Listener,
    link: LossyLink,
    setting: Mutex<LinkSetting>,
    /// Policies of connections that are answered and not there yet.
    policies: Mutex<BTreeMap<PeerId, Arc<RecoveryPolicy>>>,
}

impl Pages {
    /// The pages of a listener behind a link that is like this.
    pub(super) fn new(listener: Listener, link: LossyLink, setting: LinkSetting) -> Pages {
        Pages { listener, link, setting: Mutex::new(setting), policies: Mutex::default() }
    }

    /// Answers an offer from a page at `from` that reached this machine at `reached`; its connection has this policy.
    pub(super) fn answer(
        self: &Arc<Pages>,
        offer: &str,
        policy: &str,
        (from, reached): (IpAddr, IpAddr),
    ) -> Result<String, AnswerError> {
        let policy =
            RecoveryPolicy::preset(policy).ok_or_else(|| AnswerError::Policy(policy.to_owned()))?;
        let port = self.link.port();
        let candidates: Vec<SocketAddr> =
            reachable(reached).into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        let (id, answer) = self.listener.answer(offer, Some(from), &candidates)?;
        lock(&self.policies).insert(id, Arc::new(policy));
        // One that never connects must not be remembered.
        let pages = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(EXPECTED).await;
            lock(&pages.policies).remove(&id);
        });
        Ok(answer)
    }

    /// Changes the link.
    pub(super) fn set_link(&self, setting: LinkSetting) -> Result<(), LinkSettingError> {
        self.link.set(setting)?;
        *lock(&self.setting) = setting;
        Ok(())
    }

    /// What the link is like.
    pub(super) fn link(&self) -> LinkSetting {
        *lock(&self.setting)
    }

    /// Accepts pages until the socket fails, each in a task of its own.
    pub(super) async fn accept_all(self: Arc<Pages>) {
        while let Ok(connection) = self.listener.accept().await {
            if let Some(policy) = lock(&self.policies).remove(&connection.id()) {
                connection.set_policy(policy);
            }
            tokio::spawn(serve(Arc::new(connection)));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves the channels of a page until it is gone.
async fn serve(connection: Arc<Connection>) {
    let mut moves = Vec::new();
    while let Some(event) = connection.event().await {
        match event {
            PeerEvent::Channel(ChannelEvent::Opened { id, options }) if options.label == MOVES => {
                moves.push(tokio::spawn(send_moves(Arc::clone(&connection), id)));
            }
            PeerEvent::Channel(ChannelEvent::Message { id, kind, payload }) => {
                // A page that sends faster than it receives loses what does not fit.
                let _ = connection.send(id, kind, payload);
            }
            _ => {}
        }
    }
    // Their handles would keep the connection.
    moves.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Sends a position at each interval: its number, 32 bits, and the milliseconds since the first, a 64-bit float, big-endian.
async fn send_moves(connection: Arc<Connection>, id: StreamId) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let start = tokio::time::Instant::now();
    for number in 0u32.. {
        ticks.tick().await;
        let since = start.elapsed().as_secs_f64() * 1e3;
        let mut position = number.to_be_bytes().to_vec();
        position.extend(since.to_be_bytes());
        position.resize(POSITION, 0);
        match connection.send(id, MessageKind::Binary, position) {
            Ok(()) | Err(ChannelError::BufferFull) => {}
            Err(_) => return,
        }
    }
}
