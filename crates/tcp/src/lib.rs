//! TCP (RFC 9293) without sockets and without a clock.
//!
//! - [`wire`]: segments and their options, parsed and emitted.
//! - [`rx`]: the receiving side: reassembly, window, acknowledgements.
//! - [`tx`]: the sending side: buffer, segments, and the recovery that it shares with SCTP.
//! - [`connection`]: one connection and its states.
//! - [`endpoint`]: which connection a segment belongs to, listeners, and what needs no state.
//!
//! Inside, sequence numbers are offsets of 64 bits that never wrap: SYN has offset 0, data begins at 1.

pub mod connection;
pub mod endpoint;
pub mod rx;
pub mod tx;
pub mod wire;
