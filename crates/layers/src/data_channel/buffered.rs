//! Bytes of a channel's messages that have not left yet (bufferedAmount of the W3C's WebRTC), and
//! the event that little is left.

use sctp::{AssociationId, Endpoint, StreamId};

use super::channel::LowMark;
use super::{ChannelError, ChannelEvent, DataChannels};

impl DataChannels {
    /// Bytes of a channel's messages that were not sent even once: they wait in this layer or in
    /// the association. Takes time with the number of messages that wait on all channels.
    pub fn buffered_on(
        &self,
        endpoint: &Endpoint,
        association: AssociationId,
        id: StreamId,
    ) -> usize {
        let below = endpoint.association(association).map_or(0, |own| own.unsent_on(id));
        self.outbox.bytes_on(id) + below
    }

    /// Asks for [`ChannelEvent::BufferedLow`] each time that the buffered amount of a channel falls
    /// from more than `threshold` bytes to that or less; none asks for no more of them.
    ///
    /// # Errors
    /// [`ChannelError::NotOpen`].
    pub fn set_low_threshold(
        &mut self,
        id: StreamId,
        threshold: Option<usize>,
    ) -> Result<(), ChannelError> {
        let channel = self.channels.get_mut(&id).ok_or(ChannelError::NotOpen(id))?;
        channel.low = threshold.map(LowMark::new);
        self.note_sent(id);
        Ok(())
    }

    /// Looks at the buffered amounts: to be called once the endpoint has nothing more to transmit,
    /// as its driver finds out after each input. Costs nothing while no channel with a
    /// threshold has messages that wait.
    pub fn note_transmitted(&mut self, endpoint: &Endpoint, association: AssociationId) {
        let marks = self.channels.iter().filter_map(|(id, channel)| Some((*id, channel.low?)));
        let watched: Vec<(StreamId, LowMark)> = marks.filter(|(_, mark)| mark.watched).collect();
        for (id, mut mark) in watched {
            let amount = self.buffered_on(endpoint, association, id);
            let fell = mark.exceeded && amount <= mark.threshold;
            mark.exceeded = amount > mark.threshold;
            mark.watched = amount > 0;
            if let Some(channel) = self.channels.get_mut(&id) {
                channel.low = Some(mark);
            }
            if fell {
                self.events.push_back(ChannelEvent::BufferedLow { id });
            }
        }
    }

    /// A message was queued, or the threshold was set.
    pub(super) fn note_sent(&mut self, id: StreamId) {
        if let Some(mark) = self.channels.get_mut(&id).and_then(|own| own.low.as_mut()) {
            mark.exceeded |= self.outbox.bytes_on(id) > mark.threshold;
            mark.watched = true;
        }
    }
}
