//! Errors of Rust as exceptions of Python, with the same texts.

use ::lab::engine::EngineError;
use ::lab::plan::PlanError as RefusedPlan;
use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, PyResult, Python};
use runner::archive::FolderError as UnusableFolder;

/// The exceptions, which Python defines: `thinstream._errors`.
mod exceptions {
    pyo3::import_exception!(thinstream._errors, PlanError);
    pyo3::import_exception!(thinstream._errors, RunError);
    pyo3::import_exception!(thinstream._errors, FolderError);
    pyo3::import_exception!(thinstream._errors, TraceError);
}

use exceptions::{FolderError, RunError};
pub(crate) use exceptions::{PlanError, TraceError};

pub(crate) fn refused(error: RefusedPlan) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub(crate) fn folder(error: UnusableFolder) -> PyErr {
    let ways = match (error.would_lose(), error.can_resume()) {
        (_, true) => "; resume=True goes on with them, anew=True replaces them",
        (true, false) => "; anew=True replaces them",
        (false, false) => "",
    };
    FolderError::new_err(format!("{error}{ways}"))
}

pub(crate) fn journal(error: impl ToString) -> PyErr {
    FolderError::new_err(error.to_string())
}

pub(crate) fn failed(error: EngineError) -> PyErr {
    match error {
        EngineError::Plan(error) => refused(error),
        EngineError::Journal(error) => journal(error),
        EngineError::Advice { place, failure } => {
            let raised = RunError::new_err(format!("{place}: {failure}"));
            if let Ok(cause) = failure.error.downcast::<PyErr>() {
                Python::attach(|py| raised.set_cause(py, Some(*cause)));
            }
            raised
        }
        other => RunError::new_err(other.to_string()),
    }
}

pub(crate) fn run(what: impl ToString) -> PyErr {
    RunError::new_err(what.to_string())
}

/// A count that may be none.
pub(crate) fn zero_or_more(name: &str, given: i64) -> PyResult<u64> {
    let refused = |_| PyValueError::new_err(format!("{name} is {given}; give 0 or more"));
    u64::try_from(given).map_err(refused)
}

/// A count that must be positive, if it is given.
pub(crate) fn at_least_one(name: &str, given: Option<i64>) -> PyResult<Option<u64>> {
    let count =
        given.map(|count| u64::try_from(count).ok().filter(|count| *count > 0).ok_or(count));
    count.transpose().map_err(|count| {
        PyValueError::new_err(format!("{name} is {count}: nothing would run; give 1 or more"))
    })
}
