//! The numbers of SCTP as distinct types (RFC 9260, sections 1.6, 3.1 and 3.3.1).

use base::serial_number;

serial_number!(
    /// Transmission sequence number of a DATA chunk.
    Tsn, u32, i32
);

serial_number!(
    /// Stream sequence number of an ordered message.
    Ssn, u16, i16
);

serial_number!(
    /// Message identifier: the number of a message in its stream with interleaving (RFC 8260)
    Mid, u32, i32
);

serial_number!(
    /// Fragment sequence number: a fragment's place in its message, with interleaving (RFC 8260).
    Fsn, u32, i32
);

serial_number!(
    /// Re-configuration request sequence number (RFC 6525).
    Rsn, u32, i32
);

serial_number!(
    /// Serial number of an ASCONF (RFC 5061).
    AsconfSerial, u32, i32
);

/// Stream identifier, 0 to 65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StreamId(pub u16);

/// Payload protocol identifier: carried for the application, never interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ppid(pub u32);

/// Identifies a key shared by both sides of an association (RFC 4895). Key 0 is empty unless both
/// applications set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyId(pub u16);

/// Verification tag: proof that the sender of a packet knows the association. 0 only in INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VerificationTag(pub u32);
