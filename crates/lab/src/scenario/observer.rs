//! Who wants to see more of a flow than its numbers.

use base::Instant;
use netsim::{HostId, Packet};
use recovery::TimedEvent;

use crate::probe::Probe;

/// Sees what happens in the simulation of one flow. Every method has an empty default.
pub trait Observer {
    /// The flow begins; `first_unit` is the unit of its first message in recovery events.
    fn on_start(&mut self, first_unit: u64) {
        let _ = first_unit;
    }

    /// The sender's recovery took a step.
    fn on_recovery_event(&mut self, event: &TimedEvent) {
        let _ = event;
    }

    /// A packet left its host: the sender is host 0, the receiver host 1.
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let _ = (now, packet);
    }

    /// The packet will not arrive.
    fn on_dropped(&mut self, now: Instant, packet: &Packet) {
        let _ = (now, packet);
    }

    /// The packet is about to be handed to a host.
    fn on_arrived(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        let _ = (now, packet, receiver);
    }

    /// A message reached the application.
    fn on_delivered(&mut self, now: Instant, probe: &Probe) {
        let _ = (now, probe);
    }

    /// Whether it has seen enough: the simulation may end early.
    fn is_satisfied(&self) -> bool {
        false
    }
}

/// Sees nothing.
impl Observer for () {}
