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

/// Starts a server of the page; returns its address.
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
    // A server that refuses the body may close the connection before the client has sent all of the
    // body.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer}"));
    (status.parse().unwrap(), body.to_owned())
}

/// A setting as JSON, in the units of the page.
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
        // The page was reached at a loopback address, so the answer names that address, too.
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
        ("DELETE /setting", JSON, "{}", 405, "GET, HEAD, POST"),
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
async fn a_head_comes_alone_and_a_refused_method_is_told_which_there_are() {
    let server = server().await;
    for path in ["/", "/main.js", "/setting"] {
        let request = |method: &str| {
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        };
        let whole = answers(server, &request("GET")).await;
        let head = answers(server, &request("HEAD")).await;
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        let length = whole.split_once("\r\n\r\n").unwrap().1.len();
        assert!(head.contains(&format!("content-length: {length}\r\n")), "{head}");
        let refused = answers(server, &request("PATCH")).await;
        assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("\r\nallow: GET, HEAD"));
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

/// The answer of a server to a client that sends `sent` and then nothing, until the server closes
/// the connection. The clock stands still while any task runs, and advances to the next deadline
/// when all wait.
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
    assert_eq!(answer_to_a_slow_client("GET / HTTP/1.1\r\nHost: localhost\r\n").await, "");
    let head = format!(
        "POST /offer HTTP/1.1\r\nHost: localhost\r\nContent-Type: {SDP}\r\nContent-Length: 100\r\n\r\nv=0"
    );
    let late = answer_to_a_slow_client(&head).await;
    assert!(late.starts_with("HTTP/1.1 408 "), "{late}");
    // A client that keeps its connection open after an answer is disconnected, too.
    let kept = answer_to_a_slow_client("GET /setting HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
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

#[tokio::test(start_paused = true)]
async fn clients_that_ask_and_never_read_are_let_go() {
    let server = server().await;
    let asked = "GET /main.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let mut deaf = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(server).await.unwrap();
        // Sends as much as the kernel accepts.
        for _ in 0..50 {
            let written = stream.write_all(asked.as_bytes());
            let limit = std::time::Duration::from_millis(1);
            if tokio::time::timeout(limit, written).await.is_err() {
                break;
            }
        }
        deaf.push(stream);
    }
    assert_eq!(ask(server, "GET /setting", "", "").await.0, 200);
    tokio::time::sleep(std::time::Duration::from_secs(70)).await;
    for mut stream in deaf {
        // Only positions that were already under way still arrive.
        let mut rest = Vec::new();
        let limit = std::time::Duration::from_secs(1);
        let ended = tokio::time::timeout(limit, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "the connection is still there");
    }
    assert_eq!(ask(server, "GET /setting", "", "").await.0, 200);
}

#[tokio::test]
async fn requests_smuggled_into_others_are_refused_and_nothing_is_upgraded() {
    let server = server().await;
    let inner = "GET /setting HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let length = inner.len();
    let post = format!("POST /offer HTTP/1.1\r\nHost: localhost\r\nContent-Type: {SDP}\r\n");
    let sent = [
        // Two lengths; a length and chunks; chunks under other names, of wrong sizes, with more
        // behind.
        format!("{post}Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{inner}"),
        format!("{post}Content-Length: 0, {length}\r\n\r\n{inner}"),
        format!("{post}Content-Length: +0\r\n\r\n{inner}"),
        format!(
            "{post}Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"
        ),
        format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{inner}"),
        format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{inner}"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n-1\r\n{inner}"),
        format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}"),
        format!("{post} Folded: x\r\nContent-Length: 0\r\n\r\n{inner}"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n{inner}"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ];
    for sent in sent {
        let answer = answers(server, &sent).await;
        let heads = answer.matches("HTTP/1.1 ").count();
        assert!(heads <= 1 && !answer.contains("interval_ms"), "{sent}\n{answer}");
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{sent}\n{answer}");
    }
    for upgrade in ["websocket", "h2c"] {
        let sent = format!(
            "GET /setting HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: {upgrade}\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        let answer = answers(server, &sent).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("interval_ms"), "{answer}");
    }
    let tunnel = "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n";
    assert!(answers(server, tunnel).await.starts_with("HTTP/1.1 404 "));
    assert_eq!(ask(server, "GET /setting", "", "").await.0, 200);
}

#[tokio::test]
async fn a_page_whose_name_was_made_to_lead_here_is_no_page_of_this_server() {
    let server = server().await;
    for (host, status) in [
        ("localhost", 200),
        ("LOCALHOST:8080", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("", 421),
    ] {
        let sent = format!("GET /setting HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = answers(server, &sent).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
}

/// All bytes that a server sends to a client that sends `sent` and then closes.
async fn answers(server: SocketAddr, sent: &str) -> String {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let _ = stream.write_all(sent.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// Requests of all kinds, of which the seed drops, doubles, swaps and changes bytes and lines.
#[tokio::test]
async fn damaged_requests_get_an_answer_or_none_and_the_next_one_is_served() {
    let server = server().await;
    let body = set(50, "5.0", 30);
    let whole = [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        format!(
            "POST /offer?policy=rfc HTTP/1.1\r\nHost: localhost\r\nContent-Type: {SDP}\r\nContent-Length: {}\r\n\r\n{OFFER}",
            OFFER.len()
        ),
        format!(
            "POST /setting HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    ];
    let mut random = base::RandomStream::new(1, base::Purpose("requests", 0));
    let mut answered = 0;
    for round in 0..600 {
        let mut bytes = whole[round % 3].clone().into_bytes();
        for _ in 0..random.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len() as u64) as usize;
            let other = random.below(bytes.len() as u64) as usize;
            match random.below(6) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.swap(at, other),
                3 => bytes.splice(at..at, *b"\r\n").for_each(drop),
                4 => drop(bytes.remove(at)),
                _ => bytes.extend_from_within(at.min(other)..at.max(other)),
            }
        }
        let mut stream = TcpStream::connect(server).await.unwrap();
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        answered += usize::from(answer.starts_with(b"HTTP/1."));
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{answer:?}");
    }
    assert!(answered > 300, "{answered}");
    assert_eq!(ask(server, "GET /setting", "", "").await.0, 200);
}

/// Offers of the greatest accepted length, with as many lines, attributes and candidates as fit.
#[tokio::test]
async fn giant_offers_are_answered_or_refused_and_cost_no_more_than_they_are_long() {
    let server = server().await;
    let fill = |line: &str| {
        let room = (65_536 - OFFER.len()) / line.len();
        OFFER.to_owned() + &line.repeat(room)
    };
    for (line, wanted) in [
        ("a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n", 201),
        ("a=x\r\n", 201),
        ("a=fingerprint:sha-256 00\r\n", 400),
        ("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n", 400),
        ("\r\n", 201),
    ] {
        let (status, answer) = ask(server, "POST /offer", SDP, &fill(line)).await;
        assert_eq!(status, wanted, "{line}: {answer}");
        assert!(answer.len() < 4_096, "{line}: {} bytes", answer.len());
    }
    let one_line = format!("{OFFER}a=x:{}\r\n", "y".repeat(60_000));
    assert_eq!(ask(server, "POST /offer", SDP, &one_line).await.0, 201);
}
