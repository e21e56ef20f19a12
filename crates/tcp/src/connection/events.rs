//! Pending events: each at most once, so that a set suffices.

use crate::event::{Event, Failure, ListenerId, SoftError};

/// Events that are due to the application, in a few bytes for each connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    kinds: u8,
    listener: Option<ListenerId>,
    failure: Option<Failure>,
}

const ESTABLISHED: u8 = 1;
const URGENT: u8 = 1 << 1;
const READABLE: u8 = 1 << 2;
const WRITABLE: u8 = 1 << 3;
const NO_LISTENER: u8 = 1 << 4;
const UNREACHABLE: u8 = 1 << 5;
const RETRANSMISSIONS: u8 = 1 << 6;
const CLOSED: u8 = 1 << 7;

impl Pending {
    /// Marks an event as pending; of several failures or listeners the last one counts.
    pub(super) fn add(&mut self, event: Event) {
        match event {
            Event::Established => self.kinds |= ESTABLISHED,
            Event::Incoming { listener } => self.listener = Some(listener),
            Event::Urgent => self.kinds |= URGENT,
            Event::Readable => self.kinds |= READABLE,
            Event::Writable => self.kinds |= WRITABLE,
            Event::SoftError(SoftError::NoListener) => self.kinds |= NO_LISTENER,
            Event::SoftError(SoftError::Unreachable) => self.kinds |= UNREACHABLE,
            Event::SoftError(SoftError::Retransmissions) => self.kinds |= RETRANSMISSIONS,
            Event::Closed => self.kinds |= CLOSED,
            Event::Failed(failure) => self.failure = Some(failure),
        }
    }

    /// Removes and returns the next event, in the order useful to an application.
    pub(super) fn pop(&mut self) -> Option<Event> {
        if let Some(listener) = self.listener.take() {
            return Some(Event::Incoming { listener });
        }
        let lowest = self.kinds & self.kinds.wrapping_neg();
        self.kinds &= !lowest;
        match lowest {
            ESTABLISHED => Some(Event::Established),
            URGENT => Some(Event::Urgent),
            READABLE => Some(Event::Readable),
            WRITABLE => Some(Event::Writable),
            NO_LISTENER => Some(Event::SoftError(SoftError::NoListener)),
            UNREACHABLE => Some(Event::SoftError(SoftError::Unreachable)),
            RETRANSMISSIONS => Some(Event::SoftError(SoftError::Retransmissions)),
            CLOSED => Some(Event::Closed),
            _ => self.failure.take().map(Event::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_once_and_in_their_order() {
        let mut pending = Pending::default();
        let failed = Event::Failed(Failure::Reset);
        let soft = [SoftError::Retransmissions, SoftError::Unreachable, SoftError::NoListener]
            .map(Event::SoftError);
        for event in [failed, Event::Readable, Event::Established, Event::Readable, Event::Closed] {
            pending.add(event);
        }
        soft.into_iter().for_each(|event| pending.add(event));
        let order = core::iter::from_fn(|| pending.pop()).collect::<Vec<_>>();
        let [retransmissions, unreachable, no_listener] = soft;
        let expected = [
            Event::Established,
            Event::Readable,
            no_listener,
            unreachable,
            retransmissions,
            Event::Closed,
            failed,
        ];
        assert_eq!(order, expected);
    }
}
