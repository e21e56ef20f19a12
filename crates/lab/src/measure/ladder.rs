//! Sequence diagrams of flows' packets.

use std::cell::RefCell;
use std::rc::Rc;

use base::Duration;
use results::Results;
use serde::Deserialize;

use super::interface::{Ask, Planned, Watch};
use crate::cell_world::CellWorld;
use crate::text::{Names, Text};
use crate::watch::{Beginning, LadderWatch, LadderWish};

/// The ladder of a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Number of the flow in each group, from 0.
    #[serde(default)]
    pub flow: u32,
    /// Start: a time of the run, or `loss` for the first packet of the sender that is lost.
    pub from: Text<Beginning>,
    /// Length of the part that is shown.
    pub span: Text<Duration>,
}

impl Ladder {
    /// The part of the flow to show.
    pub fn wish(&self) -> LadderWish {
        LadderWish { from: self.from.0, span: self.span.0 }
    }

    fn includes(&self, name: &str) -> bool {
        Names::include(self.of(), name)
    }
}

impl Ask for Ladder {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn needs_messages(&self) -> bool {
        false
    }

    fn check(&self, plan: &Planned<'_>) -> Result<(), String> {
        if self.span.0.is_zero() {
            return Err("measure.ladder.span is 0s; give one such as 2s".to_owned());
        }
        let mut named = plan.groups.iter().filter(|(name, _)| self.includes(name));
        match named.find(|(_, count)| self.flow >= *count) {
            Some((name, count)) => Err(format!(
                "measure.ladder.flow is {}; \"{name}\" has flows 0 to {}",
                self.flow,
                count.saturating_sub(1)
            )),
            None => Ok(()),
        }
    }

    fn watch(&self, built: &mut CellWorld) -> Option<Box<dyn Watch>> {
        let CellWorld { world, groups, .. } = built;
        let mut watched = Vec::new();
        for group in groups.iter().filter(|group| self.includes(&group.name)) {
            let of_group = world.flows.get(group.flows.clone());
            let Some(ends) = of_group.and_then(|all| all.get(self.flow as usize)) else { continue };
            let watch = Rc::new(RefCell::new(LadderWatch::new(ends, self.wish())));
            world.watch(Rc::clone(&watch));
            watched.push((group.name.clone(), watch));
        }
        Some(Box::new(Ladders(watched)))
    }
}

/// Watched flows, each with the name of its group.
struct Ladders(Vec<(String, Rc<RefCell<LadderWatch>>)>);

impl Watch for Ladders {
    fn conclude(&self, _: &CellWorld, results: &mut Results) {
        results.ladders.extend(self.0.iter().filter_map(|(of, seen)| seen.borrow().ladder(of)));
    }
}
