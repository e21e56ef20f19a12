//! Messages over a TCP connection through a lossy network: when each is due, when the application
//! at the other end has read all of it.

use std::cell::RefCell;
use std::rc::Rc;

use base::{Duration, Instant, Probability};
use netsim::LinkConfig;
use netsim::topology::Directions;
use recovery::RecoveryPolicy;

use lab::flow::{Detail, FlowConfig, SourcePlan, TransportOptions};
use lab::observed::GroupMeter;
use lab::workload::DueMessage;
use lab::world::{Network, World, WorldError};

/// Time for the connection to be set up.
const BEGIN: Instant = Instant::from_millis(20_000);
/// Time after the last message within which all have to arrive.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// A connection and its network.
#[derive(Clone, Debug)]
pub struct Line {
    /// Recovery policy of both ends.
    pub policy: RecoveryPolicy,
    /// Round-trip time without queueing.
    pub rtt: Duration,
    /// Probability of a packet's loss, each way.
    pub loss: Probability,
    /// Bytes of user data in each message.
    pub size: usize,
}

/// Carries messages that are due at these times, in order, and tells when each had been read.
/// Messages that never were, because the connection failed, are missing at the end.
///
/// # Errors
/// [`WorldError`] where settings of the network contradict each other or time stands still.
pub fn carry(
    due: &[Duration],
    line: &Line,
    seed: u64,
    index: u64,
) -> Result<Vec<Duration>, WorldError> {
    let messages = (0..).zip(due).map(|(index, due)| DueMessage {
        index,
        due: BEGIN + *due,
        size: line.size,
        media: *due,
    });
    let nothing = GroupMeter::none(Instant::ZERO..Instant::FAR_FUTURE);
    let flow = FlowConfig {
        transport: TransportOptions::tcp(line.policy.clone(), line.policy.clone()),
        source: SourcePlan::Listed { messages: messages.collect(), streams: 1 },
        start: Instant::ZERO,
        set_up: BEGIN.since(Instant::ZERO),
        detail: Detail::Deliveries,
        group: Rc::new(RefCell::new(nothing)),
        extra_rtt: Duration::ZERO,
        hint: None,
        advice: None,
    };
    let links = Directions::both(LinkConfig::lossy(line.rtt / 2, line.loss));
    // A network of its own for each line, by its number.
    let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index;
    let mut world = World::new(&Network::Pair(links), &[flow], None, seed)?;
    world.run_until(BEGIN + due.last().copied().unwrap_or_default())?;
    world.settle(&[0], PATIENCE)?;
    let log = world.flows.first().map(|ends| ends.log.borrow());
    let deliveries = log.as_ref().and_then(|log| log.deliveries.as_deref());
    Ok(deliveries.unwrap_or_default().iter().map(|one| one.delivered.since(BEGIN)).collect())
}
