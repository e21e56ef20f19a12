//! Foundations of all crates of thinstream: virtual and real time in one type, sizes, rates and
//! probabilities that read as people write them, serial numbers, hosts by their addresses, seeded
//! random streams, keyed hashes, deadlines, the checksum of the Internet, and the contract of a
//! protocol machine.
//!
//! Nothing here reads a clock, draws ambient randomness or touches a socket.
//!
//! ```
//! let rtt: base::Duration = "1.5s".parse()?;
//! let loss: base::Probability = "25%".parse()?;
//! assert_eq!(rtt.as_millis(), 1500);
//! // Equal seeds and purposes give equal streams, whatever else is drawn.
//! let lost = || {
//!     let mut random = base::RandomStream::new(7, base::Purpose("losses", 0));
//!     (0..1000).filter(|_| random.happens(loss)).count()
//! };
//! assert!(lost() == lost() && (200..300).contains(&lost()));
//! # Ok::<(), base::ParseQuantityError>(())
//! ```

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
