//! Our side of a run: an echo server, or a client that checks every byte.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use interop::{ECHO_PORT, EchoPlan, Namespace};
use thinstream::{
    Association, AssociationError, AssociationOptions, AssociationStats, Encapsulation, Endpoint,
    EndpointOptions, PeerAddress, SendOptions, StreamId,
};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

/// A runtime for the endpoints of one test: one thread does the work, the test's own threads wait.
pub(crate) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a runtime")
}

/// An endpoint at `address`, in `namespace` if there is one. A server listens at SCTP port
/// [`ECHO_PORT`].
pub(crate) fn bind(
    runtime: &Handle,
    namespace: Option<&Namespace>,
    address: SocketAddr,
    options: EndpointOptions,
) -> Result<Endpoint> {
    let bind = || {
        let _context = runtime.enter();
        Endpoint::bind(address, options)
    };
    let endpoint = match namespace {
        Some(namespace) => namespace.enter(bind)?,
        None => bind(),
    };
    endpoint.with_context(|| format!("cannot bind {address}"))
}

/// Options of an endpoint that listens at [`ECHO_PORT`], unencrypted: the peers have nothing else.
pub(crate) fn server() -> EndpointOptions {
    let encapsulation = Encapsulation::PlainUdp;
    EndpointOptions { encapsulation, sctp_port: Some(ECHO_PORT), ..EndpointOptions::server() }
}

/// A server at a free UDP port of 127.0.0.1.
pub(crate) fn server_on_loopback(runtime: &Handle) -> Result<Endpoint> {
    bind(runtime, None, (Ipv4Addr::LOCALHOST, 0).into(), server())
}

/// A client's association over UDP to the echo server at `address`.
pub(crate) fn connect(runtime: &Handle, address: SocketAddr) -> Result<Association> {
    let to = PeerAddress::new(address, ECHO_PORT);
    let options =
        EndpointOptions { encapsulation: Encapsulation::PlainUdp, ..EndpointOptions::client() };
    let endpoint = bind(runtime, None, io::unspecified_for(address), options)?;
    let connected = endpoint.connect(to, AssociationOptions::default());
    Ok(within(runtime, Duration::from_secs(20), connected)??)
}

/// Observations of our side about an association.
#[derive(Debug)]
pub(crate) struct OwnReport {
    /// Payload bytes of the messages that arrived.
    pub(crate) bytes: u64,
    /// Round-trip times of echoes; none on a server.
    pub(crate) round_trips: Vec<Duration>,
    /// Reason for which the association ended.
    pub(crate) end: AssociationError,
    /// All that the stack counted.
    pub(crate) stats: Option<AssociationStats>,
}

impl OwnReport {
    /// Whether all of `plan` arrived and the association ended cleanly.
    pub(crate) fn check(&self, plan: &EchoPlan) -> Result<()> {
        ensure!(self.end == AssociationError::Closed, "ours ended otherwise: {}", self.end);
        ensure!(self.bytes == plan.total(), "{} of {} bytes", self.bytes, plan.total());
        Ok(())
    }

    /// Retransmissions by cause, and what else tells how it went.
    pub(crate) fn summary(&self) -> String {
        let Some(stats) = &self.stats else { return "no statistics".to_owned() };
        let again = &stats.recovery.retransmissions;
        let mut times = self.round_trips.clone();
        times.sort_unstable();
        let quantile = |q: usize| times.get((times.len().max(1) - 1) * q / 100);
        format!(
            "retransmissions: timeout {}, bundled {}, fast {}, early {}, probe {}; spurious {}; by order {:?}; \
             {} packets sent, {} received, {} duplicates, {} chunks dropped; SRTT {:?}; p50 {:?}, max {:?}",
            again.timeout,
            again.bundled,
            again.fast,
            again.early,
            again.probe,
            stats.recovery.spurious,
            again.by_order,
            stats.counters.packets_sent,
            stats.counters.packets_received,
            stats.counters.duplicates_received,
            stats.counters.chunks_dropped,
            stats.paths[0].recovery.srtt,
            quantile(50).copied().unwrap_or_default(),
            quantile(100).copied().unwrap_or_default(),
        )
    }
}

/// Sends back all messages of an association until it ends.
pub(crate) async fn echo(association: Association) -> OwnReport {
    let mut bytes = 0;
    let end = loop {
        let message = match association.receive().await {
            Ok(Some(message)) => message,
            Ok(None) => break AssociationError::Closed,
            Err(error) => break error,
        };
        bytes += message.payload.len() as u64;
        let options = SendOptions {
            ppid: message.ppid,
            unordered: message.unordered,
            ..SendOptions::default()
        };
        let sent = association.send_with(message.stream, message.payload.into_bytes(), options);
        if sent.await.is_err() {
            break association.ended().await;
        }
    };
    OwnReport { bytes, round_trips: vec![], end, stats: association.stats() }
}

/// Accepts one association and echoes until it ends.
pub(crate) fn serve_one(runtime: &Handle, endpoint: &Endpoint) -> JoinHandle<Result<OwnReport>> {
    let endpoint = endpoint.clone();
    runtime.spawn(async move { Ok(echo(endpoint.accept().await?).await) })
}

/// Time that the endpoint stays after its association is over. A guest short of processor time
/// drops packets even where the network loses none; its SHUTDOWN ACK then comes again after a
/// second, and the endpoint answers it out of the blue.
const LINGER: Duration = Duration::from_millis(2_500);

/// Sends the messages of `plan` one after the other, and expects each back byte by byte, as one
/// message. Ends with a shutdown.
pub(crate) async fn run_client(association: &Association, plan: &EchoPlan) -> Result<OwnReport> {
    let (mut bytes, mut round_trips) = (0, vec![]);
    for index in 0..plan.count {
        let message = plan.message(index);
        let started = Instant::now();
        association.send(StreamId((index % 4) as u16), message.clone()).await?;
        let back = association.receive().await?;
        let back = back.with_context(|| format!("the peer closed before message {index}"))?;
        ensure!(back.payload.into_bytes() == message, "message {index} came back altered");
        bytes += message.len() as u64;
        round_trips.push(started.elapsed());
    }
    association.shutdown().await?;
    let end = association.ended().await;
    let stats = association.stats();
    tokio::time::sleep(LINGER).await;
    Ok(OwnReport { bytes, round_trips, end, stats })
}

/// Waits for `future` as long as a run may take.
pub(crate) fn within<T>(
    runtime: &Handle,
    limit: Duration,
    future: impl Future<Output = T>,
) -> Result<T> {
    runtime
        .block_on(async { tokio::time::timeout(limit, future).await })
        .with_context(|| format!("not done after {limit:?}"))
}
