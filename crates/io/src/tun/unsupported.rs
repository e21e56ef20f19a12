//! Where there is no TUN device that this library knows: everything says so.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use base::Transmit;

use super::{TunError, TunOptions, TunStatistics};
use crate::transport::{RecvBatch, Transport, TransportStatistics};

/// A TUN device; there is none on this system.
#[derive(Debug)]
pub struct Tun(Infallible);

impl Tun {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_options: &TunOptions) -> Result<Tun, TunError> {
        let step = "create a TUN device on this system".to_owned();
        Err(TunError { step, source: io::ErrorKind::Unsupported.into() })
    }

    /// Name of the device.
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    /// Whether large packets pass whole.
    pub fn offload(&self) -> bool {
        match self.0 {}
    }

    /// The transports.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn transports(self, _: u8, _: &[IpAddr]) -> Result<Vec<TunTransport>, TunError> {
        match self.0 {}
    }
}

/// A transport over a TUN device; there is none on this system.
#[derive(Debug)]
pub struct TunTransport(Infallible);

impl TunTransport {
    /// What it did.
    pub fn tun_statistics(&self) -> TunStatistics {
        match self.0 {}
    }
}

impl Transport for TunTransport {
    fn local_addr(&self) -> SocketAddr {
        match self.0 {}
    }

    async fn send(&self, _: &[Transmit], _: &[u8]) {
        match self.0 {}
    }

    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }

    fn try_recv(&self, _: &mut RecvBatch) -> io::Result<()> {
        match self.0 {}
    }

    fn statistics(&self) -> TransportStatistics {
        match self.0 {}
    }
}
