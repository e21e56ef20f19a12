//! Latency of messages, at the application and at the transport.

use core::ops::Range;

use base::{Duration, Instant};
use results::{LatencyByRetransmissions, LatencyRecorder, Sheet};
use serde::Deserialize;

use super::interface::{Ask, Planned, of_flow};
use super::latency_limit::LatencyLimit;
use crate::observed::{Delivery, Group, Measure, Seen, Setting};
use crate::text::{Names, Text};

/// `[measure.latency]`: time from the call to delivery.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// `application`, `transport` or `in-order`: the place of arrival; application unless given.
    #[serde(default)]
    pub at: Option<Names>,
    /// `retransmission`: separate rows by how often a message was retransmitted.
    #[serde(default)]
    pub by: Option<String>,
    /// `due` or `sent`: the start of the measured time; due unless given. A packet trace shows the
    /// time since the last byte was sent.
    #[serde(default)]
    pub since: Option<String>,
    /// Quantiles to report, each from 0 to 1.
    #[serde(default)]
    pub quantiles: Vec<f64>,
    /// Times beyond which the share of messages is reported.
    #[serde(default)]
    pub limits: Vec<Text<LatencyLimit>>,
    /// Whether each flow's maximum is reported.
    #[serde(default)]
    pub per_flow: bool,
    /// Whether the whole distribution is kept.
    #[serde(default)]
    pub distribution: bool,
}

impl Latency {
    const PLACES: [&str; 3] = ["application", "transport", "in-order"];

    fn places(&self) -> Vec<&str> {
        match &self.at {
            None => vec![Self::PLACES[0]],
            Some(names) => names.0.iter().map(String::as_str).collect(),
        }
    }
}

impl Ask for Latency {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn check(&self, _: &Planned<'_>) -> Result<(), String> {
        if let Some(place) = self.places().into_iter().find(|place| !Self::PLACES.contains(place)) {
            return Err(format!(
                "measure.latency.at \"{place}\" is none of application, transport, in-order"
            ));
        }
        if let Some(by) = self.by.as_ref().filter(|by| *by != "retransmission") {
            return Err(format!("measure.latency.by \"{by}\" is not retransmission"));
        }
        let is_known = |since: &&String| ["due", "sent"].contains(&since.as_str());
        if let Some(since) = self.since.as_ref().filter(|since| !is_known(since)) {
            return Err(format!("measure.latency.since \"{since}\" is neither due nor sent"));
        }
        match self.quantiles.iter().find(|quantile| !(0.0..=1.0).contains(*quantile)) {
            Some(quantile) => {
                Err(format!("measure.latency.quantiles has {quantile}; give numbers from 0 to 1"))
            }
            None => Ok(()),
        }
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let places = self.places();
        let wants = |place: &str| places.contains(&place);
        Some(Box::new(Kept {
            window: setting.window.clone(),
            application: wants("application").then(Box::default),
            transport: wants("transport").then(Box::default),
            in_order: wants("in-order").then(Box::default),
            limits: self.limits.iter().map(|limit| limit.0.clone()).collect(),
            beyond: [0, 1].map(|_| vec![0; self.limits.len()]),
            by_retransmission: self.by.is_some(),
            since_sent: self.since.as_deref() == Some("sent"),
            quantiles: self.quantiles.clone(),
            distribution: self.distribution,
            longest: self.per_flow.then(Vec::new),
            due: 0,
            delivered: 0,
            undelivered: 0,
        }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    /// Time until a message was delivered.
    application: Option<Box<LatencyByRetransmissions>>,
    /// Time until all of a message had arrived, in any order.
    transport: Option<Box<LatencyByRetransmissions>>,
    /// Time from arrival to delivery: the cost of in-order delivery.
    in_order: Option<Box<LatencyRecorder>>,
    limits: Vec<LatencyLimit>,
    /// Messages that took longer than each limit, at the application and at the transport.
    beyond: [Vec<u64>; 2],
    by_retransmission: bool,
    since_sent: bool,
    quantiles: Vec<f64>,
    distribution: bool,
    /// Longest latency of each flow, where that is asked for.
    longest: Option<Vec<Duration>>,
    due: u64,
    delivered: u64,
    undelivered: u64,
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        match seen {
            Seen::Due(message) => self.due += u64::from(self.window.contains(&message.due)),
            Seen::Delivered(delivery) if self.window.contains(&delivery.due) => {
                self.on_delivery(delivery);
                self.on_latency(flow, delivery.delivered.since(delivery.due));
            }
            Seen::Undelivered { due, at } if self.window.contains(due) => {
                self.undelivered += 1;
                self.count_beyond(Duration::MAX, Duration::MAX);
                self.on_latency(flow, at.since(*due));
            }
            Seen::Transferred { message, .. } => {
                self.delivered += u64::from(self.window.contains(&message.due));
            }
            Seen::Finished { .. } => self.on_latency(flow, Duration::ZERO),
            _ => {}
        }
    }

    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        sheet.add("messages.due", &[], self.due as f64, "");
        sheet.add("messages.undelivered", &[], self.undelivered as f64, "");
        if let Some(application) = &self.application {
            self.latencies("latency", application, sheet);
        }
        if let Some(transport) = &self.transport {
            self.latencies("transport_latency", transport, sheet);
        }
        if let Some(in_order) = &self.in_order {
            let how = (&self.quantiles[..], self.distribution);
            sheet.add_latency("in_order_delay", &[], in_order, how);
        }
        self.shares_beyond(sheet);
        for (number, longest) in self.longest.iter().flatten().enumerate() {
            let number = number.to_string();
            sheet.add("latency.max", &[("flow", &number)], longest.as_millis_f64(), "ms");
        }
    }
}

impl Kept {
    fn on_delivery(&mut self, delivery: &Delivery) {
        self.delivered += 1;
        let begin = if self.since_sent { delivery.sent } else { delivery.due };
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

    fn on_latency(&mut self, flow: usize, latency: Duration) {
        let longest = self.longest.as_mut();
        let longest = longest.and_then(|flows| of_flow(flows, flow, || Duration::ZERO));
        if let Some(longest) = longest {
            *longest = latency.max(*longest);
        }
    }

    fn count_beyond(&mut self, application: Duration, transport: Duration) {
        for (latency, counts) in [application, transport].into_iter().zip(&mut self.beyond) {
            for (limit, count) in self.limits.iter().zip(counts) {
                *count += u64::from(latency > limit.span);
            }
        }
    }

    fn latencies(&self, measure: &str, of: &LatencyByRetransmissions, sheet: &mut Sheet<'_>) {
        let how = (&self.quantiles[..], self.distribution);
        sheet.add_latency(measure, &[], &of.all(), how);
        if !self.by_retransmission {
            return;
        }
        let names = ["0", "1", "2", "3", "4+"];
        for (order, recorder) in names.iter().zip(of.columns()) {
            sheet.add_latency(measure, &[("order", order)], recorder, how);
        }
        sheet.add_latency(measure, &[("order", "1+")], &of.retransmitted(), how);
    }

    fn shares_beyond(&self, sheet: &mut Sheet<'_>) {
        let messages = (self.delivered + self.undelivered) as f64;
        let application = self.application.is_some() || self.transport.is_none();
        let places = [
            ("latency.beyond", application),
            ("transport_latency.beyond", self.transport.is_some()),
        ];
        let counted = places.iter().zip(&self.beyond).filter(|((_, wanted), _)| *wanted);
        for ((measure, _), counts) in counted {
            for (limit, count) in self.limits.iter().zip(counts) {
                let share = 100.0 * *count as f64 / messages;
                sheet.add(measure, &[("limit", &limit.name)], share, "%");
            }
        }
    }
}
