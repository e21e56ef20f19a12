//! The sending side of a connection: the written data, the segments that carry it, the peer's
//! window, and the recovery that it shares with SCTP.
//!
//! - [`Sender`]: the whole sending side, in offsets: SYN has offset 0, data begins at 1, FIN takes
//!   one.
//! - `buffer`: data from the oldest unacknowledged byte on.
//! - `segmenter`: choice and size of the next segment: retransmissions, new data (Nagle, SWS
//!   avoidance, PSH, FIN), copies that ride along.
//! - `output`: a segment, or a window probe; `persist`: when that probe is due.
//! - `acknowledge`: effects of an acknowledgement.

mod acknowledge;
mod buffer;
mod options;
mod output;
mod persist;
mod segmenter;
mod sender;
mod warm;

pub use acknowledge::{AckResult, Acknowledgement};
pub use buffer::Payload;
pub use options::{Nagle, SenderOptions, WindowProbe};
pub use segmenter::Outgoing;
pub use sender::{GiveUp, Sender, SenderCounters, TimeoutResult};
