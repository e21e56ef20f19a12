//! SCTP directly over IP, protocol 132 (RFC 9260, section 3), through raw sockets. Linux only.
//!
//! A raw socket sees every SCTP packet that comes to its address, whatever process it is for. Where the kernel's own
//! SCTP is loaded, it sees them too and answers those it does not know with ABORT: keep it unloaded.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use linux::RawCarrier;
#[cfg(not(target_os = "linux"))]
pub use unsupported::RawCarrier;
