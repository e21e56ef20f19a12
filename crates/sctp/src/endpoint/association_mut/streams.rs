//! Calls about streams: how they share, that they begin again, that there are more.

use base::Instant;

use super::AssociationMut;
use crate::association::Association;
use crate::event::streams::ResetDirection;
use crate::reconfigure::error::ReconfigureError;
use crate::wire::StreamId;

impl AssociationMut<'_> {
    /// Sets how urgent the messages of a stream are under [`Scheduler::Priority`](crate::Scheduler):
    /// the smaller, the sooner. [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE) unless set.
    pub fn set_stream_priority(&mut self, stream: StreamId, priority: u16) {
        self.run(|association, _| association.set_stream_priority(stream, priority));
    }

    /// Sets the share of a stream under [`Scheduler::WeightedFair`](crate::Scheduler), at least 1.
    /// [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE) unless set.
    pub fn set_stream_weight(&mut self, stream: StreamId, weight: u16) {
        self.run(|association, _| association.set_stream_weight(stream, weight));
    }

    /// Lets streams begin again at SSN 0; none listed means all. Messages accepted before
    /// arrive before; later ones wait for the reset. [`Event::StreamsReset`](crate::Event::StreamsReset) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows, for incoming
    /// streams if and when the peer agrees.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn reset_streams(
        &mut self,
        now: Instant,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(|association| association.reset_streams(now, direction, streams))
    }

    /// Lets all streams begin again at SSN 0, and both sides use new TSNs. What was
    /// accepted before is acknowledged first. [`Event::AssociationReset`](crate::Event::AssociationReset)
    /// or [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigureError> {
        self.reconfigure(|association| association.reset_association(now))
    }

    /// Asks the peer to take `outgoing` more streams of this side, and to send on `incoming` more.
    /// [`Event::StreamsAdded`](crate::Event::StreamsAdded) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows for each.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
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
