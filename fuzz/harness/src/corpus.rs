//! The inputs that usrsctp's fuzzers have collected, in the three shapes that they are made for.
//! They are read from outside of this tree: `make fuzz CORPUS=directory`, with the directories
//! `CORPUS_CONNECT`, `CORPUS_FRAGMENT` and `CORPUS_LISTEN` in it.

use core::net::SocketAddr;

use base::{Duration, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::wire::chunk::{CookieAck, CookieEcho, Data, DataFlags, Init, InitAck};
use sctp::wire::{Chunk, CommonHeader, EmitChunk, Packet, PacketBuilder, Parameter};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Ppid, SendOptions, Ssn, StreamId,
    Tsn, VerificationTag,
};

use crate::network::{events, fix_checksum, give, host, transmits};

/// Ports of the endpoint and of the peer that the inputs play.
const PORTS: (u16, u16) = (5000, 5001);

/// The peer's initial TSN, which the inputs count from, and the one that they expect of the
/// endpoint.
const PEER_TSN: Tsn = Tsn(0xed69_58ec);
const EXPECTED_TSN: u32 = 0xd45e_e957;

/// Flags of a connecting input, in its first byte.
mod flag {
    pub(super) const INIT_ACK: u8 = 1;
    pub(super) const COOKIE_ACK: u8 = 2;
    pub(super) const SEND: u8 = 4;
    pub(super) const DATA: u8 = 0x10;
    pub(super) const SEND_FORCED: u8 = 0x40;
}

/// Purpose of an input: the state of the endpoint that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Chunks to an endpoint that opens, as far as the input's first byte says.
    Connect,
    /// Chunks for an association that this side opened.
    Established,
    /// Chunks for an association that the peer opened.
    Accepted,
    /// Chunks of a row of packets to an association that is set up.
    Fragment,
    /// A packet to a listener.
    Listen,
}

/// End of an input, for the choice of inputs to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// State before the input's packets, as RFC 9260 spells it.
    pub before: &'static str,
    /// State after the input's packets, as RFC 9260 spells it.
    pub after: &'static str,
    /// Number of the input's packets.
    pub given: usize,
    /// Packets that the endpoint sent in answer.
    pub answers: usize,
}

struct Bench {
    endpoint: Endpoint,
    now: Instant,
    remote: SocketAddr,
    id: Option<AssociationId>,
    tag: VerificationTag,
    tsn: Tsn,
}

impl Bench {
    fn new(port: u16) -> Bench {
        let options = EndpointOptions { port, listen: true, ..EndpointOptions::default() };
        Bench {
            endpoint: Endpoint::new(options, RandomStream::new(1, Purpose("corpus", 0))),
            now: Instant::ZERO,
            remote: host(2),
            id: None,
            tag: VerificationTag(0),
            tsn: Tsn(0),
        }
    }

    fn drain(&mut self) -> Vec<Vec<u8>> {
        let sent = transmits(&mut self.endpoint, self.now);
        for (id, _) in events(&mut self.endpoint) {
            self.id.get_or_insert(id);
        }
        while self
            .id
            .and_then(|id| {
                self.endpoint.association_mut(id).and_then(|mut own| own.receive(self.now))
            })
            .is_some()
        {}
        sent.into_iter()
            .chain(transmits(&mut self.endpoint, self.now))
            .map(|packet| packet.bytes)
            .collect()
    }

    fn give(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        give(&mut self.endpoint, self.now, host(1), self.remote, bytes);
        self.drain()
    }

    fn give_chunk(&mut self, tag: VerificationTag, chunk: impl EmitChunk) -> Vec<Vec<u8>> {
        let mut buffer = Vec::new();
        let header =
            CommonHeader { source_port: PORTS.1, destination_port: PORTS.0, verification_tag: tag };
        let mut packet = PacketBuilder::start(&mut buffer, header, 1_472);
        let fits = packet.append(chunk);
        assert!(fits.is_ok(), "the harness's chunks fit");
        packet.finish();
        self.give(&buffer)
    }

    /// Chunks behind a header with everything right.
    fn give_raw_chunks(&mut self, chunks: &[u8]) -> usize {
        let mut bytes = PORTS.1.to_be_bytes().to_vec();
        bytes.extend_from_slice(&PORTS.0.to_be_bytes());
        bytes.extend_from_slice(&self.tag.0.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(chunks);
        fix_checksum(&mut bytes);
        self.give(&bytes).len()
    }

    fn init<P: IntoIterator<Item = Parameter<'static>>>(parameters: P) -> Init<P> {
        Init {
            initiate_tag: VerificationTag(0x2be8_4740),
            a_rwnd: 0x1c_71c7,
            outbound_streams: u16::MAX,
            inbound_streams: u16::MAX,
            initial_tsn: PEER_TSN,
            parameters,
        }
    }

    /// Extensions that the peer of the inputs offers: FORWARD TSN, I-DATA and related ones.
    fn extensions() -> [Parameter<'static>; 2] {
        [
            Parameter::ForwardTsnSupported,
            Parameter::SupportedExtensions(&[0xc0, 0xc2, 0x0f, 0xc1, 0x80, 0x82, 0x40]),
        ]
    }

    fn connect(&mut self) {
        let options = AssociationOptions::default();
        let id = self.endpoint.connect(self.now, self.remote, PORTS.1, options);
        self.id = id.ok();
        let sent = self.drain();
        let init = sent.first().and_then(|bytes| Packet::parse(Bytes::from(bytes.clone())).ok());
        if let Some(packet) = init
            && let Some(Ok(Chunk::Init(init))) = packet.chunks().next()
        {
            (self.tag, self.tsn) = (init.initiate_tag, init.initial_tsn);
        }
    }

    fn answer_init(&mut self) {
        let mut parameters = vec![Parameter::StateCookie(&[7; 64])];
        parameters.extend(Bench::extensions());
        self.give_chunk(self.tag, InitAck(Bench::init(parameters)));
    }

    /// Lets the peer open the association: INIT and COOKIE ECHO.
    fn accept(&mut self) {
        let sent = self.give_chunk(VerificationTag(0), Bench::init(Bench::extensions()));
        let answer = sent.first().and_then(|bytes| Packet::parse(Bytes::from(bytes.clone())).ok());
        let Some(packet) = answer else { panic!("no INIT ACK") };
        let Some(Ok(Chunk::InitAck(answer))) = packet.chunks().next() else {
            panic!("no INIT ACK")
        };
        (self.tag, self.tsn) = (answer.0.initiate_tag, answer.0.initial_tsn);
        let cookie = answer.0.parameters.state_cookie().unwrap_or_default();
        self.give_chunk(self.tag, CookieEcho { cookie });
    }

    fn send(&mut self, size: usize) {
        if let Some(id) = self.id {
            let (payload, options) = (Bytes::from(vec![1; size]), SendOptions::default());
            let _ = self
                .endpoint
                .association_mut(id)
                .map_or(Err(sctp::SendError::Closed), |mut own| {
                    own.send(self.now, StreamId(0), Ppid(0), payload, options)
                });
            self.drain();
        }
    }

    fn state(&self) -> &'static str {
        self.id.and_then(|id| self.endpoint.association(id)).map_or("none", |own| own.state_name())
    }

    /// Judges the result: all timers run to their end, and an honest peer is served.
    fn judge(&mut self) {
        let end = self.now + Duration::from_secs(2_000);
        let mut steps = 0;
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= end) {
            assert!(at >= self.now, "a deadline in the past");
            self.now = at;
            self.endpoint.handle_timeout(at);
            self.drain();
            steps += 1;
            assert!(steps < 10_000, "time stands still at {at}");
        }
        self.now = end;
        if let Some(id) = self.id.take() {
            self.endpoint.release(id);
            self.drain();
        }
        self.remote = host(3);
        let known = self.endpoint.association_count();
        self.accept_and_hear();
        assert_eq!(self.endpoint.association_count(), known + 1);
    }

    fn accept_and_hear(&mut self) {
        let port = self.endpoint.options().port;
        if port != PORTS.0 {
            return;
        }
        self.accept();
        let data = Data {
            tsn: PEER_TSN,
            stream: StreamId(0),
            ssn: Ssn(0),
            ppid: Ppid(0),
            flags: DataFlags::WHOLE,
            payload: b"good day".as_slice(),
        };
        let Some(id) = self.id else { panic!("an honest peer is not served") };
        let before =
            self.endpoint.association(id).map(|own| own.stats().counters.messages_received);
        self.give_chunk(self.tag, data);
        let after = self.endpoint.association(id).map(|own| own.stats().counters.messages_received);
        assert_eq!(after, before.map(|count| count + 1), "an honest peer is not heard");
    }
}

/// Gives an endpoint an input in a shape; none if the input is too short or too long for it.
pub fn run(shape: Shape, input: &[u8]) -> Option<Outcome> {
    match shape {
        Shape::Connect => connect(input, 0),
        Shape::Established => connect(input, flag::INIT_ACK | flag::COOKIE_ACK),
        Shape::Accepted => accepted(input),
        Shape::Fragment => fragment(input),
        Shape::Listen => listen(input),
    }
}

fn connect(input: &[u8], forced: u8) -> Option<Outcome> {
    let (first, chunks) = input.split_first().filter(|_| (5..=65_507).contains(&input.len()))?;
    let flags = first | forced;
    let mut bench = Bench::new(PORTS.0);
    bench.connect();
    if flags & flag::INIT_ACK != 0 {
        bench.answer_init();
    }
    if flags & flag::COOKIE_ACK != 0 {
        bench.give_chunk(bench.tag, CookieAck);
    }
    let is_set_up = flags & flag::INIT_ACK != 0 && flags & flag::COOKIE_ACK != 0;
    if (is_set_up && flags & flag::SEND != 0) || flags & flag::SEND_FORCED != 0 {
        bench.send(41);
    }
    if is_set_up && flags & flag::DATA != 0 {
        let payload = [b'A'; 200].as_slice();
        let (stream, ssn, ppid, flags) = (StreamId(0), Ssn(0), Ppid(39), DataFlags::WHOLE);
        let data = Data { tsn: PEER_TSN, stream, ssn, ppid, flags, payload };
        bench.give_chunk(bench.tag, data);
    }
    let before = bench.state();
    let answers = bench.give_raw_chunks(chunks);
    Some(finish(bench, before, 1, answers))
}

fn accepted(input: &[u8]) -> Option<Outcome> {
    let (_, chunks) = input.split_first().filter(|_| (5..=65_507).contains(&input.len()))?;
    let mut bench = Bench::new(PORTS.0);
    bench.accept();
    bench.send(41);
    let before = bench.state();
    let answers = bench.give_raw_chunks(chunks);
    Some(finish(bench, before, 1, answers))
}

fn fragment(input: &[u8]) -> Option<Outcome> {
    const SACK: u8 = 3;
    const NR_SACK: u8 = 16;
    if input.len() < 10 {
        return None;
    }
    let mut bench = Bench::new(PORTS.0);
    bench.connect();
    bench.answer_init();
    bench.give_chunk(bench.tag, CookieAck);
    let before = bench.state();
    let (mut rest, mut given, mut answers) = (input, 0, 0);
    while let Some(head) = rest.first_chunk::<4>().filter(|_| rest.len() > 4) {
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if length == 0 {
            break;
        }
        let (chunk, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        let mut chunk = chunk.to_vec();
        if matches!(chunk[0], SACK | NR_SACK) {
            bench.send(1_000);
            // The inputs count from the TSN that the endpoint had when they were made.
            let shift = bench.tsn.0.wrapping_sub(EXPECTED_TSN);
            if let Some(field) = chunk.get_mut(4..8).and_then(|field| field.first_chunk_mut::<4>())
            {
                *field = u32::from_be_bytes(*field).wrapping_add(shift).to_be_bytes();
            }
        }
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        given += 1;
        answers += bench.give_raw_chunks(&chunk);
    }
    Some(finish(bench, before, given, answers))
}

fn listen(input: &[u8]) -> Option<Outcome> {
    let port = input.get(2..4).filter(|_| (8..=65_507).contains(&input.len()))?;
    let mut bench = Bench::new(u16::from_be_bytes([port[0], port[1]]).max(1));
    let mut bytes = input.to_vec();
    fix_checksum(&mut bytes);
    let before = bench.state();
    let answers = bench.give(&bytes).len();
    Some(finish(bench, before, 1, answers))
}

fn finish(mut bench: Bench, before: &'static str, given: usize, answers: usize) -> Outcome {
    let after = bench.state();
    // A packet with thousands of chunks provokes some dozens of answers at most.
    assert!(answers <= 100 * given.max(1), "{answers} packets for {given}");
    if bench.endpoint.options().port == PORTS.0 {
        bench.judge();
    }
    Outcome { before, after, given, answers }
}
