//! A queue of Linux's TUN device as a carrier.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use base::{Datagram, DatagramMeta, IcmpError, Transmit};
use bytes::Bytes;
use tun_rs::AsyncDevice;

use super::TunStatistics;
use super::addresses::Addresses;
use super::buffers::{Buffers, LARGE};
use super::mailbox::Mailbox;
use super::offload::{self, HEADER_SIZE};
use crate::carrier::{Carrier, CarrierStatistics, Counters, RecvBatch, SLOT_SIZE};
use crate::ip::{self, IcmpReport, Identifications, IpHeader, IpPacket, Message, Refusal};

/// State that the queues of one device share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) protocol: u8,
    pub(super) addresses: Addresses,
    pub(super) mtu: usize,
    pub(super) offload: bool,
    /// Mailboxes by queue, in which ICMP errors for its machine wait.
    pub(super) mailboxes: Vec<Mailbox>,
    pub(super) identifications: Identifications,
}

/// A queue of a TUN device as the carrier of one protocol. Ports in its addresses are 0.
pub struct TunCarrier {
    device: AsyncDevice,
    common: Arc<Common>,
    index: usize,
    buffers: Arc<Buffers>,
    counters: Counters,
    tally: DeviceCounters,
}

impl fmt::Debug for TunCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TunCarrier {{ queue {} of {:?} }}", self.index, self.common)
    }
}

/// Atomic counters of all queues of a device, of which [`TunStatistics`] is a copy.
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
    pub(super) fn new(device: AsyncDevice, common: Arc<Common>, index: usize) -> TunCarrier {
        let (buffers, counters, tally) = Default::default();
        TunCarrier { device, common, index, buffers, counters, tally }
    }

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
        let mut lent = self.buffers.lend();
        let length = if self.common.offload {
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(lent.memory())];
            self.device.try_recv_vectored(&mut parts)?.saturating_sub(HEADER_SIZE)
        } else {
            self.device.try_recv(lent.memory())?
        };
        count(&self.tally.packets_received);
        let length = length.min(SLOT_SIZE);
        let packet = &mut lent.memory()[..length];
        let verified = self.common.protocol == ip::TCP && offload::vouches(&header);
        if !verified && !offload::complete_checksum(&header, packet) {
            count(&self.tally.malformed);
            return Ok(());
        }
        if length < LARGE {
            self.judge(packet, verified, batch, Bytes::copy_from_slice);
        } else {
            let whole = lent.share();
            self.judge(&whole[..length], verified, batch, |payload| whole.slice_ref(payload));
        }
        Ok(())
    }

    /// Adds the machine's datagram in the packet to the batch, if it has one, with its bytes as
    /// `keep` has them. ICMP is handled here.
    fn judge(
        &self,
        packet: &[u8],
        verified: bool,
        batch: &mut RecvBatch,
        keep: impl FnOnce(&[u8]) -> Bytes,
    ) {
        let packet = match IpPacket::parse(packet) {
            Ok(packet) => packet,
            Err(Refusal::Fragment) => return count(&self.tally.fragments),
            Err(_) => return count(&self.tally.malformed),
        };
        if !self.common.addresses.take(packet.destination) {
            count(&self.tally.not_ours);
        } else if packet.protocol == self.common.protocol {
            let meta = DatagramMeta {
                local: SocketAddr::new(packet.destination, 0),
                remote: SocketAddr::new(packet.source, 0),
                ecn: packet.ecn,
                origin: None,
            };
            self.counters.on_received(1, packet.payload.len());
            batch.push_datagram(meta, Datagram { verified, ..keep(packet.payload).into() });
        } else if matches!(packet.protocol, ip::ICMP | ip::ICMPV6) {
            self.on_icmp(&packet);
        } else {
            count(&self.tally.other_protocol);
        }
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

    /// Sends one datagram in a separate packet; `WouldBlock` if the device takes none now.
    fn send_one(&self, transmit: &Transmit, datagram: &[u8]) -> io::Result<()> {
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
                        self.device.try_send_vectored(&parts)
                    }
                }
            }
        };
        match sent {
            Ok(_) => {
                self.counters.on_sent(1, datagram.len());
                count(&self.tally.packets_sent);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            Err(error) => self.counters.on_send_error(transmit.remote, &error),
        }
        Ok(())
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

    /// Sends segments of one connection as one packet; false if that is impossible, `WouldBlock` if
    /// the device takes none now.
    fn send_joined(&self, segments: &[Transmit], buffer: &[u8]) -> io::Result<bool> {
        let first = &segments[0];
        let Some(header) = self.header(first) else { return Ok(false) };
        if header.size() + first.size > self.common.mtu {
            return Ok(false);
        }
        let mut start = Vec::with_capacity(128);
        let emitted = offload::emit_joined(&header, segments, buffer, &mut start);
        let Some(header_size) = emitted else { return Ok(false) };
        let mut parts = Vec::with_capacity(segments.len() + 1);
        parts.push(IoSlice::new(&start));
        let mut rest = buffer;
        for segment in segments {
            let (segment, after) = rest.split_at(segment.size);
            parts.push(IoSlice::new(&segment[header_size..]));
            rest = after;
        }
        match self.device.try_send_vectored(&parts) {
            Ok(_) => {
                self.counters.on_sent(segments.len(), buffer.len());
                count(&self.tally.packets_sent);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(_) => Ok(false),
        }
    }
}

impl Carrier for TunCarrier {
    fn local_addr(&self) -> SocketAddr {
        let any = || IpAddr::from([0; 4]);
        SocketAddr::new(self.common.addresses.first().unwrap_or_else(any), 0)
    }

    async fn send(&self, mut transmits: &[Transmit], mut buffer: &[u8]) {
        loop {
            let sent = self.try_send(transmits, buffer);
            let (done, after) = transmits.split_at(sent);
            if after.is_empty() {
                return;
            }
            let size: usize = done.iter().map(|transmit| transmit.size).sum();
            (transmits, buffer) = (after, &buffer[size.min(buffer.len())..]);
            if self.device.writable().await.is_err() {
                return;
            }
        }
    }

    fn try_send(&self, transmits: &[Transmit], mut buffer: &[u8]) -> usize {
        let mut sent = 0;
        while sent < transmits.len() {
            let left = &transmits[sent..];
            let joined = match self.common.offload && self.common.protocol == ip::TCP {
                true => offload::joinable(left, buffer),
                false => 1,
            };
            let together = &left[..joined.max(1)];
            let size: usize = together.iter().map(|transmit| transmit.size).sum();
            let (mut contents, rest) = buffer.split_at(size.min(buffer.len()));
            let whole = if joined > 1 { self.send_joined(together, contents) } else { Ok(false) };
            match whole {
                Err(_) => return sent,
                Ok(true) => sent += together.len(),
                Ok(false) => {
                    for transmit in together {
                        let (datagram, after) =
                            contents.split_at(transmit.size.min(contents.len()));
                        if self.send_one(transmit, datagram).is_err() {
                            return sent;
                        }
                        (contents, sent) = (after, sent + 1);
                    }
                }
            }
            buffer = rest;
        }
        sent
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
