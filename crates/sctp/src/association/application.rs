//! What the application is told, and what it waits for.

use super::stats::LeftBehind;
use crate::event::{Event, Events};

/// The application's side of an association.
#[derive(Debug, Default)]
pub(super) struct Application {
    events: Events,
    /// [`Event::Readable`] was announced, and the application has not read all since.
    readable_announced: bool,
    /// The send buffer was found full; the next room is an event.
    wants_writable: bool,
    /// Messages that had not arrived when the association failed.
    left_behind: Option<Box<LeftBehind>>,
}

impl Application {
    /// Events that the application was not told yet.
    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// There is something to read.
    pub(super) fn on_readable(&mut self) {
        if !core::mem::replace(&mut self.readable_announced, true) {
            self.events.announce(Event::Readable);
        }
    }

    /// The application found nothing more to read.
    pub(super) fn on_all_read(&mut self) {
        self.readable_announced = false;
    }

    /// The application could not send for want of room.
    pub(super) fn want_writable(&mut self) {
        self.wants_writable = true;
    }

    /// Whether the application waits for room.
    pub(super) fn wants_writable(&self) -> bool {
        self.wants_writable
    }

    /// There is room again.
    pub(super) fn on_writable(&mut self) {
        self.wants_writable = false;
        self.events.announce(Event::Writable);
    }

    /// The association failed.
    pub(super) fn set_left_behind(&mut self, left_behind: LeftBehind) {
        self.left_behind = Some(Box::new(left_behind));
    }

    /// Messages that had not arrived when the association failed; none before.
    pub(super) fn left_behind(&self) -> LeftBehind {
        self.left_behind.as_deref().copied().unwrap_or_default()
    }
}
