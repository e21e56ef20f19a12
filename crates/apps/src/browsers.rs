//! `thinstream serve --webrtc`: a page that any browser opens, and its data channels.
//!
//! | file | what it does |
//! |---|---|
//! | `setting` | what the page's sliders set: the link, and how often messages leave |
//! | `http` | the page over HTTP, and the exchange of offer and answer |
//! | `signalling` | what the exchange asks of those behind it |
//! | `pages` | all visitors: the listener behind the link, answers to offers |
//! | `visit` | one connection of a visitor's page: what moves goes down, where the visitor points comes up |
//! | `scene` | where the things of the scene are at a time |
//! | `link` | the built-in lossy link |
//!
//! The page connects twice, once for each recovery policy that it compares, over the same link.

mod http;
mod link;
mod pages;
mod scene;
mod setting;
mod signalling;
mod visit;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use thinstream::webrtc::{ListenError, Listener, ListenerOptions, ServerOptions, candidates};
use tokio::net::TcpListener;

pub use self::http::converse;
pub use self::link::LinkError;
use self::link::LossyLink;
use self::pages::Pages;
pub use self::setting::{Setting, SettingError};
pub use self::signalling::{ChangeError, Signalling};

/// Address and setting of the served page.
#[derive(Clone, Copy, Debug)]
pub struct BrowsersOptions {
    /// Address at which the page is served, over HTTP.
    pub listen: SocketAddr,
    /// The built-in link and the messages; the page can change them.
    pub setting: Setting,
}

/// Reason for which nothing could be served, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum BrowsersError {
    /// The address of the page is not available.
    #[error("cannot listen at {0} over TCP: {1}")]
    Page(SocketAddr, std::io::Error),
    /// The socket of the data channels is not available.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The link cannot be started.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The setting is out of its bounds.
    #[error(transparent)]
    Setting(#[from] SettingError),
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
    options.setting.check()?;
    let page = |error| BrowsersError::Page(options.listen, error);
    let tcp = TcpListener::bind(options.listen).await.map_err(page)?;
    let local = tcp.local_addr().map_err(page)?;
    let behind = SocketAddr::new(behind_the_link(local.ip()), 0);
    let listener = Listener::bind(behind, options_of_visitors())?;
    let any: IpAddr = match local {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let link = LossyLink::start((any, 0).into(), listener.local_addr(), &options.setting)?;
    let pages = Arc::new(Pages::new(listener, link, options.setting));
    on_ready(local);
    tokio::select! {
        () = pages.accept_all() => {}
        () = http::serve(tcp, Arc::clone(&pages)) => {}
        () = stop => {}
    }
    Ok(())
}

/// Limits of a visitor's page, which sends the position of its pointer and receives small messages.
fn options_of_visitors() -> ListenerOptions {
    const MESSAGE: usize = 16 << 10;
    const WINDOW: usize = 64 << 10;
    let mut server = ServerOptions::new(Vec::new());
    server.association.max_message_size = MESSAGE;
    server.association.receive_buffer = WINDOW as u32;
    server.association.send_buffer = 4 * WINDOW;
    server.unread = WINDOW;
    server.max_channels = 16;
    ListenerOptions { server: Some(server), ..ListenerOptions::default() }
}

/// Address of the listener behind the link, for a page served at `page`. Firefox takes no answer to
/// its checks that tells it a loopback address, and behind the link an answer tells the link's.
fn behind_the_link(page: IpAddr) -> IpAddr {
    let page = match page {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        _ => page,
    };
    candidates(page, 0).first().map_or(page, |first| first.ip())
}

/// Runs [`browsers_until`] until Ctrl-C.
///
/// # Errors
/// As [`browsers_until`].
pub async fn browsers(
    options: &BrowsersOptions,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), BrowsersError> {
    browsers_until(options, on_ready, crate::signals::interrupted()).await
}
