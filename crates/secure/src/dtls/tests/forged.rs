//! Handshakes while an attacker forges what has no keys yet, and peers that keep to the protocol to
//! its edge.

use super::*;

/// A record in plaintext with one message of the handshake, whole or a part of it.
fn message(kind: u8, number: u8, (length, at): (u32, u32), body: &[u8]) -> Vec<u8> {
    let three = |number: u32| number.to_be_bytes()[1..].to_vec();
    let head = [&[kind][..], &three(length), &[0, number], &three(at), &three(body.len() as u32)];
    record(22, number, &[&head.concat(), body].concat())
}

fn record(kind: u8, number: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [&[kind, 254, 253, 0, 0, 0, 0, 0, 0, 0, number, high, low], content].concat()
}

/// Messages of an attacker who knows the addresses and has not seen a packet: fragments of messages
/// of any length without the rest, messages out of their place, alerts, acknowledgements.
fn forgeries() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for kind in [0, 1, 2, 4, 8, 11, 13, 15, 20, 24] {
        for number in [0, 1, 2, 30] {
            for at in [0, 1, 5000] {
                all.push(message(kind, number, ((1 << 24) - 1, at), &[3; 40]));
            }
            all.push(message(kind, number, (40, 0), &[3; 40]));
        }
    }
    let empty: &[u8] = &[];
    let others = [(21, &[2, 40][..]), (21, &[1, 0]), (20, &[1]), (26, &[0, 0]), (23, empty)];
    all.extend(others.map(|(kind, content)| record(kind, 7, content)));
    all
}

#[test]
fn messages_forged_to_the_server_do_not_even_delay_a_handshake() {
    for forged in forgeries() {
        let mut pipe = Pipe::clean(pair(fast(), 1));
        // The server has answered the hello with its cookie.
        while pipe.sent.iter().filter(|(_, end, _)| *end == 1).count() < 2 {
            assert!(pipe.step(Instant::from_millis(1_000)));
        }
        pipe.ends[1].greeted = Some(pipe.now);
        let sent = pipe.sent.len();
        for _ in 0..40 {
            pipe.ends[1].handle_datagram(pipe.now, &forged);
        }
        pipe.drain();
        assert_eq!(pipe.sent.len(), sent, "{:?}", &forged[..20]);
        pipe.handshake(5);
        assert!(pipe.ends.iter().all(is_open), "{:?}: {:?}", &forged[..20], pipe.ends);
        assert_eq!(pipe.now, Instant::from_millis(250));
    }
}

#[test]
fn messages_forged_to_the_client_cost_a_handshake_time_and_nothing_else() {
    let mut late = 0;
    for forged in forgeries() {
        let mut pipe = Pipe::clean(pair(fast(), 1));
        pipe.step(Instant::ZERO);
        for _ in 0..40 {
            pipe.ends[0].handle_datagram(pipe.now, &forged);
        }
        let copies = pipe.sent.len();
        pipe.drain();
        assert!(pipe.sent.len() <= copies + 1, "{:?}", &forged[..20]);
        // The pipe's server takes one first hello: another attempt finds another server, as behind
        // `Sessions`.
        while !pipe.ends.iter().all(is_open) && pipe.step(Instant::from_millis(30_000)) {
            if pipe.ends[0].attempt.number > 0 && late < 1_000_000 {
                late += 1;
                let [_, server] = pair(fast(), 1);
                pipe.ends[1] = server;
                pipe.ends[0].attempt.number = 0;
            }
        }
        assert!(pipe.ends.iter().all(is_open), "{:?}: {:?}", &forged[..20], pipe.ends);
    }
    assert!(late > 0, "nothing of this would have ended an engine");
}

#[test]
fn a_hello_of_another_server_does_not_stop_a_client_for_good() {
    let mut other = Pipe::clean(pair(fast(), 2));
    other.handshake(5);
    let hello = other.sent.iter().filter(|(_, end, _)| *end == 1).nth(1).unwrap().2.clone();
    let mut pipe = Pipe::clean(pair(fast(), 1));
    while pipe.sent.iter().filter(|(_, end, _)| *end == 0).count() < 2 {
        assert!(pipe.step(Instant::from_millis(1_000)));
    }
    pipe.ends[0].handle_datagram(pipe.now, &hello);
    pipe.handshake(9);
    assert!(!is_open(&pipe.ends[0]), "it was taken in by the forgery");
    while pipe.ends[0].attempt.number == 0 {
        assert!(pipe.step(Instant::from_millis(30_000)), "{:?}", pipe.ends);
    }
    let [_, server] = pair(fast(), 1);
    pipe.ends[1] = server;
    pipe.handshake(5);
    assert!(pipe.ends.iter().all(is_open), "{:?}", pipe.ends);
}

#[test]
fn an_open_session_answers_nothing_that_has_no_keys() {
    let mut pipe = Pipe::clean(pair(fast(), 1));
    pipe.handshake(5);
    let hello = pipe.sent[0].2.clone();
    for forged in forgeries().into_iter().chain([hello.to_vec()]) {
        let sent = pipe.sent.len();
        for _ in 0..100 {
            pipe.ends.iter_mut().for_each(|end| end.handle_datagram(pipe.now, &forged));
        }
        pipe.drain();
        assert_eq!(pipe.sent.len(), sent, "{:?}", &forged[..20]);
    }
    pipe.run(5);
    pipe.assert_packets_pass();
}

#[test]
fn packets_that_arrive_ahead_of_the_end_of_the_handshake_do_not_end_it() {
    for versions in [Versions::Only13, Versions::Only12] {
        let mut pipe = Pipe::clean(pair(Settings { versions, ..fast() }, 1));
        while !pipe.ends.iter().any(is_open) {
            assert!(pipe.step(Instant::from_millis(5_000)));
        }
        let early = usize::from(is_open(&pipe.ends[1]));
        // Its last flight is lost, and what follows is not.
        pipe.under_way.clear();
        for number in 0..200_u8 {
            pipe.ends[early].seal(pipe.now, &[number; 500]).unwrap();
        }
        pipe.handshake(10);
        assert!(pipe.ends.iter().all(is_open), "{versions:?}: {:?}", pipe.ends);
        pipe.run(5);
        pipe.opened = [Vec::new(), Vec::new()];
        pipe.assert_packets_pass();
    }
}

#[test]
fn a_peer_that_changes_its_keys_with_every_other_record_is_followed() {
    let (client, server) = (identity(1), identity(2));
    let mut ends = pair(fast(), 1);
    let context = Context::new(fast(), &client).unwrap();
    let engine = context.engine_that_changes_keys(&ends[0].clock);
    ends[0] = session(fast(), Role::Client, &client, listed(&[&server]), 1);
    ends[0].engine = Some(engine);
    ends[0].outgoing.clear();
    ends[0].handle_timeout(Instant::ZERO);
    let mut pipe = Pipe::clean(ends);
    pipe.handshake(5);
    assert!(pipe.ends.iter().all(is_open), "{:?}", pipe.ends);
    for round in 0..300_u32 {
        pipe.ends[0].seal(pipe.now, &round.to_be_bytes()).unwrap();
        // The engine looks at its keys when it is called.
        let now = pipe.now;
        pipe.ends[0].handle_timeout(now);
        pipe.run(1);
    }
    let wanted: Vec<_> =
        (0..300_u32).map(|round| Bytes::from(round.to_be_bytes().to_vec())).collect();
    assert_eq!(pipe.opened[1], wanted);
    let answers = pipe.sent.iter().filter(|(_, end, _)| *end == 1).count();
    assert!((100..2_000).contains(&answers), "each change is acknowledged: {answers} datagrams");
}

#[test]
fn a_certificate_too_large_for_a_flight_is_refused_and_the_largest_opens() {
    let own = identity(1);
    for versions in [Versions::Only13, Versions::Only12] {
        for mtu in [140, 150, 200, 300, 576, 1150, 2048] {
            let settings = Settings { mtu, versions, ..fast() };
            let (mut size, mut step, mut largest) = (0, 4_096, None);
            while step > 0 {
                let larger = own.with_common_name(&"x".repeat(size + step));
                match Context::new(settings, &larger) {
                    Ok(_) => (size, largest) = (size + step, Some(larger)),
                    Err(error) => assert!(error.to_string().contains("certificate"), "{error}"),
                }
                step /= 2;
            }
            let largest = largest.expect("the smallest fits");
            for own_role in [Role::Client, Role::Server] {
                let (server, client) = match own_role {
                    Role::Client => (identity(2), largest.clone()),
                    Role::Server => (largest.clone(), identity(2)),
                };
                let mut pipe = Pipe::clean([
                    session(settings, Role::Client, &client, listed(&[&server]), 1),
                    session(settings, Role::Server, &server, listed(&[&client]), 2),
                ]);
                pipe.handshake(30);
                assert!(
                    pipe.ends.iter().all(is_open),
                    "{versions:?}, mtu {mtu}, {own_role:?} with {} bytes: {:?}",
                    largest.certificate().len(),
                    pipe.ends
                );
            }
        }
    }
}
