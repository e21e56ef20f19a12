//! Conversion of each error to [`std::io::Error`], by kind, with the error itself as its source.

use std::io::{Error, ErrorKind};

use sctp::Failure;

use super::{
    AddressError, AssociationError, ConnectError, EndpointError, SendError, SessionError,
    TrySendError,
};

impl AssociationError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            AssociationError::Closed | AssociationError::EndpointClosed => ErrorKind::NotConnected,
            AssociationError::Failed(failure) => kind_of(failure),
            AssociationError::Restarted => ErrorKind::ConnectionReset,
            AssociationError::Socket(_) => ErrorKind::Other,
            AssociationError::Session(error) => error.kind(),
        }
    }
}

fn kind_of(failure: &Failure) -> ErrorKind {
    match failure {
        Failure::NoAnswer
        | Failure::Unreachable
        | Failure::Silent { .. }
        | Failure::ShutdownTimeout => ErrorKind::TimedOut,
        Failure::NoListener | Failure::StaleCookie | Failure::TooFewStreams { .. } => {
            ErrorKind::ConnectionRefused
        }
        Failure::Forgotten | Failure::AbortedByPeer { .. } => ErrorKind::ConnectionReset,
        Failure::ProtocolViolation(_) => ErrorKind::InvalidData,
        Failure::Aborted => ErrorKind::ConnectionAborted,
        Failure::OutOfResource => ErrorKind::OutOfMemory,
    }
}

impl SessionError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            SessionError::Untrusted(_) => ErrorKind::PermissionDenied,
            SessionError::NoAnswer | SessionError::TimedOut { .. } => ErrorKind::TimedOut,
            SessionError::NoListener => ErrorKind::ConnectionRefused,
            SessionError::Broken(_) => ErrorKind::InvalidData,
        }
    }
}

impl ConnectError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            ConnectError::Refused { .. } | ConnectError::NoListener { .. } => {
                ErrorKind::ConnectionRefused
            }
            ConnectError::Untrusted { .. } | ConnectError::NotAccepted { .. } => {
                ErrorKind::PermissionDenied
            }
            ConnectError::NoAnswer { .. }
            | ConnectError::HandshakeTimeout { .. }
            | ConnectError::TimedOut { .. } => ErrorKind::TimedOut,
            ConnectError::Handshake { .. } => ErrorKind::InvalidData,
            ConnectError::Lookup { .. } => ErrorKind::NotFound,
            ConnectError::Exists(_) => ErrorKind::AlreadyExists,
            ConnectError::TooMany => ErrorKind::QuotaExceeded,
            ConnectError::NoTrust { .. }
            | ConnectError::NotSecure { .. }
            | ConnectError::ChecksumNeeded
            | ConnectError::NotOpenedHere
            | ConnectError::NotLookedUp { .. }
            | ConnectError::NoAddress
            | ConnectError::Policy(_)
            | ConnectError::ZeroPort => ErrorKind::InvalidInput,
            ConnectError::Bind(error) => error.kind(),
            ConnectError::Ended(error) => error.kind(),
        }
    }
}

impl SendError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            SendError::NoSuchStream { .. } | SendError::Empty | SendError::TooLarge { .. } => {
                ErrorKind::InvalidInput
            }
            SendError::ShuttingDown => ErrorKind::BrokenPipe,
            SendError::Ended(AssociationError::Closed) => ErrorKind::BrokenPipe,
            SendError::Ended(error) => error.kind(),
        }
    }
}

impl TrySendError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            TrySendError::Full => ErrorKind::WouldBlock,
            TrySendError::Send(error) => error.kind(),
        }
    }
}

impl EndpointError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            EndpointError::NotListening => ErrorKind::InvalidInput,
            EndpointError::Closed => ErrorKind::NotConnected,
            EndpointError::Socket(_) => ErrorKind::Other,
        }
    }
}

impl AddressError {
    /// Kind of the error among those of [`std::io::Error`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            AddressError::NoSocket(_) => ErrorKind::AddrNotAvailable,
            AddressError::Refused(_) => ErrorKind::InvalidInput,
        }
    }
}

/// `From` of each error for [`std::io::Error`], with the error inside.
macro_rules! io_errors {
    ($($error:ty),+) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::new(error.kind(), error)
            }
        }
    )+};
}

io_errors!(
    AssociationError,
    SessionError,
    ConnectError,
    SendError,
    TrySendError,
    EndpointError,
    AddressError
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_library_is_one_of_io_and_can_be_had_back() {
        fn run() -> std::io::Result<()> {
            Err(SendError::Ended(AssociationError::Failed(Failure::Forgotten)))?
        }
        let error = run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let inner: &SendError = error.get_ref().unwrap().downcast_ref().unwrap();
        assert!(matches!(inner, SendError::Ended(_)));
        assert_eq!(Error::from(TrySendError::Full).kind(), ErrorKind::WouldBlock);
        let shut = SendError::Ended(AssociationError::Closed);
        assert_eq!(Error::from(shut).kind(), ErrorKind::BrokenPipe);
        let untrusted = SessionError::NoListener;
        assert_eq!(Error::from(untrusted).kind(), ErrorKind::ConnectionRefused);
    }
}
