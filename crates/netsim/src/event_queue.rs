//! What happens next: the pending instant of each link and host, in a total order.
//!
//! Each source has at most one pending instant, which may move to and fro, so nothing stale is ever
//! in the queue and its memory is that of the sources, however long the run. The order is that of
//! time; at the same time packets come before timers, then lower numbers before higher. (Packets of
//! one link keep their order in the link.)

#[cfg(test)]
mod tests;

use base::Instant;

/// Who waits for an instant; the order is that of events at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The arrival of a packet at the end of link number n.
    Link(u32),
    /// A timer of host number n.
    Host(u32),
}

impl Source {
    const CLASSES: usize = 2;

    fn class(self) -> usize {
        match self {
            Source::Link(_) => 0,
            Source::Host(_) => 1,
        }
    }

    fn number(self) -> usize {
        match self {
            Source::Link(number) | Source::Host(number) => number as usize,
        }
    }
}

/// The pending instants: a heap of four children per node that knows where each source stands.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: Vec<(Instant, Source)>,
    /// Place in the heap per class and number; `ABSENT` for none.
    places: [Vec<u32>; Source::CLASSES],
    now: Instant,
}

const ABSENT: u32 = u32::MAX;
const CHILDREN: usize = 4;

impl EventQueue {
    /// The time of the latest event taken; it never goes back.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Sets the pending instant of `source`, in the place of what it was; none removes it. An
    /// instant in the past becomes now.
    pub fn set(&mut self, source: Source, at: Option<Instant>) {
        match (at.map(|at| at.max(self.now)), self.place(source)) {
            (None, None) => {}
            (None, Some(place)) => self.remove(place),
            (Some(at), None) => {
                let place = self.heap.len();
                self.heap.push((at, source));
                self.lift(place);
            }
            (Some(at), Some(place)) => {
                let before = self.heap[place].0;
                self.heap[place].0 = at;
                if at < before {
                    self.lift(place);
                } else if at > before {
                    self.sink(place);
                }
            }
        }
    }

    /// The next event.
    pub fn peek(&self) -> Option<(Instant, Source)> {
        self.heap.first().copied()
    }

    /// Takes the next event if it happens at `limit` or before, and moves time to it.
    pub fn pop(&mut self, limit: Instant) -> Option<(Instant, Source)> {
        let first = self.peek().filter(|(at, _)| *at <= limit)?;
        debug_assert!(first.0 >= self.now, "time went back from {:?} to {:?}", self.now, first.0);
        self.now = first.0;
        self.remove(0);
        Some(first)
    }

    /// Moves time on to `to` if nothing is pending before; what is pending is never jumped over.
    pub fn advance(&mut self, to: Instant) {
        let limit = self.peek().map_or(to, |(at, _)| at.min(to));
        self.now = self.now.max(limit);
    }

    /// Number of sources with a pending instant.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    fn place(&self, source: Source) -> Option<usize> {
        let place = self.places[source.class()].get(source.number())?;
        (*place != ABSENT).then_some(*place as usize)
    }

    fn set_place(&mut self, source: Source, place: u32) {
        let places = &mut self.places[source.class()];
        if places.len() <= source.number() {
            places.resize(source.number() + 1, ABSENT);
        }
        places[source.number()] = place;
    }

    fn remove(&mut self, place: usize) {
        let (before, source) = self.heap.swap_remove(place);
        self.set_place(source, ABSENT);
        if let Some(moved) = self.heap.get(place).copied() {
            if moved < (before, source) {
                self.lift(place);
            } else {
                self.sink(place);
            }
        }
    }

    /// Moves the entry at `place` up to where it belongs, and notes its place.
    fn lift(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves the entry at `place` down to where it belongs, and notes its place.
    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child]) else { break };
            if self.heap[least] >= entry {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (Instant, Source)) {
        self.heap[place] = entry;
        self.set_place(entry.1, place as u32);
    }
}
