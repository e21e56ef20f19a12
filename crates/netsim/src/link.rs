//! A link: one direction of a network path, as a sans-IO machine.
//!
//! The owner offers packets with [`Link::send`], sleeps until [`Link::poll_timeout`] and takes what
//! has arrived with [`Link::poll`]. The owner's clock decides whether this is a simulation or an
//! emulation in real time.
//!
//! A packet's way: it joins the drop-tail queue (or is dropped there), waits for its turn, is
//! serialised at the link's rate, leaves (here blackouts and the loss model strike: a lost packet
//! has used its share of the rate), may be doubled, travels for delay plus jitter, and may be
//! corrupted. All of this is decided in [`Link::send`], since nothing that comes later changes it;
//! so a packet costs one event, at its arrival.

mod config;
mod flight;
mod framing;
mod jitter;
mod loss;
mod profile;
mod queue;
mod statistics;
#[cfg(test)]
mod tests;
mod variate;

pub use config::{LinkConfig, LinkConfigError, Reorder};
pub use framing::Framing;
pub use jitter::Jitter;
pub use loss::{GilbertElliott, LossModel, TimedGilbert};
pub use profile::{ParseProfileError, ProfileStep, RateChange, parse_profile};
pub use queue::QueueLimit;
pub use statistics::{DropCause, LinkStatistics, Traffic};

use core::ops::Range;

use base::{Instant, Probability};

use flight::Flight;
use loss::LossSchedule;
use profile::Conditions;
use queue::DropTail;
use variate::LazyStream;

/// Decides the fate of a packet by looking into it: true loses it. The time is that of its sending.
pub type LossOracle<P> = Box<dyn FnMut(Instant, &P) -> bool + Send>;

/// What became of an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission<P> {
    /// It will arrive.
    Accepted {
        /// How often: 2 when it was duplicated.
        copies: u32,
    },
    /// It will not arrive.
    Dropped {
        /// The packet, given back.
        packet: P,
        /// Why.
        cause: DropCause,
    },
}

/// A packet at the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet as it was sent.
    pub packet: P,
    /// When corrupted on the way: random bits that choose what to flip (see [`flip_bit`]).
    pub corrupted: Option<u64>,
    /// When it arrived: not after the `now` of the [`Link::poll`] that returned it.
    pub due: Instant,
}

/// One direction of a network path (see the module's text).
pub struct Link<P> {
    latest: Instant,
    queue: DropTail,
    conditions: Conditions,
    loss: LossSchedule,
    oracle: Option<LossOracle<P>>,
    blackouts: Vec<Range<Instant>>,
    allow_reordering: bool,
    reorder: (Reorder, LazyStream),
    duplicate: (Probability, LazyStream),
    corrupt: (Probability, LazyStream),
    jitter: LazyStream,
    flight: Flight<P>,
    last_due: Instant,
    statistics: LinkStatistics,
    mtu: Option<u64>,
    framing: Framing,
}

impl<P> Link<P> {
    /// A link as `config` says. `seed` and the link's `index` name its random streams, one per
    /// purpose: equal links with equal seeds and indices treat equal packets equally.
    ///
    /// # Errors
    /// When `config` contradicts itself; the error says what and what would be right.
    pub fn new(config: LinkConfig, seed: u64, index: u64) -> Result<Link<P>, LinkConfigError> {
        config.check()?;
        let stream = |name| LazyStream::new(seed, name, index);
        Ok(Link {
            latest: Instant::ZERO,
            queue: DropTail::new(config.queue),
            loss: LossSchedule::new(&config, seed, index),
            oracle: None,
            blackouts: config::merge_blackouts(config.blackouts.clone()),
            allow_reordering: config.allow_reordering,
            reorder: (config.reorder, stream("link reorder")),
            duplicate: (config.duplicate, stream("link duplicate")),
            corrupt: (config.corrupt, stream("link corrupt")),
            jitter: stream("link jitter"),
            mtu: config.mtu,
            framing: config.framing,
            conditions: Conditions::new(config),
            flight: Flight::default(),
            last_due: Instant::ZERO,
            statistics: LinkStatistics::default(),
        })
    }

    /// The same link with `oracle` in the place of its loss model.
    #[must_use]
    pub fn with_oracle(mut self, oracle: LossOracle<P>) -> Link<P> {
        self.oracle = Some(oracle);
        self
    }

    /// Output: the next packet that has arrived by `now`, in order of arrival.
    pub fn poll(&mut self, now: Instant) -> Option<Delivery<P>> {
        self.latest = self.latest.max(now);
        let arrived = self.flight.pop(self.latest)?;
        self.statistics.on_delivered(&arrived);
        Some(Delivery { packet: arrived.packet, corrupted: arrived.corrupted, due: arrived.due })
    }

    /// Output: when the next packet arrives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.flight.next_due()
    }

    /// What happened so far.
    pub fn statistics(&self) -> LinkStatistics {
        self.statistics
    }

    /// Packets accepted and not yet taken with [`Link::poll`].
    pub fn in_transit(&self) -> usize {
        self.flight.len()
    }

    /// Packets and bytes that wait at `now` for their turn, without the one being serialised.
    pub fn queued(&mut self, now: Instant) -> Traffic {
        self.latest = self.latest.max(now);
        self.queue.waiting(self.latest)
    }

    /// Whether a packet of `size` bytes on the wire passes in one piece.
    pub fn carries(&self, size: u64) -> bool {
        self.mtu.is_none_or(|mtu| size <= mtu)
    }

    /// Changes what [`LinkConfig::mtu`] says.
    pub fn set_mtu(&mut self, mtu: Option<u64>) {
        self.mtu = mtu;
    }

    /// Input: a packet was offered that is larger than [`LinkConfig::mtu`] and must not be fragmented.
    pub fn refuse_too_large(&mut self, packet: P, size: u64) -> Admission<P> {
        self.statistics.offered.add(size);
        self.drop(packet, size, DropCause::TooLarge)
    }

    fn drop(&mut self, packet: P, size: u64, cause: DropCause) -> Admission<P> {
        self.statistics.on_dropped(size, cause);
        Admission::Dropped { packet, cause }
    }

    fn is_blacked_out(&self, at: Instant) -> bool {
        let begun = self.blackouts.partition_point(|blackout| blackout.start <= at);
        begun > 0 && self.blackouts[begun - 1].contains(&at)
    }
}

impl<P: Clone> Link<P> {
    /// Input: offers `packet` of `size` bytes on the wire. A `now` before the latest seen counts as that.
    pub fn send(&mut self, now: Instant, packet: P, size: u64) -> Admission<P> {
        self.latest = self.latest.max(now);
        let now = self.latest;
        self.statistics.offered.add(size);
        let conditions = &self.conditions;
        let octets = self.framing.on_the_line(size);
        let Some(departure) = self.queue.admit(now, octets, |start| conditions.at(start).rate)
        else {
            return self.drop(packet, size, DropCause::Queue);
        };
        // The fate is asked for even in a blackout, so that blackouts do not shift later draws.
        let number = self.statistics.offered.packets;
        let lost = match &mut self.oracle {
            Some(oracle) => oracle(now, &packet),
            None => self.loss.loses(departure, number),
        };
        if self.is_blacked_out(departure) {
            return self.drop(packet, size, DropCause::Blackout);
        }
        if lost {
            return self.drop(packet, size, DropCause::Loss);
        }
        let duplicated = self.duplicate.1.happens(self.duplicate.0);
        if duplicated {
            self.statistics.duplicated.add(size);
            self.launch(departure, packet.clone(), size);
        }
        self.launch(departure, packet, size);
        Admission::Accepted { copies: 1 + u32::from(duplicated) }
    }

    /// Puts a packet that leaves the sender's side at `departure` on its way.
    fn launch(&mut self, departure: Instant, packet: P, size: u64) {
        let conditions = self.conditions.at(departure);
        let mut due = departure + conditions.jitter.apply(conditions.delay, &mut self.jitter);
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

/// Flips the bit of `bytes` that the random `bits` of [`Delivery::corrupted`] choose; nothing if empty.
pub fn flip_bit(bytes: &mut [u8], bits: u64) {
    let position = bits % (bytes.len() as u64 * 8).max(1);
    if let Some(byte) = bytes.get_mut((position / 8) as usize) {
        *byte ^= 1 << (position % 8);
    }
}
