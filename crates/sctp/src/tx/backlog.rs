//! Queued messages, and the choice of the next one by the scheduler (RFC 8260, section 3).
//!
//! First come, first served without interleaving, the usual case, is a single queue. All other
//! schedulers have a queue per stream and an order of the streams with messages.

use std::collections::{BTreeMap, BTreeSet};

use ::endpoint::footprint;

use super::message::{MessageQueue, Queued};
use super::scheduler::{Clock, Rank, Scheduler, Served, StreamValue};
use crate::wire::ids::StreamId;

/// Priorities and weights that the application set.
pub(super) type StreamValues = BTreeMap<StreamId, StreamValue>;

/// A queued message that was found, for later queries. Valid until the backlog is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingMessage {
    stream: StreamId,
    id: u64,
}

#[derive(Debug)]
pub(super) enum Backlog {
    /// A single queue: first come, first served, message by message.
    Row(MessageQueue),
    /// A queue per stream, for all other schedulers.
    Streams(Box<Streams>),
}

impl Default for Backlog {
    fn default() -> Self {
        Backlog::Row(MessageQueue::default())
    }
}

impl Backlog {
    pub(super) fn new(scheduler: Scheduler, interleaving: bool) -> Backlog {
        if scheduler == Scheduler::FirstCome && !interleaving {
            return Backlog::default();
        }
        Backlog::Streams(Box::new(Streams {
            scheduler,
            interleaving,
            queues: BTreeMap::new(),
            order: BTreeSet::new(),
            clock: Clock::default(),
            holder: None,
            in_packet: false,
        }))
    }

    /// Allocated bytes for this number of messages, without payload.
    #[inline]
    pub(super) fn memory(&self, messages: usize) -> usize {
        match self {
            Backlog::Row(row) => row.memory(),
            // Rings grow by doubling: on average a quarter of each is unused.
            Backlog::Streams(streams) => {
                size_of::<Streams>()
                    + messages * size_of::<Queued>() * 4 / 3
                    + footprint::of_tree(streams.queues.len(), size_of::<(StreamId, StreamQueue)>())
                    + footprint::of_tree(streams.order.len(), size_of::<(Rank, StreamId)>())
            }
        }
    }

    pub(super) fn push(&mut self, message: Queued, values: Option<&StreamValues>) {
        match self {
            Backlog::Row(row) => row.push(message),
            Backlog::Streams(streams) => streams.push(message, values),
        }
    }

    /// The message whose fragment is next; empty if it is open and all its bytes were sent.
    #[inline]
    pub(super) fn peek(&self) -> Option<&Queued> {
        match self {
            Backlog::Row(row) => row.front(),
            Backlog::Streams(streams) => streams.peek(),
        }
    }

    pub(super) fn peek_mut(&mut self) -> Option<&mut Queued> {
        match self {
            Backlog::Row(row) => row.front_mut(),
            Backlog::Streams(streams) => streams.peek_mut(),
        }
    }

    /// All messages, stream by stream if the scheduler keeps them so.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued> {
        let (row, streams) = match self {
            Backlog::Row(row) => (Some(row), None),
            Backlog::Streams(streams) => (None, Some(streams.queues.values())),
        };
        let queues = streams.into_iter().flatten().map(|queue| &queue.messages);
        row.into_iter().chain(queues).flat_map(MessageQueue::iter)
    }

    /// A fragment of `bytes` bytes was cut off the first message, its last if `ending`.
    pub(super) fn on_cut(&mut self, bytes: usize, ending: bool, values: Option<&StreamValues>) {
        match self {
            Backlog::Row(row) => {
                if ending {
                    row.drop_front();
                }
            }
            Backlog::Streams(streams) => streams.on_cut(bytes, ending, values),
        }
    }

    /// A packet with new data is complete.
    #[inline]
    pub(super) fn on_packet_end(&mut self) {
        if let Backlog::Streams(streams) = self {
            streams.on_packet_end();
        }
    }

    /// The message `id` of `stream`.
    pub(super) fn get_mut(&mut self, stream: StreamId, id: u64) -> Option<&mut Queued> {
        match self {
            Backlog::Row(row) => row.get_mut(id),
            Backlog::Streams(streams) => streams.queues.get_mut(&stream)?.messages.get_mut(id),
        }
    }

    /// Bytes were appended to an open message of `stream`.
    pub(super) fn on_extended(&mut self, stream: StreamId, values: Option<&StreamValues>) {
        if let Backlog::Streams(streams) = self {
            streams.wait(stream, values);
        }
    }

    /// The message `id` of `stream`.
    pub(super) fn get(&self, stream: StreamId, id: u64) -> Option<&Queued> {
        match self {
            Backlog::Row(row) => row.get(id),
            Backlog::Streams(streams) => streams.queues.get(&stream)?.messages.get(id),
        }
    }

    /// Drops the message `id` of `stream`.
    pub(super) fn remove(
        &mut self,
        stream: StreamId,
        id: u64,
        values: Option<&StreamValues>,
    ) -> Option<Queued> {
        match self {
            Backlog::Row(row) => row.remove(id),
            Backlog::Streams(streams) => streams.remove(stream, id, values),
        }
    }

    /// The oldest message of `stream`, if part of it was sent.
    pub(super) fn begun(&self, stream: StreamId) -> Option<&Queued> {
        let front = match self {
            Backlog::Row(row) => row.front().filter(|message| message.stream == stream),
            Backlog::Streams(streams) => streams.queues.get(&stream)?.messages.front(),
        };
        front.filter(|message| message.mid().is_some())
    }

    /// The newest message of one of the streams for which `belongs` is true.
    pub(super) fn find(&self, belongs: impl Fn(StreamId) -> bool) -> Option<WaitingMessage> {
        let newest = match self {
            Backlog::Row(row) => row.iter().rev().find(|message| belongs(message.stream)),
            Backlog::Streams(streams) => {
                let queues = streams.queues.iter().filter(|(stream, _)| belongs(**stream));
                queues.filter_map(|(_, queue)| queue.messages.iter().next_back()).next()
            }
        }?;
        Some(WaitingMessage { stream: newest.stream, id: newest.id })
    }

    /// Whether a message is still queued.
    pub(super) fn contains(&self, WaitingMessage { stream, id }: WaitingMessage) -> bool {
        match self {
            Backlog::Row(row) => row.get(id).is_some(),
            Backlog::Streams(streams) => {
                streams.queues.get(&stream).is_some_and(|queue| queue.messages.get(id).is_some())
            }
        }
    }

    /// Sets the priority or weight of `stream`.
    pub(super) fn revalue(&mut self, stream: StreamId, value: StreamValue) {
        if let Backlog::Streams(streams) = self {
            streams.revalue(stream, value);
        }
    }

    /// All messages, in the order in which they were accepted.
    pub(super) fn into_messages(self) -> Vec<Queued> {
        match self {
            Backlog::Row(row) => row.into_messages().collect(),
            Backlog::Streams(streams) => {
                let queues = streams.queues.into_values();
                let mut all: Vec<Queued> =
                    queues.flat_map(|queue| queue.messages.into_messages()).collect();
                all.sort_by_key(|message| message.id);
                all
            }
        }
    }
}

/// A queue per stream with messages, and the order of the streams that may send.
#[derive(Debug)]
pub(super) struct Streams {
    scheduler: Scheduler,
    interleaving: bool,
    queues: BTreeMap<StreamId, StreamQueue>,
    /// Streams in the order of service. A stream without messages keeps its rank until it is the
    /// lowest, so that it gains nothing by returning before.
    order: BTreeSet<(Rank, StreamId)>,
    clock: Clock,
    /// The stream that continues, whatever the order: the one of the message that must be
    /// completed, or of the packet being filled.
    holder: Option<StreamId>,
    /// Whether the packet being filled has data of that stream.
    in_packet: bool,
}

#[derive(Debug, Default)]
struct StreamQueue {
    messages: MessageQueue,
    rank: Rank,
    /// Whether the scheduler has the stream in its order now.
    ordered: bool,
}

impl StreamQueue {
    fn has_bytes(&self) -> bool {
        self.messages.front().is_some_and(|message| message.len() > 0)
    }
}

fn value_of(values: Option<&StreamValues>, stream: StreamId) -> StreamValue {
    values.and_then(|values| values.get(&stream)).copied().unwrap_or_default()
}

impl Streams {
    fn push(&mut self, message: Queued, values: Option<&StreamValues>) {
        let stream = message.stream;
        let continues = message.mid().is_some() && !self.interleaving;
        self.queues.entry(stream).or_default().messages.push(message);
        if continues {
            self.holder = Some(stream);
        }
        self.wait(stream, values);
    }

    /// Adds a stream with messages to the order.
    fn wait(&mut self, stream: StreamId, values: Option<&StreamValues>) {
        let Some(queue) = self.queues.get_mut(&stream) else { return };
        let Some(front) = queue.messages.front().filter(|front| front.len() > 0) else { return };
        if !queue.ordered {
            let value = value_of(values, stream);
            queue.rank = self.scheduler.enter(&mut self.clock, value, front.id);
            queue.ordered = true;
            self.order.insert((queue.rank, stream));
        }
    }

    fn next(&self) -> Option<StreamId> {
        self.holder.or_else(|| self.order.first().map(|(_, stream)| *stream))
    }

    #[inline(never)]
    fn peek(&self) -> Option<&Queued> {
        self.queues.get(&self.next()?)?.messages.front()
    }

    #[inline(never)]
    fn peek_mut(&mut self) -> Option<&mut Queued> {
        let next = self.next()?;
        self.queues.get_mut(&next)?.messages.front_mut()
    }

    #[inline(never)]
    fn on_cut(&mut self, bytes: usize, ending: bool, values: Option<&StreamValues>) {
        let Some(stream) = self.next() else { return };
        let Some(queue) = self.queues.get_mut(&stream) else { return };
        if ending {
            queue.messages.drop_front();
        }
        let yields = ending || self.interleaving;
        let next_message = queue.messages.front().map(|message| message.id);
        let served = Served { bytes, yields, next_message };
        let value = value_of(values, stream);
        let rank = self.scheduler.pass(&mut self.clock, value, queue.rank, served);
        self.in_packet = true;
        self.holder = (!yields || self.scheduler.holds_packets()).then_some(stream);
        self.reorder(stream, rank);
        self.drop_idle();
    }

    fn on_packet_end(&mut self) {
        let Some(stream) = self.holder.filter(|_| self.scheduler.holds_packets()) else {
            self.in_packet = false;
            return;
        };
        let Some(queue) = self.queues.get(&stream) else {
            self.holder = None;
            return;
        };
        let unfinished = queue.messages.front().is_some_and(|message| message.mid().is_some());
        if core::mem::take(&mut self.in_packet) && (self.interleaving || !unfinished) {
            let rank = self.scheduler.pass_packet(&mut self.clock, queue.rank);
            self.holder = None;
            self.reorder(stream, rank);
            self.drop_idle();
        }
    }

    fn reorder(&mut self, stream: StreamId, rank: Rank) {
        let Some(queue) = self.queues.get_mut(&stream) else { return };
        if rank != queue.rank && queue.ordered {
            self.order.remove(&(queue.rank, stream));
            self.order.insert((rank, stream));
        }
        queue.rank = rank;
    }

    /// Removes streams of the lowest rank without messages; frees everything if none is left.
    fn drop_idle(&mut self) {
        while self.holder.is_none()
            && let Some((_, stream)) = self.order.first().copied()
        {
            let Some(queue) = self.queues.get_mut(&stream) else { break };
            if queue.has_bytes() {
                break;
            }
            self.order.pop_first();
            queue.ordered = false;
            if queue.messages.is_empty() {
                self.queues.remove(&stream);
            }
        }
        if self.queues.is_empty() {
            self.clock = Clock::default();
        }
    }

    fn remove(
        &mut self,
        stream: StreamId,
        id: u64,
        values: Option<&StreamValues>,
    ) -> Option<Queued> {
        let queue = self.queues.get_mut(&stream)?;
        let message = queue.messages.remove(id)?;
        if message.mid().is_some() && self.holder == Some(stream) {
            self.holder = None;
            self.in_packet = false;
        }
        let next_message = queue.messages.front().map(|message| message.id);
        let rank = self.scheduler.skip(queue.rank, next_message);
        self.reorder(stream, rank);
        self.wait(stream, values);
        self.drop_idle();
        Some(message)
    }

    fn revalue(&mut self, stream: StreamId, value: StreamValue) {
        let Some(queue) = self.queues.get(&stream) else { return };
        let rank = self.scheduler.revalue(value, queue.rank);
        self.reorder(stream, rank);
        self.drop_idle();
    }
}
