use super::*;
use crate::frame::{FrameError, IP_PROTOCOL_SCTP};
use crate::packet::AddressedDatagram;
use base::Ecn;
use bytes::Bytes;
use pcap_file::pcapng::{Block, PcapNgReader};

fn header(source: &str, destination: &str) -> FrameHeader {
    FrameHeader {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        ecn: Ecn::NotEct,
        raw_protocol: IP_PROTOCOL_SCTP,
    }
}

/// Interface, nanoseconds and length of each packet in a file.
fn read(file: &[u8]) -> Vec<(u32, u128, usize)> {
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push((packet.interface_id, packet.timestamp.as_nanos(), packet.data.len()));
        }
    }
    packets
}

#[test]
fn packets_are_written_with_their_interface_and_time() {
    let mut writer = PcapWriter::with_origin(Vec::new(), Duration::from_secs(5)).unwrap();
    let first = writer.add_interface("first").unwrap();
    let second = writer.add_interface("second").unwrap();
    let udp = header("10.0.0.1:1", "10.0.0.2:2");
    writer.write(second, Instant::from_nanos(7), udp, b"abc").unwrap();
    writer.write(first, Instant::from_nanos(8), udp, b"").unwrap();
    let mixed = writer.write(first, Instant::ZERO, header("10.0.0.1:1", "[::1]:2"), b"");
    let mixed = mixed.unwrap_err();
    assert!(mixed.get_ref().unwrap().is::<FrameError>());
    assert_eq!(read(&writer.into_inner()), [(1, 5_000_000_007, 31), (0, 5_000_000_008, 28)]);
}

fn packet(sender: u32, source: &str, destination: &str) -> Packet {
    let header = header(source, destination);
    Packet {
        number: 0,
        sender: HostId(sender),
        sent: Instant::ZERO,
        corrupted: false,
        datagram: AddressedDatagram {
            source: header.source,
            destination: header.destination,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            payload: Bytes::from_static(b"abcd"),
            tail: Bytes::new(),
        },
        route: 0..0,
        receiver: None,
    }
}

#[test]
fn a_capture_shows_what_its_hosts_send_and_receive() {
    let mut capture = Capture::new(Vec::new(), &[HostId(4), HostId(2)]).unwrap();
    let sent = packet(2, "10.0.0.2:0", "10.0.0.4:0");
    capture.on_sent(Instant::from_nanos(1), &sent);
    capture.on_delivered(Instant::from_nanos(2), &sent, HostId(4));
    capture.on_sent(Instant::from_nanos(3), &packet(3, "10.0.0.3:0", "10.0.0.5:0"));
    capture.on_sent(Instant::from_nanos(4), &packet(4, "0.0.0.0:0", "[::1]:0"));
    assert_eq!(read(&capture.finish().unwrap()), [(0, 1, 24), (1, 2, 24)]);
}

#[test]
fn the_first_failure_of_the_writer_is_told_at_the_end() {
    /// Has room for the header of the file and little more.
    struct Small(usize);
    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut capture = Capture::new(Small(200), &[HostId(0)]).unwrap();
    for _ in 0..10 {
        capture.on_sent(Instant::ZERO, &packet(0, "10.0.0.2:0", "10.0.0.4:0"));
    }
    let failure = capture.finish().err().unwrap();
    assert_eq!(failure.kind(), io::ErrorKind::StorageFull);
}
