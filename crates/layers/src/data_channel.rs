//! WebRTC's data channels: their establishment (RFC 8832) and their use of streams (RFC 8831).
//!
//! A channel is a pair of streams with one identifier, one in each direction. [`DataChannels`]
//! opens and answers, says which identifiers are free, marks messages as text, binary or empty, and
//! closes a channel by resetting its outgoing stream, after which the identifier may be used again.
//!
//! Below it is an association with RE-CONFIG (RFC 6525) and, for channels that may lose messages,
//! partial reliability (RFC 3758, RFC 7496). [`DataChannels::drive`] carries between the channels
//! and an association of an [`Endpoint`](sctp::Endpoint). Over anything else its owner carries four
//! things:
//!
//! - messages that arrived, to [`DataChannels::handle_message`];
//! - messages to be sent, from [`DataChannels::poll_outgoing`] or [`DataChannels::flush`];
//! - streams to be reset, from [`DataChannels::poll_reset`];
//! - and what became of resets, to [`DataChannels::handle_incoming_reset`] and
//!   [`DataChannels::handle_outgoing_reset`].
//!
//! The peer is bounded: it may have [`DataChannelsOptions::max_channels`] with this side's, each
//! with names of [`DataChannelsOptions::max_name`] bytes; more it is refused.

mod buffered;
mod channel;
mod dcep;
mod drive;
mod events;
#[cfg(test)]
mod tests;
mod types;

use std::collections::BTreeMap;

use bytes::Bytes;

use self::channel::{Channel, Outgoing as OutgoingHalf, Stage};
use self::dcep::Dcep;
use self::events::Events;
pub use self::types::{
    ChannelError, ChannelEvent, ChannelFault, ChannelOptions, ChannelReliability,
    DataChannelsOptions, DcepError, DtlsRole, MessageKind,
};
use crate::{Outbox, Outgoing};
use sctp::{Ppid, SendOptions, StreamId};

/// Payload protocol identifiers of data channels (RFC 8831, section 8).
pub mod ppid {
    use sctp::Ppid;

    /// A message of the establishment protocol.
    pub const DCEP: Ppid = Ppid(50);
    /// A text in UTF-8 of at least one byte.
    pub const STRING: Ppid = Ppid(51);
    /// At least one byte of binary data.
    pub const BINARY: Ppid = Ppid(53);
    /// A text of no characters: SCTP carries one byte that means nothing.
    pub const STRING_EMPTY: Ppid = Ppid(56);
    /// No bytes: SCTP carries one byte that means nothing.
    pub const BINARY_EMPTY: Ppid = Ppid(57);
}

/// All data channels of an association.
#[derive(Debug)]
pub struct DataChannels {
    options: DataChannelsOptions,
    channels: BTreeMap<StreamId, Channel>,
    events: Events,
    outbox: Outbox,
    /// Messages for no channel, which were dropped.
    ignored: u64,
}

impl DataChannels {
    /// A side without channels yet, whose limits are those of `options`.
    pub fn new(options: DataChannelsOptions) -> DataChannels {
        DataChannels {
            options,
            channels: BTreeMap::new(),
            events: Events::default(),
            outbox: Outbox::default(),
            ignored: 0,
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Opens a channel with the lowest identifier that is free. Messages may be sent at once.
    ///
    /// # Errors
    /// [`ChannelError::TooMany`] or [`ChannelError::NameTooLong`].
    pub fn open(&mut self, options: ChannelOptions) -> Result<StreamId, ChannelError> {
        if options.label.len().max(options.protocol.len()) > usize::from(u16::MAX) {
            return Err(ChannelError::NameTooLong);
        }
        if self.channels.len() >= self.options.max_channels {
            return Err(ChannelError::TooMany);
        }
        let first = match self.options.role {
            DtlsRole::Client => 0,
            DtlsRole::Server => 1,
        };
        let own = (first..self.options.streams).step_by(2).map(StreamId);
        let mut free = own.filter(|id| !self.channels.contains_key(id));
        let id = free.next().ok_or(ChannelError::TooMany)?;
        self.send_dcep(id, &Dcep::Open(options.clone()));
        self.channels.insert(id, Channel::new(options, Stage::Opening));
        Ok(id)
    }

    /// Takes a channel that both sides agreed on elsewhere (*negotiated* in WebRTC's words):
    /// nothing is sent for it.
    ///
    /// # Errors
    /// [`ChannelError::Unusable`] or [`ChannelError::TooMany`].
    pub fn open_negotiated(
        &mut self,
        id: StreamId,
        options: ChannelOptions,
    ) -> Result<(), ChannelError> {
        if id.0 >= self.options.streams || self.channels.contains_key(&id) {
            return Err(ChannelError::Unusable(id));
        }
        if self.channels.len() >= self.options.max_channels {
            return Err(ChannelError::TooMany);
        }
        self.channels.insert(id, Channel::new(options, Stage::Open));
        Ok(())
    }

    /// Sends a message on a channel.
    ///
    /// # Errors
    /// [`ChannelError::NotOpen`], [`ChannelError::TooLarge`] or [`ChannelError::BufferFull`].
    pub fn send(
        &mut self,
        id: StreamId,
        kind: MessageKind,
        payload: Bytes,
    ) -> Result<(), ChannelError> {
        let channel = self.channels.get(&id).ok_or(ChannelError::NotOpen(id))?;
        let options = channel.send_options().ok_or(ChannelError::NotOpen(id))?;
        let (length, maximum) = (payload.len(), self.options.max_message);
        if length > maximum {
            return Err(ChannelError::TooLarge { length, maximum });
        }
        let waiting = self.outbox.bytes();
        if waiting > 0 && waiting + length > self.options.buffer {
            return Err(ChannelError::BufferFull);
        }
        let (ppid, payload) = match (kind, payload.is_empty()) {
            (MessageKind::Text, false) => (ppid::STRING, payload),
            (MessageKind::Binary, false) => (ppid::BINARY, payload),
            // SCTP carries no message without bytes (RFC 8831, section 6.6).
            (MessageKind::Text, true) => (ppid::STRING_EMPTY, Bytes::from_static(&[0])),
            (MessageKind::Binary, true) => (ppid::BINARY_EMPTY, Bytes::from_static(&[0])),
        };
        self.outbox.push(Outgoing { stream: id, ppid, payload, options });
        self.note_sent(id);
        Ok(())
    }

    /// Closes a channel; what was sent on it before arrives. [`ChannelEvent::Closed`] follows.
    ///
    /// # Errors
    /// [`ChannelError::NotOpen`].
    pub fn close(&mut self, id: StreamId) -> Result<(), ChannelError> {
        let channel = self.channels.get_mut(&id).filter(|channel| channel.is_open());
        channel.ok_or(ChannelError::NotOpen(id))?.close(false);
        Ok(())
    }

    // ---- from below ----------------------------------------------------------------------------

    /// Input: a message arrived on a stream.
    pub fn handle_message(&mut self, id: StreamId, ppid: Ppid, payload: Bytes) {
        let kind = match ppid {
            ppid::DCEP => return self.on_dcep(id, &payload),
            ppid::STRING | ppid::STRING_EMPTY => MessageKind::Text,
            ppid::BINARY | ppid::BINARY_EMPTY => MessageKind::Binary,
            _ => return self.refuse(id, ChannelFault::UnknownPpid(ppid)),
        };
        let Some(channel) = self.channels.get_mut(&id).filter(|channel| channel.is_heard()) else {
            self.ignored += 1;
            return;
        };
        if channel.confirm() {
            // Section 6: any message shows that OPEN arrived, not only ACK.
            self.events.push_back(ChannelEvent::Confirmed { id });
        }
        let empty = matches!(ppid, ppid::STRING_EMPTY | ppid::BINARY_EMPTY);
        let payload = if empty { Bytes::new() } else { payload };
        self.events.push_back(ChannelEvent::Message { id, kind, payload });
    }

    fn on_dcep(&mut self, id: StreamId, payload: &[u8]) {
        match Dcep::parse(payload, self.options.max_name) {
            Ok(Dcep::Open(options)) => self.on_open(id, options),
            Ok(Dcep::Ack) => self.on_ack(id),
            Err(error) => self.refuse(id, ChannelFault::Dcep(error)),
        }
    }

    fn on_ack(&mut self, id: StreamId) {
        match self.channels.get_mut(&id).map(Channel::confirm) {
            Some(true) => self.events.push_back(ChannelEvent::Confirmed { id }),
            Some(false) => {}
            None => self.ignored += 1,
        }
    }

    fn on_open(&mut self, id: StreamId, options: ChannelOptions) {
        let even = id.0.is_multiple_of(2);
        if even != (self.options.role == DtlsRole::Server) {
            return self.refuse(id, ChannelFault::WrongParity);
        }
        match self.channels.get(&id) {
            // The peer uses the identifier again, so it has seen this side's reset, although its
            // answer is not here yet.
            Some(channel) if channel.is_reset_but_unanswered() => self.finish(id),
            Some(_) => return self.refuse(id, ChannelFault::OpenedTwice),
            None => {}
        }
        if self.channels.len() >= self.options.max_channels || id.0 >= self.options.streams {
            // Not even worth a reset: there is no room to remember it.
            self.ignored += 1;
            return;
        }
        self.channels.insert(id, Channel::new(options.clone(), Stage::Open));
        self.send_dcep(id, &Dcep::Ack);
        self.events.push_back(ChannelEvent::Opened { id, options });
    }

    /// Closes the channel on which the peer broke the protocol, even if there was none before.
    fn refuse(&mut self, id: StreamId, fault: ChannelFault) {
        let full = self.channels.len() >= self.options.max_channels;
        let channel = match self.channels.get_mut(&id) {
            Some(channel) if channel.is_open() => channel,
            // It closes already.
            Some(_) => return,
            None if full || id.0 >= self.options.streams => {
                self.ignored += 1;
                return;
            }
            None => {
                let refused = Channel::new(ChannelOptions::default(), Stage::Refused);
                self.channels.entry(id).or_insert(refused)
            }
        };
        channel.close(false);
        self.events.push_back(ChannelEvent::Closing { id, fault: Some(fault) });
    }

    /// Input: the peer reset these of its streams; all of them, if none is named.
    pub fn handle_incoming_reset(&mut self, streams: &[StreamId]) {
        for id in self.named(streams) {
            let Some(channel) = self.channels.get_mut(&id) else { continue };
            let was_open = channel.is_open();
            channel.close(true);
            if was_open {
                self.events.push_back(ChannelEvent::Closing { id, fault: None });
            }
            self.finish_if_done(id);
        }
    }

    /// Input: the peer agreed to the reset of these of this side's streams.
    pub fn handle_outgoing_reset(&mut self, streams: &[StreamId]) {
        for id in self.named(streams) {
            if let Some(channel) = self.channels.get_mut(&id) {
                channel.on_outgoing_reset();
                self.finish_if_done(id);
            }
        }
    }

    /// Input: the peer refused the reset of these of this side's streams, or the association could
    /// not ask for it: it is asked for again with the next [`DataChannels::poll_reset`], as
    /// often as this is called.
    pub fn handle_reset_failed(&mut self, streams: &[StreamId]) {
        for id in self.named(streams) {
            if let Some(channel) = self.channels.get_mut(&id) {
                channel.on_reset_failed();
            }
        }
    }

    fn named(&self, streams: &[StreamId]) -> Vec<StreamId> {
        if streams.is_empty() {
            return self.channels.keys().copied().collect();
        }
        streams.to_vec()
    }

    fn finish_if_done(&mut self, id: StreamId) {
        if self.channels.get(&id).is_some_and(Channel::is_done) {
            self.finish(id);
        }
    }

    fn finish(&mut self, id: StreamId) {
        self.channels.remove(&id);
        self.events.push_back(ChannelEvent::Closed { id });
    }

    // ---- outputs -------------------------------------------------------------------------------

    fn send_dcep(&mut self, id: StreamId, message: &Dcep) {
        // Section 6: in order and reliably, whatever the channel is like.
        let (payload, options) = (message.emit().into(), SendOptions::default());
        self.outbox.push(Outgoing { stream: id, ppid: ppid::DCEP, payload, options });
    }

    /// Output: the next event for the application; to be polled until there is none.
    pub fn poll_event(&mut self) -> Option<ChannelEvent> {
        self.events.pop_front()
    }

    /// Output: the next message to be sent on the association.
    pub fn poll_outgoing(&mut self) -> Option<Outgoing> {
        self.outbox.pop()
    }

    /// Sends what waits to be sent with `send`, in order, until it refuses; what it refused stays.
    ///
    /// # Errors
    /// The error of [`sctp::AssociationMut::send`].
    pub fn flush<E>(&mut self, send: impl FnMut(Outgoing) -> Result<(), E>) -> Result<(), E> {
        self.outbox.flush(send)
    }

    /// Output: the outgoing streams to be reset now, in ascending order; none of whose messages
    /// wait in this layer any more.
    pub fn poll_reset(&mut self) -> Vec<StreamId> {
        let mut streams = Vec::new();
        for (id, channel) in &mut self.channels {
            if channel.outgoing == OutgoingHalf::ToReset && !self.outbox.has(*id) {
                channel.outgoing = OutgoingHalf::Resetting;
                streams.push(*id);
            }
        }
        streams
    }

    /// Options of a channel, if it exists.
    pub fn channel(&self, id: StreamId) -> Option<&ChannelOptions> {
        self.channels.get(&id).map(|channel| &channel.options)
    }

    /// Identifiers of the channels that there are, closing ones included.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = StreamId> {
        self.channels.keys().copied()
    }

    /// Bytes that wait for the association to take them.
    pub fn buffered(&self) -> usize {
        self.outbox.bytes()
    }

    /// Bytes that the events which [`DataChannels::poll_event`] has not returned yet take: their
    /// messages and names, and each event itself.
    pub fn unread(&self) -> usize {
        self.events.bytes()
    }

    /// Messages that arrived for no channel and were dropped.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}
