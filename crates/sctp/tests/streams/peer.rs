//! A peer played by the test: it sees every chunk and acknowledges as the test says.

use base::{Duration, Instant, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{DataFlags, GapAckBlock, Init, OutgoingSack, Shutdown};
use sctp::wire::{Chunk, ChunkType, Packet, Parameter, Tsn};
use sctp::{
    Abandoned, AssociationOptions, EndpointOptions, Event, Extensions, Ppid, Reliability,
    SendError, SendOptions, StreamId,
};

use crate::support::wire::{Bench, PEER_TAG, PEER_TSN};
use crate::support::{options, plain};

/// A chunk that the endpoint sent; TSNs count from its first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sent {
    /// TSN, stream, SSN, the B, E and U bits that are set, bytes.
    Data(u32, u16, u16, &'static str, usize),
    /// TSN, stream, MID, FSN, bits, bytes.
    IData(u32, u16, u32, u32, &'static str, usize),
    /// New cumulative TSN; stream and SSN.
    Forward(u32, Vec<(u16, u16)>),
    /// New cumulative TSN; stream, U, MID.
    IForward(u32, Vec<(u16, bool, u32)>),
    Other(ChunkType),
}

/// The endpoint under test and what the test knows of the association.
pub(crate) struct Peer {
    pub(crate) bench: Bench,
    pub(crate) start: Instant,
}

/// The parameters of a peer that knows partial reliability, and one that knows interleaving too.
const PARTIAL: &[Parameter<'static>] = &[Parameter::ForwardTsnSupported];
const BOTH: &[Parameter<'static>] =
    &[Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(&[192, 194, 64])];

fn bits(flags: DataFlags) -> &'static str {
    let has = |flag| flags.contains(flag);
    match (has(DataFlags::UNORDERED), has(DataFlags::BEGINNING), has(DataFlags::ENDING)) {
        (false, true, true) => "BE",
        (false, true, false) => "B",
        (false, false, true) => "E",
        (false, false, false) => "",
        (true, true, true) => "UBE",
        (true, true, false) => "UB",
        (true, false, true) => "UE",
        (true, false, false) => "U",
    }
}

impl Peer {
    /// An association with partial reliability in DATA.
    pub(crate) fn partial() -> Peer {
        Peer::with(PARTIAL, |_| ())
    }

    /// An association with partial reliability in I-DATA.
    pub(crate) fn interleaving() -> Peer {
        Peer::with(BOTH, |_| ())
    }

    /// An association with neither extension.
    pub(crate) fn plain() -> Peer {
        Peer::with(&[], |_| ())
    }

    /// An association that the test opens with these parameters, one second old.
    pub(crate) fn with(
        parameters: &'static [Parameter<'static>],
        change: impl FnOnce(&mut AssociationOptions),
    ) -> Peer {
        let mut accepted = options(plain());
        accepted.extensions = Extensions::PARTIAL_RELIABILITY | Extensions::INTERLEAVING;
        change(&mut accepted);
        let mut bench =
            Bench::new(EndpointOptions { listen: true, accepted, ..EndpointOptions::default() });
        let answers = bench.give(sctp::VerificationTag(0), |packet| {
            let init = Init {
                initiate_tag: PEER_TAG,
                a_rwnd: 100_000,
                outbound_streams: 10,
                inbound_streams: 1000,
                initial_tsn: PEER_TSN,
                parameters: parameters.iter().cloned(),
            };
            packet.append(init).unwrap();
        });
        bench.answer_init_ack(&answers[0]);
        bench.pass(Duration::from_secs(1));
        let start = bench.now;
        Peer { bench, start }
    }

    pub(crate) fn interleaving_with(change: impl FnOnce(&mut AssociationOptions)) -> Peer {
        Peer::with(BOTH, change)
    }

    pub(crate) fn partial_with(change: impl FnOnce(&mut AssociationOptions)) -> Peer {
        Peer::with(PARTIAL, change)
    }

    /// Sends a message; returns the packets that leave at once.
    pub(crate) fn send(
        &mut self,
        stream: u16,
        size: usize,
        reliability: Reliability,
    ) -> Vec<Vec<Sent>> {
        let options = SendOptions { reliability, ..SendOptions::default() };
        self.try_send(stream, size, options).unwrap();
        self.drain()
    }

    pub(crate) fn try_send(
        &mut self,
        stream: u16,
        size: usize,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let (id, now) = (self.bench.id(), self.bench.now);
        let payload = Bytes::from(vec![7; size]);
        self.bench.endpoint.association_mut(id).unwrap().send(
            now,
            StreamId(stream),
            Ppid(5),
            payload,
            options,
        )
    }

    pub(crate) fn drain(&mut self) -> Vec<Vec<Sent>> {
        let packets = self.bench.drain();
        self.read(packets)
    }

    /// Lets milliseconds pass; returns the packets sent, each with its time in milliseconds.
    pub(crate) fn pass(&mut self, millis: u64) -> Vec<(f64, Vec<Sent>)> {
        let until = self.bench.now + Duration::from_millis(millis);
        let mut sent = Vec::new();
        while let Some(at) = self.bench.endpoint.poll_timeout().filter(|at| *at <= until) {
            self.bench.now = at;
            self.bench.endpoint.handle_timeout(at);
            let after = at.since(self.start).as_nanos() as f64 / 1e6;
            sent.extend(self.drain().into_iter().map(|packet| (after, packet)));
            assert!(self.bench.endpoint.poll_timeout() != Some(at), "time stands still at {at}");
        }
        self.bench.now = until;
        sent
    }

    /// Acknowledges all up to `cumulative`, counted from the endpoint's first TSN (-1: nothing),
    /// and gaps.
    pub(crate) fn sack(&mut self, cumulative: i64, gaps: &[(u16, u16)]) -> Vec<Vec<Sent>> {
        let cumulative_tsn_ack = Tsn(self.bench.tsn.0.wrapping_add(cumulative as u32));
        let packets = self.bench.give_right(|packet| {
            let sack = OutgoingSack {
                cumulative_tsn_ack,
                a_rwnd: 100_000,
                gap_ack_blocks: gaps.iter().map(|&(start, end)| GapAckBlock { start, end }),
                duplicate_tsns: [].into_iter(),
            };
            packet.append(sack).unwrap();
        });
        self.read(packets)
    }

    pub(crate) fn peer_shuts_down(&mut self, cumulative: i64) -> Vec<Vec<Sent>> {
        let cumulative_tsn_ack = Tsn(self.bench.tsn.0.wrapping_add(cumulative as u32));
        let packets =
            self.bench.give_right(|packet| packet.append(Shutdown { cumulative_tsn_ack }).unwrap());
        self.read(packets)
    }

    pub(crate) fn shutdown(&mut self) -> Vec<Vec<Sent>> {
        let (id, now) = (self.bench.id(), self.bench.now);
        self.bench.endpoint.association_mut(id).unwrap().shutdown(now);
        self.drain()
    }

    /// Abandoned messages of which the application was told, with the reason's name.
    pub(crate) fn abandoned(&self) -> Vec<Abandoned> {
        let events = self.bench.events.iter();
        events
            .filter_map(|(_, event)| match event {
                Event::Abandoned(abandoned) => Some(*abandoned),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn stats(&self) -> sctp::AssociationStats {
        self.bench.endpoint.association(self.bench.id()).unwrap().stats()
    }

    fn read(&self, packets: Vec<Vec<u8>>) -> Vec<Vec<Sent>> {
        let from = |tsn: Tsn| tsn.0.wrapping_sub(self.bench.tsn.0);
        let chunk = |chunk: Chunk<'_>| match chunk {
            Chunk::Data(data) => Sent::Data(
                from(data.tsn),
                data.stream.0,
                data.ssn.0,
                bits(data.flags),
                data.payload.len(),
            ),
            Chunk::IData(data) => Sent::IData(
                from(data.tsn),
                data.stream.0,
                data.mid.0,
                data.fsn.0,
                bits(data.flags),
                data.payload.len(),
            ),
            Chunk::ForwardTsn(forward) => Sent::Forward(
                from(forward.new_cumulative_tsn),
                forward.skips.iter().map(|skip| (skip.stream.0, skip.ssn.0)).collect(),
            ),
            Chunk::IForwardTsn(forward) => Sent::IForward(
                from(forward.new_cumulative_tsn),
                forward
                    .skips
                    .iter()
                    .map(|skip| (skip.stream.0, skip.unordered, skip.mid.0))
                    .collect(),
            ),
            other => Sent::Other(other.chunk_type()),
        };
        let packets = packets.into_iter().map(|bytes| {
            assert!(bytes.len() <= 1472, "a packet of {} bytes", bytes.len());
            let packet = Packet::parse(Bytes::from(bytes)).unwrap();
            packet.chunks().map(|read| chunk(read.unwrap())).collect()
        });
        packets.collect()
    }
}
