//! A listener and its clients, some behind one NAT, with people between them who lose, repeat,
//! forge and steal packets, while clients restart, move and go away. The listener keeps its limits,
//! forgets what was released, and serves an honest client at the end.

use core::net::SocketAddr;
use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use base::{Duration, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Ppid, SendOptions, StreamId,
};

use crate::network::{
    chunk, events, give, home, host, next_timeout, packet, run_timers, transmits,
};
use crate::{Blob, PORT, Steps};

/// Associations that the listener may have.
const LIMIT: usize = 6;

/// Clients beside the listener, which is party 0.
const CLIENTS: usize = 4;

/// Packets that are remembered, to be stolen.
const REMEMBERED: usize = 300;

/// Packets under way at most.
const UNDER_WAY: usize = 500;

/// Input of the target, which libFuzzer mutates and `arbitrary` reads.
pub type Input = Steps<Step>;

/// A chunk of a forged packet.
#[derive(Arbitrary, Clone, Debug)]
pub struct ForgedChunk {
    /// Type of the chunk on the wire.
    pub chunk_type: u8,
    /// Flags byte of the chunk on the wire.
    pub flags: u8,
    /// Distance of a TSN that was seen from the first field, if that is such a TSN.
    pub near: Option<i8>,
    /// Value of the chunk behind its first field.
    pub value: Blob,
}

/// The tag of a forged packet.
#[derive(Arbitrary, Clone, Debug)]
pub enum Tag {
    /// No tag, as INIT has it.
    Zero,
    /// Tag in a packet to the victim, by its place among those seen.
    Seen(u8),
    /// A verification tag that the peer never used.
    Guess([u8; 4]),
}

/// A step of a run. Parties are the listener (0) and the clients, modulo their number.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// A client opens an association.
    Connect {
        /// Number of the client, reduced to those that exist.
        client: u8,
    },
    /// A packet under way arrives.
    Deliver {
        /// Number of the packet under way, reduced to those that exist.
        which: u8,
    },
    /// A packet under way is lost.
    Lose {
        /// Number of the packet under way, reduced to those that exist.
        which: u8,
    },
    /// A packet that was under way once comes again, perhaps from another party's address.
    Steal {
        /// Number of the packet ever sent, reduced to those that exist.
        which: u16,
        /// Party from whose address it comes.
        from: Option<u8>,
    },
    /// A packet with ports and checksum as they should be.
    Forge {
        /// Party from whose address it comes.
        from: u8,
        /// Party to which it goes.
        to: u8,
        /// Verification tag, known or forged.
        tag: Tag,
        /// Chunks in the packet, each forged.
        chunks: Vec<ForgedChunk>,
    },
    /// Arbitrary bytes, with neither valid fields nor a checksum.
    Raw {
        /// Party to which it goes.
        to: u8,
        /// Content of the datagram.
        bytes: Blob,
    },
    /// Time passes, and timers run.
    Pass {
        /// Time that passes, in milliseconds.
        millis: u16,
    },
    /// The network works for some trips.
    Work {
        /// Number of round trips, reduced to a few.
        trips: u8,
    },
    /// An application sends a message.
    Send {
        /// Party whose application acts.
        party: u8,
        /// Index of its association, reduced to those that exist.
        which: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
    },
    /// An application shuts an association down.
    Shutdown {
        /// Party that closes.
        party: u8,
        /// Index of its association, reduced to those that exist.
        which: u8,
    },
    /// An application releases an association.
    Release {
        /// The side that releases it.
        party: u8,
        /// Index of its association, reduced to those that exist.
        which: u8,
    },
    /// A client loses its memory.
    Reboot {
        /// Index of the client, reduced to those that exist.
        client: u8,
    },
    /// A client's NAT gives it another port.
    Move {
        /// Index of the client, reduced to those that exist.
        client: u8,
        /// Lowest bits of the new port.
        port: u8,
    },
    /// The listener stops or begins to accept.
    Listen {
        /// Whether it accepts from now on.
        listen: bool,
    },
}

struct Party {
    endpoint: Endpoint,
    /// One or two; the first is the one that others know.
    addresses: Vec<SocketAddr>,
    ids: BTreeSet<AssociationId>,
}

struct World {
    parties: Vec<Party>,
    /// Packets in flight: source, destination, bytes.
    under_way: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
    remembered: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
    now: Instant,
    reboots: u64,
    /// Associations that the listener reported.
    accepted: BTreeSet<AssociationId>,
}

fn endpoint(index: usize, generation: u64, addresses: &[SocketAddr]) -> Endpoint {
    let accepted = AssociationOptions { receive_buffer: 20_000, ..AssociationOptions::default() };
    let options = EndpointOptions {
        port: PORT,
        listen: index == 0,
        max_associations: LIMIT,
        addresses: addresses.to_vec(),
        accepted,
        ..EndpointOptions::default()
    };
    let index = index as u64 + 100 * generation;
    Endpoint::new(options, RandomStream::new(5, Purpose("party", index)))
}

impl World {
    fn new() -> World {
        // The listener and a client have two addresses; two of the clients share an IP address.
        let addresses = [
            vec![host(1), home(1, 1)],
            vec![host(2), home(2, 1)],
            vec![host(3)],
            vec![SocketAddr::new(host(3).ip(), 9900)],
            vec![host(4)],
        ];
        let party = |(index, addresses): (usize, &Vec<SocketAddr>)| Party {
            endpoint: endpoint(index, 0, addresses),
            addresses: addresses.clone(),
            ids: BTreeSet::new(),
        };
        World {
            parties: addresses.iter().enumerate().map(party).collect(),
            under_way: Vec::new(),
            remembered: Vec::new(),
            now: Instant::ZERO,
            reboots: 0,
            accepted: BTreeSet::new(),
        }
    }

    fn drain(&mut self) {
        for party in &mut self.parties {
            for packet in transmits(&mut party.endpoint, self.now) {
                let from = packet.local.unwrap_or(party.addresses[0]);
                self.under_way.push((from, packet.remote, packet.bytes));
            }
            for (id, _) in events(&mut party.endpoint) {
                party.ids.insert(id);
            }
            for id in &party.ids {
                while party
                    .endpoint
                    .association_mut(*id)
                    .and_then(|mut own| own.receive(self.now))
                    .is_some()
                {}
            }
            assert!(party.endpoint.association_count() <= LIMIT, "more than allowed");
        }
        self.accepted.extend(&self.parties[0].ids);
        let excess = self.under_way.len().saturating_sub(UNDER_WAY);
        self.under_way.drain(..excess);
    }

    /// A packet arrives: nowhere, if no host has the address.
    fn arrive(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if self.remembered.len() < REMEMBERED {
            self.remembered.push((from, to, bytes.to_vec()));
        }
        if let Some(party) = self.parties.iter_mut().find(|party| party.addresses.contains(&to)) {
            give(&mut party.endpoint, self.now, to, from, bytes);
        }
        self.drain();
    }

    fn take(&mut self, which: u8) -> Option<(SocketAddr, SocketAddr, Vec<u8>)> {
        let count = self.under_way.len();
        (count > 0).then(|| self.under_way.remove(usize::from(which) % count))
    }

    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        let next = |world: &World| next_timeout(world.parties.iter().map(|party| &party.endpoint));
        while let Some(at) = next(self).filter(|at| *at <= until) {
            self.now = self.now.max(at);
            for party in &mut self.parties {
                run_timers(&mut party.endpoint, self.now);
            }
            self.drain();
            steps += 1;
            assert!(steps < 100_000, "time stands still at {}", self.now);
        }
        self.now = until;
    }

    fn trip(&mut self) {
        self.pass(Duration::from_millis(20));
        for (from, to, bytes) in core::mem::take(&mut self.under_way) {
            self.arrive(from, to, &bytes);
        }
    }

    /// Finds an association by a party and an index, both modulo the existing ones.
    fn id(&self, party: u8, which: u8) -> Option<(usize, AssociationId)> {
        let party = usize::from(party) % self.parties.len();
        let ids = &self.parties[party].ids;
        let id = ids.iter().nth(usize::from(which) % ids.len().max(1))?;
        Some((party, *id))
    }

    fn run(&mut self, step: Step) {
        let client = |client: u8| 1 + usize::from(client) % CLIENTS;
        match step {
            Step::Connect { client: index } => self.connect(client(index)),
            Step::Deliver { which } => {
                if let Some((from, to, bytes)) = self.take(which) {
                    self.arrive(from, to, &bytes);
                }
            }
            Step::Lose { which } => drop(self.take(which)),
            Step::Steal { which, from } => self.steal(which, from),
            Step::Forge { from, to, tag, chunks } => self.forge(from, to, &tag, chunks),
            Step::Raw { to, bytes } => {
                let to = self.address(to);
                self.arrive(host(9), to, &bytes.0);
            }
            Step::Pass { millis } => self.pass(Duration::from_millis(millis.into())),
            Step::Work { trips } => (0..trips % 16).for_each(|_| self.trip()),
            Step::Send { party, which, size } => {
                if let Some((party, id)) = self.id(party, which) {
                    let payload = Bytes::from(vec![1; 1 + usize::from(size) % 10_000]);
                    let (stream, options) = (StreamId(size % 8), SendOptions::default());
                    let endpoint = &mut self.parties[party].endpoint;
                    let _ = endpoint
                        .association_mut(id)
                        .map_or(Err(sctp::SendError::Closed), |mut own| {
                            own.send(self.now, stream, Ppid(0), payload, options)
                        });
                    self.drain();
                }
            }
            Step::Shutdown { party, which } => {
                if let Some((party, id)) = self.id(party, which) {
                    if let Some(mut own) = self.parties[party].endpoint.association_mut(id) {
                        own.shutdown(self.now);
                    }
                    self.drain();
                }
            }
            Step::Release { party, which } => {
                if let Some((party, id)) = self.id(party, which) {
                    self.parties[party].endpoint.release(id);
                    self.parties[party].ids.remove(&id);
                    self.drain();
                }
            }
            Step::Reboot { client: index } => {
                self.reboots += 1;
                let party = &mut self.parties[client(index)];
                party.endpoint = endpoint(client(index), self.reboots, &party.addresses);
                party.ids.clear();
            }
            Step::Move { client: index, port } => {
                let addresses = &mut self.parties[client(index)].addresses;
                // One that knows its own address knows of its NAT too.
                if let [address] = &mut addresses[..] {
                    let port = 10_000 + 100 * u16::from(index) + u16::from(port % 16);
                    let moved = SocketAddr::new(address.ip(), port);
                    if self.parties.iter().all(|party| !party.addresses.contains(&moved)) {
                        self.parties[client(index)].addresses = vec![moved];
                    }
                }
            }
            Step::Listen { listen } => self.parties[0].endpoint.set_listen(listen),
        }
    }

    /// An address of a party: the upper half of the numbers choose the last one.
    fn address(&self, party: u8) -> SocketAddr {
        let addresses = &self.parties[usize::from(party & 0x7f) % self.parties.len()].addresses;
        addresses[usize::from(party >> 7) % addresses.len()]
    }

    fn connect(&mut self, client: usize) {
        let (now, listener) = (self.now, self.parties[0].addresses[0]);
        let party = &mut self.parties[client];
        let options =
            AssociationOptions { receive_buffer: 20_000, ..AssociationOptions::default() };
        party.ids.extend(party.endpoint.connect(now, listener, PORT, options).ok());
        self.drain();
    }

    fn steal(&mut self, which: u16, from: Option<u8>) {
        let count = self.remembered.len().max(1);
        let stolen = self.remembered.get(usize::from(which) % count).cloned();
        if let Some((source, to, bytes)) = stolen {
            let from = from.map(|party| self.address(party));
            self.arrive(from.unwrap_or(source), to, &bytes);
        }
    }

    fn forge(&mut self, from: u8, to: u8, tag: &Tag, chunks: Vec<ForgedChunk>) {
        let (from, to) = (self.address(from), self.address(to));
        let seen = self.remembered.iter().rev().filter(|(_, victim, _)| *victim == to);
        let seen: Vec<&Vec<u8>> = seen.map(|(_, _, bytes)| bytes).take(8).collect();
        let tag = match tag {
            Tag::Zero => [0; 4],
            Tag::Guess(guess) => *guess,
            Tag::Seen(which) => {
                let model = seen.get(usize::from(*which) % seen.len().max(1));
                model.and_then(|bytes| bytes.get(4..8)?.try_into().ok()).unwrap_or_default()
            }
        };
        // The latest DATA or SACK to the victim tells which TSNs are in use.
        let tsn_of = |bytes: &&Vec<u8>| {
            let at = matches!(bytes.get(12)?, 0 | 3).then_some(16)?;
            Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        let tsn = seen.iter().find_map(tsn_of).unwrap_or_default();
        let mut bytes = Vec::new();
        for ForgedChunk { chunk_type, flags, near, mut value } in chunks.into_iter().take(20) {
            if let (Some(near), Some(field)) = (near, value.0.first_chunk_mut::<4>()) {
                *field = tsn.wrapping_add_signed(near.into()).to_be_bytes();
            }
            bytes.extend(chunk(chunk_type, flags, &value.0));
        }
        let before = self.under_way.len();
        self.arrive(from, to, &packet(PORT, tag, &bytes));
        let answers = self.under_way.len().saturating_sub(before);
        assert!(answers <= 200, "{answers} packets for one");
    }

    /// Everybody's associations are let go; nothing may be left, and an honest client is served.
    fn judge(&mut self) {
        self.parties[0].endpoint.set_listen(true);
        for party in &mut self.parties {
            for id in core::mem::take(&mut party.ids) {
                party.endpoint.release(id);
            }
        }
        self.drain();
        for (index, party) in self.parties.iter().enumerate() {
            assert_eq!(
                party.endpoint.association_count(),
                0,
                "party {index} keeps what was released"
            );
            assert_eq!(party.endpoint.poll_timeout(), None, "party {index} waits for nothing");
        }
        self.under_way.clear();
        let addresses = vec![host(77)];
        let own = endpoint(99, 0, &addresses);
        self.parties.push(Party { endpoint: own, addresses, ids: BTreeSet::new() });
        let honest = self.parties.len() - 1;
        self.connect(honest);
        let id = self.parties[honest].ids.first().copied();
        let Some(id) = id else { panic!("the honest client cannot even try") };
        let payload = Bytes::from(vec![3; 3_000]);
        let (stream, options) = (StreamId(0), SendOptions::default());
        let sent = self.parties[honest]
            .endpoint
            .association_mut(id)
            .map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(self.now, stream, Ppid(0), payload, options)
            });
        assert!(sent.is_ok());
        self.drain();
        (0..6).for_each(|_| self.trip());
        let own = self.parties[honest].endpoint.association(id);
        assert!(own.is_some_and(|own| own.is_established() && own.is_settled()), "not served");
    }
}

/// Runs the steps and judges; answers how many associations the listener had in its time.
pub fn run(steps: Input) -> usize {
    let mut world = World::new();
    for step in steps.0 {
        world.run(step);
    }
    world.judge();
    world.accepted.len()
}
