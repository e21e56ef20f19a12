//! A packet capture of what a relay was given, before it loses any of it.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use etherparse::PacketBuilder;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

use crate::SCTP_UDP_PORT;

/// Writes UDP payloads as IPv4 packets between a `client` and a `server` on the port of RFC 6951,
/// so that any dissector knows them for SCTP whatever ports were really used. Clones write to the
/// same file.
#[derive(Clone)]
pub struct Capture {
    path: PathBuf,
    writer: Arc<Mutex<PcapWriter<File>>>,
    packets: Arc<Mutex<Vec<Packet>>>,
}

/// Facts kept about a packet of a capture.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Whether the client of the capture sent it.
    pub from_client: bool,
    /// Addresses of the client and of the server.
    pub path: [Ipv4Addr; 2],
    /// Types of its chunks, in their order.
    pub chunk_types: Vec<u8>,
    /// First four bytes of each chunk's value: of those about addresses, their serial number (RFC
    /// 5061).
    pub chunk_words: Vec<Option<[u8; 4]>>,
}

impl Capture {
    const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 49_899);
    const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 2), SCTP_UDP_PORT);

    /// A new capture file at `path`.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn create(path: &Path) -> Result<Capture> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
        let writer = PcapWriter::with_header(file, header)?;
        let (path, writer) = (path.to_owned(), Arc::new(Mutex::new(writer)));
        Ok(Capture { path, writer, packets: Arc::default() })
    }

    /// Adds a datagram at the current time.
    ///
    /// # Errors
    /// Where the file cannot be written or the datagram does not fit an IPv4 packet.
    pub fn add(&self, from_client: bool, payload: &[u8]) -> Result<()> {
        let path = [*Self::CLIENT.ip(), *Self::SERVER.ip()];
        self.add_on_path(from_client, path, payload)
    }

    /// Adds a packet between other addresses: those of the client and of the server.
    ///
    /// # Errors
    /// As [`Capture::add`].
    pub fn add_on_path(
        &self,
        from_client: bool,
        path: [Ipv4Addr; 2],
        payload: &[u8],
    ) -> Result<()> {
        let (client, server) = ((path[0], Self::CLIENT.port()), (path[1], Self::SERVER.port()));
        let (from, to) = if from_client { (client, server) } else { (server, client) };
        let mut bytes = Vec::with_capacity(payload.len() + 28);
        PacketBuilder::ipv4(from.0.octets(), to.0.octets(), 64)
            .udp(from.1, to.1)
            .write(&mut bytes, payload)?;
        let (chunk_types, chunk_words) = chunks(payload).unzip();
        let packet = Packet { from_client, path, chunk_types, chunk_words };
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).push(packet);
        // The time is taken under the lock: packets stand in the file in the order of their times.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        writer.write_packet(&PcapPacket::new(time, bytes.len() as u32, &bytes))?;
        Ok(())
    }

    /// Types of all chunks in what was added.
    pub fn chunk_types(&self) -> BTreeSet<u8> {
        self.packets().into_iter().flat_map(|packet| packet.chunk_types).collect()
    }

    /// All that was added, in its order.
    pub fn packets(&self) -> Vec<Packet> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file, for a dissector: all that was added is in it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Types of the chunks of a packet and what their values begin with, whatever else is wrong with
/// it: that is the dissector's to say.
fn chunks(packet: &[u8]) -> impl Iterator<Item = (u8, Option<[u8; 4]>)> {
    const COMMON_HEADER: usize = 12;
    let mut rest = packet.get(COMMON_HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let [kind, _, high, low, value @ ..] = rest else { return None };
        let chunk = (*kind, value.first_chunk().copied());
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(4).next_multiple_of(4);
        rest = rest.get(length..).unwrap_or_default();
        Some(chunk)
    })
}
