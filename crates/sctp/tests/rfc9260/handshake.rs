//! Section 5: set-up, with losses at every step.

use std::collections::BTreeSet;

use base::{Duration, Instant};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use sctp::wire::chunk::CookieEcho;
use sctp::wire::{ChunkType, VerificationTag};
use sctp::{Event, Failure};

use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, data, init, names, packet};
use crate::support::{PORT, Pair, RTT, half, options, plain};

/// A pair with losses by number in each direction; the client sends a message at once.
fn with_losses(forward: &[u64], backward: &[u64]) -> Pair {
    let link = |lost: &[u64]| LinkConfig { loss: LossModel::List(lost.to_vec()), ..half(RTT) };
    let links = Directions { forward: link(forward), backward: link(backward) };
    let mut pair = Pair::new(links, options(plain()), 1);
    pair.send("hello").unwrap();
    pair.run_for(Duration::from_secs(30));
    assert_eq!(pair.server().messages.len(), 1);
    assert!(pair.client().has_event(&Event::Established));
    pair
}

fn client_sent(pair: &Pair, chunk_type: ChunkType) -> Vec<f64> {
    pair.sim.checker().millis_of(pair.client, chunk_type)
}

#[test]
fn nothing_lost_takes_three_one_way_trips_to_the_first_message() {
    let pair = with_losses(&[], &[]);
    assert_eq!(client_sent(&pair, ChunkType::INIT), [0.0]);
    assert_eq!(client_sent(&pair, ChunkType::COOKIE_ECHO), [100.0]);
    assert_eq!(pair.server().messages[0].0, Instant::from_millis(150));
}

#[test]
fn a_lost_init_is_repeated_after_rto_initial_and_then_twice_that() {
    let pair = with_losses(&[1, 2, 3], &[]);
    assert_eq!(client_sent(&pair, ChunkType::INIT), [0.0, 1_000.0, 3_000.0, 7_000.0]);
    assert_eq!(pair.stats().counters.setup_retransmissions, 3);
    // Karn: the INIT was repeated, so the first sample is that of the cookie.
    assert_eq!(pair.stats().paths[0].recovery.latest_rtt, Some(RTT));
}

#[test]
fn a_lost_init_ack_looks_like_a_lost_init() {
    let pair = with_losses(&[], &[1]);
    assert_eq!(client_sent(&pair, ChunkType::INIT), [0.0, 1_000.0]);
    assert_eq!(pair.server().endpoint.stats().inits, 2);
}

#[test]
fn a_lost_cookie_echo_is_repeated_with_its_data_after_the_rto() {
    // The RTO of 300 ms is below RTO.Min.
    let pair = with_losses(&[2], &[]);
    assert_eq!(client_sent(&pair, ChunkType::COOKIE_ECHO), [100.0, 1_100.0]);
    assert_eq!(pair.server().messages[0].0, Instant::from_millis(1_150));
}

#[test]
fn a_lost_cookie_ack_is_asked_for_again() {
    let pair = with_losses(&[], &[2]);
    assert_eq!(client_sent(&pair, ChunkType::COOKIE_ECHO), [100.0, 1_100.0]);
    assert_eq!(pair.server().messages[0].0, Instant::from_millis(150));
    assert_eq!(pair.server().events.iter().filter(|e| e.2 == Event::Established).count(), 1);
}

#[test]
fn an_endpoint_that_never_answers_is_given_up_after_nine_inits() {
    let mut link = half(RTT);
    link.blackouts.push(Instant::ZERO..Instant::FAR_FUTURE);
    let mut pair = Pair::new(Directions::both(link), options(plain()), 1);
    pair.run_for(Duration::from_secs(400));
    // 1, 2, 4, 8, 16, 32, 60, 60, 60 s.
    let inits = [0.0, 1e3, 3e3, 7e3, 15e3, 31e3, 63e3, 123e3, 183e3];
    assert_eq!(client_sent(&pair, ChunkType::INIT), inits);
    let failed = &pair.client().events[0];
    assert_eq!(
        (failed.0, &failed.2),
        (Instant::from_millis(243_000), &Event::Failed(Failure::NoAnswer))
    );
}

#[test]
fn a_cookie_echo_is_given_up_after_nine_attempts() {
    let mut links = Directions::both(half(RTT));
    links.forward.blackouts.push(Instant::from_millis(50)..Instant::FAR_FUTURE);
    let mut pair = Pair::new(links, options(plain()), 1);
    pair.run_for(Duration::from_secs(400));
    assert_eq!(client_sent(&pair, ChunkType::COOKIE_ECHO).len(), 9);
    let failed = &pair.client().events[0];
    assert_eq!(
        (failed.0, &failed.2),
        (Instant::from_millis(243_100), &Event::Failed(Failure::NoAnswer))
    );
}

#[test]
fn any_number_of_inits_leaves_no_state_and_each_has_a_random_tag_and_tsn_in_its_answer() {
    let mut bench = Bench::listening();
    let (mut tags, mut tsns) = (BTreeSet::new(), BTreeSet::new());
    for index in 0..10_000u32 {
        bench.remote.set_port(1024 + (index % 60_000) as u16);
        bench.init(sctp::wire::VerificationTag(index + 1));
        assert_ne!(bench.tag.0, 0);
        tags.insert(bench.tag.0);
        tsns.insert(bench.tsn.0);
    }
    // Of 10,000 numbers of 32 bits, about 9,999.99 are different, spread over all of the range.
    for numbers in [&tags, &tsns] {
        assert!(numbers.len() > 9_990, "{}", numbers.len());
        let quarters =
            [0, 1, 2, 3].map(|quarter| numbers.iter().filter(|n| **n >> 30 == quarter).count());
        assert!(quarters.iter().all(|count| (2_200..2_800).contains(count)), "{quarters:?}");
    }
    assert_eq!(bench.endpoint.association_count(), 0);
    assert_eq!(base::Machine::poll_timeout(&bench.endpoint), None);
    assert_eq!(bench.endpoint.stats().inits, 10_000);
}

/// Values of an INIT ACK's parameters of one type, read from the packet's bytes without the parser
/// of the crate.
fn values(init_ack: &[u8], parameter_type: u16) -> Vec<&[u8]> {
    let end = 12 + usize::from(u16::from_be_bytes([init_ack[14], init_ack[15]]));
    // 12 bytes of common header, 4 of chunk header, 16 of fixed fields.
    let (mut at, mut found) = (32, Vec::new());
    while at < end {
        let length = usize::from(u16::from_be_bytes([init_ack[at + 2], init_ack[at + 3]]));
        if u16::from_be_bytes([init_ack[at], init_ack[at + 1]]) == parameter_type {
            found.push(&init_ack[at + 4..at + length]);
        }
        at += length.next_multiple_of(4);
    }
    assert_eq!(at, init_ack.len(), "a parameter reaches past the end of the chunk");
    found
}

#[test]
fn an_init_ack_has_its_fixed_fields_first_and_then_parameters_with_one_cookie_and_no_host_name() {
    let mut bench = Bench::listening();
    let answers = bench.give(Default::default(), |p| p.append(init(PEER_TAG)).unwrap());
    assert_eq!((answers.len(), names(&answers[0])), (1, vec!["INIT ACK".to_owned()]));
    let init_ack = answers[0].as_slice();
    let cookie = bench.take_init_ack(init_ack);
    let word = |at: usize| u32::from_be_bytes(init_ack[at..at + 4].try_into().unwrap());
    let half = |at: usize| u16::from_be_bytes(init_ack[at..at + 2].try_into().unwrap());
    assert_eq!((init_ack[12], init_ack[13]), (2, 0), "type and flags");
    assert_eq!((word(16), word(28)), (bench.tag.0, bench.tsn.0), "initiate tag and initial TSN");
    assert!(word(20) >= 1_500, "a_rwnd of {}", word(20));
    // The INIT asks for 10 streams and takes 10.
    assert_eq!((half(24), half(26)), (10, 10), "outbound and inbound streams");
    assert_eq!(values(init_ack, 7), [cookie.as_slice()], "State Cookie");
    assert!(values(init_ack, 11).is_empty(), "Host Name Address");
    // Supported Extensions: each type once, and no padding among them.
    let [extensions] = values(init_ack, 0x8008)[..] else { panic!("not once") };
    assert!(!extensions.is_empty() && !extensions.contains(&0), "{extensions:?}");
    assert_eq!(BTreeSet::from_iter(extensions).len(), extensions.len(), "{extensions:?}");
    let answer = bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(names(&answer[0]), ["COOKIE ACK"]);
}

#[test]
fn answers_that_are_not_fetched_do_not_pile_up() {
    use base::{DatagramMeta, Ecn, Machine};
    let mut bench = Bench::listening();
    let meta =
        DatagramMeta { local: bench.remote, remote: bench.remote, ecn: Ecn::NotEct, origin: None };
    for _ in 0..60_000 {
        let bytes =
            packet(PEER_PORT, PORT, Default::default(), |p| p.append(init(PEER_TAG)).unwrap());
        bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
    }
    let sent = core::iter::from_fn(|| bench.endpoint.poll_transmit(bench.now, &mut Vec::new()));
    assert!(sent.map(|answer| answer.size).sum::<usize>() <= 8 << 20);
    assert!(bench.endpoint.stats().answers_dropped > 0);
}

#[test]
fn a_forged_or_changed_cookie_is_refused_in_silence() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    for index in 0..cookie.len() {
        let mut forged = cookie.clone();
        forged[index] ^= 1;
        let answer = bench.give(bench.tag, |p| {
            p.append(CookieEcho { cookie: &forged }).unwrap();
            p.append(data(0, 0, 0, b"goes with it")).unwrap();
        });
        assert!(answer.is_empty(), "byte {index}");
    }
    assert_eq!(bench.endpoint.association_count(), 0);
    assert_eq!(bench.endpoint.stats().cookies_refused, cookie.len() as u64);
}

#[test]
fn a_cookie_from_another_port_tag_or_address_is_refused() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let echo =
        |port, tag| packet(port, PORT, tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    let (tag, remote) = (bench.tag, bench.remote);
    assert!(bench.give_bytes(echo(PEER_PORT + 1, tag)).is_empty());
    assert!(bench.give_bytes(echo(PEER_PORT, PEER_TAG)).is_empty());
    bench.remote = "10.0.0.77:9899".parse().unwrap();
    assert!(bench.give_bytes(echo(PEER_PORT, tag)).is_empty());
    assert_eq!(bench.endpoint.association_count(), 0);
    bench.remote = remote;
    assert_eq!(names(&bench.give_bytes(echo(PEER_PORT, tag))[0]), ["COOKIE ACK"]);
}

#[test]
fn a_cookie_that_comes_after_its_life_is_answered_with_an_error() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    bench.now = Instant::from_millis(60_001);
    let answer = bench.give(bench.tag, |p| {
        p.append(CookieEcho { cookie: &cookie }).unwrap();
        p.append(data(0, 0, 0, b"goes with it")).unwrap();
    });
    assert_eq!((answer.len(), names(&answer[0])), (1, vec!["ERROR".to_owned()]));
    assert_eq!(bench.endpoint.association_count(), 0);
}

#[test]
fn a_cookie_whose_key_was_replaced_twice_is_dropped_in_silence() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let tag = bench.tag;
    // The answer to an INIT an hour later has another key, and those of the hour before still
    // count, for the report of their age.
    for (hours, answers) in [(1, vec!["ERROR"]), (2, vec![])] {
        bench.now = Instant::ZERO + Duration::from_secs(3_600 * hours);
        bench.init(VerificationTag(0x99));
        let answer = bench.give(tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
        let answer: Vec<String> = answer.iter().flat_map(|packet| names(packet)).collect();
        assert_eq!(answer, answers, "after {hours} hours");
    }
    assert_eq!(bench.endpoint.association_count(), 0);
}

#[test]
fn a_cookie_exactly_as_old_as_its_life_is_good() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    bench.now = Instant::from_millis(60_000);
    let answer = bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(names(&answer[0]), ["COOKIE ACK"]);
}

#[test]
fn data_with_the_cookie_is_delivered_with_the_association() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let answer = bench.give(bench.tag, |p| {
        p.append(CookieEcho { cookie: &cookie }).unwrap();
        p.append(data(0, 0, 0, b"early")).unwrap();
    });
    assert_eq!(names(&answer[0]), ["COOKIE ACK", "SACK"]);
    let id = bench.id();
    assert_eq!(
        bench
            .endpoint
            .association_mut(id)
            .and_then(|mut own| own.receive(bench.now))
            .unwrap()
            .payload
            .len(),
        5
    );
    let stats = bench.endpoint.association(id).unwrap().stats();
    assert_eq!(stats.counters.chunks_dropped, 0);
}

#[test]
fn an_init_with_a_tag_or_company_or_impossible_values_begins_nothing() {
    let mut bench = Bench::listening();
    assert!(bench.give(PEER_TAG, |p| p.append(init(PEER_TAG)).unwrap()).is_empty());
    let accompanied = bench.give(Default::default(), |p| {
        p.append(init(PEER_TAG)).unwrap();
        p.append(data(0, 0, 0, b"x")).unwrap();
    });
    assert!(accompanied.is_empty());
    let no_tag = bench.give(Default::default(), |p| p.append(init(Default::default())).unwrap());
    assert!(no_tag.is_empty());
    let mut poor = init(PEER_TAG);
    poor.outbound_streams = 0;
    let answer = bench.give(Default::default(), |p| p.append(poor).unwrap());
    assert_eq!(names(&answer[0]), ["ABORT"]);
    assert_eq!(bench.endpoint.association_count(), 0);
}
