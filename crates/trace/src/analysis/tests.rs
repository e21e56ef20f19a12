use super::*;

use core::net::SocketAddr;

use base::Ecn;
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::frame::{FrameHeader, IP_PROTOCOL_SCTP};
use proptest::prelude::*;
use sctp::wire::chunk::{Abort, CookieEcho, Data, DataFlags, Init, InitAck, OutgoingSack};
use sctp::wire::{
    CommonHeader, PacketBuilder, Ppid, Ssn, StreamId as Stream, Tsn, VerificationTag,
};
use tcp::wire::{Flags, Pseudo, Segment, SeqNumber};

use crate::details::Details;

/// Writes captures packet by packet.
struct Writer {
    file: PcapWriter<Vec<u8>>,
    interfaces: Vec<InterfaceId>,
}

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

impl Writer {
    fn new(interfaces: &[&str]) -> Writer {
        let mut file = PcapWriter::new(Vec::new()).unwrap();
        let interfaces = interfaces.iter().map(|name| file.add_interface(name).unwrap()).collect();
        Writer { file, interfaces }
    }

    fn write(
        &mut self,
        ms: u64,
        interface: usize,
        ends: (&str, &str),
        protocol: u8,
        payload: &[u8],
    ) {
        let without_port = |address| SocketAddr::new(at(address).ip(), 0);
        let header = FrameHeader {
            source: without_port(ends.0),
            destination: without_port(ends.1),
            ecn: Ecn::NotEct,
            raw_protocol: protocol,
        };
        let (interface, now) = (self.interfaces[interface], Instant::from_millis(ms));
        self.file.write(interface, now, header, payload).unwrap();
    }

    /// A segment with `data` bytes of data.
    fn tcp(&mut self, ms: u64, ends: (&str, &str), flags: Flags, seq: u32, data: usize, ack: u32) {
        let (source, destination) = (at(ends.0), at(ends.1));
        let mut segment = Segment::new(source.port(), destination.port());
        segment.flags = flags;
        segment.seq = SeqNumber(seq);
        segment.ack = SeqNumber(ack);
        segment.payload = vec![7; data].into();
        let mut bytes = Vec::new();
        segment.emit(Pseudo::new(source.ip(), destination.ip()), &mut bytes);
        self.write(ms, 0, ends, 6, &bytes);
    }

    fn bytes(self) -> Vec<u8> {
        self.file.into_inner()
    }
}

fn analysed(bytes: &[u8], options: Options) -> Report {
    analyse(&mut Capture::open(bytes).unwrap(), options, ()).0
}

const CLIENT: &str = "10.0.0.1:4000";
const SERVER: &str = "10.0.0.2:80";

/// A whole connection: the client sends `sizes`, one packet each 10 ms, and each is acknowledged
/// after 50 ms.
fn connection(writer: &mut Writer, start: u64, client: &str, sizes: &[usize]) {
    let (up, down) = ((client, SERVER), (SERVER, client));
    writer.tcp(start, up, Flags::SYN, 999, 0, 0);
    writer.tcp(start + 50, down, Flags::SYN | Flags::ACK, 4999, 0, 1000);
    writer.tcp(start + 50, up, Flags::ACK, 1000, 0, 5000);
    let mut seq = 1000;
    let mut events = Vec::new();
    for (index, size) in sizes.iter().enumerate() {
        let now = start + 60 + index as u64 * 10;
        events.push((now, true, seq, *size));
        seq += *size as u32;
        events.push((now + 50, false, seq, 0));
    }
    events.sort_unstable();
    for (now, is_up, seq, size) in events {
        match is_up {
            true => writer.tcp(now, up, Flags::ACK | Flags::PSH, seq, size, 5000),
            false => writer.tcp(now, down, Flags::ACK, 5000, 0, seq),
        }
    }
    let end = start + 200 + sizes.len() as u64 * 10;
    writer.tcp(end, up, Flags::FIN | Flags::ACK, seq, 0, 5000);
    writer.tcp(end + 50, down, Flags::FIN | Flags::ACK, 5000, 0, seq + 1);
}

#[test]
fn the_numbers_of_a_small_connection_are_those_of_its_packets() {
    let mut writer = Writer::new(&["eth0"]);
    connection(&mut writer, 1000, CLIENT, &[10, 20, 30, 40]);
    let report = analysed(&writer.bytes(), Options::default());
    assert_eq!((report.connections, report.streams.len(), report.capture.tcp), (1, 1, 13));
    let stream = &report.streams[0];
    assert_eq!((stream.id.as_str(), stream.source.as_str()), ("1a", CLIENT));
    assert_eq!((stream.destination.as_str(), stream.interface.as_deref()), (SERVER, Some("eth0")));
    assert_eq!((stream.is_whole, stream.at_sender), (true, Some(true)));
    assert_eq!((stream.handshake_ms, stream.start_s), (Some(50.0), 0.06));
    let tcp = stream.tcp.unwrap();
    assert_eq!((tcp.syn, tcp.fin, tcp.rst, tcp.keep_alives), (1, 1, 0, 0));
    let totals = &stream.totals;
    assert_eq!((totals.packets.total, totals.packets.data, totals.packets.pure_acks), (7, 4, 1));
    assert_eq!((totals.bytes.payload, totals.bytes.unique), (100, 100));
    let size = totals.payload_bytes;
    assert_eq!((size.mean, size.min, size.p50, size.max, size.p99), (25.0, 10.0, 20.0, 40.0, 40.0));
    let interval = totals.interarrival_ms;
    assert_eq!((interval.count, interval.mean, interval.max), (3, 10.0, 10.0));
    assert_eq!(totals.packets_per_second, 100.0);
    assert_eq!(totals.bits_per_second, 100.0 * 8.0 * (25.0 + 40.0));
    assert_eq!((totals.round_trip_ms.min, totals.round_trip_ms.max), (50.0, 50.0));
    assert_eq!(totals.ack_latency_ms.all.p50, 50.0);
    assert_eq!(totals.packets_in_flight.max, 4.0);
    assert_eq!(totals.retransmissions.total + totals.repeated_acks.total(), 0);
    assert_eq!(totals.missed_by_capture, 0, "the FIN is no byte");
    assert!(!stream.thin.is_thin, "four packets are too few to tell");
    assert_eq!(
        (stream.thin.share_below_four, stream.thin.packets_per_round_trip),
        (0.75, Some(5.0))
    );
}

#[test]
fn only_what_is_asked_for_is_looked_at() {
    let mut writer = Writer::new(&["eth0"]);
    connection(&mut writer, 0, CLIENT, &[10]);
    connection(&mut writer, 500, "10.0.0.9:5000", &[10]);
    let bytes = writer.bytes();
    let hosts = Options { hosts: vec!["10.0.0.9".parse().unwrap()], ..Options::default() };
    let report = analysed(&bytes, hosts);
    assert_eq!((report.streams.len(), report.capture.passed_over.filtered), (1, 7));
    assert_eq!(report.streams[0].source, "10.0.0.9:5000");
    let ports = Options { ports: vec![4000], ..Options::default() };
    assert_eq!(analysed(&bytes, ports).streams[0].source, CLIENT);
    let both = Options { ports: vec![80], ..Options::default() };
    assert_eq!(analysed(&bytes, both).streams.len(), 2);
}

#[test]
fn a_stream_is_thin_if_its_packets_are_small_and_few_in_flight() {
    for (size, interval, thin) in [(100, 40, true), (1400, 40, false), (100, 5, false)] {
        let mut writer = Writer::new(&["eth0"]);
        let mut events = Vec::new();
        for packet in 0..20 {
            events.push((packet * interval, true, 1 + packet as u32 * size));
            events.push((packet * interval + 50, false, 1 + (packet as u32 + 1) * size));
        }
        events.sort_unstable();
        for (ms, is_up, number) in events {
            match is_up {
                true => writer.tcp(ms, (CLIENT, SERVER), Flags::ACK, number, size as usize, 1),
                false => writer.tcp(ms, (SERVER, CLIENT), Flags::ACK, 1, 0, number),
            }
        }
        let report = analysed(&writer.bytes(), Options::default());
        assert_eq!(report.streams[0].thin.is_thin, thin, "{size} bytes each {interval} ms");
    }
}

#[test]
fn a_span_of_the_capture_can_be_looked_at_alone() {
    let mut writer = Writer::new(&["eth0"]);
    for packet in 0..10u32 {
        writer.tcp(
            1000 + u64::from(packet) * 100,
            (CLIENT, SERVER),
            Flags::ACK,
            packet * 10,
            10,
            1,
        );
    }
    let options = Options {
        start: base::Duration::from_millis(200),
        end: Some(base::Duration::from_millis(500)),
        ..Options::default()
    };
    let report = analysed(&writer.bytes(), options);
    assert_eq!((report.all.packets.data, report.capture.passed_over.filtered), (3, 7));
    assert_eq!((report.streams[0].start_s, report.capture.packets), (0.2, 10));
}

#[test]
fn ports_that_are_used_again_are_another_connection() {
    let mut writer = Writer::new(&["eth0"]);
    connection(&mut writer, 0, CLIENT, &[10]);
    let (up, syn) = ((CLIENT, SERVER), Flags::SYN);
    writer.tcp(2000, up, syn, 77, 0, 0);
    writer.tcp(3000, up, syn, 77, 0, 0);
    writer.tcp(4000, up, Flags::ACK, 78, 30, 1);
    let report = analysed(&writer.bytes(), Options::default());
    let ids: Vec<&str> = report.streams.iter().map(|stream| stream.id.as_str()).collect();
    assert_eq!(ids, ["1a", "2a"]);
    assert_eq!(report.streams[1].tcp.unwrap().syn, 2, "a SYN that is repeated begins nothing");
    assert_eq!(report.streams[1].handshake_ms, None);
}

#[test]
fn keep_alives_and_acknowledgements_without_data_are_no_retransmissions() {
    let mut writer = Writer::new(&["eth0"]);
    let (up, down) = ((CLIENT, SERVER), (SERVER, CLIENT));
    writer.tcp(0, up, Flags::ACK, 1000, 10, 1);
    writer.tcp(50, down, Flags::ACK, 1, 0, 1010);
    for ms in [1000, 2000] {
        writer.tcp(ms, up, Flags::ACK, 1009, 1, 1);
        writer.tcp(ms + 50, down, Flags::ACK, 1, 0, 1010);
    }
    writer.tcp(3000, up, Flags::ACK, 1009, 0, 1);
    let report = analysed(&writer.bytes(), Options::default());
    let stream = &report.streams[0];
    assert_eq!((stream.tcp.unwrap().keep_alives, stream.totals.packets.data), (3, 1));
    assert_eq!(stream.totals.retransmissions.total + stream.totals.repeated_acks.total(), 0);
    assert!(!stream.is_whole);
}

#[test]
fn sequence_numbers_that_wrap_are_one_stream() {
    let mut writer = Writer::new(&["eth0"]);
    let (up, down) = ((CLIENT, SERVER), (SERVER, CLIENT));
    let mut seq = u32::MAX - 49;
    for ms in 0..4 {
        writer.tcp(ms * 100, up, Flags::ACK, seq, 40, 1);
        seq = seq.wrapping_add(40);
        writer.tcp(ms * 100 + 50, down, Flags::ACK, 1, 0, seq);
    }
    let stream = &analysed(&writer.bytes(), Options::default()).streams[0].totals.clone();
    assert_eq!((stream.bytes.unique, stream.ack_latency_ms.all.count), (160, 4));
}

#[test]
fn one_direction_alone_tells_sizes_and_retransmissions_but_no_round_trip() {
    let mut writer = Writer::new(&["eth0"]);
    for packet in 0..3000u32 {
        writer.tcp(u64::from(packet) * 10, (CLIENT, SERVER), Flags::ACK, 1 + packet * 10, 10, 1);
    }
    writer.tcp(40_000, (CLIENT, SERVER), Flags::ACK, 1 + 2999 * 10, 10, 1);
    let report = analysed(&writer.bytes(), Options::default());
    let totals = &report.streams[0].totals;
    assert_eq!((totals.packets.data, totals.retransmissions.total), (3001, 1));
    assert_eq!((totals.round_trip_ms.count, report.streams[0].at_sender), (0, None));
    assert!(!totals.payload_bytes.exact);
}

#[test]
fn too_many_connections_are_cut_short_and_the_sums_have_all() {
    let mut writer = Writer::new(&["eth0"]);
    let clients: Vec<String> = (1..=50).map(|port| format!("10.0.0.1:{port}")).collect();
    for (index, client) in clients.iter().enumerate() {
        writer.tcp(index as u64, (client, SERVER), Flags::ACK, 1, 10, 1);
    }
    let options = Options { most_connections: 10, most_streams: 5, ..Options::default() };
    let report = analysed(&writer.bytes(), options);
    assert_eq!((report.connections, report.connections_cut_short), (50, 40));
    assert_eq!((report.streams.len(), report.streams_left_out), (5, 45));
    assert_eq!((report.all.packets.data, report.all.bytes.payload), (50, 500));
}

// ---- SCTP ---------------------------------------------------------------------------------------

const ONE: &str = "10.0.0.1:5000";
const TWO: &str = "10.0.0.2:5000";

fn sctp_packet(tag: u32, fill: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 5000,
        verification_tag: VerificationTag(tag),
    };
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::start(&mut buffer, header, 1400);
    fill(&mut packet);
    packet.finish();
    buffer
}

fn init(tag: u32, tsn: u32) -> Init<[sctp::wire::Parameter<'static>; 0]> {
    Init {
        initiate_tag: VerificationTag(tag),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(tsn),
        parameters: [],
    }
}

fn data(tsn: u32, stream: u16) -> Data<Vec<u8>> {
    Data {
        tsn: Tsn(tsn),
        stream: Stream(stream),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload: vec![7; 100],
    }
}

/// A handshake, then DATA: TSN 100 and 101 in a packet (lost), 102, 103; a gap is reported, both
/// come again.
fn association() -> Vec<(u64, (&'static str, &'static str), Vec<u8>)> {
    let (there, back) = ((ONE, TWO), (TWO, ONE));
    let sack = |cumulative, gap: Option<(u16, u16)>| {
        sctp_packet(7, |packet| {
            let block = gap.map(|(start, end)| sctp::wire::chunk::GapAckBlock { start, end });
            let sack = OutgoingSack {
                cumulative_tsn_ack: Tsn(cumulative),
                a_rwnd: 1000,
                gap_ack_blocks: block,
                duplicate_tsns: [],
            };
            packet.append(sack).unwrap();
        })
    };
    let chunks = |tsns: &[(u32, u16)]| {
        sctp_packet(8, |packet| {
            tsns.iter().for_each(|(tsn, stream)| packet.append(data(*tsn, *stream)).unwrap());
        })
    };
    vec![
        (0, there, sctp_packet(0, |packet| packet.append(init(7, 100)).unwrap())),
        (100, back, sctp_packet(7, |packet| packet.append(InitAck(init(8, 900))).unwrap())),
        (100, there, sctp_packet(8, |packet| packet.append(CookieEcho { cookie: &[7] }).unwrap())),
        (110, there, chunks(&[(100, 0), (101, 1)])),
        (210, there, chunks(&[(102, 0)])),
        (310, back, sack(99, Some((3, 3)))),
        (311, there, chunks(&[(103, 2)])),
        (411, back, sack(99, Some((3, 4)))),
        (412, there, chunks(&[(100, 0), (101, 1)])),
        (512, back, sack(103, None)),
    ]
}

fn written(packets: &[(u64, (&str, &str), Vec<u8>)], late: u64) -> Vec<u8> {
    let mut writer = Writer::new(&["eth0"]);
    for (ms, ends, payload) in packets {
        writer.write(ms + late, 0, *ends, IP_PROTOCOL_SCTP, payload);
    }
    writer.bytes()
}

#[test]
fn an_association_is_told_of_by_chunks_streams_and_gaps() {
    let report = analysed(&written(&association(), 0), Options::default());
    assert_eq!((report.connections, report.streams.len()), (1, 1));
    let stream = &report.streams[0];
    assert_eq!((stream.handshake_ms, stream.is_whole), (Some(100.0), true));
    // Only the client waited: its INIT ACK was answered at once.
    assert_eq!(stream.at_sender, Some(true));
    let totals = &stream.totals;
    assert_eq!((totals.packets.data, totals.packets.retransmissions), (4, 1));
    assert_eq!((totals.bytes.unique, totals.bytes.retransmitted), (400, 200));
    assert_eq!((totals.retransmissions.total, totals.retransmissions.by_order.first), (2, 2));
    assert_eq!(totals.retransmissions.by_cause.early, 2);
    assert_eq!(totals.repeated_acks.total(), 1);
    let latency = &totals.ack_latency_ms;
    assert_eq!((latency.none.max, latency.first.max, latency.all.count), (302.0, 402.0, 4));
    let sctp = stream.sctp.as_ref().unwrap();
    assert_eq!((sctp.chunks.data, sctp.chunks.multi_chunk_packets, sctp.chunks.inits), (6, 2, 1));
    let counted: Vec<_> = sctp
        .streams
        .iter()
        .map(|it| (it.stream, it.counts.messages, it.counts.retransmitted))
        .collect();
    assert_eq!(counted, [(0, 2, 1), (1, 1, 1), (2, 1, 0)]);
}

#[test]
fn streams_of_an_association_wait_for_themselves_alone() {
    // The receiver's clock is 5 s ahead, the way takes 50 ms; the first packet with data is lost.
    let mut sent = association();
    let last = sctp_packet(8, |packet| packet.append(data(104, 0)).unwrap());
    sent.push((5000, (ONE, TWO), last));
    let mut end = sent.clone();
    end.push((9000, (TWO, ONE), sctp_packet(7, |_| ())));
    let arrived: Vec<_> = end
        .iter()
        .filter(|(ms, ..)| *ms != 110)
        .map(|(ms, ends, payload)| {
            let way = if ends.0 == ONE { 50 } else { 0 };
            // What the receiver sends it sends before the sender's capture shows it.
            (ms + way - if way == 0 { 50.min(*ms) } else { 0 }, *ends, payload.clone())
        })
        .collect();
    let (sender, receiver) = (written(&sent, 0), written(&arrived, 5000));
    let open = |bytes: &'static [u8]| Capture::open(bytes).unwrap();
    let (sender, receiver): (&'static [u8], &'static [u8]) = (sender.leak(), receiver.leak());
    let options = Options::default();
    let clocks = clock_difference(&mut open(sender), &mut open(receiver), &options);
    let (report, ()) = compare(&mut open(sender), &mut open(receiver), clocks, options, ());
    let stream = report.streams[0].receiver.as_ref().unwrap();
    assert_eq!((stream.packets.sent, stream.packets.lost, stream.undecided_packets), (5, 1, 0));
    assert_eq!((stream.retransmissions_needed, stream.transport_delay_ms.latency.max), (1, 302.0));
    // TSN 102 stands behind 100 in stream 0, 103 is alone in stream 2.
    let late: Vec<f64> = stream.application_delay_ms.cdf.iter().map(|(delay, _)| *delay).collect();
    assert_eq!(stream.application_delay_ms.latency.count, 5);
    assert!(late.contains(&0.0) && late.contains(&202.0) && late.contains(&302.0), "{late:?}");
}

#[test]
fn a_cut_capture_of_sctp_has_all_whole_chunks_lengths() {
    let mut writer = Writer::new(&["eth0"]);
    let long = sctp_packet(8, |packet| {
        packet.append(data(1, 0)).unwrap();
        packet.append(data(2, 0)).unwrap();
    });
    writer.write(0, 0, (ONE, TWO), IP_PROTOCOL_SCTP, &long);
    let whole = writer.bytes();
    // The packet's block is the last: cut what was captured of it to the headers of the first
    // chunk.
    let kept = 20 + 12 + 24;
    let block = whole.len() - (20 + long.len()).next_multiple_of(4) - 32;
    let mut cut = whole[..block].to_vec();
    let fields = &whole[block + 8..block + 28];
    let length = (32 + kept) as u32;
    cut.extend([&6u32.to_le_bytes()[..], &length.to_le_bytes(), &fields[..12]].concat());
    cut.extend((kept as u32).to_le_bytes());
    cut.extend(&fields[16..]);
    cut.extend(&whole[block + 28..block + 28 + kept]);
    cut.extend(length.to_le_bytes());
    let report = analysed(&cut, Options::default());
    assert_eq!((report.capture.packets, report.capture.cut_packets), (1, 1));
    let stream = &report.streams[0];
    assert_eq!(stream.totals.bytes.payload, 100, "the second chunk was not captured");
    assert_eq!(stream.sctp.as_ref().unwrap().chunks.incomplete_packets, 1);
}

#[test]
fn what_crosses_two_interfaces_is_two_streams_unless_they_are_one() {
    let mut writer = Writer::new(&["inside", "outside"]);
    for (ms, ends, payload) in association() {
        writer.write(ms, 0, ends, IP_PROTOCOL_SCTP, &payload);
        writer.write(ms, 1, ends, IP_PROTOCOL_SCTP, &payload);
    }
    let bytes = writer.bytes();
    let report = analysed(&bytes, Options::default());
    assert_eq!((report.streams.len(), report.all.retransmissions.total), (2, 4));
    let only = Options { interfaces: Interfaces::Only("outside".into()), ..Options::default() };
    let report = analysed(&bytes, only);
    assert_eq!((report.streams.len(), report.capture.passed_over.other_interface), (1, 10));
    let all = Options { interfaces: Interfaces::All, ..Options::default() };
    assert_eq!(analysed(&bytes, all).streams[0].totals.packets.data, 8);
}

#[test]
fn an_abort_ends_an_association_and_begins_none() {
    let mut packets = association();
    let abort =
        sctp_packet(1234, |packet| packet.append(Abort { t_bit: true, causes: [] }).unwrap());
    packets.push((600, (TWO, ONE), abort));
    let report = analysed(&written(&packets, 0), Options::default());
    assert_eq!(report.connections, 1);
}

#[test]
fn addresses_that_a_translator_changed_are_the_same_when_told() {
    let by_address = AddressRule {
        at_sender: "10.0.0.1".parse().unwrap(),
        at_receiver: "203.0.113.7".parse().unwrap(),
        ports: None,
    };
    let by_port = AddressRule { ports: Some((4000, 61_000)), ..by_address };
    let other_port = AddressRule { ports: Some((4000, 61_001)), ..by_address };
    for (seen_as, translated, matched) in [
        ("203.0.113.7:4000", vec![by_address], true),
        ("203.0.113.7:4000", vec![], false),
        ("203.0.113.7:61000", vec![by_address], false),
        ("203.0.113.7:61000", vec![by_address, by_port], true),
        ("203.0.113.7:61000", vec![other_port], false),
    ] {
        let mut sent = Writer::new(&["eth0"]);
        let mut arrived = Writer::new(&["eth0"]);
        for packet in 0..20 {
            let seq = 1 + packet * 10;
            let ms = u64::from(packet) * 100;
            sent.tcp(ms, (CLIENT, SERVER), Flags::ACK, seq, 10, 1);
            arrived.tcp(ms + 30, (seen_as, SERVER), Flags::ACK, seq, 10, 1);
        }
        let (sent, arrived) = (sent.bytes(), arrived.bytes());
        let options = Options { translated, ..Options::default() };
        let open = |bytes: &[u8]| Capture::open(std::io::Cursor::new(bytes.to_vec())).unwrap();
        let (report, ()) = compare(&mut open(&sent), &mut open(&arrived), None, options, ());
        assert_eq!(report.streams[0].receiver.is_some(), matched, "{seen_as}");
        let delays = report.delays.unwrap();
        assert_eq!(delays.delay_variation_ms.latency.count, if matched { 20 } else { 0 });
        assert_eq!(delays.transport_delay_ms.latency.max, 0.0, "none is later than another");
    }
}

#[test]
fn single_packets_are_told_of_by_their_number() {
    let mut writer = Writer::new(&["eth0"]);
    connection(&mut writer, 0, CLIENT, &[10, 20, 30, 40]);
    let bytes = writer.bytes();
    let told = |room: usize| {
        let details = Details::new(vec![2..=3, 9..=9], room);
        let mut capture = Capture::open(bytes.as_slice()).unwrap();
        let (mut report, details) = analyse(&mut capture, Options::default(), details);
        details.attach(&mut report);
        report
    };
    let report = told(10);
    let [second, third] = report.streams[0].packet_details.as_slice() else { panic!() };
    assert_eq!((second.number, second.payload_bytes, second.new_bytes), (2, 20, 20));
    assert_eq!((second.time_s, second.interval_ms, second.in_flight), (0.07, Some(10.0), 2));
    assert_eq!((second.kind, second.ack_latency_ms), (PacketKind::New, Some(50.0)));
    assert_eq!((third.number, third.payload_bytes, third.ack_latency_ms), (3, 30, Some(50.0)));
    assert_eq!(report.packet_details_left_out, 0);
    let report = told(1);
    assert_eq!(report.streams[0].packet_details, core::slice::from_ref(second));
    assert_eq!(report.packet_details_left_out, 1);
}

proptest! {
    #[test]
    fn no_capture_makes_it_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        noise in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        // Packets of an association and a connection in any order, some bytes changed; then noise.
        let mut packets = association();
        for place in order {
            let again = place.get(&packets).clone();
            packets.push(again);
        }
        let mut writer = Writer::new(&["eth0"]);
        connection(&mut writer, 0, CLIENT, &[10, 20, 30]);
        for (ms, ends, payload) in &packets {
            writer.write(*ms, 0, *ends, IP_PROTOCOL_SCTP, payload);
            writer.write(ms + 1, 0, *ends, 6, payload);
        }
        writer.write(9, 0, (ONE, TWO), 6, &noise);
        let mut bytes = writer.bytes();
        for (place, value) in changes {
            *place.get_mut(&mut bytes) = value;
        }
        let Ok(mut capture) = Capture::open(&bytes[..]) else { return Ok(()) };
        let (report, ()) = analyse(&mut capture, Options::default(), ());
        prop_assert!(report.capture.packets < 200);
        let (mut one, mut two) = (Capture::open(&bytes[..]).ok(), Capture::open(&bytes[..]).ok());
        if let (Some(one), Some(two)) = (&mut one, &mut two) {
            compare(one, two, Some(0), Options::default(), ());
        }
    }
}
