//! Headers before and within large packets of a TUN device, in both directions: no field of a
//! virtio header may lead outside of the packet, and segments that leave as one packet must be,
//! once the kernel has cut them, bit for bit those that would have left one by one.

use core::net::{IpAddr, SocketAddr};

use arbitrary::Arbitrary;
use base::{Ecn, Transmit};
use io::ip::{self, IpHeader, IpPacket};
use io::tun::offload::{HEADER_SIZE, complete_checksum, emit_joined, joinable, vouches};

use crate::{Blob, Steps};

/// A packet with its header, and segments to send.
#[derive(Arbitrary, Debug)]
pub struct Input {
    header: [u8; HEADER_SIZE],
    packet: Blob,
    is_v6: bool,
    segments: Steps<Piece>,
}

/// A segment: mostly what follows the one before, with some of it changed.
#[derive(Arbitrary, Debug)]
struct Piece {
    length: u16,
    flags: u8,
    change: Option<(u8, u8)>,
    may_be_fragmented: bool,
    is_marked: bool,
}

/// Outcome of a run, by which a test sees that inputs reach their aims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Segments that left together with others.
    pub joined: usize,
    /// Whether the packet was taken.
    pub taken: bool,
}

/// Runs both directions: a packet that arrives, and segments that leave.
pub fn run(input: Input) -> Outcome {
    Outcome { taken: arrives(&input), joined: leaves(&input) }
}

/// A packet arrives: nothing but its checksum is ever changed.
fn arrives(input: &Input) -> bool {
    let _ = vouches(&input.header);
    let mut packet = input.packet.0.clone();
    if !complete_checksum(&input.header, &mut packet) {
        assert_eq!(packet, input.packet.0, "refused, and changed");
        return false;
    }
    let differs = |at: &usize| packet[*at] != input.packet.0[*at];
    let changed: Vec<usize> = (0..packet.len()).filter(differs).collect();
    if let (Some(first), Some(last)) = (changed.first(), changed.last()) {
        let field =
            |at: usize| usize::from(u16::from_ne_bytes([input.header[at], input.header[at + 1]]));
        let checksum = field(6) + field(8);
        assert!(*first >= checksum && *last <= checksum + 1, "{changed:?} besides {checksum}");
    }
    let _ = IpPacket::parse(&packet);
    true
}

/// Segments leave: the most that can leave as one do, until all have left.
fn leaves(input: &Input) -> usize {
    let (local, remote): (IpAddr, IpAddr) = match input.is_v6 {
        false => ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
        true => ([1; 16].into(), [2; 16].into()),
    };
    let (mut transmits, mut buffer, mut sequence) = (Vec::new(), Vec::new(), 0xffff_f000_u32);
    let mut length = 1_000;
    for piece in &input.segments.0 {
        // Mostly as long as the one before.
        if piece.length % 4 == 0 {
            length = 1 + usize::from(piece.length) % 1_448;
        }
        let segment = segment(piece, sequence, length, (local, remote));
        sequence = sequence.wrapping_add(length as u32);
        transmits.push(Transmit {
            local: Some(SocketAddr::new(local, 0)),
            remote: SocketAddr::new(remote, 0),
            ecn: if piece.is_marked { Ecn::Ect0 } else { Ecn::NotEct },
            dont_fragment: !piece.may_be_fragmented,
            service: base::IpService::default(),
            size: segment.len(),
        });
        buffer.extend_from_slice(&segment);
    }
    let (mut transmits, mut buffer, mut together) = (&transmits[..], &buffer[..], 0);
    while !transmits.is_empty() {
        let count = joinable(transmits, buffer);
        assert!((1..=transmits.len()).contains(&count), "{count} of {}", transmits.len());
        let size = transmits[..count].iter().map(|transmit| transmit.size).sum();
        let (segments, rest) = buffer.split_at(size);
        if count > 1 {
            together += count;
            leave_as_one(&transmits[..count], segments);
        }
        (transmits, buffer) = (&transmits[count..], rest);
    }
    together
}

/// A segment of TCP with timestamps in its options and a right checksum, unless that is what is
/// changed.
fn segment(piece: &Piece, sequence: u32, length: usize, addresses: (IpAddr, IpAddr)) -> Vec<u8> {
    let mut bytes = vec![0x13, 0x88, 0x1f, 0x90];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 9, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    bytes.extend((0..length).map(|at| at as u8));
    // Mostly nothing but ACK; PSH and FIN now and then, others seldom.
    match piece.flags {
        0..=199 => {}
        200..=229 => bytes[13] |= 0x08,
        230..=239 => bytes[13] |= 0x01,
        other => bytes[13] = other,
    }
    if let Some((at, value)) = piece.change.filter(|(at, _)| usize::from(*at) < 32) {
        bytes[usize::from(at)] = value;
    }
    bytes[16..18].fill(0);
    let sum = sum_of(&bytes, addresses);
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The checksum of a segment whose own is 0 (RFC 1071, RFC 9293, section 3.1).
fn sum_of(segment: &[u8], (source, destination): (IpAddr, IpAddr)) -> u16 {
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let pseudo = [octets(source), octets(destination)].concat();
    let words = pseudo.chunks(2).chain(segment.chunks(2));
    let word = |word: &[u8]| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0));
    let mut sum = words.map(word).sum::<u64>() + u64::from(ip::TCP) + segment.len() as u64;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Puts segments together as they leave, and cuts them as the kernel does (Linux,
/// `tcp_gso_segment`).
fn leave_as_one(transmits: &[Transmit], segments: &[u8]) {
    let (Some(local), remote) = (transmits[0].local, transmits[0].remote) else { return };
    let header = IpHeader {
        source: local.ip(),
        destination: remote.ip(),
        protocol: ip::TCP,
        ecn: transmits[0].ecn,
        service: base::IpService::default(),
        dont_fragment: true,
        identification: 0,
    };
    let mut out = Vec::new();
    let Some(head) = emit_joined(&header, transmits, segments, &mut out) else {
        panic!("{} segments that no packet carries", transmits.len())
    };
    let mut rest = segments;
    for transmit in transmits {
        out.extend_from_slice(&rest[head..transmit.size]);
        rest = &rest[transmit.size..];
    }
    let packet = out.split_off(HEADER_SIZE);
    let Ok(virtio) = <[u8; HEADER_SIZE]>::try_from(out) else { panic!("a header of its own size") };
    let Ok(read) = IpPacket::parse(&packet) else { panic!("no IP packet") };
    assert_eq!(read.payload.len(), packet.len() - header.size());
    let field = |at: usize| usize::from(u16::from_ne_bytes([virtio[at], virtio[at + 1]]));
    let (headers, size, start) = (field(2), field(4), field(6));
    assert_eq!((headers, start), (header.size() + head, header.size()));
    let pieces: Vec<&[u8]> = packet[headers..].chunks(size).collect();
    let mut cut = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let mut bytes = packet[start..headers].to_vec();
        let first = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        bytes[4..8].copy_from_slice(&first.wrapping_add((index * size) as u32).to_be_bytes());
        if index + 1 < pieces.len() {
            bytes[13] &= !0x09;
        }
        bytes[16..18].fill(0);
        bytes.extend_from_slice(piece);
        let sum = sum_of(&bytes, (local.ip(), remote.ip()));
        bytes[16..18].copy_from_slice(&sum.to_be_bytes());
        cut.extend(bytes);
    }
    assert!(cut == segments, "what is cut is not what was put together");
}
