//! The newer format (draft-ietf-opsawg-pcapng): sections of blocks; each section has a byte order
//! and describes interfaces, each with a clock of its own.

use std::io::Read;

use base::Instant;

use super::buffer::Buffer;
use super::{Cause, LONGEST_BLOCK, LinkType, Order, Place};

/// Bytes of a block beside its body: type and length before it, the length again behind it.
const FRAMING: usize = 12;
/// Bytes of a block's head: its type and its length.
const HEAD: usize = 8;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Packet Block, obsolete and still found.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_IF_TSOFFSET: u16 = 14;

/// Interfaces that a section may describe; more are damage.
const MOST_INTERFACES: usize = 1 << 16;
/// Characters of an interface's name that are kept.
const LONGEST_NAME: usize = 64;

/// Whether a file begins as this format does.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.len() >= FRAMING
        && Order::Little.u32(bytes, 0) == SECTION_HEADER
        && [Order::Little, Order::Big].iter().any(|order| order.u32(bytes, 8) == BYTE_ORDER_MAGIC)
}

/// Byte order and interfaces of the section, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Section {
    order: Order,
    pub(super) interfaces: Vec<Interface>,
    /// Time for packets without one of their own.
    latest: Instant,
}

/// An interface and its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    link: LinkType,
    /// The most bytes of a packet that it keeps; 0 for no limit.
    snaplen: u32,
    clock: Clock,
    name: Option<Box<str>>,
}

impl Interface {
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// Units and offset in which times of an interface are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    ticks_per_second: u64,
    /// Seconds to be added to each timestamp (option `if_tsoffset`).
    offset: i64,
}

impl Clock {
    /// `resolution`: a power of ten, or of two with the highest bit set.
    pub(super) fn new(resolution: u8, offset: i64) -> Option<Clock> {
        let power = u32::from(resolution & 0x7f);
        let ticks_per_second = match resolution & 0x80 {
            0 => 10u64.checked_pow(power)?,
            _ => 1u64.checked_shl(power)?,
        };
        Some(Clock { ticks_per_second, offset })
    }

    pub(super) fn read(self, ticks: u64) -> Instant {
        let nanos = match self.ticks_per_second {
            1_000_000_000 => u128::from(ticks),
            per_second => u128::from(ticks) * 1_000_000_000 / u128::from(per_second),
        };
        let offset = i128::from(self.offset) * 1_000_000_000;
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// Finds the next packet and takes its block out of the buffer; other blocks on the way, too.
pub(super) fn next<R: Read>(
    buffer: &mut Buffer<R>,
    section: &mut Section,
) -> Result<Option<Place>, Cause> {
    let unreadable = |error: std::io::Error| Cause::Unreadable(error.to_string());
    loop {
        buffer.begin_block();
        if !buffer.fill(FRAMING).map_err(unreadable)? {
            return if buffer.data().is_empty() { Ok(None) } else { Err(Cause::CutOff) };
        }
        let head = buffer.data();
        if Order::Little.u32(head, 0) == SECTION_HEADER {
            section.begin(head)?;
        }
        let order = section.order;
        let (kind, length) = (order.u32(head, 0), order.u32(head, 4) as usize);
        if length < FRAMING || !length.is_multiple_of(4) {
            return Err(Cause::Length(length as u64));
        }
        let is_read = [INTERFACE_DESCRIPTION, PACKET, SIMPLE_PACKET, ENHANCED_PACKET];
        if !is_read.contains(&kind) {
            if !buffer.skip(length as u64).map_err(unreadable)? {
                return Err(Cause::CutOff);
            }
            continue;
        }
        if length > LONGEST_BLOCK {
            return Err(Cause::Length(length as u64));
        }
        if !buffer.fill(length).map_err(unreadable)? {
            return Err(Cause::CutOff);
        }
        let block = buffer.data().get(..length).unwrap_or_default();
        if order.u32(block, length - 4) as usize != length {
            return Err(Cause::Length(u64::from(order.u32(block, length - 4))));
        }
        let body = block.get(HEAD..length - 4).unwrap_or_default();
        let place = match kind {
            INTERFACE_DESCRIPTION => section.describe(body).map(|()| None)?,
            kind => Some(section.packet(kind, body)?),
        };
        buffer.consume(length);
        if let Some(place) = place {
            return Ok(Some(place));
        }
    }
}

impl Section {
    /// A section begins; its header stands at the beginning of `block`.
    fn begin(&mut self, block: &[u8]) -> Result<(), Cause> {
        let is_right = |order: &Order| order.u32(block, HEAD) == BYTE_ORDER_MAGIC;
        let orders = [Order::Little, Order::Big];
        let magic = Order::Little.u32(block, HEAD);
        self.order = *orders.iter().find(|order| is_right(order)).ok_or(Cause::ByteOrder(magic))?;
        self.interfaces.clear();
        Ok(())
    }

    fn describe(&mut self, body: &[u8]) -> Result<(), Cause> {
        const MICROSECONDS: u8 = 6;
        if body.len() < 8 || self.interfaces.len() >= MOST_INTERFACES {
            return Err(Cause::Length(body.len() as u64));
        }
        let (mut resolution, mut offset, mut name) = (MICROSECONDS, 0, None);
        let mut options = body.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, length) = (self.order.u16(options, 0), self.order.u16(options, 2) as usize);
            let Some(value) = options.get(4..4 + length) else { break };
            match (code, value) {
                (OPTION_END, _) => break,
                (OPTION_IF_NAME, text) => name = Some(readable(text)),
                (OPTION_IF_TSRESOL, &[value]) => resolution = value,
                (OPTION_IF_TSOFFSET, value) if value.len() == 8 => {
                    let halves = [self.order.u32(value, 0), self.order.u32(value, 4)];
                    let (low, high) = match self.order {
                        Order::Little => (halves[0], halves[1]),
                        Order::Big => (halves[1], halves[0]),
                    };
                    offset = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(Interface {
            link: LinkType(self.order.u16(body, 0)),
            snaplen: self.order.u32(body, 4),
            clock: Clock::new(resolution, offset).ok_or(Cause::Resolution(resolution))?,
            name,
        });
        Ok(())
    }

    /// A packet in a block of one of three types.
    fn packet(&mut self, kind: u32, body: &[u8]) -> Result<Place, Cause> {
        let order = self.order;
        let (interface, fixed) = match kind {
            SIMPLE_PACKET => (0, 4),
            PACKET => (u32::from(order.u16(body, 0)), 20),
            _ => (order.u32(body, 0), 20),
        };
        if body.len() < fixed {
            return Err(Cause::Length(body.len() as u64));
        }
        let found = self.interfaces.get(interface as usize);
        let Interface { link, snaplen, clock, .. } = found.ok_or(Cause::NoInterface(interface))?;
        let original_length = order.u32(body, fixed - 4);
        let captured = if kind == SIMPLE_PACKET {
            // It has no length of its own: that of the interface applies, as far as there is room.
            let limit = if *snaplen == 0 { u32::MAX } else { *snaplen };
            (original_length.min(limit) as usize).min(body.len() - fixed)
        } else {
            let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
            self.latest = clock.read(ticks);
            order.u32(body, 12) as usize
        };
        if captured > body.len() - fixed {
            return Err(Cause::Length(captured as u64));
        }
        let start = HEAD + fixed;
        Ok(Place {
            at: self.latest,
            interface,
            link: *link,
            original_length,
            bytes: start..start + captured,
        })
    }
}

/// A name without characters that would disturb a terminal.
fn readable(text: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect::<String>().into()
}
