//! Carries between the channels and an association of an endpoint: messages both ways, and the
//! closing of channels, which is the reset of streams (RFC 8831, section 6.7; RFC 6525).

use base::Instant;

use super::channel::{Channel, Outgoing as OutgoingHalf};
use super::dcep::Dcep;
use super::{ChannelEvent, ChannelFault, DataChannels, ppid};
use sctp::ReconfigResult;
use sctp::{
    AssociationId, Endpoint, Event, Ppid, ReconfigurationEvent, ReconfigurationRequest,
    ReconfigureError, ResetDirection, SendError, StreamId,
};

/// Times that the peer may refuse the reset of a channel's stream before it is not asked again.
const REFUSALS: u8 = 8;

impl DataChannels {
    /// Carries everything there is to carry between the channels and their association: messages
    /// that arrived, what became of resets, messages to be sent, resets to be asked for. To be
    /// called after each input of the endpoint and each call of the application to the
    /// channels, with all `events` that the endpoint told of this association since the last
    /// time, in their order.
    pub fn drive(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        id: AssociationId,
        events: impl IntoIterator<Item = Event>,
    ) {
        let mut events = events.into_iter();
        while let Some(message) = endpoint.association_mut(id).and_then(|mut own| own.receive(now))
        {
            // Messages come in their order and events in theirs: each is taken where it belongs.
            let (stream, payload) = (message.stream, message.payload.into_bytes());
            while self.opens_behind_reset(stream, message.ppid, &payload)
                && let Some(event) = events.next()
            {
                self.handle_event(&event);
            }
            self.handle_message(stream, message.ppid, payload);
        }
        for event in events {
            self.handle_event(&event);
        }
        self.drive_outgoing(now, endpoint, id);
    }

    /// The outgoing half of [`DataChannels::drive`]: messages to be sent, resets to be asked for.
    /// For an application that has not read what arrived ([`DataChannels::unread`]): what else
    /// arrives waits in the association, whose window then tells the peer, and events of the
    /// association have to be kept for the next [`DataChannels::drive`].
    pub fn drive_outgoing(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId) {
        self.send_waiting(now, endpoint, id);
        self.ask_for_resets(now, endpoint, id);
    }

    /// Whether a message opens a channel whose predecessor is not reset yet, as far as is known
    /// here: the event that tells it is on its way.
    fn opens_behind_reset(&self, id: StreamId, message: Ppid, payload: &[u8]) -> bool {
        let closing = |own: &Channel| !own.is_open() && !own.is_reset_but_unanswered();
        message == ppid::DCEP
            && self.channels.get(&id).is_some_and(closing)
            && matches!(Dcep::parse(payload, self.options.max_name), Ok(Dcep::Open(_)))
    }

    /// Handles an event of the association. [`DataChannels::drive`] calls it; an
    /// application that transfers messages itself may call it, too.
    pub fn handle_event(&mut self, event: &Event) {
        match event {
            Event::Reconfiguration(ReconfigurationEvent::StreamsReset {
                direction: ResetDirection::Incoming,
                streams,
            }) => {
                self.handle_incoming_reset(streams);
            }
            Event::Reconfiguration(ReconfigurationEvent::StreamsReset { streams, .. }) => {
                self.handle_outgoing_reset(streams);
            }
            Event::Reconfiguration(ReconfigurationEvent::Refused {
                request:
                    ReconfigurationRequest::ResetStreams {
                        direction: ResetDirection::Outgoing,
                        streams,
                    },
                result,
            }) => self.on_reset_refused(streams, *result),
            Event::Restarted | Event::Closed | Event::Failed(_) => self.end(),
            _ => {}
        }
    }

    fn on_reset_refused(&mut self, streams: &[StreamId], result: ReconfigResult) {
        match result {
            // There was nothing to be reset, so that it is.
            ReconfigResult::NOTHING_TO_DO => self.handle_outgoing_reset(streams),
            ReconfigResult::DENIED | ReconfigResult::WRONG_SSN => self.give_up_resets(streams),
            _ => {
                self.handle_reset_failed(streams);
                let mut hopeless = self.named(streams);
                hopeless.retain(|id| {
                    self.channels.get(id).is_some_and(|channel| channel.refusals >= REFUSALS)
                });
                if !hopeless.is_empty() {
                    self.give_up_resets(&hopeless);
                }
            }
        }
    }

    /// Channels that are over, and their identifiers are not used again: the peer does not follow.
    fn give_up_resets(&mut self, streams: &[StreamId]) {
        for id in self.named(streams) {
            let Some(channel) = self.channels.get_mut(&id) else { continue };
            if matches!(channel.outgoing, OutgoingHalf::ToReset | OutgoingHalf::Resetting) {
                channel.outgoing = OutgoingHalf::Stuck;
                self.events.push_back(ChannelEvent::Closed { id });
            }
        }
    }

    /// The association is over, or begins from nothing: so do the channels.
    fn end(&mut self) {
        while self.outbox.pop().is_some() {}
        for (id, channel) in core::mem::take(&mut self.channels) {
            if channel.outgoing != OutgoingHalf::Stuck {
                self.events.push_back(ChannelEvent::Closed { id });
            }
        }
    }

    fn send_waiting(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId) {
        loop {
            let sent = self.flush(|one| {
                endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                    own.send(now, one.stream, one.ppid, one.payload, one.options)
                })
            });
            match sent {
                Ok(()) | Err(SendError::BufferFull | SendError::Closed) => return,
                // It can never be sent, and nothing behind it could.
                Err(_) => {
                    let Some(unsendable) = self.outbox.pop() else { return };
                    self.refuse(unsendable.stream, ChannelFault::NoStream);
                }
            }
        }
    }

    fn ask_for_resets(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId) {
        let streams = self.poll_reset();
        if streams.is_empty() {
            return;
        }
        let limit = endpoint.association(id).map_or(0, sctp::Association::outbound_streams);
        let (there, beyond): (Vec<StreamId>, Vec<StreamId>) =
            streams.into_iter().partition(|stream| stream.0 < limit);
        if !beyond.is_empty() {
            self.give_up_resets(&beyond);
        }
        if there.is_empty() {
            return;
        }
        match endpoint
            .association_mut(id)
            .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                own.reset_streams(now, ResetDirection::Outgoing, &there)
            }) {
            Ok(()) => {}
            // The association closes; the channels are notified.
            Err(ReconfigureError::NotEstablished) => {}
            Err(_) => self.give_up_resets(&there),
        }
    }
}
