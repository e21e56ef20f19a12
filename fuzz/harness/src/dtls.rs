//! A server with encrypted sessions, an honest client, and a network between them that repeats,
//! changes, cuts, redirects and makes datagrams up: the server takes nothing but what the client
//! sent, each once, answers strangers with less than three times their bytes, keeps a bounded
//! number of handshakes, and serves another client afterwards.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use arbitrary::Arbitrary;
use base::{
    Datagram, DatagramMeta, Duration, Ecn, Icmp, Instant, IpService, Machine, Purpose,
    RandomStream, Transmit, TransmitBuffer,
};
use bytes::Bytes;
use secure::{Context, Identity, Limits, Secrets, Secured, Sessions, Settings, Trust};

use crate::{Blob, Steps};

/// A step of the network.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// All that is under way arrives.
    Settle,
    /// The client sends a packet, which arrives with all that is under way.
    Send,
    /// The client has a packet to send.
    Hold,
    /// A datagram of the past arrives again.
    Repeat(u8),
    /// A datagram arrives with a byte changed.
    Change(u8, u16, u8),
    /// The beginning of one arrives.
    Cut(u8, u16),
    /// A datagram arrives from another address.
    Redirect(u8, u8),
    /// A datagram of no host's arrives, from the client's address or another one.
    Raw(u8, Blob),
    /// Bytes behind the header of a record arrive.
    Record(u8, u8, Blob),
    /// All that is under way is lost.
    Lose,
    /// Time passes, in hundredths of a second.
    Wait(u8),
}

/// Keeps what it gets, sends what it is told to.
#[derive(Debug, Default)]
struct Mailbox {
    outgoing: VecDeque<Vec<u8>>,
    received: Vec<Bytes>,
}

impl Machine for Mailbox {
    fn handle_datagram(&mut self, _: Instant, meta: DatagramMeta, datagram: Datagram) {
        assert!(datagram.verified && meta.origin.is_some());
        self.received.push(datagram.into_bytes());
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let packet = self.outgoing.pop_front()?;
        buffer.head().extend_from_slice(&packet);
        let (ecn, service, size) = (Ecn::NotEct, IpService::default(), packet.len());
        Some(Transmit { local: None, remote: SERVER, ecn, dont_fragment: false, service, size })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

type Host = Secured<Mailbox>;

const SERVER: SocketAddr = address(0);
const CLIENT: SocketAddr = address(1);
const HALF_OPEN: usize = 4;

const fn address(number: u8) -> SocketAddr {
    SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, number)), 9899)
}

fn identity(seed: u64) -> Identity {
    Identity::generate(&mut RandomStream::new(seed, Purpose("identity", 0)))
}

fn host(key: u64, seed: u64) -> Host {
    let Ok(context) = Context::new(Settings::default(), &identity(key)) else {
        panic!("the settings are the defaults");
    };
    let limits = Limits { half_open: HALF_OPEN, ..Limits::default() };
    let random = RandomStream::new(seed, Purpose("host", 0));
    let sessions = Sessions::new(context, limits, Secrets::Seeded, random);
    Secured { machine: Mailbox::default(), sessions }
}

/// A client with key 1 that sets a session with the server up.
fn client(now: Instant, seed: u64) -> Host {
    let mut client = host(1, seed);
    let (trust, patience) =
        (Trust::from(identity(2).fingerprint()), Settings::default().patience());
    let begun = client.sessions.connect(now, (SERVER, None), trust, patience);
    assert_eq!(begun, Ok(()));
    client
}

struct World {
    now: Instant,
    client: Host,
    server: Host,
    /// Datagrams that the client sent.
    past: Vec<Vec<u8>>,
    sent: BTreeSet<Vec<u8>>,
    /// Bytes from and to other addresses than the client's.
    strangers: BTreeMap<SocketAddr, [usize; 2]>,
}

/// Runs the steps; answers how many packets reached the server.
pub fn run(steps: &Steps<Step>) -> usize {
    let (now, mut server) = (Instant::ZERO, host(2, 2));
    server.sessions.accept(Some(Trust::from(identity(1).fingerprint())));
    let mut world = World {
        now,
        client: client(now, 1),
        server,
        past: Vec::new(),
        sent: BTreeSet::new(),
        strangers: BTreeMap::new(),
    };
    for step in &steps.0 {
        world.take(step);
        world.check();
    }
    // Another client of the same key is served by what is left.
    world.client = client(world.now, 3);
    world.settle();
    world.send(u64::MAX);
    world.settle();
    let last = world.server.machine.received.last();
    assert!(last.is_some_and(|last| last[..] == u64::MAX.to_be_bytes()), "not served");
    world.server.machine.received.len()
}

impl World {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Settle => self.settle(),
            Step::Send => {
                self.send(self.sent.len() as u64);
                self.settle();
            }
            Step::Hold => self.send(self.sent.len() as u64),
            Step::Lose => self.drain_client().truncate(0),
            Step::Repeat(which) => self.repeat(*which, CLIENT, |_| ()),
            Step::Redirect(which, to) => self.repeat(*which, address(*to), |_| ()),
            Step::Cut(which, length) => {
                self.repeat(*which, CLIENT, |bytes| bytes.truncate(usize::from(*length)));
            }
            Step::Change(which, at, with) => self.repeat(*which, CLIENT, |bytes| {
                let at = usize::from(*at) % bytes.len().max(1);
                bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= with);
            }),
            Step::Raw(from, bytes) => self.give_server(address(*from), &bytes.0),
            Step::Record(from, kind, bytes) => {
                let [high, low] = (bytes.0.len() as u16).to_be_bytes();
                let header = [20 + kind % 44, 254, 253, 0, 0, 0, 0, 0, 0, 0, *kind, high, low];
                self.give_server(address(*from), &[&header, &bytes.0[..]].concat());
            }
            Step::Wait(hundredths) => {
                self.now += Duration::from_millis(u64::from(*hundredths) * 10);
                for host in [&mut self.client, &mut self.server] {
                    if host.poll_timeout().is_some_and(|due| due <= self.now) {
                        host.handle_timeout(self.now);
                    }
                }
            }
        }
    }

    fn send(&mut self, number: u64) {
        let packet = number.to_be_bytes().to_vec();
        self.client.machine.outgoing.push_back(packet.clone());
        self.sent.insert(packet);
    }

    fn repeat(&mut self, which: u8, from: SocketAddr, change: impl FnOnce(&mut Vec<u8>)) {
        if self.past.is_empty() {
            self.drain_client();
        }
        let which = usize::from(which) % self.past.len().max(1);
        let Some(mut bytes) = self.past.get(which).cloned() else { return };
        change(&mut bytes);
        self.give_server(from, &bytes);
    }

    fn give_server(&mut self, from: SocketAddr, bytes: &[u8]) {
        if from == SERVER {
            return;
        }
        if from != CLIENT {
            self.strangers.entry(from).or_default()[0] += bytes.len();
        }
        let meta = DatagramMeta { local: SERVER, remote: from, ecn: Ecn::NotEct, origin: None };
        self.server.handle_datagram(self.now, meta, bytes.to_vec().into());
    }

    fn drain_client(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        let mut buffer = Vec::new();
        while self.client.poll_transmit(self.now, &mut buffer).is_some() {
            datagrams.push(std::mem::take(&mut buffer));
        }
        self.past.extend(datagrams.iter().take(256 - self.past.len().min(256)).cloned());
        datagrams
    }

    /// Carries until neither side has more to send.
    fn settle(&mut self) {
        loop {
            let up = self.drain_client();
            up.iter().for_each(|bytes| self.give_server(CLIENT, bytes));
            let down = self.drain_server();
            if up.is_empty() && down == 0 {
                return;
            }
        }
    }

    /// Brings the client what is for it; answers how many datagrams that were.
    fn drain_server(&mut self) -> usize {
        let (mut buffer, mut count) = (Vec::new(), 0);
        while let Some(transmit) = self.server.poll_transmit(self.now, &mut buffer) {
            let bytes = std::mem::take(&mut buffer);
            if transmit.remote == CLIENT {
                count += 1;
                let meta =
                    DatagramMeta { local: CLIENT, remote: SERVER, ecn: Ecn::NotEct, origin: None };
                self.client.handle_datagram(self.now, meta, bytes.into());
            } else {
                self.strangers.entry(transmit.remote).or_default()[1] += bytes.len();
            }
        }
        count
    }

    fn check(&mut self) {
        self.drain_server();
        for (stranger, [received, sent]) in &self.strangers {
            assert!(*sent == 0 || *sent < 3 * received, "{sent} for {received} to {stranger}");
        }
        let received = &self.server.machine.received;
        assert!(received.iter().all(|packet| self.sent.contains(&packet[..])), "made up");
        assert_eq!(received.iter().collect::<BTreeSet<_>>().len(), received.len(), "repeated");
        assert!(self.server.sessions.half_open() <= HALF_OPEN);
    }
}
