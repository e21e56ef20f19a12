//! Any bytes as a capture, and as what packets of one connection and one association carry: reading
//! must end, and what it counts must agree with itself.

use trace::capture::Capture;
use trace::report::{Report, StreamReport};
use trace::{Options, analyse, clock_difference, compare};

/// Reads `bytes` as a file, then as packets.
pub fn run(bytes: &[u8]) {
    read(bytes);
    read(&capture_of(bytes));
}

/// Analyses a capture alone, and beside itself.
fn read(bytes: &[u8]) {
    let options = || Options { most_connections: 8, most_streams: 16, ..Options::default() };
    let open = || Capture::open(bytes).ok();
    let Some(mut capture) = open() else { return };
    let (report, ()) = analyse(&mut capture, options(), ());
    check(&report, bytes.len());
    let (Some(mut one), Some(mut two)) = (open(), open()) else { return };
    let clocks = clock_difference(&mut one, &mut two, &options());
    let (Some(mut one), Some(mut two)) = (open(), open()) else { return };
    let (report, ()) = compare(&mut one, &mut two, clocks, options(), ());
    check(&report, bytes.len());
}

fn check(report: &Report, length: usize) {
    assert!(report.capture.bytes <= length as u64);
    assert!(report.streams.len() <= 16);
    report.streams.iter().for_each(check_stream);
}

fn check_stream(stream: &StreamReport) {
    let (packets, bytes) = (&stream.totals.packets, &stream.totals.bytes);
    assert!(
        packets.data <= packets.total && packets.retransmissions + packets.bundles <= packets.data
    );
    assert_eq!(bytes.payload, bytes.unique + bytes.retransmitted + bytes.redundant);
    let again = &stream.totals.retransmissions;
    assert_eq!(again.by_order.total(), again.total);
    let latency = &stream.totals.ack_latency_ms.all;
    assert!(latency.min <= latency.p50 && latency.p50 <= latency.max);
    if let Some(receiver) = &stream.receiver {
        assert!(receiver.packets.lost <= receiver.packets.sent);
        assert!(receiver.bytes.lost <= receiver.bytes.sent);
    }
}

/// A pcap file whose packets carry pieces of `bytes`: of each piece the first byte says how long it
/// is and which way, with which protocol it goes; ports and tags are the same in all, so that they
/// meet.
fn capture_of(bytes: &[u8]) -> Vec<u8> {
    const RAW: u32 = 101;
    let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, RAW];
    let mut file: Vec<u8> = header.iter().flat_map(|field| field.to_le_bytes()).collect();
    let (mut rest, mut second) = (bytes, 0u32);
    while let [head, after @ ..] = rest {
        let (piece, next) = after.split_at(after.len().min(usize::from(head & 0x3f)));
        let packet = packet(head & 0x40 != 0, head & 0x80 != 0, piece);
        second += u32::from(piece.first().copied().unwrap_or(1));
        let length = packet.len() as u32;
        file.extend([second, 0, length, length].iter().flat_map(|field| field.to_le_bytes()));
        file.extend(packet);
        rest = next;
    }
    file
}

/// An IPv4 packet with a segment or an SCTP packet, of which `piece` is all but the ports (and the
/// tag).
fn packet(is_tcp: bool, is_back: bool, piece: &[u8]) -> Vec<u8> {
    let (from, to) = if is_back { (2, 1) } else { (1, 2) };
    let mut transport = vec![0, from, 0, to];
    if is_tcp {
        transport.extend_from_slice(piece);
        // Twenty bytes of header, more only where they are there.
        transport.resize(transport.len().max(20), 0);
        if let Some(offset) = transport.get_mut(12) {
            *offset = 0x50;
        }
    } else {
        transport.extend([0, 0, 0, from, 0, 0, 0, 0]);
        transport.extend_from_slice(piece);
    }
    let length = (20 + transport.len() as u16).to_be_bytes();
    let protocol = if is_tcp { 6 } else { 132 };
    let mut packet =
        vec![0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, from];
    packet.extend([10, 0, 0, to]);
    packet.extend(transport);
    packet
}
