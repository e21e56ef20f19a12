//! The sending side: numbers, and what the receiver may still hold.

use std::collections::VecDeque;

use super::frame::{Frame, PREDECESSORS_MAX, Predecessors};
use super::{After, Limits, MessageNumber, PartialOrderError};

/// A message that the receiver has not reported settled.
#[derive(Debug)]
struct Unsettled {
    size: usize,
    /// Taken when the message is abandoned.
    after: Option<Predecessors>,
}

#[derive(Debug)]
pub(super) struct Sent {
    limits: Limits,
    next: u64,
    /// All below this number is settled, as the receiver said; the first of `unsettled`.
    settled_below: u64,
    unsettled: VecDeque<Unsettled>,
    bytes: usize,
}

impl Sent {
    pub(super) fn new(limits: Limits) -> Sent {
        Sent { limits, next: 0, settled_below: 0, unsettled: VecDeque::new(), bytes: 0 }
    }

    /// The number of the next message.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Messages that the receiver may still hold.
    pub(super) fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// Gives a message of `length` bytes its number, if the window has room for it.
    pub(super) fn number(
        &mut self,
        length: usize,
        after: After<'_>,
    ) -> Result<(u64, Predecessors), PartialOrderError> {
        let after = self.predecessors(after)?;
        let header = Frame::header_len(&after);
        let maximum = self.limits.message.min(self.limits.bytes / 2).saturating_sub(header);
        if length > maximum {
            return Err(PartialOrderError::TooLarge { length, maximum });
        }
        let size = header + length;
        if self.unsettled.len() >= self.limits.messages as usize
            || self.bytes + size > self.limits.bytes
        {
            return Err(PartialOrderError::WindowFull);
        }
        let number = self.next;
        self.next += 1;
        self.bytes += size;
        self.unsettled.push_back(Unsettled { size, after: Some(after.clone()) });
        Ok((number, after))
    }

    /// Predecessors of a message, without those that are settled anyway, in the order of the wire.
    fn predecessors(&self, after: After<'_>) -> Result<Predecessors, PartialOrderError> {
        let named = match after {
            After::Nothing => &[],
            After::These(named) => named,
            After::Everything => return Ok(Predecessors::Everything),
        };
        if let Some(unknown) = named.iter().find(|number| number.0 >= self.next) {
            return Err(PartialOrderError::UnknownPredecessor(*unknown));
        }
        let unsettled = named.iter().map(|number| number.0).filter(|n| *n >= self.settled_below);
        let mut these: smallvec::SmallVec<[u64; 2]> = unsettled.collect();
        these.sort_unstable_by(|one, other| other.cmp(one));
        these.dedup();
        if these.len() > PREDECESSORS_MAX {
            return Err(PartialOrderError::TooManyPredecessors { maximum: PREDECESSORS_MAX });
        }
        Ok(Predecessors::These(these))
    }

    /// Notice to the receiver about a message that will not arrive; `None` if it has the message or
    /// the notice.
    pub(super) fn abandon(&mut self, number: MessageNumber) -> Option<Frame> {
        let index = number.0.checked_sub(self.settled_below)?;
        let sent = self.unsettled.get_mut(usize::try_from(index).ok()?)?;
        let after = sent.after.take()?;
        Some(Frame::Abandoned { number: number.0, after })
    }

    /// The receiver is done with all numbers below this one.
    pub(super) fn on_settled(&mut self, below: u64) -> Result<(), PartialOrderError> {
        if below > self.next {
            return Err(PartialOrderError::SettledBeyondSent);
        }
        while self.settled_below < below {
            let Some(settled) = self.unsettled.pop_front() else { break };
            self.bytes -= settled.size;
            self.settled_below += 1;
        }
        if self.unsettled.is_empty() {
            self.unsettled.shrink_to(1);
        }
        Ok(())
    }

    /// The number itself, if it was given out.
    pub(super) fn is_known(&self, number: MessageNumber) -> bool {
        number.0 < self.next
    }
}
