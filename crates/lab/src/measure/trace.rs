//! Analysis of captures of flows, so that simulated traffic is measured like traffic captured on a
//! real network.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use results::{Results, Sheet};
use serde::Deserialize;
use trace::capture::Capture;
use trace::report::{Report, Summary};

use super::interface::{Ask, Watch};
use crate::cell_world::CellWorld;
use crate::text::Names;
use crate::watch::FlowCapture;
use crate::world::Ends;

/// A file in memory, shared with its writer.
#[derive(Clone, Debug, Default)]
struct Memory(Rc<RefCell<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `[measure.trace]`: analysis of captures at both ends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Ask for Trace {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn needs_messages(&self) -> bool {
        false
    }

    fn watch(&self, built: &mut CellWorld) -> Option<Box<dyn Watch>> {
        let CellWorld { world, groups, .. } = built;
        let mut captured = Vec::new();
        for group in groups.iter().filter(|group| Names::include(self.of(), &group.name)) {
            let ends: Vec<Ends> = world.flows[group.flows.clone()].to_vec();
            let files = [Memory::default(), Memory::default()];
            // Memory accepts every write.
            let Ok(capture) = FlowCapture::new(&ends, files.clone()) else { continue };
            let capture = Rc::new(RefCell::new(capture));
            world.watch(Rc::clone(&capture));
            let of = group.name.clone();
            captured.push(CapturedGroup { of, flows: ends.len(), capture, files });
        }
        Some(Box::new(Captures(captured)))
    }
}

/// Captures of all groups that the plan names.
struct Captures(Vec<CapturedGroup>);

impl Watch for Captures {
    fn conclude(&self, _: &CellWorld, results: &mut Results) {
        self.0.iter().for_each(|group| group.rows(&mut results.sheet(&group.of)));
    }
}

/// A group of flows that is captured at all senders and at all receivers.
struct CapturedGroup {
    /// Name of the group of flows.
    of: String,
    flows: usize,
    capture: Rc<RefCell<FlowCapture<Memory>>>,
    files: [Memory; 2],
}

impl CapturedGroup {
    /// The analysis of both captures, after the run.
    fn report(&self) -> Option<Report> {
        self.capture.borrow_mut().finish().ok()?;
        let [sender, receiver] = &self.files;
        let (sender, receiver) = (sender.0.borrow(), receiver.0.borrow());
        let open = |bytes| Capture::open(bytes).ok();
        let options = trace::Options::default();
        let most_connections = options.most_connections.max(2 * self.flows);
        let options = trace::Options { most_connections, ..options };
        let (mut sender, mut receiver) = (open(&sender[..])?, open(&receiver[..])?);
        // There is one clock.
        Some(trace::compare(&mut sender, &mut receiver, Some(0), options, ()).0)
    }

    /// Adds the rows of the analysis: counts, shares in per cent, times in milliseconds.
    fn rows(&self, sheet: &mut Sheet<'_>) {
        let Some(report) = self.report() else { return };
        let all = &report.all;
        let again = &all.retransmissions;
        sheet.add("trace.packets", &[], all.packets.data as f64, "");
        sheet.add("trace.retransmissions", &[], again.total as f64, "");
        let order = &again.by_order;
        for (name, count) in
            [("1", order.first), ("2", order.second), ("3", order.third), ("4+", order.more)]
        {
            sheet.add("trace.retransmissions", &[("order", name)], count as f64, "");
        }
        let cause = &again.by_cause;
        for (name, count) in [
            ("timeout", cause.timeout),
            ("fast", cause.fast),
            ("early", cause.early),
            ("bundled", cause.bundled),
            ("probe", cause.probe),
            ("unknown", cause.unknown),
        ] {
            sheet.add("trace.retransmissions", &[("cause", name)], count as f64, "");
        }
        sheet.add("trace.spurious", &[], again.spurious as f64, "");
        sheet.add("trace.loss_estimate", &[], 100.0 * all.loss_estimate, "%");
        let fates = report.streams.iter().filter_map(|stream| stream.receiver.as_ref());
        let (sent, lost) = fates
            .fold((0, 0), |(sent, lost), one| (sent + one.packets.sent, lost + one.packets.lost));
        if sent > 0 {
            sheet.add("trace.loss", &[], 100.0 * lost as f64 / sent as f64, "%");
        }
        summary("trace.round_trip", &all.round_trip_ms, sheet);
        summary("trace.acknowledged", &all.ack_latency_ms.all, sheet);
    }
}

fn summary(name: &str, of: &Summary, sheet: &mut Sheet<'_>) {
    if of.count == 0 {
        return;
    }
    sheet.add(&format!("{name}.mean"), &[], of.mean, "ms");
    sheet.add(&format!("{name}.min"), &[], of.min, "ms");
    for (quantile, value) in
        [("0.5", of.p50), ("0.9", of.p90), ("0.99", of.p99), ("0.999", of.p999)]
    {
        sheet.add(&format!("{name}.quantile"), &[("quantile", quantile)], value, "ms");
    }
    sheet.add(&format!("{name}.max"), &[], of.max, "ms");
}

#[cfg(test)]
mod tests {
    use crate::engine::run_all;
    use crate::engine::tests::PLAN;
    use crate::plan::{Plan, Size};

    #[test]
    fn what_captures_show_of_a_group_is_what_is_known_of_it() {
        let text = format!("{PLAN}trace = {{ of = \"sctp\" }}\n");
        let plan = Plan::parse(&text, Size::Normal, None).unwrap();
        for results in run_all(&plan).unwrap().into_values() {
            let value = |measure: &str, labels: &[(&str, &str)]| {
                results.value(measure, labels).unwrap_or_else(|| panic!("{measure} {labels:?}"))
            };
            assert!(
                results.rows.iter().all(|row| row.of == "sctp" || !row.measure.contains("trace"))
            );
            // Captures go on until everything has arrived.
            let again = value("trace.retransmissions", &[]);
            let after = again - value("retransmissions.count", &[]);
            assert!((0.0..6.0).contains(&after), "{after}");
            let by = |label: &str, values: &[&str]| {
                let values =
                    values.iter().map(|one| value("trace.retransmissions", &[(label, *one)]));
                values.sum::<f64>()
            };
            let orders = by("order", &["1", "2", "3", "4+"]);
            let causes = by("cause", &["timeout", "fast", "early", "bundled", "probe", "unknown"]);
            assert_eq!((orders, causes), (again, again));
            assert!((2.0..10.0).contains(&value("trace.loss", &[])), "of three flows");
            // Nothing is acknowledged sooner than a round trip, nor before it was delivered.
            assert_eq!(value("trace.acknowledged.min", &[]), 100.0);
            assert!(value("trace.acknowledged.mean", &[]) > value("latency.mean", &[]) + 40.0);
        }
    }
}
