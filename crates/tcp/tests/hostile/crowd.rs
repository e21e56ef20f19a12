//! An endpoint that receives segments from arbitrary addresses.

use std::net::SocketAddr;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use tcp::wire::{Flags, Options, Pseudo, Segment, SeqNumber};
use tcp::{ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions};

use crate::support::{LOCAL, address};

pub(crate) struct Crowd {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    /// Connections that were set up and accepted.
    pub(crate) accepted: Vec<ConnectionId>,
    /// Connections whose application was notified that it can write again.
    pub(crate) writable: Vec<ConnectionId>,
    buffer: Vec<u8>,
}

/// An honest peer's side of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Honest {
    pub(crate) remote: SocketAddr,
    pub(crate) seq: SeqNumber,
    pub(crate) ack: SeqNumber,
}

/// Address of peer number `index`.
pub(crate) fn stranger(index: u32) -> SocketAddr {
    let [_, b, c, d] = index.to_be_bytes();
    SocketAddr::from(([11, b, c, d], 1024 + (index % 60_000) as u16))
}

impl Crowd {
    pub(crate) fn new(options: EndpointOptions, accepted: ConnectionOptions) -> Crowd {
        let random = RandomStream::new(9, Purpose("endpoint", 0));
        let mut endpoint = Endpoint::new(options, random);
        let options = ListenOptions { backlog: 100_000, accepted };
        endpoint.listen(address("0.0.0.0:80"), options).unwrap();
        let now = Instant::from_millis(5000);
        Crowd { endpoint, now, accepted: Vec::new(), writable: Vec::new(), buffer: Vec::new() }
    }

    /// Delivers a segment from `remote`.
    pub(crate) fn give(&mut self, remote: SocketAddr, segment: &Segment) {
        let local = address(LOCAL);
        let mut bytes = Vec::new();
        segment.emit(Pseudo::new(remote.ip(), local.ip()), &mut bytes);
        self.give_bytes(remote, bytes.into());
    }

    pub(crate) fn give_bytes(&mut self, remote: SocketAddr, datagram: Bytes) {
        let meta = DatagramMeta {
            local: SocketAddr::new(address(LOCAL).ip(), 0),
            remote: SocketAddr::new(remote.ip(), 0),
            ecn: Ecn::NotEct,
            origin: None,
        };
        self.endpoint.handle_datagram(self.now, meta, datagram.into());
        self.hear();
    }

    /// Passes what this endpoint has no connection for to `other`, the last that may have one;
    /// returns the number of segments.
    pub(crate) fn hand_over(&mut self, other: &mut Crowd) -> usize {
        let strays = core::iter::from_fn(|| self.endpoint.take_stray());
        let count = strays.map(|stray| other.endpoint.handle_stray(other.now, stray, true)).count();
        other.hear();
        count
    }

    /// Accepts incoming connections, and notes which are writable.
    fn hear(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    assert_eq!(self.endpoint.accept(listener), Some(id));
                    self.accepted.push(id);
                }
                Event::Writable => self.writable.push(id),
                _ => {}
            }
        }
    }

    /// The next segment that the endpoint sends.
    pub(crate) fn next(&mut self) -> Option<(SocketAddr, Segment)> {
        self.buffer.clear();
        let transmit = self.endpoint.poll_transmit(self.now, &mut self.buffer)?;
        let addresses = Pseudo::new(transmit.local?.ip(), transmit.remote.ip());
        let segment = Segment::parse(Bytes::copy_from_slice(&self.buffer), addresses).unwrap();
        Some((SocketAddr::new(transmit.remote.ip(), segment.destination_port), segment))
    }

    /// Drains the segments that the endpoint sends; returns their number.
    pub(crate) fn drain(&mut self) -> usize {
        core::iter::from_fn(|| self.next()).count()
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some(due) = self.endpoint.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.endpoint.handle_timeout(self.now);
            self.drain();
            self.hear();
        }
        self.now = until;
    }

    /// Opens a connection from `remote`.
    pub(crate) fn connect(&mut self, remote: SocketAddr, options: Options) -> Honest {
        let seq = SeqNumber(7_000_000);
        let mut syn = syn(remote, seq);
        let stamps = options.timestamps;
        syn.options = options;
        self.give(remote, &syn);
        let (to, answer) = self.next().unwrap();
        assert_eq!((to, answer.flags.syn()), (remote, true));
        let honest = Honest { remote, seq: seq.next(), ack: answer.seq.next() };
        let mut ack = honest.segment(0);
        ack.options.timestamps = stamps.map(|mut stamps| {
            stamps.echo = answer.options.timestamps.unwrap().value;
            stamps
        });
        let before = self.accepted.len();
        self.give(remote, &ack);
        assert_eq!(self.accepted.len(), before + 1, "an honest peer is served");
        honest
    }

    /// Asserts that an honest peer is served.
    pub(crate) fn serves(&mut self) {
        let honest = self.connect(address("10.0.9.9:999"), Options::default());
        self.drain();
        self.give(honest.remote, &honest.segment(10));
        let id = *self.accepted.last().unwrap();
        assert_eq!(self.endpoint.connection(id).unwrap().readable_bytes(), 10);
    }
}

impl Honest {
    /// The peer's next segment, with `bytes` bytes.
    pub(crate) fn segment(&self, bytes: usize) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack,
            flags: Flags::ACK,
            window: u16::MAX,
            payload: vec![5; bytes].into(),
            ..Segment::new(self.remote.port(), 80)
        }
    }
}

/// The SYN of a peer.
pub(crate) fn syn(remote: SocketAddr, seq: SeqNumber) -> Segment {
    Segment { seq, flags: Flags::SYN, window: u16::MAX, ..Segment::new(remote.port(), 80) }
}
