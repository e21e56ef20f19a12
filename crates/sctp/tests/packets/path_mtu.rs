//! Path MTU discovery (RFC 8899, section 6.2) over links that silently drop large packets.

use base::{Duration, Instant};
use netsim::topology::{Directions, Placed, pair};
use netsim::{HostId, LinkConfig, LinkId, Simulation};
use sctp::wire::chunk::{CookieEcho, Heartbeat, HeartbeatAck};
use sctp::wire::{Chunk, ChunkType, Packet, Parameter};
use sctp::{
    AssociationId, AssociationOptions, EndpointOptions, PathMtuState, Ppid, SendOptions, StreamId,
};

use crate::support::wire::{Any, Bench, PEER_TAG, names};
use crate::support::{
    CLIENT, PORT, Peer, RTT, SERVER, SentChunk, Trace, address, half, options, plain,
};

/// Bytes of an IP packet of an SCTP packet over UDP and IPv4.
const HEADERS: usize = 28;

fn discovering() -> AssociationOptions {
    AssociationOptions { path_mtu_discovery: true, ..options(plain()) }
}

/// Client and server; the link from the client on has an MTU.
struct Path {
    sim: Simulation<Peer, Trace>,
    client: HostId,
    server: HostId,
    forward: LinkId,
    association: AssociationId,
}

impl Path {
    fn new(mtu: u64, client_options: AssociationOptions) -> Path {
        Path::over(LinkConfig { mtu: Some(mtu), ..half(RTT) }, client_options)
    }

    fn over(forward: LinkConfig, client_options: AssociationOptions) -> Path {
        let endpoint = |listen| EndpointOptions {
            port: PORT,
            listen,
            accepted: options(plain()),
            ..EndpointOptions::default()
        };
        let mut sim = Simulation::with_checker(1, Trace::default());
        let client = Placed::at(Peer::new(endpoint(false), 1, 1), address(CLIENT));
        let server = Placed::at(Peer::new(endpoint(true), 1, 2), address(SERVER));
        let links = Directions { forward, backward: half(RTT) };
        let placed = pair(&mut sim, client, server, &[links]).unwrap();
        let association = sim.with_host(placed.first, |peer, now| {
            peer.endpoint.connect(now, address(SERVER), PORT, client_options).unwrap()
        });
        let (client, server) = (placed.first, placed.second);
        Path { sim, client, server, forward: placed.paths[0].forward, association }
    }

    fn run_for(&mut self, span: Duration) {
        let until = self.sim.now() + span;
        self.sim.run_until(until).unwrap();
    }

    fn send(&mut self, size: usize) {
        let id = self.association;
        self.sim.with_host(self.client, |peer, now| {
            let (stream, payload) = (StreamId(0), vec![7; size].into());
            let options = SendOptions::default();
            peer.endpoint
                .association_mut(id)
                .unwrap()
                .send(now, stream, Ppid(0), payload, options)
                .unwrap();
        });
    }

    /// The client's path MTU, and the state of its search.
    fn found(&self) -> (usize, Option<PathMtuState>) {
        let own = self.sim.host(self.client).endpoint.association(self.association).unwrap();
        let path = &own.stats().paths[0];
        (path.max_packet + HEADERS, path.path_mtu_state)
    }

    /// Number of packets with padding that were sent.
    fn probes(&self) -> usize {
        let pads = |chunk: &SentChunk| *chunk == SentChunk::Other(ChunkType::PAD);
        let sent = &self.sim.checker().sent;
        sent.iter().filter(|sent| sent.chunks.iter().any(pads)).count()
    }

    fn received(&self) -> usize {
        self.sim.host(self.server).messages.len()
    }
}

#[test]
fn without_the_option_no_probe_is_sent_and_packets_may_be_fragmented() {
    let mut path = Path::new(1400, options(plain()));
    path.run_for(Duration::from_secs(10));
    path.send(3000);
    path.run_for(Duration::from_secs(10));
    assert_eq!((path.probes(), path.found()), (0, (1500, None)));
    assert_eq!(path.received(), 1, "IP fragments what does not fit");
}

#[test]
fn a_path_of_the_usual_mtu_is_known_two_round_trips_after_the_handshake() {
    let mut path = Path::new(1500, discovering());
    let window = |path: &Path| {
        let own = path.sim.host(path.client).endpoint.association(path.association).unwrap();
        own.stats().paths[0].recovery.cwnd
    };
    path.run_for(RTT * 2 + Duration::from_millis(1));
    assert_eq!(path.found(), (1200, Some(PathMtuState::Base)));
    let before = window(&path);
    path.run_for(RTT);
    assert_eq!(path.found(), (1200, Some(PathMtuState::Searching)));
    path.run_for(RTT);
    assert_eq!(path.found(), (1500, Some(PathMtuState::SearchComplete)));
    assert_eq!(window(&path), before);
    path.run_for(Duration::from_secs(2000));
    assert_eq!(path.probes(), 2, "and there is nothing more to probe");
}

#[test]
fn any_mtu_is_found_exactly_and_probes_are_few() {
    // An SCTP packet is a multiple of four, so that an MTU is found to three bytes.
    for mtu in [1280, 1300, 1372, 1403, 1420, 1492, 1496] {
        let mut path = Path::new(mtu, discovering());
        path.run_for(Duration::from_secs(40));
        let found = (mtu as usize - HEADERS) / 4 * 4 + HEADERS;
        assert_eq!(path.found(), (found, Some(PathMtuState::SearchComplete)), "{mtu}");
        assert!(path.probes() <= 24, "{} probes for {mtu}", path.probes());
        let probes = path.sim.checker().sent.iter().filter(|sent| sent.has(ChunkType::PAD));
        let times: Vec<Instant> = probes.map(|sent| sent.at).collect();
        assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) >= RTT), "{mtu}: {times:?}");
        // Data sent then arrives without a retransmission.
        path.send(20_000);
        path.run_for(Duration::from_secs(5));
        assert_eq!(path.received(), 1);
        let lost = path.sim.checker().sent.iter().filter(|sent| sent.lost);
        assert!(lost.clone().all(|sent| sent.has(ChunkType::PAD)), "{mtu}");
    }
}

#[test]
fn a_lost_probe_is_no_congestion_and_no_error_of_the_path() {
    let mut path = Path::new(1300, discovering());
    path.run_for(Duration::from_secs(40));
    let own = path.sim.host(path.client).endpoint.association(path.association).unwrap();
    let stats = own.stats();
    assert_eq!((stats.error_count, stats.paths[0].error_count), (0, 0));
    let fresh = Path::new(1300, options(plain()));
    let own = fresh.sim.host(fresh.client).endpoint.association(fresh.association).unwrap();
    assert!(stats.paths[0].recovery.ssthresh >= own.stats().paths[0].recovery.ssthresh);
    assert_eq!(stats.recovery.timeouts, 0);
}

#[test]
fn data_flows_in_packets_of_the_base_size_while_the_search_goes_on() {
    let mut path = Path::new(1300, discovering());
    path.run_for(RTT * 3);
    path.send(10_000);
    path.run_for(RTT * 2);
    assert_eq!(path.received(), 1);
}

#[test]
fn a_path_whose_mtu_shrinks_in_mid_life_is_a_black_hole_for_two_timeouts() {
    let mut path = Path::new(1500, discovering());
    path.run_for(Duration::from_secs(5));
    assert_eq!(path.found().0, 1500);
    path.sim.set_link_mtu(path.forward, Some(1300));
    path.send(5_000);
    // The second timeout comes an RTO and a doubled one after the packets left.
    path.run_for(Duration::from_millis(2900));
    assert_eq!(path.found().0, 1500);
    path.run_for(Duration::from_millis(150));
    assert_eq!(path.found(), (1200, Some(PathMtuState::Base)));
    path.run_for(Duration::from_secs(60));
    assert_eq!(path.found(), (1300, Some(PathMtuState::SearchComplete)));
    assert_eq!(path.received(), 1, "what was cut for 1500 bytes arrives in fragments");
    path.send(50_000);
    path.run_for(Duration::from_secs(5));
    assert_eq!(path.received(), 2);
}

#[test]
fn the_policy_says_how_many_timeouts_make_a_black_hole() {
    for timeouts in [1, 2, 4] {
        let mut policy = plain();
        policy.path_mtu.black_hole_timeouts = timeouts;
        let own = AssociationOptions { path_mtu_discovery: true, ..options(policy) };
        let mut path = Path::new(1500, own);
        path.run_for(Duration::from_secs(5));
        path.sim.set_link_mtu(path.forward, Some(1300));
        path.send(5_000);
        // Timeouts of 1, 2, 4 and 8 s: the last one that counts comes after 2^n - 1 of them.
        let until = Duration::from_secs((1 << timeouts) - 1);
        path.run_for(until.saturating_sub(Duration::from_millis(100)));
        assert_eq!(path.found().0, 1500, "{timeouts}");
        path.run_for(Duration::from_millis(250));
        assert_eq!(path.found().0, 1200, "{timeouts}");
    }
}

#[test]
fn a_path_whose_mtu_grows_is_used_after_ten_minutes() {
    let mut path = Path::new(1300, discovering());
    path.run_for(Duration::from_secs(60));
    assert_eq!(path.found().0, 1300);
    path.sim.set_link_mtu(path.forward, None);
    path.run_for(Duration::from_secs(500));
    assert_eq!(path.found().0, 1300);
    path.run_for(Duration::from_secs(100));
    assert_eq!(path.found(), (1500, Some(PathMtuState::SearchComplete)));
}

#[test]
fn a_path_below_the_base_is_searched_from_the_least() {
    let mut path = Path::new(1000, discovering());
    path.run_for(Duration::from_secs(60));
    assert_eq!(path.found(), (1000, Some(PathMtuState::SearchComplete)));
    path.send(10_000);
    path.run_for(Duration::from_secs(5));
    assert_eq!(path.received(), 1);
}

#[test]
fn thin_small_messages_that_time_out_are_no_black_hole() {
    let lossy = LinkConfig {
        blackouts: vec![Instant::from_millis(5_000)..Instant::from_millis(12_000)],
        ..half(RTT)
    };
    let mut path = Path::over(lossy, discovering());
    path.run_for(Duration::from_millis(5_100));
    path.send(100);
    path.run_for(Duration::from_secs(6));
    assert_eq!(path.found().0, 1500, "100 bytes do not fill a packet above the base");
    path.run_for(Duration::from_secs(30));
    assert_eq!(path.received(), 1);
}

#[test]
fn an_outage_in_which_small_packets_are_missing_too_is_no_black_hole() {
    let outage = Instant::from_millis(5_000)..Instant::from_millis(6_000);
    let lossy = LinkConfig { blackouts: vec![outage], ..half(RTT) };
    let policy = recovery::RecoveryPolicy::sctp_latency();
    let own = AssociationOptions { path_mtu_discovery: true, ..options(policy) };
    let mut path = Path::over(lossy, own);
    path.run_for(Duration::from_millis(4_000));
    assert_eq!(path.found(), (1500, Some(PathMtuState::SearchComplete)));
    for _ in 0..80 {
        path.send(100);
        path.run_for(Duration::from_millis(50));
        assert_eq!(path.found(), (1500, Some(PathMtuState::SearchComplete)));
    }
    path.run_for(Duration::from_secs(10));
    assert_eq!(path.received(), 80);
}

/// An association with a peer that the test plays and that takes PAD, and the information in its
/// first probe.
fn probed() -> (Bench, Vec<u8>) {
    let endpoint =
        EndpointOptions { listen: true, accepted: discovering(), ..EndpointOptions::default() };
    let mut bench = Bench::new(endpoint);
    let pad = [Parameter::SupportedExtensions(&[ChunkType::PAD.0])];
    let cookie = bench.init_with(PEER_TAG, &pad);
    let mut sent = bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    sent.extend(bench.pass(Duration::ZERO));
    let probe = sent.iter().find(|packet| packet.len() == 1200 - HEADERS).expect("the base size");
    let probe = Packet::parse(probe.clone().into()).unwrap();
    let Some(Ok(Chunk::Heartbeat(Heartbeat { info }))) = probe.chunks().next() else { panic!() };
    (bench, info.to_vec())
}

/// Packets that follow the answer to a probe.
fn answered(bench: &mut Bench, info: &[u8]) -> Vec<Vec<u8>> {
    let mut next = bench.give_right(|p| p.append(HeartbeatAck { info }).unwrap());
    next.extend(bench.pass(Duration::ZERO));
    next
}

#[test]
fn an_answer_with_another_nonce_answers_no_probe() {
    let (mut bench, mut info) = probed();
    *info.last_mut().unwrap() ^= 1;
    assert_eq!(answered(&mut bench, &info).len(), 0);
    *info.last_mut().unwrap() ^= 1;
    assert_eq!(answered(&mut bench, &info)[0].len(), 1500 - HEADERS);
}

#[test]
fn a_probe_leaves_while_the_peers_window_is_closed() {
    let (mut bench, info) = probed();
    // SACK of nothing, with a window of 0.
    let mut sack = bench.tsn.0.wrapping_sub(1).to_be_bytes().to_vec();
    sack.extend([0; 8]);
    bench.give_right(|p| p.append(Any(3, 0, &sack)).unwrap());
    let next = answered(&mut bench, &info);
    assert_eq!((next[0].len(), names(&next[0])[0].as_str()), (1500 - HEADERS, "HEARTBEAT"));
}
