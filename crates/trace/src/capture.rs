//! Reads pcap and pcapng from any source, packet by packet, in a buffer that holds one block.
//!
//! There are libraries for these formats. Those that are kept either refuse a capture whose lengths
//! are not what its header promises, or cannot tell a damaged block from one that is not yet
//! complete, and none says where in the file it stopped. A damaged capture is the usual case when
//! it is copied from a machine in trouble, so the two formats are read here.

mod buffer;
mod pcap;
mod pcapng;
#[cfg(test)]
mod tests;

use core::fmt;
use std::io::{self, Read};

use base::Instant;

use self::buffer::Buffer;
use self::pcapng::Interface;

/// The longest packet or block that is believed, in bytes; lengths beyond it are damage. No capture
/// tool writes packets longer than 256 KiB except for USB.
const LONGEST_BLOCK: usize = 16 << 20;

/// Type of the link-layer header (registry of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the machine that captured.
    pub const NULL: LinkType = LinkType(0);
    /// Frames of IEEE 802.3 (LINKTYPE_ETHERNET).
    pub const ETHERNET: LinkType = LinkType(1);
    /// Nothing: the packet begins with its IP header; the number that some systems write for it.
    pub const RAW_BSD: LinkType = LinkType(12);
    /// Nothing before the IP header; OpenBSD's number for [`LinkType::RAW_BSD`].
    pub const RAW_OPENBSD: LinkType = LinkType(14);
    /// Nothing: the packet begins with its IP header.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture, as of the interface `any`: a header of 16 bytes.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// Nothing before the header of an IPv4 packet.
    pub const IPV4: LinkType = LinkType(228);
    /// Nothing before the header of an IPv6 packet.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

/// A packet of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The packet's place in the file, from 1 as other tools count.
    pub number: u64,
    /// Time of capture, since 1 January 1970 (UTC).
    pub at: Instant,
    /// Index of the interface in its section; 0 in pcap.
    pub interface: u32,
    /// Name of that interface, if the capture has one.
    pub interface_name: Option<&'a str>,
    /// Link layer of its first bytes.
    pub link: LinkType,
    /// Length on the wire, in bytes, never less than the captured length.
    pub original_length: u32,
    /// Captured bytes, from the link's header on; fewer than were on the wire if the capture cut
    /// the frame.
    pub bytes: &'a [u8],
}

/// Place at which a capture could not be read further, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Bytes from the beginning of the file to the block that is damaged.
    pub offset: u64,
    /// Packets that were read before it.
    pub packets: u64,
    /// Kind of the damage, as far as it can be told.
    pub cause: Cause,
}

/// The damage of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The file ends within a block.
    CutOff,
    /// An impossible length: longer than any packet, or other than its surroundings require.
    Length(u64),
    /// A packet of an interface that was not described.
    NoInterface(u32),
    /// An interface whose clock has a resolution that no 64 bits hold.
    Resolution(u8),
    /// A section with a byte order that there is not.
    ByteOrder(u32),
    /// The file could not be read: the system's message.
    Unreadable(String),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::CutOff => f.write_str("cut off")?,
            Cause::Length(length) => write!(f, "damaged: a length of {length} bytes")?,
            Cause::NoInterface(id) => write!(f, "damaged: a packet of interface {id}, unknown")?,
            Cause::Resolution(value) => write!(f, "damaged: a clock's resolution of {value:#x}")?,
            Cause::ByteOrder(magic) => write!(f, "damaged: a byte order of {magic:#x}")?,
            Cause::Unreadable(error) => write!(f, "cannot be read: {error}")?,
        }
        write!(f, "; it was read up to byte {}, after packet {}", self.offset, self.packets)
    }
}

/// The reason why a file is no capture.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file does not begin as pcap or pcapng do.
    NotACapture,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => error.fmt(f),
            OpenError::NotACapture => {
                f.write_str("not a packet capture: expected a file as tcpdump (pcap) or Wireshark (pcapng) write it")
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// Format of a capture file, with the state that its records need.
#[derive(Debug)]
enum Format {
    Pcap(pcap::Header),
    PcapNg(pcapng::Section),
}

impl Format {
    fn interface_name(&self, interface: u32) -> Option<&str> {
        let Format::PcapNg(section) = self else { return None };
        section.interfaces.get(interface as usize).and_then(Interface::name)
    }
}

/// Reads the packets of one capture.
#[derive(Debug)]
pub struct Capture<R> {
    buffer: Buffer<R>,
    format: Format,
    packets: u64,
}

impl<R: Read> Capture<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(source: R) -> Result<Capture<R>, OpenError> {
        let mut buffer = Buffer::new(source);
        buffer.fill(pcap::HEADER).map_err(OpenError::Io)?;
        let format = if let Some(header) = pcap::Header::parse(buffer.data()) {
            buffer.consume(pcap::HEADER);
            Format::Pcap(header)
        } else if pcapng::begins(buffer.data()) {
            Format::PcapNg(pcapng::Section::default())
        } else {
            return Err(OpenError::NotACapture);
        };
        Ok(Capture { buffer, format, packets: 0 })
    }

    /// The next packet; none at the end.
    ///
    /// # Errors
    /// Where nothing further can be read; do not call it again then.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        let found = match &mut self.format {
            Format::Pcap(header) => pcap::next(&mut self.buffer, header),
            Format::PcapNg(section) => pcapng::next(&mut self.buffer, section),
        };
        let place = match found {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(None),
            Err(cause) => {
                let offset = self.buffer.block();
                return Err(Damage { offset, packets: self.packets, cause });
            }
        };
        self.packets += 1;
        let bytes = self.buffer.taken(place.bytes);
        let captured = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Ok(Some(Frame {
            number: self.packets,
            at: place.at,
            interface: place.interface,
            interface_name: self.format.interface_name(place.interface),
            link: place.link,
            original_length: place.original_length.max(captured),
            bytes,
        }))
    }

    /// Number of bytes of the file that were read so far.
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }
}

/// The place of a packet in the bytes that were last taken from the buffer.
#[derive(Clone, Debug)]
struct Place {
    at: Instant,
    interface: u32,
    link: LinkType,
    original_length: u32,
    bytes: core::ops::Range<usize>,
}

/// Reads numbers in the byte order of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    /// The number at `at`, 0 if it is not there.
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let field = field.unwrap_or_default();
        match self {
            Order::Little => u16::from_le_bytes(field),
            Order::Big => u16::from_be_bytes(field),
        }
    }

    /// The number at `at`, 0 if it is not there.
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let field = field.unwrap_or_default();
        match self {
            Order::Little => u32::from_le_bytes(field),
            Order::Big => u32::from_be_bytes(field),
        }
    }
}
