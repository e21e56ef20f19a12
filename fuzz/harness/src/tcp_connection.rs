//! A TCP endpoint with a listener, a peer who knows every number but not its manners, and
//! strangers: segments made of whatever the fuzzer likes, most of them close to what is expected.
//! Nothing may panic or grow, and an honest peer is served afterwards.

use core::net::SocketAddr;
use std::sync::Arc;

use arbitrary::Arbitrary;
use base::{Duration, Ecn, Icmp, IcmpError, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use tcp::wire::{Flags, Pseudo, Segment, SeqNumber};
use tcp::{
    ConnectionId, ConnectionOptions, EcnMode, Endpoint, EndpointOptions, Event, ListenOptions,
    Received, SendFlags, SynCookies,
};

use crate::tcp_network::{Flying, give, host, transmits};
use crate::{Blob, Steps, tcp_policy};

/// Bytes of each buffer of the connection.
const BUFFER: usize = 20_000;

/// Input of the target, which libFuzzer mutates and `arbitrary` reads.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    /// A bit each: the endpoint opens, ECN, timestamps required, urgent data out of band, cookies
    /// always, lenient resets, lenient SYNs, user timeout option.
    pub options: u8,
    /// Number of a recovery preset.
    pub preset: u8,
    /// Steps of the run, executed in order.
    pub steps: Steps<Step>,
}

/// A step of the run.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// A forged segment arrives.
    Segment(Forged),
    /// The peer acknowledges all it got, in order.
    Honest {
        /// Bytes of data that it sends.
        size: u8,
    },
    /// The application calls the connection.
    Act {
        /// Kind of the call, reduced to those that exist.
        act: u8,
        /// Argument of the call, such as a number of bytes.
        size: u16,
    },
    /// The application changes the recovery policy of its connection.
    Policy {
        /// Number of the preset, reduced to those that exist.
        preset: u8,
        /// Index of the changed field, modulo the number of fields.
        field: u8,
        /// Number of the field's value, reduced to those that exist.
        value: u8,
    },
    /// An ICMP error that quotes a sequence number.
    Icmp {
        /// Kind of the ICMP error, reduced to those that exist.
        error: u8,
        /// Distance of the quoted number from what the endpoint has sent.
        at: i8,
    },
    /// Time passes, and timers run.
    Pass {
        /// Time in steps of 17 ms, squared.
        steps: u8,
    },
}

/// A segment, its numbers relative to what is expected.
#[derive(Arbitrary, Clone, Debug)]
pub struct Forged {
    /// Control bits on the wire.
    pub flags: u8,
    /// Distance of SEG.SEQ from what the endpoint expects.
    pub seq: i16,
    /// Distance of SEG.ACK from what the endpoint has sent.
    pub ack: i16,
    /// Window field on the wire, not scaled.
    pub window: u16,
    /// Urgent pointer on the wire.
    pub urgent: u8,
    /// Sender: the peer, except for one in 16.
    pub stranger: u8,
    /// Whether the IP header is marked CE.
    pub ce: bool,
    /// Bytes of the options, valid or not.
    pub options: Blob,
    /// Bytes of payload.
    pub size: u8,
}

struct Bench {
    endpoint: Endpoint,
    now: Instant,
    ids: Vec<ConnectionId>,
    /// Numbers that the endpoint expects and has sent, by its last segment to the peer.
    expected: SeqNumber,
    sent: SeqNumber,
    read: u64,
}

const PEER: u16 = 4000;

impl Bench {
    fn settle(&mut self) {
        for flying in transmits(&mut self.endpoint, self.now) {
            let addresses = Pseudo::new(flying.from, flying.to);
            let Ok(segment) = Segment::parse(flying.bytes, addresses) else {
                panic!("a malformed segment")
            };
            if segment.destination_port != PEER || segment.flags.rst() {
                continue;
            }
            self.sent = segment.seq.advance(segment.length());
            if segment.flags.ack() {
                self.expected = segment.ack;
            }
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            if let Event::Incoming { listener } = event {
                assert_eq!(self.endpoint.accept(listener), Some(id));
                self.ids.push(id);
            }
        }
        for (_, connection) in self.endpoint.connections() {
            let info = connection.info(self.now);
            assert!(info.readable_bytes <= BUFFER as u64 + 128, "more than the buffer takes");
        }
        assert!(self.endpoint.connection_count() < 600);
    }

    fn give(&mut self, port: u16, segment: &Segment, options: &[u8], ce: bool) {
        let (peer, own) = (host(2), host(1));
        let mut segment = segment.clone();
        segment.source_port = port;
        // The options' bytes stand before the data; the data offset says so.
        let length = options.len().min(40) / 4 * 4;
        let mut payload = options[..length].to_vec();
        payload.extend_from_slice(&segment.payload);
        segment.payload = payload.into();
        let mut bytes = Vec::new();
        segment.emit(Pseudo::new(peer, own), &mut bytes);
        let words = (length / 4) as u8;
        let before = u16::from_be_bytes([bytes[12], bytes[13]]);
        bytes[12] += words << 4;
        let after = u16::from_be_bytes([bytes[12], bytes[13]]);
        let sum = u16::from_be_bytes([bytes[16], bytes[17]]);
        let mut sum = u32::from(!sum) + u32::from(!before) + u32::from(after);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        bytes[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        let ecn = if ce { Ecn::Ce } else { Ecn::NotEct };
        let flying = Flying { from: peer, to: own, bytes: Bytes::from(bytes), ecn };
        give(&mut self.endpoint, self.now, &flying);
        self.settle();
    }

    fn forged(&mut self, forged: &Forged) {
        let mut segment = Segment::new(PEER, 80);
        segment.flags = Flags::from_bits(u16::from(forged.flags));
        segment.seq = self.expected.advance(i32::from(forged.seq) as u32);
        segment.ack = self.sent.advance(i32::from(forged.ack) as u32);
        segment.window = forged.window;
        segment.urgent = forged.urgent.into();
        segment.payload = vec![forged.size; forged.size.into()].into();
        let port = if forged.stranger % 16 == 1 { u16::from(forged.stranger) + 1 } else { PEER };
        self.give(port, &segment, &forged.options.0, forged.ce);
    }

    fn honest(&mut self, size: u8) {
        let mut segment = Segment::new(PEER, 80);
        segment.flags = Flags::ACK;
        (segment.seq, segment.ack) = (self.expected, self.sent);
        segment.window = 30_000;
        segment.payload = vec![1; size.into()].into();
        self.give(PEER, &segment, &[], false);
    }

    fn act(&mut self, act: u8, size: u16) {
        let Some(id) = self.ids.last().copied() else { return };
        let now = self.now;
        let Some(mut own) = self.endpoint.connection_mut(id) else {
            self.ids.pop();
            return;
        };
        if act % 16 == 15 && size.is_multiple_of(8) {
            drop(own);
            self.endpoint.release(now, id);
            self.ids.pop();
            return self.settle();
        }
        match act % 16 {
            0..6 => {
                let flags = SendFlags { more: act & 16 != 0, urgent: act & 32 != 0 };
                let data = vec![2; usize::from(size) % BUFFER].into();
                let _ = own.send(now, data, flags);
            }
            6..11 => {
                if let Ok(Received::Data(data)) = own.receive(now, usize::from(size)) {
                    self.read += data.len() as u64;
                }
            }
            11 => own.shutdown_write(now),
            12 => own.acknowledge_now(now),
            13 => own.set_options(now, |options| options.no_delay ^= true),
            14 if size.is_multiple_of(4) => own.close(now),
            _ => {}
        }
        drop(own);
        self.settle();
    }

    fn change(&mut self, preset: u8, field: u8, value: u8) {
        let Some(id) = self.ids.last().copied() else { return };
        let mut policy = tcp_policy::preset(preset);
        tcp_policy::change(&mut policy, field, value);
        let policy = Arc::new(policy);
        if let Some(mut own) = self.endpoint.connection_mut(id) {
            own.set_policy(self.now, policy);
        }
        self.settle();
    }

    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        while let Some(due) = self.endpoint.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.endpoint.handle_timeout(self.now);
            self.settle();
            steps += 1;
            assert!(steps < 100_000, "time stands still");
        }
        self.now = until;
    }

    fn play(&mut self, step: &Step) {
        match step {
            Step::Segment(forged) => self.forged(forged),
            Step::Honest { size } => self.honest(*size),
            Step::Act { act, size } => self.act(*act, *size),
            Step::Policy { preset, field, value } => self.change(*preset, *field, *value),
            Step::Icmp { error, at } => self.icmp(*error, *at),
            Step::Pass { steps } => {
                let steps = u64::from(*steps);
                self.pass(Duration::from_millis(17 * steps * steps));
            }
        }
    }

    fn icmp(&mut self, error: u8, at: i8) {
        let mut quoted = vec![0, 80];
        quoted.extend(PEER.to_be_bytes());
        quoted.extend(self.sent.advance(i32::from(at) as u32).0.to_be_bytes());
        let error = match error % 3 {
            0 => IcmpError::PacketTooBig { mtu: u32::from(error) * 6 },
            1 => IcmpError::Unreachable,
            _ => IcmpError::NoListener,
        };
        let remote = SocketAddr::new(host(2), 0);
        let icmp = Icmp { local: Some(host(1)), remote, error, quoted: &quoted };
        self.endpoint.handle_icmp(self.now, icmp);
        self.settle();
    }
}

/// The bench that an input asks for, its endpoint listening or having begun to open.
fn set_up(input: &Input) -> Bench {
    let bits = input.options;
    let has = |bit: u8| bits & (1 << bit) != 0;
    let endpoint = EndpointOptions {
        max_connections: 500,
        syn_backlog: 4,
        syn_cookies: if has(4) { SynCookies::Always } else { SynCookies::WhenFull },
        ..EndpointOptions::default()
    };
    let options = ConnectionOptions {
        policy: Arc::new(tcp_policy::preset(input.preset)),
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        ecn: if has(1) { EcnMode::Active } else { EcnMode::Off },
        tolerate_missing_timestamps: !has(2),
        urgent_inline: !has(3),
        strict_resets: !has(5),
        strict_syns: !has(6),
        user_timeout_option: has(7),
        ..ConnectionOptions::default()
    };
    let mut bench = Bench {
        endpoint: Endpoint::new(endpoint, RandomStream::new(3, Purpose("connection", 0))),
        now: Instant::from_millis(1000),
        ids: Vec::new(),
        expected: SeqNumber(7),
        sent: SeqNumber(0),
        read: 0,
    };
    let (own, peer) = (SocketAddr::new(host(1), 80), SocketAddr::new(host(2), PEER));
    if has(0) {
        bench.ids.extend(bench.endpoint.connect(bench.now, own, peer, options));
    } else {
        let listen = ListenOptions { backlog: 400, accepted: options };
        assert!(bench.endpoint.listen(own, listen).is_ok());
        let mut syn = Segment::new(PEER, 80);
        syn.flags = Flags::SYN;
        syn.seq = SeqNumber(6);
        bench.give(PEER, &syn, &[2, 4, 5, 180, 4, 2, 1, 1], false);
    }
    bench.settle();
    bench
}

/// Runs the target; answers how many connections there were and how many bytes were read of them.
///
/// # Panics
/// When something is wrong.
pub fn run(input: Input) -> (usize, u64) {
    let mut bench = set_up(&input);
    for step in &input.steps.0 {
        bench.play(step);
    }
    let connections = bench.ids.len();
    for id in core::mem::take(&mut bench.ids) {
        bench.endpoint.release(bench.now, id);
        bench.settle();
    }
    // Whatever the peer did: a connection without an owner ends.
    bench.pass(Duration::from_secs(4_000));
    assert_eq!(bench.endpoint.connection_count(), 0, "something is left");
    assert_eq!(bench.endpoint.time_wait_count(), 0, "TIME-WAIT is left");
    (connections, bench.read)
}
