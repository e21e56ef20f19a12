//! What the exchange of offer and answer asks of those behind it.

use std::net::IpAddr;

use recovery::RecoveryPolicy;
use thinstream::webrtc::AcceptError;

use super::link::LinkError;
use super::setting::{Setting, SettingError};

/// Why the setting was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The setting is out of its bounds.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The link takes no such change.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// What is behind the HTTP of the page: it answers offers, and has a link and messages that can be set.
pub trait Signalling: Send + Sync + 'static {
    /// Answers an offer of a page, whose connection has this policy; `between` are the hosts of the page and of this side.
    ///
    /// # Errors
    /// The offer cannot be used, or there are too many.
    fn answer(
        &self,
        offer: &str,
        policy: RecoveryPolicy,
        between: (IpAddr, IpAddr),
    ) -> Result<String, AcceptError>;

    /// Changes the link and the messages.
    ///
    /// # Errors
    /// What cannot be set; nothing has changed then.
    fn set(&self, setting: Setting) -> Result<(), ChangeError>;

    /// The link and the messages.
    fn setting(&self) -> Setting;
}
