//! What the flows of a group have in common: distributions and counts.

use base::{Duration, Instant};
use recovery::Cause;
use results::{LatencyByRetransmissions, LatencyRecorder};

use super::{Delivery, GoodputWish, Needless, Traffic, Wishes};
use crate::workload::DueMessage;

/// Causes in the order of their columns.
pub(super) const CAUSES: [Cause; 5] =
    [Cause::Timeout, Cause::Fast, Cause::Early, Cause::Bundled, Cause::Probe];
/// First, second, third, later.
pub(super) const ORDERS: [&str; 4] = ["1", "2", "3", "4+"];

/// Retransmissions by cause and order.
pub(super) type Counts = [[u64; ORDERS.len()]; CAUSES.len()];

/// Distributions and counts of a group of flows.
#[derive(Clone, Debug)]
pub struct GroupMeter {
    wishes: Wishes,
    /// Messages due in the window.
    pub due: u64,
    /// Those of them that were delivered.
    pub delivered: u64,
    /// Those of them that were given to the transport and never delivered.
    pub undelivered: u64,
    /// Latency at the application, if wanted.
    pub application: Option<Box<LatencyByRetransmissions>>,
    /// Latency at the transport.
    pub transport: Option<Box<LatencyByRetransmissions>>,
    /// From arrival to delivery.
    pub in_order: Option<Box<LatencyRecorder>>,
    /// How many took longer than each limit, to the application and to the transport.
    pub beyond: [Vec<u64>; 2],
    pub(super) resent: Counts,
    pub(super) needless: Counts,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// How long transfers took.
    pub transfers: Option<Box<LatencyRecorder>>,
    /// Sizes of messages and times between them.
    pub traffic: Option<Box<Traffic>>,
    /// Bytes that receiving applications read, by interval of the window.
    pub over_time: Vec<u64>,
}

impl GroupMeter {
    /// A meter of what is wished.
    pub fn new(wishes: Wishes) -> GroupMeter {
        let latency = wishes.latency.as_ref();
        let wants = |want: bool| want.then(Box::default);
        GroupMeter {
            application: wants(latency.is_some_and(|wish| wish.application)),
            transport: wants(latency.is_some_and(|wish| wish.transport)),
            in_order: latency.filter(|wish| wish.in_order).map(|_| Box::default()),
            beyond: [0, 1].map(|_| vec![0; latency.map_or(0, |wish| wish.limits.len())]),
            transfers: wishes.transfers.then(Box::default),
            traffic: wishes.traffic.then(Box::default),
            wishes,
            due: 0,
            delivered: 0,
            undelivered: 0,
            resent: Counts::default(),
            needless: Counts::default(),
            timeouts: 0,
            over_time: Vec::new(),
        }
    }

    /// What is wished.
    pub fn wishes(&self) -> &Wishes {
        &self.wishes
    }

    fn counts(&self, at: Instant) -> bool {
        self.wishes.window.contains(&at)
    }

    /// A message was due, so long after the one before it of its flow.
    pub fn on_due(&mut self, message: &DueMessage, interval: Option<Duration>) {
        if !self.counts(message.due) {
            return;
        }
        self.due += 1;
        if let Some(traffic) = &mut self.traffic {
            traffic.on_due(message.size as u64, interval);
        }
    }

    /// A receiving application read bytes.
    pub fn on_read(&mut self, now: Instant, bytes: u64) {
        let Some(GoodputWish { interval: Some(interval), over_time: true, .. }) =
            self.wishes.goodput
        else {
            return;
        };
        if self.counts(now) {
            let place = now.since(self.wishes.window.start).as_nanos() / interval.as_nanos().max(1);
            if self.over_time.len() as u64 <= place {
                // A plan's check bounds the number of intervals.
                self.over_time.resize(place as usize + 1, 0);
            }
            self.over_time[place as usize] += bytes;
        }
    }

    /// Retransmissions of what had arrived before.
    pub fn needless(&self) -> u64 {
        self.needless.iter().flatten().sum()
    }

    /// A message was delivered.
    pub fn on_delivery(&mut self, delivery: &Delivery) {
        if !self.counts(delivery.due) {
            return;
        }
        self.delivered += 1;
        let since_sent = self.wishes.latency.as_ref().is_some_and(|wish| wish.since_sent);
        let begin = if since_sent { delivery.sent } else { delivery.due };
        let latency = delivery.delivered.since(begin);
        let transport_latency = delivery.arrived.since(begin);
        if let Some(application) = &mut self.application {
            application.record(delivery.retransmissions, latency);
        }
        if let Some(transport) = &mut self.transport {
            transport.record(delivery.retransmissions, transport_latency);
        }
        self.count_beyond(latency, transport_latency);
        if let Some(in_order) = &mut self.in_order {
            in_order.record(delivery.delivered.since(delivery.arrived));
        }
    }

    /// A message due at `due` is not delivered at the end of the run.
    pub fn on_undelivered(&mut self, due: Instant) {
        if self.counts(due) {
            self.undelivered += 1;
            self.count_beyond(Duration::MAX, Duration::MAX);
        }
    }

    fn count_beyond(&mut self, application: Duration, transport: Duration) {
        for (latency, counts) in [application, transport].into_iter().zip(&mut self.beyond) {
            let limits = self.wishes.latency.iter().flat_map(|wish| &wish.limits);
            for (limit, count) in limits.zip(counts) {
                *count += u64::from(latency > limit.span);
            }
        }
    }

    /// A unit is sent again.
    pub fn on_resent(&mut self, now: Instant, cause: Cause, order: u8) {
        if self.counts(now) {
            count(&mut self.resent, cause, order);
        }
    }

    /// A unit that was sent again had arrived before.
    pub fn on_needless(&mut self, needless: Needless) {
        if self.counts(needless.sent) {
            count(&mut self.needless, needless.cause, needless.order);
        }
    }

    /// A retransmission timer expired.
    pub fn on_timeout(&mut self, now: Instant) {
        self.timeouts += u64::from(self.counts(now));
    }

    /// A transfer is complete.
    pub fn on_transfer(&mut self, now: Instant, message: &DueMessage) {
        if self.counts(message.due) {
            self.delivered += 1;
            if let Some(transfers) = &mut self.transfers {
                transfers.record(now.since(message.due));
            }
        }
    }
}

fn count(counts: &mut Counts, cause: Cause, order: u8) {
    let column = usize::from(order.clamp(1, ORDERS.len() as u8)) - 1;
    if let Some(row) = CAUSES.iter().position(|one| *one == cause) {
        counts[row][column] += 1;
    }
}
