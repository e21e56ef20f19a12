//! The virtual network: links with rate, delay, loss and queues, and the driver that runs any
//! protocol machine of `base`'s contract over them in virtual time.
//!
//! Nothing here knows a protocol, a clock or a socket. [`link::Link`] also serves the emulator in
//! real time, and [`frame`] any capture.
//!
//! The same seed gives the same run: time, order and chance come from nowhere else.

pub mod capture;
pub mod checker;
pub mod event_queue;
pub mod frame;
pub mod link;
pub mod packet;
pub mod simulation;
pub mod topology;

pub use checker::{Checker, Conservation, RunEnd, Violation};
pub use link::{Carried, Delivery, DropCause, Jitter, Link, LinkConfig, LinkStatistics, LossModel};
pub use packet::{AddressedDatagram, HostId, LinkId, Packet};
pub use simulation::{Host, Simulation, Stalled};
