//! Two endpoints and an attacker who knows their ports and tags: arbitrary datagrams, time, sends,
//! reads, policy switches, ends. Nothing may panic, time must go on, and memory stay in bounds.

use arbitrary::Arbitrary;
use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use recovery::{PRESETS, RecoveryPolicy};
use sctp::{
    AssociationId, AssociationMut, AssociationOptions, Endpoint, EndpointOptions, Extensions, Ppid,
    ReconfigurationPolicy, ResetDirection, SendOptions, StreamId,
};

use crate::{Blob, PORT, Steps};

const ADDRESSES: [&str; 2] = ["10.0.0.1:9899", "10.0.0.2:9899"];

const RE_CONFIG: u8 = 0x82;

/// A step of a run. `to` and `at` choose an end by their lowest bit.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// The oldest packet under way to an end arrives, or is lost.
    Deliver {
        /// End at which it arrives, by its lowest bit.
        to: u8,
        /// Whether the packet is lost instead.
        lost: bool,
    },
    /// A packet under way arrives twice, out of order.
    Repeat {
        /// End at which it arrives, by its lowest bit.
        to: u8,
        /// The packet, by its place among those under way.
        which: u8,
    },
    /// A chunk with ports, tag and checksum as the end expects them. If `near`, its first field is
    /// a TSN close to those in use.
    Chunk {
        /// End at which it arrives, by its lowest bit.
        to: u8,
        /// Type of the chunk on the wire.
        chunk_type: u8,
        /// Flags byte of the chunk on the wire.
        flags: u8,
        /// Distance of its TSN from the latest seen.
        near: Option<i8>,
        /// Value of the chunk behind its first field.
        value: Blob,
    },
    /// RE-CONFIG with a parameter of a known type, its first number close to where requests began.
    Reconfig {
        /// End at which it arrives, by its lowest bit.
        to: u8,
        /// The parameter: 13 and up.
        kind: u8,
        /// Distance of its number from the first.
        near: i8,
        /// Value of the parameter behind its first number.
        value: Blob,
    },
    /// The application lets streams begin again, or the association, or wants more streams.
    Reset {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// The kind of reset, and its streams.
        what: u8,
    },
    /// Arbitrary bytes, with neither valid fields nor a checksum.
    Raw {
        /// End at which it arrives, by its lowest bit.
        to: u8,
        /// Content of the datagram.
        bytes: Blob,
    },
    /// Time passes: a number of milliseconds, or until the next timer.
    Pass {
        /// Number of milliseconds; `None` passes the time until the next timer.
        millis: Option<u16>,
    },
    /// The application sends a message.
    Send {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Stream, reduced to those that exist.
        stream: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
        /// Whether the message is sent unordered.
        unordered: bool,
    },
    /// The application reads all messages that wait.
    Receive {
        /// End whose application acts, by its lowest bit.
        at: u8,
    },
    /// The application changes the policy.
    Policy {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number of the preset, reduced to those that exist.
        preset: u8,
    },
    /// The application shuts the association down.
    Shutdown {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Shuts down only if it is 0 modulo 16, so that most runs go on.
        sure: u8,
    },
    /// The application aborts the association.
    Abort {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Aborts only if it is 0 modulo 64, so that most runs go on.
        sure: u8,
    },
}

struct World {
    ends: [Endpoint; 2],
    ids: [Option<AssociationId>; 2],
    /// Tag and TSN that packets to an end carried last.
    tags: [[u8; 4]; 2],
    tsns: [u32; 2],
    /// The first TSN of packets to an end: the first number of requests.
    first: [u32; 2],
    under_way: [Vec<Vec<u8>>; 2],
    now: Instant,
}

impl World {
    /// A world with all extensions but those that need the peer's key, or with the usual ones.
    fn new(extended: bool) -> World {
        let all = Extensions::PARTIAL_RELIABILITY
            | Extensions::STREAM_RECONFIGURATION
            | Extensions::PADDING;
        let options = || AssociationOptions {
            receive_buffer: 20_000,
            extensions: if extended { all } else { Extensions::default() },
            reconfiguration: ReconfigurationPolicy {
                reset_streams: true,
                reset_association: extended,
                add_streams: extended,
            },
            ..AssociationOptions::default()
        };
        let end = |index| {
            let accepted = options();
            let options = EndpointOptions {
                port: PORT,
                listen: true,
                accepted,
                ..EndpointOptions::default()
            };
            Endpoint::new(options, RandomStream::new(5, Purpose("end", index)))
        };
        let mut world = World {
            ends: [end(0), end(1)],
            ids: [None; 2],
            tags: [[0; 4]; 2],
            tsns: [0; 2],
            first: [0; 2],
            under_way: [Vec::new(), Vec::new()],
            now: Instant::ZERO,
        };
        let remote: std::net::SocketAddr = ADDRESSES[1].parse().expect("an address");
        world.ids[0] = world.ends[0].connect(world.now, remote, PORT, options()).ok();
        world.drain();
        world
    }

    fn drain(&mut self) {
        for from in 0..2 {
            let (mut buffer, mut count) = (Vec::new(), 0);
            while let Some(transmit) = self.ends[from].poll_transmit(self.now, &mut buffer) {
                assert_eq!(transmit.size, buffer.len());
                assert!(transmit.size <= 1_472, "larger than the path's packets");
                self.note(1 - from, &buffer);
                self.under_way[1 - from].push(std::mem::take(&mut buffer));
                count += 1;
                assert!(count < 2_000, "sends without end");
            }
            while let Some((id, _)) = self.ends[from].poll_event() {
                self.ids[from].get_or_insert(id);
            }
            let len = self.under_way[from].len();
            self.under_way[from].drain(..len.saturating_sub(200));
        }
    }

    /// Remembers what a packet to an end says of its tag and of the TSNs that it sends.
    fn note(&mut self, to: usize, packet: &[u8]) {
        if packet[4..8] != [0; 4] {
            self.tags[to].copy_from_slice(&packet[4..8]);
        }
        let tsn_at = match packet.get(12) {
            Some(0 | 3) => 16,
            Some(1 | 2) => 28,
            _ => return,
        };
        if let Some(Ok(tsn)) = packet.get(tsn_at..tsn_at + 4).map(TryInto::try_into) {
            self.tsns[to] = u32::from_be_bytes(tsn);
            if tsn_at == 28 {
                self.first[to] = self.tsns[to];
            }
        }
    }

    fn give(&mut self, to: usize, packet: &[u8]) {
        let parse = |text: &str| text.parse().expect("an address");
        let (local, remote) = (parse(ADDRESSES[to]), parse(ADDRESSES[1 - to]));
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        self.ends[to].handle_datagram(self.now, meta, Bytes::copy_from_slice(packet).into());
        self.drain();
    }

    fn give_chunk(&mut self, to: usize, head: [u8; 2], near: Option<i8>, mut value: Vec<u8>) {
        value.truncate(4_000);
        if let (Some(offset), true) = (near, value.len() >= 4) {
            let tsn = self.tsns[to].wrapping_add_signed(offset.into());
            value[..4].copy_from_slice(&tsn.to_be_bytes());
        }
        let mut packet = Vec::new();
        packet.extend_from_slice(&PORT.to_be_bytes());
        packet.extend_from_slice(&PORT.to_be_bytes());
        packet.extend_from_slice(&if head[0] == 1 { [0; 4] } else { self.tags[to] });
        packet.extend_from_slice(&[0; 4]);
        packet.extend_from_slice(&head);
        packet.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
        packet.extend_from_slice(&value);
        packet.resize(packet.len().next_multiple_of(4), 0);
        let checksum = crc32c::crc32c(&packet);
        packet[8..12].copy_from_slice(&checksum.to_le_bytes());
        self.give(to, &packet);
    }

    fn pass(&mut self, until: Instant) {
        let mut steps = 0;
        while let Some(at) = self.ends.iter().filter_map(Machine::poll_timeout).min() {
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
            self.drain();
            steps += 1;
            assert!(steps < 100_000, "time stands still at {}", self.now);
        }
        self.now = self.now.max(until);
    }

    #[allow(clippy::needless_update, reason = "options may grow")]
    fn run(&mut self, step: Step) {
        match step {
            Step::Deliver { to, lost } => {
                let to = usize::from(to & 1);
                if !self.under_way[to].is_empty() {
                    let packet = self.under_way[to].remove(0);
                    if !lost {
                        self.give(to, &packet);
                    }
                }
            }
            Step::Repeat { to, which } => {
                let to = usize::from(to & 1);
                let count = self.under_way[to].len();
                if count > 0 {
                    let packet = self.under_way[to][usize::from(which) % count].clone();
                    self.give(to, &packet);
                }
            }
            Step::Chunk { to, chunk_type, flags, near, value } => {
                self.give_chunk(usize::from(to & 1), [chunk_type, flags], near, value.0);
            }
            Step::Reconfig { to, kind, near, value } => {
                let to = usize::from(to & 1);
                let number = self.first[to].wrapping_add_signed(near.into());
                let mut value = [&number.to_be_bytes()[..], &value.0].concat();
                value.truncate(2_000);
                let mut parameter = vec![0, 13 + kind % 6];
                parameter.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
                parameter.extend_from_slice(&value);
                self.give_chunk(to, [RE_CONFIG, 0], None, parameter);
            }
            Step::Raw { to, bytes } => self.give(usize::from(to & 1), &bytes.0),
            Step::Pass { millis: Some(millis) } => {
                self.pass(self.now + Duration::from_millis(millis.into()));
            }
            Step::Pass { millis: None } => {
                if let Some(at) = self.ends.iter().filter_map(Machine::poll_timeout).min() {
                    self.pass(at);
                }
            }
            call => self.call(call),
        }
    }

    /// Makes a call of the application.
    fn call(&mut self, step: Step) {
        match step {
            Step::Reset { at, what } => self.with(at, |mut own, now| {
                let streams = [StreamId(u16::from(what >> 4))];
                let directions =
                    [ResetDirection::Outgoing, ResetDirection::Incoming, ResetDirection::Both];
                let _ = match what % 6 {
                    direction @ 0..3 => {
                        own.reset_streams(now, directions[usize::from(direction)], &streams)
                    }
                    3 => own.reset_streams(now, ResetDirection::Outgoing, &[]),
                    4 => own.reset_association(now),
                    _ => own.add_streams(now, u16::from(what >> 4), 1),
                };
            }),
            Step::Send { at, stream, size, unordered } => {
                let at = usize::from(at & 1);
                let Some(id) = self.ids[at] else { return };
                let payload = Bytes::from(vec![1; usize::from(size)]);
                let options =
                    SendOptions { unordered, immediate: size % 2 == 0, ..SendOptions::default() };
                let stream = StreamId(stream.into());
                let _ = self.ends[at]
                    .association_mut(id)
                    .map_or(Err(sctp::SendError::Closed), |mut own| {
                        own.send(self.now, stream, Ppid(0), payload, options)
                    });
                self.drain();
            }
            Step::Receive { at } => self.with(at, |mut own, now| drop(own.receive(now))),
            Step::Policy { at, preset } => {
                let (name, _) = PRESETS[usize::from(preset) % PRESETS.len()];
                let Some(policy) = RecoveryPolicy::preset(name) else { return };
                self.with(at, |mut own, _| own.set_policy(policy.into()));
            }
            Step::Shutdown { at, sure } if sure % 16 == 0 => {
                self.with(at, |mut own, now| own.shutdown(now));
            }
            Step::Abort { at, sure } if sure % 64 == 0 => {
                self.with(at, |mut own, _| own.abort(Bytes::new()));
            }
            _ => {}
        }
    }

    fn with(&mut self, at: u8, call: impl FnOnce(AssociationMut<'_>, Instant)) {
        let at = usize::from(at & 1);
        if let Some(id) = self.ids[at] {
            if let Some(own) = self.ends[at].association_mut(id) {
                call(own, self.now);
            }
            self.drain();
        }
    }

    fn check(&self) {
        for (end, id) in self.ends.iter().zip(self.ids) {
            let Some(own) = id.and_then(|id| end.association(id)) else { continue };
            let stats = own.stats();
            let path = stats.paths[0].recovery;
            assert!(path.cwnd >= 1, "no window");
            assert!(path.flight.bytes <= 1 << 21);
            assert_eq!(path.flight.packets == 0, path.flight.bytes == 0);
            let waits = path.flight.packets > 0;
            assert!(!waits || path.t3_rtx.is_some(), "data in flight and no timer");
        }
    }
}

/// Input of the target, which libFuzzer mutates and `arbitrary` reads.
pub type Input = Steps<Step>;

/// Runs the steps, and checks the invariants after each.
pub fn run(steps: Input) {
    let steps = steps.0;
    let mut world = World::new(steps.len() % 4 < 2);
    // Half of the inputs start after a handshake.
    if steps.len().is_multiple_of(2) {
        for step in 0..6 {
            world.run(Step::Deliver { to: 1 - step % 2, lost: false });
        }
    }
    for step in steps {
        world.run(step);
        world.check();
    }
    // Left alone, both come to rest or give up.
    world.pass(world.now + Duration::from_secs(1_000));
    world.check();
}
