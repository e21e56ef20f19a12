//! Type numbers of chunks, parameters and causes, and the treatment of unrecognized ones (RFC 9260, sections 3.2,
//! 3.2.1 and 3.3.10).

use core::fmt;

/// T: the packet carries the tag of its own sender, as the packet that it answers did (ABORT and SHUTDOWN COMPLETE; RFC
/// 9260, section 8.5.1).
pub(super) const T_BIT: u8 = 0x01;

/// Type number of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkType(pub u8);

impl ChunkType {
    /// User data.
    pub const DATA: ChunkType = ChunkType(0);
    /// Begins an association.
    pub const INIT: ChunkType = ChunkType(1);
    /// Answers INIT.
    pub const INIT_ACK: ChunkType = ChunkType(2);
    /// Selective acknowledgement.
    pub const SACK: ChunkType = ChunkType(3);
    /// Probes a path.
    pub const HEARTBEAT: ChunkType = ChunkType(4);
    /// Answers HEARTBEAT.
    pub const HEARTBEAT_ACK: ChunkType = ChunkType(5);
    /// Ends an association at once.
    pub const ABORT: ChunkType = ChunkType(6);
    /// Begins a graceful shutdown.
    pub const SHUTDOWN: ChunkType = ChunkType(7);
    /// Answers SHUTDOWN.
    pub const SHUTDOWN_ACK: ChunkType = ChunkType(8);
    /// Reports an error that does not end the association.
    pub const ERROR: ChunkType = ChunkType(9);
    /// Returns the state cookie.
    pub const COOKIE_ECHO: ChunkType = ChunkType(10);
    /// Answers COOKIE ECHO.
    pub const COOKIE_ACK: ChunkType = ChunkType(11);
    /// Reserved for an explicit congestion notification echo.
    pub const ECNE: ChunkType = ChunkType(12);
    /// Reserved for a notice that the congestion window was reduced.
    pub const CWR: ChunkType = ChunkType(13);
    /// Answers SHUTDOWN ACK.
    pub const SHUTDOWN_COMPLETE: ChunkType = ChunkType(14);
    /// Authenticates the chunks after it (RFC 4895).
    pub const AUTH: ChunkType = ChunkType(15);
    /// User data whose fragments may alternate with those of other messages (RFC 8260).
    pub const I_DATA: ChunkType = ChunkType(64);
    /// Answers ASCONF (RFC 5061).
    pub const ASCONF_ACK: ChunkType = ChunkType(128);
    /// Resets and adds streams (RFC 6525).
    pub const RE_CONFIG: ChunkType = ChunkType(130);
    /// Fills a packet up (RFC 4820).
    pub const PAD: ChunkType = ChunkType(132);
    /// Moves the receiver past abandoned messages (RFC 3758).
    pub const FORWARD_TSN: ChunkType = ChunkType(192);
    /// Changes the sender's addresses (RFC 5061).
    pub const ASCONF: ChunkType = ChunkType(193);
    /// FORWARD TSN for messages that may interleave (RFC 8260).
    pub const I_FORWARD_TSN: ChunkType = ChunkType(194);

    /// The type's name in its RFC; `None` if it is unknown.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            ChunkType::DATA => "DATA",
            ChunkType::INIT => "INIT",
            ChunkType::INIT_ACK => "INIT ACK",
            ChunkType::SACK => "SACK",
            ChunkType::HEARTBEAT => "HEARTBEAT",
            ChunkType::HEARTBEAT_ACK => "HEARTBEAT ACK",
            ChunkType::ABORT => "ABORT",
            ChunkType::SHUTDOWN => "SHUTDOWN",
            ChunkType::SHUTDOWN_ACK => "SHUTDOWN ACK",
            ChunkType::ERROR => "ERROR",
            ChunkType::COOKIE_ECHO => "COOKIE ECHO",
            ChunkType::COOKIE_ACK => "COOKIE ACK",
            ChunkType::ECNE => "ECNE",
            ChunkType::CWR => "CWR",
            ChunkType::SHUTDOWN_COMPLETE => "SHUTDOWN COMPLETE",
            ChunkType::AUTH => "AUTH",
            ChunkType::I_DATA => "I-DATA",
            ChunkType::ASCONF_ACK => "ASCONF-ACK",
            ChunkType::RE_CONFIG => "RE-CONFIG",
            ChunkType::PAD => "PAD",
            ChunkType::FORWARD_TSN => "FORWARD TSN",
            ChunkType::ASCONF => "ASCONF",
            ChunkType::I_FORWARD_TSN => "I-FORWARD-TSN",
            _ => return None,
        })
    }

    /// Treatment of an unrecognized chunk of this type.
    ///
    /// ECNE and CWR are assigned and have no meaning without negotiation, so they are skipped, although their upper
    /// bits demand to stop.
    pub const fn unrecognized_action(self) -> UnrecognizedAction {
        match self {
            ChunkType::ECNE | ChunkType::CWR => UnrecognizedAction::Skip,
            ChunkType(number) => UnrecognizedAction::from_bits(number >> 6),
        }
    }

    /// Whether a chunk with these flags comes with the tag of its own sender, as a reflection of the packet that it answers
    /// (RFC 9260, section 8.5.1, rules B and C).
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

/// Type number of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterType(pub u16);

impl ParameterType {
    /// Contents of a HEARTBEAT.
    pub const HEARTBEAT_INFO: ParameterType = ParameterType(1);
    /// An IPv4 address of the sender.
    pub const IPV4_ADDRESS: ParameterType = ParameterType(5);
    /// An IPv6 address of the sender.
    pub const IPV6_ADDRESS: ParameterType = ParameterType(6);
    /// The state cookie of an INIT ACK.
    pub const STATE_COOKIE: ParameterType = ParameterType(7);
    /// A parameter of the INIT that the sender of the INIT ACK did not recognize.
    pub const UNRECOGNIZED_PARAMETER: ParameterType = ParameterType(8);
    /// Request for a longer lifetime of the state cookie.
    pub const COOKIE_PRESERVATIVE: ParameterType = ParameterType(9);
    /// A host name instead of addresses: deprecated, and rejected.
    pub const HOST_NAME_ADDRESS: ParameterType = ParameterType(11);
    /// The kinds of addresses that the sender supports.
    pub const SUPPORTED_ADDRESS_TYPES: ParameterType = ParameterType(12);
    /// Resets the sender's streams (RFC 6525, section 4.1).
    pub const OUTGOING_SSN_RESET_REQUEST: ParameterType = ParameterType(13);
    /// Requests the reset of the receiver's streams (RFC 6525, section 4.2).
    pub const INCOMING_SSN_RESET_REQUEST: ParameterType = ParameterType(14);
    /// Requests the reset of all streams and TSNs (RFC 6525, section 4.3).
    pub const SSN_TSN_RESET_REQUEST: ParameterType = ParameterType(15);
    /// Result of a request (RFC 6525, section 4.4).
    pub const RECONFIGURATION_RESPONSE: ParameterType = ParameterType(16);
    /// Requests more streams of the sender (RFC 6525, section 4.5).
    pub const ADD_OUTGOING_STREAMS_REQUEST: ParameterType = ParameterType(17);
    /// Requests more streams of the receiver (RFC 6525, section 4.6).
    pub const ADD_INCOMING_STREAMS_REQUEST: ParameterType = ParameterType(18);
    /// Reserved for explicit congestion notification.
    pub const ECN_CAPABLE: ParameterType = ParameterType(0x8000);
    /// The sender accepts packets without a checksum (RFC 9653, section 4).
    pub const ZERO_CHECKSUM_ACCEPTABLE: ParameterType = ParameterType(0x8001);
    /// The sender's random contribution to the keys (RFC 4895, section 3.1).
    pub const RANDOM: ParameterType = ParameterType(0x8002);
    /// Chunk types that the sender accepts only if authenticated (RFC 4895, section 3.2).
    pub const CHUNKS: ParameterType = ParameterType(0x8003);
    /// HMAC algorithms that the sender supports (RFC 4895, section 3.3).
    pub const HMAC_ALGO: ParameterType = ParameterType(0x8004);
    /// Chunk types beyond RFC 9260 that the sender supports (RFC 5061, section 4.2.7).
    pub const SUPPORTED_EXTENSIONS: ParameterType = ParameterType(0x8008);
    /// The sender supports partial reliability (RFC 3758, section 3.1).
    pub const FORWARD_TSN_SUPPORTED: ParameterType = ParameterType(0xc000);

    /// An address that the sender adds (RFC 5061, section 4.2.1).
    pub const ADD_IP_ADDRESS: ParameterType = ParameterType(0xc001);
    /// An address that the sender deletes (RFC 5061, section 4.2.2).
    pub const DELETE_IP_ADDRESS: ParameterType = ParameterType(0xc002);
    /// Why a request was refused (RFC 5061, section 4.2.3).
    pub const ERROR_CAUSE_INDICATION: ParameterType = ParameterType(0xc003);
    /// The address to which the sender wants data to be sent (RFC 5061, section 4.2.4).
    pub const SET_PRIMARY_ADDRESS: ParameterType = ParameterType(0xc004);
    /// A request succeeded (RFC 5061, section 4.2.5).
    pub const SUCCESS_INDICATION: ParameterType = ParameterType(0xc005);

    /// The type's name in its RFC; `None` if it is unknown.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            ParameterType::HEARTBEAT_INFO => "Heartbeat Info",
            ParameterType::IPV4_ADDRESS => "IPv4 Address",
            ParameterType::IPV6_ADDRESS => "IPv6 Address",
            ParameterType::STATE_COOKIE => "State Cookie",
            ParameterType::UNRECOGNIZED_PARAMETER => "Unrecognized Parameter",
            ParameterType::COOKIE_PRESERVATIVE => "Cookie Preservative",
            ParameterType::HOST_NAME_ADDRESS => "Host Name Address",
            ParameterType::SUPPORTED_ADDRESS_TYPES => "Supported Address Types",
            ParameterType::OUTGOING_SSN_RESET_REQUEST => "Outgoing SSN Reset Request",
            ParameterType::INCOMING_SSN_RESET_REQUEST => "Incoming SSN Reset Request",
            ParameterType::SSN_TSN_RESET_REQUEST => "SSN/TSN Reset Request",
            ParameterType::RECONFIGURATION_RESPONSE => "Re-configuration Response",
            ParameterType::ADD_OUTGOING_STREAMS_REQUEST => "Add Outgoing Streams Request",
            ParameterType::ADD_INCOMING_STREAMS_REQUEST => "Add Incoming Streams Request",
            ParameterType::ECN_CAPABLE => "ECN Capable",
            ParameterType::ZERO_CHECKSUM_ACCEPTABLE => "Zero Checksum Acceptable",
            ParameterType::RANDOM => "Random",
            ParameterType::CHUNKS => "Chunk List",
            ParameterType::HMAC_ALGO => "Requested HMAC Algorithm",
            ParameterType::SUPPORTED_EXTENSIONS => "Supported Extensions",
            ParameterType::FORWARD_TSN_SUPPORTED => "Forward-TSN-Supported",
            ParameterType::ADD_IP_ADDRESS => "Add IP Address",
            ParameterType::DELETE_IP_ADDRESS => "Delete IP Address",
            ParameterType::ERROR_CAUSE_INDICATION => "Error Cause Indication",
            ParameterType::SET_PRIMARY_ADDRESS => "Set Primary Address",
            ParameterType::SUCCESS_INDICATION => "Success Indication",
            _ => return None,
        })
    }

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

impl CauseCode {
    /// DATA on a stream that does not exist.
    pub const INVALID_STREAM_IDENTIFIER: CauseCode = CauseCode(1);
    /// INIT or INIT ACK without a mandatory parameter.
    pub const MISSING_MANDATORY_PARAMETER: CauseCode = CauseCode(2);
    /// The state cookie arrived too late.
    pub const STALE_COOKIE: CauseCode = CauseCode(3);
    /// No memory or no buffer is left.
    pub const OUT_OF_RESOURCE: CauseCode = CauseCode(4);
    /// An address that cannot be used.
    pub const UNRESOLVABLE_ADDRESS: CauseCode = CauseCode(5);
    /// A chunk of unknown type.
    pub const UNRECOGNIZED_CHUNK_TYPE: CauseCode = CauseCode(6);
    /// A mandatory parameter with an invalid value.
    pub const INVALID_MANDATORY_PARAMETER: CauseCode = CauseCode(7);
    /// Parameters of unknown type in an INIT ACK.
    pub const UNRECOGNIZED_PARAMETERS: CauseCode = CauseCode(8);
    /// DATA without user data.
    pub const NO_USER_DATA: CauseCode = CauseCode(9);
    /// COOKIE ECHO during a shutdown.
    pub const COOKIE_RECEIVED_WHILE_SHUTTING_DOWN: CauseCode = CauseCode(10);
    /// A restart that would add addresses.
    pub const RESTART_WITH_NEW_ADDRESSES: CauseCode = CauseCode(11);
    /// The application aborted.
    pub const USER_INITIATED_ABORT: CauseCode = CauseCode(12);
    /// The peer violated the protocol in a way without a cause of its own.
    pub const PROTOCOL_VIOLATION: CauseCode = CauseCode(13);
    /// The last address of the peer would be deleted (RFC 5061, section 4.3.1).
    pub const DELETE_LAST_ADDRESS: CauseCode = CauseCode(0xa0);
    /// No resources for a further address (RFC 5061, section 4.3.2).
    pub const OPERATION_REFUSED: CauseCode = CauseCode(0xa1);
    /// The source address of the request would be deleted (RFC 5061, section 4.3.3).
    pub const DELETE_SOURCE_ADDRESS: CauseCode = CauseCode(0xa2);
    /// An ASCONF-ACK answers an ASCONF that was never sent (RFC 5061, section 4.3.4).
    pub const ILLEGAL_ASCONF_ACK: CauseCode = CauseCode(0xa3);
    /// The peer is not authorized (RFC 5061, section 4.3.5).
    pub const NO_AUTHORIZATION: CauseCode = CauseCode(0xa4);
    /// An AUTH chunk with an HMAC identifier that its receiver did not offer (RFC 4895, section 4).
    pub const UNSUPPORTED_HMAC_IDENTIFIER: CauseCode = CauseCode(0x105);

    /// The cause's name in its RFC; `None` if it is unknown.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            CauseCode::INVALID_STREAM_IDENTIFIER => "Invalid Stream Identifier",
            CauseCode::MISSING_MANDATORY_PARAMETER => "Missing Mandatory Parameter",
            CauseCode::STALE_COOKIE => "Stale Cookie",
            CauseCode::OUT_OF_RESOURCE => "Out of Resource",
            CauseCode::UNRESOLVABLE_ADDRESS => "Unresolvable Address",
            CauseCode::UNRECOGNIZED_CHUNK_TYPE => "Unrecognized Chunk Type",
            CauseCode::INVALID_MANDATORY_PARAMETER => "Invalid Mandatory Parameter",
            CauseCode::UNRECOGNIZED_PARAMETERS => "Unrecognized Parameters",
            CauseCode::NO_USER_DATA => "No User Data",
            CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => "Cookie Received While Shutting Down",
            CauseCode::RESTART_WITH_NEW_ADDRESSES => "Restart of an Association with New Addresses",
            CauseCode::USER_INITIATED_ABORT => "User-Initiated Abort",
            CauseCode::PROTOCOL_VIOLATION => "Protocol Violation",
            CauseCode::DELETE_LAST_ADDRESS => "Request to Delete Last Remaining IP Address",
            CauseCode::OPERATION_REFUSED => "Operation Refused Due to Resource Shortage",
            CauseCode::DELETE_SOURCE_ADDRESS => "Request to Delete Source IP Address",
            CauseCode::ILLEGAL_ASCONF_ACK => "Association Aborted Due to Illegal ASCONF-ACK",
            CauseCode::NO_AUTHORIZATION => "Request Refused - No Authorization",
            CauseCode::UNSUPPORTED_HMAC_IDENTIFIER => "Unsupported HMAC Identifier",
            _ => return None,
        })
    }
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
    use super::*;

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
