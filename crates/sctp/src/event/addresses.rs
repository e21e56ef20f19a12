//! What becomes of addresses (RFC 5061).

/// What becomes of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressChange {
    /// The address is used beside the others.
    Added,
    /// The address is not used any more.
    Deleted,
    /// Data is sent there, as long as it can be reached.
    MadePrimary,
}
