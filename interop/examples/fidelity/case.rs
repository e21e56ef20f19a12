//! The cases: plans of the laboratory, which say what flows there are on either side.

use std::path::Path;
use std::time::Duration;

use interop::{KernelTransport, ThinFlows};
use lab::plan::{FlowsPlan, Plan, Size, Subject, TransportText};
use lab::policy_text::TransportName;
use lab::{Arrivals, Sizes};
use netsim::LossModel;

use crate::Outcome;

/// Names of the cases, and of their plans in `experiments/fidelity`.
pub(crate) const NAMES: [&str; 2] = ["sctp", "tcp"];
/// Names of the cases with the default policy, and of their plans beside this file: no kernel has
/// that policy.
pub(crate) const LATENCY: [&str; 2] = ["latency-w1", "latency-w2"];

/// A plan that runs in virtual time and on the system under test.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) plan: Plan,
    /// Flows of the plan, the same in its only cell.
    pub(crate) flows: FlowsPlan,
}

impl Case {
    pub(crate) fn read(name: &str) -> Outcome<Case> {
        let own = LATENCY.contains(&name);
        let folder = if own { "examples/fidelity" } else { "../experiments/fidelity" };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(format!("{name}.toml"));
        let known = || [NAMES, LATENCY].concat().join(", ");
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{name}: {error}; there is {}", known()))?;
        let plan = Plan::parse(&text, Size::Normal, None)?;
        let flows = match &plan.base.subject {
            Subject::Flows(flows) => (**flows).clone(),
            Subject::Study(_) => return Err(format!("{name}: the plan runs no flows").into()),
        };
        Ok(Case { name: name.to_owned(), plan, flows })
    }

    /// The case's flows for a kernel.
    pub(crate) fn thin_flows(&self, flows: u32, seconds: u64) -> Outcome<ThinFlows> {
        let plan = &self.flows;
        let (network, flow) = (&plan.network, plan.flows.first().ok_or("no flow")?);
        let Some(Arrivals::Constant { interval }) = flow.workload.drawn() else {
            return Err("arrivals are constant here".into());
        };
        let Some(Sizes::Constant(size)) = flow.workload.size.map(|size| size.0) else {
            return Err("sizes are constant here".into());
        };
        let loss_percent = match network.link.loss.as_ref().map(|loss| &loss.0) {
            None => 0,
            Some(LossModel::Bernoulli(share)) => (share.as_f64() * 100.0).round() as u32,
            Some(_) => return Err("losses are independent here".into()),
        };
        let transport = match flow.transport {
            TransportText::Own(TransportName::Sctp) => KernelTransport::Sctp,
            TransportText::Own(TransportName::Tcp) => KernelTransport::Tcp,
            TransportText::Peer(_) => return Err("the kernel has SCTP and TCP only".into()),
        };
        let delay = network.link.rtt.ok_or("no round trip")?.0 / 2;
        Ok(ThinFlows {
            transport,
            flows,
            size: size.try_into()?,
            interval: interval.into(),
            seconds,
            delay: delay.into(),
            loss_percent,
        })
    }

    /// Time from the beginning that does not count.
    pub(crate) fn warm_up(&self) -> Duration {
        self.flows.warm_up.into()
    }
}

/// Flows of a plan's cells.
pub(crate) fn cells(plan: &mut Plan) -> impl Iterator<Item = &mut FlowsPlan> {
    plan.cells.iter_mut().filter_map(|(_, cell)| match &mut cell.subject {
        Subject::Flows(flows) => Some(&mut **flows),
        Subject::Study(_) => None,
    })
}
