//! Policies from outside: code of a caller that hears the events of a sender's recovery and answers with advice.
//!
//! A plan names such code (`advice = "mine"`), and the caller hands it in ([`Plan::with_advisors`](crate::plan::Plan::with_advisors)).
//! Each flow of each run has an [`Advisor`] of its own. It hears what recovery did after each input, before packets leave, and not the
//! effects of its own advice. An equal advisor gives equal results; what else its results depend on, no plan can say.

use core::fmt::{self, Debug};
use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Duration, Instant};
use recovery::{Advice, AdviceError, Event, PathView};

/// Why an advisor gave no answer.
pub type AdvisorError = Box<dyn core::error::Error + Send + Sync>;

/// An advisor's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Recovery is to do this.
    Do(Advice),
    /// The advisor is to be [woken](Advisor::on_wake) after this time, 1 ms at least, instead of when it last asked for.
    Wake(Duration),
}

/// A policy of one flow in one run.
pub trait Advisor: Debug {
    /// Whether the advisor receives such events; a view is made only for these.
    fn hears(&self, _event: &Event) -> bool {
        true
    }

    /// Recovery did something. `view` is the state after the input that led to it, with the lowest [`UNITS`] units in flight on the
    /// event's path, or on the first path.
    ///
    /// # Errors
    /// A failure, which ends the run.
    fn on_event(
        &mut self,
        now: Instant,
        event: &Event,
        view: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError>;

    /// The time has come that the advisor asked for. `view` is of the first path.
    ///
    /// # Errors
    /// A failure, which ends the run.
    fn on_wake(
        &mut self,
        _now: Instant,
        _view: &PathView,
        _answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        Ok(())
    }

    /// Recovery refused an advice, of which nothing was done.
    ///
    /// # Errors
    /// A failure, which ends the run; by default the refusal is one.
    fn on_refused(
        &mut self,
        _now: Instant,
        advice: Advice,
        error: AdviceError,
    ) -> Result<(), AdvisorError> {
        Err(format!("{advice:?} was refused: {error}").into())
    }
}

/// Units in flight that a view has at most.
pub const UNITS: usize = 64;

/// The flow that an advisor is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvisedFlow {
    /// Name of its group in the plan.
    pub name: String,
    /// Number of the flow in its group, from 0.
    pub number: usize,
    /// Seed of the run.
    pub seed: u64,
}

/// Makes advisors of one kind, on any thread.
pub trait AdvisorFactory: Debug + Send + Sync {
    /// Name of this state of the code, which a plan gives where results are kept.
    fn version(&self) -> Option<String> {
        None
    }

    /// An advisor for one flow of one run.
    ///
    /// # Errors
    /// A failure, which ends the run.
    fn make(&self, flow: &AdvisedFlow) -> Result<Box<dyn Advisor>, AdvisorError>;
}

/// Factories by the names that plans have for them.
#[derive(Clone, Debug, Default)]
pub struct Advisors(BTreeMap<String, Arc<dyn AdvisorFactory>>);

impl Advisors {
    /// Adds a factory, or replaces the one of this name.
    pub fn insert(&mut self, name: impl Into<String>, factory: Arc<dyn AdvisorFactory>) {
        self.0.insert(name.into(), factory);
    }

    /// The factory of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AdvisorFactory>> {
        self.0.get(name)
    }

    /// Names of all factories.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// An advisor's failure, which ended a run.
pub struct AdvisorFailure {
    /// Flow on which the run ended.
    pub flow: AdvisedFlow,
    /// The instant of virtual time.
    pub at: Instant,
    /// What the advisor said.
    pub error: AdvisorError,
}

impl Debug for AdvisorFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdvisorFailure({self})")
    }
}

impl fmt::Display for AdvisorFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AdvisedFlow { name, number, .. } = &self.flow;
        write!(f, "advice of flow \"{name}\", number {number}, at {}: {}", self.at, self.error)
    }
}
