//! Segments on the wire. The runner has its own parser and encoder, so that the stack does not
//! judge itself.

use core::fmt;
use core::net::IpAddr;

use crate::script::TcpOption;

const FIXED: usize = 20;

/// Letters of the flags in scripts, from the lowest bit on.
const LETTERS: [char; 9] = ['F', 'S', 'R', 'P', '.', 'U', 'E', 'W', 'A'];

pub(super) const FIN: u16 = 1;
pub(super) const SYN: u16 = 2;
pub(super) const RST: u16 = 4;
pub(super) const PSH: u16 = 8;
pub(super) const ACK: u16 = 16;
pub(super) const ECE: u16 = 64;

/// Fields of a segment as received, before the numbers are translated for the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WireSegment {
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) sequence: u32,
    pub(super) ack: u32,
    pub(super) flags: u16,
    pub(super) window: u16,
    pub(super) urgent: u16,
    pub(super) options: Vec<TcpOption>,
    pub(super) payload: Vec<u8>,
}

/// Bits of a script's flags.
pub(super) fn flags(letters: &str) -> u16 {
    letters
        .chars()
        .filter_map(|letter| LETTERS.iter().position(|known| *known == letter))
        .fold(0, |all, bit| all | 1 << bit)
}

/// A script's letters for flags.
pub(super) fn letters(flags: u16) -> String {
    let set = (0..LETTERS.len()).filter(|bit| flags & 1 << bit != 0);
    // Usual order: S before E and W, the dot last.
    let mut letters: Vec<char> = set.map(|bit| LETTERS[bit]).collect();
    letters.sort_by_key(|letter| "SFREWAUP.".find(*letter));
    if letters.is_empty() { "-".to_owned() } else { letters.into_iter().collect() }
}

impl WireSegment {
    /// Encodes the segment, with the checksum over the pseudo header of `source` and `destination`
    /// (RFC 9293, section 3.1).
    pub(super) fn emit(&self, addresses: (IpAddr, IpAddr)) -> Vec<u8> {
        let mut options = Vec::new();
        for option in &self.options {
            emit_option(option, &mut options);
        }
        options.resize(options.len().next_multiple_of(4), 0);
        let offset = ((FIXED + options.len()) / 4) as u16;
        let mut bytes = Vec::with_capacity(FIXED + options.len() + self.payload.len());
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend((offset << 12 | self.flags & 0x1ff).to_be_bytes());
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(self.urgent.to_be_bytes());
        bytes.extend(options);
        bytes.extend(&self.payload);
        let checksum = !sum(&bytes, addresses);
        bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// Decodes a segment.
    ///
    /// # Errors
    /// The error in the bytes.
    pub(super) fn parse(bytes: &[u8], addresses: (IpAddr, IpAddr)) -> Result<Self, String> {
        let fixed = bytes.get(..FIXED).ok_or("is too short")?;
        if sum(bytes, addresses) != 0xffff {
            return Err("has a wrong checksum".to_owned());
        }
        let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let (offset, flags) = (usize::from(half(12) >> 12) * 4, half(12) & 0x1ff);
        if half(12) & 0xe00 != 0 {
            return Err("has reserved bits set".to_owned());
        }
        let options = bytes.get(FIXED..offset).ok_or("has a wrong data offset")?;
        Ok(WireSegment {
            source: half(0),
            destination: half(2),
            sequence: word(4),
            ack: word(8),
            flags,
            window: half(14),
            urgent: half(18),
            options: parse_options(options)?,
            payload: bytes[offset..].to_vec(),
        })
    }
}

/// One's complement sum of a segment and its pseudo header.
fn sum(bytes: &[u8], (source, destination): (IpAddr, IpAddr)) -> u16 {
    let mut pseudo = Vec::new();
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => pseudo.extend(address.octets()),
            IpAddr::V6(address) => pseudo.extend(address.octets()),
        }
    }
    pseudo.extend((bytes.len() as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, 6]);
    let add = |all: u64, pair: &[u8]| {
        let low = pair.get(1).copied().unwrap_or(0);
        all + u64::from(u16::from_be_bytes([pair[0], low]))
    };
    let mut sum = pseudo.chunks(2).chain(bytes.chunks(2)).fold(0, add);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn emit_option(option: &TcpOption, out: &mut Vec<u8>) {
    match option {
        TcpOption::End => out.push(0),
        TcpOption::Nop => out.push(1),
        TcpOption::Mss(mss) => {
            out.extend([2, 4]);
            out.extend((*mss as u16).to_be_bytes());
        }
        TcpOption::WindowScale(shift) => out.extend([3, 3, *shift as u8]),
        TcpOption::SackPermitted => out.extend([4, 2]),
        TcpOption::Sack(blocks) => {
            out.extend([5, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                out.extend(start.to_be_bytes());
                out.extend(end.to_be_bytes());
            }
        }
        TcpOption::Timestamp(value, echo) => {
            out.extend([8, 10]);
            out.extend(value.unwrap_or(0).to_be_bytes());
            out.extend(echo.unwrap_or(0).to_be_bytes());
        }
        TcpOption::Raw(kind, bytes) => {
            out.extend([*kind, 2 + bytes.len() as u8]);
            out.extend(bytes);
        }
        TcpOption::Other(_) => {}
    }
}

fn parse_options(mut bytes: &[u8]) -> Result<Vec<TcpOption>, String> {
    let mut options = Vec::new();
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => {
                options.push(TcpOption::End);
                bytes = rest;
                continue;
            }
            1 => {
                options.push(TcpOption::Nop);
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let malformed = || format!("has a malformed option of kind {kind}");
        let length = usize::from(*rest.first().ok_or_else(malformed)?);
        let body = bytes.get(2..length).ok_or_else(malformed)?;
        options.push(parse_option(*kind, body).ok_or_else(malformed)?);
        bytes = &bytes[length..];
    }
    Ok(options)
}

fn parse_option(kind: u8, body: &[u8]) -> Option<TcpOption> {
    let word = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
    Some(match (kind, body.len()) {
        (2, 2) => TcpOption::Mss(u32::from(u16::from_be_bytes([body[0], body[1]]))),
        (3, 1) => TcpOption::WindowScale(body[0].into()),
        (4, 0) => TcpOption::SackPermitted,
        (5, 8 | 16 | 24 | 32) => {
            let starts = (0..body.len()).step_by(8);
            let blocks = starts.map(|at| Some((word(at)?, word(at + 4)?)));
            TcpOption::Sack(blocks.collect::<Option<_>>()?)
        }
        (8, 8) => TcpOption::Timestamp(word(0), word(4)),
        (2..=5 | 8, _) => return None,
        _ => TcpOption::Raw(kind, body.to_vec()),
    })
}

/// An option in the script's syntax.
pub(super) struct Shown<'a>(pub(super) &'a TcpOption);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::End => f.write_str("eol"),
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::WindowScale(shift) => write!(f, "wscale {shift}"),
            TcpOption::SackPermitted => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            TcpOption::Timestamp(value, echo) => {
                let number = |number: &Option<u32>| {
                    number.map_or("...".to_owned(), |number| number.to_string())
                };
                write!(f, "TS val {} ecr {}", number(value), number(echo))
            }
            TcpOption::Raw(kind, bytes) => write!(f, "kind {kind} {bytes:02x?}"),
            TcpOption::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::{LOCAL, REMOTE};

    fn segment() -> WireSegment {
        WireSegment {
            source: 8080,
            destination: 40_000,
            sequence: 0xffff_fffe,
            ack: 7,
            flags: flags("SEW.A"),
            window: 65_535,
            urgent: 3,
            options: vec![
                TcpOption::Mss(1460),
                TcpOption::SackPermitted,
                TcpOption::Timestamp(Some(100), Some(0)),
                TcpOption::Nop,
                TcpOption::WindowScale(8),
            ],
            payload: vec![1, 2, 3],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let v6 = ("fd3d::1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        for addresses in [(LOCAL, REMOTE), v6] {
            let bytes = segment().emit(addresses);
            assert_eq!(WireSegment::parse(&bytes, addresses), Ok(segment()));
        }
        assert_eq!(letters(flags("P.S")), "SP.");
        assert_eq!((letters(0), flags("-")), ("-".to_owned(), 0));
    }

    #[test]
    fn a_checksum_by_hand() {
        // RFC 1071's sum by hand, for an empty ACK from 192.0.2.1:1 to 192.168.0.1:2.
        let segment = WireSegment {
            source: 1,
            destination: 2,
            sequence: 0,
            ack: 0,
            flags: ACK,
            window: 0,
            urgent: 0,
            options: Vec::new(),
            payload: Vec::new(),
        };
        // c000 + 0201 + c0a8 + 0001 + 0014 + 0006 + 0001 + 0002 + 5010 = 1d2d7, folded d2d8.
        assert_eq!(segment.emit((REMOTE, LOCAL))[16..18], (!0xd2d8_u16).to_be_bytes());
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let bytes = segment().emit((LOCAL, REMOTE));
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x10;
            assert!(WireSegment::parse(&damaged, (LOCAL, REMOTE)).is_err(), "{index}");
        }
        for end in 0..bytes.len() {
            assert!(WireSegment::parse(&bytes[..end], (LOCAL, REMOTE)).is_err(), "{end}");
        }
        for options in [&[2, 3, 0][..], &[8], &[5, 6, 0, 0, 0, 0], &[3, 0], &[2, 40]] {
            assert!(parse_options(options).is_err(), "{options:?}");
        }
        assert_eq!(parse_options(&[30, 3, 7, 1]).unwrap().len(), 2);
    }
}
