//! Truncated, oversized, bit-flipped, random and replayed packets in every state: no panic, no
//! change before verification, bounded memory, and the association still works afterwards.

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use proptest::prelude::*;
use sctp::wire::{Chunk, Packet, VerificationTag};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendOptions,
    StreamId,
};

use crate::support::wire::fix_checksum;
use crate::support::{CLIENT, PORT, SERVER, address};

/// A client and a server whose packets the test delivers, and an attacker that has seen them all.
struct Pair {
    ends: [Endpoint; 2],
    ids: [Option<AssociationId>; 2],
    now: Instant,
    /// Packets under way, by the end that they go to.
    under_way: [Vec<Vec<u8>>; 2],
    seen: Vec<(usize, Vec<u8>)>,
    events: [Vec<Event>; 2],
}

const ADDRESSES: [&str; 2] = [CLIENT, SERVER];

/// Phase of an association in which the bad packets arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    CookieWait,
    CookieEchoed,
    Established,
    DataInFlight,
    ShutdownPending,
    ShutdownSent,
    ShutdownAckSent,
    Closed,
}

const MOMENTS: [Moment; 8] = [
    Moment::CookieWait,
    Moment::CookieEchoed,
    Moment::Established,
    Moment::DataInFlight,
    Moment::ShutdownPending,
    Moment::ShutdownSent,
    Moment::ShutdownAckSent,
    Moment::Closed,
];

impl Pair {
    fn new() -> Pair {
        let end = |index| {
            let options =
                EndpointOptions { port: PORT, listen: index == 1, ..EndpointOptions::default() };
            Endpoint::new(options, RandomStream::new(9, Purpose("end", index)))
        };
        let mut pair = Pair {
            ends: [end(0), end(1)],
            ids: [None; 2],
            now: Instant::ZERO,
            under_way: [Vec::new(), Vec::new()],
            seen: Vec::new(),
            events: [Vec::new(), Vec::new()],
        };
        let remote = address(SERVER);
        let options = AssociationOptions::default();
        pair.ids[0] = Some(pair.ends[0].connect(pair.now, remote, PORT, options).unwrap());
        pair.drain();
        pair
    }

    fn drain(&mut self) {
        for from in 0..2 {
            let mut buffer = Vec::new();
            let mut count = 0;
            while self.ends[from].poll_transmit(self.now, &mut buffer).is_some() {
                let packet = std::mem::take(&mut buffer);
                self.seen.push((1 - from, packet.clone()));
                self.under_way[1 - from].push(packet);
                count += 1;
                assert!(count < 1_000, "sends without end");
            }
            while let Some((id, event)) = self.ends[from].poll_event() {
                self.ids[from].get_or_insert(id);
                self.events[from].push(event);
            }
        }
    }

    fn give(&mut self, to: usize, packet: &[u8]) {
        let (local, remote) = (address(ADDRESSES[to]), address(ADDRESSES[1 - to]));
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        self.ends[to].handle_datagram(self.now, meta, Bytes::copy_from_slice(packet).into());
        self.drain();
    }

    /// Delivers everything under way once.
    fn exchange(&mut self) {
        self.now += Duration::from_millis(20);
        for to in 0..2 {
            for packet in std::mem::take(&mut self.under_way[to]) {
                self.give(to, &packet);
            }
        }
    }

    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        for _ in 0..100_000 {
            let next = self.ends.iter().filter_map(Machine::poll_timeout).min();
            let Some(at) = next.filter(|at| *at <= until) else { break };
            self.now = self.now.max(at);
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
            self.drain();
            self.exchange();
        }
        assert!(self.ends.iter().filter_map(Machine::poll_timeout).all(|at| at > until));
        self.now = self.now.max(until);
    }

    fn send(&mut self, from: usize, size: usize) {
        let Some(id) = self.ids[from] else { return };
        let payload = Bytes::from(vec![5; size]);
        let (now, options) = (self.now, SendOptions::default());
        let sent = self.ends[from].association_mut(id).unwrap().send(
            now,
            StreamId(0),
            Ppid(0),
            payload,
            options,
        );
        let _ = sent;
        self.drain();
    }

    /// Brings the association to a phase.
    fn advance(&mut self, moment: Moment) {
        if moment == Moment::CookieWait {
            return;
        }
        self.exchange_once_each(2);
        if moment == Moment::CookieEchoed {
            return;
        }
        (0..4).for_each(|_| self.exchange());
        assert!(self.is_established(), "{:?}", self.events);
        if moment == Moment::Established {
            return;
        }
        if moment == Moment::DataInFlight || moment == Moment::ShutdownPending {
            (0..2).for_each(|from| self.send(from, 3000));
        }
        if moment == Moment::DataInFlight {
            return;
        }
        let id = self.ids[0].unwrap();
        self.ends[0].association_mut(id).unwrap().shutdown(self.now);
        self.drain();
        let exchanges = match moment {
            Moment::ShutdownAckSent => 1,
            Moment::Closed => 6,
            _ => 0,
        };
        (0..exchanges).for_each(|_| self.exchange());
    }

    fn exchange_once_each(&mut self, times: usize) {
        for step in 0..times {
            let to = 1 - step % 2;
            for packet in std::mem::take(&mut self.under_way[to]) {
                self.give(to, &packet);
            }
        }
    }

    fn is_established(&self) -> bool {
        (0..2).all(|side| {
            let id = self.ids[side];
            id.and_then(|id| self.ends[side].association(id))
                .is_some_and(|own| own.is_established())
        })
    }

    fn snapshot(&self) -> Vec<Option<sctp::AssociationStats>> {
        let stats = |side: usize| Some(self.ends[side].association(self.ids[side]?)?.stats());
        vec![stats(0), stats(1)]
    }

    /// Sends messages both ways and expects them, if the association should still be there.
    fn still_works(&mut self) {
        self.pass(Duration::from_secs(200));
        if !self.is_established() {
            return;
        }
        for side in 0..2 {
            while self.receive(side).is_some() {}
        }
        (0..2).for_each(|from| self.send(from, 5000));
        self.pass(Duration::from_secs(200));
        for side in 0..2 {
            assert_eq!(self.receive(side), Some(5000));
            assert_eq!(self.receive(side), None, "once only");
        }
    }

    /// Length of the next message at an end.
    fn receive(&mut self, side: usize) -> Option<usize> {
        let id = self.ids[side]?;
        Some(
            self.ends[side]
                .association_mut(id)
                .and_then(|mut own| own.receive(self.now))?
                .payload
                .len(),
        )
    }
}

/// Modification of a captured packet.
#[derive(Clone, Debug)]
enum Mischief {
    Truncate(usize),
    Extend(usize, u8),
    Flip(Vec<usize>),
    Random(Vec<u8>),
    Replay,
    /// Any chunk under a wrong tag, checksum and all in order.
    WrongTag(u8, Vec<u8>),
}

fn mischief() -> impl Strategy<Value = Mischief> {
    prop_oneof![
        (0usize..1500).prop_map(Mischief::Truncate),
        (1usize..60_000, any::<u8>()).prop_map(|(size, byte)| Mischief::Extend(size, byte)),
        prop::collection::vec(0usize..12_000, 1..4).prop_map(Mischief::Flip),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Mischief::Random),
        Just(Mischief::Replay),
        (any::<u8>(), prop::collection::vec(any::<u8>(), 0..60))
            .prop_map(|(chunk_type, value)| Mischief::WrongTag(chunk_type, value)),
    ]
}

fn spoil(packet: &[u8], mischief: &Mischief) -> Vec<u8> {
    let mut spoilt = packet.to_vec();
    match mischief {
        Mischief::Truncate(length) => spoilt.truncate(length % (packet.len() + 1)),
        Mischief::Extend(size, byte) => spoilt.resize(packet.len() + size, *byte),
        Mischief::Flip(bits) => {
            for bit in bits {
                spoilt[bit / 8 % packet.len()] ^= 1 << (bit % 8);
            }
        }
        Mischief::Random(bytes) => spoilt = bytes.clone(),
        Mischief::Replay => {}
        Mischief::WrongTag(chunk_type, value) => {
            spoilt.truncate(12);
            spoilt[4..8].copy_from_slice(&0x0bad_f00du32.to_be_bytes());
            spoilt.extend_from_slice(&[*chunk_type, 0]);
            spoilt.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
            spoilt.extend_from_slice(value);
            spoilt.resize(spoilt.len().next_multiple_of(4), 0);
            fix_checksum(&mut spoilt);
        }
    }
    spoilt
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn spoilt_packets_change_nothing_at_any_state(
        moment in prop::sample::select(MOMENTS.to_vec()),
        attacks in prop::collection::vec((any::<prop::sample::Index>(), mischief()), 1..30)
    ) {
        let mut pair = Pair::new();
        pair.advance(moment);
        let before = pair.snapshot();
        let count = pair.ends[1].association_count();
        let stolen = pair.seen.clone();
        let answers = pair.under_way.clone();
        for (which, mischief) in &attacks {
            let (to, packet) = which.get(&stolen);
            let spoilt = spoil(packet, mischief);
            let intact = spoilt == *packet || matches!(mischief, Mischief::Replay);
            // A flip in the checksum's own field or none at all leaves a packet that may count.
            if !intact {
                pair.give(*to, &spoilt);
                prop_assert_eq!(pair.snapshot(), before.clone(), "{:?} {:?}", moment, mischief);
                prop_assert_eq!(pair.ends[1].association_count(), count);
            }
        }
        // The answers that the attacks provoked (out of the blue) are lost.
        pair.under_way = answers;
        pair.still_works();
    }

    #[test]
    fn replayed_packets_do_no_harm(
        moment in prop::sample::select(MOMENTS.to_vec()),
        replays in prop::collection::vec(any::<prop::sample::Index>(), 1..60)
    ) {
        let mut pair = Pair::new();
        pair.advance(moment);
        let established = pair.is_established();
        let stolen = pair.seen.clone();
        for which in &replays {
            let (to, packet) = which.get(&stolen);
            pair.give(*to, packet);
        }
// Once it is over, a cookie may set it up again as long as the cookie lives.
        if moment != Moment::Closed {
            prop_assert!(pair.ends.iter().all(|end| end.association_count() <= 1));
        }
        if established {
            prop_assert!(pair.is_established(), "{:?}", pair.events);
        }
        pair.still_works();
    }

    #[test]
    fn a_peer_gone_mad_neither_crashes_nor_fills_the_endpoint(
        moment in prop::sample::select(MOMENTS.to_vec()),
        packets in prop::collection::vec((0u8..16, any::<u8>(), prop::collection::vec(any::<u8>(), 0..80), 0u32..3), 1..60)
    ) {
        // The attacker knows tag and ports, and its TSNs are near the expected ones.
        let mut pair = Pair::new();
        pair.advance(moment);
        let (_, model) = pair.seen.iter().rev().find(|(to, _)| *to == 1).cloned().unwrap();
        let tsn = first_tsn(&pair);
        for (chunk_type, flags, mut value, kind) in packets {
            if kind > 0 && value.len() >= 4 {
                let near = tsn.wrapping_add(u32::from(value[3] % 32)).wrapping_sub(4);
                value[..4].copy_from_slice(&near.to_be_bytes());
            }
            let mut packet = model[..12].to_vec();
            packet.extend_from_slice(&[chunk_type, flags]);
            packet.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
            packet.extend_from_slice(&value);
            packet.resize(packet.len().next_multiple_of(4), 0);
            fix_checksum(&mut packet);
            pair.give(1, &packet);
            prop_assert!(pair.under_way[0].len() < 10_000);
            pair.under_way[0].clear();
        }
        pair.under_way = [Vec::new(), Vec::new()];
        pair.pass(Duration::from_secs(2_000));
    }
}

/// The first TSN of the client, near which a mad client stays.
fn first_tsn(pair: &Pair) -> u32 {
    let init = Packet::parse(Bytes::from(pair.seen[0].1.clone())).unwrap();
    match init.chunks().next() {
        Some(Ok(Chunk::Init(init))) => init.initial_tsn.0,
        _ => panic!("the first packet is no INIT"),
    }
}

#[test]
fn every_moment_is_the_one_that_its_name_says() {
    let name = |moment| {
        let mut pair = Pair::new();
        pair.advance(moment);
        let state = |side: usize| {
            pair.ids[side]
                .and_then(|id| pair.ends[side].association(id))
                .map(|own| own.state_name())
        };
        (state(0).unwrap_or("none"), state(1).unwrap_or("none"))
    };
    let established = "ESTABLISHED";
    assert_eq!(name(Moment::CookieWait), ("COOKIE-WAIT", "none"));
    assert_eq!(name(Moment::CookieEchoed), ("COOKIE-ECHOED", "none"));
    assert_eq!(name(Moment::Established), (established, established));
    assert_eq!(name(Moment::ShutdownPending), ("SHUTDOWN-PENDING", established));
    assert_eq!(name(Moment::ShutdownSent), ("SHUTDOWN-SENT", established));
    assert_eq!(name(Moment::Closed), ("CLOSED", "CLOSED"));
    assert_eq!(VerificationTag::default(), VerificationTag(0));
}
