//! Policies in Python: each flow of each run has an object of its own, whose methods hear events of
//! recovery.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::base::Instant;
use ::lab::advisor::{AdvisedFlow, Advisor, AdvisorError, AdvisorFactory, Advisors, Answer};
use ::recovery::{Advice, AdviceError, Event, PathId, PathView};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::advice::{self, Heard, Path, Words};
use crate::errors;

/// The factories of `advisors`, a dictionary by name. Once `stopped` is set, their advisors are not
/// asked any more.
pub(crate) fn factories(
    given: Option<&Bound<'_, PyDict>>,
    stopped: &Arc<AtomicBool>,
) -> PyResult<Advisors> {
    let mut advisors = Advisors::default();
    for (name, make) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        if !make.is_callable() {
            let found = make.repr()?;
            return Err(PyTypeError::new_err(format!(
                "advisor \"{name}\" is a class, or a function of the flow, not {found}"
            )));
        }
        let version = match make.getattr_opt("version")?.filter(|one| !one.is_none()) {
            Some(version) => Some(version.extract().map_err(|_| {
                PyTypeError::new_err(format!("version of advisor \"{name}\" is no text"))
            })?),
            None => None,
        };
        let stopped = Arc::clone(stopped);
        advisors.insert(name, Arc::new(Factory { make: make.unbind(), version, stopped }));
    }
    Ok(advisors)
}

/// A class of Python, or a function that makes objects of one.
struct Factory {
    make: Py<PyAny>,
    version: Option<String>,
    stopped: Arc<AtomicBool>,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Calls Python, unless the interpreter or the run is about to end.
fn attached<T>(
    stopped: &AtomicBool,
    call: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> Result<T, AdvisorError> {
    if stopped.load(Ordering::Relaxed) {
        return Err("stopped".into());
    }
    Python::try_attach(call).ok_or("the interpreter ends")?.map_err(AdvisorError::from)
}

impl AdvisorFactory for Factory {
    fn version(&self) -> Option<String> {
        self.version.clone()
    }

    fn make(&self, flow: &AdvisedFlow) -> Result<Box<dyn Advisor>, AdvisorError> {
        attached(&self.stopped, |py| {
            let words = Words::get(py)?;
            let flow = words.flow.bind(py).call1((&flow.name, flow.number, flow.seed))?;
            let object = self.make.bind(py).call1((flow,))?;
            let base = words.advisor.bind(py);
            if !object.is_instance(base)? {
                let found = object.repr()?;
                return Err(PyTypeError::new_err(format!(
                    "an advisor is a thinstream.advice.Advisor, not {found}"
                )));
            }
            let class = object.get_type();
            let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
                let is_own = !class.getattr(name)?.is(&base.getattr(name)?);
                is_own.then(|| object.getattr(name).map(Bound::unbind)).transpose()
            };
            let mut heard: [Option<Py<PyAny>>; advice::EVENTS] = Default::default();
            for (place, kind) in Heard::ALL.iter().enumerate() {
                heard[place] = method(kind.method())?;
            }
            let (wake, refused) = (method("on_wake")?, method("on_refused")?);
            let stopped = Arc::clone(&self.stopped);
            Ok(Box::new(Own { heard, wake, refused, stopped }) as Box<dyn Advisor>)
        })
    }
}

/// An object of Python, by its methods.
struct Own {
    heard: [Option<Py<PyAny>>; advice::EVENTS],
    wake: Option<Py<PyAny>>,
    refused: Option<Py<PyAny>>,
    stopped: Arc<AtomicBool>,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an advisor in Python")
    }
}

/// Calls a method, and applies its answer about `path`.
fn ask<'py>(
    method: &Bound<'py, PyAny>,
    arguments: impl PyCallArgs<'py>,
    path: PathId,
    answers: &mut Vec<Answer>,
) -> PyResult<()> {
    let answer = method.call1(arguments)?;
    if answer.is_none() {
        return Ok(());
    }
    let words = Words::get(method.py())?;
    if answer.is_instance(words.action.bind(method.py()))? {
        answers.push(words.answer(&answer, path)?);
        return Ok(());
    }
    let several = answer.try_iter().map_err(|_| advice::no_answer(&answer))?;
    for one in several {
        answers.push(words.answer(&one?, path)?);
    }
    Ok(())
}

impl Advisor for Own {
    fn hears(&self, event: &Event) -> bool {
        self.heard[Heard::of(event) as usize].is_some()
    }

    fn on_event(
        &mut self,
        now: Instant,
        event: &Event,
        view: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        let kind = Heard::of(event);
        let Some(method) = &self.heard[kind as usize] else { return Ok(()) };
        attached(&self.stopped, |py| {
            let path = event.path().unwrap_or(PathId::FIRST);
            let made = Words::get(py)?.event(py, now, event)?;
            ask(method.bind(py), (made, Path::new(path, view)), path, answers)
        })
    }

    fn on_wake(
        &mut self,
        now: Instant,
        view: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        let Some(method) = &self.wake else { return Ok(()) };
        attached(&self.stopped, |py| {
            let path = PathId::FIRST;
            ask(method.bind(py), (now.as_secs_f64(), Path::new(path, view)), path, answers)
        })
    }

    fn on_refused(
        &mut self,
        now: Instant,
        advice: Advice,
        error: AdviceError,
    ) -> Result<(), AdvisorError> {
        attached(&self.stopped, |py| {
            let action = Words::get(py)?.action_of(py, advice)?;
            let Some(method) = &self.refused else {
                return Err(errors::run(format!("{} was refused: {error}", action.repr()?)));
            };
            method.bind(py).call1((now.as_secs_f64(), action, error.to_string())).map(drop)
        })
    }
}
