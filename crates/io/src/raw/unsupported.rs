//! Raw IP where this project does not have it: it cannot be opened.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use base::Transmit;

use crate::transport::{BindError, RecvBatch, Transport, TransportStatistics};

/// A raw IP socket, which exists on Linux only.
#[derive(Debug)]
pub struct RawTransport(Infallible);

impl RawTransport {
    /// Fails.
    pub fn bind(address: SocketAddr) -> Result<RawTransport, BindError> {
        let source = io::Error::new(io::ErrorKind::Unsupported, "raw IP is for Linux only");
        Err(BindError::new("raw IP", address, source))
    }
}

impl Transport for RawTransport {
    fn local_addr(&self) -> SocketAddr {
        match self.0 {}
    }

    async fn send(&self, _transmits: &[Transmit], _buffer: &[u8]) {
        match self.0 {}
    }

    fn poll_readable(&self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }

    fn try_recv(&self, _batch: &mut RecvBatch) -> io::Result<()> {
        match self.0 {}
    }

    fn statistics(&self) -> TransportStatistics {
        match self.0 {}
    }
}
