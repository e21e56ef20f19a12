//! What every room of thinstream stands on: virtual and real time in one type, sizes, rates and
//! probabilities that read as people write them, serial numbers, hosts by their addresses, seeded random
//! streams, keyed hashes, deadlines, the checksum of the Internet, and the contract of a protocol machine.
//!
//! Nothing here reads a clock, draws ambient randomness or touches a socket.

pub mod checksum;
pub mod deadlines;
pub mod host;
pub mod keyed_hash;
pub mod machine;
mod parse;
pub mod quantity;
pub mod random;
pub mod serial;
pub mod time;

pub use deadlines::Deadlines;
pub use host::Host;
pub use keyed_hash::HashKey;
pub use machine::{
    Datagram, DatagramMeta, Ecn, GatheredBuffer, Holder, Icmp, IcmpError, IpService, Machine,
    Origin, Transmit, TransmitBuffer, join_bytes,
};
pub use parse::ParseQuantityError;
pub use quantity::{ByteCount, Probability, Rate};
pub use random::{Purpose, RandomStream};
pub use time::{Duration, Instant};
