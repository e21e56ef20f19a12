//! Responses of recovery to losses and false alarms, acknowledgement by acknowledgement: F-RTO,
//! undo, proportional rate reduction, TCP-ER, RACK with reordering, probes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::single_range_in_vec_init, reason = "a report of one block is one range")]

mod copies;
mod counted;
mod delayed;
mod distrust;
mod early;
mod frto;
mod line;
mod narrow;
mod newreno;
mod often;
mod pacing;
mod papers;
mod riding;
mod time;
mod undo;
mod window;
mod working;
