//! Any datagrams at a server that waits for a browser, as they are and as attributes of a binding
//! request: nothing that is not authentic gets an answer or a place, and answers are no longer than
//! requests.

use core::net::SocketAddr;

use base::{DatagramMeta, Ecn, Instant, Machine, Purpose, RandomStream};
use secure::{Fingerprint, Identity};
use webrtc::stun::Request;
use webrtc::{Server, ServerOptions};

/// Feeds `bytes`; answers how many binding requests were well formed.
pub fn run(bytes: &[u8]) -> usize {
    let local = SocketAddr::from(([192, 0, 2, 1], 4000));
    let identity = Identity::generate(&mut RandomStream::new(1, Purpose("identity", 0)));
    let random = RandomStream::new(1, Purpose("server", 0));
    let Ok(mut server) = Server::new(ServerOptions::new(vec![local]), identity, random) else {
        panic!("the options are the defaults");
    };
    let Ok((_, answer)) = server.accept(Instant::ZERO, &offer(), None) else {
        panic!("the offer is right");
    };
    let names = format!("{}:page", answer.credentials.ufrag);
    let requests = [bytes.to_vec(), request(bytes), request(&with_names(&names, bytes))];
    let mut well_formed = 0;
    for datagram in requests {
        if let Some(request) = Request::parse(&datagram) {
            well_formed += 1;
            let answer = request.answer(local, "password").map_or(0, |answer| answer.len());
            assert!(answer <= datagram.len().max(100), "{answer} for {}", datagram.len());
            assert!(!request.is_authentic(&answer_password(&server)), "a guessed password");
        }
        let remote = SocketAddr::from(([203, 0, 113, 1], 5000));
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        server.handle_datagram(Instant::ZERO, meta, datagram.into());
        assert_eq!(server.poll_transmit(Instant::ZERO, &mut Vec::new()), None);
    }
    assert_eq!(server.len(), 1);
    well_formed
}

/// A password that the input does not know.
fn answer_password(server: &Server) -> String {
    format!("{}-{}", server.len(), "0123456789012345678901")
}

fn offer() -> String {
    let fingerprint = Fingerprint::of_certificate(b"page").sdp();
    format!(
        "v=0\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=ice-ufrag:page\na=ice-pwd:0123456789012345678901\n\
         a=fingerprint:{fingerprint}\na=setup:actpass\na=sctp-port:5000\n"
    )
}

/// A binding request with these attributes.
fn request(attributes: &[u8]) -> Vec<u8> {
    let length = attributes.len().min(1000) & !3;
    let mut datagram = vec![0, 1];
    datagram.extend((length as u16).to_be_bytes());
    datagram.extend([0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    datagram.extend(attributes.iter().take(length));
    datagram
}

/// Attributes with the right names, a priority and an integrity of the input's first bytes, then
/// the input.
fn with_names(names: &str, bytes: &[u8]) -> Vec<u8> {
    let mut attributes = vec![0, 6];
    attributes.extend((names.len() as u16).to_be_bytes());
    attributes.extend_from_slice(names.as_bytes());
    attributes.resize(attributes.len().next_multiple_of(4), 0);
    attributes.extend([0, 0x24, 0, 4, 1, 2, 3, 4, 0, 8, 0, 20]);
    let mut integrity = bytes.get(..bytes.len().min(20)).unwrap_or_default().to_vec();
    integrity.resize(20, 0);
    attributes.extend(integrity);
    attributes.extend_from_slice(bytes);
    attributes
}
