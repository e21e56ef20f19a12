//! IP for a host without sockets: parsing and writing headers, ICMP errors about sent packets, and
//! answers to pings.
//!
//! Pure functions of bytes. Fragments are refused, never reassembled: TCP and SCTP find the path
//! MTU and do not depend on fragmentation, and unknown hosts could fill a reassembly buffer (RFC
//! 8900).

mod header;
mod icmp;
#[cfg(any(target_os = "linux", test))]
mod identification;

pub(crate) use base::checksum::Sum;
pub use header::{IpHeader, IpPacket, Refusal};
#[cfg(all(target_os = "linux", feature = "emulator"))]
pub(crate) use header::{codepoint, mark_congestion};
#[cfg(target_os = "linux")]
pub(crate) use header::{from_bits, to_bits};
#[cfg(target_os = "linux")]
pub(crate) use icmp::icmp_error;
pub use icmp::{IcmpReport, Message};
#[cfg(target_os = "linux")]
pub(crate) use identification::Identifications;

/// IP protocol number of ICMP (RFC 792).
pub const ICMP: u8 = 1;
/// IP protocol number of TCP (RFC 9293).
pub const TCP: u8 = 6;
/// Next header of ICMPv6 (RFC 4443).
pub const ICMPV6: u8 = 58;
/// IP protocol number of SCTP (RFC 9260).
pub const SCTP: u8 = 132;
