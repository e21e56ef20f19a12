//! SCTP directly over IP, protocol 132 (RFC 9260, section 3), through raw sockets. Linux only.
//!
//! A raw socket receives every SCTP packet to its address, for any process. If the kernel's own
//! SCTP is loaded, it receives them too and answers unknown ones with ABORT, so that it must not be
//! loaded.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use linux::RawCarrier;
#[cfg(not(target_os = "linux"))]
pub use unsupported::RawCarrier;
