//! Messages that wait for a reset of their stream: their acceptance, expiry, eviction and release.

use base::{Duration, Instant};

use super::held::Message;
use super::{Action, Context, Reconfiguration};
use crate::tx::send_options::Abandoned;
use crate::tx::sender::Sender;
use crate::wire::KeyId;

impl Reconfiguration {
    /// Holds a message whose stream must be reset first.
    pub(crate) fn hold(&mut self, message: Message) {
        self.held.hold(message);
    }

    /// Whether a held message uses this key.
    pub(crate) fn names_key(&self, key: KeyId) -> bool {
        self.held.names_key(key)
    }

    /// Records that a part of a message was refused because it would have had to be held, which is
    /// not possible for parts: the application is notified when another attempt may succeed.
    pub(crate) fn note_refused_part(&mut self) {
        self.part_waits = true;
    }

    /// Abandons held messages that have expired.
    pub(crate) fn expire(&mut self, now: Instant, tx: &mut Sender) {
        while let Some(abandoned) = self.held.expire(now) {
            // A reset may have waited for it.
            self.release_due = true;
            tx.note_abandoned(abandoned);
        }
    }

    /// Bytes of held messages that are less important than `priority`, counted up to `enough`.
    pub(crate) fn evictable(&self, priority: u32, enough: usize) -> usize {
        self.held.evictable(priority, enough)
    }

    /// Abandons the least important held message, if it is less important than `priority`.
    pub(crate) fn evict(&mut self, priority: u32) -> Option<Abandoned> {
        let abandoned = self.held.evict(priority)?;
        self.release_due = true;
        Some(abandoned)
    }

    /// Sets the longest wait of messages.
    pub(crate) fn set_max_queueing_delay(&mut self, delay: Option<Duration>) {
        self.held.set_max_queueing_delay(delay);
    }

    /// Number of messages that are held until their streams are reset.
    pub(crate) fn held_messages(&self) -> u64 {
        self.held.messages()
    }

    /// Payload bytes of messages that are held until their streams are reset.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.bytes()
    }

    /// Queues the messages that need not be held any more, in order, and requests the resets after
    /// them.
    pub(super) fn release_held(&mut self, context: &mut Context<'_>) {
        if !core::mem::take(&mut self.release_due) {
            return;
        }
        if core::mem::take(&mut self.part_waits) {
            // A refused part may be accepted now.
            context.actions.push(Action::Writable);
        }
        if self.held.is_empty() {
            return;
        }
        let hold_all = self.answers.hold();
        for message in self.held.release(&mut self.requests, hold_all) {
            let Message { queued_at, stream, ppid, options, payload, .. } = message;
            let queue = context.tx.queue_mut();
            let queued = queue.push(queued_at, stream, ppid, options, payload);
            debug_assert!(queued.is_ok(), "it was checked when it was accepted: {queued:?}");
        }
    }
}
