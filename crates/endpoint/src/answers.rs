//! Answers that belong to no member: to unknown hosts, and about ended members. Each is kept as the
//! bytes of a packet until the driver fetches it.

use std::collections::VecDeque;

use base::{Origin, Transmit};

use crate::footprint::ALLOCATION;

/// Bytes of answers that an endpoint keeps, including the cost of keeping them: enough to answer a
/// burst of 10,000 unknown hosts in full, even if the driver fetches packets late.
pub const BUDGET: usize = 8 << 20;

/// Half of the entries for which a shrinking queue keeps room.
const KEPT: usize = 256;

/// Room for a packet while it is written: most answers are shorter.
const USUAL: usize = 512;

/// Bytes that an answer takes in addition to its packet: an entry in the queue, which may be half
/// empty, and its allocation.
const ENTRY: usize = 2 * size_of::<Answer>() + ALLOCATION;

/// A packet that waits to be sent.
#[derive(Debug)]
pub struct Answer {
    transmit: Transmit,
    /// The only host that may receive the packet, if known.
    origin: Option<Origin>,
    packet: Box<[u8]>,
}

impl Answer {
    /// The only host that may receive the packet, if a layer below authenticates hosts.
    pub fn origin(&self) -> Option<Origin> {
        self.origin
    }

    /// Appends the packet to `buffer`.
    pub fn emit(self, buffer: &mut Vec<u8>) -> Transmit {
        buffer.extend_from_slice(&self.packet);
        self.transmit
    }
}

/// Packets that wait to be sent, within a budget, since unknown hosts cause most of them.
#[derive(Debug)]
pub struct Answers {
    waiting: VecDeque<Answer>,
    /// Bytes that may wait, and that do wait, including the cost of keeping them.
    budget: usize,
    held: usize,
}

impl Answers {
    /// A queue for answers of up to `budget` bytes, including the cost of keeping them.
    pub fn new(budget: usize) -> Answers {
        Answers { waiting: VecDeque::new(), budget, held: 0 }
    }

    /// Whether an answer of this many bytes would be kept.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        self.held + bytes + ENTRY <= self.budget
    }

    /// Queues the packet that `emit` appends to a buffer. False if there is no room: the packet is
    /// dropped, and the caller counts it.
    #[must_use]
    pub fn push(&mut self, emit: impl FnOnce(&mut Vec<u8>) -> Transmit) -> bool {
        self.push_for(None, emit)
    }

    /// [`Answers::push`] for datagrams to the host `origin` alone.
    #[must_use]
    pub fn push_for(
        &mut self,
        origin: Option<Origin>,
        emit: impl FnOnce(&mut Vec<u8>) -> Transmit,
    ) -> bool {
        let mut packet = Vec::with_capacity(USUAL);
        let transmit = emit(&mut packet);
        let has_room = self.has_room_for(packet.len());
        if has_room {
            self.held += packet.len() + ENTRY;
            let packet = packet.into_boxed_slice();
            if self.waiting.is_empty() {
                // Most endpoints never have two at a time.
                self.waiting.reserve_exact(1);
            }
            self.waiting.push_back(Answer { transmit, origin, packet });
        }
        has_room
    }

    /// Removes and returns the answer that has waited longest.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Answer> {
        if self.waiting.is_empty() { None } else { self.take_first() }
    }

    #[cold]
    fn take_first(&mut self) -> Option<Answer> {
        let answer = self.waiting.pop_front()?;
        self.held -= answer.packet.len() + ENTRY;
        let capacity = self.waiting.capacity();
        if capacity > 2 * KEPT && self.waiting.len() < capacity / 4 {
            self.waiting.shrink_to(capacity / 2);
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use base::{Ecn, IpService};

    use super::*;

    fn push(answers: &mut Answers, packet: &[u8]) -> bool {
        answers.push(|buffer| {
            buffer.extend_from_slice(packet);
            Transmit {
                local: None,
                remote: ([192, 0, 2, 1], 9).into(),
                ecn: Ecn::NotEct,
                dont_fragment: false,
                service: IpService::default(),
                size: packet.len(),
            }
        })
    }

    #[test]
    fn answers_leave_as_they_came_behind_what_the_buffer_holds() {
        let mut answers = Answers::new(10_000);
        assert!(push(&mut answers, b"first") && push(&mut answers, b"next"));
        let mut buffer = b"before ".to_vec();
        let mut sizes = Vec::new();
        while let Some(answer) = answers.pop_front() {
            sizes.push(answer.emit(&mut buffer).size);
        }
        assert_eq!((buffer.as_slice(), sizes.as_slice()), (&b"before firstnext"[..], &[5, 4][..]));
    }

    #[test]
    fn answers_beyond_the_budget_are_dropped_and_those_that_wait_stay() {
        let mut answers = Answers::new(3 * (100 + ENTRY));
        assert!(answers.has_room_for(100));
        let kept = (0..5u8).filter(|number| push(&mut answers, &[*number; 100])).count();
        assert_eq!((kept, answers.has_room_for(0)), (3, false));
        let mut buffer = Vec::new();
        answers.pop_front().unwrap().emit(&mut buffer);
        assert_eq!((buffer[0], answers.has_room_for(101)), (0, false));
        assert!(push(&mut answers, &[9; 100]), "as large as the one that left");
    }

    #[test]
    fn a_burst_leaves_no_memory_behind() {
        let mut answers = Answers::new(BUDGET);
        assert!((0..10_000).all(|_| push(&mut answers, &[0; 20])));
        while answers.pop_front().is_some() {}
        assert!(answers.held == 0 && answers.waiting.capacity() <= 2 * KEPT);
    }
}
