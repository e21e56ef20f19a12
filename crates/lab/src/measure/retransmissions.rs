//! Retransmissions by order and cause, and which were needless.

use core::ops::Range;

use base::Instant;
use recovery::Cause;
use results::Sheet;
use serde::Deserialize;

use super::interface::Ask;
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::Names;

/// Retransmissions by order and cause, and which were needless.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retransmissions {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Whether retransmissions that the peer reported as received twice get a row, too: those
    /// known to the sender.
    #[serde(default)]
    pub reported: bool,
}

impl Ask for Retransmissions {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let (resent, needless) = Default::default();
        let (window, reported) = (setting.window.clone(), self.reported.then_some(0));
        Some(Box::new(Kept { window, resent, needless, reported, timeouts: 0 }))
    }
}

/// Causes in the order of their rows.
const CAUSES: [Cause; 5] =
    [Cause::Timeout, Cause::Fast, Cause::Early, Cause::Bundled, Cause::Probe];
/// Labels of the orders: first, second, third, later.
const ORDERS: [&str; 4] = ["1", "2", "3", "4+"];

/// Number of retransmissions by cause and order.
type Counts = [[u64; ORDERS.len()]; CAUSES.len()];

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    resent: Counts,
    needless: Counts,
    /// Units that the peer reported as received twice, if the plan asks for them.
    reported: Option<u64>,
    /// Expiries of the sender's retransmission timers.
    timeouts: u64,
}

fn count(counts: &mut Counts, cause: Cause, order: u8) {
    let column = usize::from(order.clamp(1, ORDERS.len() as u8)) - 1;
    if let Some(row) = CAUSES.iter().position(|one| *one == cause) {
        counts[row][column] += 1;
    }
}

impl Measure for Kept {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        match *seen {
            Seen::Resent { at, cause, order } if self.window.contains(&at) => {
                count(&mut self.resent, cause, order);
            }
            Seen::Needless(needless) if self.window.contains(&needless.sent) => {
                count(&mut self.needless, needless.cause, needless.order);
            }
            Seen::Reported { at, units } if self.window.contains(&at) => {
                self.reported.iter_mut().for_each(|sum| *sum += u64::from(units));
            }
            Seen::Timeout { at } => self.timeouts += u64::from(self.window.contains(&at)),
            _ => {}
        }
    }

    /// For each order: the number of retransmissions, the share of each cause, and how many were
    /// needless.
    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        sheet.add("timeouts", &[], self.timeouts as f64, "");
        let sum = |counts: &Counts| counts.iter().flatten().sum::<u64>();
        let (all, needless) = (sum(&self.resent), sum(&self.needless));
        sheet.add("retransmissions.count", &[], all as f64, "");
        sheet.add("retransmissions.spurious", &[], needless as f64, "");
        sheet.add("retransmissions.spurious_share", &[], 100.0 * needless as f64 / all as f64, "%");
        if let Some(reported) = self.reported {
            sheet.add("retransmissions.reported", &[], reported as f64, "");
        }
        for (row, cause) in CAUSES.iter().enumerate().filter(|_| all > 0) {
            let of = |counts: &Counts| counts[row].iter().sum::<u64>() as f64;
            let labels = [("cause", cause.name())];
            let (sent, needless) = (of(&self.resent), of(&self.needless));
            sheet.add("retransmissions.count", &labels, sent, "");
            sheet.add("retransmissions.share", &labels, 100.0 * sent / all as f64, "%");
            sheet.add("retransmissions.spurious_share", &labels, 100.0 * needless / sent, "%");
        }
        for (column, order) in ORDERS.iter().enumerate() {
            self.order(column, order, sheet);
        }
    }
}

impl Kept {
    fn order(&self, column: usize, order: &str, sheet: &mut Sheet<'_>) {
        let of_order: u64 = self.resent.iter().map(|row| row[column]).sum();
        if of_order == 0 {
            return;
        }
        sheet.add("retransmissions.count", &[("order", order)], of_order as f64, "");
        for (row, cause) in CAUSES.iter().enumerate() {
            let (sent, needless) = (self.resent[row][column], self.needless[row][column]);
            let labels = [("order", order), ("cause", cause.name())];
            sheet.add("retransmissions.share", &labels, 100.0 * sent as f64 / of_order as f64, "%");
            let share = 100.0 * needless as f64 / sent as f64;
            sheet.add("retransmissions.spurious_share", &labels, share, "%");
        }
    }
}
