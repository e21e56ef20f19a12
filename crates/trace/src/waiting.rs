//! Packets in the order in which they were sent, until it is known how long their acknowledgement
//! took.

use std::collections::{BTreeSet, VecDeque};

use base::Duration;

use crate::observer::{DataAcknowledged, PacketSent, StreamId};

/// Packets that are held back until they are acknowledged; beyond them the oldest goes without its
/// latency.
const MOST_HELD: usize = 1 << 16;

/// A packet that was sent, and is to be acknowledged.
#[derive(Debug)]
struct Held<T> {
    item: T,
    /// The connection of the packet, and when it was sent.
    key: (StreamId, Duration),
    /// New bytes in it that are not acknowledged.
    missing: u32,
    latency: Option<Duration>,
}

/// Packets that wait until their fate is known, each with a value.
#[derive(Debug)]
pub struct Waiting<T> {
    held: VecDeque<Held<T>>,
    /// Number of the oldest packet that is held.
    first: u64,
    /// Packets that wait for an acknowledgement, by stream and time of sending.
    by_time: BTreeSet<(StreamId, Duration, u64)>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Waiting<T> {
        Waiting { held: VecDeque::new(), first: 0, by_time: BTreeSet::new() }
    }
}

impl<T> Waiting<T> {
    /// Adds a packet, the last that was sent.
    pub fn push(&mut self, packet: &PacketSent, item: T) {
        let number = self.first + self.held.len() as u64;
        if packet.new > 0 {
            self.by_time.insert((packet.stream, packet.at, number));
        }
        let key = (packet.stream, packet.at);
        self.held.push_back(Held { item, key, missing: packet.new, latency: None });
    }

    /// Notes that bytes of a packet were acknowledged: those of the first, if several were sent at
    /// that time.
    pub fn acknowledge(&mut self, data: &DataAcknowledged) {
        let mut bytes = data.bytes;
        while bytes > 0 {
            let same = (data.stream, data.sent, 0)..=(data.stream, data.sent, u64::MAX);
            let Some(key) = self.by_time.range(same).next().copied() else { return };
            let place = usize::try_from(key.2 - self.first).unwrap_or(usize::MAX);
            let Some(held) = self.held.get_mut(place) else { return };
            let here = bytes.min(held.missing);
            (held.missing, bytes) = (held.missing - here, bytes - here);
            held.latency = Some(data.latency);
            if held.missing == 0 {
                self.by_time.remove(&key);
            } else {
                return;
            }
        }
    }

    /// The next packet whose fate is known, or the next of all if it `must` be, with the time from
    /// its sending until all that was new in it was acknowledged; `None` as long as it is not.
    pub fn pop(&mut self, must: bool) -> Option<(T, Option<Duration>)> {
        if !must && self.held.front()?.missing > 0 && self.held.len() < MOST_HELD {
            return None;
        }
        let held = self.held.pop_front()?;
        if held.missing > 0 {
            self.by_time.remove(&(held.key.0, held.key.1, self.first));
        }
        self.first += 1;
        Some((held.item, held.latency.filter(|_| held.missing == 0)))
    }
}
