//! Counts over several endpoints, so that the limits of one endpoint apply to all of them together.

use core::fmt;

use base::Host;

/// Counts the members of several endpoints. Each call takes effect at once for all of them, so that
/// a limit holds even if several admit members at the same time.
pub trait Census: fmt::Debug + Send + Sync {
    /// Takes a place, if fewer than `most` are taken.
    fn take_place(&self, most: usize) -> bool;

    /// Gives back a place that [`Census::take_place`] took.
    fn give_place(&self);

    /// Counts a member of `host`, if fewer than `most` of it are counted.
    fn admit(&self, host: Host, most: usize) -> bool;

    /// Uncounts a member of `host` that has ended.
    fn dismiss(&self, host: Host);
}
