//! Forged, stolen, expired and repeated cookies (RFC 9260, sections 5.1.5 and 5.2.4).

use base::{Duration, Purpose, RandomStream};
use sctp::wire::VerificationTag;
use sctp::wire::chunk::CookieEcho;
use sctp::{Endpoint, EndpointOptions, Event};

use crate::foe::{Foe, a_stranger_is_served, bytes, memory, opened};
use crate::support::PORT;
use crate::support::wire::{Bench, PEER_TAG, data, names};

fn echo(bench: &mut Bench, cookie: &[u8]) -> Vec<Vec<u8>> {
    bench.give_right(|packet| packet.append(CookieEcho { cookie }).unwrap())
}

#[test]
fn a_cookie_with_any_bit_changed_or_any_length_is_refused_without_an_answer() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let mut forged = 0;
    for bit in 0..cookie.len() * 8 {
        let mut spoilt = cookie.clone();
        spoilt[bit / 8] ^= 1 << (bit % 8);
        assert!(echo(&mut bench, &spoilt).is_empty(), "bit {bit}");
        forged += 1;
    }
    for length in 0..cookie.len() {
        assert!(echo(&mut bench, &cookie[..length]).is_empty(), "length {length}");
        forged += 1;
    }
    let mut longer = cookie.clone();
    longer.extend_from_slice(&[0; 8]);
    assert!(echo(&mut bench, &longer).is_empty());
    assert_eq!(bench.endpoint.stats().cookies_refused, forged + 1);
    assert_eq!(bench.endpoint.association_count(), 0);
    // The unmodified one is still valid.
    assert_eq!(names(&echo(&mut bench, &cookie)[0]), ["COOKIE ACK"]);
}

#[test]
fn a_cookie_of_another_endpoint_is_refused() {
    let mut other = Bench::listening();
    let options = EndpointOptions { port: PORT, listen: true, ..EndpointOptions::default() };
    other.endpoint = Endpoint::new(options, RandomStream::new(2, Purpose("bench", 0)));
    let cookie = other.init(PEER_TAG);
    let mut bench = Bench::listening();
    bench.tag = other.tag;
    assert!(echo(&mut bench, &cookie).is_empty());
    assert_eq!(bench.endpoint.association_count(), 0);
    a_stranger_is_served(&mut bench);
}

#[test]
fn a_stolen_cookie_is_good_for_nobody_else() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let (home, tag) = (bench.remote, bench.tag);
    bench.remote = "10.9.9.9:9899".parse().unwrap();
    assert!(echo(&mut bench, &cookie).is_empty(), "another address");
    bench.remote = home;
    bench.tag = VerificationTag(tag.0 ^ 1);
    assert!(echo(&mut bench, &cookie).is_empty(), "another tag");
    bench.tag = tag;
    let other_port = crate::support::wire::packet(7_777, PORT, tag, |packet| {
        packet.append(CookieEcho { cookie: &cookie }).unwrap();
    });
    assert!(bench.give_bytes(other_port).is_empty(), "another SCTP port");
    assert_eq!(bench.endpoint.association_count(), 0);
    assert_eq!(bench.endpoint.stats().cookies_refused, 3);
}

#[test]
fn a_replayed_cookie_opens_nothing_twice_and_resets_nothing() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    echo(&mut bench, &cookie);
    let mut foe = Foe::with(bench);
    foe.bench.give_right(|packet| packet.append(data(0, 0, 0, b"first")).unwrap());
    let before = foe.stats();
    let used = memory(|| {
        for _ in 0..10_000 {
            let answers = echo(&mut foe.bench, &cookie);
            assert_eq!(answers.len(), 1);
            assert!(bytes(&answers) < cookie.len());
        }
    });
    assert!(used.bytes_current < 1_024, "{} bytes stay", used.bytes_current);
    let after = foe.stats();
    assert_eq!(after.counters.messages_received, before.counters.messages_received);
    let (mut paths, mut earlier) = (after.paths, before.paths);
    for path in paths.iter_mut().chain(&mut earlier) {
        // Only the counters of arrivals changed.
        path.counters.bytes_received = 0;
    }
    assert_eq!((paths, after.state), (earlier, "ESTABLISHED"));
    assert_eq!(foe.bench.endpoint.association_count(), 1);
    foe.association_works(1, 1);
}

#[test]
fn a_stale_cookie_is_told_so_in_fewer_bytes_than_it_has() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    bench.pass(Duration::from_secs(61));
    for _ in 0..1_000 {
        let answers = echo(&mut bench, &cookie);
        assert_eq!(names(&answers[0]), ["ERROR"]);
        assert!(bytes(&answers) < cookie.len());
    }
    assert_eq!(bench.endpoint.association_count(), 0);
    assert_eq!(bench.endpoint.stats().cookies_refused, 1_000);
    a_stranger_is_served(&mut bench);
}

#[test]
fn a_cookie_replayed_after_its_association_ended_is_worthless_once_stale() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    echo(&mut bench, &cookie);
    let id = opened(&bench, 0);
    bench.endpoint.release(id);
    bench.drain();
    assert_eq!(bench.endpoint.association_count(), 0);
    bench.pass(Duration::from_secs(61));
    assert_eq!(names(&echo(&mut bench, &cookie)[0]), ["ERROR"]);
    assert_eq!(bench.endpoint.association_count(), 0);
}

#[test]
fn cookies_of_a_lost_race_do_not_restart_an_association() {
    // INITs that came while there was no association carry no tie-tags: their cookies, however good
    // the signature, must neither restart nor replace the one that was set up first (table 12,
    // action C).
    let mut bench = Bench::listening();
    let early: Vec<(Vec<u8>, VerificationTag)> =
        (0..50).map(|index| (bench.init(VerificationTag(500 + index)), bench.tag)).collect();
    let cookie = bench.init(PEER_TAG);
    echo(&mut bench, &cookie);
    let mut foe = Foe::with(bench);
    let (before, own_tag) = (foe.stats(), foe.bench.tag);
    for (cookie, tag) in &early {
        foe.bench.tag = *tag;
        assert!(echo(&mut foe.bench, cookie).is_empty());
    }
    foe.bench.tag = own_tag;
    assert_eq!(foe.stats(), before);
    let restarted = |events: &[(sctp::AssociationId, Event)]| {
        events.iter().any(|(_, event)| *event == Event::Restarted)
    };
    assert!(!restarted(&foe.bench.events));
    foe.association_works(0, 0);
}
