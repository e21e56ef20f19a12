//! Two associations with a hostile network between them, driven by the fuzzer's bytes and judged by
//! a model: every message arrives once, in order where asked, intact; or its sender is told that
//! the association failed.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeSet;

use base::{Duration, Instant, Purpose, RandomStream};
use bytes::Bytes;
use sctp::{
    Abandoned, AssociationId, AssociationMut, Endpoint, EndpointOptions, Event, KeyId, Ppid,
    Reliability, SendOptions, StreamId,
};

pub use self::input::{End, Input, Step};
use self::layers::{Channels, Orders};
use self::options::{discovers, is_protected, mtu, options, policy, shared_key};
use self::streams::Resets;
use crate::PORT;
use crate::advice::{Number, UNITS};
use crate::air::{self, Air, Fate, Spoilable};
use crate::network::{events, give, home, next_timeout, run_timers, transmits};

mod input;
mod judging;
mod layers;
mod options;
mod streams;

/// Streams that the applications use.
const STREAMS: usize = 4;

/// Bytes of the headers of IP and UDP.
const HEADERS: usize = 28;

/// Time that a packet takes while the network works.
const TRIP: Duration = Duration::from_millis(20);

/// Time that the network works at the end; data still missing then counts as lost.
const PATIENCE: Duration = Duration::from_secs(4_000);

/// A message that an application sent.
struct Sent {
    stream: u16,
    size: usize,
    unordered: bool,
    arrived: bool,
    given_up: Option<GivenUp>,
}

impl Sent {
    fn new(stream: u16, size: usize, unordered: bool) -> Sent {
        Sent { stream, size, unordered, arrived: false, given_up: None }
    }
}

/// Notice to the sender about an abandoned message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenUp {
    /// No part of it ever left.
    Unsent,
    /// A part of it left, so that it may have arrived.
    Sent,
}

/// A packet that left an end and has not arrived.
#[derive(Clone)]
struct Flying {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

impl Spoilable for Flying {
    fn flip(&mut self, bit: usize) {
        air::flip(&mut self.bytes, bit);
    }

    /// SCTP does not look at marks here.
    fn mark(&mut self) {}
}

struct World {
    ends: [Endpoint; 2],
    ids: [Option<AssociationId>; 2],
    /// Associations that a cookie opened which came again after the first had ended. They are
    /// other ones to their application: what arrives there may have arrived before, and begins
    /// a new order.
    later: [BTreeSet<AssociationId>; 2],
    /// Messages sent by each end.
    sent: [Vec<Sent>; 2],
    /// The latest ordered message that arrived, by end and stream.
    latest: [[Option<usize>; STREAMS]; 2],
    /// The message that is sent in parts, by end and stream.
    open: [[Option<usize>; STREAMS]; 2],
    resets: [Resets; 2],
    /// Number of resets of which an end was told.
    told_of_resets: u64,
    /// Messages that were given up without being reported one by one.
    further: [u64; 2],
    failed: [bool; 2],
    over: [bool; 2],
    air: Air<Flying>,
    /// Whether each of the two networks loses everything.
    broken: [bool; 2],
    /// Ends that find the path MTU out, and bytes of an IP packet that pass in one piece from
    /// there.
    discovers: [bool; 2],
    mtu: [usize; 2],
    /// Packets may come without a checksum: what is below protects them.
    protected: bool,
    orders: Orders,
    /// All streams are data channels.
    channels: Option<Channels>,
    now: Instant,
}

/// The bytes of message `index`, its number first.
fn message(index: usize, size: usize) -> Bytes {
    bytes_of(index, 0..size)
}

/// Some of the bytes of message `index`.
fn bytes_of(index: usize, range: core::ops::Range<usize>) -> Bytes {
    let number = (index as u32).to_be_bytes();
    range.map(|at| number.get(at).copied().unwrap_or((at * 31 + index * 7) as u8)).collect()
}

/// Options with which message `index` is sent.
fn send_options(unordered: bool, patience: u8, index: usize) -> SendOptions {
    let reliability = match patience {
        0..20 => Reliability::Lifetime(Duration::from_millis(50 * u64::from(patience))),
        20..30 => Reliability::Retransmissions(u32::from(patience) - 20),
        30..40 => Reliability::Priority(u32::from(patience) - 30),
        _ => Reliability::Full,
    };
    // Some name a key that both ends know: 0, 1 or 2.
    let key = (index % 3 == 2).then_some(KeyId((index / 3 % 3) as u16));
    SendOptions { unordered, reliability, context: index as u32, key, ..SendOptions::default() }
}

/// Network, of two, on which an address is.
fn network(address: SocketAddr) -> u8 {
    match address.ip() {
        IpAddr::V4(ip) => ip.octets()[1] & 1,
        IpAddr::V6(_) => 0,
    }
}

impl World {
    fn new(ends: &[End; 2], paths: u8) -> World {
        let count = 1 + (paths & 1);
        let end = |index: usize| {
            let options = EndpointOptions {
                port: PORT,
                listen: index == 1,
                addresses: (0..count).map(|path| home(index as u8, path)).collect(),
                accepted: options(&ends[index]),
                ..EndpointOptions::default()
            };
            Endpoint::new(options, RandomStream::new(5, Purpose("end", index as u64)))
        };
        let mut world = World {
            ends: [end(0), end(1)],
            ids: [None; 2],
            later: Default::default(),
            sent: [Vec::new(), Vec::new()],
            latest: [[None; STREAMS]; 2],
            open: [[None; STREAMS]; 2],
            resets: Default::default(),
            told_of_resets: 0,
            further: [0; 2],
            failed: [false; 2],
            over: [false; 2],
            air: Air::default(),
            broken: [false; 2],
            discovers: [discovers(&ends[0]), discovers(&ends[1])],
            mtu: [1_500; 2],
            protected: is_protected(&ends[0]) && is_protected(&ends[1]),
            orders: Orders::default(),
            channels: (paths & 6 == 6).then(Channels::default),
            now: Instant::ZERO,
        };
        let id = world.ends[0].connect(world.now, home(1, 0), PORT, options(&ends[0]));
        world.ids[0] = id.ok();
        world.drain();
        world
    }

    fn drain(&mut self) {
        for from in 0..2 {
            self.transmit(from);
            for (id, event) in events(&mut self.ends[from]) {
                if *self.ids[from].get_or_insert(id) == id {
                    if let Some(channels) = &mut self.channels {
                        channels.note(from, &event);
                    }
                    self.failed[from] |= matches!(event, Event::Failed(_));
                    self.over[from] |= matches!(event, Event::Failed(_) | Event::Closed);
                    self.note_abandoned(from, &event);
                    self.note_reset(from, id, &event);
                } else {
                    self.later[from].insert(id);
                }
            }
            self.read(from);
            self.carry_layers(from);
        }
        // What reading makes due (a window that opened).
        (0..2).for_each(|from| self.transmit(from));
    }

    fn note_abandoned(&mut self, at: usize, event: &Event) {
        match event {
            Event::Abandoned(Abandoned { context, sent, .. }) => {
                let message = &mut self.sent[at][*context as usize];
                assert!(message.given_up.is_none(), "message {context} was given up twice");
                let given_up = if *sent { GivenUp::Sent } else { GivenUp::Unsent };
                assert!(*sent || !message.arrived, "message {context} arrived and never left");
                message.given_up = Some(given_up);
            }
            Event::FurtherAbandoned { messages } => self.further[at] += messages,
            _ => {}
        }
    }

    fn transmit(&mut self, from: usize) {
        for packet in transmits(&mut self.ends[from], self.now) {
            let own = packet.local.unwrap_or(home(from as u8, network(packet.remote)));
            let flying = Flying { from: own, to: packet.remote, bytes: packet.bytes };
            let vanishes = packet.dont_fragment && flying.bytes.len() + HEADERS > self.mtu[from];
            if !vanishes && !self.broken[usize::from(network(flying.to))] {
                self.air.send(1 - from, flying);
            }
        }
    }

    /// The application reads all there is; the model judges it.
    fn read(&mut self, at: usize) {
        for id in self.later[at].clone() {
            if self.channels.is_some() {
                while self.ends[at]
                    .association_mut(id)
                    .and_then(|mut own| own.receive(self.now))
                    .is_some()
                {}
            }
            self.read_from(at, id, false);
        }
        if let Some(id) = self.ids[at].filter(|_| self.channels.is_none()) {
            self.read_from(at, id, true);
        }
    }

    fn read_from(&mut self, at: usize, id: AssociationId, first: bool) {
        while let Some(arrived) =
            self.ends[at].association_mut(id).and_then(|mut own| own.receive(self.now))
        {
            let bytes = arrived.payload.clone().into_bytes();
            if arrived.stream == layers::ORDERED {
                if first {
                    self.orders.take(at, arrived.ppid, bytes);
                }
                continue;
            }
            let Some(number) = bytes.first_chunk::<4>() else { panic!("a message of {bytes:?}") };
            let index = u32::from_be_bytes(*number) as usize;
            let Some(sent) = self.sent[1 - at].get_mut(index) else {
                panic!("message {index} was never sent")
            };
            assert_eq!(bytes, message(index, sent.size), "message {index} changed");
            assert_eq!(arrived.stream.0, sent.stream, "message {index} on another stream");
            assert_eq!(arrived.unordered, sent.unordered, "message {index} changed its order");
            let arrived_before = core::mem::replace(&mut sent.arrived, true);
            assert!(!arrived_before || !first, "message {index} came twice");
            assert!(sent.given_up != Some(GivenUp::Unsent), "message {index} came and never left");
            if !sent.unordered && first {
                let latest = &mut self.latest[at][usize::from(sent.stream)];
                assert!(*latest < Some(index), "message {index} out of order");
                *latest = Some(index);
            }
        }
    }

    fn arrive(&mut self, to: usize, packet: &Flying) {
        give(&mut self.ends[to], self.now, packet.to, packet.from, &packet.bytes);
        self.drain();
    }

    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        while let Some(at) = next_timeout(&self.ends).filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.ends.iter_mut().for_each(|end| run_timers(end, self.now));
            self.drain();
            steps += 1;
            assert!(steps < 100_000, "time stands still at {}", self.now);
        }
        self.now = until;
    }

    /// All packets under way arrive, a trip later.
    fn trip(&mut self) {
        self.pass(TRIP);
        for to in 0..2 {
            for _ in 0..self.air.count(to) {
                if let Some(packet) = self.air.take(to, 0) {
                    self.arrive(to, &packet);
                }
            }
        }
    }

    fn run(&mut self, step: Step) {
        let end = |side: u8| usize::from(side & 1);
        match step {
            Step::Send { at, stream, size, unordered, patience } => {
                self.send(end(at), stream, size, unordered, patience);
            }
            Step::Part { at, stream, size, head, end: ends } => {
                self.send_part(end(at), stream, size, head, ends % 4 == 0);
            }
            Step::Abandon { at, stream } => self.abandon(end(at), usize::from(stream) % STREAMS),
            Step::Reset { at, direction, streams } => self.reset(end(at), direction, streams & 15),
            Step::ResetAssociation { at } => {
                self.with(end(at), |mut own, now| {
                    let _ = own.reset_association(now);
                });
            }
            Step::AddStreams { at, counts } => {
                let (outgoing, incoming) = (u16::from(counts >> 4), u16::from(counts & 15));
                self.with(end(at), |mut own, now| {
                    let _ = own.add_streams(now, outgoing, incoming);
                });
            }
            Step::Address { at, change, path } => self.change_address(end(at), change, path),
            Step::Packet { to, which, fate } => {
                // What protects packets instead of their checksums drops those that are corrupt.
                let fate = match fate {
                    Fate::Corrupt(_) if self.protected => Fate::Lose,
                    fate => fate,
                };
                let packet = self.air.meet(end(to), which, &fate);
                packet.into_iter().for_each(|packet| self.arrive(end(to), &packet));
            }
            Step::Pass { millis } => self.pass(Duration::from_millis(millis.into())),
            Step::Blackout { tenths } => {
                self.air.clear();
                self.pass(Duration::from_millis(100 * u64::from(tenths)));
                self.air.clear();
            }
            Step::Work { trips } => (0..trips % 32).for_each(|_| self.trip()),
            Step::Network { path, sure } => self.broken[usize::from(path & 1)] = sure % 8 == 0,
            Step::Policy { at, preset } => {
                self.with(end(at), |mut own, _| own.set_policy(policy(preset)));
            }
            Step::Advise { at, what } => self.advise(end(at), &what),
            Step::Key { at, key } => {
                self.with(end(at), |mut own, _| {
                    let _ = own.activate_key(shared_key(key));
                });
            }
            Step::Channel { at, which, size } => self.use_channel(end(at), which, size),
            Step::Order { at, after, size } => self.send_in_order(end(at), after, size),
            Step::Mtu { at, mtu: steps } if self.discovers[end(at)] => {
                self.mtu[end(at)] = mtu(steps).into();
            }
            Step::Mtu { at, mtu: steps } => {
                self.with(end(at), |mut own, _| own.set_path_mtu(mtu(steps)));
            }
            Step::Shutdown { at, sure } if sure % 16 == 0 => {
                // One in four of these in the middle of messages, which ends the association.
                if sure % 64 != 0 {
                    self.close_open();
                }
                self.with(end(at), |mut own, now| own.shutdown(now));
            }
            Step::Abort { at, sure } if sure % 64 == 0 => {
                self.with(end(at), |mut own, _| own.abort(Bytes::new()));
            }
            Step::Shutdown { .. } | Step::Abort { .. } => {}
        }
    }

    fn send(&mut self, at: usize, stream: u8, size: u16, unordered: bool, patience: u8) {
        let Some(id) = self.ids[at].filter(|_| self.channels.is_none()) else { return };
        let (stream, size) = (u16::from(stream & 3), 4 + usize::from(size) % 20_000);
        let payload = message(self.sent[at].len(), size);
        let options = send_options(unordered, patience, self.sent[at].len());
        if self.ends[at]
            .association_mut(id)
            .map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(self.now, StreamId(stream), Ppid(1), payload, options)
            })
            .is_ok()
        {
            self.sent[at].push(Sent::new(stream, size, unordered));
        }
        self.drain();
    }

    fn with(&mut self, at: usize, call: impl FnOnce(AssociationMut<'_>, Instant)) {
        if let Some(id) = self.ids[at] {
            if let Some(own) = self.ends[at].association_mut(id) {
                call(own, self.now);
            }
            self.drain();
        }
    }

    fn advise(&mut self, at: usize, what: &Number) {
        let own = self.ids[at].and_then(|id| self.ends[at].association(id));
        if let Some(view) = own.and_then(|own| own.path_view(what.path(), UNITS)) {
            self.with(at, |mut own, now| {
                let _ = own.advise(now, what.advice(&view));
            });
        }
    }

    fn is_settled(&self) -> bool {
        (0..2).all(|at| {
            let own = self.ids[at].and_then(|id| self.ends[at].association(id));
            // One that never heard of the association has nothing to settle once its peer gave up.
            let unheard = own.is_none() && self.over[1 - at];
            let idle = own.is_some_and(|own| own.is_settled() && own.is_established());
            self.over[at] || unheard || idle
        })
    }

    /// Checks what must hold after each step: windows, flights and timers.
    fn check(&self) {
        for (end, id) in self.ends.iter().zip(self.ids) {
            let Some(own) = id.and_then(|id| end.association(id)) else { continue };
            let stats = own.stats();
            for path in &stats.paths {
                let recovery = &path.recovery;
                assert!(recovery.cwnd >= 1, "no window");
                assert_eq!(recovery.flight.packets == 0, recovery.flight.bytes == 0);
                let waits = recovery.flight.packets > 0;
                assert!(!waits || recovery.t3_rtx.is_some(), "data in flight and no timer");
            }
        }
    }
}

/// Outcome of a run, which shows that runs are not empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Streams that an end was told to have begun again, and associations.
    pub resets: u64,
    /// Number of messages that the applications sent.
    pub sent: usize,
    /// Number of messages that arrived whole.
    pub arrived: usize,
    /// Ends that were told of a failure.
    pub failed: [bool; 2],
}

/// Runs the steps, lets the network work, and judges.
pub fn run(input: Input) -> Outcome {
    let mut world = World::new(&input.ends, input.paths);
    for step in input.steps.0 {
        world.run(step);
        world.check();
    }
    world.judge();
    let sent = world.sent.iter().flatten();
    Outcome {
        resets: world.told_of_resets,
        sent: sent.clone().count(),
        arrived: sent.filter(|sent| sent.arrived).count(),
        failed: world.failed,
    }
}
