//! A transfer over two paths, the first of which walks out of its cell: the paper's section 6.3
//! through the shipped SCTP, and what its section 7 asks for.
//!
//! The sender always has data waiting. At some time the first path is lost for good; how soon data
//! takes the other one is the policy's matter: consecutive timeouts until Path.Max.Retrans is
//! passed, as in the paper, or something better. What arrived until the end is the measure.

use core::ops::Range;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use base::{Duration, Instant, Rate};
use netsim::LinkConfig;
use netsim::link::QueueLimit;
use netsim::topology::Directions;
use recovery::RecoveryPolicy;
use recovery::policy::RetransmissionPath;
use recovery::rtt::{Deviation, Ratio};
use results::{Labels, Quantity, Row, Sheet};
use sctp::{AssociationOptions, RisingRtt, SwitchoverPolicy};
use serde::Deserialize;

use super::gains::Pair;
use super::walk::{Profile, Walk};
use super::{SECONDS, gains};
use crate::form::{self, whole_seconds};
use lab::flow::{Detail, FlowConfig, PathHint, SourcePlan, TransportOptions};
use lab::measure::switchover::Leaving;
use lab::observed::{Group, GroupMeter, Measure, Seen, Setting};
use lab::study::{CellResults, Study, StudyError};
use lab::workload::{Arrivals, Limit, Sizes, WorkloadPlan};
use lab::world::{Network, World};

/// The study's name in a plan.
pub const NAME: &str = "rto-wlan-transfer";

/// Time at which the transfer begins: the association is set up, both paths are confirmed.
const BEGIN: Instant = Instant::from_millis(500);

/// Source of the first path's round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// The average of all walks, as in the paper.
    Average,
    /// One walk of the seed, which leaves the cell at a time of its own.
    Walk,
    /// One walk of the seed, which leaves the cell 60 s before the path is lost.
    LongOutside,
    /// Always the other path's: the sums of section 5.
    Constant,
}

/// The reason for data to leave a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switchover {
    /// Errors in a row beyond Path.Max.Retrans (RFC 9260, section 8.2).
    Timeouts,
    /// The first timeout (RFC 7829).
    Pf,
    /// Two signs that it is gone.
    Evidence,
    /// A loss of the path, or a round-trip time that rises and rises: the paper's first future
    /// work.
    RisingRtt,
}

/// Settings of a simulated transfer; a plan may leave out any of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Smoothing factor of the round-trip time.
    #[serde(deserialize_with = "form::gain")]
    pub alpha: Ratio,
    /// Smoothing factor of the variation, the paper's delay variance factor.
    #[serde(deserialize_with = "form::gain")]
    pub beta: Ratio,
    /// Deviation that the variation follows.
    #[serde(deserialize_with = "form::deviation")]
    pub deviation: Deviation,
    /// Walk of the station, and growth of its round-trip time.
    pub walk: Walk,
    /// The round-trip times that the path takes from the walks.
    pub input: Input,
    /// Whether their losses happen too.
    pub losses: bool,
    /// The time of the walk at which the transfer begins.
    #[serde(deserialize_with = "form::text")]
    pub from: Duration,
    /// Time from then until the first path is lost for good.
    #[serde(deserialize_with = "form::text")]
    pub lost_after: Duration,
    /// Duration of the whole transfer.
    #[serde(deserialize_with = "form::text")]
    pub duration: Duration,
    /// Rate of either path, each way; none is infinite.
    #[serde(deserialize_with = "form::optional")]
    pub rate: Option<Rate>,
    /// Most packets that wait before the link of a path.
    pub queue: usize,
    /// Round-trip time of the other path.
    #[serde(deserialize_with = "form::text")]
    pub other_rtt: Duration,
    /// Bytes of user data in a message.
    pub message: usize,
    /// Bytes that the receiver buffers.
    pub receive_buffer: u32,
    /// Path.Max.Retrans: timeouts in a row after which a path counts as failed.
    pub path_max_retrans: u8,
    /// RTO.Min: the shortest retransmission timeout.
    #[serde(deserialize_with = "form::text")]
    pub rto_min: Duration,
    /// RTO.Initial: 3 s in the paper, which has it from RFC 4960, section 15.
    #[serde(deserialize_with = "form::text")]
    pub rto_initial: Duration,
    /// Whether timeouts resend on the other path.
    pub alternate: bool,
    /// The reason for data to leave a path.
    pub switchover: Switchover,
    /// Time before the loss at which the sender learns that the signal is weak.
    #[serde(deserialize_with = "form::optional")]
    pub hint: Option<Duration>,
}

impl Default for Parameters {
    fn default() -> Parameters {
        let rfc = RecoveryPolicy::sctp_rfc().rto;
        Parameters {
            alpha: rfc.alpha,
            beta: rfc.beta,
            deviation: Deviation::Absolute,
            walk: Walk::default(),
            input: Input::Average,
            losses: false,
            from: Duration::from_secs(70),
            lost_after: Duration::from_secs(30),
            duration: Duration::from_secs(220),
            rate: Rate::from_bits_per_second(24_000_000),
            queue: 50,
            other_rtt: Duration::from_millis(20),
            message: 1_400,
            receive_buffer: 65_536,
            path_max_retrans: 5,
            rto_min: rfc.min,
            rto_initial: Duration::from_secs(3),
            alternate: false,
            switchover: Switchover::Timeouts,
            hint: None,
        }
    }
}

impl Study for Parameters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), String> {
        self.walk.check()?;
        match self.duration < self.lost_after {
            true => Err("`duration` ends before `lost_after`".to_owned()),
            false => Ok(()),
        }
    }

    fn effort(&self) -> f64 {
        let rate = self.rate.map_or(1.0, |rate| rate.bits_per_second() as f64);
        self.duration.as_secs_f64() * rate
    }

    fn run(&self, seed: u64, sheet: &mut Sheet<'_>) -> Result<(), StudyError> {
        let (flow, network) = (self.to_flow(), self.to_network(seed));
        let mut world = World::new(&network, core::slice::from_ref(&flow), None, seed)?;
        let end = BEGIN + self.duration;
        world.run_until(end)?;
        if let Some(ends) = world.flows.first() {
            ends.log.borrow_mut().finish(end);
            flow.group.borrow().rows(&[ends.log.borrow().meter.clone()], sheet);
        }
        let (alpha, beta) = (self.alpha, self.beta);
        let average = self.walk.average(seed);
        let last = average.round_trips.len().min(221);
        let ranked = gains::rank(&average.round_trips[..last], self.deviation);
        let same = |one: &&gains::Ranked| one.pair.alpha() == alpha && one.pair.beta() == beta;
        if let Some(one) = ranked.iter().find(same) {
            sheet.add("rank.analytical", &[], f64::from(one.rank), "");
        }
        Ok(())
    }

    fn conclusions(&self) -> &'static [&'static str] {
        &CONCLUSIONS
    }

    fn conclude(&self, cells: &[CellResults<'_>]) -> Vec<(usize, Row)> {
        rank(cells)
    }
}

impl Parameters {
    fn profile(&self, seed: u64) -> Profile {
        let gone = whole_seconds(self.from + self.lost_after);
        match self.input {
            Input::Average => self.walk.average(seed),
            Input::Walk => self.walk.single(seed, 0, None),
            Input::LongOutside => self.walk.single(seed, 0, Some(gone.saturating_sub(60))),
            Input::Constant => Profile::default(),
        }
    }

    fn lost(&self) -> Instant {
        BEGIN + self.lost_after
    }

    fn to_network(&self, seed: u64) -> Network {
        let line = LinkConfig {
            rate: self.rate,
            queue: QueueLimit::packets(self.queue),
            ..LinkConfig::with_delay(self.other_rtt / 2)
        };
        let steps =
            super::to_steps(&self.profile(seed), whole_seconds(self.from), BEGIN, self.losses);
        let first = LinkConfig {
            profile: steps,
            blackouts: vec![self.lost()..Instant::FAR_FUTURE],
            ..line.clone()
        };
        Network::Paths(vec![Directions::both(first), Directions::both(line)])
    }

    /// A sender that always has data waiting.
    fn to_flow(&self) -> FlowConfig {
        let window = BEGIN..BEGIN + self.duration;
        let measure = Transferred {
            window: window.clone(),
            lost: self.lost(),
            leaving: Leaving::new(self.lost(), &window),
            needless: 0,
            read: Vec::new(),
        };
        let setting = Setting { window, lost: None };
        let measure: Box<dyn Measure> = Box::new(measure);
        let group = GroupMeter::new(setting, [measure], true);
        let options = Arc::new(self.to_options());
        let workload = WorkloadPlan {
            arrivals: Arrivals::Greedy,
            size: Sizes::Constant(self.message),
            limit: Limit::Time(self.duration),
        };
        FlowConfig {
            transport: TransportOptions::Sctp { sender: Arc::clone(&options), receiver: options },
            source: SourcePlan::Messages { workload, streams: 1 },
            start: Instant::ZERO,
            set_up: BEGIN.since(Instant::ZERO),
            detail: Detail::Messages,
            group: Rc::new(RefCell::new(group)),
            extra_rtt: Duration::ZERO,
            advice: None,
            hint: self
                .hint
                .map(|ahead| (BEGIN + self.lost_after.saturating_sub(ahead), PathHint::Weak)),
        }
    }

    fn to_options(&self) -> AssociationOptions {
        let mut policy = RecoveryPolicy::sctp_rfc();
        (policy.rto.alpha, policy.rto.beta) = (self.alpha, self.beta);
        policy.rto.deviation = self.deviation;
        policy.rto.min = self.rto_min;
        policy.rto.initial = self.rto_initial;
        policy.retransmission_path = match self.alternate {
            true => RetransmissionPath::Alternate,
            false => RetransmissionPath::Same,
        };
        let evidence = SwitchoverPolicy::EVIDENCE;
        AssociationOptions {
            policy: Arc::new(policy),
            receive_buffer: self.receive_buffer,
            path_max_retrans: self.path_max_retrans,
            // The paper counts errors of the path only.
            association_max_retrans: u8::MAX,
            switchover: match self.switchover {
                Switchover::Timeouts => SwitchoverPolicy::TIMEOUTS,
                Switchover::Pf => SwitchoverPolicy::POTENTIALLY_FAILED,
                Switchover::Evidence => evidence,
                Switchover::RisingRtt => {
                    SwitchoverPolicy { rising_rtt: Some(RisingRtt::default()), ..evidence }
                }
            },
            ..AssociationOptions::default()
        }
    }
}

/// Figures 8 and 9: bytes transferred, and the ways in which data leaves the lost path.
#[derive(Debug)]
struct Transferred {
    window: Range<Instant>,
    lost: Instant,
    leaving: Leaving,
    /// Retransmissions of data that had arrived before.
    needless: u64,
    /// Bytes read in each second.
    read: Vec<u64>,
}

impl Measure for Transferred {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        self.leaving.observe(seen);
        match *seen {
            Seen::Needless(needless) => {
                self.needless += u64::from(self.window.contains(&needless.sent));
            }
            Seen::Read { at, bytes } if self.window.contains(&at) => {
                let second = whole_seconds(at.since(self.window.start));
                if self.read.len() <= second {
                    self.read.resize(second + 1, 0);
                }
                self.read[second] += bytes;
            }
            _ => {}
        }
    }

    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>) {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let read: u64 = group.flows.iter().map(|flow| flow.read).sum();
        sheet.add("megabytes", &[], megabytes(read), "MB");
        let stayed = self.window.end.since(self.lost).as_secs_f64();
        let from = self.leaving.gap_from.since(BEGIN).as_secs_f64();
        let gap = self.leaving.gap.as_secs_f64();
        sheet.add("switchover", &[], self.leaving.seconds().unwrap_or(stayed), "s");
        sheet.add("flat", &[], gap, "s");
        sheet.add("flat.from", &[], from, "s");
        sheet.add("flat.to", &[], from + gap, "s");
        sheet.add("spurious", &[], self.needless as f64, "messages");
        let mut sum = 0;
        let bytes = self.read.iter().copied().chain(core::iter::repeat(0));
        let seconds = whole_seconds(self.window.end.since(self.window.start));
        let points = (0..=seconds).zip([0].into_iter().chain(bytes)).map(|(second, bytes)| {
            sum += bytes;
            (second as f64, megabytes(sum))
        });
        let axes = (SECONDS, Quantity::new("data", "MB"));
        sheet.add_curve("accumulated", &[], axes, points);
    }
}

/// Keys of the gains in a sweep.
const GAINS: [&str; 2] = ["parameters.alpha", "parameters.beta"];

/// Measures that [`rank`] adds to those of the runs.
const CONCLUSIONS: [&str; 3] = ["rank.simulated", "rank.agreement", "rank.correlation"];

/// Ranks the cells of a sweep over the gains by the bytes transferred, 1 for the most, separately
/// for all other swept keys. Equals share the mean of their ranks. The first cell of each group
/// also has the correlation with the order of the paper's Table 2, if all of its pairs are there,
/// and that of bytes transferred with the time at which data left the path.
pub(super) fn rank(cells: &[CellResults<'_>]) -> Vec<(usize, Row)> {
    let is_gain = |key: &str| GAINS.contains(&key);
    let mut groups: BTreeMap<Labels, Vec<(usize, f64)>> = BTreeMap::new();
    for (place, cell) in cells.iter().enumerate() {
        let Some(value) =
            value(cell, "megabytes").filter(|_| cell.keys.iter().any(|(key, _)| is_gain(key)))
        else {
            continue;
        };
        let others = cell.keys.iter().filter(|(key, _)| !is_gain(key)).cloned().collect();
        groups.entry(others).or_default().push((place, value));
    }
    let mut rows = Vec::new();
    for group in groups.values() {
        // The most comes first.
        let ranks = results::ranks(&group.iter().map(|(_, value)| -value).collect::<Vec<_>>());
        let places = || group.iter().map(|(place, _)| *place).zip(ranks.iter().copied());
        let row = |measure, value| Row::new(NAME, measure, value, "");
        rows.extend(places().map(|(place, rank)| (place, row("rank.simulated", rank))));
        let rank_of = |pair| places().find(|(place, _)| has_gains(&cells[*place], pair));
        let agreement = gains::agreement(&gains::TABLE_2, |pair| Some(rank_of(pair)?.1));
        let leaving = group.iter().filter_map(|(place, value_of)| {
            Some((*value_of, value(&cells[*place], "switchover")?))
        });
        let correlation = results::rank_correlation(&leaving.collect::<Vec<_>>());
        let Some((first, _)) = group.first() else { continue };
        for (measure, with, value) in [
            ("rank.agreement", "Table 2", agreement),
            ("rank.correlation", "switchover", correlation),
        ] {
            let labels = vec![("with".to_owned(), with.to_owned())];
            rows.extend(value.map(|value| (*first, Row { labels, ..row(measure, value) })));
        }
    }
    rows.sort_by_key(|(place, _)| *place);
    rows
}

fn value(cell: &CellResults<'_>, measure: &str) -> Option<f64> {
    cell.results.rows.iter().find(|row| row.measure == measure).map(|row| row.value)
}

fn has_gains(cell: &CellResults<'_>, pair: Pair) -> bool {
    let (alpha, beta) = pair.tenths();
    GAINS.iter().zip([alpha, beta]).all(|(key, tenths)| {
        let text = cell.keys.iter().find(|(name, _)| name == key).map(|(_, text)| text);
        let value = text.and_then(|text| text.parse::<f64>().ok());
        value.is_some_and(|value| (10.0 * value - f64::from(tenths)).abs() < 1e-9)
    })
}
