//! `measure.trace`: applies the analysis of captures to flows, so that simulated traffic is
//! measured like traffic captured on a real network.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use results::Sheet;
use trace::capture::Capture;
use trace::report::{Report, Summary};

use super::capture::FlowCapture;
use crate::plan::CellWorld;
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

/// A group of flows that is captured at all senders and at all receivers.
pub struct TracedGroup {
    /// Name of the group of flows.
    pub of: String,
    flows: usize,
    capture: Rc<RefCell<FlowCapture<Memory>>>,
    files: [Memory; 2],
}

/// Captures the groups with these names; call it before the run.
pub fn watch_traces<'a>(
    built: &mut CellWorld,
    groups: impl Iterator<Item = &'a str>,
) -> Vec<TracedGroup> {
    let mut all = Vec::new();
    for name in groups {
        let Some(group) = built.groups.iter().find(|group| group.name == name) else { continue };
        let ends: Vec<Ends> = built.world.flows[group.flows.clone()].to_vec();
        let files = [Memory::default(), Memory::default()];
        // Memory accepts every write.
        let Ok(capture) = FlowCapture::new(&ends, files.clone()) else { continue };
        let capture = Rc::new(RefCell::new(capture));
        built.world.watch(Rc::clone(&capture));
        all.push(TracedGroup { of: name.to_owned(), flows: ends.len(), capture, files });
    }
    all
}

impl TracedGroup {
    /// The analysis of both captures; call it after the run.
    pub fn report(&self) -> Option<Report> {
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
    pub fn rows(&self, sheet: &mut Sheet<'_>) {
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
