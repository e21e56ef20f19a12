//! A hostile peer with an association of its own, and an honest peer that must still be served
//! afterwards.

use allocation_counter::{AllocationInfo, measure};
use base::Duration;
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, GapAckBlock, OutgoingSack};
use sctp::wire::{Chunk, Packet, Tsn, VerificationTag};
use sctp::{AssociationId, AssociationStats, Event, Ppid, SendError, SendOptions, StreamId};

use crate::support::address;
use crate::support::wire::{Any, Bench, data, packet};

/// Address of the honest peer.
const STRANGER: &str = "10.0.7.7:9899";

/// The peer's side of an association with the endpoint under test.
pub(crate) struct Foe {
    pub(crate) bench: Bench,
}

/// A DATA chunk that the endpoint sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentData {
    pub(crate) tsn: Tsn,
    pub(crate) length: usize,
}

impl Foe {
    pub(crate) fn new() -> Foe {
        Foe::with(Bench::established())
    }

    /// A foe of a bench whose association is set up.
    pub(crate) fn with(bench: Bench) -> Foe {
        Foe { bench }
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        let own = self.bench.endpoint.association(self.bench.id());
        own.expect("the association exists").stats()
    }

    /// The endpoint's application sends a message of `size` bytes.
    pub(crate) fn endpoint_sends(&mut self, size: usize) -> Result<Vec<SentData>, SendError> {
        let (id, now) = (self.bench.id(), self.bench.now);
        let payload = Bytes::from(vec![7; size]);
        let (stream, options) = (StreamId(0), SendOptions::default());
        self.bench.endpoint.association_mut(id).unwrap().send(
            now,
            stream,
            Ppid(0),
            payload,
            options,
        )?;
        Ok(sent_data(&self.bench.drain()))
    }

    /// A SACK that acknowledges `count` TSNs from the endpoint's first, with gap ack blocks.
    pub(crate) fn sack(&mut self, count: u32, a_rwnd: u32, gaps: &[(u16, u16)]) -> Vec<Vec<u8>> {
        let cumulative_tsn_ack = Tsn(self.bench.tsn.0.wrapping_add(count).wrapping_sub(1));
        let gap_ack_blocks =
            gaps.iter().map(|(start, end)| GapAckBlock { start: *start, end: *end });
        let sack = OutgoingSack { cumulative_tsn_ack, a_rwnd, gap_ack_blocks, duplicate_tsns: [] };
        self.bench.give_right(|packet| packet.append(sack).unwrap())
    }

    /// A packet with the right tag and an arbitrary chunk.
    pub(crate) fn chunk(&mut self, chunk_type: u8, flags: u8, value: &[u8]) -> Vec<Vec<u8>> {
        self.bench.give_right(|packet| packet.append(Any(chunk_type, flags, value)).unwrap())
    }

    /// A message on the association, in order: it arrives, and its answer leaves. Asserts that the
    /// association works as before although `received` TSNs arrived from here.
    #[track_caller]
    pub(crate) fn association_works(&mut self, received: u32, ssn: u16) {
        let (id, now) = (self.bench.id(), self.bench.now);
        while self.bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now)).is_some()
        {
        }
        self.bench.give_right(|packet| {
            packet.append(data(received, 0, ssn, b"still there?")).unwrap();
        });
        let message = self
            .bench
            .endpoint
            .association_mut(id)
            .and_then(|mut own| own.receive(now))
            .expect("the message arrives");
        assert_eq!(message.payload.into_bytes(), Bytes::from_static(b"still there?"));
        assert!(
            self.bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now)).is_none(),
            "once only"
        );
    }
}

/// The DATA chunks in packets.
pub(crate) fn sent_data(packets: &[Vec<u8>]) -> Vec<SentData> {
    let mut found = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(Bytes::copy_from_slice(bytes)).unwrap();
        for chunk in packet.chunks() {
            if let Chunk::Data(data) = chunk.unwrap() {
                found.push(SentData { tsn: data.tsn, length: data.payload.len() });
            }
        }
    }
    found
}

/// Sum of the packets' lengths.
pub(crate) fn bytes(packets: &[Vec<u8>]) -> usize {
    packets.iter().map(Vec::len).sum()
}

/// Bytes that `attack` allocates at the endpoint, and those of the test itself.
pub(crate) fn memory(attack: impl FnOnce()) -> AllocationInfo {
    measure(attack)
}

/// Opens an association from another host, sends a message each way, and closes it: an honest peer
/// is served, whatever happened before.
#[track_caller]
pub(crate) fn a_stranger_is_served(bench: &mut Bench) {
    let before = bench.endpoint.association_count();
    let kept = (bench.remote, bench.tag, bench.tsn, bench.events.len());
    bench.remote = address(STRANGER);
    let own_tag = VerificationTag(0x0a11_0ced);
    let cookie = bench.init(own_tag);
    bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
    let id = opened(bench, kept.3);
    bench.give_right(|packet| packet.append(data(0, 0, 0, b"good day")).unwrap());
    let message = bench
        .endpoint
        .association_mut(id)
        .and_then(|mut own| own.receive(bench.now))
        .expect("the stranger is heard");
    assert_eq!(message.payload.into_bytes(), Bytes::from_static(b"good day"));
    let (now, options) = (bench.now, SendOptions::default());
    let answer = Bytes::from(vec![1; 5_000]);
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(0), Ppid(0), answer, options)
        .unwrap();
    let mut received = sent_data(&bench.drain());
    for _ in 0..10 {
        let (count, tsn) = (received.len() as u32, bench.tsn.0);
        let cumulative_tsn_ack = Tsn(tsn.wrapping_add(count).wrapping_sub(1));
        let (gap_ack_blocks, duplicate_tsns) = ([], []);
        let a_rwnd = 100_000;
        let sack = OutgoingSack { cumulative_tsn_ack, a_rwnd, gap_ack_blocks, duplicate_tsns };
        received.extend(sent_data(&bench.give_right(|packet| packet.append(sack).unwrap())));
    }
    assert_eq!(received.iter().map(|data| data.length).sum::<usize>(), 5_000);
    assert!(bench.endpoint.association(id).is_some_and(sctp::Association::is_settled));
    bench.endpoint.release(id);
    bench.drain();
    assert_eq!(bench.endpoint.association_count(), before, "the stranger left nothing behind");
    (bench.remote, bench.tag, bench.tsn) = (kept.0, kept.1, kept.2);
    bench.events.truncate(kept.3);
}

/// The association that the events after the first `known` say is set up.
#[track_caller]
pub(crate) fn opened(bench: &Bench, known: usize) -> AssociationId {
    let events = &bench.events[known..];
    let found = events.iter().find(|(_, event)| *event == Event::Established);
    found.expect("the association is set up").0
}

/// A packet of `chunks` many chunks of one type, each with `value`, as large as UDP can carry.
pub(crate) fn bundle(
    tag: VerificationTag,
    chunk_type: u8,
    flags: u8,
    value: &[u8],
    chunks: usize,
) -> Vec<u8> {
    packet(crate::support::wire::PEER_PORT, crate::support::PORT, tag, |packet| {
        for _ in 0..chunks {
            if packet.append(Any(chunk_type, flags, value)).is_err() {
                break;
            }
        }
    })
}

/// Lets an hour pass; returns the packets sent.
pub(crate) fn hour(bench: &mut Bench) -> Vec<Vec<u8>> {
    bench.pass(Duration::from_secs(3_600))
}
