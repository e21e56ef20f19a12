//! Type numbers of chunks, parameters and causes, and the treatment of unrecognized ones (RFC 9260,
//! sections 3.2, 3.2.1 and 3.3.10).

use core::fmt;

/// T: the packet carries the tag of its own sender, as the packet that it answers did (ABORT and
/// SHUTDOWN COMPLETE; RFC 9260, section 8.5.1).
pub(super) const T_BIT: u8 = 0x01;

/// A row for each number of a registry: its meaning, its constant, the number, and its name in its
/// RFC.
macro_rules! numbers {
    ($registry:ident: $($(#[$meaning:meta])+ $constant:ident = $number:literal, $name:literal;)+) => {
        impl $registry {
            $($(#[$meaning])+ pub const $constant: $registry = $registry($number);)+

            /// Every number that has a name, in the order of the table.
            pub const NAMED: &'static [$registry] = &[$($registry::$constant,)+];

            /// The name in its RFC; `None` if the number is unknown.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)+
                    _ => None,
                }
            }
        }
    };
}

/// Chunk type on the wire; its highest bits say what happens to an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkType(pub u8);

numbers! { ChunkType:
    /// User data (RFC 9260, section 3.3.1).
    DATA = 0, "DATA";
    /// Begins an association (RFC 9260, section 3.3.2).
    INIT = 1, "INIT";
    /// Answers INIT, with the state cookie (RFC 9260, section 3.3.3).
    INIT_ACK = 2, "INIT ACK";
    /// Selective acknowledgement of user data (RFC 9260, section 3.3.4).
    SACK = 3, "SACK";
    /// Probes a path (RFC 9260, section 3.3.5).
    HEARTBEAT = 4, "HEARTBEAT";
    /// Answers HEARTBEAT, with its info (RFC 9260, section 3.3.6).
    HEARTBEAT_ACK = 5, "HEARTBEAT ACK";
    /// Ends an association at once.
    ABORT = 6, "ABORT";
    /// Begins a graceful shutdown (RFC 9260, section 3.3.8).
    SHUTDOWN = 7, "SHUTDOWN";
    /// Answers SHUTDOWN (RFC 9260, section 3.3.9).
    SHUTDOWN_ACK = 8, "SHUTDOWN ACK";
    /// Reports an error that does not end the association.
    ERROR = 9, "ERROR";
    /// Returns the state cookie of INIT ACK (RFC 9260, section 3.3.11).
    COOKIE_ECHO = 10, "COOKIE ECHO";
    /// Answers COOKIE ECHO (RFC 9260, section 3.3.12).
    COOKIE_ACK = 11, "COOKIE ACK";
    /// Reserved for an explicit congestion notification echo.
    ECNE = 12, "ECNE";
    /// Reserved for a notice that the congestion window was reduced.
    CWR = 13, "CWR";
    /// Answers SHUTDOWN ACK (RFC 9260, section 3.3.13).
    SHUTDOWN_COMPLETE = 14, "SHUTDOWN COMPLETE";
    /// Authenticates the chunks after it (RFC 4895).
    AUTH = 15, "AUTH";
    /// User data whose fragments may alternate with those of other messages (RFC 8260).
    I_DATA = 64, "I-DATA";
    /// Answers ASCONF, request by request (RFC 5061, section 4.1.2).
    ASCONF_ACK = 128, "ASCONF-ACK";
    /// Resets and adds streams (RFC 6525).
    RE_CONFIG = 130, "RE-CONFIG";
    /// Fills a packet up (RFC 4820).
    PAD = 132, "PAD";
    /// Moves the receiver past abandoned messages (RFC 3758).
    FORWARD_TSN = 192, "FORWARD TSN";
    /// Changes the sender's addresses (RFC 5061).
    ASCONF = 193, "ASCONF";
    /// FORWARD TSN for messages that may interleave (RFC 8260).
    I_FORWARD_TSN = 194, "I-FORWARD-TSN";
}

impl ChunkType {
    /// Treatment of an unrecognized chunk of this type.
    ///
    /// ECNE and CWR are assigned and have no meaning without negotiation, so they are skipped,
    /// although their upper bits demand to stop.
    pub const fn unrecognized_action(self) -> UnrecognizedAction {
        match self {
            ChunkType::ECNE | ChunkType::CWR => UnrecognizedAction::Skip,
            ChunkType(number) => UnrecognizedAction::from_bits(number >> 6),
        }
    }

    /// Whether a chunk with these flags comes with the tag of its own sender, as a reflection of
    /// the packet that it answers (RFC 9260, section 8.5.1, rules B and C).
    pub(crate) fn reflects_tag(self, flags: u8) -> bool {
        matches!(self, ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE) && flags & T_BIT != 0
    }
}

impl fmt::Display for ChunkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("chunk {:#04x}", self.0)),
        }
    }
}

/// Parameter type on the wire; its highest bits say what happens to an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterType(pub u16);

numbers! { ParameterType:
    /// Info of a HEARTBEAT, which its sender alone understands (RFC 9260, section 3.3.5).
    HEARTBEAT_INFO = 1, "Heartbeat Info";
    /// An IPv4 address of the sender.
    IPV4_ADDRESS = 5, "IPv4 Address";
    /// An IPv6 address of the sender.
    IPV6_ADDRESS = 6, "IPv6 Address";
    /// The state cookie of an INIT ACK.
    STATE_COOKIE = 7, "State Cookie";
    /// A parameter of the INIT that the sender of the INIT ACK did not recognize.
    UNRECOGNIZED_PARAMETER = 8, "Unrecognized Parameter";
    /// Request for a longer lifetime of the state cookie.
    COOKIE_PRESERVATIVE = 9, "Cookie Preservative";
    /// A host name instead of addresses: deprecated, and rejected.
    HOST_NAME_ADDRESS = 11, "Host Name Address";
    /// The kinds of addresses that the sender supports.
    SUPPORTED_ADDRESS_TYPES = 12, "Supported Address Types";
    /// Resets the sender's streams (RFC 6525, section 4.1).
    OUTGOING_SSN_RESET_REQUEST = 13, "Outgoing SSN Reset Request";
    /// Requests the reset of the receiver's streams (RFC 6525, section 4.2).
    INCOMING_SSN_RESET_REQUEST = 14, "Incoming SSN Reset Request";
    /// Requests the reset of all streams and TSNs (RFC 6525, section 4.3).
    SSN_TSN_RESET_REQUEST = 15, "SSN/TSN Reset Request";
    /// Result of a request (RFC 6525, section 4.4).
    RECONFIGURATION_RESPONSE = 16, "Re-configuration Response";
    /// Requests more streams of the sender (RFC 6525, section 4.5).
    ADD_OUTGOING_STREAMS_REQUEST = 17, "Add Outgoing Streams Request";
    /// Requests more streams of the receiver (RFC 6525, section 4.6).
    ADD_INCOMING_STREAMS_REQUEST = 18, "Add Incoming Streams Request";
    /// Reserved for explicit congestion notification.
    ECN_CAPABLE = 0x8000, "ECN Capable";
    /// The sender accepts packets without a checksum (RFC 9653, section 4).
    ZERO_CHECKSUM_ACCEPTABLE = 0x8001, "Zero Checksum Acceptable";
    /// The sender's random contribution to the keys (RFC 4895, section 3.1).
    RANDOM = 0x8002, "Random";
    /// Chunk types that the sender accepts only if authenticated (RFC 4895, section 3.2).
    CHUNKS = 0x8003, "Chunk List";
    /// HMAC algorithms that the sender supports (RFC 4895, section 3.3).
    HMAC_ALGO = 0x8004, "Requested HMAC Algorithm";
    /// Chunk types beyond RFC 9260 that the sender supports (RFC 5061, section 4.2.7).
    SUPPORTED_EXTENSIONS = 0x8008, "Supported Extensions";
    /// The sender supports partial reliability (RFC 3758, section 3.1).
    FORWARD_TSN_SUPPORTED = 0xc000, "Forward-TSN-Supported";
    /// An address that the sender adds (RFC 5061, section 4.2.1).
    ADD_IP_ADDRESS = 0xc001, "Add IP Address";
    /// An address that the sender deletes (RFC 5061, section 4.2.2).
    DELETE_IP_ADDRESS = 0xc002, "Delete IP Address";
    /// Reason for which a request was refused (RFC 5061, section 4.2.3).
    ERROR_CAUSE_INDICATION = 0xc003, "Error Cause Indication";
    /// The address to which the sender wants data to be sent (RFC 5061, section 4.2.4).
    SET_PRIMARY_ADDRESS = 0xc004, "Set Primary Address";
    /// A request succeeded (RFC 5061, section 4.2.5).
    SUCCESS_INDICATION = 0xc005, "Success Indication";
}

impl ParameterType {
    /// Treatment of an unrecognized parameter of this type.
    pub const fn unrecognized_action(self) -> UnrecognizedAction {
        UnrecognizedAction::from_bits((self.0 >> 14) as u8)
    }
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("parameter {:#06x}", self.0)),
        }
    }
}

/// Code of an error cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CauseCode(pub u16);

numbers! { CauseCode:
    /// DATA on a stream that does not exist.
    INVALID_STREAM_IDENTIFIER = 1, "Invalid Stream Identifier";
    /// INIT or INIT ACK without a mandatory parameter.
    MISSING_MANDATORY_PARAMETER = 2, "Missing Mandatory Parameter";
    /// The state cookie arrived too late.
    STALE_COOKIE = 3, "Stale Cookie";
    /// No memory or no buffer is left.
    OUT_OF_RESOURCE = 4, "Out of Resource";
    /// An address that cannot be used.
    UNRESOLVABLE_ADDRESS = 5, "Unresolvable Address";
    /// A chunk of unknown type.
    UNRECOGNIZED_CHUNK_TYPE = 6, "Unrecognized Chunk Type";
    /// Mandatory parameter out of range (RFC 9260, section 3.3.10.7).
    INVALID_MANDATORY_PARAMETER = 7, "Invalid Mandatory Parameter";
    /// Parameters of unknown type in an INIT ACK.
    UNRECOGNIZED_PARAMETERS = 8, "Unrecognized Parameters";
    /// DATA with no byte of user data (RFC 9260, section 3.3.10.9).
    NO_USER_DATA = 9, "No User Data";
    /// COOKIE ECHO during a shutdown.
    COOKIE_RECEIVED_WHILE_SHUTTING_DOWN = 10, "Cookie Received While Shutting Down";
    /// A restart that would add addresses.
    RESTART_WITH_NEW_ADDRESSES = 11, "Restart of an Association with New Addresses";
    /// The application aborted the association (RFC 9260, section 3.3.10.12).
    USER_INITIATED_ABORT = 12, "User-Initiated Abort";
    /// The peer violated the protocol in a way without a cause of its own.
    PROTOCOL_VIOLATION = 13, "Protocol Violation";
    /// The last address of the peer would be deleted (RFC 5061, section 4.3.1).
    DELETE_LAST_ADDRESS = 0xa0, "Request to Delete Last Remaining IP Address";
    /// No resources for a further address (RFC 5061, section 4.3.2).
    OPERATION_REFUSED = 0xa1, "Operation Refused Due to Resource Shortage";
    /// The source address of the request would be deleted (RFC 5061, section 4.3.3).
    DELETE_SOURCE_ADDRESS = 0xa2, "Request to Delete Source IP Address";
    /// An ASCONF-ACK answers an ASCONF that was never sent (RFC 5061, section 4.3.4).
    ILLEGAL_ASCONF_ACK = 0xa3, "Association Aborted Due to Illegal ASCONF-ACK";
    /// The peer is not authorized (RFC 5061, section 4.3.5).
    NO_AUTHORIZATION = 0xa4, "Request Refused - No Authorization";
    /// An AUTH chunk with an HMAC identifier that its receiver did not offer (RFC 4895, section 4).
    UNSUPPORTED_HMAC_IDENTIFIER = 0x105, "Unsupported HMAC Identifier";
}

impl fmt::Display for CauseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("error cause {}", self.0)),
        }
    }
}

/// Treatment of an unrecognized type, by its two upper bits (RFC 9260, sections 3.2 and 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnrecognizedAction {
    /// 00: ignore the rest of the packet (of the chunk, for a parameter).
    Stop,
    /// 01: as 00, and report the element to the sender.
    StopAndReport,
    /// 10: skip the element and continue.
    Skip,
    /// 11: as 10, and report the element to the sender.
    SkipAndReport,
}

impl UnrecognizedAction {
    /// The action for the two upper bits, given as the two lowest of `bits`.
    pub(crate) const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => UnrecognizedAction::Stop,
            1 => UnrecognizedAction::StopAndReport,
            2 => UnrecognizedAction::Skip,
            _ => UnrecognizedAction::SkipAndReport,
        }
    }

    /// Whether the rest of the packet or chunk is ignored.
    pub const fn stops(self) -> bool {
        matches!(self, UnrecognizedAction::Stop | UnrecognizedAction::StopAndReport)
    }

    /// Whether the element is reported to the sender.
    pub const fn reports(self) -> bool {
        matches!(self, UnrecognizedAction::StopAndReport | UnrecognizedAction::SkipAndReport)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_number_has_one_meaning_and_a_meaning_one_number() {
        fn assert_distinct<T: Copy + Ord>(named: &[T], name: impl Fn(T) -> Option<&'static str>) {
            let numbers: BTreeSet<T> = named.iter().copied().collect();
            let names: BTreeSet<&str> = named.iter().filter_map(|number| name(*number)).collect();
            assert_eq!((numbers.len(), names.len()), (named.len(), named.len()));
        }
        assert_distinct(ChunkType::NAMED, ChunkType::name);
        assert_distinct(ParameterType::NAMED, ParameterType::name);
        assert_distinct(CauseCode::NAMED, CauseCode::name);
    }

    #[test]
    fn reserved_congestion_chunks_are_skipped_in_silence() {
        for reserved in [ChunkType::ECNE, ChunkType::CWR] {
            assert_eq!(reserved.unrecognized_action(), UnrecognizedAction::Skip);
        }
    }

    #[test]
    fn unknown_types_follow_their_upper_bits() {
        let action = |number| ChunkType(number).unrecognized_action();
        assert_eq!(action(0x3f), UnrecognizedAction::Stop);
        assert_eq!(action(0x40), UnrecognizedAction::StopAndReport);
        assert_eq!(action(0x80), UnrecognizedAction::Skip);
        assert_eq!(action(0xc0), UnrecognizedAction::SkipAndReport);
    }
}
