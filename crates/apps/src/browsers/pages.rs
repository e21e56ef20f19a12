//! All visitors: answers to their offers, and their connections behind the link.

use std::net::IpAddr;
use std::sync::Arc;

use recovery::RecoveryPolicy;
use thinstream::webrtc::{AcceptError, Listener, candidates};
use tokio::sync::watch;
use tokio::time::Instant;

use super::link::LossyLink;
use super::setting::Setting;
use super::signalling::{ChangeError, Signalling};
use super::visit::visit;

/// State of all visitors' pages.
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

    /// Accepts connections until the socket fails, each in a task of its own.
    pub(super) async fn accept_all(&self) {
        while let Ok(page) = self.listener.accept().await {
            tokio::spawn(visit(page, self.setting.subscribe(), self.begun));
        }
    }
}

impl Signalling for Pages {
    fn answer(
        &self,
        offer: &str,
        policy: RecoveryPolicy,
        (from, reached): (IpAddr, IpAddr),
    ) -> Result<String, AcceptError> {
        let candidates = candidates(reached, self.link.port());
        let policy = Some(Arc::new(policy));
        let (_, answer) = self.listener.answer_with(policy, offer, Some(from), &candidates)?;
        Ok(answer)
    }

    fn set(&self, setting: Setting) -> Result<(), ChangeError> {
        setting.check()?;
        let before = self.setting.send_replace(setting);
        // A link that stays as it is loses nothing of what is under way.
        if (before.delay, before.loss) != (setting.delay, setting.loss) {
            self.link.set(&setting)?;
        }
        Ok(())
    }

    fn setting(&self) -> Setting {
        *self.setting.borrow()
    }
}
