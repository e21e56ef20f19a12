//! Gain of partial order, after Caro et al. (2001): the same messages in one ordered stream, in a
//! stream for each object, and in exactly the partial order that they need
//! ([`layers::PartialOrder`](layers::partial_order::PartialOrder)).
//!
//! [`scene`] is a case that streams cannot express: objects that send updates and sometimes refer
//! to each other. The paper's own experiment is [`pictures`](crate::pictures).

mod side;

use std::sync::Arc;

use base::{Duration, Instant, Probability, Purpose, RandomStream, Rate};
use bytes::Bytes;
use netsim::link::{Framing, QueueLimit};
use netsim::topology::{Directions, Placed, pair};
use netsim::{LinkConfig, LossModel, Simulation};
use recovery::RecoveryPolicy;
use sctp::Reliability;

use self::side::{Receiver, Sender, Side};

use lab::world::WorldError;

/// A message of the comparison.
#[derive(Clone, Debug)]
pub struct Item {
    /// Time at which the application has it.
    pub due: Duration,
    /// Number of the object that the message updates.
    pub object: u16,
    /// Messages (by their place in the list) that must have been delivered before.
    pub after: Vec<usize>,
    /// Size of the message in bytes, number and time included.
    pub size: usize,
    /// Content after number and time (12 bytes); the rest of its size is zeros.
    pub content: Bytes,
    /// Condition under which it may be given up.
    pub reliability: Reliability,
}

impl Item {
    /// Bytes of its number and time.
    pub const HEADER: usize = 12;
}

/// The service that carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Every message ordered after the one before it: a loss delays all objects.
    OneStream,
    /// Messages ordered within their object alone: a loss delays no other object.
    StreamPerObject,
    /// The layer for partial orders.
    PartialOrder,
    /// Unordered, to measure the price of order.
    Unordered,
}

impl Service {
    /// All of them, in the order of the table.
    pub const ALL: [Service; 4] =
        [Service::OneStream, Service::StreamPerObject, Service::PartialOrder, Service::Unordered];

    /// Name in the table of the comparison.
    pub const fn name(self) -> &'static str {
        match self {
            Service::OneStream => "one ordered stream",
            Service::StreamPerObject => "a stream per object",
            Service::PartialOrder => "partial order",
            Service::Unordered => "unordered",
        }
    }
}

/// The network of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Round-trip time without queueing.
    pub rtt: Duration,
    /// Probability of a packet's loss, each way.
    pub loss: Probability,
    /// Rate, each way; none is infinite.
    pub rate: Option<Rate>,
    /// Bytes that the line adds to each packet.
    pub framing: Framing,
    /// Packets that may wait before it.
    pub queue: usize,
    /// Bytes of an IP packet.
    pub path_mtu: u16,
}

/// A message that was delivered.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Index of the message in the list.
    pub item: usize,
    /// Time of the delivery, from the moment at which the association was set up.
    pub at: Duration,
    /// Content of the message as delivered.
    pub content: Bytes,
}

/// Deliveries of messages, and violations of their order.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Messages in the order of their delivery.
    pub arrivals: Vec<Arrival>,
    /// Time from when the application had the message to its delivery.
    pub delays: Vec<Duration>,
    /// Messages delivered before one that they depend on.
    pub violations: usize,
}

/// `objects` objects that each send an update of `size` bytes every `interval`, in turn. An update
/// is of use after the last one of its object; every fifth also refers to the last one of another
/// object.
pub fn scene(objects: u16, updates: u64, interval: Duration, size: usize, seed: u64) -> Vec<Item> {
    let mut random = RandomStream::new(seed, Purpose("scene", 0));
    let (mut items, mut last) = (Vec::new(), vec![None; usize::from(objects)]);
    for round in 0..updates {
        for object in 0..objects {
            let share = interval.scale(u64::from(object), u64::from(objects));
            let mut after: Vec<usize> = last[usize::from(object)].into_iter().collect();
            if (round + u64::from(object)) % 5 == 4 {
                let other = random.below(u64::from(objects)) as usize;
                after.extend(last[other].filter(|_| other != usize::from(object)));
            }
            last[usize::from(object)] = Some(items.len());
            let due = interval * round + share;
            let (content, reliability) = (Bytes::new(), Reliability::Full);
            items.push(Item { due, object, after, size, content, reliability });
        }
    }
    items
}

/// Carries `items` over `network` with `service`.
///
/// # Errors
/// [`WorldError`] where settings of the network contradict each other or time stands still.
pub fn carry(
    items: &Arc<[Item]>,
    service: Service,
    policy: &Arc<RecoveryPolicy>,
    network: Network,
    seed: u64,
) -> Result<Outcome, WorldError> {
    let link = LinkConfig {
        rate: network.rate,
        framing: network.framing,
        queue: QueueLimit::packets(network.queue),
        loss: LossModel::Bernoulli(network.loss),
        ..LinkConfig::with_delay(network.rtt / 2)
    };
    let mut simulation = Simulation::new(seed);
    let options = side::options(items, policy, network.path_mtu);
    let sender = Sender::new(Arc::clone(items), service, options.clone(), seed);
    let receiver = Receiver::new(Arc::clone(items), service, options, seed);
    let (sender, receiver) = (Side::Sender(sender), Side::Receiver(receiver));
    let placed = pair(
        &mut simulation,
        Placed::at(sender, side::SENDER),
        Placed::at(receiver, side::RECEIVER),
        &[Directions::both(link)],
    )
    .map_err(WorldError::Link)?;
    let last = items.last().map_or(Duration::ZERO, |item| item.due);
    let limit = Instant::ZERO + last + Duration::from_secs(3600);
    let is_done = |simulation: &Simulation<Side>| simulation.host(placed.second).is_done();
    simulation.run_until_done(limit, is_done).map_err(WorldError::Stalled)?;
    Ok(simulation.host(placed.second).outcome())
}

/// Mean of the delays, in milliseconds.
pub fn mean_ms(delays: &[Duration]) -> f64 {
    results::mean(delays.iter().map(|delay| delay.as_millis_f64()))
}
