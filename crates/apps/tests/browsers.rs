//! The page for browsers over HTTP: what requests get, and what bounds them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;

use apps::browsers::{BrowsersOptions, browsers_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An offer that any server of data channels takes.
const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=ice-ufrag:page\r\na=ice-pwd:0123456789012345678901\r\n\
    a=fingerprint:sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD\r\n\
    a=setup:actpass\r\na=sctp-port:5000\r\n";
const SDP: &str = "application/sdp";
const JSON: &str = "application/json";

/// A running server.
async fn server() -> SocketAddr {
    let options = BrowsersOptions::new("127.0.0.1:0".parse().unwrap());
    let (tell, told) = tokio::sync::oneshot::channel();
    let ready = |page| tell.send(page).unwrap();
    tokio::spawn(async move { browsers_until(&options, ready, std::future::pending()).await });
    told.await.unwrap()
}

/// Status and body of the answer to a request.
async fn ask(server: SocketAddr, request: &str, content: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A server that refuses the body may close before all of it was sent.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer}"));
    (status.parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn the_page_is_served_and_an_offer_gets_an_answer() {
    let server = server().await;
    let (status, page) = ask(server, "GET /", "", "").await;
    assert!(status == 200 && page.starts_with("<!doctype html>"), "{status}");
    for request in ["POST /offer", "POST /offer?policy=rfc"] {
        let (status, answer) = ask(server, request, SDP, OFFER).await;
        assert_eq!(status, 201, "{answer}");
        for line in ["a=ice-lite", "a=setup:passive", "a=sctp-port:5000", " typ host"] {
            assert!(answer.contains(line), "{line}: {answer}");
        }
        // The page reached a loopback address, which is among those that it may connect to.
        assert!(answer.contains(" 127.0.0.1 "), "{answer}");
    }
}

#[tokio::test]
async fn a_wrong_request_is_refused_with_what_would_be_right() {
    let server = server().await;
    let long = "a".repeat(70_000);
    let wrong = OFFER.replace("actpass", "both");
    for (request, content, body, status, reason) in [
        ("GET /other", "", "", 404, "/offer"),
        ("GET /offer", "", "", 405, "POST"),
        ("DELETE /", "", "", 405, "GET"),
        ("POST /offer", "text/plain", OFFER, 415, "expected application/sdp"),
        ("POST /offer", SDP, "v=1", 400, "line 1"),
        ("POST /offer", SDP, &wrong, 400, "line 11"),
        ("POST /offer", SDP, &long, 413, "65536"),
        ("POST /offer?policy=none", SDP, OFFER, 400, "latency"),
        ("POST /link", SDP, "{}", 415, "expected application/json"),
        ("POST /link", JSON, "{}", 400, "delay_ms"),
        ("POST /link", JSON, r#"{"delay_ms":1,"loss_percent":1,"rate":1}"#, 400, "rate"),
        ("POST /link", JSON, r#"{"delay_ms":1,"loss_percent":101}"#, 400, "0 to 100"),
        ("POST /link", JSON, r#"{"delay_ms":2001,"loss_percent":1}"#, 400, "2 s at most"),
    ] {
        let (given, body) = ask(server, request, content, body).await;
        assert_eq!(given, status, "{request}: {body}");
        assert!(body.contains(reason), "{request}: {body}");
    }
}

#[tokio::test]
async fn the_link_is_as_it_was_set_last() {
    let server = server().await;
    let link = async || ask(server, "GET /link", "", "").await;
    assert_eq!(link().await, (200, r#"{"delay_ms":50,"loss_percent":5.0}"#.to_owned()));
    let set = r#"{"delay_ms":120,"loss_percent":12.5}"#;
    assert_eq!(ask(server, "POST /link", JSON, set).await.0, 204);
    assert_eq!(link().await, (200, set.to_owned()));
}

#[tokio::test]
async fn offers_of_one_host_are_bounded() {
    let server = server().await;
    for _ in 0..16 {
        assert_eq!(ask(server, "POST /offer", SDP, OFFER).await.0, 201);
    }
    let (status, reason) = ask(server, "POST /offer", SDP, OFFER).await;
    assert!(status == 503 && reason.contains("too many offers of this host"), "{status} {reason}");
}
