//! TUN on unsupported systems: every call fails.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use base::Transmit;

use super::{TunError, TunOptions, TunStatistics};
use crate::carrier::{Carrier, CarrierStatistics, RecvBatch};

/// A TUN device; there is none on this system.
#[derive(Debug)]
pub struct Tun(Infallible);

impl Tun {
    /// Fails with `Unsupported`: TUN devices are for Linux only.
    ///
    /// # Errors
    /// Always.
    pub fn open(_options: &TunOptions) -> Result<Tun, TunError> {
        let step = "create a TUN device on this system".to_owned();
        Err(TunError { step, source: io::ErrorKind::Unsupported.into() })
    }

    /// Name of the device; never called, since none opens on this system.
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    /// Whether large packets pass whole.
    pub fn offload(&self) -> bool {
        match self.0 {}
    }

    /// The carriers.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn carriers(self, _: u8, _: &[IpAddr]) -> Result<Vec<TunCarrier>, TunError> {
        match self.0 {}
    }

    /// The queues.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn queues(self, _: u8, _: &[IpAddr]) -> Result<Vec<TunQueue>, TunError> {
        match self.0 {}
    }
}

/// A queue of a TUN device; there is none on this system.
#[derive(Debug)]
pub struct TunQueue(Infallible);

impl TunQueue {
    /// The carrier.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn carrier(self) -> Result<TunCarrier, TunError> {
        match self.0 {}
    }
}

/// A carrier over a TUN device; there is none on this system.
#[derive(Debug)]
pub struct TunCarrier(Infallible);

impl TunCarrier {
    /// Counters of the device; never called, since no carrier exists on this system.
    pub fn tun_statistics(&self) -> TunStatistics {
        match self.0 {}
    }
}

impl Carrier for TunCarrier {
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

    fn statistics(&self) -> CarrierStatistics {
        match self.0 {}
    }
}
