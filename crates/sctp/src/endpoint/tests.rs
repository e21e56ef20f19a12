//! Tests of an endpoint's state that is not visible from outside; all other tests are under `tests/`.

use base::Purpose;

use super::*;
use crate::cookie::StateCookie;
use crate::wire::Tsn;

fn endpoint(seed: u64) -> Endpoint {
    Endpoint::new(EndpointOptions::default(), RandomStream::new(seed, Purpose("endpoint", 0)))
}

fn cookie(endpoint: &Endpoint, now: Instant) -> Vec<u8> {
    StateCookie {
        created_at: now,
        lifetime: KEY_LIFE * 3,
        local_tag: VerificationTag(1),
        peer_tag: VerificationTag(2),
        local_initial_tsn: Tsn(3),
        peer_initial_tsn: Tsn(4),
        peer_a_rwnd: 5000,
        outbound_streams: 1,
        inbound_streams: 1,
        local_port: 1,
        peer_port: 2,
        local_tie_tag: VerificationTag(0),
        peer_tie_tag: VerificationTag(0),
        extensions: crate::Extensions::NONE,
        remote: ([10, 0, 0, 1], 9899).into(),
        further_addresses: Vec::new(),
        key_vectors: None,
    }
    .seal(&endpoint.keys[0])
}

#[test]
fn a_cookie_outlives_one_change_of_keys_but_not_two() {
    let mut endpoint = endpoint(1);
    let start = Instant::from_millis(1);
    let sealed = cookie(&endpoint, start);
    let opens = |endpoint: &Endpoint| StateCookie::open(&sealed, &endpoint.keys, start).is_ok();
    assert!(opens(&endpoint));
    let first = endpoint.keys[0].clone();
    endpoint.rotate_keys(start + KEY_LIFE);
    assert!(opens(&endpoint));
    endpoint.rotate_keys(start + KEY_LIFE * 2);
    assert!(!opens(&endpoint));
    assert!(StateCookie::open(&sealed, &[first], start).is_ok());
}

/// Keys do not print themselves, but equal keys seal the same cookie equally.
#[test]
fn a_key_of_cookies_is_32_random_bytes_and_no_two_keys_are_equal() {
    let start = Instant::from_millis(1);
    let (mut one, mut other) =
        (RandomStream::new(9, Purpose("key", 0)), RandomStream::new(9, Purpose("key", 0)));
    let mut secret = [0; 32];
    other.fill(&mut secret);
    let mut with_known = endpoint(9);
    with_known.keys[0] = draw_key(&mut one);
    let sealed = cookie(&with_known, start);
    assert!(StateCookie::open(&sealed, &[CookieKey::new(secret)], start).is_ok());
    secret[31] ^= 1;
    assert!(StateCookie::open(&sealed, &[CookieKey::new(secret)], start).is_err());
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..16 {
        let mut endpoint = endpoint(seed);
        for change in 0..3 {
            endpoint.rotate_keys(start + KEY_LIFE * change);
            assert!(seen.insert(cookie(&endpoint, start)), "endpoint {seed}, key {change}");
        }
    }
}

#[test]
fn the_name_of_a_released_association_names_no_later_one() {
    let mut endpoint = endpoint(2);
    let remote: SocketAddr = ([10, 0, 0, 2], 9899).into();
    let open = |endpoint: &mut Endpoint| {
        endpoint.connect(Instant::ZERO, remote, 9899, AssociationOptions::default())
    };
    let first = open(&mut endpoint).unwrap();
    assert_eq!(open(&mut endpoint), Err(ConnectError::Exists(first)));
    endpoint.release(first);
    while endpoint.poll_transmit(Instant::ZERO, &mut Vec::new()).is_some() {}
    assert_eq!(endpoint.association_count(), 0);
    assert_eq!(endpoint.poll_timeout(), None);
    let second = open(&mut endpoint).unwrap();
    assert_ne!(first, second);
    assert!(endpoint.association(first).is_none());
}

/// An endpoint with an association that has sent its INIT.
fn opening() -> (Endpoint, AssociationId) {
    let mut endpoint = endpoint(3);
    let remote: SocketAddr = ([10, 0, 0, 2], 9899).into();
    let options = AssociationOptions::default();
    let id = endpoint.connect(Instant::ZERO, remote, 9899, options).unwrap();
    while endpoint.poll_transmit(Instant::ZERO, &mut Vec::new()).is_some() {}
    (endpoint, id)
}

#[test]
fn a_handle_that_is_not_used_changes_nothing() {
    let (mut endpoint, id) = opening();
    let due = endpoint.poll_timeout();
    assert!(due.is_some());
    drop(endpoint.association_mut(id).unwrap());
    assert_eq!(endpoint.turns.current(), None);
    assert_eq!((endpoint.poll_timeout(), endpoint.poll_event()), (due, None));
}

#[test]
fn the_endpoint_takes_note_of_what_a_handle_was_used_for() {
    let (mut endpoint, id) = opening();
    let held = endpoint.buffered_bytes();
    let payload = bytes::Bytes::from(vec![0; 100_000]);
    let options = crate::SendOptions::default();
    let (stream, ppid) = (crate::StreamId(0), crate::Ppid(0));
    let mut own = endpoint.association_mut(id).unwrap();
    own.send(Instant::ZERO, stream, ppid, payload, options).unwrap();
    drop(own);
    assert!(endpoint.buffered_bytes() >= held + 100_000);
    endpoint.association_mut(id).unwrap().abort(bytes::Bytes::new());
    assert_eq!(endpoint.poll_event(), Some((id, Event::Failed(crate::Failure::Aborted))));
    endpoint.release(id);
    while endpoint.poll_transmit(Instant::ZERO, &mut Vec::new()).is_some() {}
    assert!(endpoint.association_mut(id).is_none(), "it was released");
}
