//! All visitors: answers to their offers, and their connections behind the link.

use std::net::IpAddr;
use std::sync::Arc;

use recovery::RecoveryPolicy;
use thinstream::webrtc::{AcceptError, Listener, candidates};
use tokio::sync::watch;
use tokio::time::Instant;

use super::link::{LinkError, LossyLink};
use super::setting::{Setting, SettingError};
use super::visit::visit;

/// Why an offer was not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    #[error(transparent)]
    Accept(#[from] AcceptError),
    #[error("no recovery policy {0:?}: expected one of {names}", names = names())]
    Policy(String),
}

/// Why the setting was not changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Link(#[from] LinkError),
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
    setting: watch::Sender<Setting>,
    begun: Instant,
}

impl Pages {
    /// The pages of a listener behind a link that is like this.
    pub(super) fn new(listener: Listener, link: LossyLink, setting: Setting) -> Pages {
        Pages { listener, link, setting: watch::Sender::new(setting), begun: Instant::now() }
    }

    /// Answers an offer from a page at `from` that reached this machine at `reached`; its connection has this policy.
    pub(super) fn answer(
        &self,
        offer: &str,
        policy: &str,
        (from, reached): (IpAddr, IpAddr),
    ) -> Result<String, AnswerError> {
        let policy =
            RecoveryPolicy::preset(policy).ok_or_else(|| AnswerError::Policy(policy.to_owned()))?;
        let candidates = candidates(reached, self.link.port());
        let policy = Some(Arc::new(policy));
        let (_, answer) = self.listener.answer_with(policy, offer, Some(from), &candidates)?;
        Ok(answer)
    }

    /// Changes the link and the messages.
    pub(super) fn set(&self, setting: Setting) -> Result<(), ChangeError> {
        setting.check()?;
        let before = self.setting.send_replace(setting);
        // A link that stays as it is loses nothing of what is under way.
        if (before.delay, before.loss) != (setting.delay, setting.loss) {
            self.link.set(&setting)?;
        }
        Ok(())
    }

    /// The setting as it is.
    pub(super) fn setting(&self) -> Setting {
        *self.setting.borrow()
    }

    /// Accepts connections until the socket fails, each in a task of its own.
    pub(super) async fn accept_all(&self) {
        while let Ok(page) = self.listener.accept().await {
            tokio::spawn(visit(page, self.setting.subscribe(), self.begun));
        }
    }
}
