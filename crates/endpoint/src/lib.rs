//! Parts of the endpoints of both protocols. An endpoint has *members*: its associations or its
//! connections.
//!
//! - [`memory`]: the bytes that all members hold together, and which of them return memory when
//!   these exceed the limit.
//! - [`population`]: how many members each host has, and which of them makes room for a newcomer
//!   (SCTP only; the limits of TCP's clients are those of the application).
//! - [`census`]: members and places that several endpoints count together (SCTP only).
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
pub mod census;
pub mod fifo;
pub mod footprint;
pub mod memory;
pub mod population;
pub mod table;
pub mod turns;
