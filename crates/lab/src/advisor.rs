//! External policies: code of a caller that receives the events of a sender's recovery and answers
//! with advice.
//!
//! A plan names such code (`advice = "mine"`), and the caller passes it to
//! [`Plan::with_advisors`](crate::plan::Plan::with_advisors). Each flow of each run has its own
//! [`Advisor`], which receives the events of recovery after each input, before packets leave, but
//! not the effects of its own advice. Equal advisors give equal results; a plan cannot record other
//! inputs of an advisor, such as files.

use core::fmt::{self, Debug};
use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Duration, Instant};
use recovery::{Advice, AdviceError, Event, PathView};

/// An advisor's reason for failing.
pub type AdvisorError = Box<dyn core::error::Error + Send + Sync>;

/// An action for recovery, or a request to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Asks recovery for this action, which may refuse it ([`recovery::AdviceError`]).
    Do(Advice),
    /// [Wakes](Advisor::on_wake) the advisor after this time, at least 1 ms; replaces an earlier
    /// request.
    Wake(Duration),
}

/// An external policy of one flow in one run.
pub trait Advisor: Debug {
    /// Whether the advisor receives events of this kind; views are made for these only.
    fn hears(&self, _event: &Event) -> bool {
        true
    }

    /// Handles an event of recovery. `view` is the state after the input that caused it, with the
    /// lowest [`UNITS`] units in flight on the event's path, or on the first path.
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

    /// Handles the expiry of the time that the advisor requested. `view` is of the first path.
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

    /// Handles a refused advice, which had no effect.
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

/// Most units in flight of a view.
pub const UNITS: usize = 64;

/// The flow that an advisor is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvisedFlow {
    /// Name of its group in the plan.
    pub name: String,
    /// Number of the flow in its group, from 0.
    pub number: usize,
    /// Seed of the run, from 1, for advisors that draw random numbers.
    pub seed: u64,
}

/// Makes advisors of one kind, on any thread.
pub trait AdvisorFactory: Debug + Send + Sync {
    /// Version of the advisor's code, recorded with kept results.
    fn version(&self) -> Option<String> {
        None
    }

    /// An advisor for one flow of one run.
    ///
    /// # Errors
    /// A failure, which ends the run.
    fn make(&self, flow: &AdvisedFlow) -> Result<Box<dyn Advisor>, AdvisorError>;
}

/// Factories by the names that plans use.
#[derive(Clone, Debug, Default)]
pub struct Advisors(BTreeMap<String, Arc<dyn AdvisorFactory>>);

impl Advisors {
    /// Adds a factory, or replaces the one of this name.
    pub fn insert(&mut self, name: impl Into<String>, factory: Arc<dyn AdvisorFactory>) {
        self.0.insert(name.into(), factory);
    }

    /// Factory that was added under this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AdvisorFactory>> {
        self.0.get(name)
    }

    /// Names under which plans find the factories, ascending.
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
    /// Text or exception with which the advisor failed.
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
