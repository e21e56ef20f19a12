//! Captures in the pcapng format with times in nanoseconds.
//!
//! [`PcapWriter`] writes datagrams of any origin; [`Capture`] is the [`Checker`] that writes the
//! packets that hosts of a simulation send and receive, as captured on each of them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Write};

use base::{Duration, Instant};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use crate::checker::Checker;
use crate::frame::{FrameHeader, frame_datagram};
use crate::packet::{HostId, Packet};

/// An interface in a capture file, a place where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Writes datagrams with synthesised IP and UDP headers into a pcapng file.
pub struct PcapWriter<W: Write> {
    file: PcapNgWriter<W>,
    origin: Duration,
    interfaces: u32,
    frame: Vec<u8>,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file. Time zero is shown as 1 January 1970.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn new(writer: W) -> io::Result<PcapWriter<W>> {
        PcapWriter::with_origin(writer, Duration::ZERO)
    }

    /// Begins a file in which time zero is shown as `origin` after 1 January 1970 (UTC), for
    /// drivers in real time.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn with_origin(writer: W, origin: Duration) -> io::Result<PcapWriter<W>> {
        let file = PcapNgWriter::new(writer).map_err(into_io)?;
        Ok(PcapWriter { file, origin, interfaces: 0, frame: Vec::new() })
    }

    /// Adds an interface to write packets for.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add_interface(&mut self, name: &str) -> io::Result<InterfaceId> {
        const NANOSECONDS: u8 = 9;
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        // The link type says that packets begin with their IP header.
        let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 0, options };
        // The file keeps the block, so it has to own its name.
        self.file.write_pcapng_block(block.into_owned()).map_err(into_io)?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Writes the IP packet that carries `payload`, as seen at `now`.
    ///
    /// # Errors
    /// Those of the writer, and `InvalidInput` when no IP packet can carry the datagram; nothing is
    /// written then.
    pub fn write(
        &mut self,
        interface: InterfaceId,
        now: Instant,
        header: FrameHeader,
        payload: &[u8],
    ) -> io::Result<()> {
        self.write_remarked(interface, now, header, payload, None)
    }

    /// Writes a packet with a comment, which tools show beside it.
    ///
    /// # Errors
    /// As [`PcapWriter::write`].
    pub fn write_remarked(
        &mut self,
        interface: InterfaceId,
        now: Instant,
        header: FrameHeader,
        payload: &[u8],
        remark: Option<&str>,
    ) -> io::Result<()> {
        self.frame.clear();
        frame_datagram(header, payload, &mut self.frame)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let timestamp = (now + self.origin).since(Instant::ZERO);
        let block = EnhancedPacketBlock {
            interface_id: interface.0,
            timestamp: timestamp.into(),
            original_len: self.frame.len() as u32,
            data: Cow::Borrowed(&self.frame),
            options: remark
                .map(|one| EnhancedPacketOption::Comment(one.into()))
                .into_iter()
                .collect(),
        };
        self.file.write_pcapng_block(block).map(drop).map_err(into_io)
    }

    /// Flushes buffered bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }

    /// Gives the writer back, with all that was captured.
    pub fn into_inner(self) -> W {
        self.file.into_inner()
    }
}

/// Writes the packets that hosts send and receive, with an interface for each host.
///
/// A packet between two captured hosts is written twice, as in two merged captures. For an analysis
/// of retransmissions capture one host, or select one interface in the tool.
pub struct Capture<W: Write> {
    file: PcapWriter<W>,
    /// Points in the order of the hosts.
    points: Vec<(HostId, InterfaceId)>,
    failure: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture at `hosts`.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn new(writer: W, hosts: &[HostId]) -> io::Result<Capture<W>> {
        let mut file = PcapWriter::new(writer)?;
        let mut hosts = hosts.to_vec();
        hosts.sort_unstable();
        hosts.dedup();
        let points = hosts
            .into_iter()
            .map(|host| Ok((host, file.add_interface(&format!("host-{}", host.0))?)));
        let points = points.collect::<io::Result<_>>()?;
        Ok(Capture { file, points, failure: None })
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

    fn write(&mut self, now: Instant, host: HostId, packet: &Packet) {
        let Ok(point) = self.points.binary_search_by_key(&host, |(host, _)| *host) else { return };
        if self.failure.is_some() {
            return;
        }
        let datagram = &packet.datagram;
        let interface = self.points[point].1;
        match self.file.write(interface, now, FrameHeader::of(datagram), &datagram.payload) {
            // What no IP packet can carry (a host without a suitable address) is not on any wire.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => self.failure = Some(error),
            _ => {}
        }
    }
}

impl<W: Write> Checker for Capture<W> {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.write(now, packet.sender, packet);
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.write(now, receiver, packet);
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
