//! Layout of chunks, parameters and causes: RFC 9260, section 3.3; RFC 3758; RFC 4895; RFC 5061;
//! RFC 6525; RFC 8260; RFC 9653; NR-SACK after draft-tuexen-tsvwg-sctp-nr-sack.

use super::Kind;
use crate::mapping::Role;

/// Encoding of a field on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    U16,
    U32,
    /// 16 reserved bits, which no script mentions.
    Reserved16,
    Ipv4,
    Ipv6,
    /// 32 bits that may be absent.
    OptionalU32,
    /// Text that ends with a zero.
    HostName,
    Text,
    /// The remaining bytes, compared one by one.
    Raw,
    /// The remaining user data: its length is compared, its contents are not.
    Payload,
    U8List,
    U16List,
    /// Stream identifiers; empty if the script does not mention them.
    OptionalU16List,
    /// A 32-bit count and that many 16-bit numbers.
    CountedU16List,
    /// Gap ack blocks; their number precedes all lists of the chunk.
    Gaps,
    /// Duplicate TSNs; their number precedes all lists of the chunk.
    Duplicates,
    /// A stream identifier and its SSN, 16 bits each.
    StreamSsn,
    /// Stream identifier and flags, 16 bits each, and MID.
    StreamMid,
    /// The remaining elements of this kind.
    Elements(Kind),
    /// An element that the peer sent and that is returned to it.
    Reflected(Kind),
}

impl Codec {
    /// Whether a packet to send needs the value: bytes can be counted or remembered instead.
    pub(crate) fn must_be_known(self) -> bool {
        use Codec::{Elements, HostName, Payload, Raw, Reflected, Reserved16, Text};
        !matches!(self, Reserved16 | HostName | Text | Raw | Payload | Elements(_) | Reflected(_))
    }
}

/// A field of an element.
#[derive(Debug, PartialEq)]
pub(crate) struct FieldShape {
    pub(crate) key: &'static str,
    pub(crate) codec: Codec,
    pub(crate) role: Role,
}

/// Layout of a kind of element.
#[derive(Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) code: u16,
    pub(crate) fields: &'static [FieldShape],
    /// Whether a script gives the code itself: `CHUNK[type=…]`.
    pub(crate) generic: bool,
}

const fn field(key: &'static str, codec: Codec, role: Role) -> FieldShape {
    FieldShape { key, codec, role }
}

const fn plain(key: &'static str, codec: Codec) -> FieldShape {
    field(key, codec, Role::Plain)
}

const fn shape(kind: Kind, name: &'static str, code: u16, fields: &'static [FieldShape]) -> Shape {
    Shape { name, kind, code, fields, generic: false }
}

const fn chunk(name: &'static str, code: u16, fields: &'static [FieldShape]) -> Shape {
    shape(Kind::Chunk, name, code, fields)
}

const fn parameter(name: &'static str, code: u16, fields: &'static [FieldShape]) -> Shape {
    shape(Kind::Parameter, name, code, fields)
}

const fn cause(name: &'static str, code: u16, fields: &'static [FieldShape]) -> Shape {
    shape(Kind::Cause, name, code, fields)
}

const INIT: &[FieldShape] = &[
    field("tag", Codec::U32, Role::OwnTag),
    plain("a_rwnd", Codec::U32),
    plain("os", Codec::U16),
    plain("is", Codec::U16),
    field("tsn", Codec::U32, Role::OwnTsn),
    plain("params", Codec::Elements(Kind::Parameter)),
];
const VALUE: &[FieldShape] = &[plain("val", Codec::Raw)];
const INFORMATION: &[FieldShape] = &[plain("info", Codec::Raw)];
const CAUSES: &[FieldShape] = &[plain("causes", Codec::Elements(Kind::Cause))];
const PARAMETERS: &[FieldShape] = &[plain("params", Codec::Elements(Kind::Parameter))];
const REFLECTED: &[FieldShape] = &[plain("params", Codec::Reflected(Kind::Parameter))];
const CUMULATIVE: &[FieldShape] = &[field("cum_tsn", Codec::U32, Role::PeerTsn)];
const TEXT: &[FieldShape] = &[plain("info", Codec::Text)];
const ADDRESS_CHANGE: &[FieldShape] =
    &[plain("cid", Codec::U32), plain("addr", Codec::Elements(Kind::Parameter))];
const STREAMS_TO_ADD: &[FieldShape] = &[
    field("req_sn", Codec::U32, Role::OwnTsn),
    plain("number_of_new_streams", Codec::U16),
    plain("", Codec::Reserved16),
];

/// Every named element. An element without a name is parsed as the first generic one of its kind.
pub(crate) static SHAPES: &[Shape] = &[
    chunk(
        "DATA",
        0,
        &[
            field("tsn", Codec::U32, Role::OwnTsn),
            plain("sid", Codec::U16),
            plain("ssn", Codec::U16),
            plain("ppid", Codec::U32),
            plain("", Codec::Payload),
        ],
    ),
    chunk("INIT", 1, INIT),
    chunk("INIT_ACK", 2, INIT),
    chunk(
        "SACK",
        3,
        &[
            field("cum_tsn", Codec::U32, Role::PeerTsn),
            plain("a_rwnd", Codec::U32),
            plain("gaps", Codec::Gaps),
            field("dups", Codec::Duplicates, Role::PeerTsn),
        ],
    ),
    chunk("HEARTBEAT", 4, PARAMETERS),
    chunk("HEARTBEAT_ACK", 5, PARAMETERS),
    chunk("ABORT", 6, CAUSES),
    chunk("SHUTDOWN", 7, CUMULATIVE),
    chunk("SHUTDOWN_ACK", 8, &[]),
    chunk("ERROR", 9, CAUSES),
    chunk("COOKIE_ECHO", 10, VALUE),
    chunk("COOKIE_ACK", 11, &[]),
    chunk("ECNE", 12, &[field("tsn", Codec::U32, Role::PeerTsn)]),
    chunk("CWR", 13, &[field("tsn", Codec::U32, Role::OwnTsn)]),
    chunk("SHUTDOWN_COMPLETE", 14, &[]),
    chunk(
        "AUTH",
        15,
        &[plain("shkey_id", Codec::U16), plain("hmac_id", Codec::U16), plain("hmac", Codec::Raw)],
    ),
    chunk(
        "ASCONF_ACK",
        128,
        &[
            field("serial", Codec::U32, Role::PeerTsn),
            plain("params", Codec::Elements(Kind::Parameter)),
        ],
    ),
    chunk(
        "ASCONF",
        193,
        &[
            field("serial", Codec::U32, Role::OwnTsn),
            plain("params", Codec::Elements(Kind::Parameter)),
        ],
    ),
    chunk(
        "NR_SACK",
        16,
        &[
            field("cum_tsn", Codec::U32, Role::PeerTsn),
            plain("a_rwnd", Codec::U32),
            plain("gaps", Codec::Gaps),
            plain("nr_gaps", Codec::Gaps),
            field("dups", Codec::Duplicates, Role::PeerTsn),
        ],
    ),
    chunk(
        "I_DATA",
        64,
        &[
            field("tsn", Codec::U32, Role::OwnTsn),
            plain("sid", Codec::U16),
            plain("", Codec::Reserved16),
            plain("mid", Codec::U32),
            plain("ppid|fsn", Codec::U32),
            plain("", Codec::Payload),
        ],
    ),
    chunk("RECONFIG", 130, PARAMETERS),
    chunk("PAD", 132, VALUE),
    chunk(
        "FORWARD_TSN",
        192,
        &[field("cum_tsn", Codec::U32, Role::OwnTsn), plain("ids", Codec::StreamSsn)],
    ),
    chunk(
        "I_FORWARD_TSN",
        194,
        &[field("cum_tsn", Codec::U32, Role::OwnTsn), plain("ids", Codec::StreamMid)],
    ),
    Shape { name: "CHUNK", kind: Kind::Chunk, code: 0, fields: VALUE, generic: true },
    parameter("HEARTBEAT_INFORMATION", 1, VALUE),
    parameter("IPV4_ADDRESS", 5, &[plain("addr", Codec::Ipv4)]),
    parameter("IPV6_ADDRESS", 6, &[plain("addr", Codec::Ipv6)]),
    parameter("STATE_COOKIE", 7, VALUE),
    parameter("UNRECOGNIZED_PARAMETER", 8, REFLECTED),
    parameter("COOKIE_PRESERVATIVE", 9, &[plain("incr", Codec::U32)]),
    parameter("HOSTNAME_ADDRESS", 11, &[plain("addr", Codec::HostName)]),
    parameter("SUPPORTED_ADDRESS_TYPES", 12, &[plain("types", Codec::U16List)]),
    parameter(
        "OUTGOING_SSN_RESET",
        13,
        &[
            field("req_sn", Codec::U32, Role::OwnTsn),
            field("resp_sn", Codec::U32, Role::PeerTsn),
            field("last_tsn", Codec::U32, Role::OwnTsn),
            plain("sids", Codec::OptionalU16List),
        ],
    ),
    parameter(
        "INCOMING_SSN_RESET",
        14,
        &[field("req_sn", Codec::U32, Role::OwnTsn), plain("sids", Codec::OptionalU16List)],
    ),
    parameter("SSN_TSN_RESET", 15, &[field("req_sn", Codec::U32, Role::OwnTsn)]),
    parameter(
        "RECONFIG_RESPONSE",
        16,
        &[
            field("resp_sn", Codec::U32, Role::PeerTsn),
            plain("result", Codec::U32),
            field("sender_next_tsn", Codec::OptionalU32, Role::OwnTsn),
            field("receiver_next_tsn", Codec::OptionalU32, Role::PeerTsn),
        ],
    ),
    parameter("ADD_OUTGOING_STREAMS", 17, STREAMS_TO_ADD),
    parameter("ADD_INCOMING_STREAMS", 18, STREAMS_TO_ADD),
    parameter("ECN_CAPABLE", 0x8000, &[]),
    parameter("ZERO_CHECKSUM_ACCEPTABLE", 0x8001, &[plain("edmid", Codec::U32)]),
    parameter("RANDOM", 0x8002, VALUE),
    parameter("CHUNKS", 0x8003, &[plain("types", Codec::U8List)]),
    parameter("HMAC_ALGORITHMS", 0x8004, &[plain("ids", Codec::U16List)]),
    parameter("ADD_IP_ADDRESS", 0xc001, ADDRESS_CHANGE),
    parameter("DELETE_IP_ADDRESS", 0xc002, ADDRESS_CHANGE),
    parameter(
        "ERROR_CAUSE_INDICATION",
        0xc003,
        &[plain("cid", Codec::U32), plain("causes", Codec::Elements(Kind::Cause))],
    ),
    parameter("SET_PRIMARY_ADDRESS", 0xc004, ADDRESS_CHANGE),
    parameter("SUCCESS_INDICATION", 0xc005, &[plain("cid", Codec::U32)]),
    parameter("PAD", 0x8005, VALUE),
    parameter("SUPPORTED_EXTENSIONS", 0x8008, &[plain("types", Codec::U8List)]),
    parameter("FORWARD_TSN_SUPPORTED", 0xc000, &[]),
    parameter("ADAPTATION_INDICATION", 0xc006, &[plain("adaptation_code_point", Codec::U32)]),
    Shape { name: "PARAMETER", kind: Kind::Parameter, code: 0, fields: VALUE, generic: true },
    Shape {
        name: "RECONFIG_REQUEST_GENERIC",
        kind: Kind::Parameter,
        code: 0,
        fields: &[field("req_sn", Codec::U32, Role::OwnTsn), plain("val", Codec::Raw)],
        generic: true,
    },
    cause(
        "INVALID_STREAM_IDENTIFIER",
        1,
        &[plain("sid", Codec::U16), plain("", Codec::Reserved16)],
    ),
    cause("MISSING_MANDATORY_PARAMETER", 2, &[plain("types", Codec::CountedU16List)]),
    cause("STALE_COOKIE_ERROR", 3, &[plain("staleness", Codec::U32)]),
    cause("OUT_OF_RESOURCES", 4, &[]),
    cause("UNRESOLVABLE_ADDRESS", 5, &[plain("param", Codec::Reflected(Kind::Parameter))]),
    cause("UNRECOGNIZED_CHUNK_TYPE", 6, &[plain("chk", Codec::Reflected(Kind::Chunk))]),
    cause("INVALID_MANDATORY_PARAMETER", 7, &[]),
    cause("UNRECOGNIZED_PARAMETERS", 8, REFLECTED),
    cause("NO_USER_DATA", 9, &[field("tsn", Codec::U32, Role::PeerTsn)]),
    cause("COOKIE_RECEIVED_WHILE_SHUTDOWN", 10, &[]),
    cause("RESTART_WITH_NEW_ADDRESSES", 11, &[plain("params", Codec::Reflected(Kind::Parameter))]),
    cause("USER_INITIATED_ABORT", 12, TEXT),
    cause("PROTOCOL_VIOLATION", 13, TEXT),
    Shape { name: "CAUSE", kind: Kind::Cause, code: 0, fields: INFORMATION, generic: true },
];

/// The shape of the language's `name`.
pub(crate) fn shape_of_name(kind: Kind, name: &str) -> Option<&'static Shape> {
    // Both spellings are in use.
    let name = if name == "OUT_OF_RESOURCE" { "OUT_OF_RESOURCES" } else { name };
    SHAPES.iter().find(|shape| shape.kind == kind && shape.name == name)
}

/// The shape of elements with `code`; the generic one if they have no name.
pub(crate) fn shape_of_code(kind: Kind, code: u16) -> &'static Shape {
    let of_kind = || SHAPES.iter().filter(move |shape| shape.kind == kind);
    let named = of_kind().find(|shape| !shape.generic && shape.code == code);
    named.or_else(|| of_kind().find(|shape| shape.generic)).unwrap_or(&SHAPES[0])
}

/// Number of a name in a list of types: chunks by their names, addresses by their families.
pub(crate) fn type_number(name: &str) -> Option<u16> {
    match name {
        // Error detection method of RFC 9653.
        "SCTP_OVER_DTLS" => Some(1),
        "IPv4" => Some(5),
        "IPv6" => Some(6),
        "HOSTNAME" => Some(11),
        "PKTDROP" => Some(129),
        _ => shape_of_name(Kind::Chunk, name)
            .or_else(|| shape_of_name(Kind::Parameter, name))
            .filter(|shape| !shape.generic)
            .map(|shape| shape.code),
    }
}
