//! The packets of every host, in the order and at the time sent.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base::{Duration, Instant};
use netsim::checker::Packet as NetPacket;
use netsim::{Checker, DropCause, HostId};
use sctp::wire::chunk::{AddressAnswer, AddressRequest};
use sctp::wire::{Chunk, ChunkType, Packet};

use super::T0;

/// A packet that left, with its chunks, and whether the network lost it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) from: HostId,
    pub(crate) source: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) chunks: Vec<SentChunk>,
    pub(crate) lost: bool,
    /// Bytes of the SCTP packet.
    pub(crate) size: usize,
    number: u64,
}

impl Sent {
    /// Whether the packet carried a chunk of this type.
    pub(crate) fn has(&self, chunk_type: ChunkType) -> bool {
        self.chunks.iter().any(|chunk| chunk.chunk_type() == chunk_type)
    }
}

/// A chunk that left; TSNs count from the sender's first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SentChunk {
    Data(u32),
    /// Cumulative TSN ack (-1: nothing yet), gap ack blocks, duplicates, window.
    Sack {
        cumulative: i32,
        gaps: Vec<(u16, u16)>,
        duplicates: usize,
        a_rwnd: u32,
    },
    Other(ChunkType),
}

impl SentChunk {
    fn chunk_type(&self) -> ChunkType {
        match self {
            SentChunk::Data(_) => ChunkType::DATA,
            SentChunk::Sack { .. } => ChunkType::SACK,
            SentChunk::Other(chunk_type) => *chunk_type,
        }
    }
}

/// Checker that records every packet with its time.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) sent: Vec<Sent>,
    first_tsn: BTreeMap<HostId, u32>,
}

impl Trace {
    fn seen(&mut self, from: HostId, chunk: &Chunk<'_>) -> SentChunk {
        match chunk {
            Chunk::Data(data) => {
                let first = self.first_tsn.get(&from).copied().unwrap_or_default();
                SentChunk::Data(data.tsn.0.wrapping_sub(first))
            }
            Chunk::Sack(sack) => {
                let peer = self.first_tsn.iter().find(|(host, _)| **host != from);
                let first = peer.map(|(_, first)| *first).unwrap_or_default();
                SentChunk::Sack {
                    cumulative: sack.cumulative_tsn_ack.0.wrapping_sub(first) as i32,
                    gaps: sack.gap_ack_blocks().map(|gap| (gap.start, gap.end)).collect(),
                    duplicates: sack.duplicate_tsns().len(),
                    a_rwnd: sack.a_rwnd,
                }
            }
            Chunk::Init(init) => {
                self.first_tsn.insert(from, init.initial_tsn.0);
                SentChunk::Other(ChunkType::INIT)
            }
            Chunk::InitAck(init) => {
                self.first_tsn.insert(from, init.0.initial_tsn.0);
                SentChunk::Other(ChunkType::INIT_ACK)
            }
            other => SentChunk::Other(other.chunk_type()),
        }
    }

    /// Packets with DATA that `host` sent: microseconds after [`T0`] and TSNs.
    pub(crate) fn data_of(&self, host: HostId) -> Vec<(f64, Vec<u32>)> {
        let of_host = self.sent.iter().filter(|sent| sent.from == host);
        let with_data = of_host.filter(|sent| sent.has(ChunkType::DATA));
        with_data
            .map(|sent| {
                let tsns = sent.chunks.iter().filter_map(|chunk| match chunk {
                    SentChunk::Data(tsn) => Some(*tsn),
                    _ => None,
                });
                (after_t0(sent.at), tsns.collect())
            })
            .collect()
    }

    /// Times at which `host` sent SACKs, in microseconds after [`T0`].
    pub(crate) fn sacks_of(&self, host: HostId) -> Vec<f64> {
        self.times_of(host, ChunkType::SACK).map(after_t0).collect()
    }

    /// Times at which `host` sent chunks of this type.
    pub(crate) fn times_of(
        &self,
        host: HostId,
        chunk_type: ChunkType,
    ) -> impl Iterator<Item = Instant> {
        let of_host = self.sent.iter().filter(move |sent| sent.from == host);
        of_host.filter(move |sent| sent.has(chunk_type)).map(|sent| sent.at)
    }

    /// Times at which `host` sent chunks of this type, in milliseconds since the beginning.
    pub(crate) fn millis_of(&self, host: HostId, chunk_type: ChunkType) -> Vec<f64> {
        let times = self.times_of(host, chunk_type);
        times.map(|at| at.as_nanos() as f64 / 1e6).collect()
    }
}

/// Whether each parameter of the chunk is one of those that its type is made for: Supported
/// Extensions, and whatever else agrees to something, is in INIT and INIT ACK only (RFC 5061,
/// section 4.2.7).
fn assert_own_parameters(chunk: &Chunk<'_>) {
    let own = match chunk {
        Chunk::Asconf(asconf) => asconf.requests.iter().all(|request| {
            matches!(request, Ok((request, _)) if !matches!(request, AddressRequest::Unrecognized(_)))
        }),
        Chunk::AsconfAck(ack) => ack.answers.iter().all(|answer| {
            matches!(answer, Ok(answer) if !matches!(answer, AddressAnswer::Unrecognized))
        }),
        Chunk::ReConfig(reconfig) => reconfig.parameters.iter().all(|request| request.is_ok()),
        _ => true,
    };
    assert!(own, "a parameter of another chunk in {chunk:?}");
}

/// Microseconds after [`T0`]; exact, since nanoseconds of a few hours fit the mantissa.
fn after_t0(at: Instant) -> f64 {
    let (after, before) = (at.since(T0), T0.since(at));
    let sign = if before > Duration::ZERO { -1.0 } else { 1.0 };
    sign * after.max(before).as_nanos() as f64 / 1e3
}

impl Checker for Trace {
    fn on_sent(&mut self, now: Instant, packet: &NetPacket) {
        let Ok(parsed) = Packet::parse(packet.datagram.payload.clone()) else {
            panic!("{:?} sent a malformed packet", packet.sender)
        };
        let mut chunks = Vec::new();
        for chunk in parsed.chunks() {
            let chunk = chunk.unwrap();
            assert_own_parameters(&chunk);
            chunks.push(self.seen(packet.sender, &chunk));
        }
        let (number, from) = (packet.number, packet.sender);
        let (source, to) = (packet.datagram.source, packet.datagram.destination);
        let size = packet.datagram.payload.len();
        self.sent.push(Sent { at: now, from, source, to, chunks, lost: false, size, number });
    }

    fn on_dropped(&mut self, _now: Instant, packet: &NetPacket, _cause: DropCause) {
        if let Some(sent) = self.sent.iter_mut().rev().find(|sent| sent.number == packet.number) {
            sent.lost = true;
        }
    }
}
