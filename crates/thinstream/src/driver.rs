//! The tasks that run an endpoint, one for each shard: their sockets and clock, and how they end
//! when the handles are dropped.

mod builder;
mod carrier;
mod checks;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base::{Instant, RandomStream};
use io::{BindError, CarrierStatistics, Clock, Hook, SendOnly, Shared};
use sctp::{AssociationOptions, ErrorDetection, MemoryLimits};
use secure::{Fingerprint, Settings};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use self::builder::{Builder, Security};
use self::carrier::OpenCarrier;
use crate::error::{AssociationError, EndpointError};
use crate::node::Node;
use crate::options::{Encapsulation, EndpointOptions, secret};
use crate::peer_address::PeerAddress;
use crate::shards::Shards;
use crate::tap::SharedTap;
use io::HandOverStatistics;

/// Stands for the address of an endpoint without any.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// State that all handles of an endpoint and of its associations share; the tasks end when the last
/// handle is dropped.
#[derive(Debug)]
pub(crate) struct Driver {
    /// One node for each shard, at least one.
    shards: Nodes,
    /// Shards among which packets are divided; none for one shard alone.
    common: Option<Arc<Shards>>,
    carrier: OpenCarrier,
    pub(crate) sctp_port: u16,
    limits: Limits,
    /// Fingerprint of this side's key; none for unencrypted packets.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) incoming: Arc<Notify>,
    pub(crate) refused: Arc<Notify>,
    /// The shard that is asked first for the next association.
    first: AtomicUsize,
    pub(crate) tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// The nodes of all shards.
type Nodes = Arc<[Arc<Shared<Node>>]>;

impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}

impl Driver {
    /// Ends all tasks once all has been sent, the end of encrypted sessions included.
    pub(crate) fn close(&self) {
        for shard in self.shards() {
            shard.post(|node, _| node.hang_up());
            shard.close();
        }
    }

    /// Opens the sockets and runs the endpoint at them, in tasks of its own.
    ///
    /// # Errors
    /// As [`Endpoint::bind_all`](crate::Endpoint::bind_all).
    pub(crate) fn bind(
        addresses: &[SocketAddr],
        options: EndpointOptions,
    ) -> Result<Arc<Driver>, BindError> {
        Driver::bind_grouped(addresses, options, io::can_group())
    }

    /// Binds as [`Driver::bind`] does, with sockets of their own for each shard or one receiver for
    /// all.
    pub(crate) fn bind_grouped(
        addresses: &[SocketAddr],
        options: EndpointOptions,
        grouped: bool,
    ) -> Result<Arc<Driver>, BindError> {
        checks::check(addresses, &options)?;
        let clock = options.clock.unwrap_or_else(Clock::start);
        let mut random = RandomStream::from_secret(secret());
        let security = Security::of(addresses, &options, clock)?;
        let carrier = OpenCarrier::open(addresses, &options, grouped)?;
        let sctp_port = options.sctp_port.unwrap_or_else(|| ephemeral_port(&mut random));
        let limits = Limits::of(&options);
        let several = options.shards.get() > 1;
        let one_receives = !carrier.is_of_several();
        let common = several.then(|| Shards::new(options.shards, one_receives, &mut random));
        let (incoming, refused) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let fingerprint = security.as_ref().map(|own| own.fingerprint);
        // A raw socket sees the packets for every SCTP port of its address.
        let shares_address = options.encapsulation == Encapsulation::PlainRawIp;
        let builder = Builder {
            machine: sctp::EndpointOptions {
                port: sctp_port,
                listen: options.listen,
                cookie_life: options.cookie_life.into(),
                max_associations: options.max_associations,
                max_per_peer: options.max_per_peer,
                memory: limits.memory,
                addresses: carrier.named_addresses(),
                accepted: limits.fit(options.accepted),
                ..sctp::EndpointOptions::default()
            },
            security,
            tap: options.tap.map(SharedTap::new),
            own: carrier.local_addr(),
            signals: [Arc::clone(&incoming), Arc::clone(&refused)],
            shares_address,
            common: common.clone().map(|shards| (shards, Arc::default())),
            clock,
        };
        let shards = 0..options.shards.get();
        let shards: Nodes = shards.map(|index| builder.build(index, &mut random)).collect();
        let tasks = (0..shards.len()).map(|index| spawn(&shards, index, &carrier, sctp_port));
        let tasks = Mutex::new(tasks.collect());
        let first = AtomicUsize::new(0);
        Ok(Arc::new(Driver {
            shards,
            common,
            carrier,
            sctp_port,
            limits,
            fingerprint,
            incoming,
            refused,
            first,
            tasks,
        }))
    }

    /// Shared nodes in the order of their numbers: one unless the endpoint listens with several.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Arc<Shared<Node>>> {
        self.shards.iter()
    }

    /// All shards, each time beginning with the next, so that none keeps the others from being
    /// asked.
    pub(crate) fn rotated_shards(&self) -> impl Iterator<Item = &Arc<Shared<Node>>> {
        let first = match self.shards.len() {
            1 => 0,
            count => self.first.fetch_add(1, Ordering::Relaxed) % count,
        };
        self.shards[first..].iter().chain(&self.shards[..first])
    }

    /// The shard for an association with a peer.
    pub(crate) fn shard_for(&self, peer: &PeerAddress) -> &Arc<Shared<Node>> {
        let first = &self.shards[0];
        let (Some(common), Some(at)) = (&self.common, peer.first()) else { return first };
        let is_with = |shard: &&Arc<Shared<Node>>| shard.inspect(|node| node.is_with(peer));
        let port = if self.limits.secure { at.port() } else { peer.sctp_port };
        let home = || self.shards.get(common.home((at.ip(), port))).unwrap_or(first);
        self.shards().find(is_with).unwrap_or_else(home)
    }

    /// The clock of all shards.
    pub(crate) fn clock(&self) -> Clock {
        self.shards[0].clock()
    }

    /// Options of an association of this endpoint.
    pub(crate) fn options(&self, options: AssociationOptions) -> AssociationOptions {
        self.limits.fit(options)
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.carrier.local_addr()
    }

    pub(crate) fn local_addrs(&self) -> Vec<SocketAddr> {
        self.carrier.local_addrs()
    }

    pub(crate) fn carrier_statistics(&self) -> CarrierStatistics {
        self.carrier.statistics()
    }

    /// The shard to which datagrams of a peer are led by a detour.
    #[cfg(test)]
    pub(crate) fn detour(&self, whom: crate::shards::Whom) -> Option<usize> {
        self.common.as_ref()?.detour(whom)
    }

    pub(crate) fn hand_over_statistics(&self) -> HandOverStatistics {
        self.common.as_ref().map(|common| common.statistics()).unwrap_or_default()
    }
}

/// Limits that an endpoint applies to the options of its associations.
#[derive(Clone, Copy, Debug)]
struct Limits {
    secure: bool,
    /// Silence after which associations are dead whose options name no other limit.
    dead_after: Option<base::Duration>,
    send_buffer: usize,
    /// Limits of each shard: an equal part of the endpoint's.
    memory: MemoryLimits,
}

impl Limits {
    fn of(options: &EndpointOptions) -> Limits {
        Limits {
            secure: options.encapsulation.is_secure(),
            dead_after: options.dead_after.map(base::Duration::from),
            send_buffer: options.send_buffer,
            memory: MemoryLimits {
                pressure: options.memory.pressure / options.shards,
                limit: options.memory.limit / options.shards,
            },
        }
    }

    /// The options, with a limit of silence if they name none; over DTLS, without checksums and
    /// with room for records.
    fn fit(self, options: AssociationOptions) -> AssociationOptions {
        let dead_after = options.dead_after.or(self.dead_after);
        let send_buffer = options.send_buffer.min(self.send_buffer);
        if !self.secure {
            return AssociationOptions { dead_after, send_buffer, ..options };
        }
        let overhead_below =
            u16::try_from(Settings::default().record_overhead()).unwrap_or(u16::MAX);
        let zero_checksum = Some(ErrorDetection::Dtls);
        AssociationOptions { dead_after, send_buffer, overhead_below, zero_checksum, ..options }
    }
}

/// Spawns the task of a shard.
fn spawn(shards: &Nodes, index: usize, carrier: &OpenCarrier, _sctp_port: u16) -> JoinHandle<()> {
    let _local = carrier.local_addr();
    let nodes = Arc::clone(shards);
    match carrier {
        OpenCarrier::Udp(udp) => match udp.get(index) {
            Some(own) => start(drive(nodes, index, Arc::clone(own)), _local, _sctp_port),
            None => start(drive(nodes, index, send_only(&udp[0])), _local, _sctp_port),
        },
        OpenCarrier::RawIp(raw) => match index {
            0 => start(drive(nodes, index, Arc::clone(raw)), _local, _sctp_port),
            _ => start(drive(nodes, index, send_only(raw)), _local, _sctp_port),
        },
    }
}

fn send_only<T: io::Carrier>(carrier: &Arc<T>) -> Arc<SendOnly<T>> {
    Arc::new(SendOnly(Arc::clone(carrier)))
}

fn start(
    driver: impl Future<Output = ()> + Send + 'static,
    _local: SocketAddr,
    _sctp_port: u16,
) -> JoinHandle<()> {
    #[cfg(feature = "tracing")]
    let driver = {
        let span = crate::telemetry::endpoint_span(_local, _sctp_port);
        tracing::Instrument::instrument(driver, span)
    };
    tokio::spawn(driver)
}

/// Runs a shard, and ends all of them when its socket fails.
async fn drive<T: io::Carrier>(shards: Nodes, index: usize, carrier: Arc<T>) {
    let own = &shards[index];
    if let Err(error) = io::run(Arc::clone(own), carrier, Dispatch).await {
        let text: Arc<str> = error.to_string().into();
        #[cfg(feature = "tracing")]
        crate::telemetry::on_socket_failed(&text);
        for shard in shards.iter() {
            shard.call(|node, _| {
                node.refuse(EndpointError::Socket(text.clone()));
                node.end_all(&AssociationError::Socket(text.clone()));
            });
            shard.close();
        }
    }
    own.call(|node, now| node.finish(now));
}

/// The endpoint's part in the driver.
struct Dispatch;

impl Hook<Node> for Dispatch {
    fn after_input(&mut self, node: &mut Node, now: Instant) {
        node.dispatch(now);
    }

    fn take_input(&mut self, node: &mut Node, now: Instant) -> bool {
        node.take_parcel(now)
    }

    fn awaits_acknowledgements(&self, node: &Node) -> bool {
        node.machine().awaits_acknowledgements()
    }
}

/// A port of the dynamic range (RFC 6335, section 6).
fn ephemeral_port(random: &mut RandomStream) -> u16 {
    const FIRST: u16 = 49_152;
    FIRST + random.below(u64::from(u16::MAX - FIRST) + 1) as u16
}
