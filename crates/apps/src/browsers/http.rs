//! The page and the exchange of offer and answer, over HTTP/1.1.
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, and what the page consists of (or `HEAD`) | the page |
//! | `POST /offer?policy=NAME`, `application/sdp` | 201 with the answer, as WHIP (RFC 9725) has it |
//! | `GET /setting` (or `HEAD`) | the link and the messages, as JSON |
//! | `POST /setting`, `application/json` with `delay_ms`, `loss_percent` and `interval_ms` | 204 |
//!
//! Both POSTs have a type of content that no page of another origin may send without being asked,
//! and nothing here asks.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::{Duration, Probability};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use recovery::RecoveryPolicy;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use super::setting::Setting;
use super::signalling::Signalling;
use crate::http;

/// Bytes of the body of a request.
const BODY: usize = 64 << 10;

/// Files of the page: path, type of content, content.
const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("/main.js", "text/javascript; charset=utf-8", include_str!("page/main.js")),
    ("/lane.js", "text/javascript; charset=utf-8", include_str!("page/lane.js")),
    ("/draw.js", "text/javascript; charset=utf-8", include_str!("page/draw.js")),
];

/// Serves the page until the process ends.
pub(super) async fn serve(tcp: TcpListener, behind: Arc<impl Signalling>) {
    let answer = move |request, between| {
        let behind = Arc::clone(&behind);
        async move { answer(request, between, &*behind).await }
    };
    http::serve(tcp, answer).await;
}

/// Answers the requests of one connection, `between` a browser and this side, until it ends: what
/// `serve --webrtc` does with each, for streams other than TCP.
pub async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    between: (SocketAddr, SocketAddr),
    behind: &impl Signalling,
) {
    http::converse(stream, between, |request, between| answer(request, between, behind)).await;
}

/// The setting as the page sees and sets it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Form {
    delay_ms: u32,
    loss_percent: f64,
    interval_ms: u32,
}

async fn answer(
    request: Request<Incoming>,
    between: (SocketAddr, SocketAddr),
    behind: &impl Signalling,
) -> Response<Full<Bytes>> {
    if let Some(other) = other_site(&request, between.1) {
        let why = format!("host {other:?}: expected localhost or an address of this machine");
        return text(StatusCode::MISDIRECTED_REQUEST, &why);
    }
    let path = request.uri().path().to_owned();
    if let Some((_, content, body)) = FILES.iter().find(|(name, ..)| *name == path) {
        return match *request.method() {
            // Of an answer to HEAD, the server sends the head alone.
            Method::GET | Method::HEAD => typed(StatusCode::OK, content, (*body).to_owned()),
            _ => expected("GET, HEAD"),
        };
    }
    let answered = match (request.method(), path.as_str()) {
        (&Method::POST, "/offer") => answer_offer(request, between, behind).await,
        (&Method::POST, "/setting") => set(request, behind).await,
        (&Method::GET | &Method::HEAD, "/setting") => Ok(setting(behind)),
        (_, "/offer") => Ok(expected("POST")),
        (_, "/setting") => Ok(expected("GET, HEAD, POST")),
        _ => Ok(text(StatusCode::NOT_FOUND, "there are /, /offer and /setting")),
    };
    answered.unwrap_or_else(|refusal| *refusal)
}

/// The host that a request names, if it reached a loopback address under the name of another
/// machine: a page of that name has had its name lead here (DNS rebinding), and the browser takes
/// this server for the page's own.
fn other_site(request: &Request<Incoming>, local: SocketAddr) -> Option<String> {
    let host = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default())?;
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let own = name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok();
    (local.ip().is_loopback() && !own).then(|| host.to_owned())
}

async fn answer_offer(
    request: Request<Incoming>,
    (remote, local): (SocketAddr, SocketAddr),
    behind: &impl Signalling,
) -> Result<Response<Full<Bytes>>, Box<Response<Full<Bytes>>>> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let policy = match query.strip_prefix("policy=") {
        Some(policy) => policy,
        None if query.is_empty() => recovery::policy::SCTP_DEFAULT,
        None => {
            let why = format!("{query:?}: expected policy=NAME");
            return Ok(text(StatusCode::BAD_REQUEST, &why));
        }
    };
    let Some(policy) = RecoveryPolicy::preset(policy) else {
        let all = recovery::policy::Protocol::Sctp.presets();
        let names: Vec<&str> = all.iter().map(|preset| preset.0).collect();
        let why = format!("no recovery policy {policy:?}: expected one of {}", names.join(", "));
        return Ok(text(StatusCode::BAD_REQUEST, &why));
    };
    let offer = body(request, "application/sdp").await?;
    Ok(match behind.answer(&offer, policy, (remote.ip(), local.ip())) {
        Ok(answer) => typed(StatusCode::CREATED, "application/sdp", answer),
        Err(error) if error.is_shortage() => {
            text(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())
        }
        Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
    })
}

fn setting(behind: &impl Signalling) -> Response<Full<Bytes>> {
    let Setting { delay, loss, interval } = behind.setting();
    let ms = |span: Duration| u32::try_from(span.as_millis()).unwrap_or(u32::MAX);
    // As people write it: a probability is a multiple of 2⁻³².
    let loss_percent = (loss.as_f64() * 1e8).round() / 1e6;
    let form = Form { delay_ms: ms(delay), loss_percent, interval_ms: ms(interval) };
    let json = serde_json::to_string(&form).unwrap_or_default();
    typed(StatusCode::OK, "application/json", json)
}

async fn set(
    request: Request<Incoming>,
    behind: &impl Signalling,
) -> Result<Response<Full<Bytes>>, Box<Response<Full<Bytes>>>> {
    let form = body(request, "application/json").await?;
    let wrong = |why: String| Box::new(text(StatusCode::BAD_REQUEST, &why));
    let form: Form = serde_json::from_str(&form).map_err(|error| wrong(error.to_string()))?;
    if !(0.0..=100.0).contains(&form.loss_percent) {
        return Err(wrong(format!("loss_percent {}: expected 0 to 100", form.loss_percent)));
    }
    let setting = Setting {
        delay: Duration::from_millis(form.delay_ms.into()),
        loss: Probability::from_f64(form.loss_percent / 100.0),
        interval: Duration::from_millis(form.interval_ms.into()),
    };
    behind.set(setting).map_err(|error| wrong(error.to_string()))?;
    Ok(text(StatusCode::NO_CONTENT, ""))
}

/// The body of a request of this type of content, as text; or the refusal.
async fn body(
    request: Request<Incoming>,
    expected: &'static str,
) -> Result<String, Box<Response<Full<Bytes>>>> {
    let refuse = |status, why: &str| Box::new(text(status, why));
    let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let given = given.unwrap_or_default().to_owned();
    if given.split(';').next().map(str::trim) != Some(expected) {
        let why = format!("content-type {given:?}: expected {expected}");
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &why));
    }
    let bytes = Limited::new(request.into_body(), BODY).collect().await;
    let bytes = bytes.map_err(|_| {
        refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is cut short, or has more than 65536 bytes")
    })?;
    String::from_utf8(bytes.to_bytes().into())
        .map_err(|_| refuse(StatusCode::BAD_REQUEST, "the body is not UTF-8"))
}

/// The refusal of a method, with those that there are (RFC 9110, section 15.5.6).
fn expected(methods: &'static str) -> Response<Full<Bytes>> {
    let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, &format!("expected {methods}"));
    refusal.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    refusal
}

fn typed(status: StatusCode, content: &'static str, body: String) -> Response<Full<Bytes>> {
    http::typed(status, content, body, "default-src 'self'; img-src data:")
}

fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", format!("{text}\n"))
}
