//! The page for browsers over HTTP: what requests get, and what bounds them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;

use apps::browsers::{BrowsersOptions, Setting, browsers_until};
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
    let listen = "127.0.0.1:0".parse().unwrap();
    let options = BrowsersOptions { listen, setting: Setting::default() };
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

/// A setting, as JSON.
fn set(delay_ms: u32, loss_percent: &str, interval_ms: u32) -> String {
    format!(
        r#"{{"delay_ms":{delay_ms},"loss_percent":{loss_percent},"interval_ms":{interval_ms}}}"#
    )
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
        ("POST /main.js", "", "", 405, "GET"),
        ("POST /offer", "text/plain", OFFER, 415, "expected application/sdp"),
        ("POST /offer", SDP, "v=1", 400, "line 1"),
        ("POST /offer", SDP, &wrong, 400, "line 11"),
        ("POST /offer", SDP, &long, 413, "65536"),
        ("POST /offer", SDP, "", 400, "the offer"),
        ("POST /offer", SDP, "\u{0}\u{1f600}", 400, "line 1"),
        ("POST /offer?policy=none", SDP, OFFER, 400, "latency"),
        ("POST /offer?p=rfc", SDP, OFFER, 400, "policy=NAME"),
        ("DELETE /setting", JSON, "{}", 405, "GET or POST"),
        ("POST /setting", SDP, "{}", 415, "expected application/json"),
        ("POST /setting", JSON, "{}", 400, "delay_ms"),
        ("POST /setting", JSON, &set(1, "1,\"rate\":1", 30), 400, "rate"),
        ("POST /setting", JSON, &set(1, "101", 30), 400, "0 to 100"),
        ("POST /setting", JSON, &set(1, "1e400", 30), 400, "number"),
        ("POST /setting", JSON, &set(2001, "1", 30), 400, "2 s at most"),
        ("POST /setting", JSON, &set(1, "1", 0), 400, "5 ms to 2 s"),
        ("POST /setting", JSON, &set(1, "1", 2001), 400, "5 ms to 2 s"),
    ] {
        let (given, body) = ask(server, request, content, body).await;
        assert_eq!(given, status, "{request}: {body}");
        assert!(body.contains(reason), "{request}: {body}");
    }
}

#[tokio::test]
async fn the_setting_is_what_was_set_last() {
    let server = server().await;
    let setting = async || ask(server, "GET /setting", "", "").await;
    assert_eq!(setting().await, (200, set(50, "5.0", 30)));
    let other = set(120, "12.5", 250);
    assert_eq!(ask(server, "POST /setting", JSON, &other).await.0, 204);
    assert_eq!(setting().await, (200, other.clone()));
    // What is refused changes nothing.
    assert_eq!(ask(server, "POST /setting", JSON, &set(1, "1", 0)).await.0, 400);
    assert_eq!(setting().await, (200, other));
}

#[tokio::test]
async fn all_that_the_page_names_is_served_and_nothing_of_it_comes_from_elsewhere() {
    let server = server().await;
    let mut seen = vec!["/".to_owned()];
    let mut at = 0;
    while let Some(path) = seen.get(at).cloned() {
        at += 1;
        let (status, text) = ask(server, &format!("GET {path}"), "", "").await;
        assert_eq!(status, 200, "{path}");
        assert!(!text.contains("://"), "{path}");
        for name in text.split(['"', '\'']) {
            let name = name.trim_start_matches("./");
            let named = format!("/{name}");
            if (name.ends_with(".js") || name.ends_with(".css")) && !seen.contains(&named) {
                seen.push(named);
            }
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
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

/// What a server answers to a client that sends this and then nothing, until it closes the connection. The clock stands still
/// while anything happens, and goes on to the next deadline when all wait.
async fn answer_to_a_slow_client(sent: &str) -> String {
    let server = server().await;
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_ends_its_request_is_let_go() {
    assert_eq!(answer_to_a_slow_client("").await, "");
    assert_eq!(answer_to_a_slow_client("GET / HTTP/1.1\r\nHost: x\r\n").await, "");
    let head = format!(
        "POST /offer HTTP/1.1\r\nHost: x\r\nContent-Type: {SDP}\r\nContent-Length: 100\r\n\r\nv=0"
    );
    let late = answer_to_a_slow_client(&head).await;
    assert!(late.starts_with("HTTP/1.1 408 "), "{late}");
    // One that keeps its connection after an answer is let go, too.
    let kept = answer_to_a_slow_client("GET /setting HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(kept.starts_with("HTTP/1.1 200 "), "{kept}");
}

#[tokio::test]
async fn rubbish_instead_of_http_is_answered_or_dropped_and_the_next_client_is_served() {
    let server = server().await;
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1000));
    for rubbish in ["\u{16}\u{3}\u{1}\u{0}", "GET\r\n\r\n", &long, &many] {
        let mut stream = TcpStream::connect(server).await.unwrap();
        // The server may close before all of it was sent.
        let _ = stream.write_all(rubbish.as_bytes()).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(ask(server, "GET /setting", "", "").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn clients_that_say_nothing_make_room_for_the_next_one() {
    let server = server().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(server).await.unwrap());
    }
    assert_eq!(ask(server, "GET /setting", "", "").await.0, 200);
}
