//! The virtual network: links with rate, delay, loss and queues, and the driver that runs any
//! protocol machine of `base`'s contract over them in virtual time.
//!
//! Nothing here knows a protocol, a clock or a socket. [`link::Link`] also serves the emulator in
//! real time, and [`frame`] any capture.
//!
//! A seed determines the whole run: time, order and chance come from nowhere else.
//!
//! ```
//! use base::{Duration, Ecn, Instant};
//! use netsim::{Link, LinkConfig};
//!
//! let config = LinkConfig { delay: Duration::from_millis(50), ..LinkConfig::default() };
//! let mut link: Link<Ecn> = Link::new(config, 1, 0)?;
//! // A packet of 100 bytes, of which the link needs to know the ECN codepoint alone.
//! link.send(Instant::ZERO, Ecn::NotEct, 100);
//! let due = link.poll_timeout().expect("a packet is on its way");
//! assert_eq!(due, Instant::ZERO + Duration::from_millis(50));
//! assert_eq!(link.poll(due).map(|delivery| delivery.packet), Some(Ecn::NotEct));
//! # Ok::<(), netsim::link::LinkConfigError>(())
//! ```

pub mod capture;
pub mod checker;
pub mod event_queue;
pub mod frame;
pub mod link;
pub mod packet;
pub mod simulation;
pub mod topology;

pub use checker::{Checker, Conservation, RunEnd, Violation};
pub use link::{
    Delivery, DropCause, Jitter, Link, LinkConfig, LinkPacket, LinkStatistics, LossModel,
};
pub use packet::{AddressedDatagram, HostId, LinkId, Packet};
pub use simulation::{Host, Simulation, Stalled};
