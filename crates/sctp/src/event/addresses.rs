//! Changes of addresses (RFC 5061).

/// Change of one side's address, as the application learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressChange {
    /// The address is used in addition to the others.
    Added,
    /// The address is not used any more.
    Deleted,
    /// The address is preferred for data while it is reachable.
    MadePrimary,
}
