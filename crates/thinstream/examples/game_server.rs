//! A game server for browsers: each player's mouse moves a dot, and all players see all dots.
//!
//! `cargo run -p thinstream --features webrtc --example game_server`, then open the address that it
//! prints in two windows. The page's messages may be lost; the server's arrive in order.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use thinstream::webrtc::{
    ChannelEvent, Connection, Listener, ListenerOptions, MessageKind, PeerEvent, candidates,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = Listener::bind("0.0.0.0:0".parse()?, ListenerOptions::default())?;
    tokio::spawn(host(listener.clone()));
    let http = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    println!("open http://{}/ in a browser", http.local_addr()?);
    loop {
        let (stream, remote) = http.accept().await?;
        let (listener, local) = (listener.clone(), stream.local_addr()?);
        let answer = service_fn(move |request| answer(listener.clone(), local, remote, request));
        let mut server = hyper::server::conn::http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
        tokio::spawn(server.serve_connection(TokioIo::new(stream), answer));
    }
}

/// The page, or the answer to its offer.
async fn answer(
    listener: Listener,
    local: std::net::SocketAddr,
    remote: std::net::SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let respond = |status: StatusCode, text: String| {
        Ok(Response::builder().status(status).body(Full::from(text)).unwrap_or_default())
    };
    if request.method() == Method::GET {
        return respond(StatusCode::OK, include_str!("game.html").to_owned());
    }
    let offer = Limited::new(request.into_body(), 64 << 10).collect().await;
    let offer = offer.map(|offer| String::from_utf8_lossy(&offer.to_bytes()).into_owned());
    let candidates = candidates(local.ip(), listener.local_addr().port());
    match listener.answer(&offer.unwrap_or_default(), Some(remote.ip()), &candidates) {
        Ok((_, answer)) => respond(StatusCode::CREATED, answer),
        Err(error) => respond(StatusCode::BAD_REQUEST, error.to_string()),
    }
}

/// Place of each player's dot, from the left and from the top, 16 bits each.
type Dots = Arc<Mutex<BTreeMap<u32, [u8; 4]>>>;

/// Lets everyone play who connects.
async fn host(listener: Listener) {
    let dots = Dots::default();
    let mut players = 0..;
    while let (Ok(page), Some(player)) = (listener.accept().await, players.next()) {
        let dots = dots.clone();
        tokio::spawn(async move {
            play(page, player, &dots).await;
            dots.lock().unwrap_or_else(PoisonError::into_inner).remove(&player);
        });
    }
}

/// A player's game: 33 times a second the page hears where all dots are.
async fn play(page: Connection, player: u32, dots: &Dots) {
    let mut ticks = tokio::time::interval(Duration::from_millis(30));
    let mut state = None;
    loop {
        tokio::select! {
            event = page.event() => match event {
                Some(PeerEvent::Channel(ChannelEvent::Opened { id, options })) => {
                    state = (options.label == "state").then_some(id).or(state);
                }
                Some(PeerEvent::Channel(ChannelEvent::Message { payload, .. })) => {
                    if let Ok(place) = payload[..].try_into() {
                        dots.lock().unwrap_or_else(PoisonError::into_inner).insert(player, place);
                    }
                }
                Some(_) => {}
                None => return,
            },
            _ = ticks.tick() => if let Some(state) = state {
                let all = dots.lock().unwrap_or_else(PoisonError::into_inner);
                let all: Vec<u8> = all.values().flatten().copied().collect();
                let _ = page.send(state, MessageKind::Binary, all);
            }
        }
    }
}
