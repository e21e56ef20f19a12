//! Calls for streams: scheduling, resets and additions.

use base::Instant;

use super::AssociationMut;
use crate::association::Association;
use crate::event::reconfiguration::ResetDirection;
use crate::reconfigure::error::ReconfigureError;
use crate::wire::StreamId;

impl AssociationMut<'_> {
    /// Sets the priority of a stream's messages under [`Scheduler::Priority`](crate::Scheduler):
    /// smaller values are sent first. Default:
    /// [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE).
    pub fn set_stream_priority(&mut self, stream: StreamId, priority: u16) {
        self.run(|association, _| association.set_stream_priority(stream, priority));
    }

    /// Sets the weight of a stream under [`Scheduler::WeightedFair`](crate::Scheduler), at least 1.
    /// Default: [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE).
    pub fn set_stream_weight(&mut self, stream: StreamId, weight: u16) {
        self.run(|association, _| association.set_stream_weight(stream, weight));
    }

    /// Resets streams to SSN 0; an empty list means all. Messages accepted before arrive before the
    /// reset; later ones wait for it.
    /// [`ReconfigurationEvent::StreamsReset`](crate::ReconfigurationEvent::StreamsReset) or
    /// [`ReconfigurationEvent::Refused`](crate::ReconfigurationEvent::Refused) follows, for
    /// incoming streams if and when the peer agrees.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed in that case.
    pub fn reset_streams(
        &mut self,
        now: Instant,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(|association| association.reset_streams(now, direction, streams))
    }

    /// Resets all streams to SSN 0, with new TSNs on both sides. Earlier messages are acknowledged
    /// first.
    /// [`ReconfigurationEvent::AssociationReset`](crate::ReconfigurationEvent::AssociationReset) or
    /// [`ReconfigurationEvent::Refused`](crate::ReconfigurationEvent::Refused) follows.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed in that case.
    pub fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigureError> {
        self.reconfigure(|association| association.reset_association(now))
    }

    /// Requests `outgoing` more streams of this side, and `incoming` more of the peer.
    /// [`ReconfigurationEvent::StreamsAdded`](crate::ReconfigurationEvent::StreamsAdded) or
    /// [`ReconfigurationEvent::Refused`](crate::ReconfigurationEvent::Refused) follows for each.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed in that case.
    pub fn add_streams(
        &mut self,
        now: Instant,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(|association| association.add_streams(now, outgoing, incoming))
    }

    fn reconfigure(
        &mut self,
        call: impl FnOnce(&mut Association) -> Result<(), ReconfigureError>,
    ) -> Result<(), ReconfigureError> {
        let asked = self.run(|association, _| call(association));
        asked.unwrap_or(Err(ReconfigureError::NotEstablished))
    }
}
