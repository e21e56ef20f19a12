//! Two TCP connections' ends with a hostile network between them, driven by the fuzzer's bytes and
//! judged by a model: what is read is the beginning of what was sent, the end comes after all of
//! it, and unless a side gave up everything arrives and nothing is left behind.

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Icmp, IcmpError, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use tcp::{
    ConnectionId, ConnectionMut, ConnectionOptions, EcnMode, Endpoint, EndpointOptions, Event,
    ListenOptions, Received, SendFlags, SynCookies,
};

mod input;

pub use self::input::{End, Input, Step};
use crate::advice::{Number, UNITS};
use crate::air::Air;
use crate::tcp_network::{Flying, give, host, transmits};
use crate::tcp_policy;

/// Time that a segment takes while the network works.
const TRIP: Duration = Duration::from_millis(20);

/// Time that the network works at the end; data still missing then counts as lost.
const PATIENCE: Duration = Duration::from_secs(4_000);

/// Outcome of a run, by which a test sees that inputs reach their aims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes that the applications sent.
    pub sent: u64,
    /// Bytes of them that arrived.
    pub arrived: u64,
    /// Whether a side gave up.
    pub failed: bool,
}

/// An end, and what its application knows.
struct Side {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    sent: u64,
    read: u64,
    shut: bool,
    closed: bool,
    finished: bool,
    failed: bool,
    deaf: bool,
}

impl Side {
    /// Connection of the side, to be used.
    fn own(&mut self) -> Option<ConnectionMut<'_>> {
        self.endpoint.connection_mut(self.id?)
    }
}

struct World {
    sides: [Side; 2],
    air: Air<Flying>,
    now: Instant,
}

fn byte(side: usize, at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8 ^ (side as u8) << 7
}

fn stream(side: usize, from: u64, length: usize) -> Bytes {
    (from..from + length as u64).map(|at| byte(side, at)).collect()
}

fn options(end: &End) -> ConnectionOptions {
    let has = |bit: u8| end.features & (1 << bit) != 0;
    ConnectionOptions {
        policy: Arc::new(tcp_policy::preset(end.preset)),
        no_delay: has(4),
        send_buffer: 1 + 1024 * usize::from(end.buffers[0]),
        receive_buffer: 1 + 1024 * usize::from(end.buffers[1]),
        window_scaling: has(2),
        timestamps: has(0),
        sack: has(1),
        ecn: if has(3) { EcnMode::Active } else { EcnMode::Off },
        keep_alive: has(5).then(tcp::KeepAlive::default),
        path_mtu: 88 + 5 * u16::from(end.mtu),
        path_mtu_discovery: has(6),
        urgent_inline: has(7),
        ..ConnectionOptions::default()
    }
}

impl World {
    fn new(input: &Input) -> World {
        let side = |index: usize| {
            let end = &input.ends[index];
            let always = input.opening & 2 != 0;
            let endpoint = EndpointOptions {
                initial_sequence: Some(u32::MAX - u32::from(end.sequence) * 8),
                syn_cookies: if always { SynCookies::Always } else { SynCookies::WhenFull },
                ..EndpointOptions::default()
            };
            Side {
                endpoint: Endpoint::new(
                    endpoint,
                    RandomStream::new(index as u64, Purpose("end", 0)),
                ),
                id: None,
                sent: 0,
                read: 0,
                shut: false,
                closed: false,
                finished: false,
                failed: false,
                deaf: false,
            }
        };
        World { sides: [side(0), side(1)], air: Air::default(), now: Instant::from_millis(1) }
    }

    /// The first end opens; so does the second, or it listens.
    fn open(&mut self, input: &Input) {
        let address = |side: usize| SocketAddr::new(host(side as u8), 1000 + side as u16);
        let both = input.opening & 1 != 0;
        for side in 0..2 {
            let options = options(&input.ends[side]);
            let end = &mut self.sides[side].endpoint;
            if side == 0 || both {
                let id = end.connect(self.now, address(side), address(1 - side), options);
                self.sides[side].id = id.ok();
            } else {
                let listen = ListenOptions { accepted: options, ..ListenOptions::default() };
                assert!(end.listen(address(side), listen).is_ok());
            }
        }
        (0..2).for_each(|side| self.settle(side));
    }

    /// After an input: what leaves, what is reported, what is read.
    fn settle(&mut self, at: usize) {
        loop {
            let end = &mut self.sides[at].endpoint;
            let sent = transmits(end, self.now);
            let events: Vec<_> = core::iter::from_fn(|| end.poll_event()).collect();
            if sent.is_empty() && events.is_empty() {
                break;
            }
            for flying in sent {
                self.air.send(1 - at, flying);
            }
            for (id, event) in events {
                self.on_event(at, id, event);
            }
            if !self.sides[at].deaf {
                self.read(at, usize::MAX);
            }
        }
    }

    fn on_event(&mut self, at: usize, id: ConnectionId, event: Event) {
        let side = &mut self.sides[at];
        if let Event::Incoming { listener } = event {
            assert_eq!(side.endpoint.accept(listener), Some(id));
            if side.id.is_some() {
                // An old SYN opened it: no application is there that would use it.
                if let Some(mut own) = side.endpoint.connection_mut(id) {
                    own.abort(self.now);
                }
                side.endpoint.release(self.now, id);
            } else {
                side.id = Some(id);
            }
        }
        if side.id == Some(id) && matches!(event, Event::Failed(_)) {
            side.failed = true;
        }
    }

    fn read(&mut self, at: usize, limit: usize) {
        let now = self.now;
        let mut left = limit;
        while left > 0 {
            let peer_sent = self.sides[1 - at].sent;
            let side = &mut self.sides[at];
            match side.own().map(|mut own| own.receive(now, left)) {
                Some(Ok(Received::Data(data))) => {
                    assert!(!side.finished, "data after the end");
                    assert!(!data.is_empty() && data.len() <= left);
                    let expected = stream(1 - at, side.read, data.len());
                    assert!(data == expected, "other bytes at {} of {}", side.read, peer_sent);
                    side.read += data.len() as u64;
                    assert!(side.read <= peer_sent, "more than was sent");
                    left -= data.len();
                }
                Some(Ok(Received::Finished)) => {
                    side.finished = true;
                    assert_eq!(side.read, peer_sent, "the end before all of it");
                    break;
                }
                None | Some(Ok(Received::Nothing) | Err(_)) => break,
            }
        }
    }

    fn send(&mut self, at: usize, size: usize, flags: u8) {
        let side = &mut self.sides[at];
        if side.shut || side.closed {
            return;
        }
        let data = stream(at, side.sent, size);
        // Out of band a byte would be missing in the stream.
        let flags = SendFlags { more: flags & 3 == 1, urgent: false };
        let own = side.own();
        if let Some(Ok(taken)) = own.map(|mut own| own.send(self.now, data, flags)) {
            assert!(taken <= size);
            side.sent += taken as u64;
        }
    }

    fn deliver(&mut self, to: usize, flying: &Flying) {
        give(&mut self.sides[to].endpoint, self.now, flying);
        self.settle(to);
    }

    /// Time passes, with all that is due in it.
    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        while let Some(due) = self.next_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            for at in 0..2 {
                self.sides[at].endpoint.handle_timeout(self.now);
                self.settle(at);
            }
            steps += 1;
            assert!(steps < 200_000, "time stands still");
        }
        self.now = until;
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.sides.iter().filter_map(|side| side.endpoint.poll_timeout()).min()
    }

    /// Lets time pass until the next timer expires, where nothing is under way.
    fn rest(&mut self) {
        if let Some(due) = self.next_timeout().filter(|_| self.air.is_empty()) {
            self.pass(due.since(self.now));
        }
    }

    /// The network works: what is under way arrives, in order.
    fn trip(&mut self) {
        self.pass(TRIP);
        for to in 0..2 {
            for _ in 0..self.air.count(to) {
                if let Some(flying) = self.air.take(to, 0) {
                    self.deliver(to, &flying);
                }
            }
        }
    }

    fn icmp(&mut self, at: usize, which: u8, error: u8) {
        let Some(flying) = self.air.look_at(1 - at, which).cloned() else { return };
        let error = match error % 4 {
            0 => IcmpError::PacketTooBig { mtu: u32::from(error) * 6 },
            1 => IcmpError::Unreachable,
            2 => IcmpError::NoListener,
            _ => IcmpError::PacketTooBig { mtu: 0 },
        };
        let quoted = &flying.bytes[..8];
        let remote = SocketAddr::new(flying.to, 0);
        let icmp = Icmp { local: Some(flying.from), remote, error, quoted };
        self.sides[at].endpoint.handle_icmp(self.now, icmp);
        self.settle(at);
    }

    fn step(&mut self, step: &Step) {
        let end = |at: &u8| usize::from(at & 1);
        match step {
            Step::Send { at, size, flags } => {
                self.send(end(at), usize::from(*size) % 20_000, *flags);
                self.settle(end(at));
            }
            Step::Read { at, limit } => {
                self.read(end(at), usize::from(*limit));
                self.settle(end(at));
            }
            Step::Deaf { at } => self.sides[end(at)].deaf ^= true,
            Step::Segment { to, which, fate } => {
                if let Some(flying) = self.air.meet(end(to), *which, fate) {
                    self.deliver(end(to), &flying);
                }
            }
            Step::Icmp { at, which, error } => self.icmp(end(at), *which, *error),
            Step::Pass { millis } => self.pass(Duration::from_millis(u64::from(*millis))),
            Step::Work { trips } => (0..trips % 16).for_each(|_| self.trip()),
            Step::Options { at, change } => self.change(end(at), *change),
            Step::Policy { at, preset, field, value } => {
                self.set_policy(end(at), *preset, *field, *value);
            }
            Step::Advise { at, what } => self.advise(end(at), what),
            Step::Shutdown { at, sure } if sure % 8 == 0 => self.shut(end(at)),
            Step::Close { at, sure } if sure % 32 == 0 => self.close(end(at)),
            Step::Abort { at, sure } if sure % 64 == 0 => {
                let side = &mut self.sides[end(at)];
                side.failed |= side.id.is_some();
                if let Some(mut own) = side.own() {
                    own.abort(self.now);
                }
                self.settle(end(at));
            }
            Step::Shutdown { .. } | Step::Close { .. } | Step::Abort { .. } => {}
        }
    }

    fn set_policy(&mut self, at: usize, preset: u8, field: u8, value: u8) {
        let Some(mut own) = self.sides[at].own() else { return };
        let mut policy = tcp_policy::preset(preset);
        tcp_policy::change(&mut policy, field, value);
        own.set_policy(self.now, Arc::new(policy));
        drop(own);
        self.settle(at);
    }

    fn advise(&mut self, at: usize, what: &Number) {
        let side = &mut self.sides[at];
        let own = side.id.and_then(|id| side.endpoint.connection(id));
        let Some(view) = own.and_then(|own| own.path_view(what.path(), UNITS)) else { return };
        if let Some(mut own) = side.own() {
            let _ = own.advise(self.now, what.advice(&view));
        }
        self.settle(at);
    }

    fn change(&mut self, at: usize, change: u8) {
        let Some(mut own) = self.sides[at].own() else { return };
        own.set_options(self.now, |options| {
            options.no_delay = change & 1 != 0;
            if change & 2 != 0 {
                options.receive_buffer = 1 + 400 * usize::from(change);
            }
            if change & 4 != 0 {
                options.send_buffer = 1 + 400 * usize::from(change);
            }
        });
        drop(own);
        self.settle(at);
    }

    fn shut(&mut self, at: usize) {
        let side = &mut self.sides[at];
        side.shut |= side.id.is_some();
        if let Some(mut own) = side.own() {
            own.shutdown_write(self.now);
        }
        self.settle(at);
    }

    fn close(&mut self, at: usize) {
        let side = &mut self.sides[at];
        let has_begun = side.id.is_some();
        (side.shut, side.closed) = (side.shut || has_begun, side.closed || has_begun);
        if let Some(mut own) = side.own() {
            own.close(self.now);
        }
        self.settle(at);
    }

    /// The network works until everything has arrived, or for as long as there is patience.
    fn finish(&mut self) {
        for at in 0..2 {
            self.sides[at].deaf = false;
            self.read(at, usize::MAX);
            self.settle(at);
            self.shut(at);
        }
        let until = self.now + PATIENCE;
        let done = |side: &Side| side.finished || side.failed || side.closed;
        while self.now < until && !self.sides.iter().all(done) {
            self.trip();
            self.rest();
            // The listener's end may be notified of its connection only now.
            for at in 0..2 {
                if self.sides[at].id.is_some() && !self.sides[at].shut {
                    self.shut(at);
                }
            }
        }
    }

    /// Nothing is left once the applications have let go.
    fn leave(&mut self) {
        for at in 0..2 {
            let side = &mut self.sides[at];
            if let Some(id) = side.id {
                side.endpoint.release(self.now, id);
            }
            self.settle(at);
        }
        let until = self.now + PATIENCE;
        let busy = |side: &Side| side.endpoint.poll_timeout().is_some();
        while self.now < until && self.sides.iter().any(busy) {
            self.trip();
            self.rest();
        }
        for side in &self.sides {
            assert_eq!(side.endpoint.connection_count(), 0, "something is left");
            assert_eq!(side.endpoint.time_wait_count(), 0, "TIME-WAIT is left");
            assert_eq!(side.endpoint.poll_timeout(), None, "a timer is left");
        }
    }
}

/// Runs the target.
///
/// # Panics
/// When something is wrong.
pub fn run(input: Input) -> Outcome {
    let mut world = World::new(&input);
    world.open(&input);
    for step in &input.steps.0 {
        world.step(step);
    }
    world.finish();
    let [first, second] = &world.sides;
    let failed = first.failed || second.failed || first.closed || second.closed;
    if !failed {
        assert!(first.finished && second.finished, "it never ended");
        assert_eq!((first.read, second.read), (second.sent, first.sent), "not all arrived");
    }
    let outcome =
        Outcome { sent: first.sent + second.sent, arrived: first.read + second.read, failed };
    world.leave();
    outcome
}
