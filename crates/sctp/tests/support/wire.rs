//! A single endpoint that receives hand-made packets.

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Data, DataFlags, Init};
use sctp::wire::{
    Chunk, CommonHeader, EmitChunk, Packet, PacketBuilder, Parameter, Parameters, Ppid, Ssn,
    StreamId, Tsn, VerificationTag,
};
use sctp::{AssociationId, Endpoint, EndpointOptions, Event};

use super::{CLIENT, PORT, SERVER, address};

/// SCTP port of the peer that the test plays.
pub(crate) const PEER_PORT: u16 = 6000;
/// The tag that the endpoint must put into its packets.
pub(crate) const PEER_TAG: VerificationTag = VerificationTag(0x7777_0001);
/// The first TSN that the test sends.
pub(crate) const PEER_TSN: Tsn = Tsn(100);

/// The endpoint under test, at [`SERVER`], and what the test knows of the association.
pub(crate) struct Bench {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    pub(crate) remote: std::net::SocketAddr,
    /// The endpoint's tag, once its INIT ACK carried it.
    pub(crate) tag: VerificationTag,
    /// TSN of the endpoint's first DATA chunk.
    pub(crate) tsn: Tsn,
    pub(crate) events: Vec<(AssociationId, Event)>,
}

/// A packet by its chunks, with a right checksum.
pub(crate) fn packet(
    source_port: u16,
    destination_port: u16,
    verification_tag: VerificationTag,
    fill: impl FnOnce(&mut PacketBuilder<'_>),
) -> Vec<u8> {
    let mut buffer = Vec::new();
    let header = CommonHeader { source_port, destination_port, verification_tag };
    let mut builder = PacketBuilder::start(&mut buffer, header, 60_000);
    fill(&mut builder);
    builder.finish();
    buffer
}

/// Corrects the checksum of a packet.
pub(crate) fn fix_checksum(packet: &mut [u8]) {
    if let Some(field) = packet.get_mut(8..12) {
        field.fill(0);
        let sum = crc32c::crc32c(packet);
        packet[8..12].copy_from_slice(&sum.to_le_bytes());
    }
}

/// A chunk of any type and value.
pub(crate) struct Any<'a>(pub(crate) u8, pub(crate) u8, pub(crate) &'a [u8]);

impl EmitChunk for Any<'_> {
    fn head(&self) -> (sctp::wire::ChunkType, u8) {
        (sctp::wire::ChunkType(self.0), self.1)
    }
    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(self.2);
    }
}

/// A whole message in a DATA chunk, `offset` TSNs after the test's first.
pub(crate) fn data(offset: u32, stream: u16, ssn: u16, payload: &[u8]) -> Data<&[u8]> {
    Data {
        tsn: Tsn(PEER_TSN.0.wrapping_add(offset)),
        stream: StreamId(stream),
        ssn: Ssn(ssn),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload,
    }
}

pub(crate) fn init(tag: VerificationTag) -> Init<[Parameter<'static>; 0]> {
    init_with(tag, [])
}

/// An INIT with this tag and these parameters, and usual streams and window.
pub(crate) fn init_with<P>(tag: VerificationTag, parameters: P) -> Init<P> {
    Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: PEER_TSN,
        parameters,
    }
}

/// Names of the chunks of a packet, such as `["COOKIE ACK", "SACK"]`.
pub(crate) fn names(packet: &[u8]) -> Vec<String> {
    let packet = Packet::parse(Bytes::copy_from_slice(packet)).unwrap();
    packet.raw_chunks().map(|chunk| chunk.unwrap().chunk_type.to_string()).collect()
}

/// Tag in the common header.
pub(crate) fn tag_of(packet: &[u8]) -> VerificationTag {
    Packet::parse(Bytes::copy_from_slice(packet)).unwrap().header().verification_tag
}

impl Bench {
    /// An endpoint that listens, at time zero.
    pub(crate) fn new(options: EndpointOptions) -> Bench {
        let random = RandomStream::new(1, Purpose("bench", 0));
        Bench {
            endpoint: Endpoint::new(EndpointOptions { port: PORT, ..options }, random),
            now: Instant::ZERO,
            remote: address(CLIENT),
            tag: VerificationTag(0),
            tsn: Tsn(0),
            events: Vec::new(),
        }
    }

    pub(crate) fn listening() -> Bench {
        Bench::new(EndpointOptions { listen: true, ..EndpointOptions::default() })
    }

    /// A listening endpoint with the association that the test opened.
    pub(crate) fn established() -> Bench {
        Bench::established_with(EndpointOptions::default(), &[])
    }

    /// An established bench with options, opened by an INIT with parameters.
    pub(crate) fn established_with(
        options: EndpointOptions,
        parameters: &[Parameter<'static>],
    ) -> Bench {
        let mut bench = Bench::new(EndpointOptions { listen: true, ..options });
        let cookie = bench.init_with(PEER_TAG, parameters);
        let answer = bench.give(bench.tag, |packet| {
            packet.append(CookieEcho { cookie: &cookie }).unwrap();
        });
        assert_eq!(names(&answer[0]), ["COOKIE ACK"]);
        bench
    }

    pub(crate) fn id(&self) -> AssociationId {
        self.events[0].0
    }

    pub(crate) fn state(&self) -> &'static str {
        self.endpoint.association(self.id()).map_or("none", |own| own.state_name())
    }

    /// Sends INIT and takes the cookie out of INIT ACK.
    pub(crate) fn init(&mut self, tag: VerificationTag) -> Vec<u8> {
        self.init_with(tag, &[])
    }

    /// Sends INIT with parameters and takes the cookie out of INIT ACK.
    pub(crate) fn init_with(
        &mut self,
        tag: VerificationTag,
        parameters: &[Parameter<'static>],
    ) -> Vec<u8> {
        let init = init_with(tag, parameters.iter().copied());
        let answers = self.give(VerificationTag(0), |packet| packet.append(init).unwrap());
        assert_eq!(tag_of(&answers[0]), tag);
        self.take_init_ack(&answers[0])
    }

    /// Takes the endpoint's tag and TSN out of its INIT ACK, for the packets that follow, and
    /// returns the cookie.
    pub(crate) fn take_init_ack(&mut self, init_ack: &[u8]) -> Vec<u8> {
        let parsed = Packet::parse(Bytes::copy_from_slice(init_ack)).unwrap();
        let Some(Ok(Chunk::InitAck(answer))) = parsed.chunks().next() else {
            panic!("{:?}", names(init_ack))
        };
        (self.tag, self.tsn) = (answer.0.initiate_tag, answer.0.initial_tsn);
        let parameters: Parameters<'_> = answer.0.parameters;
        parameters.state_cookie().unwrap().to_vec()
    }

    /// Answers the endpoint's INIT ACK with COOKIE ECHO.
    pub(crate) fn answer_init_ack(&mut self, init_ack: &[u8]) {
        let cookie = self.take_init_ack(init_ack);
        self.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
    }

    /// Delivers a packet with `tag`; returns the endpoint's packets.
    pub(crate) fn give(
        &mut self,
        tag: VerificationTag,
        fill: impl FnOnce(&mut PacketBuilder<'_>),
    ) -> Vec<Vec<u8>> {
        let bytes = packet(PEER_PORT, PORT, tag, fill);
        self.give_bytes(bytes)
    }

    /// Gives a packet with the endpoint's own tag.
    pub(crate) fn give_right(&mut self, fill: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<Vec<u8>> {
        self.give(self.tag, fill)
    }

    pub(crate) fn give_bytes(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let meta = DatagramMeta {
            local: address(SERVER),
            remote: self.remote,
            ecn: Ecn::NotEct,
            origin: None,
        };
        self.endpoint.handle_datagram(self.now, meta, bytes.into());
        self.drain()
    }

    /// Lets time pass, timers and all.
    pub(crate) fn pass(&mut self, span: Duration) -> Vec<Vec<u8>> {
        let until = self.now + span;
        let mut sent = Vec::new();
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= until) {
            assert!(at >= self.now, "a deadline in the past: {at} at {}", self.now);
            self.now = at;
            self.endpoint.handle_timeout(at);
            sent.extend(self.drain());
            assert!(self.endpoint.poll_timeout() != Some(at), "time stands still at {at}");
        }
        self.now = until;
        sent
    }

    /// Packets that the endpoint sends; also collects its events.
    pub(crate) fn drain(&mut self) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        loop {
            let mut buffer = Vec::new();
            if self.endpoint.poll_transmit(self.now, &mut buffer).is_none() {
                break;
            }
            sent.push(buffer);
            assert!(sent.len() < 10_000, "sends without end");
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        sent
    }
}
