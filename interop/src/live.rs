//! An agent on our stack over real sockets.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base::{Datagram, DatagramMeta, Icmp, Machine, RandomStream, Transmit, TransmitBuffer};
use io::{Clock, RawCarrier, Shared, Sockets, UdpCarrier};
use sctp::AssociationStats;
use tokio::runtime::Handle;

use crate::agent::{Agent, Observed};
use crate::capture::Capture;
use crate::namespace::Namespace;
use crate::ours::Ours;

/// Carrier of SCTP packets: encapsulated, or directly in IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Datagrams of UDP (RFC 6951).
    Udp,
    /// Packets of IP protocol 132.
    RawIp,
}

/// A socket that waits for its agent.
pub struct Socket {
    carrier: Open,
    runtime: Handle,
}

enum Open {
    Udp(Arc<Sockets<UdpCarrier>>),
    RawIp(Arc<Sockets<RawCarrier>>),
}

impl Socket {
    /// A socket at these addresses (port 0: any), in `namespace` if there is one.
    ///
    /// # Errors
    /// Where the address is not available.
    pub fn bind(
        runtime: &Handle,
        namespace: Option<&Namespace>,
        carrier: Carrier,
        addresses: &[SocketAddr],
    ) -> Result<Socket> {
        let bind = || {
            let _context = runtime.enter();
            anyhow::Ok(match carrier {
                Carrier::Udp => Open::Udp(Arc::new(Sockets::bind(addresses, UdpCarrier::bind)?)),
                Carrier::RawIp => {
                    Open::RawIp(Arc::new(Sockets::bind(addresses, RawCarrier::bind)?))
                }
            })
        };
        let carrier = match namespace {
            Some(namespace) => namespace.enter(bind)?,
            None => bind(),
        }?;
        Ok(Socket { carrier, runtime: runtime.clone() })
    }

    /// Addresses of the socket; ports are 0 over raw IP.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        match &self.carrier {
            Open::Udp(udp) => udp.local_addrs().collect(),
            Open::RawIp(raw) => raw.local_addrs().collect(),
        }
    }

    /// Starts an agent at the socket; what it sends and receives is added to `capture` if there is
    /// one.
    pub fn run(self, agent: Agent<Ours>, capture: Option<&Capture>) -> Live {
        let captured = Captured { agent, capture: capture.cloned() };
        let shared = Shared::new(captured, Clock::start());
        match self.carrier {
            Open::Udp(udp) => drive(&self.runtime, &shared, udp),
            Open::RawIp(raw) => drive(&self.runtime, &shared, raw),
        }
        Live { shared }
    }
}

/// An agent, and the capture of what it sends and receives. Ours is the client of the capture,
/// whatever its part.
struct Captured {
    agent: Agent<Ours>,
    capture: Option<Capture>,
}

impl Machine for Captured {
    fn handle_datagram(&mut self, now: base::Instant, meta: DatagramMeta, datagram: Datagram) {
        // Sockets give a datagram in one piece.
        self.add(false, meta.local, meta.remote, &datagram.head);
        self.agent.handle_datagram(now, meta, datagram);
    }

    fn handle_icmp(&mut self, now: base::Instant, icmp: Icmp<'_>) {
        self.agent.handle_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: base::Instant) {
        self.agent.handle_timeout(now);
    }

    fn poll_transmit(
        &mut self,
        now: base::Instant,
        buffer: &mut dyn TransmitBuffer,
    ) -> Option<Transmit> {
        let start = buffer.head().len();
        let transmit = self.agent.poll_transmit(now, buffer)?;
        let local = transmit.local.unwrap_or(transmit.remote);
        self.add(true, local, transmit.remote, &buffer.head()[start..]);
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<base::Instant> {
        self.agent.poll_timeout()
    }
}

impl Captured {
    fn add(&self, sent: bool, local: SocketAddr, remote: SocketAddr, datagram: &[u8]) {
        let (IpAddr::V4(local), IpAddr::V4(remote)) = (local.ip(), remote.ip()) else { return };
        if let Some(capture) = &self.capture {
            // A capture that cannot be written is found empty by its judge.
            let _ = capture.add_on_path(sent, [local, remote], datagram);
        }
    }
}

fn drive(runtime: &Handle, shared: &Arc<Shared<Captured>>, carrier: Arc<impl io::Carrier>) {
    let shared = shared.clone();
    runtime.spawn(async move {
        // A socket that fails leaves an agent that waits until its time is up.
        let _ = io::run(shared, carrier, |_: &mut Captured, _| {}).await;
    });
}

/// An agent at work; dropping it ends its socket. It stays to answer what the peer repeats.
pub struct Live {
    shared: Arc<Shared<Captured>>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Live {
    /// Waits until `count` messages arrived.
    ///
    /// # Errors
    /// With what it saw so far, where that takes longer than `limit`.
    pub fn wait_for_messages(&self, count: usize, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while self.shared.inspect(|one| one.agent.seen().indices.len()) < count {
            if Instant::now() > deadline {
                bail!("no {count} messages after {limit:?}: {}", self.seen().summary());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Waits until the association is over; what the agent saw of it.
    ///
    /// # Errors
    /// With what it saw so far, where that takes longer than `limit`.
    pub fn wait(&self, limit: Duration) -> Result<Observed> {
        self.wait_until(limit, |agent, _| agent.is_over())
    }

    /// Waits for the end, once the peer has done its part and is gone. Where the network loses
    /// packets its last one may be lost: what waits for SHUTDOWN COMPLETE then waits in vain,
    /// and is left alone.
    ///
    /// # Errors
    /// As [`Live::wait`].
    pub fn wait_for_goodbye(&self, limit: Duration, may_be_lost: bool) -> Result<Observed> {
        /// Time in which the peer's last packet may still arrive.
        const ON_ITS_WAY: Duration = Duration::from_secs(1);
        let in_vain = |agent: &Agent<Ours>| {
            agent.stack().stats().is_some_and(|stats| stats.state == "SHUTDOWN-ACK-SENT")
        };
        self.wait_until(limit, |agent, waited| {
            agent.is_over() || (may_be_lost && waited > ON_ITS_WAY && in_vain(agent))
        })
    }

    fn wait_until(
        &self,
        limit: Duration,
        done: impl Fn(&Agent<Ours>, Duration) -> bool,
    ) -> Result<Observed> {
        let started = Instant::now();
        loop {
            let waited = started.elapsed();
            let seen = |one: &Captured| done(&one.agent, waited).then(|| one.agent.seen().clone());
            if let Some(seen) = self.shared.inspect(seen) {
                return Ok(seen);
            }
            if waited > limit {
                let (so_far, stats) = (self.seen().summary(), self.stats());
                bail!("not over after {limit:?}: {so_far}; {stats:?}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Observations of the agent so far.
    pub fn seen(&self) -> Observed {
        self.shared.inspect(|one| one.agent.seen().clone())
    }

    /// A snapshot of the association.
    pub fn stats(&self) -> Option<AssociationStats> {
        self.shared.inspect(|one| one.agent.stack().stats())
    }
}

/// Randomness of no cryptographic strength, which a test does not need: it is seeded with the time.
pub(crate) fn randomness() -> Result<RandomStream> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.context("a clock before 1970")?.as_nanos() as u64;
    Ok(RandomStream::new(nanos, base::Purpose("live", 0)))
}
