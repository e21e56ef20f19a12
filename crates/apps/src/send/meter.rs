//! Counters of a client: messages, their answers, and the time between.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use base::Instant;
use lab::Probe;
use results::{LatencyRecorder, LatencySummary};
use thinstream::{Message, StreamId};

use super::source::Outgoing;
use crate::stamp::{self, MEASURED};

/// Messages of the user's own whose answers are awaited; of more the latency is not known.
const AWAITED_MAX: usize = 100_000;

/// Counts of a client, between the task's parts that send and receive.
pub(super) struct Meter {
    same_clock: bool,
    counts: RefCell<Counts>,
}

#[derive(Default)]
struct Counts {
    sent: u64,
    sent_bytes: u64,
    answers: u64,
    damaged: u64,
    round_trip: LatencyRecorder,
    one_way: LatencyRecorder,
    unclocked: u64,
    /// Times at which messages of the user's own were due, by stream and contents: equal ones in
    /// their order.
    awaited: BTreeMap<(StreamId, u64), VecDeque<Instant>>,
    awaited_count: usize,
}

/// Final counts of a client.
pub(super) struct Results {
    pub(super) sent: u64,
    pub(super) sent_bytes: u64,
    pub(super) answers: u64,
    pub(super) damaged: u64,
    pub(super) round_trip: Option<LatencySummary>,
    pub(super) one_way: Option<LatencySummary>,
    pub(super) unclocked: u64,
}

impl Meter {
    pub(super) fn new(same_clock: bool) -> Meter {
        Meter { same_clock, counts: RefCell::default() }
    }

    /// A message is about to be sent.
    pub(super) fn on_sent(&self, stream: StreamId, message: &Outgoing) {
        let counts = &mut *self.counts.borrow_mut();
        counts.sent += 1;
        counts.sent_bytes += message.payload.len() as u64;
        if message.ppid != MEASURED && counts.awaited_count < AWAITED_MAX {
            let key = (stream, digest(&message.payload));
            counts.awaited.entry(key).or_default().push_back(message.due);
            counts.awaited_count += 1;
        }
    }

    /// An answer came at `now`, after 1970.
    pub(super) fn on_answer(&self, now: Instant, message: Message) {
        let counts = &mut *self.counts.borrow_mut();
        counts.answers += 1;
        let (stream, measured) = (message.stream, message.ppid == MEASURED);
        let payload = message.payload.into_bytes();
        if measured {
            counts.on_probe(now, &payload, self.same_clock);
        } else {
            counts.on_echo(now, stream, &payload);
        }
    }

    /// A line on how far it came.
    pub(super) fn progress(&self) -> String {
        let counts = self.counts.borrow();
        let latency = counts.round_trip.summary().map_or(String::new(), |latency| {
            let LatencySummary { p50, p99, max, .. } = latency;
            format!(", round trip p50 {p50:.1} p99 {p99:.1} max {max:.1} ms")
        });
        format!("{} sent, {} back{latency}", counts.sent, counts.answers)
    }

    pub(super) fn results(&self) -> Results {
        let counts = self.counts.borrow();
        Results {
            sent: counts.sent,
            sent_bytes: counts.sent_bytes,
            answers: counts.answers,
            damaged: counts.damaged,
            round_trip: counts.round_trip.summary(),
            one_way: counts.one_way.summary(),
            unclocked: counts.unclocked,
        }
    }
}

impl Counts {
    fn on_probe(&mut self, now: Instant, answer: &[u8], same_clock: bool) {
        let Some((received, Ok(probe))) = stamp::read_answer(answer)
            .map(|(received, message)| (received, Probe::decode(message)))
        else {
            self.damaged += 1;
            return;
        };
        self.round_trip.record(now.since(probe.due));
        match stamp::between(probe.due, received).filter(|_| same_clock) {
            Some(latency) => self.one_way.record(latency),
            None => self.unclocked += 1,
        }
    }

    fn on_echo(&mut self, now: Instant, stream: StreamId, payload: &[u8]) {
        let key = (stream, digest(payload));
        let Some(due) = self.awaited.get_mut(&key).and_then(VecDeque::pop_front) else {
            // Something else than what was sent, unless it was one too many to remember.
            self.damaged += u64::from(self.awaited_count < AWAITED_MAX);
            return;
        };
        if self.awaited.get(&key).is_some_and(VecDeque::is_empty) {
            self.awaited.remove(&key);
        }
        self.awaited_count -= 1;
        self.round_trip.record(now.since(due));
    }
}

/// Tells messages apart; by chance two in 2⁶⁴ not.
fn digest(payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    hasher.finish()
}
