//! Tests of an endpoint's state that is not visible from outside; all other tests are under
//! `tests/`.

use base::Purpose;

use super::*;
use crate::cookie::StateCookie;
use crate::wire::chunk::{Init, InitAck};
use crate::wire::{Chunk, CommonHeader, Packet, PacketBuilder, Tsn};

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
    let hour = Duration::from_secs(3_600);
    let is_first = |endpoint: &Endpoint| cookie(endpoint, start) == sealed;
    endpoint.rotate_keys(Instant::ZERO + (hour - Duration::from_nanos(1)));
    assert!(is_first(&endpoint), "a key serves an hour");
    endpoint.rotate_keys(start + hour);
    assert!(!is_first(&endpoint) && opens(&endpoint));
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

/// The State Cookie in the answer to an INIT from where `opening` opens to.
fn cookie_for_an_init(endpoint: &mut Endpoint, tag: VerificationTag) -> StateCookie {
    let init = init_of(tag, []);
    let answer = exchange(endpoint, VerificationTag(0), |packet| packet.append(init).unwrap());
    let Some(Ok(Chunk::InitAck(init_ack))) = answer.chunks().next() else { panic!("no INIT ACK") };
    let sealed = init_ack.0.parameters.state_cookie().unwrap();
    StateCookie::open(sealed, &endpoint.keys, Instant::ZERO).unwrap()
}

fn init_of<P>(tag: VerificationTag, parameters: P) -> Init<P> {
    let (outbound_streams, inbound_streams, initial_tsn) = (1, 1, Tsn(1));
    Init {
        initiate_tag: tag,
        a_rwnd: 5000,
        outbound_streams,
        inbound_streams,
        initial_tsn,
        parameters,
    }
}

/// Gives the endpoint a packet from where `opening` opens to; returns its first answer.
fn exchange(
    endpoint: &mut Endpoint,
    verification_tag: VerificationTag,
    fill: impl FnOnce(&mut PacketBuilder<'_>),
) -> Packet {
    let (source_port, destination_port) = (9899, endpoint.options.port);
    let header = CommonHeader { source_port, destination_port, verification_tag };
    let mut bytes = Vec::new();
    let mut builder = PacketBuilder::start(&mut bytes, header, 1400);
    fill(&mut builder);
    builder.finish();
    let (local, remote) = (([10, 0, 0, 1], 9899).into(), ([10, 0, 0, 2], 9899).into());
    let meta = DatagramMeta { local, remote, ecn: base::Ecn::NotEct, origin: None };
    endpoint.handle_datagram(Instant::ZERO, meta, bytes.into());
    let mut answer = Vec::new();
    endpoint.poll_transmit(Instant::ZERO, &mut answer).unwrap();
    Packet::parse(answer.into()).unwrap()
}

#[test]
fn without_an_association_the_cookie_for_an_init_has_no_tie_tags() {
    let mut endpoint = endpoint(3);
    endpoint.set_listen(true);
    let cookie = cookie_for_an_init(&mut endpoint, VerificationTag(8));
    let none = VerificationTag(0);
    assert_eq!((cookie.local_tie_tag, cookie.peer_tie_tag), (none, none));
}

#[test]
fn in_cookie_echoed_the_cookie_for_an_init_has_tie_tags_and_in_cookie_wait_none() {
    let (mut endpoint, id) = opening();
    endpoint.set_listen(true);
    let none = (VerificationTag(0), VerificationTag(0));
    let ties = |cookie: StateCookie| (cookie.local_tie_tag, cookie.peer_tie_tag);
    assert_eq!(ties(cookie_for_an_init(&mut endpoint, VerificationTag(8))), none);
    let own = endpoint.association(id).unwrap().local_tag();
    let parameters = [crate::wire::Parameter::StateCookie(b"cookie")];
    let init_ack = InitAck(init_of(VerificationTag(7), parameters));
    exchange(&mut endpoint, own, |packet| packet.append(init_ack).unwrap());
    assert_eq!(endpoint.association(id).unwrap().state_name(), "COOKIE-ECHOED");
    let tied = ties(cookie_for_an_init(&mut endpoint, VerificationTag(8)));
    assert_eq!(tied, endpoint.tie_key.tie_tags(own, VerificationTag(7)));
    assert!(tied.0 != none.0 && tied.1 != none.1);
}
