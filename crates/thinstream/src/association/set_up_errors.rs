//! Reason for which an association was not set up, in the words of [`ConnectError`].

use sctp::Failure;

use super::Association;
use crate::error::{AssociationError, ConnectError, SessionError};

impl Association {
    pub(super) fn connect_error(&self, error: AssociationError) -> ConnectError {
        let remote = self.handle.remote;
        match error {
            AssociationError::Failed(Failure::AbortedByPeer { code, reason }) => {
                ConnectError::Refused { remote, code, reason }
            }
            AssociationError::Failed(Failure::NoListener) => ConnectError::NoListener { remote },
            AssociationError::Failed(Failure::NoAnswer) if self.peer().is_some() => {
                ConnectError::NotAccepted { remote, own: self.handle.driver.fingerprint }
            }
            AssociationError::Failed(Failure::NoAnswer) => {
                ConnectError::NoAnswer { remote, hint: self.send_error() }
            }
            AssociationError::Session(error) => self.session_error(error),
            error => ConnectError::Ended(error),
        }
    }

    fn session_error(&self, error: SessionError) -> ConnectError {
        let remote = self.handle.remote;
        match error {
            SessionError::Untrusted(reason) => ConnectError::Untrusted { remote, reason },
            SessionError::NoAnswer => ConnectError::NoAnswer { remote, hint: self.send_error() },
            SessionError::NoListener => ConnectError::NoListener { remote },
            SessionError::TimedOut { after } => ConnectError::HandshakeTimeout { remote, after },
            SessionError::Broken(reason) => ConnectError::Handshake { remote, reason },
        }
    }

    /// The system's error when it last refused to send.
    fn send_error(&self) -> Option<String> {
        let statistics = self.handle.driver.carrier_statistics();
        statistics.last_error.filter(|_| statistics.send_errors > 0)
    }
}
