//! A sending end whose recovery is advised.

use base::Instant;
use recovery::advice::LEAST_WAIT;
use recovery::{AdviceError, PathId, TimedEvent};

use super::config::{AdvicePlan, FailureSlot};
use super::log::LogHandle;
use super::source_transport::SourceTransport;
use crate::advisor::{AdvisedFlow, Advisor, AdvisorError, AdvisorFailure, Answer, UNITS};

/// The advisor of a sending end.
#[derive(Debug)]
pub(super) struct Advised {
    /// The advisor; none once it has failed.
    advisor: Option<Box<dyn Advisor>>,
    flow: AdvisedFlow,
    failure: FailureSlot,
    /// Time at which the advisor wants to be woken.
    pub(super) wakes_at: Option<Instant>,
    events: Vec<TimedEvent>,
    /// Events that the log has yet to note, when packets have left, as for flows without an
    /// advisor.
    unnoted: Vec<TimedEvent>,
    answers: Vec<Answer>,
}

impl Advised {
    pub(super) fn new(plan: &AdvicePlan) -> Advised {
        let AdvicePlan { factory, flow, failure } = plan.clone();
        let mut advised = Advised {
            advisor: None,
            flow,
            failure,
            wakes_at: None,
            events: Vec::new(),
            unnoted: Vec::new(),
            answers: Vec::new(),
        };
        match factory.make(&advised.flow) {
            Ok(advisor) => advised.advisor = Some(advisor),
            Err(error) => advised.fail(Instant::ZERO, error),
        }
        advised
    }

    fn fail(&mut self, at: Instant, error: AdvisorError) {
        self.advisor = None;
        let flow = self.flow.clone();
        self.failure.borrow_mut().get_or_insert(AdvisorFailure { flow, at, error });
    }

    /// Passes recovery's events on, and does what the advisor answers.
    pub(super) fn hear<C: SourceTransport>(
        &mut self,
        now: Instant,
        (transport, id): (&mut C, C::Id),
    ) {
        let mut events = core::mem::take(&mut self.events);
        while let Some(event) = transport.poll_recovery_event(id) {
            self.unnoted.push(event.clone());
            events.push(event);
        }
        let mut answers = core::mem::take(&mut self.answers);
        for (at, event) in events.drain(..) {
            let Some(advisor) = self.advisor.as_mut().filter(|one| one.hears(&event)) else {
                continue;
            };
            let Some(view) = transport.view(id, event.path().unwrap_or(PathId::FIRST), UNITS)
            else {
                continue;
            };
            if let Err(error) = advisor.on_event(at, &event, &view, &mut answers) {
                self.fail(at, error);
            }
        }
        self.events = events;
        self.follow(now, (transport, id), answers);
    }

    /// Lets the log note what happened.
    pub(super) fn note(&mut self, log: &LogHandle) {
        let mut log = log.borrow_mut();
        self.unnoted.drain(..).for_each(|event| log.on_recovery_event(&event));
    }

    /// Wakes the advisor, if it is time.
    pub(super) fn wake<C: SourceTransport>(
        &mut self,
        now: Instant,
        (transport, id): (&mut C, C::Id),
    ) {
        if self.wakes_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        let mut answers = core::mem::take(&mut self.answers);
        let view = transport.view(id, PathId::FIRST, UNITS);
        if let Some((advisor, view)) = self.advisor.as_mut().zip(view)
            && let Err(error) = advisor.on_wake(now, &view, &mut answers)
        {
            self.fail(now, error);
        }
        self.follow(now, (transport, id), answers);
    }

    /// Does what the advisor answered. The effects go to the log alone.
    fn follow<C: SourceTransport>(
        &mut self,
        now: Instant,
        (transport, id): (&mut C, C::Id),
        mut answers: Vec<Answer>,
    ) {
        for answer in answers.drain(..) {
            let Some(advisor) = &mut self.advisor else { break };
            match answer {
                Answer::Wake(after) => self.wakes_at = Some(now + after.max(LEAST_WAIT)),
                Answer::Do(advice) => {
                    let done = transport.advise(now, id, advice);
                    let heard = match done {
                        // The event that the advisor answers ended the flow.
                        Ok(()) | Err(AdviceError::Gone) => Ok(()),
                        Err(error) => advisor.on_refused(now, advice, error),
                    };
                    if let Err(error) = heard {
                        self.fail(now, error);
                    }
                }
            }
        }
        answers.clear();
        self.answers = answers;
        while let Some(event) = transport.poll_recovery_event(id) {
            self.unnoted.push(event);
        }
    }
}
