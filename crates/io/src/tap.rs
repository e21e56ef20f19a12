//! A packet capture of what a driver sends and receives.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use base::{DatagramMeta, Instant, Transmit};
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::frame::{FrameHeader, IP_PROTOCOL_SCTP};

use crate::clock::Clock;
use crate::udp::unspecified_for;

/// Writes datagrams in real time to a pcapng file, with IP and UDP headers made up from their
/// addresses.
///
/// Meant to be called by a machine that passes packets on to another; `writer` should buffer.
/// The first failure of the writer ends the capture and is returned by [`PcapTap::finish`].
pub struct PcapTap<W: Write> {
    file: PcapWriter<W>,
    interface: InterfaceId,
    /// The local address of the route to each remote one, for sockets of any address.
    sources: BTreeMap<IpAddr, IpAddr>,
    failure: Option<io::Error>,
}

impl<W: Write> PcapTap<W> {
    /// Begins a capture of the packets of `name` (an endpoint, for instance), with times of
    /// `clock`.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn new(writer: W, name: &str, clock: Clock) -> io::Result<PcapTap<W>> {
        let origin = clock.since_epoch(Instant::ZERO);
        let mut file = PcapWriter::with_origin(writer, origin)?;
        let interface = file.add_interface(name)?;
        Ok(PcapTap { file, interface, sources: BTreeMap::new(), failure: None })
    }

    /// Writes a datagram that is sent; without `transmit.local` the source is unspecified.
    pub fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]) {
        let local = transmit.local.unwrap_or(unspecified_for(transmit.remote));
        let source = SocketAddr::new(self.source(local.ip(), transmit.remote), local.port());
        self.write(now, source, transmit.remote, transmit.ecn, datagram);
    }

    /// Writes a received datagram as a packet from `meta.remote` to `meta.local`.
    pub fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &[u8]) {
        self.write(now, meta.remote, meta.local, meta.ecn, datagram);
    }

    /// Ends the capture and returns the writer.
    ///
    /// # Errors
    /// The writer's first error; the file ends before it.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.file.flush().map(|()| self.file.into_inner()),
        }
    }

    fn write(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        ecn: base::Ecn,
        payload: &[u8],
    ) {
        if self.failure.is_some() {
            return;
        }
        let header = FrameHeader { source, destination, ecn, raw_protocol: IP_PROTOCOL_SCTP };
        match self.file.write(self.interface, now, header, payload) {
            // What no IP packet can carry is not on any wire.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => self.failure = Some(error),
            _ => {}
        }
    }

    /// `local`, or the address from which the system sends to `remote` if `local` is unspecified.
    fn source(&mut self, local: IpAddr, remote: SocketAddr) -> IpAddr {
        /// Most remote addresses remembered, since a server may have any number.
        const REMEMBERED: usize = 4096;
        if !local.is_unspecified() {
            return local;
        }
        if let Some(known) = self.sources.get(&remote.ip()) {
            return *known;
        }
        if self.sources.len() >= REMEMBERED {
            self.sources.clear();
        }
        let source = route_source(remote).unwrap_or(unspecified_for(remote).ip());
        self.sources.insert(remote.ip(), source);
        source
    }
}

/// The address that the system's routes choose towards `remote`; nothing is sent.
fn route_source(remote: SocketAddr) -> io::Result<IpAddr> {
    const ANY_PORT: u16 = 9;
    let socket = UdpSocket::bind(unspecified_for(remote))?;
    socket.connect(SocketAddr::new(remote.ip(), ANY_PORT))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use base::Ecn;

    use super::*;

    /// Whether `needle` occurs in `haystack`.
    fn contains(haystack: &[u8], needle: &[u8]) -> bool {
        haystack.windows(needle.len()).any(|window| window == needle)
    }

    #[test]
    fn both_directions_are_captured_with_the_address_that_the_system_would_choose() {
        let mut tap = PcapTap::new(Vec::new(), "endpoint", Clock::start()).unwrap();
        let (local, remote) = ("0.0.0.0:9899", "127.0.0.1:7777");
        let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
        let transmit = Transmit {
            local: Some(local),
            remote,
            ecn: Ecn::Ect0,
            dont_fragment: false,
            service: base::IpService::default(),
            size: 4,
        };
        tap.on_sent(Instant::ZERO, &transmit, b"ping");
        let here = SocketAddr::new([127, 0, 0, 1].into(), 9899);
        let meta = DatagramMeta { local: here, remote, ecn: Ecn::NotEct, origin: None };
        tap.on_received(Instant::from_millis(1), &meta, b"pong");
        let file = tap.finish().unwrap();
        assert!(contains(&file, b"ping") && contains(&file, b"pong"));
        let addresses = [127, 0, 0, 1, 127, 0, 0, 1];
        let ports = [9899u16.to_be_bytes(), 7777u16.to_be_bytes()].concat();
        assert!(contains(&file, &[&addresses[..], &ports].concat()));
    }

    #[test]
    fn a_full_disk_ends_the_capture_and_is_told_in_the_end() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let meta = DatagramMeta { local: address, remote: address, ecn: Ecn::NotEct, origin: None };
        let mut disk = [0; 300];
        let mut tap = PcapTap::new(&mut disk[..], "endpoint", Clock::start()).unwrap();
        for _ in 0..10 {
            tap.on_received(Instant::ZERO, &meta, &[0; 100]);
        }
        assert!(tap.finish().is_err());
    }
}
