use std::net::SocketAddr;

use base::Ecn;

use super::*;
use crate::ip::IpPacket;

const DATA: usize = 100;

/// Segments of one connection, and the changes that tests make to them.
struct Segments {
    transmits: Vec<Transmit>,
    buffer: Vec<u8>,
    local: SocketAddr,
    remote: SocketAddr,
}

impl Segments {
    fn new(v6: bool) -> Segments {
        let addresses =
            if v6 { ["[fd78::2]:0", "[fd78::1]:0"] } else { ["10.78.0.2:0", "10.78.0.1:0"] };
        let [local, remote] = addresses.map(|address| address.parse().unwrap());
        Segments { transmits: Vec::new(), buffer: Vec::new(), local, remote }
    }

    /// `count` segments of 100 bytes from sequence number `seq` on, the last shorter and with PSH.
    fn flight(v6: bool, seq: u32, count: u32) -> Segments {
        let mut segments = Segments::new(v6);
        for index in 0..count {
            let last = index + 1 == count;
            let size = if last { 70 } else { DATA };
            let flags = ACK | if last { PSH } else { 0 };
            segments.push(seq.wrapping_add(index * DATA as u32), flags, size);
        }
        segments
    }

    fn push(&mut self, seq: u32, flags: u8, size: usize) {
        let mut header = etherparse::TcpHeader::new(22, 40_000, seq, 2000);
        header.acknowledgment_number = 77;
        header.set_options(&[etherparse::TcpOptionElement::Timestamp(5, 6)]).unwrap();
        let mut segment = header.to_bytes().to_vec();
        segment[13] = flags;
        segment.extend((0..size).map(|index| (index as u32).wrapping_add(seq) as u8));
        let sum = Sum::of_pseudo_header(self.local.ip(), self.remote.ip(), ip::TCP, segment.len());
        let checksum = sum.add_bytes(&segment).finish();
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        self.transmits.push(Transmit {
            local: Some(self.local),
            remote: self.remote,
            ecn: Ecn::NotEct,
            dont_fragment: true,
            service: base::IpService::default(),
            size: segment.len(),
        });
        self.buffer.extend_from_slice(&segment);
    }

    /// Number of them that leave as one.
    fn joinable(&self) -> usize {
        joinable(&self.transmits, &self.buffer)
    }

    /// A byte `at` bytes behind the beginning of a segment, to change it.
    fn header_byte(&mut self, index: usize, at: usize) -> &mut u8 {
        let start: usize = self.transmits[..index].iter().map(|transmit| transmit.size).sum();
        &mut self.buffer[start + at]
    }
}

/// Segments that the kernel makes of a packet with this header (Linux, `tcp_gso_segment`),
/// checksums included.
fn cut(header: &[u8; HEADER_SIZE], packet: &[u8]) -> Vec<Vec<u8>> {
    let field = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let (headers, data, start) = (field(2), field(4), field(6));
    let parsed = IpPacket::parse(packet).unwrap();
    let pieces: Vec<&[u8]> = packet[headers..].chunks(data).collect();
    let piece = |(index, piece): (usize, &&[u8])| {
        let mut segment = packet[start..headers].to_vec();
        let seq = u32::from_be_bytes(segment[4..8].try_into().unwrap());
        segment[4..8].copy_from_slice(&seq.wrapping_add((index * data) as u32).to_be_bytes());
        if index + 1 < pieces.len() {
            segment[13] &= !(PSH | FIN);
        }
        segment[16..18].fill(0);
        segment.extend_from_slice(piece);
        let sum = Sum::of_pseudo_header(parsed.source, parsed.destination, ip::TCP, segment.len());
        let checksum = sum.add_bytes(&segment).finish();
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        segment
    };
    pieces.iter().enumerate().map(piece).collect()
}

fn join(segments: &Segments) -> ([u8; HEADER_SIZE], Vec<u8>) {
    let header = IpHeader {
        source: segments.local.ip(),
        destination: segments.remote.ip(),
        protocol: ip::TCP,
        ecn: Ecn::NotEct,
        service: base::IpService::default(),
        dont_fragment: true,
        identification: 0,
    };
    let mut out = Vec::new();
    let head = emit_joined(&header, &segments.transmits, &segments.buffer, &mut out).unwrap();
    let mut rest = &segments.buffer[..];
    for transmit in &segments.transmits {
        out.extend_from_slice(&rest[head..transmit.size]);
        rest = &rest[transmit.size..];
    }
    let packet = out.split_off(HEADER_SIZE);
    (out.try_into().unwrap(), packet)
}

#[test]
fn what_may_be_fragmented_leaves_in_packets_of_its_own_with_numbers_of_their_own() {
    let mut segments = Segments::flight(false, 1, 5);
    assert_eq!(segments.joinable(), 5);
    segments.transmits.iter_mut().for_each(|transmit| transmit.dont_fragment = false);
    assert_eq!(segments.joinable(), 1);
}

#[test]
fn what_the_kernel_cuts_is_what_would_have_left_one_by_one() {
    for v6 in [false, true] {
        for seq in [1, u32::MAX - 150] {
            let segments = Segments::flight(v6, seq, 5);
            assert_eq!(segments.joinable(), 5);
            let (header, packet) = join(&segments);
            assert_eq!(cut(&header, &packet).concat(), segments.buffer);
        }
    }
}

#[test]
fn the_checksum_of_what_leaves_as_one_can_be_completed() {
    for v6 in [false, true] {
        let segments = Segments::flight(v6, 9, 3);
        let (header, mut packet) = join(&segments);
        assert!(complete_checksum(&header, &mut packet));
        let parsed = IpPacket::parse(&packet).unwrap();
        let length = parsed.payload.len();
        let sum = Sum::of_pseudo_header(parsed.source, parsed.destination, ip::TCP, length);
        assert_eq!(sum.add_bytes(parsed.payload).finish(), 0);
    }
}

#[test]
fn segments_that_differ_in_more_than_their_place_leave_apart() {
    let joined_after = |change: &dyn Fn(&mut Segments)| {
        let mut segments = Segments::flight(false, 1, 5);
        change(&mut segments);
        segments.joinable()
    };
    assert_eq!(joined_after(&|_| ()), 5);
    for (name, at) in [
        ("port", 1),
        ("peer's port", 3),
        ("sequence number", 7),
        ("acknowledgement", 11),
        ("window", 15),
        ("urgent pointer", 19),
        ("timestamp", 25),
    ] {
        assert_eq!(joined_after(&|segments| *segments.header_byte(2, at) ^= 1), 2, "{name}");
    }
    for flag in [0x02, 0x04, 0x20, 0x40, 0x80] {
        assert_eq!(joined_after(&|segments| *segments.header_byte(2, 13) |= flag), 2, "{flag:#x}");
    }
    assert_eq!(joined_after(&|segments| segments.transmits[3].ecn = Ecn::Ect0), 3);
    assert_eq!(joined_after(&|segments| segments.transmits[3].remote.set_port(1)), 3);
}

#[test]
fn push_and_fin_end_what_leaves_as_one_and_other_flags_keep_a_segment_alone() {
    let mut segments = Segments::flight(false, 1, 5);
    *segments.header_byte(1, 13) |= PSH;
    assert_eq!(segments.joinable(), 2);
    for flag in [FIN, PSH, 0x02, 0x04, 0x20, 0x80] {
        let mut segments = Segments::flight(false, 1, 5);
        *segments.header_byte(0, 13) |= flag;
        assert_eq!(segments.joinable(), 1, "{flag:#x} on the first");
    }
}

#[test]
fn bare_acknowledgements_and_what_is_no_tcp_stay_alone() {
    let mut acknowledgements = Segments::new(false);
    (0..3).for_each(|_| acknowledgements.push(1, ACK, 0));
    assert_eq!(acknowledgements.joinable(), 1);
    let mut garbage = Segments::flight(false, 1, 3);
    garbage.buffer.fill(0xff);
    assert_eq!(garbage.joinable(), 1);
    garbage.buffer.truncate(5);
    assert_eq!(garbage.joinable(), 1);
    assert_eq!(joinable(&[], &[]), 0);
}

#[test]
fn no_more_leaves_as_one_than_a_packet_holds() {
    let mut segments = Segments::new(false);
    for index in 0..100u32 {
        segments.push(index * 1448, ACK, 1448);
    }
    let joined = segments.joinable();
    assert!((40..=44).contains(&joined), "{joined}");
    segments.transmits.truncate(joined);
    segments.buffer.truncate(joined * 1480);
    assert!(join(&segments).1.len() <= 65_535);
}

#[test]
fn a_header_that_points_outside_the_packet_is_refused() {
    let mut header = [0; HEADER_SIZE];
    assert!(complete_checksum(&header, &mut []));
    header[0] = NEEDS_CHECKSUM;
    header[6..8].copy_from_slice(&20u16.to_ne_bytes());
    header[8..10].copy_from_slice(&16u16.to_ne_bytes());
    assert!(!complete_checksum(&header, &mut [0; 37]));
    assert!(complete_checksum(&header, &mut [0; 38]));
}

#[test]
fn the_kernel_vouches_for_segments_that_it_made_or_verified() {
    let header = |flags: u8, field: u16| {
        let mut header = [0; HEADER_SIZE];
        header[0] = flags;
        header[8..10].copy_from_slice(&field.to_ne_bytes());
        vouches(&header)
    };
    assert!(header(NEEDS_CHECKSUM, 16) && header(CHECKSUM_VALID, 0));
    assert!(!header(0, 16), "a checksum that was never verified");
    assert!(!header(NEEDS_CHECKSUM, 6), "UDP");
    assert!(!header(NEEDS_CHECKSUM | CHECKSUM_VALID, 6), "UDP");
}
