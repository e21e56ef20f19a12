//! `thinstream lab live`: the laboratory as a page, which runs in the browser by itself.

use std::net::SocketAddr;

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use tokio::net::TcpListener;

use crate::http;

/// The page that the command was built with: empty if with none.
const EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/live.html"));

/// Content-Security-Policy of the page: all that it needs is inside, and it connects to nothing.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob: data:; \
                      worker-src blob: data:; style-src 'unsafe-inline'; img-src data:";

/// The page that the command was built with, if with one.
pub fn embedded() -> Option<&'static [u8]> {
    (!EMBEDDED.is_empty()).then_some(EMBEDDED)
}

/// Serves a page over HTTP until `stop`. `on_ready` gets its address.
///
/// # Errors
/// When the address is not available.
pub async fn live_until(
    page: Vec<u8>,
    listen: SocketAddr,
    on_ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let tcp = TcpListener::bind(listen).await?;
    on_ready(tcp.local_addr()?);
    let page = Bytes::from(page);
    let answer = move |request: hyper::Request<_>, _| {
        let page = page.clone();
        async move {
            let plain = "text/plain; charset=utf-8";
            match (request.method(), request.uri().path()) {
                (&Method::GET, "/") => {
                    http::typed(StatusCode::OK, "text/html; charset=utf-8", page, POLICY)
                }
                (_, "/") => {
                    http::typed(StatusCode::METHOD_NOT_ALLOWED, plain, "expected GET\n", "")
                }
                _ => http::typed(StatusCode::NOT_FOUND, plain, "there is /\n", ""),
            }
        }
    };
    tokio::select! {
        () = http::serve(tcp, answer) => {}
        () = stop => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn ask(address: SocketAddr, line: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_page_is_served_and_nothing_else() {
        let (ready, address) = tokio::sync::oneshot::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(live_until(
            b"<!doctype html>live".to_vec(),
            "127.0.0.1:0".parse().unwrap(),
            |local| _ = ready.send(local),
            async { _ = stopped.await },
        ));
        let address = address.await.unwrap();
        let page = ask(address, "GET /").await;
        assert!(
            page.starts_with("HTTP/1.1 200") && page.ends_with("<!doctype html>live"),
            "{page}"
        );
        assert!(page.contains("default-src 'none'"), "{page}");
        assert!(ask(address, "GET /other").await.starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /").await.starts_with("HTTP/1.1 405"));
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
    }
}
