//! Carriers, which carry datagrams between a machine and the network, and the parts that they
//! share.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use base::{Datagram, DatagramMeta, Duration, Transmit};
use bytes::Bytes;

use crate::ip::IcmpReport;

/// The carrier of a machine's datagrams: UDP ([`crate::UdpCarrier`]), raw IP
/// ([`crate::RawCarrier`]) or a TUN device ([`crate::TunCarrier`]).
///
/// Both directions may be used at the same time from different tasks. Futures may be dropped; a
/// dropped `send` may have sent a part.
pub trait Carrier: Send + Sync + 'static {
    /// The local address; its IP address may be unspecified, and its port is 0 for raw IP.
    fn local_addr(&self) -> SocketAddr;

    /// Sends the datagrams that are consecutive in `buffer`, as written by
    /// [`base::Machine::poll_transmit`].
    ///
    /// Datagrams that the system refuses (no route, too large, filtered) are counted and dropped,
    /// as the network might have dropped them; the machine recovers from that. Waits while the
    /// socket's buffer is full.
    fn send(&self, transmits: &[Transmit], buffer: &[u8]) -> impl Future<Output = ()> + Send;

    /// Sends as [`Carrier::send`] does, but never waits: returns the number of `transmits`, from
    /// the first, that are sent or dropped. A carrier without such a call returns 0.
    fn try_send(&self, _transmits: &[Transmit], _buffer: &[u8]) -> usize {
        0
    }

    /// Whether there may be something to receive; if not, `context` is woken when there is. One
    /// task at a time may wait.
    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Adds waiting datagrams, or a part of them, to `batch`; `WouldBlock` when there are none.
    ///
    /// Errors that only report the fate of earlier datagrams (ICMP) are counted and not returned:
    /// any other error means that the socket is unusable.
    fn try_recv(&self, batch: &mut RecvBatch) -> io::Result<()>;

    /// Whether some datagrams arrive apart, those that only acknowledge: they wake no task and wait
    /// for [`Carrier::try_recv_acks`].
    fn separates_acks(&self) -> bool {
        false
    }

    /// Has pure acknowledgements wake the task that waits in [`Carrier::poll_acks`], or not any
    /// more. Needs a tokio runtime with I/O enabled.
    fn wake_on_acks(&self, _wakes: bool) {}

    /// Ready when pure acknowledgements have arrived, while they wake the task.
    fn poll_acks(&self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    /// Adds all pure acknowledgements that have arrived to `batch`.
    fn try_recv_acks(&self, _batch: &mut RecvBatch) {}

    /// Adds datagrams to `batch`, or has `context` woken when there are any. Errors as in
    /// [`Carrier::try_recv`].
    fn poll_recv(&self, context: &mut Context<'_>, batch: &mut RecvBatch) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_readable(context))?;
            match self.try_recv(batch) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other),
            }
        }
    }

    /// Waits for datagrams and adds them to `batch`. Errors as in [`Carrier::try_recv`].
    fn recv(&self, batch: &mut RecvBatch) -> impl Future<Output = io::Result<()>> + Send {
        poll_fn(|context| self.poll_recv(context, batch))
    }

    /// Counters of the datagrams and bytes so far.
    fn statistics(&self) -> CarrierStatistics;
}

/// The sending half of a carrier, for a driver whose machine gets its input from another driver.
#[derive(Debug)]
pub struct SendOnly<T>(pub Arc<T>);

impl<T: Carrier> Carrier for SendOnly<T> {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn send(&self, transmits: &[Transmit], buffer: &[u8]) -> impl Future<Output = ()> + Send {
        self.0.send(transmits, buffer)
    }

    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize {
        self.0.try_send(transmits, buffer)
    }

    fn poll_readable(&self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn try_recv(&self, _batch: &mut RecvBatch) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    // Pure acknowledgements are for the driver that receives.

    fn statistics(&self) -> CarrierStatistics {
        self.0.statistics()
    }
}

/// Bytes that one system call can deliver into one slot: the largest UDP datagram, or several that
/// the kernel merged (GRO).
pub(crate) const SLOT_SIZE: usize = 65_536;

/// Received datagrams, and the memory into which the system writes them; reused for every call.
#[derive(Debug)]
pub struct RecvBatch {
    pub(crate) storage: Box<[u8]>,
    datagrams: VecDeque<(DatagramMeta, Datagram)>,
    /// Datagrams that arrived apart, and how long each had waited when it was read.
    acks: VecDeque<(Duration, DatagramMeta, Datagram)>,
    icmp: VecDeque<IcmpReport>,
}

impl RecvBatch {
    /// Memory for `slots` (at least one) buffers of 64 KiB that one system call may fill.
    pub fn new(slots: usize) -> RecvBatch {
        RecvBatch::with(slots.max(1))
    }

    /// A batch for pure acknowledgements alone.
    pub(crate) fn of_acks() -> RecvBatch {
        RecvBatch::with(0)
    }

    fn with(slots: usize) -> RecvBatch {
        RecvBatch {
            storage: vec![0; slots * SLOT_SIZE].into_boxed_slice(),
            datagrams: VecDeque::new(),
            acks: VecDeque::new(),
            icmp: VecDeque::new(),
        }
    }

    /// Removes and returns the ICMP error that arrived first.
    pub fn pop_icmp(&mut self) -> Option<IcmpReport> {
        self.icmp.pop_front()
    }

    /// Removes and returns the datagram that arrived first.
    pub fn pop(&mut self) -> Option<(DatagramMeta, Datagram)> {
        self.datagrams.pop_front()
    }

    /// Removes and returns the datagrams in the order of their arrival.
    pub fn drain(&mut self) -> impl Iterator<Item = (DatagramMeta, Datagram)> {
        self.datagrams.drain(..)
    }

    /// Number of datagrams in the batch.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Whether the batch has no datagram.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Removes and returns the pure acknowledgement that arrived first, and how long it had waited.
    pub(crate) fn pop_ack(&mut self) -> Option<(Duration, DatagramMeta, Datagram)> {
        self.acks.pop_front()
    }

    /// Adds a datagram that arrived apart, and had waited as long.
    #[cfg(target_os = "linux")]
    pub(crate) fn push_ack(&mut self, waited: Duration, meta: DatagramMeta, bytes: Bytes) {
        self.acks.push_back((waited, meta, bytes.into()));
    }

    /// Sources of the pure acknowledgements that have not been removed.
    pub(crate) fn ack_remotes(&self) -> impl Iterator<Item = SocketAddr> {
        self.acks.iter().map(|(_, meta, _)| meta.remote)
    }

    /// Sources of the datagrams that have not been removed, apart from pure acknowledgements.
    pub(crate) fn remotes(&self) -> impl Iterator<Item = SocketAddr> {
        self.datagrams.iter().map(|(meta, _)| meta.remote)
    }

    /// Adds a datagram with separate memory.
    pub(crate) fn push_datagram(&mut self, meta: DatagramMeta, datagram: Datagram) {
        self.datagrams.push_back((meta, datagram));
    }

    /// Adds ICMP errors that the socket's error queue reported.
    #[cfg(target_os = "linux")]
    pub(crate) fn push_icmp(&mut self, reports: VecDeque<IcmpReport>) {
        self.icmp.extend(reports);
    }

    /// Source of the datagram that [`RecvBatch::pop`] returns next.
    pub(crate) fn next_remote(&self) -> Option<SocketAddr> {
        self.datagrams.front().map(|(meta, _)| meta.remote)
    }

    /// Whether the batch has a datagram or an ICMP error.
    pub(crate) fn has_any(&self) -> bool {
        !self.datagrams.is_empty() || !self.acks.is_empty() || !self.icmp.is_empty()
    }

    /// Adds the datagrams of `stride` bytes each (the last may be shorter) in `start..start +
    /// length` of the storage.
    ///
    /// The datagrams are copied: a fresh buffer of 64 KiB per call would have to be zeroed, which
    /// costs as much. Each datagram gets separate memory, since a message that waits in reassembly
    /// would otherwise keep the whole buffer.
    pub(crate) fn push(&mut self, meta: DatagramMeta, start: usize, length: usize, stride: usize) {
        let received = &self.storage[start..start + length];
        if length <= stride || stride == 0 {
            self.push_datagram(meta, Bytes::copy_from_slice(received).into());
        } else {
            let datagrams = received.chunks(stride).map(Bytes::copy_from_slice);
            self.datagrams.extend(datagrams.map(|bytes| (meta, bytes.into())));
        }
    }
}

/// Datagrams and bytes that a carrier has sent and received, and the system's refusals, since it
/// was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CarrierStatistics {
    /// Datagrams that the system accepted for sending.
    pub datagrams_sent: u64,
    /// Bytes of their payload, without UDP and IP headers.
    pub bytes_sent: u64,
    /// Datagrams read from the socket.
    pub datagrams_received: u64,
    /// Bytes of their payload, without UDP and IP headers.
    pub bytes_received: u64,
    /// Datagrams that the system refused to send.
    pub send_errors: u64,
    /// Errors reported on receiving, such as those caused by ICMP messages.
    pub receive_errors: u64,
    /// The latest of these errors, as text.
    pub last_error: Option<String>,
}

impl CarrierStatistics {
    /// Adds the counters of another socket.
    pub fn add(&mut self, other: CarrierStatistics) {
        self.datagrams_sent += other.datagrams_sent;
        self.bytes_sent += other.bytes_sent;
        self.datagrams_received += other.datagrams_received;
        self.bytes_received += other.bytes_received;
        self.send_errors += other.send_errors;
        self.receive_errors += other.receive_errors;
        self.last_error = self.last_error.take().or(other.last_error);
    }
}

/// Counters behind [`CarrierStatistics`], for tasks that send and receive at the same time.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    datagrams_sent: AtomicU64,
    bytes_sent: AtomicU64,
    datagrams_received: AtomicU64,
    bytes_received: AtomicU64,
    send_errors: AtomicU64,
    receive_errors: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl Counters {
    pub(crate) fn on_sent(&self, datagrams: usize, bytes: usize) {
        self.datagrams_sent.fetch_add(datagrams as u64, Ordering::Relaxed);
        self.bytes_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn on_received(&self, datagrams: usize, bytes: usize) {
        self.datagrams_received.fetch_add(datagrams as u64, Ordering::Relaxed);
        self.bytes_received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn on_send_error(&self, remote: SocketAddr, error: &io::Error) {
        self.send_errors.fetch_add(1, Ordering::Relaxed);
        self.keep(format!("cannot send to {remote}: {error}"));
    }

    pub(crate) fn on_receive_error(&self, error: &io::Error) {
        self.receive_errors.fetch_add(1, Ordering::Relaxed);
        self.keep(format!("cannot receive: {error}"));
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn bytes_received(&self) -> u64 {
        self.bytes_received.load(Ordering::Relaxed)
    }

    #[cfg(feature = "emulator")]
    pub(crate) fn send_errors(&self) -> u64 {
        self.send_errors.load(Ordering::Relaxed)
    }

    fn keep(&self, text: String) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    pub(crate) fn snapshot(&self) -> CarrierStatistics {
        CarrierStatistics {
            datagrams_sent: self.datagrams_sent.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            datagrams_received: self.datagrams_received.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            send_errors: self.send_errors.load(Ordering::Relaxed),
            receive_errors: self.receive_errors.load(Ordering::Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// Transient errors in a row after which a socket counts as broken.
pub(crate) const PASSING_ERRORS_MAX: usize = 64;

/// Whether an error on receiving only concerns earlier datagrams or a transient shortage, so that
/// the socket stays usable.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(
        error.kind(),
        ConnectionRefused
            | ConnectionReset
            | ConnectionAborted
            | HostUnreachable
            | NetworkUnreachable
            | NetworkDown
            | TimedOut
            | Interrupted
            | PermissionDenied
            | OutOfMemory
    ) || is_passing_number(error)
}

/// Errors of ICMP that have no [`io::ErrorKind`]: protocol not available (raw IP), message too
/// long, no buffer space, host down.
#[cfg(target_os = "linux")]
fn is_passing_number(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let Some(number) = error.raw_os_error() else { return false };
    let known = [
        Errno::ENOPROTOOPT,
        Errno::EPROTO,
        Errno::EMSGSIZE,
        Errno::ENOBUFS,
        Errno::EHOSTDOWN,
        Errno::ENONET,
        Errno::EOPNOTSUPP,
    ];
    known.contains(&Errno::from_raw(number))
}

#[cfg(not(target_os = "linux"))]
fn is_passing_number(_error: &io::Error) -> bool {
    false
}

/// Reason for which a socket could not be opened; names the address.
#[derive(Debug)]
pub struct BindError {
    /// `UDP` or `raw IP`, for the message of the error.
    pub(crate) protocol: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) source: io::Error,
}

impl BindError {
    /// A socket for `protocol` (`UDP`, `raw IP`) is not available at `address` for this reason.
    pub fn new(protocol: &'static str, address: SocketAddr, source: io::Error) -> BindError {
        BindError { protocol, address, source }
    }

    /// The address that the caller asked to bind to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The system's reason, such as `AddrInUse` or `PermissionDenied`.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BindError { protocol, address, source } = self;
        write!(f, "cannot open {protocol} {address}: ")?;
        match source.kind() {
            io::ErrorKind::AddrInUse => write!(f, "the port is already in use"),
            io::ErrorKind::AddrNotAvailable => {
                write!(f, "this machine has no address {}", address.ip())
            }
            io::ErrorKind::PermissionDenied if *protocol == "UDP" => {
                write!(f, "port {} needs root or CAP_NET_BIND_SERVICE", address.port())
            }
            io::ErrorKind::PermissionDenied => {
                write!(f, "raw IP needs root or CAP_NET_RAW: {source}")
            }
            _ => write!(f, "{source}"),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<BindError> for io::Error {
    fn from(error: BindError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}

/// `address`, with an IPv4-mapped IPv6 address converted to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::from((ip, address.port())),
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_datagrams_come_apart_at_their_stride() {
        for stride in [300, 1000] {
            let mut batch = RecvBatch::new(1);
            for (index, byte) in batch.storage.iter_mut().enumerate() {
                *byte = (index / stride) as u8;
            }
            let address = SocketAddr::from(([127, 0, 0, 1], 1));
            let meta = DatagramMeta {
                local: address,
                remote: address,
                ecn: base::Ecn::NotEct,
                origin: None,
            };
            batch.push(meta, 0, 3 * stride + 7, stride);
            let sizes: Vec<_> = batch.drain().map(|(_, data)| (data.len(), data.head[0])).collect();
            assert_eq!(sizes, [(stride, 0), (stride, 1), (stride, 2), (7, 3)]);
            batch.push(meta, 0, 0, 0);
            assert_eq!(batch.drain().next().unwrap().1.len(), 0);
        }
    }
}
