//! One connection and its states.

mod info;
mod state;

use core::fmt;
use core::net::SocketAddr;
use std::sync::Arc;

use base::Instant;
use bytes::Bytes;

pub use self::info::{ConnectionInfo, Counters};
pub use self::state::State;
use crate::event::Failure;
use crate::options::ConnectionOptions;

/// What a connection has for its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The next bytes in order.
    Data(Bytes),
    /// Nothing yet: [`Event::Readable`](crate::Event::Readable) follows.
    Nothing,
    /// The peer finished, and everything was read.
    Finished,
}

/// Why a connection takes no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// There is no such connection.
    NoConnection,
    /// This side has finished.
    Finished,
    /// The connection failed.
    Failed(Failure),
}

/// Why a connection gives no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// There is no such connection.
    NoConnection,
    /// The application closed it.
    Closed,
    /// The connection failed.
    Failed(Failure),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::NoConnection => f.write_str("there is no such connection"),
            SendError::Finished => f.write_str("this side of the connection has finished"),
            SendError::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for SendError {}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectionError::NoConnection => f.write_str("there is no such connection"),
            ConnectionError::Closed => f.write_str("the connection was closed"),
            ConnectionError::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for ConnectionError {}

/// A connection, to ask; the [`Endpoint`](crate::Endpoint) has the calls that change one.
#[derive(Debug)]
pub struct Connection {
    pub(crate) options: Arc<ConnectionOptions>,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: State,
    failure: Option<Failure>,
}

impl Connection {
    pub(crate) fn new(
        options: Arc<ConnectionOptions>,
        local: SocketAddr,
        remote: SocketAddr,
        state: State,
    ) -> Self {
        Connection { options, local, remote, state, failure: None }
    }

    /// Its options.
    pub fn options(&self) -> &ConnectionOptions {
        &self.options
    }

    /// This side's address and port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The peer's address and port.
    pub fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Bytes that can be read.
    pub fn readable_bytes(&self) -> usize {
        0
    }

    /// Bytes that [`Endpoint::send`](crate::Endpoint::send) would take now.
    pub fn writable_bytes(&self) -> usize {
        0
    }

    /// Bytes in front of the urgent mark, while it is ahead of what was read (SIOCATMARK: 0).
    pub fn urgent_mark(&self) -> Option<usize> {
        None
    }

    /// A snapshot at `now`; none while nothing was negotiated (SYN-SENT, SYN-RECEIVED).
    pub fn info(&self, now: Instant) -> Option<ConnectionInfo> {
        let _ = now;
        None
    }
}
