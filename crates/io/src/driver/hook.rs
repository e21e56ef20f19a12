//! The owner's part in driving a machine.

use base::Instant;

/// Work of a machine's owner within the driver: handling events.
///
/// Called with the machine locked: it must be short, and must not call [`Shared`](super::Shared).
pub trait Hook<M>: Send {
    /// Called after inputs, after calls of the application, and after the sending that followed
    /// from them: the place to take events from the machine. Data that it gives the machine
    /// leaves with the rest.
    fn after_input(&mut self, machine: &mut M, now: Instant);

    /// Whether the machine waits for acknowledgements to go on, so that each must reach it at once;
    /// otherwise those that arrive apart
    /// ([`Carrier::separates_acks`](crate::Carrier::separates_acks)) may wait until a timer
    /// expires, a call is made, or something else arrives.
    fn awaits_acknowledgements(&self, _machine: &M) -> bool {
        true
    }

    /// Passes the machine one input that did not come from the driver's socket; false if there is
    /// none. Called whenever the driver was woken, with the machine drained before each call. The
    /// source of an input wakes the driver by the [`Notify`] of
    /// [`Shared::woken_by`](super::Shared::woken_by).
    ///
    /// [`Notify`]: tokio::sync::Notify
    fn take_input(&mut self, _machine: &mut M, _now: Instant) -> bool {
        false
    }
}

impl<M, F: FnMut(&mut M, Instant) + Send> Hook<M> for F {
    fn after_input(&mut self, machine: &mut M, now: Instant) {
        self(machine, now);
    }
}
