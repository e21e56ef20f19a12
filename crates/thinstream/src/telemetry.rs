//! Spans and events of `tracing`, for operators of applications.
//!
//! The span `endpoint` names its address and SCTP port; events of its associations and paths are in
//! it.

use std::net::SocketAddr;

use sctp::Event;
use secure::Refusal;
use tracing::{Span, debug, info, warn};

use crate::error::SessionError;

/// The span of an endpoint's driver.
pub(crate) fn endpoint_span(local: SocketAddr, sctp_port: u16) -> Span {
    tracing::info_span!("endpoint", %local, sctp_port)
}

/// The socket of the endpoint failed, and with it all associations.
pub(crate) fn on_socket_failed(reason: &str) {
    tracing::error!(reason, "the socket failed");
}

/// Writes the event of an association with `peer`.
pub(crate) fn on_event(peer: Option<SocketAddr>, event: &Event) {
    let peer = peer.map(tracing::field::display);
    match event {
        Event::Established => info!(peer, "association established"),
        Event::Closed => info!(peer, "association shut down"),
        Event::Failed(reason) => warn!(peer, %reason, "association failed"),
        Event::Restarted => warn!(peer, "the peer restarted"),
        Event::PathChanged { path, remote, change } => {
            info!(peer, path, %remote, ?change, "path changed");
        }
        Event::Abandoned(abandoned) => {
            let (stream, reason) = (abandoned.stream.0, abandoned.reason);
            debug!(peer, stream, ?reason, "message given up");
        }
        Event::FurtherAbandoned { messages } => debug!(peer, messages, "messages given up"),
        // Each message makes them.
        Event::Readable | Event::Writable => {}
        other => debug!(peer, event = ?other, "association changed"),
    }
}

/// An encrypted session that this side wanted could not be set up.
pub(crate) fn on_session_failed(remote: SocketAddr, reason: &SessionError) {
    warn!(%remote, %reason, "no encrypted session");
}

/// A client was refused because of its key.
pub(crate) fn on_refused(remote: SocketAddr, reason: &Refusal) {
    warn!(%remote, %reason, "client refused");
}
