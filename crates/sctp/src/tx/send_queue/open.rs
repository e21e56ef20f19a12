//! Messages of which the application has yet to pass the last part.

use std::collections::BTreeMap;

use super::super::message::{MessageKey, Queued};
use super::super::send_options::Abandoned;
use crate::wire::ids::StreamId;

/// State of a message that is given in parts and not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// The message is queued or partly sent.
    Message(u64),
    /// The message was abandoned: its remaining parts are refused.
    Dropped,
}

/// Result of abandoning an open message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropOpen {
    /// The stream has no open message.
    None,
    /// The message was abandoned before.
    Gone,
    /// Nothing of it had been sent.
    Dropped(Abandoned),
    /// Part of it was sent: only the peer's consent can end it.
    Begun(MessageKey),
}

/// `message`, which may be open, gets another number.
pub(super) fn rename(open: &mut BTreeMap<StreamId, Open>, message: &Queued, new_id: u64) {
    let is_it = |open: &&mut Open| **open == Open::Message(message.id);
    if let Some(open) = open.get_mut(&message.stream).filter(is_it) {
        *open = Open::Message(new_id);
    }
}
