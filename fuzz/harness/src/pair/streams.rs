//! Messages in parts, resets, streams that are added and addresses that come and go: what the
//! application asks for, and what the model makes of it.
//!
//! A reset has its place among the messages of its stream: those before it have arrived, or were
//! given up, when the peer performs it, and none of those behind it has.

use core::net::SocketAddr;

use sctp::{
    AddressChange, AssociationId, Event, MessagePart, Ppid, ReconfigurationEvent,
    ReconfigurationRequest, ResetDirection, SendError, StreamId,
};

use super::{GivenUp, STREAMS, Sent, World, bytes_of, send_options};
use crate::network::home;

/// Messages in parts grow to this.
const LONGEST: usize = 60_000;

/// Resets that an end asked for, and where they stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Resets {
    /// Messages by stream that were sent before each reset, as long as its sender has not heard of
    /// it.
    asked: [Vec<usize>; STREAMS],
    /// Resets that the receiver has not performed yet.
    to_come: [Vec<usize>; STREAMS],
    /// Streams of which the other end asked for resets too: they may have become one.
    shared: [bool; STREAMS],
}

fn is_meant(streams: &[StreamId], stream: usize) -> bool {
    streams.is_empty() || streams.contains(&StreamId(stream as u16))
}

impl World {
    /// The application passes a part of a message.
    pub(super) fn send_part(&mut self, at: usize, stream: u8, size: u16, head: [u8; 2], end: bool) {
        let Some(id) = self.ids[at].filter(|_| self.channels.is_none()) else { return };
        let stream = usize::from(stream) % STREAMS;
        let open = self.open[at][stream];
        let index = open.unwrap_or(self.sent[at].len());
        let from = open.map_or(0, |index| self.sent[at][index].size);
        let size = 4 + usize::from(size) % 4_000;
        let end_of_record = end || from + size > LONGEST;
        let payload = bytes_of(index, from..from + size);
        let unordered = head[0] & 1 != 0;
        let options = send_options(unordered, head[1], index);
        let part = MessagePart { payload, end_of_record };
        let stream_id = StreamId(stream as u16);
        let outcome =
            self.ends[at].association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send_part(self.now, stream_id, Ppid(1), part, options)
            });
        match outcome {
            Ok(()) => {
                if open.is_none() {
                    self.sent[at].push(Sent::new(stream as u16, 0, unordered));
                }
                self.sent[at][index].size += size;
                self.open[at][stream] = (!end_of_record).then_some(index);
            }
            Err(SendError::Abandoned) => {
                let told = open.and_then(|index| self.sent[at][index].given_up);
                let further = self.further[at] > 0;
                assert!(
                    told.is_some() || further,
                    "part of a message refused that was not given up"
                );
                if end_of_record {
                    self.open[at][stream] = None;
                }
            }
            Err(error) => assert_ne!(error, SendError::Empty),
        }
        self.drain();
    }

    /// The application gives up what it passed in parts.
    pub(super) fn abandon(&mut self, at: usize, stream: usize) {
        let Some(id) = self.ids[at] else { return };
        if !self.ends[at]
            .association_mut(id)
            .is_some_and(|mut own| own.abandon_open(StreamId(stream as u16)))
        {
            return;
        }
        let index = self.open[at][stream].take();
        self.drain();
        let told = index.map(|index| self.sent[at][index].given_up.is_some());
        assert!(
            told == Some(true) || self.further[at] > 0,
            "{index:?}: the application was not told"
        );
    }

    /// No message stays open: it is given up or ends.
    pub(super) fn close_open(&mut self) {
        for at in 0..2 {
            for stream in 0..STREAMS {
                if self.over[at] {
                    self.open[at][stream] = None;
                }
                if self.open[at][stream].is_some() {
                    self.abandon(at, stream);
                }
                if self.open[at][stream].is_some() {
                    self.send_part(at, stream as u8, 0, [0, 255], true);
                }
            }
        }
    }

    pub(super) fn has_open(&self) -> bool {
        self.open.iter().flatten().any(Option::is_some)
    }

    pub(super) fn reset(&mut self, at: usize, direction: u8, mask: u8) {
        let Some(id) = self.ids[at].filter(|_| self.channels.is_none()) else { return };
        let directions = [ResetDirection::Outgoing, ResetDirection::Incoming, ResetDirection::Both];
        // Outgoing ones most often: applications know no others.
        let direction = directions[usize::from(direction % 5).saturating_sub(2)];
        let named = (0..STREAMS as u16).filter(|stream| mask & 1 << stream != 0);
        let streams: Vec<StreamId> = named.map(StreamId).collect();
        if self.ends[at]
            .association_mut(id)
            .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                own.reset_streams(self.now, direction, &streams)
            })
            .is_ok()
        {
            let count = self.sent[at].len();
            for stream in (0..STREAMS).filter(|stream| is_meant(&streams, *stream)) {
                if direction != ResetDirection::Incoming {
                    self.resets[at].asked[stream].push(count);
                    self.resets[at].to_come[stream].push(count);
                }
                if direction != ResetDirection::Outgoing {
                    self.resets[1 - at].shared[stream] = true;
                }
            }
        }
        self.drain();
    }

    /// Records an event of an end about resets.
    pub(super) fn note_reset(&mut self, at: usize, id: AssociationId, event: &Event) {
        match event {
            Event::Reconfiguration(ReconfigurationEvent::StreamsReset {
                direction: ResetDirection::Outgoing,
                streams,
            }) => {
                self.note_answer(at, streams, true);
            }
            Event::Reconfiguration(ReconfigurationEvent::Refused {
                request:
                    ReconfigurationRequest::ResetStreams {
                        direction: ResetDirection::Outgoing,
                        streams,
                    },
                ..
            }) => return self.note_answer(at, streams, false),
            Event::Reconfiguration(ReconfigurationEvent::StreamsReset {
                direction: ResetDirection::Incoming,
                streams,
            }) => {
                // What arrived before it is read before it.
                if self.channels.is_none() {
                    self.read_from(at, id, true);
                }
                self.note_performed(at, streams);
            }
            Event::Reconfiguration(ReconfigurationEvent::AssociationReset { .. }) => {}
            _ => return,
        }
        self.told_of_resets += 1;
    }

    /// The peer answered a reset of streams of `at`.
    fn note_answer(&mut self, at: usize, streams: &[StreamId], performed: bool) {
        for stream in (0..STREAMS).filter(|stream| is_meant(streams, *stream)) {
            let resets = &mut self.resets[at];
            if resets.asked[stream].is_empty() || resets.shared[stream] {
                continue;
            }
            let count = resets.asked[stream].remove(0);
            if !performed {
                // It will not come.
                resets.shared[stream] = true;
                continue;
            }
            let missing = |sent: &Sent| {
                usize::from(sent.stream) == stream && !sent.arrived && sent.given_up.is_none()
            };
            let before = self.sent[at][..count].iter().filter(|sent| missing(sent)).count() as u64;
            assert!(
                before <= self.further[at] || self.over[1 - at],
                "{before} messages of stream {stream} were to come before its reset"
            );
        }
    }

    /// An end performed a reset of the other's streams.
    fn note_performed(&mut self, at: usize, streams: &[StreamId]) {
        for stream in (0..STREAMS).filter(|stream| is_meant(streams, *stream)) {
            if self.resets[1 - at].shared[stream] {
                continue;
            }
            let Some(count) = self.take_to_come(1 - at, stream) else { continue };
            let sent = self.sent[1 - at].iter().enumerate().skip(count);
            let early = sent.filter(|(_, sent)| usize::from(sent.stream) == stream && sent.arrived);
            assert_eq!(early.map(|(index, _)| index).next(), None, "came before the reset");
        }
    }

    /// The place of the next reset that is to come, and of those that may have become one with it:
    /// nothing of the stream left between them. Resets in one place may become one or stay two:
    /// those in `asked` are counted as two and those in `to_come` as one, so that either list
    /// says less if it is wrong.
    fn take_to_come(&mut self, sender: usize, stream: usize) -> Option<usize> {
        let to_come = &mut self.resets[sender].to_come[stream];
        if to_come.is_empty() {
            return None;
        }
        let mut place = to_come.remove(0);
        let further = self.further[sender] > 0;
        let separates = |sent: &Sent| {
            let never_left = sent.given_up == Some(GivenUp::Unsent) || further && !sent.arrived;
            usize::from(sent.stream) == stream && !never_left
        };
        while let Some(next) = to_come.first().copied()
            && !self.sent[sender][place..next].iter().any(separates)
        {
            place = to_come.remove(0);
        }
        Some(place)
    }

    pub(super) fn change_address(&mut self, at: usize, change: u8, path: u8) {
        let local: SocketAddr = home(at as u8, path % 3);
        let change = [AddressChange::Added, AddressChange::Deleted, AddressChange::MadePrimary]
            [usize::from(change % 3)];
        self.with(at, |mut own, now| {
            let _ = match change {
                AddressChange::Added => own.add_address(now, local),
                AddressChange::Deleted => own.remove_address(now, local),
                AddressChange::MadePrimary => own.set_peer_primary(now, local),
            };
        });
    }
}
