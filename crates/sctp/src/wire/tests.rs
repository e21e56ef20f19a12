//! A packet written by hand, and round trips of everything that can be written.

use bytes::Bytes;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::collection::vec;
use proptest::prelude::*;

use base::Duration;

use super::cause::MissingParameters;
use super::chunk::*;
use super::parameter::{AddressTypes, RawParameter};
use super::*;

/// INIT from port 5000 to port 9899 as it stands on the wire, written by hand from RFC 9260.
#[rustfmt::skip]
const INIT_PACKET: [u8; 60] = [
    0x13, 0x88, 0x26, 0xab, // ports 5000 and 9899
    0x00, 0x00, 0x00, 0x00, // verification tag: 0 in a packet with INIT
    0x50, 0x49, 0x8a, 0xb1, // CRC32c, least significant byte first
    0x01, 0x00, 0x00, 0x2e, // INIT, no flags, 46 bytes: not the padding of the last parameter
    0xde, 0xad, 0xbe, 0xef, // initiate tag
    0x00, 0x02, 0x00, 0x00, // a_rwnd 131072
    0x00, 0x0a, 0xff, 0xff, // 10 outbound streams, 65535 inbound streams
    0xff, 0xff, 0xff, 0xfe, // initial TSN, two before it wraps
    0x00, 0x05, 0x00, 0x08, // IPv4 address, 8 bytes:
    192, 0, 2, 1,           //   192.0.2.1
    0x00, 0x0c, 0x00, 0x06, // supported address types, 6 bytes:
    0x00, 0x05, 0x00, 0x00, //   IPv4; two bytes of padding
    0xc0, 0x00, 0x00, 0x04, // Forward-TSN-Supported, 4 bytes
    0x80, 0x08, 0x00, 0x06, // supported extensions, 6 bytes:
    0xc0, 0x82, 0x00, 0x00, //   FORWARD TSN and RE-CONFIG; two bytes of padding
];

fn init_parameters() -> [Parameter<'static>; 4] {
    [
        Parameter::Ipv4Address(Ipv4Addr::new(192, 0, 2, 1)),
        Parameter::SupportedAddressTypes(AddressTypes { ipv4: true, ipv6: false }),
        Parameter::ForwardTsnSupported,
        Parameter::SupportedExtensions(&[0xc0, 0x82]),
    ]
}

#[test]
fn the_hand_written_checksum_is_right() {
    // The reflected polynomial of CRC32c, one bit at a time, with the checksum field as zero.
    let mut remainder = u32::MAX;
    for (at, byte) in INIT_PACKET.into_iter().enumerate() {
        remainder ^= if (8..12).contains(&at) { 0 } else { byte.into() };
        for _ in 0..8 {
            remainder = (remainder >> 1) ^ (0x82f6_3b78 * (remainder & 1));
        }
    }
    assert_eq!(
        INIT_PACKET[8..12],
        (!remainder).to_le_bytes(),
        "{:02x?}",
        (!remainder).to_le_bytes()
    );
}

#[test]
fn the_hand_written_init_reads_as_meant() {
    let packet = Packet::parse(Bytes::from_static(&INIT_PACKET)).unwrap();
    let header = packet.header();
    assert_eq!((header.source_port, header.destination_port), (5000, 9899));
    assert_eq!(header.verification_tag, VerificationTag(0));
    let mut chunks = packet.chunks();
    let Some(Ok(Chunk::Init(init))) = chunks.next() else { panic!("no INIT") };
    assert!(chunks.next().is_none());
    assert_eq!(init.initiate_tag, VerificationTag(0xdead_beef));
    assert_eq!(init.a_rwnd, 131_072);
    assert_eq!((init.outbound_streams, init.inbound_streams), (10, 65_535));
    assert_eq!(init.initial_tsn, Tsn(u32::MAX - 1));
    let parameters: Result<Vec<_>, _> = init.parameters.iter().collect();
    assert_eq!(parameters.unwrap(), init_parameters());
}

#[test]
fn the_hand_written_init_is_what_the_builder_writes() {
    let mut buffer = Vec::new();
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 9899,
        verification_tag: VerificationTag(0),
    };
    let mut packet = PacketBuilder::start(&mut buffer, header, 1200);
    let init = Init {
        initiate_tag: VerificationTag(0xdead_beef),
        a_rwnd: 131_072,
        outbound_streams: 10,
        inbound_streams: 65_535,
        initial_tsn: Tsn(u32::MAX - 1),
        parameters: init_parameters(),
    };
    packet.append(init).unwrap();
    assert_eq!(packet.finish(), INIT_PACKET.len());
    assert_eq!(buffer, INIT_PACKET);
}

/// Chunks as they stand on the wire, written by hand from RFC 9260, sections 3.3.1 to 3.3.14.
#[rustfmt::skip]
const HAND_WRITTEN: [(&str, &[u8]); 9] = [
    ("DATA", &[
        0x00, 0x0b, 0x00, 0x13, // DATA with I, B and E, 19 bytes
        0x01, 0x02, 0x03, 0x04, // TSN
        0x05, 0x06, 0x07, 0x08, // stream 0x0506, SSN 0x0708
        0x09, 0x0a, 0x0b, 0x0c, // payload protocol identifier
        b'a', b'b', b'c', 0x00, // user data, one byte of padding
    ]),
    ("SACK", &[
        0x03, 0x00, 0x00, 0x1c, // SACK, 28 bytes
        0x01, 0x02, 0x03, 0x04, // cumulative TSN ack
        0x00, 0x01, 0x00, 0x02, // a_rwnd 65538
        0x00, 0x02, 0x00, 0x01, // two gap ack blocks, one duplicate TSN
        0x00, 0x02, 0x00, 0x03, // from 2 to 3
        0x00, 0x05, 0x00, 0x05, // from 5 to 5
        0x01, 0x02, 0x03, 0x03, // the duplicate TSN
    ]),
    ("HEARTBEAT", &[
        0x04, 0x00, 0x00, 0x0a, // HEARTBEAT, 10 bytes
        0x00, 0x01, 0x00, 0x06, // Heartbeat Info, 6 bytes
        b'h', b'i', 0x00, 0x00, // two bytes of padding
    ]),
    ("HEARTBEAT ACK", &[0x05, 0, 0, 0x0a, 0, 1, 0, 6, b'h', b'i', 0, 0]),
    ("ABORT", &[
        0x06, 0x01, 0x00, 0x0b, // ABORT with T, 11 bytes
        0x00, 0x0c, 0x00, 0x07, // User-Initiated Abort, 7 bytes
        b'w', b'h', b'y', 0x00, // one byte of padding
    ]),
    ("SHUTDOWN", &[0x07, 0, 0, 8, 1, 2, 3, 4]),
    ("SHUTDOWN ACK", &[0x08, 0, 0, 4]),
    ("ERROR", &[
        0x09, 0x00, 0x00, 0x0c, // ERROR, 12 bytes
        0x00, 0x01, 0x00, 0x08, // Invalid Stream Identifier, 8 bytes
        0x00, 0x07, 0x00, 0x00, // stream 7
    ]),
    ("SHUTDOWN COMPLETE", &[0x0e, 1, 0, 4]),
];

#[test]
fn the_hand_written_chunks_are_what_the_builder_writes_and_read_as_meant() {
    let data = Sample::Data(Data {
        tsn: Tsn(0x0102_0304),
        stream: StreamId(0x0506),
        ssn: Ssn(0x0708),
        ppid: Ppid(0x090a_0b0c),
        flags: DataFlags::WHOLE.with(DataFlags::IMMEDIATE),
        payload: Bytes::from_static(b"abc"),
    });
    let sack = Sample::Sack(OutgoingSack {
        cumulative_tsn_ack: Tsn(0x0102_0304),
        a_rwnd: 65_538,
        gap_ack_blocks: vec![GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }],
        duplicate_tsns: vec![Tsn(0x0102_0303)],
    });
    let heartbeat = |ack| Sample::Heartbeat(b"hi".to_vec(), ack);
    let samples = [data, sack, heartbeat(false), heartbeat(true)];
    let samples = samples.into_iter().chain([
        Sample::Abort(true, vec![(11, 0, b"why".to_vec())]),
        Sample::Shutdown(Tsn(0x0102_0304)),
        Sample::ShutdownAck,
        Sample::Error(vec![(0, 7, Vec::new())]),
        Sample::ShutdownComplete(true),
    ]);
    assert_eq!(samples.clone().count(), HAND_WRITTEN.len());
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 9899,
        verification_tag: VerificationTag(7),
    };
    for (sample, (name, bytes)) in samples.zip(HAND_WRITTEN) {
        let mut buffer = Vec::new();
        let mut builder = PacketBuilder::start(&mut buffer, header, 1200);
        sample.append(&mut builder).unwrap();
        builder.finish();
        assert_eq!(buffer[12..], *bytes, "{name}");
        let packet = Packet::parse(buffer.into()).unwrap();
        let chunk = packet.chunks().next().unwrap().unwrap();
        assert_eq!(ChunkType(bytes[0]).to_string(), name);
        assert!(sample.reads_back_as(chunk), "{name}");
    }
}

/// A chunk that owns its contents, to be written and compared with the parsed one.
#[derive(Clone, Debug)]
enum Sample {
    Data(Data),
    Init(Init<Vec<OwnedParameter>>, bool),
    Sack(OutgoingSack<Vec<GapAckBlock>, Vec<Tsn>>),
    Heartbeat(Vec<u8>, bool),
    Abort(bool, Vec<OwnedCause>),
    Error(Vec<OwnedCause>),
    Shutdown(Tsn),
    ShutdownAck,
    ShutdownComplete(bool),
    CookieEcho(Vec<u8>),
    CookieAck,
}

/// Generated inputs of a parameter: a choice, a number and bytes.
type OwnedParameter = (u8, u32, Vec<u8>);
/// Generated inputs of a cause: a choice, a number and bytes.
type OwnedCause = (u8, u32, Vec<u8>);

fn parameter((choice, number, bytes): &OwnedParameter) -> Parameter<'_> {
    let wide = u128::from(*number) << 64 | 7;
    match choice {
        0 => Parameter::Ipv4Address(Ipv4Addr::from_bits(*number)),
        1 => Parameter::Ipv6Address(Ipv6Addr::from_bits(wide)),
        2 => Parameter::StateCookie(bytes),
        3 => Parameter::UnrecognizedParameter(bytes),
        4 => Parameter::CookiePreservative(Duration::from_millis(u64::from(*number))),
        5 => Parameter::HostNameAddress(RawParameter {
            parameter_type: ParameterType::HOST_NAME_ADDRESS,
            bytes: b"\0\x0b\0\x0aa.test",
        }),
        6 => Parameter::SupportedAddressTypes(AddressTypes {
            ipv4: number & 1 != 0,
            ipv6: number & 2 != 0,
        }),
        7 => Parameter::EcnCapable,
        8 => Parameter::SupportedExtensions(bytes),
        9 => Parameter::ForwardTsnSupported,
        10 => Parameter::ZeroChecksumAcceptable(*number),
        _ => Parameter::Unrecognized(RawParameter {
            parameter_type: ParameterType(0xc006),
            bytes: &[0xc0, 0x06, 0, 8, 1, 2, 3, 4],
        }),
    }
}

fn cause((choice, number, bytes): &OwnedCause) -> Cause<'_> {
    match choice {
        0 => Cause::InvalidStreamIdentifier(StreamId(*number as u16)),
        1 => Cause::MissingMandatoryParameter(MissingParameters::STATE_COOKIE),
        2 => Cause::StaleCookie(Duration::from_micros(u64::from(*number))),
        3 => Cause::OutOfResource,
        4 => Cause::UnresolvableAddress(bytes),
        5 => Cause::UnrecognizedChunkType(bytes),
        6 => Cause::InvalidMandatoryParameter,
        7 => Cause::UnrecognizedParameters(bytes),
        8 => Cause::NoUserData(Tsn(*number)),
        9 => Cause::CookieReceivedWhileShuttingDown,
        10 => Cause::RestartWithNewAddresses(bytes),
        11 => Cause::UserInitiatedAbort(bytes),
        12 => Cause::ProtocolViolation(bytes),
        _ => Cause::Unrecognized { code: CauseCode(0x4242), value: bytes },
    }
}

impl Sample {
    fn append(&self, packet: &mut PacketBuilder<'_>) -> Result<(), DoesNotFit> {
        match self {
            Sample::Data(data) => packet.append(data.clone()),
            Sample::Init(init, ack) => {
                let init = Init {
                    initiate_tag: init.initiate_tag,
                    a_rwnd: init.a_rwnd,
                    outbound_streams: init.outbound_streams,
                    inbound_streams: init.inbound_streams,
                    initial_tsn: init.initial_tsn,
                    parameters: init.parameters.iter().map(parameter),
                };
                if *ack { packet.append(InitAck(init)) } else { packet.append(init) }
            }
            Sample::Sack(sack) => packet.append(sack.clone()),
            Sample::Heartbeat(info, false) => packet.append(Heartbeat { info }),
            Sample::Heartbeat(info, true) => packet.append(HeartbeatAck { info }),
            Sample::Abort(t_bit, causes) => {
                packet.append(Abort { t_bit: *t_bit, causes: causes.iter().map(cause) })
            }
            Sample::Error(causes) => {
                packet.append(OperationError { causes: causes.iter().map(cause) })
            }
            Sample::Shutdown(tsn) => packet.append(Shutdown { cumulative_tsn_ack: *tsn }),
            Sample::ShutdownAck => packet.append(ShutdownAck),
            Sample::ShutdownComplete(t_bit) => packet.append(ShutdownComplete { t_bit: *t_bit }),
            Sample::CookieEcho(cookie) => packet.append(CookieEcho { cookie }),
            Sample::CookieAck => packet.append(CookieAck),
        }
    }

    /// Whether `chunk` has the contents of this sample.
    fn reads_back_as(&self, chunk: Chunk<'_>) -> bool {
        match (self, chunk) {
            (Sample::Data(sent), Chunk::Data(data)) => *sent == data,
            (Sample::Init(sent, false), Chunk::Init(init))
            | (Sample::Init(sent, true), Chunk::InitAck(InitAck(init))) => {
                sent.initiate_tag == init.initiate_tag
                    && sent.a_rwnd == init.a_rwnd
                    && sent.outbound_streams == init.outbound_streams
                    && sent.inbound_streams == init.inbound_streams
                    && sent.initial_tsn == init.initial_tsn
                    && sent.parameters.iter().map(|p| Ok(parameter(p))).eq(init.parameters)
            }
            (Sample::Sack(sent), Chunk::Sack(sack)) => {
                sent.cumulative_tsn_ack == sack.cumulative_tsn_ack
                    && sent.a_rwnd == sack.a_rwnd
                    && sent.gap_ack_blocks.iter().copied().eq(sack.gap_ack_blocks())
                    && sent.duplicate_tsns.iter().copied().eq(sack.duplicate_tsns())
            }
            (Sample::Heartbeat(sent, false), Chunk::Heartbeat(Heartbeat { info }))
            | (Sample::Heartbeat(sent, true), Chunk::HeartbeatAck(HeartbeatAck { info })) => {
                *sent == info
            }
            (Sample::Abort(t_bit, sent), Chunk::Abort(abort)) => {
                *t_bit == abort.t_bit && sent.iter().map(|c| Ok(cause(c))).eq(abort.causes)
            }
            (Sample::Error(sent), Chunk::Error(error)) => {
                sent.iter().map(|c| Ok(cause(c))).eq(error.causes)
            }
            (Sample::Shutdown(tsn), Chunk::Shutdown(shutdown)) => {
                *tsn == shutdown.cumulative_tsn_ack
            }
            (Sample::ShutdownComplete(t_bit), Chunk::ShutdownComplete(complete)) => {
                *t_bit == complete.t_bit
            }
            (Sample::CookieEcho(sent), Chunk::CookieEcho(CookieEcho { cookie })) => *sent == cookie,
            (Sample::ShutdownAck, Chunk::ShutdownAck(_))
            | (Sample::CookieAck, Chunk::CookieAck(_)) => true,
            _ => false,
        }
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn data() -> impl Strategy<Value = Sample> {
    (any::<(u32, u16, u16, u32)>(), 0u8..16, bytes()).prop_map(
        |((tsn, stream, ssn, ppid), flags, payload)| {
            Sample::Data(Data {
                tsn: Tsn(tsn),
                stream: StreamId(stream),
                ssn: Ssn(ssn),
                ppid: Ppid(ppid),
                flags: DataFlags::from_bits(flags),
                payload: payload.into(),
            })
        },
    )
}

fn init() -> impl Strategy<Value = Sample> {
    let parameters = vec((0u8..12, any::<u32>(), bytes()), 0..6);
    (any::<(u32, u32, u16, u16, u32, bool)>(), parameters).prop_map(
        |((tag, a_rwnd, outbound_streams, inbound_streams, tsn, ack), parameters)| {
            let init = Init {
                initiate_tag: VerificationTag(tag),
                a_rwnd,
                outbound_streams,
                inbound_streams,
                initial_tsn: Tsn(tsn),
                parameters,
            };
            Sample::Init(init, ack)
        },
    )
}

fn sack() -> impl Strategy<Value = Sample> {
    let gaps = vec(any::<(u16, u16)>().prop_map(|(start, end)| GapAckBlock { start, end }), 0..9);
    (any::<(u32, u32)>(), gaps, vec(any::<u32>().prop_map(Tsn), 0..9)).prop_map(
        |((tsn, a_rwnd), gap_ack_blocks, duplicate_tsns)| {
            Sample::Sack(OutgoingSack {
                cumulative_tsn_ack: Tsn(tsn),
                a_rwnd,
                gap_ack_blocks,
                duplicate_tsns,
            })
        },
    )
}

fn sample() -> impl Strategy<Value = Sample> {
    let causes = || vec((0u8..14, any::<u32>(), bytes()), 0..6);
    prop_oneof![
        data(),
        init(),
        sack(),
        (bytes(), any::<bool>()).prop_map(|(info, ack)| Sample::Heartbeat(info, ack)),
        (any::<bool>(), causes()).prop_map(|(t_bit, causes)| Sample::Abort(t_bit, causes)),
        causes().prop_map(Sample::Error),
        any::<u32>().prop_map(|tsn| Sample::Shutdown(Tsn(tsn))),
        Just(Sample::ShutdownAck),
        any::<bool>().prop_map(Sample::ShutdownComplete),
        bytes().prop_map(Sample::CookieEcho),
        Just(Sample::CookieAck),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        samples in vec(sample(), 0..8), ports in any::<(u16, u16)>(), tag in any::<u32>(),
        max_size in 12usize..1500, before in 0usize..5,
    ) {
        let header = CommonHeader {
            source_port: ports.0.max(1),
            destination_port: ports.1.max(1),
            verification_tag: VerificationTag(tag),
        };
        let mut buffer = vec![0x55; before];
        let mut builder = PacketBuilder::start(&mut buffer, header, max_size);
        let mut sent = Vec::new();
        for sample in samples {
            let (room, length) = (builder.remaining(), builder.len());
            // A SACK is shortened to fit; only SACKs that need not be shortened are compared.
            if matches!(&sample, Sample::Sack(sack)
                if 16 + 4 * (sack.gap_ack_blocks.len() + sack.duplicate_tsns.len()) > room) {
                continue;
            }
            match sample.append(&mut builder) {
                Ok(()) => sent.push(sample),
                Err(DoesNotFit) => prop_assert_eq!(builder.len(), length),
            }
        }
        let size = builder.finish();
        prop_assert!(size <= max_size && size.is_multiple_of(4));
        prop_assert_eq!(buffer.len(), before + size);

        let packet = Packet::parse(Bytes::from(buffer).slice(before..)).unwrap();
        prop_assert_eq!(packet.header(), header);
        prop_assert_eq!(packet.chunks().count(), sent.len());
        for (sent, chunk) in sent.iter().zip(packet.chunks()) {
            let chunk = chunk.unwrap();
            prop_assert!(sent.reads_back_as(chunk.clone()), "{:?} became {:?}", sent, chunk);
        }
    }
}
