//! A machine as a separate host behind a TUN device: packets that the system routes to its
//! addresses, from this machine or forwarded from others, reach it as IP packets. Linux only.
//!
//! [`Tun::open`] makes the device, [`Tun::carriers`] the carriers for [`crate::run`], one for each
//! queue. Pings to the addresses are answered; ICMP errors go to the machine.

#[cfg(target_os = "linux")]
mod addresses;
#[cfg(target_os = "linux")]
mod buffers;
#[cfg(target_os = "linux")]
mod carrier;
mod error;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod mailbox;
pub mod offload;
mod options;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use carrier::TunCarrier;
pub use error::TunError;
#[cfg(target_os = "linux")]
pub use linux::{Tun, TunPort, TunQueue};
pub use options::{TunOptions, TunStatistics};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Tun, TunCarrier, TunQueue};
