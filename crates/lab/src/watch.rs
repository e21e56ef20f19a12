//! Observation of flows: their packets with times, and the events of the sender's recovery.
//!
//! A watcher sees every packet of a run and does not change the run: its numbers are the same with
//! and without.

mod capture;
mod ladder;
mod packet_text;
#[cfg(test)]
pub(crate) mod tests;

pub use capture::FlowCapture;
pub use ladder::{Beginning, LadderWatch, LadderWish, MOST_PACKETS};
pub use packet_text::Teller;
