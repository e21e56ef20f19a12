//! Messages that the application passes in parts (explicit end of record: RFC 6458, section
//! 8.1.26).

use base::Instant;
use bytes::Bytes;

use super::open::{DropOpen, Open};
use super::{Queued, Rare, SendQueue};
use crate::tx::message::{MessageKey, Progress};
use crate::tx::send_options::{AbandonReason, Abandoned, SendError, SendOptions};
use crate::wire::ids::{Ppid, StreamId};

#[inline(never)]
fn has_open_message(rare: &Rare) -> bool {
    rare.open.values().any(|open| matches!(open, Open::Message(_)))
}

impl SendQueue {
    /// Accepts a part of a message; `ppid` and `options` are those of its first part.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. The last part needs at least one byte, which carries the end.
    pub(crate) fn push_part(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        options: SendOptions,
        payload: Bytes,
        end_of_record: bool,
    ) -> Result<(), SendError> {
        self.check(stream, &payload)?;
        let open = self.rare.as_ref().and_then(|rare| rare.open.get(&stream).copied());
        let id = match open {
            None if end_of_record => return self.push(now, stream, ppid, options, payload),
            None => {
                let id = self.next_id;
                self.rare().open.insert(stream, Open::Message(id));
                let progress = Some(Progress::open(options.key));
                let (rest, options) = (payload, options.into());
                let queued_at = now;
                self.enqueue(Queued { id, stream, ppid, options, queued_at, rest, progress });
                return Ok(());
            }
            Some(Open::Message(id)) => id,
            Some(Open::Dropped) => {
                if end_of_record {
                    self.rare().open.remove(&stream);
                    self.forget_rare();
                }
                return Err(SendError::Abandoned);
            }
        };
        let length = payload.len();
        if let Some(message) = self.find(stream, id) {
            message.extend(payload, end_of_record);
            self.buffered += length;
        }
        if end_of_record {
            self.rare().open.remove(&stream);
        }
        let values = self.rare.as_ref().map(|rare| &rare.values);
        self.backlog.on_extended(stream, values);
        self.forget_rare();
        Ok(())
    }

    /// Whether there are messages without their last part.
    pub(crate) fn has_open(&self) -> bool {
        self.rare.as_deref().is_some_and(has_open_message)
    }

    /// Abandons the open message of `stream`.
    pub(crate) fn drop_open(&mut self, stream: StreamId) -> DropOpen {
        let Some(open) = self.rare.as_ref().and_then(|rare| rare.open.get(&stream).copied()) else {
            return DropOpen::None;
        };
        if let Open::Message(id) = open {
            let Some(message) = self.find(stream, id) else { return DropOpen::None };
            let unordered = message.options.unordered;
            if let Some(mid) = message.mid() {
                return DropOpen::Begun(MessageKey { stream, unordered, mid });
            }
        }
        let Open::Message(id) = open else {
            self.close_open(stream);
            return DropOpen::Gone;
        };
        let dropped = self.remove(stream, id).map(|message| Abandoned {
            stream,
            context: message.options.context,
            reason: AbandonReason::Application,
            sent: false,
        });
        self.close_open(stream);
        dropped.map_or(DropOpen::None, DropOpen::Dropped)
    }

    /// The streams with messages without their last part.
    pub(crate) fn open_streams(&self) -> Vec<StreamId> {
        let message = |(_, open): &(&StreamId, &Open)| matches!(open, Open::Message(_));
        let open = self.rare.iter().flat_map(|rare| rare.open.iter());
        open.filter(message).map(|(stream, _)| *stream).collect()
    }

    /// Ends the open message of `stream`, of which no part will follow.
    pub(crate) fn close_open(&mut self, stream: StreamId) {
        self.rare().open.remove(&stream);
        self.forget_rare();
    }

    /// Records that the application has yet to end a message that was dropped.
    pub(super) fn close_dropped(&mut self, message: &Queued) {
        if message.is_open() {
            self.rare().open.insert(message.stream, Open::Dropped);
        }
    }

    fn find(&mut self, stream: StreamId, id: u64) -> Option<&mut Queued> {
        self.backlog.get_mut(stream, id)
    }
}
