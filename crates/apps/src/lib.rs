//! What the commands do in real time. Arguments and printing are the `cli`'s.
//!
//! - [`send`], [`serve`]: a measuring client and server.
//! - [`browsers`]: a page and data channels for unmodified browsers.
//! - [`demo`]: recovery policies side by side over the same losses.
//! - [`emulate`]: the virtual link as a relay of UDP datagrams.
//! - [`doctor`]: what a machine can do, and its kernel for its own TCP.
//! - [`edge`]: unmodified clients' TCP, ended in the userspace stack and forwarded to local services.

pub mod browsers;
pub mod demo;
mod descriptors;
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod edge;
pub mod emulate;
mod files;
mod paths;
mod retransmissions;
pub mod send;
pub mod serve;
mod signals;
mod stamp;
mod table;
mod transfer;
mod trouble;

pub use descriptors::{TooFewDescriptors, check_descriptors};
pub use files::{FileError, Unwritten};
pub use paths::PathReport;
pub use retransmissions::Retransmissions;
pub use serve::Notice;
pub use signals::interrupted;
pub use stamp::MEASURED;
pub use table::Table;
pub use transfer::TransferReport;
