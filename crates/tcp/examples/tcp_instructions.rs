//! Two endpoints joined by a wire that loses nothing, to count instructions with valgrind's
//! callgrind:
//!
//! ```text
//! cargo build --release -p thinstream-tcp --example tcp_instructions
//! valgrind --tool=callgrind target/release/examples/tcp_instructions bulk 20000
//! valgrind --tool=callgrind target/release/examples/tcp_instructions thin 20000
//! ```
//!
//! `bulk|thin SEGMENTS [PRESET [CONNECTIONS]]`: with `latency`, unless another preset is named. One
//! thin connection writes a message of 100 bytes each 4 ms, of several each one each 250 ms. It
//! prints segments and acknowledgements; what is done before the first of them is little beside
//! them on one connection, and is free of the set-up in the difference between two runs of other
//! lengths, which `benches/instructions` takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement fails by panicking")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use recovery::RecoveryPolicy;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

/// Time from one side to the other.
const DELAY: Duration = Duration::from_millis(5);

struct Wire {
    now: Instant,
    ends: [Endpoint; 2],
    /// Segments in flight: arrival, receiving end, segment.
    flying: VecDeque<(Instant, usize, DatagramMeta, Bytes)>,
    buffer: Vec<u8>,
    datagrams: [u64; 2],
}

impl Wire {
    fn drain(&mut self, end: usize) {
        loop {
            self.buffer.clear();
            let Some(transmit) = self.ends[end].poll_transmit(self.now, &mut self.buffer) else {
                break;
            };
            self.datagrams[end] += 1;
            let meta = DatagramMeta {
                local: transmit.remote,
                remote: transmit.local.unwrap(),
                ecn: Ecn::NotEct,
                origin: None,
            };
            let datagram = Bytes::copy_from_slice(&self.buffer);
            self.flying.push_back((self.now + DELAY, 1 - end, meta, datagram));
        }
    }

    /// Time at which something happens next.
    fn next(&self) -> Option<Instant> {
        let timers = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
        self.flying.front().map(|flying| flying.0).into_iter().chain(timers).min()
    }

    /// The next arrival or timer; answers at which end.
    fn step(&mut self) -> usize {
        let timer = |end: usize| self.ends[end].poll_timeout().map(|due| (due, end));
        let due = [timer(0), timer(1)].into_iter().flatten().min();
        let arrival = self.flying.front().map(|flying| flying.0);
        let end = match (arrival, due) {
            (Some(at), due) if due.is_none_or(|(due, _)| at <= due) => {
                let (at, end, meta, datagram) = self.flying.pop_front().unwrap();
                self.now = at;
                self.ends[end].handle_datagram(at, meta, datagram.into());
                end
            }
            (_, Some((due, end))) => {
                self.now = self.now.max(due);
                self.ends[end].handle_timeout(self.now);
                end
            }
            _ => panic!("nothing happens any more"),
        };
        self.drain(end);
        end
    }

    fn read(&mut self, end: usize, id: ConnectionId) -> usize {
        let mut bytes = 0;
        let mut own = self.ends[end].connection_mut(id).unwrap();
        while let Ok(Received::Data(data)) = own.receive(self.now, usize::MAX) {
            bytes += data.len();
        }
        bytes
    }
}

/// Whether data waits all the time or messages come one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bulk,
    Thin,
}

impl Kind {
    /// Data that the application writes at once.
    fn message(self) -> Bytes {
        Bytes::from(vec![7; if self == Kind::Bulk { 64 << 10 } else { 100 }])
    }

    /// Time between two messages of all connections together.
    fn interval(self, connections: usize) -> Duration {
        match connections {
            1 => Duration::from_millis(4),
            several => Duration::from_millis(250) / several as u64,
        }
    }

    /// Bytes of data in a segment.
    fn segment(self) -> usize {
        if self == Kind::Bulk { 1448 } else { 100 }
    }
}

/// The wire with `count` connections over it, and both ends of each.
fn connected(preset: &str, count: usize) -> (Wire, Vec<[ConnectionId; 2]>) {
    let policy = Arc::new(RecoveryPolicy::tcp_preset(preset).expect("a preset"));
    let options = ConnectionOptions { policy, no_delay: true, ..ConnectionOptions::default() };
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    let end = |number| {
        let options = EndpointOptions { max_connections: usize::MAX, ..EndpointOptions::default() };
        Endpoint::new(options, RandomStream::new(1, Purpose("end", number)))
    };
    let mut wire = Wire {
        now: Instant::from_millis(1000),
        ends: [end(0), end(1)],
        flying: VecDeque::new(),
        buffer: Vec::new(),
        datagrams: [0; 2],
    };
    let listen = ListenOptions { accepted: options.clone(), ..ListenOptions::default() };
    wire.ends[1].listen(address("10.0.0.2:80"), listen).unwrap();
    let (local, remote) = (address("10.0.0.1:0"), address("10.0.0.2:80"));
    let connect = |wire: &mut Wire| {
        let id = wire.ends[0].connect(wire.now, local, remote, options.clone()).unwrap();
        wire.drain(0);
        [id, accepted(wire)]
    };
    let ids = (0..count).map(|_| connect(&mut wire)).collect();
    (wire, ids)
}

/// The server's end of the connection that is set up now.
fn accepted(wire: &mut Wire) -> ConnectionId {
    loop {
        wire.step();
        while let Some((_, event)) = wire.ends[1].poll_event() {
            if let Event::Incoming { listener } = event {
                return wire.ends[1].accept(listener).unwrap();
            }
        }
    }
}

/// Sends data one way, a message on each connection in turn, and reads it there; returns the number
/// of bytes.
fn transfer(wire: &mut Wire, ids: &[[ConnectionId; 2]], kind: Kind, total: usize) -> usize {
    let message = kind.message();
    let interval = kind.interval(ids.len());
    let (mut sent, mut received) = (0, 0);
    let mut next = wire.now;
    let mut turns = ids.iter().cycle();
    while received < total {
        // Bulk as much as fits, a thin stream a message each interval: of one connection a few are
        // in flight.
        while sent < total && (kind == Kind::Bulk || next <= wire.now) {
            let data = message.slice(..message.len().min(total - sent));
            let [id, _] = turns.next().unwrap();
            let taken = wire.ends[0]
                .connection_mut(*id)
                .unwrap()
                .send(wire.now, data, SendFlags::default())
                .unwrap();
            sent += taken;
            next += interval;
            if taken == 0 {
                break;
            }
        }
        wire.drain(0);
        if kind == Kind::Thin && sent < total && wire.next().is_none_or(|at| at > next) {
            wire.now = next;
            continue;
        }
        let end = wire.step();
        while let Some((id, _)) = wire.ends[1].poll_event() {
            received += wire.read(1, id);
        }
        wire.drain(end);
        while wire.ends[0].poll_event().is_some() {}
    }
    received
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let usage = "usage: instructions bulk|thin SEGMENTS [PRESET [CONNECTIONS]]";
    let (kind, segments) = match &arguments[..] {
        [_, kind, segments, ..] => {
            let kind = if kind == "bulk" { Kind::Bulk } else { Kind::Thin };
            (kind, segments.parse::<usize>().expect(usage))
        }
        _ => panic!("{usage}"),
    };
    let preset = arguments.get(3).map_or("latency", String::as_str);
    let connections = arguments.get(4).map_or(1, |count| count.parse().expect(usage));
    let (mut wire, ids) = connected(preset, connections);
    wire.datagrams = [0; 2];
    let received = transfer(&mut wire, &ids, kind, segments * kind.segment());
    let [data, acks] = wire.datagrams;
    println!("{data} segments one way, {acks} acknowledgements back, {received} bytes");
}
