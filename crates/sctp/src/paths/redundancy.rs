//! DATA on several paths at once: chunks that leave on one path are sent on others too, with the
//! same TSNs. A thin stream thus survives the failure of a path without a gap, at the price of the
//! bytes.
//!
//! A copy is accounted for separately: it is in no path's flight, it leaves only while flight and
//! outstanding copies fit the path's congestion window, and it gives no RTT sample (Karn), so that
//! heartbeats measure the paths.

use recovery::{PATHS_MAX, PathId, Recovery};
use smallvec::SmallVec;

use super::Paths;
use super::copies::WaitingCopies;
use crate::options::AssociationOptions;
use crate::switchover::{Redundancy, RedundantWhen};

impl Paths {
    /// Whether DATA may go on several paths at once.
    pub(super) fn are_redundant(&self, options: &AssociationOptions) -> bool {
        self.list.len() > 1 && options.switchover.redundancy.when != RedundantWhen::Never
    }

    /// A packet with DATA has just left on `path`: queues copies on others.
    #[inline]
    pub(super) fn plan_copies(
        &mut self,
        options: &AssociationOptions,
        recovery: &Recovery,
        path: PathId,
    ) {
        if self.are_redundant(options) {
            self.queue_copies(options.switchover.redundancy, recovery, path);
        }
    }

    #[inline(never)]
    fn queue_copies(
        &mut self,
        Redundancy { when, paths }: Redundancy,
        recovery: &Recovery,
        path: PathId,
    ) {
        if when == RedundantWhen::WhileThin && !recovery.is_thin(path) {
            return;
        }
        let mut others: SmallVec<[PathId; PATHS_MAX]> =
            self.ids().filter(|other| *other != path && self[*other].is_usable()).collect();
        // The data path comes first if the packet was a retransmission on another one.
        others.sort_by_key(|other| (*other != self.data, recovery.srtt(*other)));
        others.truncate(usize::from(paths.saturating_sub(1)));
        let units: SmallVec<[u64; 4]> = recovery.ledger().units_of_last_packet().collect();
        let waiting = self.copies.get_or_insert_default();
        for other in others {
            waiting.push(WaitingCopies { path: other, units: units.clone() });
        }
    }

    /// Whether packets of copies may be queued.
    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        self.copies.is_some()
    }

    /// The next queued packet of copies.
    pub(crate) fn next_copies(&mut self) -> Option<WaitingCopies> {
        let next = self.copies.as_mut()?.pop();
        if next.is_none() {
            self.copies = None;
        }
        next
    }

    /// A packet of copies was sent on `path`.
    pub(crate) fn on_copies_sent(&mut self, path: PathId) {
        let counters = &mut self.list[path].counters;
        counters.copies_sent = counters.copies_sent.saturating_add(1);
    }
}
