//! Heartbeats (RFC 9260, section 8.3).

use core::ops::Range;

use base::{Duration, Instant};
use sctp::wire::chunk::CookieEcho;
use sctp::wire::{Chunk, ChunkType, Packet, Parameter};
use sctp::{AssociationOptions, EndpointOptions, Event, Failure, PathChange, PathState};

use crate::support::wire::{Bench, PEER_TAG};
use crate::support::{PORT, Pair, RTT, T0, half, options, plain};

const INTERVAL: Duration = Duration::from_secs(10);

fn with_heartbeats(blackout: Option<Range<Instant>>) -> Pair {
    let client = AssociationOptions { heartbeat_interval: Some(INTERVAL), ..options(plain()) };
    let mut links = netsim::topology::Directions::both(half(RTT));
    links.forward.blackouts.extend(blackout);
    Pair::with_server(links, client, options(plain()), 3)
}

fn heartbeats(pair: &Pair) -> Vec<f64> {
    pair.sim.checker().millis_of(pair.client, ChunkType::HEARTBEAT)
}

#[test]
fn an_idle_path_is_asked_every_interval_and_rto_with_half_an_rto_of_jitter() {
    let mut pair = with_heartbeats(None);
    pair.run_for(Duration::from_secs(200));
    let times = heartbeats(&pair);
    // The association is set up at 200 ms; each answer arms the next 100 ms after the heartbeat.
    let spans = std::iter::once(times[0] - 200.0)
        .chain(times.windows(2).map(|pair| pair[1] - pair[0] - 100.0));
    let spans: Vec<f64> = spans.collect();
    assert!(spans.len() > 15);
    // The interval of 10 s, and 0.5 to 1.5 RTO of 1 s.
    assert!(spans.iter().all(|span| (10_500.0..=11_500.0).contains(span)), "{spans:?}");
    let spread = spans.iter().copied().fold(f64::MIN, f64::max)
        - spans.iter().copied().fold(f64::MAX, f64::min);
    assert!(spread > 100.0, "no jitter: {spans:?}");
}

#[test]
fn a_heartbeat_measures_the_round_trip() {
    let mut pair = with_heartbeats(None);
    pair.run_for(Duration::from_secs(60));
    let path = pair.stats().paths[0].recovery;
    // Two samples in the handshake, then one each: a steady round trip takes a quarter of RTTVAR.
    let samples = heartbeats(&pair).len() as u32;
    let mut rttvar = 37_500_000u64;
    (0..samples).for_each(|_| rttvar = rttvar * 3 / 4);
    let measured = path.rttvar.unwrap().as_nanos();
    assert!(measured.abs_diff(rttvar) < 100, "{measured} {rttvar} after {samples}");
}

#[test]
fn a_busy_path_is_not_asked() {
    let mut pair = with_heartbeats(None);
    pair.at(0);
    pair.send_at(10, (0..30).map(|index| index * 5_000_000));
    assert!(heartbeats(&pair).is_empty());
}

#[test]
fn a_path_that_does_not_answer_fails_and_in_the_end_the_association() {
    let mut pair = with_heartbeats(Some(T0..Instant::FAR_FUTURE));
    pair.run_for(Duration::from_secs(2_000));
    let sent = heartbeats(&pair);
    assert_eq!(sent.len(), 11, "Association.Max.Retrans = 10: {sent:?}");
    let (at, _, event) = pair.client().events.back().unwrap();
    assert_eq!(*event, Event::Failed(Failure::Unreachable));
    // Each unanswered heartbeat doubles the timeout of the next, up to RTO.Max: the last one waits
    // 60 s.
    let last = Instant::from_nanos((sent[10] * 1e6).round() as u64);
    assert_eq!(at.since(last), Duration::from_secs(60));
}

#[test]
fn an_answered_heartbeat_clears_the_errors_of_its_path_and_of_the_association() {
    let mut pair = with_heartbeats(Some(T0..T0 + Duration::from_secs(250)));
    pair.run_for(Duration::from_secs(240));
    let stats = pair.stats();
    let errors = stats.error_count;
    assert!(errors > 5 && stats.paths[0].error_count == errors && !stats.paths[0].active);
    pair.run_for(Duration::from_secs(150));
    let stats = pair.stats();
    assert_eq!((stats.error_count, stats.paths[0].error_count), (0, 0));
    assert!(stats.paths[0].active);
}

#[test]
fn a_path_is_inactive_after_path_max_retrans_heartbeats() {
    let mut pair = with_heartbeats(Some(T0..Instant::FAR_FUTURE));
    while heartbeats(&pair).len() < 6 {
        assert!(pair.stats().paths[0].active);
        pair.run_for(Duration::from_secs(1));
    }
    let told = |pair: &Pair| {
        let inactive = PathChange::State(PathState::Inactive);
        let events = pair.client().events.iter();
        events
            .filter(|(.., event)| {
                matches!(event, Event::PathChanged { path: 0, change, .. } if *change == inactive)
            })
            .count()
    };
    assert_eq!(told(&pair), 0);
    pair.run_for(Duration::from_secs(33));
    assert!(!pair.stats().paths[0].active, "{:?}", pair.stats().paths[0]);
    assert_eq!(told(&pair), 1);
}

#[test]
fn by_default_an_idle_path_is_asked_after_30_s_and_an_rto() {
    let server = AssociationOptions { heartbeat_interval: None, ..options(plain()) };
    let client = AssociationOptions { policy: plain().into(), ..AssociationOptions::default() };
    let links = netsim::topology::Directions::both(half(RTT));
    let mut pair = Pair::with_server(links, client, server, 3);
    pair.run_for(Duration::from_secs(100));
    let times = heartbeats(&pair);
    let spans = [times[0] - 200.0, times[1] - times[0] - 100.0];
    assert!(spans.iter().all(|span| (30_500.0..=31_500.0).contains(span)), "{spans:?}");
}

#[test]
fn a_heartbeat_that_verifies_an_address_carries_64_bits_that_nobody_can_know() {
    // Heartbeat information of many endpoints that verify the peer's second address.
    let mut seen = Vec::new();
    for seed in 0..64 {
        let mut bench = Bench::listening();
        let random = base::RandomStream::new(seed, base::Purpose("nonce", 0));
        let options = EndpointOptions { port: PORT, listen: true, ..EndpointOptions::default() };
        bench.endpoint = sctp::Endpoint::new(options, random);
        let second = Parameter::Ipv4Address([10, 7, 7, 7].into());
        let cookie = bench.init_with(PEER_TAG, &[second]);
        let sent = bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
        let infos = sent.iter().filter_map(|packet| {
            let packet = Packet::parse(packet.clone().into()).unwrap();
            packet.chunks().find_map(|chunk| match chunk.unwrap() {
                Chunk::Heartbeat(asked) => Some(asked.info.to_vec()),
                _ => None,
            })
        });
        seen.extend(infos);
    }
    assert_eq!(seen.len(), 64);
    let bit = |info: &Vec<u8>, at: usize| info[at / 8] >> (at % 8) & 1;
    let random = (0..seen[0].len() * 8).filter(|at| {
        let ones = seen.iter().filter(|info| bit(info, *at) == 1).count();
        (10..=54).contains(&ones)
    });
    assert!(random.count() >= 64);
}
