//! The receiving side of a connection: reassembly, window, acknowledgements, timestamps.
//!
//! All numbers are offsets of 64 bits (see [`SequenceMap`](crate::wire::SequenceMap)). The
//! connection passes arriving segments to the [`Receiver`], and asks it for the acknowledgement of
//! each outgoing segment.
//!
//! A peer can make it keep at most a multiple of the receive buffer: small payloads are copied
//! together, pieces out of order are charged with their overhead, and excess is dropped as if it
//! had been lost. The cost of a segment grows with the logarithm of the number of holes.

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
