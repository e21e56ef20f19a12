//! The layers over the streams: a partial order on a stream of its own, beside the other streams,
//! and data channels, which take all of them.
//!
//! Messages in partial order arrive once, intact, and after their predecessors. Messages on a
//! channel arrive once, intact and in order, unless the channel is closed.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use layers::data_channel::{
    ChannelEvent, ChannelFault, ChannelOptions, DataChannels, DataChannelsOptions, DtlsRole,
    MessageKind,
};
use layers::partial_order::{After, Delivery, MessageNumber, PartialOrder, PartialOrderOptions};
use sctp::{Event, KeyId, Ppid, SendOptions, StreamId};

use super::{World, message};

/// The stream of the partial order.
pub(super) const ORDERED: StreamId = StreamId(4);

/// A message in partial order.
struct InOrder {
    size: usize,
    /// The messages that it waits for.
    after: Vec<usize>,
    delivered: bool,
}

/// Both ends of the partial order.
pub(super) struct Orders {
    layers: [PartialOrder; 2],
    /// Messages sent by each end, with the names that the layer gave.
    sent: [Vec<InOrder>; 2],
    names: [Vec<MessageNumber>; 2],
}

impl Default for Orders {
    fn default() -> Self {
        let options = PartialOrderOptions { stream: ORDERED, ..PartialOrderOptions::default() };
        let layer = || PartialOrder::new(options);
        Orders { layers: [layer(), layer()], sent: Default::default(), names: Default::default() }
    }
}

impl Orders {
    /// A message of the layer arrived: what is delivered then is judged.
    pub(super) fn take(&mut self, at: usize, ppid: Ppid, payload: Bytes) {
        let taken = self.layers[at].handle_message(ppid, payload);
        assert_eq!(taken, Ok(()), "the layer of the other end broke its rules");
        while let Some(delivery) = self.layers[at].poll_delivery() {
            let Delivery::Message { number, payload, .. } = delivery else {
                panic!("nothing was given up")
            };
            let index = number.index() as usize;
            let sent = &self.sent[1 - at];
            assert_eq!(payload, message(index, sent[index].size), "message {index} changed");
            let early = sent[index].after.iter().find(|before| !sent[**before].delivered);
            assert_eq!(early, None, "message {index} came before one that it waits for");
            let twice = core::mem::replace(&mut self.sent[1 - at][index].delivered, true);
            assert!(!twice, "message {index} came twice");
        }
    }
}

/// A message on a channel.
struct OnChannel {
    id: StreamId,
    size: usize,
    arrived: bool,
    /// The channel was closed before it arrived.
    excused: bool,
}

/// The data channels of both ends.
pub(super) struct Channels {
    ends: [DataChannels; 2],
    /// Events of the endpoint since the channels were last driven.
    events: [Vec<Event>; 2],
    sent: [Vec<OnChannel>; 2],
    /// Channels that were closed, once at least.
    closed: BTreeSet<StreamId>,
    /// The latest message that arrived, by end and channel.
    latest: [BTreeMap<StreamId, usize>; 2],
}

impl Default for Channels {
    fn default() -> Self {
        let end = |role| {
            let options = DataChannelsOptions { streams: 16, ..DataChannelsOptions::new(role) };
            DataChannels::new(options)
        };
        Channels {
            ends: [end(DtlsRole::Client), end(DtlsRole::Server)],
            events: Default::default(),
            sent: Default::default(),
            closed: BTreeSet::new(),
            latest: Default::default(),
        }
    }
}

impl Channels {
    pub(super) fn note(&mut self, at: usize, event: &Event) {
        self.events[at].push(event.clone());
    }

    /// A channel closes: what did not arrive yet may never do. Without streams that can be reset,
    /// or a stream of its own for it, an end cannot tell the other, whose later messages come
    /// to nothing as well.
    fn excuse(&mut self, id: StreamId) {
        self.closed.insert(id);
        for sent in self.sent.iter_mut().flatten().filter(|sent| sent.id == id) {
            sent.excused = true;
        }
    }

    fn hear(&mut self, at: usize) {
        while let Some(event) = self.ends[at].poll_event() {
            match event {
                ChannelEvent::Message { id, payload, .. } => self.on_message(at, id, &payload),
                ChannelEvent::Closing { id, fault } => {
                    // An end may grant fewer streams than the other's channels take.
                    let lawful = matches!(fault, None | Some(ChannelFault::NoStream));
                    assert!(lawful, "{fault:?} of an honest end");
                    self.excuse(id);
                }
                ChannelEvent::Closed { id } => self.excuse(id),
                ChannelEvent::Opened { .. }
                | ChannelEvent::Confirmed { .. }
                | ChannelEvent::BufferedLow { .. } => {}
            }
        }
    }

    fn on_message(&mut self, at: usize, id: StreamId, payload: &Bytes) {
        let Some(number) = payload.first_chunk::<4>() else { panic!("{payload:?}") };
        let index = u32::from_be_bytes(*number) as usize;
        let sent = &mut self.sent[1 - at][index];
        assert_eq!(sent.id, id, "message {index} on another channel");
        assert_eq!(*payload, message(index, sent.size), "message {index} changed");
        assert!(!core::mem::replace(&mut sent.arrived, true), "message {index} came twice");
        let before = self.latest[at].insert(id, index);
        assert!(before < Some(index), "message {index} out of order");
    }
}

impl World {
    /// Carries between the layers and the association of an end.
    pub(super) fn carry_layers(&mut self, at: usize) {
        let (Some(id), now) = (self.ids[at], self.now) else { return };
        let end = &mut self.ends[at];
        if let Some(channels) = &mut self.channels {
            let events = core::mem::take(&mut channels.events[at]);
            channels.ends[at].drive(now, end, id, events);
            channels.hear(at);
        } else {
            // What the send buffer has no room for goes later.
            let _ = self.orders.layers[at].flush(|one| {
                end.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                    own.send(now, one.stream, one.ppid, one.payload, one.options)
                })
            });
        }
    }

    /// The application sends in partial order.
    pub(super) fn send_in_order(&mut self, at: usize, after: u8, size: u16) {
        let is_there = self.ids[at].and_then(|id| self.ends[at].association(id));
        let has_stream = is_there.is_some_and(|own| own.outbound_streams() > ORDERED.0);
        if self.channels.is_some() || !has_stream {
            return;
        }
        let Orders { layers, sent, names } = &mut self.orders;
        let (index, size) = (sent[at].len(), 4 + usize::from(size) % 4_000);
        let chosen = (0..8).filter(|bit| after & 1 << bit != 0 && *bit < index);
        let before: Vec<usize> = match after {
            255 => (0..index).collect(),
            _ => chosen.map(|bit| index - 1 - bit).collect(),
        };
        let named: Vec<MessageNumber> = before.iter().map(|before| names[at][*before]).collect();
        let waits = if after == 255 { After::Everything } else { After::These(&named) };
        let payload = message(index, size);
        if let Ok(name) = layers[at].send(Ppid(1), &payload, waits, SendOptions::default()) {
            assert_eq!(name.index() as usize, index);
            names[at].push(name);
            sent[at].push(InOrder { size, after: before, delivered: false });
        }
        self.drain();
    }

    /// The application opens a channel, closes one, or sends.
    pub(super) fn use_channel(&mut self, at: usize, which: u8, size: u16) {
        let over = self.over[at];
        let Some(channels) = self.channels.as_mut().filter(|_| !over) else { return };
        let ids: Vec<StreamId> = channels.ends[at].ids().collect();
        let chosen = ids.get(usize::from(which >> 3) % ids.len().max(1)).copied();
        match (which % 8, chosen) {
            (0, _) | (_, None) => {
                let _ = channels.ends[at].open(ChannelOptions::default());
            }
            (1, Some(id)) => {
                if channels.ends[at].close(id).is_ok() {
                    channels.excuse(id);
                }
            }
            (_, Some(id)) => {
                let (index, size) = (channels.sent[at].len(), 4 + usize::from(size) % 4_000);
                let payload = message(index, size);
                if channels.ends[at].send(id, MessageKind::Binary, payload).is_ok() {
                    let (arrived, excused) = (false, channels.closed.contains(&id));
                    channels.sent[at].push(OnChannel { id, size, arrived, excused });
                }
            }
        }
        self.drain();
    }

    /// Both applications sign with a key that both know.
    pub(super) fn agree_on_keys(&mut self) {
        for at in 0..2 {
            self.with(at, |mut own, _| {
                let _ = own.activate_key(KeyId(0));
            });
        }
    }

    /// Whatever was sent through the layers of an end that did not fail has arrived.
    pub(super) fn judge_layers(&self, at: usize) {
        if self.failed.contains(&true) || self.over.contains(&true) {
            return;
        }
        let missing = self.orders.sent[at].iter().position(|sent| !sent.delivered);
        assert_eq!(missing, None, "a message of end {at} in partial order is missing");
        let sent = self.channels.iter().flat_map(|channels| &channels.sent[at]);
        let is_missing = |sent: &OnChannel| !sent.arrived && !sent.excused;
        let missing = sent.into_iter().find(|sent| is_missing(sent)).map(|sent| sent.id);
        let own = |at: usize| self.ids[at].and_then(|id| self.ends[at].association(id));
        let streams = [0, 1].map(|at| own(at).map(sctp::Association::outbound_streams));
        assert_eq!(missing, None, "end {at} sent on a channel, {streams:?} streams");
    }

    /// Whether nothing waits in a layer.
    pub(super) fn are_layers_settled(&self) -> bool {
        let waits = |at: usize| {
            let channels =
                self.channels.as_ref().map_or(0, |channels| channels.ends[at].buffered());
            let missing = self.orders.sent[at].iter().any(|sent| !sent.delivered);
            !self.over[at] && !self.over[1 - at] && (channels > 0 || missing)
        };
        !waits(0) && !waits(1)
    }
}
