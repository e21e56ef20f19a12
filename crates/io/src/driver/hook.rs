//! The owner's part in driving a machine.

use base::Instant;

/// What the owner of a machine does beside the driver: takes its events.
///
/// Called with the machine locked: it must be short, and must not call [`Shared`](super::Shared).
pub trait Hook<M>: Send {
    /// After inputs, after calls of the application, and after the sending that followed from them: the place to take
    /// events out of the machine. What it gives the machine to send leaves with the rest.
    fn after_input(&mut self, machine: &mut M, now: Instant);

    /// Hands the machine one input that came by another way than the driver's socket; false if there is none. Asked whenever the
    /// driver was woken, with the machine drained before each: who leaves an input wakes the driver by the [`Notify`] of
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
