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
