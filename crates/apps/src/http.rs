//! Pages over HTTP/1.1: connections, their limits, and answers.

mod guests;

use std::convert::Infallible;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use self::guests::Guests;

/// Time in which the head of a request arrives, and a request is answered.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// Time of a connection in all: a browser that takes no answer would otherwise keep it for ever.
const LIFE: std::time::Duration = std::time::Duration::from_secs(60);

/// Answers requests until the process ends. `answer` gets a request and the addresses of the
/// browser and of this side.
pub(crate) async fn serve<F, A>(tcp: TcpListener, answer: F)
where
    F: Fn(Request<Incoming>, (SocketAddr, SocketAddr)) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let guests = Guests::default();
    loop {
        let Ok((stream, remote)) = tcp.accept().await else {
            // A shortage of descriptors passes.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let Ok(local) = stream.local_addr() else { continue };
        let conversation = converse(stream, (remote, local), answer.clone());
        let conversation = tokio::time::timeout(LIFE, conversation);
        guests.seat(remote.ip(), async move { drop(conversation.await) });
    }
}

/// Answers the requests of one connection, of a browser to this side.
pub(crate) async fn converse<C, F, A>(stream: C, between: (SocketAddr, SocketAddr), answer: F)
where
    C: AsyncRead + AsyncWrite + Unpin,
    F: Fn(Request<Incoming>, (SocketAddr, SocketAddr)) -> A,
    A: Future<Output = Response<Full<Bytes>>>,
{
    let service = hyper::service::service_fn(move |request| {
        let answered = tokio::time::timeout(PATIENCE, answer(request, between));
        async move {
            let late = || {
                let text = "the request took too long\n".to_owned();
                typed(StatusCode::REQUEST_TIMEOUT, "text/plain; charset=utf-8", text, "")
            };
            Ok::<_, Infallible>(answered.await.unwrap_or_else(|_| late()))
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_headers(64);
    // A browser that goes away is no error.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// An answer of this type of content, with what the page may load (Content-Security-Policy).
pub(crate) fn typed(
    status: StatusCode,
    content: &'static str,
    body: impl Into<Bytes>,
    policy: &'static str,
) -> Response<Full<Bytes>> {
    let body = if status == StatusCode::NO_CONTENT { Bytes::new() } else { body.into() };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    headers.insert("content-security-policy", HeaderValue::from_static(policy));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
