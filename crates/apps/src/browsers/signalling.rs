//! Requirements of the exchange of offer and answer.

use std::net::IpAddr;

use recovery::RecoveryPolicy;
use thinstream::webrtc::AcceptError;

use super::link::LinkError;
use super::setting::{Setting, SettingError};

/// Reason for which the setting was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The setting is out of its bounds.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The link takes no such change.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The part that HTTP requests of the page act on: it answers offers, and has a link and messages
/// with a setting.
pub trait Signalling: Send + Sync + 'static {
    /// Answers an offer of a page, whose connection has this policy; `between` are the hosts of the
    /// page and of this side.
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
    /// The value that cannot be set; nothing is changed in that case.
    fn set(&self, setting: Setting) -> Result<(), ChangeError>;

    /// The link and the messages.
    fn setting(&self) -> Setting;
}
