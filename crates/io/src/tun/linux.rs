//! The TUN device of Linux.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use base::{Datagram, DatagramMeta, IcmpError, Transmit};
use bytes::Bytes;
use tun_rs::{AsyncDevice, DeviceBuilder, SyncDevice};

use super::addresses::Addresses;
use super::mailbox::Mailbox;
use super::offload::{self, HEADER_SIZE};
use super::{TunError, TunOptions, TunStatistics};
use crate::carrier::{Carrier, CarrierStatistics, Counters, RecvBatch, SLOT_SIZE};
use crate::ip::{self, IcmpReport, Identifications, IpHeader, IpPacket, Message, Refusal};

/// Most checks, a millisecond apart, whether the kernel has enabled an address.
const ATTEMPTS: u32 = 1000;

/// A TUN device that is up and has its addresses. The system removes it with its last queue.
pub struct Tun {
    name: String,
    mtu: usize,
    offload: bool,
    /// Addresses that the system routes to it, with the lengths of their prefixes.
    networks: Vec<(IpAddr, u8)>,
    queues: Vec<SyncDevice>,
}

impl fmt::Debug for Tun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tun {{ {}, {} queues }}", self.name, self.queues.len())
    }
}

impl Tun {
    /// Creates the device in the network namespace of the calling thread and brings it up.
    ///
    /// # Errors
    /// /dev/net/tun or the rights are missing, the name is taken, or an address is refused.
    pub fn open(options: &TunOptions) -> Result<Tun, TunError> {
        let device = match create(options, options.offload) {
            // A kernel without such offloads says so with one of these.
            Err(error) if options.offload && is_about_offload(&error) => create(options, false),
            other => other,
        };
        let wanted = options.name.as_deref().map(|name| format!("the TUN device {name}"));
        let wanted = wanted.unwrap_or_else(|| "a TUN device".to_owned());
        let device = device.map_err(during(format!("create {wanted}")))?;
        let name = device.name().map_err(during("learn the name of the TUN device"))?;
        for (address, prefix) in &options.host {
            if let IpAddr::V6(v6) = address {
                let step = format!("give {name} the address {address}/{prefix}");
                device.add_address_v6(*v6, *prefix).map_err(during(step))?;
                wait_for(*v6);
            }
        }
        let offload = device.tcp_gso();
        let mut queues = vec![device];
        while queues.len() < options.queues {
            let step = format!("open queue {} of {name}", queues.len() + 1);
            queues.push(queues[0].try_clone().map_err(during(step))?);
        }
        let (mtu, networks) = (usize::from(options.mtu), options.host.clone());
        Ok(Tun { name, mtu, offload, networks, queues })
    }

    /// Name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether large packets pass unsegmented.
    pub fn offload(&self) -> bool {
        self.offload
    }

    /// A carrier of `protocol` (of IP: [`ip::TCP`], [`ip::SCTP`]) for each queue, for a machine
    /// with these addresses, of which the first of each family is the default source. The
    /// unspecified address stands for all addresses of its family outside the device's own
    /// networks: packets that the system passes on for them are the machine's, too, except for
    /// pings. Needs a tokio runtime with I/O enabled.
    ///
    /// # Errors
    /// Where the runtime does not take the device, or the system has no randomness.
    pub fn carriers(self, protocol: u8, addresses: &[IpAddr]) -> Result<Vec<TunCarrier>, TunError> {
        let mailboxes = self.queues.iter().map(|_| Mailbox::default()).collect();
        let mut seed = [0; 32];
        let drawn = getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()));
        drawn.map_err(during("draw random numbers"))?;
        let common = Arc::new(Common {
            protocol,
            addresses: Addresses::new(addresses, self.networks),
            mtu: self.mtu,
            offload: self.offload,
            mailboxes,
            identifications: Identifications::new(seed),
        });
        let carrier = |(index, queue)| {
            let device = AsyncDevice::new(queue)?;
            Ok(TunCarrier {
                device,
                common: common.clone(),
                index,
                counters: Counters::default(),
                tally: DeviceCounters::default(),
            })
        };
        let carriers: io::Result<_> = self.queues.into_iter().enumerate().map(carrier).collect();
        carriers.map_err(during(format!("wait for packets of {}", self.name)))
    }
}

/// Waits until the kernel's new address can be used: duplicate address detection takes time, on a
/// TUN device, too.
fn wait_for(address: Ipv6Addr) {
    for _ in 0..ATTEMPTS {
        if UdpSocket::bind((address, 0)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

impl Tun {
    /// The device as a port for whole packets, each behind ten bytes of virtio if it has offloads.
    /// Only the first of several queues is kept. Needs a tokio runtime with I/O enabled.
    ///
    /// # Errors
    /// The runtime cannot register the device.
    pub fn into_port(mut self) -> io::Result<TunPort> {
        self.queues.truncate(1);
        let device = self.queues.pop().ok_or(io::ErrorKind::NotFound)?;
        Ok(TunPort { device: AsyncDevice::new(device)? })
    }
}

/// A TUN device as a port for packets in both directions.
pub struct TunPort {
    device: AsyncDevice,
}

impl fmt::Debug for TunPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TunPort")
    }
}

impl TunPort {
    /// Waits until there may be a packet.
    ///
    /// # Errors
    /// Where the device is gone.
    pub async fn readable(&self) -> io::Result<()> {
        self.device.readable().await
    }

    /// Reads a packet into `buffer` and returns its length; `WouldBlock` if there is none.
    ///
    /// # Errors
    /// Where the device is gone.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.try_recv(buffer)
    }

    /// Passes a packet to the system. A packet that it refuses is lost, as on any wire.
    ///
    /// # Errors
    /// Where the device is gone.
    pub async fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self.device.send(packet).await {
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
            _ => Ok(()),
        }
    }
}

fn during(step: impl Into<String>) -> impl FnOnce(io::Error) -> TunError {
    let step = step.into();
    move |source| TunError { step, source }
}

fn create(options: &TunOptions, offload: bool) -> io::Result<SyncDevice> {
    let mut builder = DeviceBuilder::new().mtu(options.mtu);
    if let Some(name) = &options.name {
        builder = builder.name(name.as_str());
    }
    for (address, prefix) in &options.host {
        if let IpAddr::V4(v4) = address {
            builder = builder.ipv4(*v4, *prefix, None);
        }
    }
    let multi_queue = options.queues > 1;
    let prepare = |device: &mut tun_rs::DeviceBuilderGuard<'_>| {
        device.offload(offload).multi_queue(multi_queue);
    };
    builder.with(prepare).build_sync()
}

fn is_about_offload(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// State that the queues of one device share.
#[derive(Debug)]
struct Common {
    protocol: u8,
    addresses: Addresses,
    mtu: usize,
    offload: bool,
    /// One for each queue.
    mailboxes: Vec<Mailbox>,
    identifications: Identifications,
}

/// A queue of a TUN device as the carrier of one protocol. Ports in its addresses are 0.
pub struct TunCarrier {
    device: AsyncDevice,
    common: Arc<Common>,
    index: usize,
    counters: Counters,
    tally: DeviceCounters,
}

impl fmt::Debug for TunCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TunCarrier {{ queue {} of {:?} }}", self.index, self.common)
    }
}

/// Counters behind [`TunStatistics`].
#[derive(Debug, Default)]
struct DeviceCounters {
    packets_received: AtomicU64,
    packets_sent: AtomicU64,
    not_ours: AtomicU64,
    other_protocol: AtomicU64,
    fragments: AtomicU64,
    malformed: AtomicU64,
    icmp_errors: AtomicU64,
    echo_replies: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl TunCarrier {
    /// Statistics other than those of datagrams.
    pub fn tun_statistics(&self) -> TunStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let tally = &self.tally;
        TunStatistics {
            packets_received: read(&tally.packets_received),
            packets_sent: read(&tally.packets_sent),
            not_ours: read(&tally.not_ours),
            other_protocol: read(&tally.other_protocol),
            fragments: read(&tally.fragments),
            malformed: read(&tally.malformed),
            icmp_errors: read(&tally.icmp_errors),
            echo_replies: read(&tally.echo_replies),
        }
    }

    /// Reads one packet; `WouldBlock` if there is none.
    fn receive_one(&self, batch: &mut RecvBatch) -> io::Result<()> {
        let mut header = [0; HEADER_SIZE];
        let length = if self.common.offload {
            let storage = &mut batch.storage[..SLOT_SIZE];
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(storage)];
            self.device.try_recv_vectored(&mut parts)?.saturating_sub(HEADER_SIZE)
        } else {
            self.device.try_recv(&mut batch.storage[..SLOT_SIZE])?
        };
        count(&self.tally.packets_received);
        let packet = &mut batch.storage[..length.min(SLOT_SIZE)];
        let verified = self.common.protocol == ip::TCP && offload::vouches(&header);
        if !verified && !offload::complete_checksum(&header, packet) {
            count(&self.tally.malformed);
            return Ok(());
        }
        match IpPacket::parse(packet) {
            Ok(packet) => {
                if let Some((meta, payload)) = self.judge(&packet) {
                    self.counters.on_received(1, payload.len());
                    let datagram = Datagram { verified, ..payload.into() };
                    batch.push_datagram(meta, datagram);
                }
            }
            Err(Refusal::Fragment) => count(&self.tally.fragments),
            Err(_) => count(&self.tally.malformed),
        }
        Ok(())
    }

    /// The machine's datagram in the packet, if it has one. ICMP is handled here.
    fn judge(&self, packet: &IpPacket<'_>) -> Option<(DatagramMeta, Bytes)> {
        if !self.common.addresses.take(packet.destination) {
            count(&self.tally.not_ours);
        } else if packet.protocol == self.common.protocol {
            let meta = DatagramMeta {
                local: SocketAddr::new(packet.destination, 0),
                remote: SocketAddr::new(packet.source, 0),
                ecn: packet.ecn,
                origin: None,
            };
            return Some((meta, Bytes::copy_from_slice(packet.payload)));
        } else if matches!(packet.protocol, ip::ICMP | ip::ICMPV6) {
            self.on_icmp(packet);
        } else {
            count(&self.tally.other_protocol);
        }
        None
    }

    fn on_icmp(&self, packet: &IpPacket<'_>) {
        match Message::parse(packet) {
            Some(Message::EchoRequest { reply })
                if self.common.addresses.has(packet.destination) =>
            {
                let mut out = self.packet_start();
                // What does not leave at once is lost, as a ping may be.
                if Message::emit_reply(packet, &reply, &mut out).is_some()
                    && self.device.try_send(&out).is_ok()
                {
                    count(&self.tally.echo_replies);
                    count(&self.tally.packets_sent);
                }
            }
            Some(Message::Error { protocol, report })
                if protocol == self.common.protocol && self.common.addresses.take(report.local) =>
            {
                count(&self.tally.icmp_errors);
                self.common.mailboxes.iter().for_each(|mailbox| mailbox.leave(report.clone()));
            }
            _ => {}
        }
    }

    /// Bytes before the IP header.
    fn packet_start(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        if self.common.offload {
            out.extend_from_slice(&offload::plain_header());
        }
        out
    }

    /// The IP header for `transmit`; none where the machine has no address of that family.
    fn header(&self, transmit: &Transmit) -> Option<IpHeader> {
        let destination = transmit.remote.ip();
        let stated = transmit.local.map(|local| local.ip()).filter(|ip| !ip.is_unspecified());
        let source = stated.or_else(|| self.common.addresses.source_for(destination))?;
        let identification = match transmit.dont_fragment {
            true => 0,
            false => self.common.identifications.next(),
        };
        Some(IpHeader {
            source,
            destination,
            protocol: self.common.protocol,
            ecn: transmit.ecn,
            service: transmit.service,
            dont_fragment: transmit.dont_fragment,
            identification,
        })
    }

    /// Sends one datagram in a separate packet.
    async fn send_one(&self, transmit: &Transmit, datagram: &[u8]) {
        let sent = match self.header(transmit) {
            None => Err(io::Error::from(io::ErrorKind::AddrNotAvailable)),
            Some(header) if header.size() + datagram.len() > self.common.mtu => {
                self.report_too_big(&header, datagram);
                Err(io::Error::other(format!("{} bytes are too long", datagram.len())))
            }
            Some(header) => {
                let mut start = self.packet_start();
                match header.emit(datagram.len(), &mut start) {
                    None => Err(io::ErrorKind::InvalidInput.into()),
                    Some(()) => {
                        let parts = [IoSlice::new(&start), IoSlice::new(datagram)];
                        self.device.send_vectored(&parts).await
                    }
                }
            }
        };
        match sent {
            Ok(_) => {
                self.counters.on_sent(1, datagram.len());
                count(&self.tally.packets_sent);
            }
            Err(error) => self.counters.on_send_error(transmit.remote, &error),
        }
    }

    /// Reports to the machine that a packet is too big, as a router would.
    fn report_too_big(&self, header: &IpHeader, datagram: &[u8]) {
        self.common.mailboxes[self.index].leave(IcmpReport {
            local: header.source,
            remote: SocketAddr::new(header.destination, 0),
            error: IcmpError::PacketTooBig { mtu: self.common.mtu as u32 },
            quoted: Bytes::copy_from_slice(&datagram[..datagram.len().min(64)]),
        });
    }

    /// Sends segments of one connection as one packet; false if that is impossible.
    async fn send_joined(&self, segments: &[Transmit], buffer: &[u8]) -> bool {
        let first = &segments[0];
        let Some(header) = self.header(first) else { return false };
        if header.size() + first.size > self.common.mtu {
            return false;
        }
        let mut start = Vec::with_capacity(128);
        let emitted = offload::emit_joined(&header, segments, buffer, &mut start);
        let Some(header_size) = emitted else { return false };
        let mut parts = Vec::with_capacity(segments.len() + 1);
        parts.push(IoSlice::new(&start));
        let mut rest = buffer;
        for segment in segments {
            let (segment, after) = rest.split_at(segment.size);
            parts.push(IoSlice::new(&segment[header_size..]));
            rest = after;
        }
        let sent = self.device.send_vectored(&parts).await.is_ok();
        if sent {
            self.counters.on_sent(segments.len(), buffer.len());
            count(&self.tally.packets_sent);
        }
        sent
    }
}

impl Carrier for TunCarrier {
    fn local_addr(&self) -> SocketAddr {
        let any = || IpAddr::from([0; 4]);
        SocketAddr::new(self.common.addresses.first().unwrap_or_else(any), 0)
    }

    async fn send(&self, transmits: &[Transmit], buffer: &[u8]) {
        let (mut transmits, mut buffer) = (transmits, buffer);
        while !transmits.is_empty() {
            let joined = match self.common.offload && self.common.protocol == ip::TCP {
                true => offload::joinable(transmits, buffer),
                false => 1,
            };
            let (together, after) = transmits.split_at(joined.max(1));
            let size: usize = together.iter().map(|transmit| transmit.size).sum();
            let (mut contents, rest) = buffer.split_at(size.min(buffer.len()));
            (transmits, buffer) = (after, rest);
            if joined > 1 && self.send_joined(together, contents).await {
                continue;
            }
            for transmit in together {
                let (datagram, after) = contents.split_at(transmit.size.min(contents.len()));
                contents = after;
                self.send_one(transmit, datagram).await;
            }
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.common.mailboxes[self.index].poll(context.waker()) {
            return Poll::Ready(Ok(()));
        }
        self.device.poll_readable(context)
    }

    fn try_recv(&self, batch: &mut RecvBatch) -> io::Result<()> {
        /// Packets read before the machine gets its turn.
        const PACKETS: usize = 64;
        const BYTES: u64 = 512 * 1024;
        let limit = self.counters.bytes_received() + BYTES;
        batch.push_icmp(self.common.mailboxes[self.index].take());
        for _ in 0..PACKETS {
            match self.receive_one(batch) {
                Ok(()) if self.counters.bytes_received() >= limit => break,
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && batch.has_any() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn statistics(&self) -> CarrierStatistics {
        self.counters.snapshot()
    }
}
