//! Raw IP on unsupported systems: opening it fails.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use base::Transmit;

use crate::carrier::{BindError, Carrier, CarrierStatistics, RecvBatch};

/// A raw IP socket, which exists on Linux only.
#[derive(Debug)]
pub struct RawCarrier(Infallible);

impl RawCarrier {
    /// Fails with `Unsupported`: raw IP is for Linux only.
    pub fn bind(address: SocketAddr) -> Result<RawCarrier, BindError> {
        let source = io::Error::new(io::ErrorKind::Unsupported, "raw IP is for Linux only");
        Err(BindError::new("raw IP", address, source))
    }
}

impl Carrier for RawCarrier {
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

    fn statistics(&self) -> CarrierStatistics {
        match self.0 {}
    }
}
