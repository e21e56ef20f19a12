//! `thinstream edge`: TCP of unmodified clients ends in the userspace stack, and goes on to local
//! services.
//!
//! A TUN device carries what the system routes to the edge's addresses. Each connection that a
//! client opens there is one task (`flow`) between the stack and an ordinary TCP connection to the
//! service.

mod address;
mod budget;
pub mod carry;
mod counters;
mod crew;
mod file;
mod flow;
mod metrics;
mod options;
mod registry;
mod routes;
mod shard;
mod status;
#[cfg(test)]
mod tests;

pub use address::{Listen, Network};
pub use counters::ServiceCounters;
pub use file::{EdgeFile, EdgeFileError, ServiceFile};
pub use options::{EdgeOptions, EdgeOptionsError, Service};
pub use routes::{Applied, RouteError, Routes};
pub use status::{ConnectionStatus, EdgeReport, EdgeStatus, ServiceReport, StackReport};

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use ::io::{Clock, Tun, TunError, TunOptions, ip};
use base::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::signals::Requests;
use crew::{Thread, cause};
use registry::Registry;
use routes::Kept;
use shard::{Common, Shard};

/// Reason for which an edge could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// The options contradict each other.
    #[error(transparent)]
    Options(#[from] EdgeOptionsError),
    /// There is no TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// A network of the edge is one that this machine is in already.
    #[error(
        "this machine has the address {address} at {interface}, in the edge's network {}: expected a network that nothing else \
         uses, such as 10.78.0.0/24", network.route()
    )]
    NetworkInUse {
        /// The given network that the machine is in.
        network: Network,
        /// The machine's address in it.
        address: IpAddr,
        /// Name of the interface that has the address.
        interface: String,
    },
    /// Two services listen at the same place.
    #[error("service {service}: cannot listen at {address}: {source}")]
    Listen {
        /// Name of the service, or its place if it has none.
        service: String,
        /// Address and port given for the service.
        address: SocketAddr,
        /// Reason for which the stack does not listen.
        source: tcp::ListenError,
    },
    /// The metrics cannot be served.
    #[error("cannot serve metrics at {0}: {1}")]
    Metrics(SocketAddr, io::Error),
    /// Routes or rules cannot be set.
    #[error(transparent)]
    Routes(#[from] RouteError),
    /// The device or a timer failed while the edge ran.
    #[error("the edge ended: {0}")]
    Ended(io::Error),
    /// The threads of the shards cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The system gives no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(String),
}

/// Notices of an edge while it runs.
#[derive(Clone, Debug)]
pub enum EdgeNotice {
    /// The edge is up: the device's name, the rules by which clients outside reach it, and whether
    /// those were applied.
    Ready {
        /// Name of the TUN device, which the system may have chosen.
        device: String,
        /// Address at which metrics are served.
        metrics: Option<SocketAddr>,
        /// Rules that lead traffic to the edge.
        routes: Routes,
        /// Whether they are in force.
        applied: bool,
        /// Connections at a time, where the system allows fewer than the services.
        most: Option<usize>,
    },
    /// The process that holds the rules has ended, and they could not be made again. That is tried
    /// again each [`EdgeOptions::interval`].
    RulesLost {
        /// Reason, as a sentence for the user.
        why: String,
    },
    /// The process that holds the rules had ended; they are in force again.
    RulesRestored,
    /// State of the edge, once each [`EdgeOptions::interval`].
    Status(EdgeStatus),
    /// The edge takes no more connections and waits for those that are left.
    Draining {
        /// Connections that are still open.
        connections: usize,
    },
}

/// Runs an edge until the process is asked to end ([`crate::interrupted`]). Then it refuses new
/// connections and waits for those that exist as long as [`EdgeOptions::drain`] says, or until it
/// is asked again; what is left is reset, on both sides.
///
/// # Errors
/// See [`EdgeError`].
pub async fn edge(
    options: &EdgeOptions,
    notice: &mut (dyn FnMut(EdgeNotice) + Send),
) -> Result<EdgeReport, EdgeError> {
    let requests = Mutex::new(Requests::new());
    edge_until(options, notice, || async { requests.lock().await.next().await }).await
}

/// Runs [`edge`], but waits for what `stop` makes instead of signals: once to drain, once more to
/// end.
///
/// # Errors
/// As [`edge`].
pub async fn edge_until<S: Future<Output = ()>>(
    options: &EdgeOptions,
    notice: &mut (dyn FnMut(EdgeNotice) + Send),
    stop: impl Fn() -> S,
) -> Result<EdgeReport, EdgeError> {
    options.check()?;
    check_networks(options)?;
    Routes::check_outside(options)?;
    let metrics = match options.metrics {
        None => None,
        Some(address) => {
            let bound = TcpListener::bind(address).await;
            Some(bound.map_err(|error| EdgeError::Metrics(address, error))?)
        }
    };
    let tun = Tun::open(&device(options))?;
    let device = tun.name().to_owned();
    let routes = Routes::plan(options, &device);
    let mut running = Running::start(options, tun)?;
    // Taken back when this is dropped, however the edge ends.
    if options.setup {
        running.rules = Kept::apply(&routes)?;
    }
    let listening = metrics.as_ref().and_then(|listener| listener.local_addr().ok());
    if let Some(listener) = metrics {
        running.serve_metrics(listener);
    }
    let applied = options.setup;
    let most = Some(running.most).filter(|most| *most < wanted(options));
    notice(EdgeNotice::Ready { device, metrics: listening, routes, applied, most });

    let mut worked = running.run_while(options, notice, stop()).await;
    if worked.is_ok() {
        worked = running.drain(options, notice, stop()).await;
    }
    // Connections that are left end however the rest ended.
    running.end().await;
    worked?;
    Ok(running.registry.report().await)
}

/// Refuses a network that another interface is in: the machine would take addresses of hosts there
/// for its own, its router's perhaps.
fn check_networks(options: &EdgeOptions) -> Result<(), EdgeError> {
    // Where they cannot be listed, the edge is no worse off than without.
    let mut others = ::io::interface_addresses().unwrap_or_default();
    others.retain(|(name, _)| Some(name) != options.device.as_ref());
    for network in &options.addresses {
        if let Some((interface, address)) = others.iter().find(|(_, ip)| network.has(*ip)) {
            let (interface, address) = (interface.clone(), *address);
            return Err(EdgeError::NetworkInUse { network: *network, address, interface });
        }
    }
    Ok(())
}

fn device(options: &EdgeOptions) -> TunOptions {
    TunOptions {
        name: options.device.clone(),
        host: options.addresses.iter().map(|net| (net.host(), net.prefix())).collect(),
        mtu: options.mtu,
        queues: options.shards,
        offload: options.offload,
    }
}

/// The address that stands for all others of a family.
fn any_of_family(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Connections at a time that all services together take.
fn wanted(options: &EdgeOptions) -> usize {
    options.services.iter().fold(0, |sum, service| sum.saturating_add(service.max_connections))
}

/// Connections at a time for which the system lets this process open files, beside those for
/// itself.
fn possible() -> usize {
    const OWN: u64 = 96;
    let files = ::io::raise_descriptor_limit().unwrap_or(1024);
    usize::try_from(files.saturating_sub(OWN).max(1)).unwrap_or(usize::MAX)
}

/// An edge at work: its tasks, rules and figures.
struct Running {
    /// Rules; they are to go first.
    rules: Kept,
    /// Most connections at a time, of all services.
    most: usize,
    registry: Arc<Registry>,
    /// The tasks of each shard.
    crews: JoinSet<io::Result<()>>,
    /// Closed once they are to end.
    end: Arc<Semaphore>,
    /// Tasks beside those of shards: the server of metrics.
    others: JoinSet<()>,
    /// The survey that the next status is made of.
    surveys: JoinSet<EdgeStatus>,
    clock: Clock,
    /// Threads of all shards but the first, which the calling thread runs. They outlast what runs
    /// on them.
    _threads: Vec<Thread>,
}

impl Running {
    fn start(options: &EdgeOptions, tun: Tun) -> Result<Running, EdgeError> {
        let most = possible().min(wanted(options));
        let common = Common::new(options)?;
        let (budget, strays, clock) = (common.budget.clone(), common.strays.clone(), common.clock);
        let threads: io::Result<Vec<_>> = (1..options.shards).map(Thread::start).collect();
        let threads = threads.map_err(EdgeError::Thread)?;
        let mut handles = vec![Handle::current()];
        handles.extend(threads.iter().map(|thread| thread.handle().clone()));
        // And this machine's own, at which the rules hand packets over.
        let own = options.addresses.iter().map(Network::address);
        let addresses: Vec<_> = own.clone().chain(own.map(any_of_family)).collect();
        let (mut shards, mut crews) = (Vec::new(), Vec::new());
        let queues = tun.queues(ip::TCP, &addresses)?;
        for (index, (queue, handle)) in queues.into_iter().zip(handles).enumerate() {
            let carrier = {
                let _runtime = handle.enter();
                Arc::new(queue.carrier()?)
            };
            let (sender, accepted) = mpsc::unbounded_channel();
            let shard = Arc::new(Shard::new(index, options, common.clone(), carrier, sender)?);
            shards.push(shard.clone());
            crews.push((shard, accepted, handle));
        }
        let registry = Arc::new(Registry::new(options, budget, strays, most, shards, clock));
        let end = Arc::new(Semaphore::new(0));
        let mut running = JoinSet::new();
        for (shard, accepted, handle) in crews {
            let crew = crew::run(registry.clone(), shard, accepted, end.clone());
            running.spawn_on(crew, &handle);
        }
        let (rules, others, surveys) = Default::default();
        let (crews, _threads) = (running, threads);
        Ok(Running { rules, most, registry, crews, end, others, surveys, clock, _threads })
    }

    fn serve_metrics(&mut self, listener: TcpListener) {
        self.others.spawn(metrics::serve(listener, self.registry.clone()));
    }

    /// Watches rules, shards and figures until `stop`; fails once a shard has ended.
    async fn run_while(
        &mut self,
        options: &EdgeOptions,
        notice: &mut (dyn FnMut(EdgeNotice) + Send),
        stop: impl Future<Output = ()>,
    ) -> Result<(), EdgeError> {
        let mut stop = std::pin::pin!(stop);
        let mut ticks = tokio::time::interval(options.interval.into());
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut stop => return Ok(()),
                _ = ticks.tick() => {
                    self.rules.look();
                    // One at a time: where it takes longer than the interval, the next one waits.
                    if self.surveys.is_empty() {
                        let registry = self.registry.clone();
                        self.surveys.spawn(async move { registry.status().await });
                    }
                }
                Some(Ok(status)) = self.surveys.join_next() => notice(EdgeNotice::Status(status)),
                renewed = self.rules.renewed() => notice(match renewed {
                    Ok(()) => EdgeNotice::RulesRestored,
                    Err(error) => EdgeNotice::RulesLost { why: error.to_string() },
                }),
                Some(ended) = self.crews.join_next() => return Err(EdgeError::Ended(cause(ended))),
            }
        }
    }

    /// Refuses new connections, and works until the others are over, the time for it is, or `stop`.
    async fn drain(
        &mut self,
        options: &EdgeOptions,
        notice: &mut (dyn FnMut(EdgeNotice) + Send),
        stop: impl Future<Output = ()>,
    ) -> Result<(), EdgeError> {
        /// Time between two looks whether the stacks have delivered everything.
        const LOOK: Duration = Duration::from_millis(20);
        self.registry.shards().iter().for_each(|shard| shard.refuse());
        let left = self.registry.connections();
        if left > 0 {
            notice(EdgeNotice::Draining { connections: left });
        }
        let deadline = self.clock.now() + options.drain;
        let mut stop = std::pin::pin!(stop);
        while self.registry.connections() > 0 {
            let look = (self.clock.now() + LOOK).min(deadline);
            tokio::select! {
                () = &mut stop => break,
                () = self.clock.sleep_until(look) => if self.clock.now() >= deadline { break },
                Some(ended) = self.crews.join_next() => return Err(EdgeError::Ended(cause(ended))),
            }
        }
        Ok(())
    }

    /// Resets what is left, lets the drivers send that, and takes the rules back.
    async fn end(&mut self) {
        self.end.close();
        while self.crews.join_next().await.is_some() {}
        self.rules.take_back().await;
    }
}
