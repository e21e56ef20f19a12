//! `thinstream serve --webrtc`: a page that any browser opens, and its data channels.
//!
//! The page connects twice, once for each recovery policy that it compares, over the built-in link. On a channel with the label
//! `moves` the server sends where things are, on any other it sends back what comes.

mod http;
mod link;
mod pages;
mod reach;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base::{Duration, Probability};
use thinstream::webrtc::{ListenError, Listener, ListenerOptions};
use tokio::net::TcpListener;

use self::link::LossyLink;
pub use self::link::{LinkError, LinkSetting, LinkSettingError};
use self::pages::Pages;

/// What to serve, and where.
#[derive(Clone, Debug)]
pub struct BrowsersOptions {
    /// Where the page is served, over HTTP.
    pub listen: SocketAddr,
    /// The built-in link; the page can change it.
    pub link: LinkSetting,
}

impl BrowsersOptions {
    /// A server at `listen` behind a link of 50 ms one way that loses 5 % of the packets.
    pub fn new(listen: SocketAddr) -> BrowsersOptions {
        let link =
            LinkSetting { delay: Duration::from_millis(50), loss: Probability::from_ratio(5, 100) };
        BrowsersOptions { listen, link }
    }
}

/// Why nothing could be served, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum BrowsersError {
    /// The address of the page cannot be had.
    #[error("cannot listen at {0} over TCP: {1}")]
    Page(SocketAddr, std::io::Error),
    /// The socket of the data channels cannot be had.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The link cannot be started.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Serves until `stop`. `on_ready` gets the address of the page.
///
/// # Errors
/// See [`BrowsersError`].
pub async fn browsers_until(
    options: &BrowsersOptions,
    on_ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), BrowsersError> {
    let page = |error| BrowsersError::Page(options.listen, error);
    let tcp = TcpListener::bind(options.listen).await.map_err(page)?;
    let local = tcp.local_addr().map_err(page)?;
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into(), ListenerOptions::default())?;
    let any = SocketAddr::new(
        if local.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { [0u16; 8].into() },
        0,
    );
    let link = LossyLink::start(any, listener.local_addr(), options.link)?;
    let pages = Arc::new(Pages::new(listener, link, options.link));
    on_ready(local);
    tokio::select! {
        () = Arc::clone(&pages).accept_all() => {}
        () = http::serve(tcp, pages) => {}
        () = stop => {}
    }
    Ok(())
}

/// As [`browsers_until`], until Ctrl-C.
///
/// # Errors
/// As [`browsers_until`].
pub async fn browsers(
    options: &BrowsersOptions,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), BrowsersError> {
    browsers_until(options, on_ready, crate::signals::interrupted()).await
}
