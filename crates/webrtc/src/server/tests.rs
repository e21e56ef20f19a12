//! Answers to offers, and peers found by name and by address.

use base::Purpose;

use super::*;
use crate::sdp::{SdpError, Setup};

fn server(change: impl FnOnce(&mut ServerOptions)) -> Server {
    let identity = Identity::generate(&mut RandomStream::new(1, Purpose("identity", 0)));
    let addresses = ["192.0.2.1:4000", "[2001:db8::1]:4000"].map(|at| at.parse().unwrap());
    let mut options = ServerOptions::new(addresses.to_vec());
    change(&mut options);
    Server::new(options, identity, RandomStream::new(1, Purpose("server", 0))).unwrap()
}

/// An offer with these lines in its section.
fn offer(lines: &str) -> String {
    let fingerprint = secure::Fingerprint::of_certificate(b"page").sdp();
    format!(
        "v=0\no=- 1 2 IN IP4 127.0.0.1\ns=-\nt=0 0\na=group:BUNDLE data\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\n\
         a=mid:data\na=ice-ufrag:page\na=ice-pwd:0123456789012345678901\na=fingerprint:{fingerprint}\na=sctp-port:5001\n{lines}"
    )
}

#[test]
fn an_answer_takes_up_the_offer_and_names_the_server() {
    let mut server = server(|_| {});
    let text = offer("a=setup:actpass\n");
    let (_, answer) = server.accept(Instant::ZERO, &text, None).unwrap();
    assert_eq!((answer.mid.as_deref(), answer.bundled, answer.lite), (Some("data"), true, true));
    assert_eq!(answer.setup, Setup::Passive);
    assert_eq!(answer.fingerprints, [server.identity.fingerprint()].into());
    assert_eq!((answer.sctp_port, answer.max_message), (5000, Some(256 << 10)));
    let sockets: Vec<_> = answer.candidates.iter().filter_map(Candidate::socket).collect();
    assert_eq!(sockets, server.options.addresses);
    assert!(answer.candidates[0].priority > answer.candidates[1].priority);
    assert!(answer.credentials.password.len() >= 22 && answer.credentials.ufrag.len() >= 4);
    // As text it is what it was.
    assert_eq!(answer.to_string().parse(), Ok(answer.clone()));
    let (_, other) = server.accept(Instant::ZERO, &text, None).unwrap();
    assert_ne!(other.credentials, answer.credentials);
}

#[test]
fn the_end_of_dtls_is_what_the_offer_leaves() {
    for (offered, wanted, answered) in [
        ("actpass", secure::Role::Client, Setup::Active),
        ("active", secure::Role::Client, Setup::Passive),
        ("passive", secure::Role::Server, Setup::Active),
    ] {
        let mut server = server(|options| options.role = wanted);
        let text = offer(&format!("a=setup:{offered}\n"));
        let (_, answer) = server.accept(Instant::ZERO, &text, None).unwrap();
        assert_eq!(answer.setup, answered);
    }
}

#[test]
fn an_offer_that_cannot_be_used_is_refused_with_its_reason() {
    let mut server = server(|_| {});
    let error = server.accept(Instant::ZERO, &offer("a=setup:both\n"), None).unwrap_err();
    assert!(matches!(&error, AcceptError::Offer(SdpError { line: 12, .. })), "{error}");
    assert!(error.to_string().contains("actpass, active or passive"), "{error}");
    let lite = offer("a=setup:actpass\na=ice-lite\n");
    let error = server.accept(Instant::ZERO, &lite, None).unwrap_err();
    assert_eq!(error, AcceptError::BothLite);
    assert!(server.is_empty());
    let mut settings = ServerOptions::new(Vec::new());
    settings.handshake.mtu = 10;
    let random = RandomStream::new(1, Purpose("server", 0));
    let error = Server::new(settings, server.identity.clone(), random).unwrap_err();
    assert!(error.to_string().contains("mtu"), "{error}");
}

#[test]
fn the_routes_of_a_peer_are_bounded_and_go_with_it() {
    let mut routes = Routes::default();
    let mut peers = [(); 2].into_iter().map(|()| {
        let mut server = server(|_| {});
        server.accept(Instant::ZERO, &offer("a=setup:actpass\n"), None).unwrap();
        server.accept(Instant::ZERO, &offer("a=setup:actpass\n"), None).unwrap().0
    });
    let id = peers.next().unwrap();
    routes.add_name("name".into(), id);
    let address = |port| SocketAddr::from(([192, 0, 2, 9], port));
    for port in 1..=40 {
        routes.add_address(address(port), id);
    }
    let known = (1..=40).filter(|port| routes.by_address(address(*port)).is_some()).count();
    assert_eq!(known, 16);
    assert_eq!(routes.by_address(address(40)), Some(id));
    routes.remove(id);
    assert_eq!((routes.by_name("name"), routes.by_address(address(40))), (None, None));
}

#[test]
fn an_offer_waits_a_minute_for_an_answer_and_a_wrong_one_changes_nothing() {
    let mut server = server(|_| {});
    let addresses = server.options.addresses.clone();
    let (id, own) = server.offer_at(Instant::ZERO, None, &addresses).unwrap();
    assert_eq!((own.setup, own.lite, own.mid.as_deref()), (Setup::ActPass, true, Some("0")));
    assert_eq!(own.to_string().parse(), Ok(own.clone()));
    assert!(server.is_empty());
    let minute = Instant::from_millis(60_000);
    assert_eq!(server.poll_timeout(), Some(minute));
    let answer = |lines: &str| offer(lines).replace("data\n", "0\n");
    let mut take = |now, text: &str| server.take_answer(now, id, text).map_err(|e| e.to_string());
    for (wrong, why) in [
        (answer("a=setup:actpass\n"), "the answer: expected a=setup:active or passive"),
        (answer("a=setup:both\n"), "the answer, line 12"),
        (answer("a=setup:active\na=ice-lite\n"), "the peer has a=ice-lite"),
        (offer("a=setup:active\n"), "the answer: expected a=mid:0"),
        (String::new(), "the answer, line 1"),
    ] {
        let error = take(Instant::ZERO, &wrong).unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
    let right = answer("a=setup:active\n");
    assert_eq!(take(Instant::from_millis(59_999), &right), Ok(()));
    assert!(take(Instant::from_millis(59_999), &right).unwrap_err().contains("no such offer"));
    assert_eq!((server.len(), server.stats().accepted), (1, 1));
    let (late, _) = server.offer_at(Instant::ZERO, None, &addresses).unwrap();
    assert_eq!(server.take_answer(minute, late, &right), Err(AcceptError::NoOffer));
    assert_ne!(late, id);
}

#[test]
fn offers_that_wait_count_as_peers_that_have_not_connected() {
    let mut server = server(|options| options.limits.waiting = 20);
    let host = Some(IpAddr::from([192, 0, 2, 9]));
    for _ in 0..16 {
        server.offer_at(Instant::ZERO, host, &[]).unwrap();
    }
    let error = server.offer_at(Instant::ZERO, host, &[]).unwrap_err();
    assert_eq!(error, AcceptError::TooManyOfHost);
    for _ in 0..4 {
        server.accept(Instant::ZERO, &offer("a=setup:actpass\n"), None).unwrap();
    }
    assert_eq!(server.offer_at(Instant::ZERO, None, &[]).unwrap_err(), AcceptError::TooMany);
    // A minute later all of them are forgotten, and the peers that did not connect have ended.
    let later = Instant::from_millis(60_000);
    server.handle_timeout(later);
    assert!(server.offer_at(later, host, &[]).is_ok());
}
