//! A link: one direction of a network path, as a sans-IO machine.
//!
//! The owner offers packets with [`Link::send`], sleeps until [`Link::poll_timeout`] and takes what
//! has arrived with [`Link::poll`]. The owner's clock decides whether this is a simulation or an
//! emulation in real time.
//!
//! A packet's way: it joins the queue (or is dropped there), waits until it is dequeued, is
//! serialised at the link's rate, leaves (here blackouts and the loss model decide: a lost packet
//! has used its share of the rate), may be doubled, joins a queue of cross traffic, travels for
//! delay plus jitter, and may be corrupted. All of this is decided in [`Link::send`], since nothing
//! that comes later changes it; so a packet costs one event, at its arrival. Only CoDel, alone or
//! in queues of flows, decides on a packet when it is dequeued: then it costs an event more, and
//! what became of it is reported by [`Link::poll_outcome`].

mod config;
mod cross;
mod error;
mod flight;
mod framing;
mod jitter;
mod line;
mod lines;
mod link_packet;
mod loss;
mod profile;
mod queue;
mod recording;
mod statistics;
#[cfg(test)]
mod tests;
mod variate;
mod wifi;

pub use config::{LinkConfig, Reorder};
pub use cross::CrossTraffic;
pub use error::LinkConfigError;
pub use framing::Framing;
pub use jitter::Jitter;
pub use lines::ParseLinesError;
pub use link_packet::LinkPacket;
pub use loss::{GilbertElliott, LossModel, TimedGilbert};
pub use profile::{ProfileStep, RateChange, parse_profile};
pub use queue::{
    Codel, Discipline, FqCodel, Pie, QueueLength, QueueLimit, QueueText, Red, RedUnit,
};
pub use recording::{
    DelaySeries, LossSeries, OPPORTUNITY, Opportunities, Recording, RecordingText, parse_recording,
};
pub use statistics::{DropCause, LinkStatistics, Traffic};
pub use wifi::WifiRetries;

use core::ops::Range;
use std::collections::VecDeque;

use base::{Duration, HashKey, Instant, Probability, Purpose, RandomStream};

use cross::CrossQueue;
use flight::Flight;
use line::Line;
use loss::LossSchedule;
use profile::{Condition, Conditions};
use queue::{Arrival, AtDequeue, Early, Leaving, PieState, RedState, TailQueue, Waiting};
use recording::Playback;
use variate::LazyStream;

/// Decides whether a packet is lost (true), with access to its content. The instant is that of its
/// sending.
pub type LossOracle<P> = Box<dyn FnMut(Instant, &P) -> bool + Send>;

/// Result of offering a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission<P> {
    /// The packet joins the queue or the line, and will arrive.
    Accepted {
        /// Number of copies: 2 if the packet was duplicated.
        copies: u32,
    },
    /// The packet will not arrive.
    Dropped {
        /// The refused packet, returned to the caller.
        packet: P,
        /// Property of the link that dropped it.
        cause: DropCause,
    },
}

/// Later result for an accepted packet, if the queue decides when the packet is dequeued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<P> {
    /// The packet will not arrive.
    Dropped {
        /// The dropped packet, returned to the caller.
        packet: P,
        /// Property of the link that dropped it.
        cause: DropCause,
    },
    /// The packet will arrive once more.
    Duplicated {
        /// The packet as it was sent.
        packet: P,
    },
}

/// A packet at the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet as it was sent.
    pub packet: P,
    /// If the packet was corrupted: random bits that select the bit to flip (see [`flip_bit`]).
    pub corrupted: Option<u64>,
    /// Time at which it arrived: not after the `now` of the [`Link::poll`] that returned it.
    pub due: Instant,
}

/// The two kinds of queues of a link.
enum Queue<P> {
    /// A queue that decides about a packet on its arrival.
    Tail(TailQueue),
    /// Decides when each packet is dequeued; with the decisions.
    AtDequeue(Box<AtDequeue<P>>, VecDeque<Outcome<P>>),
}

impl<P> Queue<P> {
    /// The queue of link `index` of a network with this seed.
    fn new(config: &LinkConfig, seed: u64, index: u64) -> Queue<P> {
        let limit = config.queue;
        let stream = |name| LazyStream::new(seed, name, index);
        let at_dequeue = |queue| Queue::AtDequeue(Box::new(queue), VecDeque::new());
        match config.discipline {
            Discipline::DropTail => Queue::Tail(TailQueue::new(limit, None)),
            Discipline::Red(red) => {
                let red = RedState::new(red, stream("link early detection"));
                Queue::Tail(TailQueue::new(limit, Some(Early::Red(red))))
            }
            Discipline::Pie(pie) => {
                let pie = PieState::new(pie, stream("link controller"));
                Queue::Tail(TailQueue::new(limit, Some(Early::Pie(pie))))
            }
            Discipline::Codel(codel) => at_dequeue(AtDequeue::codel(codel, limit)),
            Discipline::FqCodel(fq) => {
                let purpose = Purpose("link flow queues", index);
                let key = HashKey::draw(&mut RandomStream::new(seed, purpose));
                at_dequeue(AtDequeue::fq_codel(fq, limit, key))
            }
        }
    }
}

/// One direction of a network path (see the module's text).
pub struct Link<P> {
    latest: Instant,
    queue: Queue<P>,
    line: Line,
    loss: LossSchedule,
    playback: Option<Box<Playback>>,
    oracle: Option<LossOracle<P>>,
    /// Loses packets in addition to the loss model or the oracle.
    interference: Option<LossOracle<P>>,
    blackouts: Vec<Range<Instant>>,
    allow_reordering: bool,
    reorder: (Reorder, LazyStream),
    duplicate: (Probability, LazyStream),
    corrupt: (Probability, LazyStream),
    jitter: LazyStream,
    cross: Option<Box<CrossQueue>>,
    flight: Flight<P>,
    last_due: Instant,
    statistics: LinkStatistics,
    mtu: Option<u64>,
    framing: Framing,
}

impl<P> Link<P> {
    /// A link with this configuration. `seed` and the link's `index` determine its random streams,
    /// one per purpose: equal links with equal seeds and indices treat equal packets equally.
    ///
    /// # Errors
    /// When `config` contradicts itself; the error says what and what would be right.
    pub fn new(config: LinkConfig, seed: u64, index: u64) -> Result<Link<P>, LinkConfigError> {
        config.check()?;
        let stream = |name| LazyStream::new(seed, name, index);
        Ok(Link {
            latest: Instant::ZERO,
            queue: Queue::new(&config, seed, index),
            loss: {
                let changes = config.profile.iter();
                let changes = changes.filter_map(|step| Some((step.at, step.loss.as_ref()?)));
                LossSchedule::new(&config.loss, changes, seed, index)
            },
            playback: config.recording.playback(seed, index).map(Box::new),
            oracle: None,
            interference: None,
            blackouts: config::merge_blackouts(config.blackouts.clone()),
            allow_reordering: config.allow_reordering,
            reorder: (config.reorder, stream("link reorder")),
            duplicate: (config.duplicate, stream("link duplicate")),
            corrupt: (config.corrupt, stream("link corrupt")),
            jitter: stream("link jitter"),
            cross: config.cross.map(|cross| Box::new(CrossQueue::new(cross, seed, index))),
            mtu: config.mtu,
            framing: config.framing,
            line: Line::new(
                Conditions::new(
                    Condition { delay: config.delay, jitter: config.jitter, rate: config.rate },
                    config.profile,
                ),
                config.recording.line(seed, index),
            ),
            flight: Flight::default(),
            last_due: Instant::ZERO,
            statistics: LinkStatistics::default(),
        })
    }

    /// Replaces the link's loss model by `oracle`.
    #[must_use]
    pub fn with_oracle(mut self, oracle: LossOracle<P>) -> Link<P> {
        self.oracle = Some(oracle);
        self
    }

    /// Output: when to call [`Link::poll`] next: when the next packet arrives, or the queue decides
    /// on one.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.flight.next_due();
        match &self.queue {
            Queue::Tail(_) => arrival,
            Queue::AtDequeue(queue, _) => {
                arrival.into_iter().chain(queue.next_dequeue(&self.line)).min()
            }
        }
    }

    /// Output: later results of accepted packets; call it after [`Link::send`] and [`Link::poll`]
    /// until it returns none.
    pub fn poll_outcome(&mut self) -> Option<Outcome<P>> {
        match &mut self.queue {
            Queue::Tail(_) => None,
            Queue::AtDequeue(_, outcomes) => outcomes.pop_front(),
        }
    }

    /// Counters since the link was created.
    pub fn statistics(&self) -> LinkStatistics {
        self.statistics
    }

    /// Packets accepted and not yet returned by [`Link::poll`].
    pub fn in_transit(&self) -> usize {
        let waiting = match &self.queue {
            Queue::Tail(_) => 0,
            Queue::AtDequeue(queue, _) => queue.traffic().packets as usize,
        };
        waiting + self.flight.len()
    }

    /// The packet that arrives after `before` others, as far as known and overtakers aside.
    pub fn arriving(&self, before: usize) -> Option<&P> {
        self.flight.in_order(before)
    }

    /// Whether a packet of `size` bytes on the wire passes in one piece.
    pub fn carries(&self, size: u64) -> bool {
        self.mtu.is_none_or(|mtu| size <= mtu)
    }

    /// Also loses the packets that `oracle` selects, in addition to those of the loss model.
    pub fn set_interference(&mut self, oracle: LossOracle<P>) {
        self.interference = Some(oracle);
    }

    /// Sets the one-way delay of packets that are serialised from now on, instead of that of the
    /// configuration and its profile.
    pub fn set_delay(&mut self, delay: Duration) {
        self.line.set_delay(delay);
    }

    /// Sets the largest packet in bytes ([`LinkConfig::mtu`]) for packets offered from now on.
    pub fn set_mtu(&mut self, mtu: Option<u64>) {
        self.mtu = mtu;
    }

    /// Input: a packet was offered that is larger than [`LinkConfig::mtu`] and must not be
    /// fragmented.
    pub fn refuse_too_large(&mut self, packet: P, size: u64) -> Admission<P> {
        self.statistics.offered.add(size);
        self.drop(packet, size, DropCause::TooLarge)
    }

    #[inline(never)]
    fn drop(&mut self, packet: P, size: u64, cause: DropCause) -> Admission<P> {
        self.statistics.on_dropped(size, cause);
        Admission::Dropped { packet, cause }
    }

    fn is_blacked_out(&self, at: Instant) -> bool {
        !self.blackouts.is_empty() && self.is_during_blackout(at)
    }

    #[inline(never)]
    fn is_during_blackout(&self, at: Instant) -> bool {
        let begun = self.blackouts.partition_point(|blackout| blackout.start <= at);
        begun > 0 && self.blackouts[begun - 1].contains(&at)
    }
}

impl<P: Clone + LinkPacket> Link<P> {
    /// Input: offers `packet` of `size` bytes on the wire. A `now` before the latest seen counts as
    /// that.
    pub fn send(&mut self, now: Instant, mut packet: P, size: u64) -> Admission<P> {
        self.take_turns(now);
        let now = self.latest;
        self.statistics.offered.add(size);
        let number = self.statistics.offered.packets;
        let octets = self.framing.on_the_line(size);
        match &mut self.queue {
            Queue::Tail(queue) => {
                match queue.admit(now, octets, packet.is_ecn_capable(), &mut self.line) {
                    Arrival::Refused => self.drop(packet, size, DropCause::Queue),
                    Arrival::Admitted { departure, marked } => {
                        if marked {
                            self.statistics.marked.add(size);
                            packet.mark_congestion();
                        }
                        self.leave(now, departure, number, packet, size)
                    }
                }
            }
            Queue::AtDequeue(queue, outcomes) => {
                let waiting = Waiting { came: now, octets, offered: (number, size, packet) };
                let statistics = &mut self.statistics;
                let pushed = queue.push(waiting, P::flow, &self.line, |other| {
                    let (_, size, packet) = other.offered;
                    statistics.on_dropped(size, DropCause::Queue);
                    outcomes.push_back(Outcome::Dropped { packet, cause: DropCause::Queue });
                });
                match pushed {
                    Err(packet) => self.drop(packet, size, DropCause::Queue),
                    Ok(()) => {
                        self.take_turns(now);
                        Admission::Accepted { copies: 1 }
                    }
                }
            }
        }
    }

    /// Output: the next packet that has arrived by `now`, in order of arrival.
    pub fn poll(&mut self, now: Instant) -> Option<Delivery<P>> {
        self.take_turns(now);
        let arrived = self.flight.pop(self.latest)?;
        self.statistics.on_delivered(&arrived);
        Some(Delivery { packet: arrived.packet, corrupted: arrived.corrupted, due: arrived.due })
    }

    /// Packets and bytes that wait at `now`, without the one being serialised.
    pub fn queued(&mut self, now: Instant) -> Traffic {
        self.take_turns(now);
        match &mut self.queue {
            Queue::Tail(queue) => queue.waiting(self.latest),
            Queue::AtDequeue(queue, _) => queue.traffic(),
        }
    }

    /// Makes the decisions that are due by `now`, if the queue decides when a packet is dequeued.
    fn take_turns(&mut self, now: Instant) {
        self.latest = self.latest.max(now);
        let latest = self.latest;
        while let Queue::AtDequeue(queue, outcomes) = &mut self.queue
            && let Some(leaving) = queue.pop(latest, P::is_ecn_capable, &mut self.line)
        {
            let (waiting, start, departure, marked) = match leaving {
                Leaving::Dropped(waiting) => {
                    let (_, size, packet) = waiting.offered;
                    self.statistics.on_dropped(size, DropCause::Queue);
                    outcomes.push_back(Outcome::Dropped { packet, cause: DropCause::Queue });
                    continue;
                }
                Leaving::Sent { waiting, start, departure, marked } => {
                    (waiting, start, departure, marked)
                }
            };
            let (number, size, mut packet) = waiting.offered;
            if marked {
                self.statistics.marked.add(size);
                packet.mark_congestion();
            }
            // A packet with a duplicate is reported by a copy.
            let kept = (self.duplicate.0 > Probability::ZERO).then(|| packet.clone());
            let outcome = match (self.leave(start, departure, number, packet, size), kept) {
                (Admission::Accepted { copies: 2.. }, Some(packet)) => {
                    Outcome::Duplicated { packet }
                }
                (Admission::Accepted { .. }, _) => continue,
                (Admission::Dropped { packet, cause }, _) => Outcome::Dropped { packet, cause },
            };
            if let Queue::AtDequeue(_, outcomes) = &mut self.queue {
                outcomes.push_back(outcome);
            }
        }
    }

    /// Processes packet `number`, serialised at `departure`; `at` is the instant passed to the
    /// oracle.
    fn leave(
        &mut self,
        at: Instant,
        departure: Instant,
        number: u64,
        packet: P,
        size: u64,
    ) -> Admission<P> {
        // The fate is asked for even in a blackout, so that blackouts do not shift later draws.
        let lost = match &mut self.oracle {
            Some(oracle) => oracle(at, &packet),
            None => self.loss.loses(departure, number),
        };
        let lost = lost || self.playback.as_ref().is_some_and(|one| one.loses(departure, number));
        // Asked in any case, as the fate above.
        let chosen = self.interference.as_mut().is_some_and(|oracle| oracle(at, &packet));
        let lost = lost || chosen;
        let wait = match &mut self.cross {
            Some(cross) => cross.wait(departure),
            None => Some(Duration::ZERO),
        };
        if self.is_blacked_out(departure) {
            return self.drop(packet, size, DropCause::Blackout);
        }
        let Some(wait) = wait.filter(|_| !lost) else {
            return self.drop(packet, size, DropCause::Loss);
        };
        let duplicated = self.duplicate.1.happens(self.duplicate.0);
        if duplicated {
            self.statistics.duplicated.add(size);
            self.launch(departure, wait, packet.clone(), size);
        }
        self.launch(departure, wait, packet, size);
        Admission::Accepted { copies: 1 + u32::from(duplicated) }
    }

    /// Schedules the arrival of a packet that leaves the sender's side at `departure`.
    fn launch(&mut self, departure: Instant, wait: Duration, packet: P, size: u64) {
        let conditions = self.line.at(departure);
        let recorded = self.playback.as_ref().map_or(Duration::ZERO, |one| one.delay(departure));
        let travel = conditions.jitter.apply(conditions.delay + recorded, &mut self.jitter);
        let mut due = departure + wait + travel;
        if self.reorder.1.happens(self.reorder.0.probability) {
            due += self.reorder.0.extra_delay;
        } else if !self.allow_reordering {
            due = due.max(self.last_due);
            self.last_due = due;
        }
        let corrupted = (self.corrupt.1.happens(self.corrupt.0)).then(|| self.corrupt.1.next_u64());
        self.flight.push(due, size, corrupted, packet);
    }
}

/// Flips the bit of `bytes` that the random `bits` of [`Delivery::corrupted`] choose; nothing if
/// empty.
pub fn flip_bit(bytes: &mut [u8], bits: u64) {
    let position = bits % (bytes.len() as u64 * 8).max(1);
    if let Some(byte) = bytes.get_mut((position / 8) as usize) {
        *byte ^= 1 << (position % 8);
    }
}
