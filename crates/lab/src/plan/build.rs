//! Builds the world of a cell for one seed.

use std::cell::RefCell;
use std::rc::Rc;

use base::{Duration, Instant, Purpose, RandomStream};

use super::error::PlanError;
use super::flow::FlowSection;
use super::flows_plan::FlowsPlan;
use crate::advisor::AdvisedFlow;
use crate::cell_world::{CellWorld, Group};
use crate::flow::{AdvicePlan, Detail, FailureSlot, FlowConfig, messages};
use crate::observed::GroupMeter;
use crate::text::Span;
use crate::workload::MessageSource;
use crate::world::{World, WorldError};

impl FlowsPlan {
    /// Delay of the network from the sender to the receiver of the first flow, without queues and
    /// at the least jitter.
    ///
    /// # Errors
    /// [`PlanError`] as of the plan's check.
    pub fn shortest_way(&self) -> Result<Duration, PlanError> {
        let ways: Vec<_> = self.flows.iter().take(1).map(FlowSection::way).collect();
        let extra = self.flows.first().map_or(Duration::ZERO, |flow| flow.extra_rtt.0.from / 2);
        Ok(self.build_network(&ways)?.delays(0).forward + extra)
    }

    /// The world of this cell for one seed.
    ///
    /// # Errors
    /// [`PlanError`] as of the plan's check, [`WorldError`] as of [`World::new`].
    pub fn build(&self, seed: u64) -> Result<Result<CellWorld, WorldError>, PlanError> {
        let Flows { groups, configs, advice_failed } = self.flows(seed)?;
        let of = |(section, group): (&FlowSection, &Group)| vec![section.way(); group.flows.len()];
        let ways: Vec<_> = self.flows.iter().zip(&groups).flat_map(of).collect();
        let network = self.build_network(&ways)?;
        let world = World::new(&network, &configs, self.network.losses_begin(), seed);
        let end = Instant::ZERO + self.duration;
        let grace = self.grace;
        Ok(world.map(|world| CellWorld { world, groups, end, grace, advice_failed }))
    }

    /// The messages of each flow for one seed, in the order of [`World::flows`]: those that the
    /// sources of [`FlowsPlan::build`] draw.
    ///
    /// # Errors
    /// [`PlanError`] as of the plan's check, and for workloads without a list of messages.
    pub fn messages(&self, seed: u64) -> Result<Result<Vec<MessageSource>, WorldError>, PlanError> {
        let Flows { configs, .. } = self.flows(seed)?;
        let drawn = (0..).zip(&configs).map(|(number, config)| messages(config, seed, number));
        Ok(drawn.collect::<Result<_, _>>().map_err(WorldError::Workload))
    }

    fn flows(&self, seed: u64) -> Result<Flows, PlanError> {
        let end = Instant::ZERO + self.duration;
        let window = Instant::ZERO + self.warm_up..end;
        let mut all = Flows::default();
        for (index, section) in (0..).zip(&self.flows) {
            let meter = self.measure.meter(&section.name, window.clone(), self.lost());
            let meter = Rc::new(RefCell::new(meter));
            let first = all.configs.len();
            let mut chance = Chance {
                start: RandomStream::new(seed, Purpose("flow start", index)),
                extra_rtt: RandomStream::new(seed, Purpose("flow round trip", index)),
            };
            for number in 0..section.count as usize {
                let mut config = section.config(number, end, &meter, &mut chance)?;
                config.advice = self.advice(section, (number, seed), &all.advice_failed)?;
                all.configs.push(config);
            }
            let flows = first..all.configs.len();
            all.groups.push(Group { name: section.name.clone(), flows, meter });
        }
        Ok(all)
    }

    /// The advisor of flow `number` of a group.
    fn advice(
        &self,
        section: &FlowSection,
        (number, seed): (usize, u64),
        failure: &FailureSlot,
    ) -> Result<Option<AdvicePlan>, PlanError> {
        let name = &section.name;
        let at = |error| PlanError::new(format!("flow \"{name}\": {error}"));
        let found = section.advice.of(&self.advisors).map_err(at)?.cloned();
        let plan = |factory| {
            let flow = AdvisedFlow { name: name.clone(), number, seed };
            AdvicePlan { factory, flow, failure: failure.clone() }
        };
        Ok(found.map(plan))
    }
}

/// Groups of a plan with the configurations of their flows.
#[derive(Default)]
struct Flows {
    groups: Vec<Group>,
    configs: Vec<FlowConfig>,
    advice_failed: FailureSlot,
}

/// Random streams of a group.
struct Chance {
    start: RandomStream,
    extra_rtt: RandomStream,
}

impl FlowSection {
    fn config(
        &self,
        number: usize,
        end: Instant,
        meter: &Rc<RefCell<GroupMeter>>,
        chance: &mut Chance,
    ) -> Result<FlowConfig, PlanError> {
        let start = Instant::ZERO + draw(self.start.0, &mut chance.start);
        let needs_messages = meter.borrow().needs_messages();
        let set_up = self.set_up.0;
        Ok(FlowConfig {
            transport: self.transport()?,
            source: self.source(number, (start + set_up, end))?,
            start,
            set_up,
            detail: if needs_messages { Detail::Messages } else { Detail::Bytes },
            group: Rc::clone(meter),
            extra_rtt: draw(self.extra_rtt.0, &mut chance.extra_rtt),
            hint: self.paths.hint(),
            advice: None,
        })
    }
}

/// A time within the span: one draw from the random stream, whatever the span's length.
fn draw(span: Span, random: &mut RandomStream) -> Duration {
    let width = span.to.saturating_sub(span.from).as_nanos();
    let offset = random.below(width.saturating_add(1));
    span.from + Duration::from_nanos(offset)
}
