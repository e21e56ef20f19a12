//! SCTP stacks side by side: the same traffic through each, both ends in one thread, in memory.

#![allow(dead_code, reason = "uses a part of thinstream's own harness")]

mod dcsctp;
mod sctp_proto;
mod thinstream;

pub use self::dcsctp::DcSctp;
pub use self::sctp_proto::SctpProto;
pub use self::thinstream::Thinstream;

use std::collections::BTreeSet;

/// Bytes that the application keeps on their way.
const OUTSTANDING: u64 = 2 << 20;

/// Span of virtual time in nanoseconds.
pub type Nanos = u64;

const MILLISECOND: Nanos = 1_000_000;

/// Two ends of a stack, or of many associations of it, and the datagrams between them.
pub trait Stack {
    /// The stack's name in the table.
    const NAME: &'static str;

    /// Sets up a client and a server with `count` associations between them.
    fn new(count: usize) -> Self;
    /// The client sends a message on an association; false if the stack refuses.
    fn send(&mut self, association: usize, message: &bytes::Bytes) -> bool;
    /// Hands over datagrams until there is none.
    fn exchange(&mut self);
    /// Lets time pass, with all timers due in it.
    fn advance(&mut self, span: Nanos);
    /// Messages and bytes that the server's application took.
    fn received(&self) -> (u64, u64);
}

/// Carries `total` bytes on the first association in messages of `size`.
pub fn transfer<S: Stack>(stack: &mut S, size: usize, total: u64) {
    let message = bytes::Bytes::from(vec![7; size]);
    let (mut sent, start) = (0, stack.received().1);
    while stack.received().1 - start < total {
        let received = stack.received().1 - start;
        while sent < total && sent + size as u64 <= received + OUTSTANDING {
            if !stack.send(0, &message) {
                break;
            }
            sent += size as u64;
        }
        stack.exchange();
        stack.advance(MILLISECOND);
    }
}

/// Each of `count` associations sends `rounds` messages of 100 bytes, one each 250 ms.
pub fn thin_rounds<S: Stack>(stack: &mut S, count: usize, rounds: usize) {
    let message = bytes::Bytes::from(vec![7; 100]);
    let step = 250 * MILLISECOND / count as u64;
    for _ in 0..rounds {
        for association in 0..count {
            stack.advance(step);
            stack.send(association, &message);
            stack.exchange();
        }
    }
}

/// Deadlines of stacks that bring none for many associations.
#[derive(Default)]
pub(crate) struct Deadlines {
    queue: BTreeSet<(Nanos, usize)>,
    rows: Vec<Option<Nanos>>,
}

impl Deadlines {
    pub(crate) fn set(&mut self, row: usize, due: Option<Nanos>) {
        if row >= self.rows.len() {
            self.rows.resize(row + 1, None);
        }
        if self.rows[row] == due {
            return;
        }
        if let Some(before) = std::mem::replace(&mut self.rows[row], due) {
            self.queue.remove(&(before, row));
        }
        if let Some(due) = due {
            self.queue.insert((due, row));
        }
    }

    pub(crate) fn pop(&mut self, until: Nanos) -> Option<(Nanos, usize)> {
        let (due, row) = *self.queue.first().filter(|(due, _)| *due <= until)?;
        self.set(row, None);
        Some((due, row))
    }
}
