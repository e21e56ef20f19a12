//! Checkers of a run: they observe every packet and report faults.

use core::cell::RefCell;
use core::fmt;
use std::collections::BTreeMap;
use std::rc::Rc;

use base::Instant;
use bytes::Bytes;

pub use crate::link::DropCause;
pub use crate::packet::{HostId, Packet};

/// An observer of every packet of a simulation. Every method has an empty default.
///
/// A tuple or a `Vec` combines several checkers; `Option` makes one optional.
pub trait Checker {
    /// A host has sent `packet` at `now`.
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let _ = (now, packet);
    }

    /// A link has made another copy of packet `number`.
    fn on_duplicated(&mut self, now: Instant, number: u64) {
        let _ = (now, number);
    }

    /// A copy of `packet` will not arrive. Called at the time of the decision: when the packet is
    /// offered to the link that loses it, or, with CoDel, when it is dequeued.
    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        let _ = (now, packet, cause);
    }

    /// `packet` is about to be delivered to host `receiver`.
    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        let _ = (now, packet, receiver);
    }

    /// The verdict so far.
    ///
    /// # Errors
    /// The first fault.
    fn verdict(&self, end: &RunEnd) -> Result<(), Violation> {
        let _ = end;
        Ok(())
    }
}

/// State of the simulation at the time of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Virtual time of the verdict.
    pub now: Instant,
    /// Copies of packets on the links.
    pub in_transit: u64,
}

/// A fault that a checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the checker that found it.
    pub checker: &'static str,
    /// Time at which the fault was found, in virtual time.
    pub at: Instant,
    /// Description of the fault, a sentence.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.checker, self.at, self.what)
    }
}

impl std::error::Error for Violation {}

/// No checker: every run passes.
impl Checker for () {}

macro_rules! forward_to_parts {
    (<$($part:ident),*> $type:ty, |$self:ident| $parts:expr) => {
        impl<$($part: Checker),*> Checker for $type {
            fn on_sent(&mut self, now: Instant, packet: &Packet) {
                let $self = self;
                $parts.for_each(|part| part.on_sent(now, packet));
            }
            fn on_duplicated(&mut self, now: Instant, number: u64) {
                let $self = self;
                $parts.for_each(|part| part.on_duplicated(now, number));
            }
            fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
                let $self = self;
                $parts.for_each(|part| part.on_dropped(now, packet, cause));
            }
            fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
                let $self = self;
                $parts.for_each(|part| part.on_delivered(now, packet, receiver));
            }
            fn verdict(&self, end: &RunEnd) -> Result<(), Violation> {
                self.iter().try_for_each(|part| part.verdict(end))
            }
        }
    };
}

forward_to_parts!(<C> Option<C>, |this| this.iter_mut());
forward_to_parts!(<C> Vec<C>, |this| this.iter_mut());

impl<A: Checker, B: Checker> Checker for (A, B) {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.0.on_sent(now, packet);
        self.1.on_sent(now, packet);
    }
    fn on_duplicated(&mut self, now: Instant, number: u64) {
        self.0.on_duplicated(now, number);
        self.1.on_duplicated(now, number);
    }
    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        self.0.on_dropped(now, packet, cause);
        self.1.on_dropped(now, packet, cause);
    }
    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.0.on_delivered(now, packet, receiver);
        self.1.on_delivered(now, packet, receiver);
    }
    fn verdict(&self, end: &RunEnd) -> Result<(), Violation> {
        self.0.verdict(end).and_then(|()| self.1.verdict(end))
    }
}

impl<C: Checker + ?Sized> Checker for Box<C> {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        (**self).on_sent(now, packet);
    }
    fn on_duplicated(&mut self, now: Instant, number: u64) {
        (**self).on_duplicated(now, number);
    }
    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        (**self).on_dropped(now, packet, cause);
    }
    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        (**self).on_delivered(now, packet, receiver);
    }
    fn verdict(&self, end: &RunEnd) -> Result<(), Violation> {
        (**self).verdict(end)
    }
}

/// A checker shared with its owner.
impl<C: Checker + ?Sized> Checker for Rc<RefCell<C>> {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.borrow_mut().on_sent(now, packet);
    }
    fn on_duplicated(&mut self, now: Instant, number: u64) {
        self.borrow_mut().on_duplicated(now, number);
    }
    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        self.borrow_mut().on_dropped(now, packet, cause);
    }
    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.borrow_mut().on_delivered(now, packet, receiver);
    }
    fn verdict(&self, end: &RunEnd) -> Result<(), Violation> {
        self.borrow().verdict(end)
    }
}

/// Checks the network itself: each copy of a packet is delivered once, unchanged unless marked
/// corrupted, or dropped with a cause, or still in transit; and no packet appears that was not
/// sent.
///
/// Stores only packets in transit.
#[derive(Clone, Debug, Default)]
pub struct Conservation {
    /// Copies in transit, and the packet's payload, by number.
    on_the_way: BTreeMap<u64, (u64, Bytes)>,
    copies: u64,
    violation: Option<Violation>,
}

impl Conservation {
    const NAME: &'static str = "conservation";

    fn report(&mut self, at: Instant, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(|| Violation { checker: Self::NAME, at, what: what() });
    }

    /// Removes a copy of `packet`; returns whether its payload was unchanged.
    fn take(&mut self, packet: &Packet) -> Option<bool> {
        let (copies, payload) = self.on_the_way.get_mut(&packet.number)?;
        let intact = *payload == packet.datagram.payload;
        self.copies -= 1;
        *copies -= 1;
        if *copies == 0 {
            self.on_the_way.remove(&packet.number);
        }
        Some(intact)
    }
}

impl Checker for Conservation {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.copies += 1;
        let entry = (1, packet.datagram.payload.clone());
        if self.on_the_way.insert(packet.number, entry).is_some() {
            self.report(now, || format!("packet {} was sent twice", packet.number));
        }
    }

    fn on_duplicated(&mut self, now: Instant, number: u64) {
        match self.on_the_way.get_mut(&number) {
            Some((copies, _)) => {
                *copies += 1;
                self.copies += 1;
            }
            None => self.report(now, || format!("packet {number} was duplicated but not sent")),
        }
    }

    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        if self.take(packet).is_none() {
            let number = packet.number;
            self.report(now, || format!("packet {number} was dropped ({cause:?}) but not sent"));
        }
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, _receiver: HostId) {
        let number = packet.number;
        match self.take(packet) {
            None => self.report(now, || format!("packet {number} was delivered but not sent")),
            Some(false) if !packet.corrupted => {
                self.report(now, || format!("packet {number} was changed on its way"));
            }
            Some(_) => {}
        }
    }

    fn verdict(&self, end: &RunEnd) -> Result<(), Violation> {
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        if self.copies != end.in_transit {
            let what = format!("{} copies are missing, {} on links", self.copies, end.in_transit);
            return Err(Violation { checker: Self::NAME, at: end.now, what });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::AddressedDatagram;
    use base::Ecn;

    fn packet(number: u64, payload: &'static [u8]) -> Packet {
        let address = "10.0.0.1:1".parse().unwrap();
        let payload = Bytes::from_static(payload);
        Packet {
            number,
            sender: HostId(0),
            sent: Instant::ZERO,
            corrupted: false,
            datagram: AddressedDatagram {
                source: address,
                destination: address,
                ecn: Ecn::NotEct,
                dont_fragment: false,
                payload,
                tail: Bytes::new(),
            },
            route: 0..0,
            receiver: None,
        }
    }

    fn verdict(checker: &Conservation, in_transit: u64) -> String {
        match checker.verdict(&RunEnd { now: Instant::ZERO, in_transit }) {
            Ok(()) => "fine".into(),
            Err(violation) => violation.what,
        }
    }

    #[test]
    fn a_packet_that_vanishes_is_found() {
        let mut checker = Conservation::default();
        checker.on_sent(Instant::ZERO, &packet(0, b"a"));
        assert_eq!(verdict(&checker, 1), "fine");
        assert_eq!(verdict(&checker, 0), "1 copies are missing, 0 on links");
        checker.on_dropped(Instant::ZERO, &packet(0, b"a"), DropCause::Queue);
        assert_eq!(verdict(&checker, 0), "fine");
    }

    #[test]
    fn a_packet_from_nowhere_and_one_delivered_twice_are_found() {
        let mut checker = Conservation::default();
        checker.on_sent(Instant::ZERO, &packet(0, b"a"));
        checker.on_duplicated(Instant::ZERO, 0);
        for _ in 0..2 {
            checker.on_delivered(Instant::ZERO, &packet(0, b"a"), HostId(1));
            assert!(!verdict(&checker, 0).contains("not sent"));
        }
        checker.on_delivered(Instant::ZERO, &packet(0, b"a"), HostId(1));
        assert_eq!(verdict(&checker, 0), "packet 0 was delivered but not sent");
    }

    #[test]
    fn only_a_packet_marked_corrupted_may_change() {
        let mut checker = (Conservation::default(), Some(Conservation::default()));
        checker.on_sent(Instant::ZERO, &packet(0, b"a"));
        checker.on_sent(Instant::ZERO, &packet(1, b"a"));
        let marked = Packet { corrupted: true, ..packet(0, b"b") };
        checker.on_delivered(Instant::ZERO, &marked, HostId(1));
        assert_eq!(verdict(&checker.0, 1), "fine");
        checker.on_delivered(Instant::ZERO, &packet(1, b"b"), HostId(1));
        assert_eq!(verdict(&checker.0, 0), "packet 1 was changed on its way");
        assert_eq!(checker.0.verdict(&RUN_END), checker.verdict(&RUN_END));
    }

    const RUN_END: RunEnd = RunEnd { now: Instant::ZERO, in_transit: 0 };
}
