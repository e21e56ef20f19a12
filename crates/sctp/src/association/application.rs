//! Events and notifications for the application.

use super::stats::LeftBehind;
use crate::event::{Event, Events};

/// The application's side of an association.
#[derive(Debug, Default)]
pub(super) struct Application {
    events: Events,
    /// Whether [`Event::Readable`] was announced and the application has not read everything
    /// since.
    readable_announced: bool,
    /// Whether the send buffer was found full, so that room must be announced.
    wants_writable: bool,
    /// Whether the application was refused for lack of memory and not notified since.
    wants_memory: bool,
    /// Messages that had not arrived when the association failed.
    left_behind: Option<Box<LeftBehind>>,
}

impl Application {
    /// Events that the application has not fetched yet.
    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// Whether an event waits for the application.
    #[inline]
    pub(super) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Received data can be read.
    pub(super) fn on_readable(&mut self) {
        if !core::mem::replace(&mut self.readable_announced, true) {
            self.events.announce(Event::Readable);
        }
    }

    /// The application has read everything.
    pub(super) fn on_all_read(&mut self) {
        self.readable_announced = false;
    }

    /// The application could not send because the buffer was full.
    pub(super) fn want_writable(&mut self) {
        self.wants_writable = true;
    }

    /// Whether room in the send buffer must be announced.
    pub(super) fn wants_writable(&self) -> bool {
        self.wants_writable
    }

    /// The send buffer has room again.
    pub(super) fn on_writable(&mut self) {
        self.wants_writable = false;
        self.events.announce(Event::Writable);
    }

    /// The application could not send for lack of memory.
    pub(super) fn want_memory(&mut self) {
        self.wants_memory = true;
    }

    /// Whether the application was refused for lack of memory and not notified since.
    pub(super) fn waits_for_memory(&self) -> bool {
        self.wants_memory
    }

    /// Memory is free again: notifies an application that was refused for lack of it.
    pub(super) fn announce_memory(&mut self) {
        if core::mem::take(&mut self.wants_memory) {
            self.events.announce(Event::Writable);
        }
    }

    /// Records the messages that had not arrived when the association failed.
    pub(super) fn set_left_behind(&mut self, left_behind: LeftBehind) {
        self.left_behind = Some(Box::new(left_behind));
    }

    /// Messages that had not arrived when the association failed; zero before.
    pub(super) fn left_behind(&self) -> LeftBehind {
        self.left_behind.as_deref().copied().unwrap_or_default()
    }
}
