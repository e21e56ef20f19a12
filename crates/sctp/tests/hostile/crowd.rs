//! An endpoint and the many peers of its associations, some of them honest.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base::{Duration, Instant};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Data, DataFlags, OutgoingSack};
use sctp::wire::{Cause, Chunk, Packet, Parameter, Tsn, VerificationTag};
use sctp::{
    AssociationId, EndpointOptions, Event, Failure, Message, Ppid, SendError, SendOptions, StreamId,
};

use crate::support::wire::{Bench, data, names};

/// An endpoint under test whose application sends every message back, unless told otherwise.
pub(crate) struct Crowd {
    pub(crate) bench: Bench,
    /// Whether the application leaves messages unread.
    pub(crate) deaf: bool,
    heard: usize,
    /// The message of each association that could not be returned yet: no further one is read
    /// before it leaves.
    waiting: BTreeMap<AssociationId, Message>,
}

/// A peer's side of an association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) remote: SocketAddr,
    pub(crate) id: AssociationId,
    tag: VerificationTag,
    /// The endpoint's first TSN, and how many of its chunks were acknowledged.
    tsn: Tsn,
    taken: u32,
    /// Chunks and ordered messages sent so far.
    pub(crate) sent: u32,
    pub(crate) messages: u16,
}

/// Peer number `index`, each at an address of its own.
pub(crate) fn stranger(index: u32) -> SocketAddr {
    let [_, b, c, d] = index.to_be_bytes();
    SocketAddr::from(([11, b, c, d], 9899))
}

/// Association number `index` of a single attacker.
pub(crate) fn attacker(index: u32) -> SocketAddr {
    SocketAddr::from(([10, 66, 0, 1], index as u16))
}

/// Code of the first cause of each ABORT, 0 without one.
pub(crate) fn abort_causes(packets: &[Vec<u8>]) -> Vec<u16> {
    let mut causes = Vec::new();
    for bytes in packets {
        let packet = Packet::parse(Bytes::copy_from_slice(bytes)).unwrap();
        for chunk in packet.chunks() {
            if let Chunk::Abort(abort) = chunk.unwrap() {
                let first: Option<Cause<'_>> = abort.causes.iter().next().and_then(Result::ok);
                causes.push(first.map_or(0, |cause| cause.code().0));
            }
        }
    }
    causes
}

/// Out of Resource (RFC 9260, section 3.3.10.4).
pub(crate) const OUT_OF_RESOURCE: u16 = 4;

impl Member {
    /// Verification tag of the endpoint, which packets to it carry.
    pub(crate) fn tag(&self) -> VerificationTag {
        self.tag
    }
}

impl Crowd {
    pub(crate) fn new(options: EndpointOptions) -> Crowd {
        let bench = Bench::new(EndpointOptions { listen: true, ..options });
        Crowd { bench, deaf: false, heard: 0, waiting: BTreeMap::new() }
    }

    /// The handshake of a peer; returns the answer to its COOKIE ECHO if that set up no
    /// association.
    pub(crate) fn try_open(&mut self, remote: SocketAddr) -> Result<Member, Vec<Vec<u8>>> {
        self.try_open_with(remote, &[])
    }

    /// The handshake of a peer with parameters in INIT.
    pub(crate) fn try_open_with(
        &mut self,
        remote: SocketAddr,
        parameters: &[Parameter<'static>],
    ) -> Result<Member, Vec<Vec<u8>>> {
        self.bench.remote = remote;
        let cookie = self.bench.init_with(VerificationTag(0x5000_0000), parameters);
        let answers = self.bench.give_right(|packet| {
            packet.append(CookieEcho { cookie: &cookie }).unwrap();
        });
        let accepted = answers.iter().any(|answer| names(answer)[0] == "COOKIE ACK");
        let (tag, tsn) = (self.bench.tag, self.bench.tsn);
        let events = &self.bench.events[self.heard..];
        let opened = events.iter().find(|(_, event)| *event == Event::Established);
        let opened = opened.map(|(id, _)| *id);
        self.hear();
        match opened {
            Some(id) if accepted => {
                Ok(Member { remote, id, tag, tsn, taken: 0, sent: 0, messages: 0 })
            }
            _ => Err(answers),
        }
    }

    #[track_caller]
    pub(crate) fn open(&mut self, remote: SocketAddr) -> Member {
        let opened = self.try_open(remote);
        opened.unwrap_or_else(|answers| panic!("refused: {:?}", abort_causes(&answers)))
    }

    /// Delivers a DATA chunk of `member`; returns the packets that the endpoint then sends.
    pub(crate) fn give(&mut self, member: &mut Member, chunk: Data<&[u8]>) -> Vec<Vec<u8>> {
        (self.bench.remote, self.bench.tag) = (member.remote, member.tag);
        self.bench.give_right(|packet| packet.append(chunk).unwrap())
    }

    /// The next chunk of a message of a stream, with these flags.
    pub(crate) fn fragment(
        &mut self,
        member: &mut Member,
        stream: u16,
        flags: DataFlags,
        size: usize,
    ) -> Vec<Vec<u8>> {
        let payload = vec![9; size];
        let mut chunk = data(member.sent, stream, member.messages, &payload);
        chunk.flags = flags;
        member.sent += 1;
        let answers = self.give(member, chunk);
        self.hear();
        answers
    }

    /// A SACK of all data that the endpoint has sent, with this window.
    pub(crate) fn sack(&mut self, member: &mut Member, chunks: u32, a_rwnd: u32) -> Vec<Vec<u8>> {
        member.taken += chunks;
        let cumulative_tsn_ack = Tsn(member.tsn.0.wrapping_add(member.taken).wrapping_sub(1));
        let (gap_ack_blocks, duplicate_tsns) = ([], []);
        let sack = OutgoingSack { cumulative_tsn_ack, a_rwnd, gap_ack_blocks, duplicate_tsns };
        (self.bench.remote, self.bench.tag) = (member.remote, member.tag);
        self.bench.give_right(|packet| packet.append(sack).unwrap())
    }

    /// Processes the events: reads messages and returns them.
    pub(crate) fn hear(&mut self) {
        while let Some((id, event)) = self.bench.events.get(self.heard).cloned() {
            self.heard += 1;
            match event {
                Event::Readable | Event::Writable if !self.deaf => self.echo(id),
                Event::Failed(_) => drop(self.waiting.remove(&id)),
                _ => {}
            }
        }
    }

    /// Reads all messages of an association and returns them as far as possible.
    pub(crate) fn echo(&mut self, id: AssociationId) {
        let now = self.bench.now;
        while let Some(message) = self.waiting.remove(&id).or_else(|| {
            self.bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
        }) {
            let (stream, payload) = (message.stream, message.payload.clone().into_bytes());
            let options = SendOptions::default();
            // An association that ended for lack of memory answers nothing.
            let Some(mut own) = self.bench.endpoint.association_mut(id) else { return };
            if own.send(now, stream, Ppid(0), payload, options) == Err(SendError::BufferFull) {
                drop(own);
                self.waiting.insert(id, message);
                return;
            }
        }
    }

    /// An honest peer's message arrives, and its answer leaves at the same instant: the peer's
    /// stream is as fast as before.
    #[track_caller]
    pub(crate) fn round_trip(&mut self, member: &mut Member) {
        let deaf = core::mem::replace(&mut self.deaf, false);
        let mut sent = self.fragment(member, 0, DataFlags::WHOLE, 100);
        member.messages += 1;
        sent.extend(self.bench.drain());
        let echo = crate::foe::sent_data(&sent);
        assert_eq!(
            echo.iter().map(|data| data.length).sum::<usize>(),
            100,
            "at {}",
            self.bench.now
        );
        self.sack(member, echo.len() as u32, 100_000);
        self.deaf = deaf;
    }

    /// Asserts that `peers` honest peers are set up, each from an address of its own, and served
    /// within a second.
    #[track_caller]
    pub(crate) fn serves_honest_peers(&mut self, peers: u32) -> Vec<Member> {
        let begun = self.bench.now;
        let mut honest = Vec::new();
        for index in 0..peers {
            let remote = SocketAddr::from(([10, 7, 0, index as u8], 9899));
            let mut member = self.open(remote);
            self.round_trip(&mut member);
            honest.push(member);
            self.wait(Duration::from_millis(1000 / u64::from(peers + 1)));
        }
        for member in &mut honest {
            self.round_trip(member);
        }
        assert!(self.bench.now.since(begun) <= Duration::from_secs(1));
        honest
    }

    /// Lets time pass; returns the endpoint's packets.
    pub(crate) fn wait(&mut self, span: Duration) -> Vec<Vec<u8>> {
        let sent = self.bench.pass(span);
        self.hear();
        sent
    }

    pub(crate) fn now(&self) -> Instant {
        self.bench.now
    }

    /// Number of associations of which the application was told that they failed for lack of memory
    /// or places.
    pub(crate) fn told_of_loss(&self) -> usize {
        let lost = Event::Failed(Failure::OutOfResource);
        self.bench.events.iter().filter(|(_, event)| *event == lost).count()
    }

    /// Bytes that an association may send.
    pub(crate) fn send(&mut self, id: AssociationId, size: usize) -> Result<(), sctp::SendError> {
        let (now, options) = (self.bench.now, SendOptions::default());
        let payload = Bytes::from(vec![7; size]);
        self.bench.endpoint.association_mut(id).unwrap().send(
            now,
            StreamId(0),
            Ppid(0),
            payload,
            options,
        )
    }
}
