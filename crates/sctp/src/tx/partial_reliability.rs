//! Partly sent messages that may be abandoned (RFC 3758, section 3.5; RFC 7496, section 3), and
//! abandoned ones. [`giving_up`](super::giving_up) abandons them.

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

/// Most abandoned messages that wait to be reported one by one; of more only the number is
/// reported.
const UNTOLD_LIMIT: usize = 1024;

/// Partly sent messages that may be abandoned, and the reports to the peer.
#[derive(Debug, Default)]
pub(super) struct PartialReliability {
    messages: BTreeMap<MessageKey, PartialMessage>,
    /// Messages that may make room for others: the least important last, the oldest of equals
    /// last.
    priorities: BTreeSet<(u32, Reverse<u64>, MessageKey)>,
    pub(super) forward: Forward,
}

/// A message of which part was sent and that may be abandoned.
#[derive(Debug)]
pub(super) struct PartialMessage {
    /// Units that carried the message, in ranges.
    runs: SmallVec<[Range<u64>; 1]>,
    queued_at: Instant,
    reliability: Reliability,
    context: u32,
    /// Whether its last fragment was sent.
    ended: bool,
}

impl PartialMessage {
    /// Reason for which the message must be abandoned now, after `transmissions` transmissions;
    /// `None` if not.
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

    /// The application's own number of the message.
    pub(super) fn context(&self) -> u32 {
        self.context
    }

    /// Whether its last fragment was sent.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}

/// Abandoned messages to be reported to the application.
#[derive(Clone, Debug, Default)]
pub(super) struct Abandonments {
    untold: VecDeque<Abandoned>,
    /// Number of messages beyond the limit.
    further: u64,
    counts: AbandonCounts,
}

/// Counts of abandoned messages (SCTP_PR_ASSOC_STATUS of RFC 7496, section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonCounts {
    /// Messages abandoned before any of it was sent.
    pub unsent: u64,
    /// Messages abandoned after part of it was sent.
    pub sent: u64,
}

/// Notification that messages were abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbandonNews {
    /// Details of a single message, for one notification.
    Message(Abandoned),
    /// A number of messages without details.
    Further(u64),
}

impl PartialReliability {
    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        size_of::<PartialReliability>()
            + footprint::of_tree(self.messages.len(), size_of::<(MessageKey, PartialMessage)>())
            + footprint::of_tree(self.priorities.len(), size_of::<(u64, u64, MessageKey)>())
    }

    /// Records a fragment of a message that may be abandoned, sent as `unit`.
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

    /// Removes and returns a message, which is acknowledged or abandoned.
    pub(super) fn take(&mut self, key: MessageKey) -> Option<PartialMessage> {
        let message = self.messages.remove(&key)?;
        let first = Reverse(message.first_unit());
        self.priorities.remove(&(message.reliability.priority(), first, key));
        Some(message)
    }

    /// The message of `unit` and the reason, if it must be abandoned now.
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

    /// Messages that are less important than `priority`, the least important first, with their
    /// units.
    pub(super) fn less_important(
        &self,
        priority: u32,
    ) -> impl Iterator<Item = (MessageKey, &[Range<u64>])> {
        let less = self.priorities.iter().rev().take_while(move |(own, ..)| *own > priority);
        less.map(|(.., key)| (*key, self.messages.get(key).map_or(&[][..], PartialMessage::runs)))
    }
}

impl Abandonments {
    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Abandonments>()
            + footprint::of_vec(self.untold.capacity(), size_of::<Abandoned>())
    }

    /// Counts an abandoned message, and keeps its notice as long as few others wait.
    pub(super) fn note(&mut self, abandoned: Abandoned) {
        let counts = &mut self.counts;
        *(if abandoned.sent { &mut counts.sent } else { &mut counts.unsent }) += 1;
        if self.untold.len() < UNTOLD_LIMIT {
            self.untold.push_back(abandoned);
        } else {
            self.further += 1;
        }
    }

    /// Removes and returns the next notification.
    #[cold]
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

    /// Messages abandoned before and after part of them was sent.
    pub(super) fn counts(&self) -> AbandonCounts {
        self.counts
    }
}
