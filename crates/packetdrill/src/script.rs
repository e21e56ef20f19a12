//! A parsed script: options, and events with their times.

use core::net::IpAddr;

use base::Duration;

use crate::element::Element;
use crate::expression::Expression;

/// A script under one set of defined names.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Options from lines `--name=value`, in order.
    pub options: Vec<ScriptOption>,
    /// Events in order. Shell commands before the first event come first, without a time.
    pub events: Vec<Event>,
}

/// A line `--name=value` at the head of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Line in the script, from 1.
    pub line: usize,
    /// Name without the dashes, such as `tolerance_usecs`.
    pub name: String,
    /// Value after the equals sign, if any.
    pub value: Option<String>,
}

/// A line of the script: an action and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Instant of the event, or its range.
    pub when: When,
    /// Packet to be sent or expected, call, command or assertion.
    pub action: Action,
}

/// Time of an event, exact, as a range, or open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Any time: `*`.
    Any,
    /// At a time, or within a range.
    At {
        /// Whether times are relative to the previous event (`+`) instead of the beginning.
        relative: bool,
        /// The time, or the beginning of the range.
        from: Duration,
        /// The end of a range (`a~b`), counted like `from`.
        to: Option<Duration>,
        /// Time at which a blocking call returns (`a...b`), counted like `from`.
        until: Option<Duration>,
    },
}

/// Action of an event, of the peer, the stack or the application.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `<`: a packet arrives at the stack.
    Inject(Packet),
    /// `>`: the next packet of the stack matches this.
    Expect(Packet),
    /// A call of the application.
    Call(Call),
    /// A shell command, such as one that sets a sysctl.
    Shell(String),
    /// Assertions between `%{` and `}%`.
    Code(String),
    /// An unsupported event, with the reason.
    Unsupported(String),
}

/// A packet, to send or to expect.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Source and destination, if the script gives them.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// ECN codepoint, if the script gives it.
    pub ecn: Option<String>,
    /// Type of service or traffic class, if the script gives it.
    pub traffic_class: Option<u8>,
    /// Time to live or hop limit, if the script gives it.
    pub hop_limit: Option<u8>,
    /// Payload of the packet behind the IP header.
    pub content: Content,
}

/// Payload of a packet, by its protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Common header and chunks of SCTP.
    Sctp(SctpPacket),
    /// Flags, numbers and options of TCP.
    Tcp(Segment),
    /// An ICMP error with the packet that it quotes.
    Icmp(IcmpMessage),
}

/// An ICMP message about a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcmpMessage {
    /// Words behind `icmp`, which name type and code.
    pub words: Vec<String>,
    /// The quoted packet, in the script's numbers.
    pub quoted: Option<Quoted>,
}

/// A packet that an ICMP message quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoted {
    /// An SCTP packet, by its verification tag.
    Tag(u32),
    /// A TCP segment, by its first sequence number.
    Sequence(u32),
}

/// An SCTP packet in a script; fields may be open.
#[derive(Clone, Debug, PartialEq)]
pub struct SctpPacket {
    /// Source and destination port of the UDP encapsulation, if any (RFC 6951).
    pub udp: Option<(u16, u16)>,
    /// Checksum of the packet, correct unless the script says otherwise.
    pub checksum: Checksum,
    /// Verification tag in the script's numbers, if the script gives it.
    pub tag: Option<u32>,
    /// The packet's chunks, or the bytes after the common header.
    pub body: SctpBody,
}

/// The checksum of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The correct CRC32c.
    Good,
    /// Any other number; only in packets to send to the stack.
    Bad,
    /// Zero: none, as negotiated (RFC 9653).
    Zero,
}

/// Contents after the common header.
#[derive(Clone, Debug, PartialEq)]
pub enum SctpBody {
    /// Chunks in their order in the packet.
    Chunks(Vec<Element>),
    /// Bytes that need not be chunks.
    Raw(Vec<u8>),
}

/// A TCP segment. Sequence numbers are relative to the initial one.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Letters of the flags as written: `S`, `F`, `R`, `P`, `E`, `W`, `A`, `U`, `.`, or `-` for
    /// none.
    pub flags: String,
    /// First sequence number; `None` is not compared (`...`).
    pub sequence: Option<u32>,
    /// Whether the sequence number is that of the header, not relative (`0:0(0)!`).
    pub absolute: bool,
    /// Bytes of payload, without SYN and FIN.
    pub length: u32,
    /// Acknowledgement number, if the flag ACK is set.
    pub ack: Option<Number>,
    /// Window as in the header.
    pub window: Option<Number>,
    /// Urgent pointer, if the flag URG is set.
    pub urgent: Option<u32>,
    /// Options in order; `None` ignores them (`<...>`), an empty list means no options.
    pub options: Option<Vec<TcpOption>>,
}

/// A number in a header that the script may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Wildcard `...`, which any number matches.
    Any,
    /// Exactly the value that is written.
    Is(u32),
}

/// A TCP option as scripts write it within `<>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// `nop`: one byte of padding.
    Nop,
    /// End of the option list: `eol`.
    End,
    /// Maximum segment size: `mss n`.
    Mss(u32),
    /// Shift of the window field: `wscale n`.
    WindowScale(u32),
    /// Permission of SACK: `sackOK`.
    SackPermitted,
    /// SACK blocks, left and right edge: `sack a:b c:d`.
    Sack(Vec<(u32, u32)>),
    /// `TS val n ecr n`
    Timestamp(Option<u32>, Option<u32>),
    /// An option without a name in the language, with its bytes.
    Raw(u8, Vec<u8>),
    /// Any other option, as text.
    Other(String),
}

impl TcpOption {
    /// Bytes in the header; options of unknown kind count as 0.
    pub(crate) fn length(&self) -> usize {
        match self {
            TcpOption::Nop | TcpOption::End => 1,
            TcpOption::SackPermitted => 2,
            TcpOption::WindowScale(_) => 3,
            TcpOption::Mss(_) => 4,
            TcpOption::Timestamp(..) => 10,
            TcpOption::Sack(blocks) => 2 + 8 * blocks.len(),
            TcpOption::Raw(_, bytes) => 2 + bytes.len(),
            TcpOption::Other(_) => 0,
        }
    }
}

/// A call of the application, with the result that it must return.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name of the function, such as `connect`.
    pub name: String,
    /// The call's arguments, in order.
    pub arguments: Vec<Expression>,
    /// Expected result: a number, or [`Expression::Any`].
    pub returns: Expression,
    /// Name of the error, if the call must fail.
    pub errno: Option<String>,
}
