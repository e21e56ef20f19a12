//! The sending side of a connection: what the application wrote, the segments that carry it, the peer's
//! window, and the recovery that it shares with SCTP.
//!
//! - [`Sender`]: all of it, in offsets: SYN has offset 0, data begins at 1, FIN takes one.
//! - `buffer`: bytes from the oldest not acknowledged on.
//! - `segmenter`: what goes next and how much of it: retransmissions, new data (Nagle, SWS avoidance, PSH,
//!   FIN), what may ride along.
//! - `output`: a segment, or the probe of a closed window; `persist`: when that is due.
//! - `acknowledge`: what an acknowledgement changes.

mod acknowledge;
mod buffer;
mod options;
mod output;
mod persist;
mod segmenter;
mod sender;

pub use acknowledge::{AckResult, Acknowledgement};
pub use buffer::Pieces;
pub use options::{Nagle, SenderOptions, WindowProbe};
pub use segmenter::Outgoing;
pub use sender::{GiveUp, Sender, SenderCounters, TimeoutResult};
