//! Thin flows over the virtual network, the same for every policy.
//!
//! Each flow is an association of its own, client to server, with one ordered stream and its own copy
//! of the link in both directions. Flows share nothing, so each is a simulation by itself: memory is
//! that of one flow per thread however long the run, and the results are the same on any number of
//! threads. Which first transmissions are lost depends on seed, flow and message alone ([`crate::fate`]).
//!
//! Messages begin when the association is set up, and nothing is lost before: what is compared is
//! transfer.

mod files;
mod flow;
mod ladder;
mod losses;
mod observer;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Duration, Instant, Probability};
use netsim::LinkConfig;
use netsim::link::LinkConfigError;
use netsim::topology::Directions;
use netsim::{LossModel, Stalled};
use recovery::RecoveryPolicy;

pub use files::{EventFile, PacketFile};
pub use flow::{FlowSetup, messages_in_datagram, simulate};
pub use ladder::{LadderRecorder, draw_ladder};
pub use losses::{Loss, LossRecord, pick_loss};
pub use observer::Observer;

use crate::meter::PolicyMeter;
use crate::probe::Probe;
use crate::workload::{Limit, WorkloadError, WorkloadPlan};

/// Largest message that fits one DATA chunk of a packet of 1500 bytes over IPv4 and UDP.
pub const MAX_SIZE: usize = 1444;

/// Thin flows over lossy links.
#[derive(Clone, Debug)]
pub struct ThinFlows {
    /// What each flow sends.
    pub workload: WorkloadPlan,
    /// Number of flows.
    pub flows: u32,
    /// Round-trip time of the links, half of it each way.
    pub rtt: Duration,
    /// How many packets are lost, each way.
    pub loss: Probability,
    /// Chooses phases and losses.
    pub seed: u64,
}

/// A policy under comparison.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name in reports.
    pub name: String,
    /// One sentence on what it does.
    pub description: String,
    /// The policy, of both ends of each association.
    pub policy: Arc<RecoveryPolicy>,
}

/// What a contender achieved.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Its numbers.
    pub meter: PolicyMeter,
    /// Some of the messages whose first transmission was lost, in order of flow and message.
    pub losses: Vec<LossRecord>,
}

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// The workload contradicts itself.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The workload has no end.
    #[error("the flows would never end; give a duration or a number of messages")]
    Endless,
    /// Messages that cannot carry a probe, or do not fit one DATA chunk.
    #[error("messages of {0} bytes cannot be measured; give a size from {min} to {max} bytes", min = Probe::MIN_SIZE, max = MAX_SIZE)]
    Size(usize),
    /// No flows.
    #[error("there are no flows; give 1 to 65535 of them")]
    NoFlows,
    /// The link contradicts itself.
    #[error("{0}")]
    Link(LinkConfigError),
    /// The machine under test never comes to rest.
    #[error("{0}")]
    Stalled(Stalled),
}

impl ThinFlows {
    /// Whether the scenario can be run.
    ///
    /// # Errors
    /// The first reason why not.
    pub fn check(&self) -> Result<(), ScenarioError> {
        crate::Workload::new(self.workload, self.seed, 0, Instant::ZERO)?;
        if self.workload.limit == Limit::Unlimited || self.workload.arrivals.is_greedy() {
            return Err(ScenarioError::Endless);
        }
        let size = self.workload.size;
        for size in [size.smallest(), size.largest()].map(|size| size as usize) {
            if !(Probe::MIN_SIZE..=MAX_SIZE).contains(&size) {
                return Err(ScenarioError::Size(size));
            }
        }
        if !(1..=u32::from(u16::MAX)).contains(&self.flows) {
            return Err(ScenarioError::NoFlows);
        }
        Ok(())
    }

    /// Flow number `flow` under `policy`; `lane` keeps the addresses of policies apart in captures.
    pub fn setup(&self, policy: &Arc<RecoveryPolicy>, lane: u8, flow: u32) -> FlowSetup {
        let link = |delay| LinkConfig { loss: LossModel::None, ..LinkConfig::with_delay(delay) };
        let forward = self.rtt / 2;
        FlowSetup {
            seed: self.seed,
            flow,
            workload: self.workload,
            policy: Arc::clone(policy),
            links: Directions { forward: link(forward), backward: link(self.rtt - forward) },
            shared_loss: Some(self.loss),
            // The handshake takes two round trips.
            start: Instant::ZERO + (self.rtt * 3).max(Duration::from_secs(1)),
            client: address(lane, flow),
            server: address(lane | 0x80, flow),
        }
    }
}

fn address(second: u8, flow: u32) -> SocketAddr {
    let [.., high, low] = flow.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, second, high, low)), 9899)
}

/// Runs all flows under all contenders on up to `threads` threads. `progress` gets the number of
/// flows done and of all flows, from any thread.
///
/// # Errors
/// See [`ScenarioError`].
pub fn compare(
    plan: &ThinFlows,
    contenders: &[Contender],
    threads: usize,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Outcome>, ScenarioError> {
    plan.check()?;
    let flows = plan.flows as usize;
    let jobs = contenders.len() * flows;
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new((vec![Outcome::default(); contenders.len()], Ok(())));
    let work = || {
        // Jobs go flow by flow, so that contenders advance side by side.
        while let Some(job) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|job| *job < jobs) {
            let (flow, index) = (job / contenders.len(), job % contenders.len());
            let setup = plan.setup(&contenders[index].policy, index as u8, flow as u32);
            let result = simulate(&setup, ());
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            match result {
                Ok((outcome, ())) => results.0[index].merge(outcome),
                Err(error) => {
                    results.1 = Err(error);
                    return;
                }
            }
            drop(results);
            progress(done.fetch_add(1, Ordering::Relaxed) as u64 + 1, jobs as u64);
        }
    };
    std::thread::scope(|scope| {
        (1..threads.min(jobs)).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let (mut outcomes, result) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    result?;
    for outcome in &mut outcomes {
        outcome.losses.sort_unstable_by_key(|record| record.loss);
    }
    Ok(outcomes)
}

impl Outcome {
    fn merge(&mut self, flow: Outcome) {
        self.meter.merge(&flow.meter);
        self.losses.extend(flow.losses);
    }
}
