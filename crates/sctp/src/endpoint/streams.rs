//! The application's calls about streams: how they share, that they begin again, that there are more.

use base::Instant;

use super::{AssociationId, Endpoint};
use crate::association::Association;
use crate::reconfigure::kinds::{ReconfigureError, ResetDirection};
use crate::wire::StreamId;

impl Endpoint {
    /// Sets how urgent the messages of a stream are under [`Scheduler::Priority`](crate::Scheduler):
    /// the smaller, the sooner. [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE) unless set.
    pub fn set_stream_priority(&mut self, id: AssociationId, stream: StreamId, priority: u16) {
        self.with(id, |association, _| association.set_stream_priority(stream, priority));
    }

    /// Sets the share of a stream under [`Scheduler::WeightedFair`](crate::Scheduler), at least 1.
    /// [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE) unless set.
    pub fn set_stream_weight(&mut self, id: AssociationId, stream: StreamId, weight: u16) {
        self.with(id, |association, _| association.set_stream_weight(stream, weight));
    }

    /// Lets streams of an association begin again at SSN 0; none listed means all. Messages accepted before
    /// arrive before; later ones wait for the reset. [`Event::StreamsReset`](crate::Event::StreamsReset) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows, for incoming
    /// streams if and when the peer agrees.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn reset_streams(
        &mut self,
        now: Instant,
        id: AssociationId,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(id, |association| association.reset_streams(now, direction, streams))
    }

    /// Lets all streams of an association begin again at SSN 0, and both sides use new TSNs. What was
    /// accepted before is acknowledged first. [`Event::AssociationReset`](crate::Event::AssociationReset)
    /// or [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn reset_association(
        &mut self,
        now: Instant,
        id: AssociationId,
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(id, |association| association.reset_association(now))
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
        id: AssociationId,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(id, |association| association.add_streams(now, outgoing, incoming))
    }

    fn reconfigure(
        &mut self,
        id: AssociationId,
        call: impl FnOnce(&mut Association) -> Result<(), ReconfigureError>,
    ) -> Result<(), ReconfigureError> {
        let association = self.table.get_mut(id).ok_or(ReconfigureError::NotEstablished)?;
        call(association)?;
        self.settle(id);
        Ok(())
    }
}
