//! The page and the exchange of offer and answer, over HTTP/1.1.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the page |
//! | `POST /offer?policy=NAME`, `application/sdp` | 201 with the answer, as WHIP (RFC 9725) has it |
//! | `GET /link` | what the link is like, as JSON |
//! | `POST /link`, `application/json` with `delay_ms` and `loss_percent` | 204 |
//!
//! Both POSTs have a type of content that no page of another origin may send without being asked, and nothing here asks.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Probability};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::link::LinkSetting;
use super::pages::{AnswerError, Pages};

/// Bytes of the body of a request.
const BODY: usize = 64 << 10;
/// Connections at once.
const CONNECTIONS: usize = 256;
/// Time in which the head of a request arrives, and a request is answered.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// The page.
const PAGE: &str = include_str!("page.html");

/// Serves the page until the process ends.
pub(super) async fn serve(tcp: TcpListener, pages: Arc<Pages>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, remote)) = tcp.accept().await else {
            // A shortage of descriptors passes.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let pages = Arc::clone(&pages);
        tokio::spawn(async move {
            let _place = place;
            converse(stream, remote, pages).await;
        });
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, remote: SocketAddr, pages: Arc<Pages>) {
    let Ok(local) = stream.local_addr() else { return };
    let service = hyper::service::service_fn(move |request| {
        let pages = Arc::clone(&pages);
        async move {
            let answered = tokio::time::timeout(PATIENCE, answer(request, (remote, local), &pages));
            let answered = answered.await;
            let late = || text(StatusCode::REQUEST_TIMEOUT, "the request took too long");
            Ok::<_, Infallible>(answered.unwrap_or_else(|_| late()))
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_headers(64);
    // A browser that goes away is no error.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// The link as the page sees and sets it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LinkForm {
    delay_ms: u32,
    loss_percent: f64,
}

async fn answer(
    request: Request<Incoming>,
    (remote, local): (SocketAddr, SocketAddr),
    pages: &Arc<Pages>,
) -> Response<Full<Bytes>> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let content = request.headers().get(CONTENT_TYPE).cloned();
    match (method, path.as_str()) {
        (Method::GET, "/") => typed(StatusCode::OK, "text/html; charset=utf-8", PAGE.to_owned()),
        (Method::POST, "/offer") => {
            let offer = match body(request, content.as_ref(), "application/sdp").await {
                Ok(offer) => offer,
                Err(refusal) => return *refusal,
            };
            let policy = query.strip_prefix("policy=").unwrap_or(recovery::policy::SCTP_DEFAULT);
            match pages.answer(&offer, policy, (remote.ip(), local.ip())) {
                Ok(answer) => typed(StatusCode::CREATED, "application/sdp", answer),
                Err(AnswerError::Accept(error)) if error.is_shortage() => {
                    text(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())
                }
                Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
            }
        }
        (Method::POST, "/link") => {
            let link = match body(request, content.as_ref(), "application/json").await {
                Ok(link) => link,
                Err(refusal) => return *refusal,
            };
            match set_link(&link, pages) {
                Ok(()) => text(StatusCode::NO_CONTENT, ""),
                Err(error) => text(StatusCode::BAD_REQUEST, &error),
            }
        }
        (Method::GET, "/link") => {
            let LinkSetting { delay, loss } = pages.link();
            let delay_ms = u32::try_from(delay.as_millis()).unwrap_or(u32::MAX);
            let link = LinkForm { delay_ms, loss_percent: loss.as_f64() * 100.0 };
            let json = serde_json::to_string(&link).unwrap_or_default();
            typed(StatusCode::OK, "application/json", json)
        }
        (_, "/") => text(StatusCode::METHOD_NOT_ALLOWED, "expected GET"),
        (_, "/offer" | "/link") => text(StatusCode::METHOD_NOT_ALLOWED, "expected POST"),
        _ => text(StatusCode::NOT_FOUND, "there are /, /offer and /link"),
    }
}

fn set_link(link: &str, pages: &Pages) -> Result<(), String> {
    let link: LinkForm = serde_json::from_str(link).map_err(|error| error.to_string())?;
    if !(0.0..=100.0).contains(&link.loss_percent) {
        return Err("loss_percent: expected 0 to 100".to_owned());
    }
    let setting = LinkSetting {
        delay: Duration::from_millis(link.delay_ms.into()),
        loss: Probability::from_f64(link.loss_percent / 100.0),
    };
    pages.set_link(setting).map_err(|error| error.to_string())
}

/// The body of a request of this type of content, as text; or the refusal.
async fn body(
    request: Request<Incoming>,
    content: Option<&HeaderValue>,
    expected: &'static str,
) -> Result<String, Box<Response<Full<Bytes>>>> {
    let refuse = |status, why: &str| Box::new(text(status, why));
    let given = content.and_then(|value| value.to_str().ok()).unwrap_or_default();
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

fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

fn typed(status: StatusCode, content: &'static str, body: String) -> Response<Full<Bytes>> {
    let body = if status == StatusCode::NO_CONTENT { String::new() } else { body };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
    response
}
