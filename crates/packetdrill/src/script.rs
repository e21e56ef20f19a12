//! A script as the parser hands it out.

use core::net::IpAddr;

use base::Duration;

use crate::element::Element;
use crate::expression::Expression;

/// A script under one set of defined names.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// `--name=value` lines.
    pub options: Vec<ScriptOption>,
    /// What happens, in order. Shell commands before the first event come first, at any time.
    pub events: Vec<Event>,
}

/// A `--name=value` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// The line, from 1.
    pub line: usize,
    /// Without the dashes.
    pub name: String,
    /// What follows the equals sign, if there is one.
    pub value: Option<String>,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Time at which it happens, or the span in which it may.
    pub when: When,
    /// What.
    pub action: Action,
}

/// When an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// `*`: at any time.
    Any,
    /// At a time, or within a range.
    At {
        /// Counted from the event before (`+`), not from the beginning.
        relative: bool,
        /// The time, or the beginning of the range.
        from: Duration,
        /// The end of a range (`a~b`), counted like `from`.
        to: Option<Duration>,
        /// When a call that blocks returns (`a...b`), counted like `from`.
        until: Option<Duration>,
    },
}

/// What an event does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `<`: a packet arrives at the stack.
    Inject(Packet),
    /// `>`: the next packet of the stack looks like this.
    Expect(Packet),
    /// The application calls.
    Call(Call),
    /// A shell command.
    Shell(String),
    /// Assertions between `%{` and `}%`.
    Code(String),
    /// Something that this crate cannot do, and why.
    Unsupported(String),
}

/// A packet, to send or to expect.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Where it comes from and goes to, if the script says.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// Codepoint of explicit congestion notification, if the script says.
    pub ecn: Option<String>,
    /// Type of service or traffic class, if the script says.
    pub traffic_class: Option<u8>,
    /// Time to live or hop limit, if the script says.
    pub hop_limit: Option<u8>,
    /// What it carries.
    pub content: Content,
}

/// What a packet carries.
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
    /// The words behind `icmp`.
    pub words: Vec<String>,
    /// The packet that it quotes, in the script's numbers.
    pub quoted: Option<Quoted>,
}

/// A packet that an ICMP message quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoted {
    /// One of SCTP, by its verification tag.
    Tag(u32),
    /// One of TCP, by its first sequence number.
    Sequence(u32),
}

/// An SCTP packet as a script writes it; fields may be left open.
#[derive(Clone, Debug, PartialEq)]
pub struct SctpPacket {
    /// Ports of the UDP encapsulation, source and destination, if there is one (RFC 6951).
    pub udp: Option<(u16, u16)>,
    /// Replacement of the checksum.
    pub checksum: Checksum,
    /// The verification tag, if the script says: in the script's numbers.
    pub tag: Option<u32>,
    /// The packet's chunks, or bytes behind the common header.
    pub body: SctpBody,
}

/// The checksum of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// CRC32c.
    Good,
    /// Any other number; only in packets to inject.
    Bad,
    /// Zero (RFC 9653).
    Zero,
}

/// What follows the common header.
#[derive(Clone, Debug, PartialEq)]
pub enum SctpBody {
    /// Chunks in their order in the packet.
    Chunks(Vec<Element>),
    /// Bytes that need be no chunks.
    Raw(Vec<u8>),
}

/// A TCP segment. Sequence numbers count from the initial one.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Letters of the flags as written: `S`, `F`, `R`, `P`, `E`, `W`, `A`, `U`, `.`, or `-` for none.
    pub flags: String,
    /// First sequence number; none is not compared (`...`).
    pub sequence: Option<u32>,
    /// The sequence number is the one in the header, not counted from anywhere (`0:0(0)!`).
    pub absolute: bool,
    /// Bytes of payload.
    pub length: u32,
    /// Acknowledgement number.
    pub ack: Option<Number>,
    /// Window as in the header.
    pub window: Option<Number>,
    /// Urgent pointer.
    pub urgent: Option<u32>,
    /// Options in order; none ignores them (`<...>`), empty means that there are none.
    pub options: Option<Vec<TcpOption>>,
}

/// A number of a header that the script may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `...`
    Any,
    /// This one.
    Is(u32),
}

/// A TCP option as a script writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// `nop`: one byte of padding.
    Nop,
    /// `eol`
    End,
    /// `mss n`
    Mss(u32),
    /// `wscale n`
    WindowScale(u32),
    /// `sackOK`
    SackPermitted,
    /// `sack a:b c:d`
    Sack(Vec<(u32, u32)>),
    /// `TS val n ecr n`
    Timestamp(Option<u32>, Option<u32>),
    /// A kind that only the wire has, with its bytes.
    Raw(u8, Vec<u8>),
    /// Any other, as written.
    Other(String),
}

impl TcpOption {
    /// Bytes in the header; those of a kind that is not known do not count.
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

/// A call of the application and what it must return.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function.
    pub name: String,
    /// The call's arguments, in order.
    pub arguments: Vec<Expression>,
    /// The value it returns: a number, or [`Expression::Any`].
    pub returns: Expression,
    /// The name of the error.
    pub errno: Option<String>,
}
