//! Reasons for which a message was not sent.

use crate::error::{SendError, TrySendError};
use crate::node::Phase;

/// The application's error for an error of the machine, with the association in this phase.
pub(super) fn send_error(error: sctp::SendError, phase: impl FnOnce() -> Phase) -> TrySendError {
    match error {
        sctp::SendError::BufferFull => TrySendError::Full,
        // Only messages sent in parts or with a key of their own meet these, and here are none.
        sctp::SendError::MessageOpen
        | sctp::SendError::Abandoned
        | sctp::SendError::NoSuchKey(_) => TrySendError::Full,
        sctp::SendError::Empty => SendError::Empty.into(),
        sctp::SendError::NoSuchStream { stream, streams } => {
            SendError::NoSuchStream { stream, streams }.into()
        }
        sctp::SendError::TooLarge { length, maximum } => {
            SendError::TooLarge { length, maximum }.into()
        }
        sctp::SendError::Closed => match phase() {
            Phase::Ended(error) => SendError::Ended(*error).into(),
            _ => SendError::ShuttingDown.into(),
        },
    }
}
