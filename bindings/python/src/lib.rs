//! `thinstream._native`: what the Python package is made of.
//!
//! - [`plan`]: plans, read and checked.
//! - [`advisor`]: policies in Python, which hear events and answer; [`advice`]: both as objects.
//! - [`run`]: runs on threads, with the interpreter free meanwhile, and what shards bring together.
//! - [`results`]: results of finished runs; [`table`]: as Arrow.
//! - [`trace`]: packet captures.
//!
//! Nothing is computed here: what there is to know stands in `lab`, `report` and `trace`.

mod advice;
mod advisor;
mod errors;
mod interrupt;
mod plan;
mod results;
mod run;
mod table;
mod trace;

/// The native part of the package; use `thinstream.lab` and `thinstream.trace`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::advice::{Path, Unit};
    #[pymodule_export]
    use super::plan::{Plan, experiments, to_toml, to_toml_value, workloads};
    #[pymodule_export]
    use super::results::Results;
    #[pymodule_export]
    use super::run::{Collector, run, run_jobs};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::analyse;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        studies::register();
        Ok(())
    }
}
