//! The receiving side of a connection: reassembly, window, acknowledgements, timestamps.
//!
//! All of it reckons in offsets of 64 bits (see [`SequenceMap`](crate::wire::SequenceMap)). The connection
//! tells the [`Receiver`] what arrives and asks it, for each segment that leaves, what to acknowledge.
//!
//! What a peer can make it keep is bounded by a multiple of the receive buffer, whatever it sends: small
//! payloads are copied together, pieces out of order are charged for what they take beside their bytes, and
//! what would be too much is dropped as if it had been lost. The cost of a segment grows with the logarithm
//! of the number of holes.

mod acknowledgement;
mod arrival;
mod autotune;
mod options;
mod queue;
mod reassembly;
mod receiver;
mod sack;
mod timestamps;
mod urgent;
mod window;

pub(crate) use acknowledgement::ack_timing;
pub use arrival::{Arrival, Incoming, Outcome, ReceiverStats};
pub use options::ReceiverOptions;
pub use receiver::{AckFields, Receiver, SackRanges};
