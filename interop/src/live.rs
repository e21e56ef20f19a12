//! An agent on our stack over real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base::RandomStream;
use io::{Clock, RawTransport, Shared, Transport, UdpTransport};
use sctp::AssociationStats;
use tokio::runtime::Handle;

use crate::agent::{Agent, Seen};
use crate::namespace::Namespace;
use crate::ours::Ours;

/// What carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP (RFC 6951).
    Udp,
    /// IP protocol 132.
    RawIp,
}

/// A socket that waits for its agent.
pub struct Socket {
    carrier: Open,
    runtime: Handle,
}

enum Open {
    Udp(Arc<UdpTransport>),
    RawIp(Arc<RawTransport>),
}

impl Socket {
    /// A socket at `address` (port 0: any), in `namespace` if there is one.
    ///
    /// # Errors
    /// Where the address cannot be had.
    pub fn bind(
        runtime: &Handle,
        namespace: Option<&Namespace>,
        carrier: Carrier,
        address: SocketAddr,
    ) -> Result<Socket> {
        let bind = || {
            let _context = runtime.enter();
            anyhow::Ok(match carrier {
                Carrier::Udp => Open::Udp(Arc::new(UdpTransport::bind(address)?)),
                Carrier::RawIp => Open::RawIp(Arc::new(RawTransport::bind(address)?)),
            })
        };
        let carrier = match namespace {
            Some(namespace) => namespace.enter(bind)?,
            None => bind(),
        }?;
        Ok(Socket { carrier, runtime: runtime.clone() })
    }

    /// Where it is.
    pub fn local_addr(&self) -> SocketAddr {
        match &self.carrier {
            Open::Udp(udp) => udp.local_addr(),
            Open::RawIp(raw) => raw.local_addr(),
        }
    }

    /// Starts an agent at the socket.
    pub fn run(self, agent: Agent<Ours>) -> Live {
        let shared = Shared::new(agent, Clock::start());
        match self.carrier {
            Open::Udp(udp) => drive(&self.runtime, &shared, udp),
            Open::RawIp(raw) => drive(&self.runtime, &shared, raw),
        }
        Live { shared }
    }
}

fn drive(runtime: &Handle, shared: &Arc<Shared<Agent<Ours>>>, transport: Arc<impl Transport>) {
    let shared = shared.clone();
    runtime.spawn(async move {
        // A socket that fails leaves an agent that waits until its time is up.
        let _ = io::run(shared, transport, |_: &mut Agent<Ours>, _: base::Instant| ()).await;
    });
}

/// An agent at work; dropping it ends its socket. It stays to answer what the peer repeats.
pub struct Live {
    shared: Arc<Shared<Agent<Ours>>>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Live {
    /// Waits until the association is over; what the agent saw of it.
    ///
    /// # Errors
    /// With what it saw so far, where that takes longer than `limit`.
    pub fn wait(&self, limit: Duration) -> Result<Seen> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(seen) =
                self.shared.inspect(|agent| agent.is_over().then(|| agent.seen().clone()))
            {
                return Ok(seen);
            }
            if Instant::now() > deadline {
                let (so_far, stats) = (self.seen().summary(), self.stats());
                bail!("not over after {limit:?}: {so_far}; {stats:?}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What the agent saw so far.
    pub fn seen(&self) -> Seen {
        self.shared.inspect(|agent| agent.seen().clone())
    }

    /// A snapshot of the association.
    pub fn stats(&self) -> Option<AssociationStats> {
        self.shared.inspect(|agent| agent.stack().stats())
    }
}

/// Randomness that nobody can guess, as the wire of a test needs none: it is seeded with the time.
pub(crate) fn randomness() -> Result<RandomStream> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.context("a clock before 1970")?.as_nanos() as u64;
    Ok(RandomStream::new(nanos, base::Purpose("live", 0)))
}
