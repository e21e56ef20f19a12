//! Observation of flows: their packets with times, and the events of the sender's recovery.
//!
//! A watcher sees every packet of a run and does not change the run: its numbers are the same with
//! and without.

mod capture;
mod judged;
mod ladder;
#[cfg(test)]
pub(crate) mod tests;
mod words;

use std::cell::RefCell;
use std::rc::Rc;

use netsim::HostId;

pub use capture::FlowCapture;
pub use judged::{Judged, watch_traces};
pub use ladder::{LadderWatch, MOST_PACKETS};
pub use words::Teller;

use crate::flow::LogHandle;
use crate::measure::LadderWish;
use crate::plan::CellWorld;
use crate::world::Ends;

/// Ladders of a run, each with the group that its flow belongs to.
pub type LadderWatches = Vec<(String, Rc<RefCell<LadderWatch>>)>;

/// Watches the flows that `wishes` names, by group and number within it; call it before the run.
pub fn watch_ladders(
    built: &mut CellWorld,
    wishes: impl IntoIterator<Item = (String, usize, LadderWish)>,
) -> LadderWatches {
    let mut watches = LadderWatches::new();
    for (group, number, wish) in wishes {
        let Some(ends) = built.flow(&group, number).cloned() else { continue };
        let watch = Rc::new(RefCell::new(LadderWatch::new(&ends, wish)));
        built.world.watch(Rc::clone(&watch));
        watches.push((group, watch));
    }
    watches
}

/// The two hosts of a flow and their record.
#[derive(Clone, Debug)]
struct Watched {
    hosts: [HostId; 2],
    log: LogHandle,
}

impl Watched {
    /// Also keeps the events of the flow's recovery.
    fn new(ends: &Ends) -> Watched {
        ends.log.borrow_mut().keep_steps();
        Watched { hosts: [ends.sender, ends.receiver], log: Rc::clone(&ends.log) }
    }

    /// 0 for the sender, 1 for the receiver.
    fn side(&self, host: HostId) -> Option<u8> {
        (0..).zip(self.hosts).find(|(_, one)| *one == host).map(|(side, _)| side)
    }
}
