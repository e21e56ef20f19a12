//! The world of a cell for one seed: network, flows and meters.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Duration, Instant};

use crate::advisor::AdvisorFailure;
use crate::flow::FailureSlot;
use crate::observed::GroupMeter;
use crate::world::{Ends, World, WorldError};

/// Virtual time between two checks whether the run was stopped.
const LOOK: Duration = Duration::from_secs(1);

/// A group of flows in a world.
#[derive(Debug)]
pub struct Group {
    /// Name that the plan gives it, by which measures select it (`of`).
    pub name: String,
    /// Flows of the group: places in [`World::flows`].
    pub flows: core::ops::Range<usize>,
    /// Observes all flows of the group during the run, and yields its rows afterwards.
    pub meter: Rc<RefCell<GroupMeter>>,
}

/// A cell's world for one seed.
pub struct CellWorld {
    /// The simulated network with its flows.
    pub world: World,
    /// Groups of flows, as the plan has them.
    pub groups: Vec<Group>,
    /// Time at which measuring ends, and after which no messages are due.
    pub end: Instant,
    /// Time that messages have to arrive after the end.
    pub grace: Duration,
    /// Slot for an advisor's failure, which ends the run.
    pub(crate) advice_failed: FailureSlot,
}

impl CellWorld {
    /// Flow `number`, from 0, of the group with this name.
    pub fn flow(&self, group: &str, number: usize) -> Option<&Ends> {
        let group = self.groups.iter().find(|one| one.name == group)?;
        self.world.flows.get(group.flows.clone())?.get(number)
    }

    /// An advisor's failure, which ended the run.
    pub fn take_advice_failure(&self) -> Option<AdvisorFailure> {
        self.advice_failed.borrow_mut().take()
    }

    /// Runs to the end of measuring, then until measured messages have arrived or the grace period
    /// ends. Returns early, and false, where `stopped` is set or an advisor has failed.
    ///
    /// # Errors
    /// When a machine under test never comes to rest.
    pub fn run(&mut self, stopped: &AtomicBool) -> Result<bool, WorldError> {
        while self.world.now() < self.end {
            if stopped.load(Ordering::Relaxed) || self.advice_failed.borrow().is_some() {
                return Ok(false);
            }
            self.world.run_until((self.world.now() + LOOK).min(self.end))?;
        }
        let wanted = |group: &&Group| group.meter.borrow().needs_messages();
        let flows: Vec<usize> =
            self.groups.iter().filter(wanted).flat_map(|group| group.flows.clone()).collect();
        self.world.settle(&flows, self.grace)?;
        if self.advice_failed.borrow().is_some() {
            return Ok(false);
        }
        for ends in &self.world.flows {
            ends.log.borrow_mut().finish(self.world.now());
        }
        Ok(true)
    }
}
