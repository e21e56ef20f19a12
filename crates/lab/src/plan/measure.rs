//! `[measure]`: what is measured of which flows.

use core::ops::Range;

use base::{Duration, Instant};
use serde::Deserialize;

use super::{FlowSection, Names, PlanError, Several, Text};
use crate::measure::{
    Beginning, GapLimit, GoodputWish, LadderWish, LateWish, LatencyLimit, LatencyWish, Wishes,
};

/// What is measured. `of` names the flows; without it, all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureSection {
    /// Latency of messages.
    #[serde(default)]
    pub latency: Option<Latency>,
    /// Retransmissions.
    #[serde(default)]
    pub retransmissions: Option<Plain>,
    /// Goodput and its fairness.
    #[serde(default)]
    pub goodput: Option<Goodput>,
    /// Session frozen time.
    #[serde(default)]
    pub frozen: Option<Frozen>,
    /// Deviation of the time between deliveries.
    #[serde(default)]
    pub inter_arrival: Option<Plain>,
    /// What is sent: sizes, times between messages, packets and bits.
    #[serde(default)]
    pub traffic: Option<Plain>,
    /// Messages that come too late to be played.
    #[serde(default)]
    pub late: Option<Late>,
    /// Packets and bytes that it took.
    #[serde(default)]
    pub overhead: Option<Plain>,
    /// Duration of transfers over connections of their own.
    #[serde(default)]
    pub transfers: Option<Plain>,
    /// Each flow as a stream: its longest latency and its loss.
    #[serde(default)]
    pub streams: Option<Streams>,
    /// Round-trip times and the timeouts that follow from them.
    #[serde(default)]
    pub rto: Option<Rto>,
    /// When data leaves the first of several paths.
    #[serde(default)]
    pub switchover: Option<Leaving>,
    /// Who sent what when in a flow.
    #[serde(default)]
    pub ladder: Option<Ladder>,
    /// What captures at both ends show.
    #[serde(default)]
    pub trace: Option<Plain>,
    /// Loss and load of the shared links.
    #[serde(default)]
    pub links: bool,
}

/// A measure that has nothing to choose.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plain {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
}

/// Latency.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// `application`, `transport`, `in-order`; application unless said.
    #[serde(default)]
    pub at: Option<Names>,
    /// `retransmission`: apart by how often a message was sent again.
    #[serde(default)]
    pub by: Option<String>,
    /// `due` or `sent`: from when it counts; due unless said.
    #[serde(default)]
    pub since: Option<String>,
    /// Quantiles.
    #[serde(default)]
    pub quantiles: Vec<f64>,
    /// Shares beyond these times.
    #[serde(default)]
    pub limits: Vec<Text<LatencyLimit>>,
    /// Each flow's maximum, too.
    #[serde(default)]
    pub per_flow: bool,
    /// The whole distribution, too.
    #[serde(default)]
    pub distribution: bool,
}

/// Goodput.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goodput {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// The distribution over intervals of this length.
    #[serde(default)]
    pub interval: Option<Text<Duration>>,
    /// Each flow's own.
    #[serde(default)]
    pub per_flow: bool,
    /// The ratio to the mean of these flows.
    #[serde(default)]
    pub over: Option<String>,
    /// That of the group as a curve, a point for each interval.
    #[serde(default)]
    pub over_time: bool,
}

/// Session frozen time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// A gap between two acknowledgements of new data counts, wholly, when it is longer than this; several are
    /// told apart. `rto` is the sender's own timeout when the gap begins.
    #[serde(default = "any_gap")]
    pub longer_than: Several<GapLimit>,
}

fn any_gap() -> Several<GapLimit> {
    Several(vec![GapLimit::Span(Duration::ZERO)])
}

/// When data leaves a path that is lost.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaving {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// When the first path is lost; without it, its first blackout.
    #[serde(default)]
    pub lost: Option<Text<Duration>>,
}

/// Late messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// From the first delivery to the beginning of play-back.
    pub pre_buffer: Text<Duration>,
    /// Ratios of encoding rate and play-back rate.
    pub ratios: Vec<f64>,
}

/// The ladder of a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Of which groups of flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// Which flow of each, from 0.
    #[serde(default)]
    pub flow: u32,
    /// From this time of the run on, or with `loss` from the first packet of the sender that is lost.
    pub from: Text<Beginning>,
    /// Packets that leave within this time from there.
    pub span: Text<Duration>,
}

/// Streams.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// Shares of streams that had a message take longer than these times, or than limits that have a name.
    #[serde(default)]
    pub limits: Vec<Text<LatencyLimit>>,
}

/// Timeouts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rto {
    /// Of which flows.
    #[serde(default)]
    pub of: Option<Names>,
    /// How much of the first flow's curve is kept, from the end of the warm-up; none unless said.
    #[serde(default)]
    pub curve: Text<Duration>,
}

impl MeasureSection {
    fn all_of(&self) -> [Option<&Names>; 14] {
        [
            self.latency.as_ref().and_then(|one| one.of.as_ref()),
            self.retransmissions.as_ref().and_then(|one| one.of.as_ref()),
            self.goodput.as_ref().and_then(|one| one.of.as_ref()),
            self.frozen.as_ref().and_then(|one| one.of.as_ref()),
            self.inter_arrival.as_ref().and_then(|one| one.of.as_ref()),
            self.traffic.as_ref().and_then(|one| one.of.as_ref()),
            self.late.as_ref().and_then(|one| one.of.as_ref()),
            self.overhead.as_ref().and_then(|one| one.of.as_ref()),
            self.transfers.as_ref().and_then(|one| one.of.as_ref()),
            self.streams.as_ref().and_then(|one| one.of.as_ref()),
            self.rto.as_ref().and_then(|one| one.of.as_ref()),
            self.switchover.as_ref().and_then(|one| one.of.as_ref()),
            self.ladder.as_ref().and_then(|one| one.of.as_ref()),
            self.trace.as_ref().and_then(|one| one.of.as_ref()),
        ]
    }

    pub(super) fn check(&self, flows: &[FlowSection]) -> Result<(), PlanError> {
        let named = self.all_of().into_iter().flatten().flat_map(|names| &names.0);
        let over = self.goodput.as_ref().and_then(|goodput| goodput.over.as_ref());
        for name in named.chain(over) {
            if !flows.iter().any(|flow| flow.name == *name) {
                let known: Vec<_> = flows.iter().map(|flow| flow.name.as_str()).collect();
                return Err(PlanError::new(format!(
                    "measure of \"{name}\": there is no such flow; there is {}",
                    known.join(", ")
                )));
            }
        }
        if let Some(ladder) = &self.ladder {
            ladder.check(flows)?;
        }
        if let Some(latency) = &self.latency {
            latency.check()?;
        }
        if let Some(goodput) = &self.goodput
            && goodput.interval.is_some_and(|interval| interval.0.is_zero())
        {
            return Err(PlanError::new("measure.goodput.interval is 0s; give one such as 100ms"));
        }
        if self.goodput.as_ref().is_some_and(|one| one.over_time && one.interval.is_none()) {
            return Err(PlanError::new(
                "measure.goodput.over_time needs an interval such as interval = \"1s\"",
            ));
        }
        Ok(())
    }

    /// What is wished of the flows of this name, in this time; `lost` is when the network loses its first path.
    pub(super) fn wishes(
        &self,
        name: &str,
        window: Range<Instant>,
        lost: Option<Duration>,
    ) -> Wishes {
        let includes = |of: &Option<Names>| {
            of.as_ref().is_none_or(|names| names.0.iter().any(|one| one == name))
        };
        let plain = |one: &Option<Plain>| one.as_ref().is_some_and(|one| one.includes(name));
        let latency = self.latency.as_ref().filter(|one| includes(&one.of)).map(Latency::wish);
        let goodput = self.goodput.as_ref().filter(|one| includes(&one.of));
        let late = self.late.as_ref().filter(|one| includes(&one.of));
        Wishes {
            latency,
            retransmissions: plain(&self.retransmissions),
            goodput: goodput.map(|one| GoodputWish {
                interval: one.interval.map(|interval| interval.0),
                per_flow: one.per_flow,
                over_time: one.over_time,
            }),
            frozen: self
                .frozen
                .as_ref()
                .filter(|one| includes(&one.of))
                .map_or_else(Vec::new, |one| one.longer_than.0.clone()),
            inter_arrival: plain(&self.inter_arrival),
            traffic: plain(&self.traffic),
            late: late
                .map(|one| LateWish { pre_buffer: one.pre_buffer.0, ratios: one.ratios.clone() }),
            overhead: plain(&self.overhead),
            transfers: plain(&self.transfers),
            streams: self
                .streams
                .as_ref()
                .filter(|one| includes(&one.of))
                .map(|one| one.limits.iter().map(|limit| limit.0.clone()).collect()),
            rto: self.rto.as_ref().filter(|one| includes(&one.of)).map(|one| one.curve.0),
            switchover: self
                .switchover
                .as_ref()
                .filter(|one| includes(&one.of))
                .and_then(|one| one.lost.map(|lost| lost.0).or(lost))
                .map(|lost| Instant::ZERO + lost),
            ..Wishes::none(window)
        }
    }
}

impl Plain {
    /// Whether it is of the flows of this name.
    pub(crate) fn includes(&self, name: &str) -> bool {
        self.of.as_ref().is_none_or(|names| names.0.iter().any(|one| one == name))
    }
}

impl Ladder {
    fn includes(&self, name: &str) -> bool {
        self.of.as_ref().is_none_or(|names| names.0.iter().any(|one| one == name))
    }

    fn check(&self, flows: &[FlowSection]) -> Result<(), PlanError> {
        if self.span.0.is_zero() {
            return Err(PlanError::new("measure.ladder.span is 0s; give one such as 2s"));
        }
        let mut named = flows.iter().filter(|flow| self.includes(&flow.name));
        match named.find(|flow| self.flow >= flow.count) {
            Some(flow) => Err(PlanError::new(format!(
                "measure.ladder.flow is {}; \"{}\" has flows 0 to {}",
                self.flow,
                flow.name,
                flow.count.saturating_sub(1)
            ))),
            None => Ok(()),
        }
    }

    /// What to watch: group, number of the flow within it, and which part.
    pub(crate) fn wishes<'a>(
        &self,
        flows: &'a [FlowSection],
    ) -> impl Iterator<Item = (String, usize, LadderWish)> + use<'a, '_> {
        let wish = LadderWish { from: self.from.0, span: self.span.0 };
        let named = flows.iter().filter(|flow| self.includes(&flow.name));
        named.map(move |flow| (flow.name.clone(), self.flow as usize, wish))
    }
}

impl Latency {
    const PLACES: [&str; 3] = ["application", "transport", "in-order"];

    fn places(&self) -> Vec<&str> {
        match &self.at {
            None => vec![Self::PLACES[0]],
            Some(names) => names.0.iter().map(String::as_str).collect(),
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        if let Some(place) = self.places().into_iter().find(|place| !Self::PLACES.contains(place)) {
            return Err(PlanError::new(format!(
                "measure.latency.at \"{place}\" is none of application, transport, in-order"
            )));
        }
        if let Some(by) = self.by.as_ref().filter(|by| *by != "retransmission") {
            return Err(PlanError::new(format!(
                "measure.latency.by \"{by}\" is not retransmission"
            )));
        }
        if let Some(since) =
            self.since.as_ref().filter(|since| !["due", "sent"].contains(&&***since))
        {
            return Err(PlanError::new(format!(
                "measure.latency.since \"{since}\" is neither due nor sent"
            )));
        }
        match self.quantiles.iter().find(|quantile| !(0.0..=1.0).contains(*quantile)) {
            Some(quantile) => Err(PlanError::new(format!(
                "measure.latency.quantiles has {quantile}; give numbers from 0 to 1"
            ))),
            None => Ok(()),
        }
    }

    fn wish(&self) -> LatencyWish {
        let places = self.places();
        LatencyWish {
            application: places.contains(&"application"),
            transport: places.contains(&"transport"),
            in_order: places.contains(&"in-order"),
            by_retransmission: self.by.is_some(),
            per_flow: self.per_flow,
            quantiles: self.quantiles.clone(),
            limits: self.limits.iter().map(|limit| limit.0.clone()).collect(),
            distribution: self.distribution,
            since_sent: self.since.as_deref() == Some("sent"),
        }
    }
}
