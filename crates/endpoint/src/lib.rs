//! Parts that the endpoints of both protocols share. An endpoint has *members*: its associations or
//! its connections.
//!
//! - [`memory`]: the bytes that all members hold together, and which of them return memory when
//!   these exceed the limit.
//! - [`turns`]: which member sends next.
//! - [`table`]: the members by row, and their names.
//! - [`answers`]: packets that no member sends, until they leave.
//! - [`footprint`]: what containers take from the allocator; [`fifo`]: a queue that mostly has one
//!   entry.
//!
//! Nothing here knows a wire format, reads a clock or walks over all members for a packet: an
//! account changes in constant time, and the order of the largest holders in the logarithm of their
//! number, when a magnitude changes.
//!
//! ```
//! use endpoint::turns::Turns;
//!
//! // A member with something to send waits for one turn of the others at most.
//! let mut turns = Turns::default();
//! turns.add("bulk");
//! turns.add("thin");
//! assert_eq!(turns.current(), Some("bulk"));
//! turns.on_finished();
//! assert_eq!(turns.current(), Some("thin"));
//! turns.on_finished();
//! assert_eq!(turns.current(), None);
//! ```

pub mod answers;
pub mod fifo;
pub mod footprint;
pub mod memory;
pub mod table;
pub mod turns;
