//! Messages of which something was sent and that may be given up (RFC 3758, section 3.5; RFC 7496, section 3), and those
//! that were. [`giving_up`](super::giving_up) does it.

use core::cmp::Reverse;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ::endpoint::footprint;
use base::Instant;
use recovery::Recovery;
use smallvec::SmallVec;

use super::forward_tsn::Forward;
use super::message::{Fragment, MessageKey};
use super::outstanding::{Outstanding, OutstandingChunk};
use super::send_options::{AbandonReason, Abandoned, Reliability};

/// Messages given up that wait to be told to the application; of more only the number is told.
const UNTOLD_LIMIT: usize = 1024;

/// Messages of which something was sent and that may be given up, and what the peer is told of it.
#[derive(Debug, Default)]
pub(super) struct PartialReliability {
    messages: BTreeMap<MessageKey, PartialMessage>,
    /// Messages that may make room for others: the least important last, the oldest of equals last.
    priorities: BTreeSet<(u32, Reverse<u64>, MessageKey)>,
    pub(super) forward: Forward,
}

/// A message of which something was sent.
#[derive(Debug)]
pub(super) struct PartialMessage {
    /// Units of the message.
    runs: SmallVec<[Range<u64>; 1]>,
    queued_at: Instant,
    reliability: Reliability,
    context: u32,
    /// Whether its last fragment was sent.
    ended: bool,
}

impl PartialMessage {
    /// Why it is to be given up now, when it was sent `transmissions` times.
    fn exhausted(&self, now: Instant, transmissions: u8) -> Option<AbandonReason> {
        match self.reliability {
            Reliability::Lifetime(lifetime) if now >= self.queued_at + lifetime => {
                Some(AbandonReason::Lifetime)
            }
            Reliability::Retransmissions(limit) if u32::from(transmissions) > limit => {
                Some(AbandonReason::Retransmissions)
            }
            _ => None,
        }
    }

    fn first_unit(&self) -> u64 {
        self.runs.first().map_or(0, |run| run.start)
    }

    /// Units of the message, ascending.
    pub(super) fn runs(&self) -> &[Range<u64>] {
        &self.runs
    }

    /// What the application calls the message.
    pub(super) fn context(&self) -> u32 {
        self.context
    }

    /// Whether its last fragment was sent.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}

/// Messages given up, for the application.
#[derive(Clone, Debug, Default)]
pub(super) struct Abandonments {
    untold: VecDeque<Abandoned>,
    /// Messages for which there was no room.
    further: u64,
    counts: AbandonCounts,
}

/// How many messages were given up (SCTP_PR_ASSOC_STATUS of RFC 7496, section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonCounts {
    /// Before anything of them was sent.
    pub unsent: u64,
    /// After something of them was sent.
    pub sent: u64,
}

/// News of messages given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbandonNews {
    /// One message.
    Message(Abandoned),
    /// Number of messages of which nothing more is known.
    Further(u64),
}

impl PartialReliability {
    /// Bytes that it takes from the allocator.
    pub(super) fn memory(&self) -> usize {
        size_of::<PartialReliability>()
            + footprint::of_tree(self.messages.len(), size_of::<(MessageKey, PartialMessage)>())
            + footprint::of_tree(self.priorities.len(), size_of::<(u64, u64, MessageKey)>())
    }

    /// A fragment of a message that may be given up leaves as `unit`.
    pub(super) fn register(&mut self, unit: u64, fragment: &Fragment) {
        let key = fragment.message;
        let message = self.messages.entry(key).or_insert_with(|| PartialMessage {
            runs: SmallVec::new(),
            queued_at: fragment.queued_at,
            reliability: fragment.reliability,
            context: fragment.context,
            ended: false,
        });
        message.ended = fragment.ending;
        match message.runs.last_mut() {
            Some(run) if run.end == unit => run.end += 1,
            _ => message.runs.push(unit..unit + 1),
        }
        let priority = fragment.reliability.priority();
        if fragment.beginning && priority > 0 {
            self.priorities.insert((priority, Reverse(unit), key));
        }
    }

    /// A chunk was acknowledged cumulatively.
    pub(super) fn release(&mut self, chunk: &OutstandingChunk) {
        if chunk.is_partial() && chunk.is_end() {
            self.take(chunk.message());
        }
    }

    /// Forgets a message, which is acknowledged or given up, and answers what was known of it.
    pub(super) fn take(&mut self, key: MessageKey) -> Option<PartialMessage> {
        let message = self.messages.remove(&key)?;
        let first = Reverse(message.first_unit());
        self.priorities.remove(&(message.reliability.priority(), first, key));
        Some(message)
    }

    /// The message that `unit` is of, if that is to be given up now, and why.
    pub(super) fn exhausted(
        &self,
        now: Instant,
        unit: u64,
        recovery: &Recovery,
        outstanding: &Outstanding,
    ) -> Option<(MessageKey, AbandonReason)> {
        let ledger = recovery.ledger();
        let chunk = outstanding.get(unit.checked_sub(ledger.cumulative())?)?;
        let key = Some(chunk.message()).filter(|_| chunk.is_partial())?;
        Some((key, self.messages.get(&key)?.exhausted(now, ledger.transmissions(unit))?))
    }

    /// Messages that are less important than `priority`, the least important first, with their units.
    pub(super) fn less_important(
        &self,
        priority: u32,
    ) -> impl Iterator<Item = (MessageKey, &[Range<u64>])> {
        let less = self.priorities.iter().rev().take_while(move |(own, ..)| *own > priority);
        less.map(|(.., key)| (*key, self.messages.get(key).map_or(&[][..], PartialMessage::runs)))
    }
}

impl Abandonments {
    /// Bytes that they take from the allocator.
    pub(super) fn memory(&self) -> usize {
        size_of::<Abandonments>()
            + footprint::of_vec(self.untold.capacity(), size_of::<Abandoned>())
    }

    /// Remembers that a message was given up.
    pub(super) fn note(&mut self, abandoned: Abandoned) {
        let counts = &mut self.counts;
        *(if abandoned.sent { &mut counts.sent } else { &mut counts.unsent }) += 1;
        if self.untold.len() < UNTOLD_LIMIT {
            self.untold.push_back(abandoned);
        } else {
            self.further += 1;
        }
    }

    /// The next message given up of which the application was not told.
    pub(super) fn poll(&mut self) -> Option<AbandonNews> {
        if let Some(abandoned) = self.untold.pop_front() {
            if self.untold.is_empty() {
                self.untold = VecDeque::new();
            }
            return Some(AbandonNews::Message(abandoned));
        }
        let further = core::mem::take(&mut self.further);
        (further > 0).then_some(AbandonNews::Further(further))
    }

    /// How many messages were given up.
    pub(super) fn counts(&self) -> AbandonCounts {
        self.counts
    }
}
