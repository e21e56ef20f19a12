//! Each recovery mechanism in virtual time: the exact times of its packets, with the mechanism on
//! and off, and its absence in a thick stream.
//!
//! The path has a round-trip time of 100 ms and the handshake measured it twice, so that at
//! [`support::T0`], from which all times count:
//!
//! ```text
//! first sample   SRTT = 100      RTTVAR = 100 / 2 = 50
//! second sample  SRTT = 100      RTTVAR = 3/4 · 50 = 37.5     RTO = 100 + 4 · 37.5 = 250 ms
//! ```
//!
//! Each further sample of 100 ms takes a quarter of RTTVAR away: 28.125, 21.09375, ... and the RTO
//! becomes 212.5, 184.375, ... ms, bounded below by RTO.Min (1 s unless a test says otherwise).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod acknowledgement;
mod backoff;
mod bundling;
mod by_time;
mod detection;
mod early;
mod restart;
mod rto;
mod switching;
mod thick;
mod thin;
mod timeout;
