//! ASCONF from a lying peer with the key (RFC 5061): whatever it claims about its addresses, no
//! other host gets more than a few heartbeats, and requests without a valid AUTH are ignored.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use base::{DatagramMeta, Duration, Ecn, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{AddressRequest, Asconf, GapAckBlock, OutgoingSack};
use sctp::wire::signing::HmacId;
use sctp::wire::{AsconfSerial, ChunkType, PacketBuilder, Parameter, Tsn};
use sctp::{AddressChange, AssociationOptions, Event, Extensions, KeyId, ReconfigurationEvent};

use crate::foe::{Foe, a_stranger_is_served, bytes, hour, memory, sent_data};
use crate::support::authentic::{bench, signed};
use crate::support::wire::{Any, PEER_TSN, data, fix_checksum, names};
use crate::support::{CLIENT, SERVER, address};

const AUTH: u8 = 0x0f;
const ASCONF: u8 = 0xc1;

/// Bytes of IP and UDP in front of a packet.
const HEADERS: usize = 28;

/// A peer that has the key.
struct Keyholder {
    foe: Foe,
    key: Vec<u8>,
}

/// Packets and bytes that went to each address.
type Traffic = BTreeMap<IpAddr, Vec<Vec<u8>>>;

fn add(address: &str) -> AddressRequest<'static> {
    AddressRequest::Add { correlation: 1, address: ip(address) }
}

fn delete(address: &str) -> AddressRequest<'static> {
    AddressRequest::Delete { correlation: 2, address: ip(address) }
}

fn primary(address: &str) -> AddressRequest<'static> {
    AddressRequest::SetPrimary { correlation: 3, address: ip(address) }
}

fn ip(address: &str) -> IpAddr {
    address.parse().unwrap()
}

/// Serial numbers of the ASCONF-ACKs of a packet.
fn answered(packet: &[u8]) -> Vec<u32> {
    let packet = sctp::wire::Packet::parse(packet.to_vec().into()).unwrap();
    let chunks = packet.chunks().filter_map(|chunk| match chunk.unwrap() {
        sctp::wire::Chunk::AsconfAck(ack) => Some(ack.serial.0),
        _ => None,
    });
    chunks.collect()
}

impl Keyholder {
    fn new() -> Keyholder {
        let accepted = AssociationOptions {
            extensions: Extensions::ADDRESS_RECONFIGURATION,
            ..AssociationOptions::default()
        };
        let chunks = &[ChunkType::ASCONF.0, ChunkType::ASCONF_ACK.0];
        let (mut bench, key) = bench(accepted, &[Parameter::SupportedExtensions(chunks)]);
        bench.events.truncate(1);
        Keyholder { foe: Foe::with(bench), key }
    }

    fn sign(&self, fill: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
        signed(self.foe.bench.tag, &self.key, KeyId(0), HmacId::SHA_256, fill)
    }

    fn asconf(&self, serial: u32, requests: &[AddressRequest<'static>]) -> Vec<u8> {
        self.sign(|packet| packet.append(asconf(serial, requests)).unwrap())
    }

    fn ask(&mut self, serial: u32, requests: &[AddressRequest<'static>]) -> Vec<Vec<u8>> {
        let packet = self.asconf(serial, requests);
        self.foe.bench.give_bytes(packet)
    }

    /// Delivers a packet from an address, and adds the endpoint's packets to the traffic.
    fn give_from(&mut self, from: &str, packet: Vec<u8>, traffic: &mut Traffic) {
        let remote = SocketAddr::new(ip(from), address(CLIENT).port());
        let meta = DatagramMeta { local: address(SERVER), remote, ecn: Ecn::NotEct, origin: None };
        self.foe.bench.endpoint.handle_datagram(self.foe.bench.now, meta, packet.into());
        self.collect(traffic);
    }

    fn collect(&mut self, traffic: &mut Traffic) {
        let bench = &mut self.foe.bench;
        let mut buffer = Vec::new();
        while let Some(transmit) = bench.endpoint.poll_transmit(bench.now, &mut buffer) {
            let packet = std::mem::take(&mut buffer);
            traffic.entry(transmit.remote.ip()).or_default().push(packet);
        }
        bench.events.extend(std::iter::from_fn(|| bench.endpoint.poll_event()));
    }

    /// Runs the endpoint's timers for `span`, and collects what it sends.
    fn pass(&mut self, span: Duration, traffic: &mut Traffic) {
        let until = self.foe.bench.now + span;
        while let Some(at) = self.foe.bench.endpoint.poll_timeout().filter(|at| *at <= until) {
            self.foe.bench.now = at;
            self.foe.bench.endpoint.handle_timeout(at);
            self.collect(traffic);
        }
        self.foe.bench.now = until;
    }

    fn changes(&self) -> usize {
        let events = self.foe.bench.events.iter();
        events
            .filter(|(_, event)| {
                matches!(event, Event::Reconfiguration(ReconfigurationEvent::PeerAddress { .. }))
            })
            .count()
    }

    fn addresses(&self) -> Vec<IpAddr> {
        let stats = self.foe.stats();
        let paths = stats.paths.iter().filter(|path| !path.removed);
        paths.map(|path| path.remote.ip()).collect()
    }

    /// The application sends, and the peer acknowledges all of it at once.
    fn endpoint_sends(&mut self, size: usize, traffic: &mut Traffic) {
        let (id, now) = (self.foe.bench.id(), self.foe.bench.now);
        let (stream, options) = (sctp::StreamId(0), sctp::SendOptions::default());
        let payload = Bytes::from(vec![9; size]);
        self.foe
            .bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .send(now, stream, sctp::Ppid(0), payload, options)
            .unwrap();
        self.collect(traffic);
    }
}

fn asconf(
    serial: u32,
    requests: &[AddressRequest<'static>],
) -> Asconf<Vec<AddressRequest<'static>>> {
    let serial = AsconfSerial(PEER_TSN.0.wrapping_add(serial));
    Asconf { serial, address: address(CLIENT).ip(), requests: requests.to_vec() }
}

/// Packets to a third party: heartbeats and answers to ASCONF only, as small as those.
#[track_caller]
fn only_asked(traffic: &Traffic, victim: &str, most: usize) {
    let packets = traffic.get(&ip(victim)).map_or(&[][..], Vec::as_slice);
    for packet in packets {
        let lawful = |name: &String| matches!(name.as_str(), "HEARTBEAT" | "ASCONF-ACK" | "AUTH");
        assert!(names(packet).iter().all(lawful), "{:?} to {victim}", names(packet));
        assert!(packet.len() <= 200, "{} bytes to {victim}", packet.len());
    }
    assert!(packets.len() <= most, "{} packets to {victim}", packets.len());
}

#[test]
fn a_third_party_that_is_made_primary_gets_no_data_however_much_is_acknowledged_for_it() {
    let mut holder = Keyholder::new();
    let mut traffic = Traffic::new();
    let home = address(CLIENT).ip().to_string();
    let packet = holder.asconf(0, &[add("203.0.113.9"), primary("203.0.113.9")]);
    holder.give_from(&home, packet, &mut traffic);
    // It repeats that as if from there, and that its own address is gone.
    let packet = holder.asconf(1, &[primary("203.0.113.9"), delete(&home)]);
    holder.give_from("203.0.113.9", packet, &mut traffic);
    let mut sent = 0;
    for round in 0..200 {
        holder.endpoint_sends(10_000, &mut traffic);
        // Each TSN once: what waited for a window may have been sent again meanwhile.
        let received: BTreeMap<u32, usize> =
            sent_data(&traffic[&ip(&home)]).iter().map(|data| (data.tsn.0, data.length)).collect();
        let count = received.len() as u32;
        sent = received.values().sum();
        let last = Tsn(holder.foe.bench.tsn.0.wrapping_add(count).wrapping_sub(1));
        let no_gaps = std::iter::empty::<GapAckBlock>();
        let sack = OutgoingSack {
            cumulative_tsn_ack: last,
            a_rwnd: 1 << 20,
            gap_ack_blocks: no_gaps,
            duplicate_tsns: [],
        };
        let packet = holder.sign(|packet| packet.append(sack).unwrap());
        let from = if round % 2 == 0 { "203.0.113.9" } else { home.as_str() };
        holder.give_from(from, packet, &mut traffic);
        holder.pass(Duration::from_millis(100), &mut traffic);
    }
    assert!(sent > 1_000_000, "{sent} bytes went where they belong");
    only_asked(&traffic, "203.0.113.9", 12);
}

#[test]
fn data_as_if_from_a_third_party_is_not_acknowledged_there() {
    let mut holder = Keyholder::new();
    let mut traffic = Traffic::new();
    let packet = holder.asconf(0, &[add("203.0.113.9")]);
    holder.give_from(&address(CLIENT).ip().to_string(), packet, &mut traffic);
    for offset in 0..2_000 {
        let payload = [3; 8];
        let chunk = data(offset, 0, offset as u16, &payload);
        let packet = holder.sign(|packet| packet.append(chunk).unwrap());
        holder.give_from("203.0.113.9", packet, &mut traffic);
        let (id, now) = (holder.foe.bench.id(), holder.foe.bench.now);
        while holder
            .foe
            .bench
            .endpoint
            .association_mut(id)
            .and_then(|mut own| own.receive(now))
            .is_some()
        {}
    }
    holder.pass(Duration::from_secs(60), &mut traffic);
    only_asked(&traffic, "203.0.113.9", 12);
}

#[test]
fn asconfs_with_growing_numbers_are_answered_one_for_one_and_keep_nothing() {
    let mut holder = Keyholder::new();
    let lies = ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5"];
    let round = |holder: &mut Keyholder, serial: u32| {
        let lie = lies[serial as usize / 3 % lies.len()];
        let request = [add(lie), primary(lie), delete(lie)][serial as usize % 3];
        let packet = holder.asconf(serial, &[request]);
        let brought = packet.len() + HEADERS;
        let answers = holder.foe.bench.give_bytes(packet);
        assert!(answers.len() <= 2, "{} packets", answers.len());
        let got = bytes(&answers) + HEADERS * answers.len();
        assert!(got <= 3 * brought, "{got} bytes for {brought}");
        holder.foe.bench.events.truncate(1);
    };
    (0..30).for_each(|serial| round(&mut holder, serial));
    let used = memory(|| (30..6_000).for_each(|serial| round(&mut holder, serial)));
    assert!(used.bytes_current < 8_192, "{} bytes stay", used.bytes_current);
    assert!(holder.foe.stats().paths.len() <= 8);
    assert_eq!(holder.foe.bench.state(), "ESTABLISHED");
    assert!(hour(&mut holder.foe.bench).len() < 500);
    a_stranger_is_served(&mut holder.foe.bench);
}

#[test]
fn many_victims_in_turn_get_a_heartbeat_for_each_time_that_they_are_named() {
    let mut holder = Keyholder::new();
    let mut traffic = Traffic::new();
    let home = address(CLIENT).ip().to_string();
    let mut brought = 0;
    for round in 0..250u32 {
        let victims: Vec<String> = (1..=7).map(|n| format!("203.0.{}.{n}", round % 256)).collect();
        let added: Vec<_> = victims.iter().map(|victim| add(victim)).collect();
        for (serial, requests) in [(2 * round, added), (2 * round + 1, vec![delete("0.0.0.0")])] {
            let packet = holder.asconf(serial, &requests);
            brought += packet.len() + HEADERS;
            holder.give_from(&home, packet, &mut traffic);
            holder.pass(Duration::from_millis(50), &mut traffic);
        }
        holder.foe.bench.events.truncate(1);
    }
    let got: usize = traffic
        .iter()
        .filter(|(to, _)| **to != ip(&home))
        .flat_map(|(_, packets)| packets.iter().map(|packet| packet.len() + HEADERS))
        .sum();
    assert!(got <= brought, "{got} bytes to third parties for {brought}");
    for round in 0..250 {
        (1..=7).for_each(|n| only_asked(&traffic, &format!("203.0.{round}.{n}"), 2));
    }
    assert_eq!(holder.addresses(), [ip(&home)]);
}

#[test]
fn addresses_that_cannot_be_a_peers_are_never_taken() {
    let mut holder = Keyholder::new();
    let home = address(CLIENT).ip();
    let lies = [
        "0.0.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.0.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "ff02::1",
        "::ffff:10.0.0.9",
        "2001:db8::1",
    ];
    let mut serial = 0;
    for lie in lies {
        for request in [add(lie), primary(lie), delete(lie)] {
            let answers = holder.ask(serial, &[request]);
            assert_eq!(answers.len(), 1);
            assert_eq!(names(&answers[0]), ["AUTH", "ASCONF-ACK"]);
            serial += 1;
            assert_eq!(holder.addresses(), [home], "{request:?}");
        }
    }
    assert_eq!(holder.changes(), 0);
    // Of the source twice, by itself and as the unspecified address, although it is an address of
    // the peer already.
    holder.ask(serial, &[add("0.0.0.0"), add(&home.to_string()), primary("0.0.0.0")]);
    assert_eq!(holder.addresses(), [home]);
    holder.foe.association_works(0, 0);
}

#[test]
fn the_last_address_stays_however_and_from_where_its_deletion_is_requested() {
    let home = address(CLIENT).ip();
    let everything = [delete("10.0.0.1"), delete("0.0.0.0"), delete("10.0.0.1")];
    // From home; from an address just added, in the same ASCONF and in the next.
    let mut holder = Keyholder::new();
    holder.ask(0, &everything);
    let mut traffic = Traffic::new();
    let mut requests = vec![add("203.0.113.9"), primary("203.0.113.9")];
    requests.extend(everything);
    let packet = holder.asconf(1, &requests);
    holder.give_from("203.0.113.9", packet, &mut traffic);
    for serial in 2..50 {
        let packet = holder.asconf(serial, &everything);
        holder.give_from("203.0.113.9", packet, &mut traffic);
    }
    assert!(holder.addresses().contains(&home));
    holder.pass(Duration::from_secs(20), &mut traffic);
    assert_eq!(holder.foe.bench.state(), "ESTABLISHED");
    holder.foe.association_works(0, 0);
}

#[test]
fn a_replayed_asconf_is_not_done_again_and_an_old_one_not_answered() {
    let mut holder = Keyholder::new();
    let first = holder.asconf(0, &[add("203.0.113.9"), delete("192.0.2.1")]);
    let answer = holder.foe.bench.give_bytes(first.clone());
    let used = memory(|| {
        for _ in 0..2_000 {
            let again = holder.foe.bench.give_bytes(first.clone());
            assert_eq!(again.len(), 1);
            assert!(again[0].len() <= answer[0].len(), "no heartbeat again");
        }
    });
    assert!(used.bytes_current < 4_096, "{} bytes stay", used.bytes_current);
    assert_eq!(holder.changes(), 1);
    let second = holder.asconf(1, &[delete("203.0.113.9")]);
    holder.foe.bench.give_bytes(second);
    assert_eq!(holder.changes(), 2);
    for _ in 0..2_000 {
        assert!(holder.foe.bench.give_bytes(first.clone()).is_empty());
    }
    assert_eq!(holder.addresses(), [address(CLIENT).ip()]);
    assert_eq!(holder.changes(), 2);
    // A request from another address is not answered there either.
    let mut traffic = Traffic::new();
    holder.give_from("203.0.113.77", first, &mut traffic);
    assert!(traffic.is_empty());
}

#[test]
fn an_auth_that_is_cut_off_of_another_kind_or_not_in_front_proves_nothing() {
    let mut holder = Keyholder::new();
    let tag = holder.foe.bench.tag;
    let request = [add("203.0.113.9")];
    let right = holder.asconf(0, &request);
    let auth_length = usize::from(u16::from_be_bytes([right[14], right[15]]));
    let (auth, rest) = right[12..].split_at(auth_length);
    let (auth, rest) = (auth.to_vec(), rest.to_vec());
    assert_eq!((auth[0], rest[0]), (AUTH, ASCONF));
    let assemble = |chunks: &[&[u8]]| {
        let mut packet = right[..12].to_vec();
        chunks.iter().for_each(|chunk| packet.extend_from_slice(chunk));
        fix_checksum(&mut packet);
        packet
    };
    let mut attempts = vec![
        // After the ASCONF, twice, and before a chunk that it does not cover.
        assemble(&[&rest, &auth]),
        assemble(&[&auth, &auth, &rest]),
        assemble(&[&auth, &[4, 0, 0, 4], &rest]),
    ];
    // Truncated at every length, with a matching and with a false length field.
    for length in (4..auth.len()).step_by(4) {
        let mut cut = auth[..length].to_vec();
        attempts.push(assemble(&[&cut, &rest]));
        cut[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        attempts.push(assemble(&[&cut, &rest]));
    }
    // Another HMAC identifier, another key, all HMAC numbers.
    for (key, hmac_id) in (0..20u16).flat_map(|id| [(0, id), (1, id), (id, 3)]) {
        if (key, hmac_id) == (0, 3) {
            continue;
        }
        let mut other = auth.clone();
        other[4..6].copy_from_slice(&key.to_be_bytes());
        other[6..8].copy_from_slice(&hmac_id.to_be_bytes());
        attempts.push(assemble(&[&other, &rest]));
    }
    // The request changed behind it.
    for byte in 0..rest.len() {
        let mut other = rest.clone();
        other[byte] ^= 1;
        attempts.push(assemble(&[&auth, &other]));
    }
    for (number, packet) in attempts.into_iter().enumerate() {
        for from in [CLIENT, "203.0.113.9:9899"] {
            let usual = std::mem::replace(&mut holder.foe.bench.remote, address(from));
            let answers = holder.foe.bench.give_bytes(packet.clone());
            holder.foe.bench.remote = usual;
            assert!(bytes(&answers) <= 64, "{number}: {} bytes", bytes(&answers));
            let acks = answers.iter().filter(|answer| names(answer).contains(&"ASCONF-ACK".into()));
            assert_eq!(acks.count(), 0, "{number} from {from}");
        }
    }
    assert_eq!((holder.changes(), holder.foe.bench.state()), (0, "ESTABLISHED"));
    // Made with another key it is invalid.
    let stolen = signed(tag, &[0; 64], KeyId(0), HmacId::SHA_256, |packet| {
        packet.append(asconf(0, &request)).unwrap();
    });
    assert!(holder.foe.bench.give_bytes(stolen).is_empty());
    // The valid one is accepted once.
    holder.foe.bench.give_bytes(right);
    let change = AddressChange::Added;
    let event = Event::Reconfiguration(ReconfigurationEvent::PeerAddress {
        change,
        address: ip("203.0.113.9"),
    });
    assert_eq!(holder.foe.bench.events.iter().filter(|(_, seen)| *seen == event).count(), 1);
}

#[test]
fn a_packet_full_of_right_asconfs_gets_bounded_answers() {
    let mut holder = Keyholder::new();
    let used = memory(|| {
        let packet = holder.sign(|packet| {
            for serial in 0..150 {
                packet.append(asconf(serial, &[add("203.0.113.9")])).unwrap();
            }
            for _ in 0..150 {
                packet.append(Any(ASCONF, 0, &[])).unwrap();
            }
        });
        let answers = holder.foe.bench.give_bytes(packet);
        assert!(answers.len() <= 32, "{} packets", answers.len());
        assert!(bytes(&answers) <= 8_000, "{} bytes", bytes(&answers));
        // Answers are in the order of their requests, from the first on.
        let serials: Vec<u32> = answers.iter().flat_map(|packet| answered(packet)).collect();
        let first = PEER_TSN.0;
        assert!(!serials.is_empty());
        assert!(serials.iter().copied().eq((first..).take(serials.len())), "{serials:?}");
    });
    assert!(used.bytes_current < 16 << 10, "{} bytes stay", used.bytes_current);
    assert!(matches!(holder.foe.bench.state(), "ESTABLISHED" | "CLOSED"));
    a_stranger_is_served(&mut holder.foe.bench);
}
