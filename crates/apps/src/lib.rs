//! The work of the commands in real time. Arguments and printing belong to `cli`.
//!
//! - [`send`], [`serve`]: a measuring client and server.
//! - [`browsers`]: a page and data channels for unmodified browsers.
//! - [`demo`]: recovery policies side by side over the same losses.
//! - [`emulate`]: the virtual link as a relay of UDP datagrams.
//! - [`doctor`]: the abilities of a machine, and of its kernel's own TCP.
//! - [`live`]: the laboratory as a page.
//! - [`edge`]: unmodified clients' TCP, ended in the userspace stack and forwarded to local
//!   services.
//!
//! ```
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // An edge, as its file describes it.
//! let file: apps::edge::EdgeFile = toml::from_str(
//!     "address = \"10.78.0.2/24\"
//!      [[service]]
//!      listen = 22
//!      forward = \"127.0.0.1:22\"",
//! )?;
//! assert_eq!(file.service.len(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```

pub mod browsers;
pub mod demo;
mod descriptors;
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod edge;
pub mod emulate;
mod files;
mod http;
mod keys;
pub mod live;
mod notice;
mod paths;
mod retransmissions;
pub mod send;
pub mod serve;
mod signals;
mod stamp;
mod transfer;
mod trouble;

pub use descriptors::{TooFewDescriptors, check_descriptors};
pub use files::{FileError, Unwritten};
pub use keys::{
    KeyError, ServerKey, make_key, read_authorised, read_client_authority, read_key,
    read_or_make_key, usual_key, usual_known_peers,
};
pub use notice::Notice;
pub use paths::PathReport;
pub use retransmissions::Retransmissions;
pub use signals::interrupted;
pub use stamp::MEASURED;
pub use transfer::TransferReport;
