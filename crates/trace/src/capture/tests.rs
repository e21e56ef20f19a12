use super::*;

use std::borrow::Cow;
use std::io::Cursor;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use proptest::prelude::*;

/// Fields of a packet: time in ns, interface, link, original length, bytes.
type Fields = (u64, u32, u16, u32, Vec<u8>);

fn read(bytes: &[u8]) -> (Vec<Fields>, Option<Damage>) {
    let mut capture = match Capture::open(bytes) {
        Ok(capture) => capture,
        Err(error) => panic!("{error}"),
    };
    let mut seen = Vec::new();
    loop {
        match capture.next_frame() {
            Ok(Some(frame)) => seen.push((
                frame.at.as_nanos(),
                frame.interface,
                frame.link.0,
                frame.original_length,
                frame.bytes.to_vec(),
            )),
            Ok(None) => return (seen, None),
            Err(damage) => return (seen, Some(damage)),
        }
    }
}

/// A pcap file of another writer.
fn pcap(endianness: Endianness, resolution: TsResolution) -> Vec<u8> {
    let header = PcapHeader {
        endianness,
        ts_resolution: resolution,
        datalink: DataLink::ETHERNET,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (nanos, original, data) in [(1_500_000_000, 4, &b"abcd"[..]), (2_000_001_000, 900, b"xy")] {
        let packet = PcapPacket::new(core::time::Duration::from_nanos(nanos), original, data);
        writer.write_packet(&packet).unwrap();
    }
    writer.into_writer()
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_resolutions() {
    let expected = vec![
        (1_500_000_000, 0, 1, 4, b"abcd".to_vec()),
        (2_000_001_000, 0, 1, 900, b"xy".to_vec()),
    ];
    for endianness in [Endianness::Little, Endianness::Big] {
        for resolution in [TsResolution::MicroSecond, TsResolution::NanoSecond] {
            assert_eq!(read(&pcap(endianness, resolution)), (expected.clone(), None));
        }
    }
}

/// A block of pcapng: type, length, body padded to 32 bits, length again.
fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = body.len() as u32 + 12;
    [u32_in(order, kind), u32_in(order, length), body, u32_in(order, length)].concat()
}

fn u32_in(order: Order, value: u32) -> Vec<u8> {
    match order {
        Order::Little => value.to_le_bytes().to_vec(),
        Order::Big => value.to_be_bytes().to_vec(),
    }
}

fn u16_in(order: Order, value: u16) -> Vec<u8> {
    u32_in(order, u32::from(value) << if order == Order::Big { 16 } else { 0 })[..2].to_vec()
}

fn section(order: Order) -> Vec<u8> {
    let body = [u32_in(order, 0x1a2b_3c4d), u16_in(order, 1), u16_in(order, 0), vec![0xff; 8]];
    block(order, 0x0a0d_0d0a, &body.concat())
}

/// An Interface Description Block of this link type, with options.
fn interface(order: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [u16_in(order, link), vec![0; 2], u32_in(order, 0)].concat();
    for (code, value) in options {
        body.extend(u16_in(order, *code));
        body.extend(u16_in(order, value.len() as u16));
        body.extend_from_slice(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

fn packet(order: Order, interface: u32, ticks: u64, original: u32, data: &[u8]) -> Vec<u8> {
    let fields = [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, original];
    let fields = fields.into_iter().flat_map(|field| u32_in(order, field));
    block(order, 6, &fields.chain(data.iter().copied()).collect::<Vec<_>>())
}

/// Two sections in two byte orders; interfaces with clocks of their own; other blocks in between.
fn pcapng() -> Vec<u8> {
    let (le, be) = (Order::Little, Order::Big);
    [
        section(le),
        interface(le, 101, &[(2, b"eth0"), (9, &[9])]),
        interface(le, 1, &[(9, &[0x8a]), (14, &10i64.to_le_bytes())]),
        block(le, 5, &[0; 32]),
        packet(le, 0, 7_000_000_001, 3, b"abc"),
        packet(le, 1, 1024 + 512, 1400, b"defgh"),
        section(be),
        interface(be, 113, &[(14, &(-1i64).to_be_bytes())]),
        packet(be, 0, 3_000_000, 2, b"ij"),
        block(be, 3, &[u32_in(be, 2), b"kl".to_vec()].concat()),
    ]
    .concat()
}

#[test]
fn pcapng_is_read_with_sections_interfaces_and_their_clocks() {
    let (seen, damage) = read(&pcapng());
    assert_eq!(damage, None);
    assert_eq!(
        seen,
        [
            (7_000_000_001, 0, 101, 3, b"abc".to_vec()),
            (11_500_000_000, 1, 1, 1400, b"defgh".to_vec()),
            (2_000_000_000, 0, 113, 2, b"ij".to_vec()),
            (2_000_000_000, 0, 113, 2, b"kl".to_vec()),
        ]
    );
    let bytes = pcapng();
    let mut capture = Capture::open(&bytes[..]).unwrap();
    assert_eq!(capture.next_frame().unwrap().unwrap().interface_name, Some("eth0"));
}

#[test]
fn what_the_simulator_writes_is_read() {
    use netsim::capture::PcapWriter as Writer;
    use netsim::frame::FrameHeader;
    let mut writer = Writer::new(Vec::new()).unwrap();
    let id = writer.add_interface("host").unwrap();
    let header = FrameHeader {
        source: "10.0.0.1:9899".parse().unwrap(),
        destination: "10.0.0.2:9899".parse().unwrap(),
        ecn: base::Ecn::NotEct,
        raw_protocol: 132,
    };
    writer.write(id, Instant::from_millis(3), header, b"hello").unwrap();
    let (seen, damage) = read(&writer.into_inner());
    assert_eq!((seen.len(), seen[0].0, seen[0].4.len()), (1, 3_000_000, 33));
    assert_eq!(damage, None);
}

#[test]
fn a_capture_that_is_cut_off_gives_what_is_there_and_says_where_it_ended() {
    for whole in [pcap(Endianness::Little, TsResolution::NanoSecond), pcapng()] {
        let (all, _) = read(&whole);
        let mut counts = Vec::new();
        for length in 28..whole.len() {
            let (seen, damage) = read(&whole[..length]);
            assert_eq!(seen, all[..seen.len()]);
            if let Some(damage) = damage {
                assert_eq!((damage.packets as usize, damage.cause), (seen.len(), Cause::CutOff));
                assert!(damage.offset < length as u64);
            }
            counts.push(seen.len());
        }
        assert!(counts.is_sorted() && counts.first() == Some(&0));
        assert_eq!(counts.last(), Some(&(all.len() - 1)));
    }
}

#[test]
fn damage_is_told_with_its_place_and_cause() {
    let (le, mut bytes) = (Order::Little, pcapng());
    let second = section(le).len() + 2 * interface(le, 1, &[(2, b"eth0"), (9, &[9])]).len();
    // The length of a captured packet, within the first enhanced packet block.
    let place = bytes.windows(4).position(|four| four == b"abc\0").unwrap();
    bytes[place - 8] = 200;
    let (seen, damage) = read(&bytes);
    let damage = damage.unwrap();
    assert_eq!((seen.len(), &damage.cause), (0, &Cause::Length(200)));
    assert!(damage.offset as usize > second && (damage.offset as usize) < place);
    assert!(damage.to_string().contains("200 bytes"), "{damage}");

    let unknown = [section(le), packet(le, 0, 0, 1, b"a")].concat();
    assert_eq!(read(&unknown).1.unwrap().cause, Cause::NoInterface(0));
    let resolution = [section(le), interface(le, 1, &[(9, &[30])])].concat();
    assert_eq!(read(&resolution).1.unwrap().cause, Cause::Resolution(30));
    let mut long = pcap(Endianness::Little, TsResolution::NanoSecond);
    long[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let damage = read(&long).1.unwrap();
    assert_eq!((damage.offset, damage.cause), (24, Cause::Length(u64::from(u32::MAX))));
}

#[test]
fn a_long_block_without_packets_is_passed_over() {
    let le = Order::Little;
    let comment = block(le, 0x0bad, &vec![7; LONGEST_BLOCK + 4]);
    let bytes = [section(le), interface(le, 101, &[]), comment, packet(le, 0, 5, 1, b"a")].concat();
    let (seen, damage) = read(&bytes);
    assert_eq!((seen.len(), damage), (1, None));
}

#[test]
fn what_is_no_capture_is_refused() {
    for bytes in [&b""[..], b"short", &[0; 100], b"Date: Mon, 1 Jan 2024 00:00:00 GMT"] {
        assert!(matches!(Capture::open(bytes), Err(OpenError::NotACapture)));
    }
}

/// Gives one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = 1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn a_source_that_gives_little_at_a_time_gives_the_same() {
    let bytes = pcapng();
    let mut capture = Capture::open(Slow(&bytes)).unwrap();
    let mut count = 0;
    while let Ok(Some(_)) = capture.next_frame() {
        count += 1;
    }
    assert_eq!((count, capture.offset()), (4, bytes.len() as u64));
}

proptest! {
    #[test]
    fn damaged_captures_never_panic_and_end(
        of_pcapng in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        extra in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = if of_pcapng {
            pcapng()
        } else {
            pcap(Endianness::Big, TsResolution::MicroSecond)
        };
        bytes.extend(extra);
        for (place, value) in changes {
            *place.get_mut(&mut bytes) = value;
        }
        if let Ok(mut capture) = Capture::open(Cursor::new(Cow::from(&bytes))) {
            let mut last = 0;
            while let Ok(Some(frame)) = capture.next_frame() {
                prop_assert!(frame.original_length as usize >= frame.bytes.len());
                last = frame.number;
            }
            prop_assert!(last <= bytes.len() as u64 / 12);
        }
    }
}
