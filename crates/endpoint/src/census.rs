//! Places that several endpoints fill together, so that the limits of one endpoint hold for all of them.

use core::fmt;

use base::Host;

/// Counts the members of several endpoints. Each call takes effect at once for all of them, so that a limit holds however many
/// of them admit members at the same time.
pub trait Census: fmt::Debug + Send + Sync {
    /// Takes a place, if fewer than `most` are taken.
    fn take_place(&self, most: usize) -> bool;

    /// Gives a place back.
    fn give_place(&self);

    /// Counts a member of `host`, if fewer than `most` of it are counted.
    fn admit(&self, host: Host, most: usize) -> bool;

    /// A member of `host` is gone.
    fn dismiss(&self, host: Host);
}
