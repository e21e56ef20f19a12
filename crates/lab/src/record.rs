//! Repeats one run and records the packets at both ends of one of its flows.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use qlog::QlogWriter;

use crate::engine::{EngineError, Job};
use crate::plan::{Plan, Subject};
use crate::watch::FlowCapture;

/// A flow of a plan: `thin` or `thin:3`, the name of a group and a number within it, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// Name of the group of flows in the plan.
    pub group: String,
    /// Number of the flow in the group, from 0.
    pub number: usize,
}

impl core::str::FromStr for FlowName {
    type Err = String;

    fn from_str(text: &str) -> Result<FlowName, String> {
        let (group, number) = text.rsplit_once(':').unwrap_or((text, "0"));
        match number.parse() {
            Ok(number) if !group.is_empty() => Ok(FlowName { group: group.to_owned(), number }),
            _ => Err(format!("\"{text}\" is no flow such as thin or thin:3: a name and a number")),
        }
    }
}

impl core::fmt::Display for FlowName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.group, self.number)
    }
}

/// The reason why a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The run to be recorded failed.
    #[error("{0}")]
    Run(#[from] EngineError),
    /// A file cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The plan has no such flow.
    #[error("there is no flow {flow} to capture; there is {known}")]
    NoFlow {
        /// The flow that was asked for.
        flow: FlowName,
        /// Names of the flows in the run.
        known: String,
    },
}

/// Writers of the files that a recording makes.
pub struct Files<W> {
    /// Packets at the sender's host, pcapng.
    pub sender: W,
    /// Packets at the receiver's host, pcapng.
    pub receiver: W,
    /// Events of the sender's recovery, qlog as a JSON text sequence.
    pub events: W,
}

/// Whether a plan has this flow in all cells.
///
/// # Errors
/// [`RecordError::NoFlow`].
pub fn check(plan: &Plan, flow: &FlowName) -> Result<(), RecordError> {
    let groups = |subject: &Subject| match subject {
        Subject::Flows(flows) => {
            flows.flows.iter().map(|one| (one.name.clone(), one.count as usize)).collect()
        }
        Subject::Study(_) => Vec::new(),
    };
    for (_, cell) in &plan.cells {
        let groups = groups(&cell.subject);
        if !groups.iter().any(|(name, count)| *name == flow.group && flow.number < *count) {
            let known: Vec<String> = groups
                .iter()
                .map(|(name, count)| format!("{name}:0 to {name}:{}", count.saturating_sub(1)))
                .collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(RecordError::NoFlow { flow: flow.clone(), known });
        }
    }
    Ok(())
}

/// Repeats the run of a cell with a seed and records the packets at both ends of a flow. It is the
/// run whose numbers [`run_cell`](crate::engine::run_cell) returns.
///
/// # Errors
/// See [`RecordError`].
pub fn record<W: Write + 'static>(
    plan: &Plan,
    job: Job,
    flow: &FlowName,
    files: Files<W>,
) -> Result<(), RecordError> {
    check(plan, flow)?;
    let Some((cell, one)) = plan.cells.get(job.cell) else { return Ok(()) };
    let Subject::Flows(flows) = &one.subject else { return Ok(()) };
    let place = || format!("{cell}, seed {}", job.seed);
    let at = |error| EngineError::World { place: place(), error };
    let mut built = flows.build(job.seed).map_err(EngineError::Plan)?.map_err(at)?;
    let Some(ends) = built.flow(&flow.group, flow.number).cloned() else { return Ok(()) };
    ends.log.borrow_mut().keep_steps();
    let capture = FlowCapture::new(core::slice::from_ref(&ends), [files.sender, files.receiver])?;
    let capture = Rc::new(RefCell::new(capture));
    built.world.watch(Rc::clone(&capture));
    built.run(&AtomicBool::new(false)).map_err(at)?;
    capture.borrow_mut().finish()?;
    let log = ends.log.borrow();
    let title = format!("{}: {}, {flow}", plan.base.title, place());
    let mut events = QlogWriter::new(files.events, &title, log.first_unit())?;
    log.steps.iter().flatten().try_for_each(|event| events.write(event))?;
    events.finish()?;
    Ok(())
}
