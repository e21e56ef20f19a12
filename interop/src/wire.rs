//! A wire between two namespaces: a TUN device in each, and a relay in this process that carries
//! whole IP packets from one to the other over links of the network model, in real time.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use base::{Duration, Probability};
use io::{Bridge, Tun, TunOptions};
use netsim::link::{LinkConfig, LinkStatistics};
use tokio::sync::oneshot;

use crate::missing::{self, Missing};
use crate::namespace::Namespace;

/// Names of the two devices of a wire, which may be the same for many wires as each is in a
/// namespace of its own.
const NAMES: [&str; 2] = ["near", "far"];

/// A wire; dropping it takes both devices away.
pub struct Wire {
    statistics: Arc<Mutex<[LinkStatistics; 2]>>,
    stop: Option<oneshot::Sender<()>>,
    relay: Option<JoinHandle<()>>,
}

/// Impairment of packets by a wire.
#[derive(Clone, Debug)]
pub struct WirePlan {
    /// Each direction. Its times count from the start of the wire.
    pub link: LinkConfig,
    /// Seed of what chance does, to each direction on its own.
    pub seed: u64,
}

impl WirePlan {
    /// A delay and independent losses, in percent, in each direction.
    pub fn lossy(delay: Duration, percent: u64, seed: u64) -> WirePlan {
        let loss = Probability::from_ratio(percent, 100);
        WirePlan { link: LinkConfig::lossy(delay, loss), seed }
    }
}

impl Wire {
    /// Whether wires can be made here.
    ///
    /// # Errors
    /// With what is missing.
    pub fn find() -> Result<(), Missing> {
        Namespace::find()?;
        missing::file("/dev/net/tun", "no TUN device on this machine")
    }

    /// A wire between `near`, whose device `near` has the address 10.79.0.1/24, and `far`, where
    /// `far` has 10.79.0.2/24.
    ///
    /// # Errors
    /// Where the devices cannot be made, or the plan contradicts itself.
    pub fn start(near: &Namespace, far: &Namespace, plan: WirePlan) -> Result<Wire> {
        let device = |namespace: &Namespace, end: usize| {
            let options = TunOptions {
                name: Some(NAMES[end].into()),
                host: vec![(Wire::address(end).into(), 24)],
                offload: false,
                ..TunOptions::default()
            };
            anyhow::Ok(namespace.enter(|| Tun::open(&options))??)
        };
        let (near, far) = (device(near, 0)?, device(far, 1)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bridge = {
            let _context = runtime.enter();
            Bridge::new(near, far).context("the devices of a wire")?
        };
        plan.link.check()?;
        let links = [plan.link.clone(), plan.link];
        let statistics = Arc::new(Mutex::default());
        let (shared, (stop, stopped)) = (statistics.clone(), oneshot::channel::<()>());
        let report = move |now| *shared.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let relay = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    ended = bridge.carry(links, plan.seed, report) => eprintln!("a wire broke: {ended:?}"),
                    _ = stopped => {}
                }
            });
        });
        Ok(Wire { statistics, stop: Some(stop), relay: Some(relay) })
    }

    /// The address of the near end (0) or the far one (1).
    pub fn address(end: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 79, 0, 1 + end as u8)
    }

    /// Statistics so far of the links from near to far and back.
    pub fn statistics(&self) -> [LinkStatistics; 2] {
        *self.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(relay) = self.relay.take() {
            let _ = relay.join();
        }
    }
}
