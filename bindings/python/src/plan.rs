//! Plans, and the names from which they can be made.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use ::lab::experiments as known;
use ::lab::plan::{Plan as Checked, Size};
use ::lab::workload::Application;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use runner::plan_file::read;

use crate::errors;
use crate::interrupt::interruptible;
use crate::table::{Columns, Table};

/// A plan, read and checked: what is run, what is varied, what is measured, what is expected.
///
/// `size` is "normal", "full" (the paper's own) or "small" (what tests run); `seeds` replaces the
/// number of runs of each cell, and they follow `seed_offset`, with another of which the plan is
/// another replication; `vary` is a key and texts of values that replace those of the plan's sweep;
/// `distributions` keeps distributions of latency, which quantiles of all seeds together need.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Plan {
    pub(crate) plan: Arc<Checked>,
    asked: Asked,
}

/// Settings of a plan that are not in its text.
#[derive(Clone, PartialEq)]
struct Asked {
    size: Size,
    seeds: Option<i64>,
    seed_offset: i64,
    vary: Option<Varied>,
    distributions: bool,
}

/// A key and its values as text.
type Varied = (String, Vec<String>);

fn size_of(name: &str) -> PyResult<Size> {
    match name {
        "normal" => Ok(Size::Normal),
        "full" => Ok(Size::Full),
        "small" => Ok(Size::Small),
        _ => Err(PyValueError::new_err(format!(
            "there is no size \"{name}\"; there are normal, full, small"
        ))),
    }
}

fn name_of(size: Size) -> &'static str {
    match size {
        Size::Normal => "normal",
        Size::Full => "full",
        Size::Small => "small",
    }
}

impl Asked {
    fn new(
        size: &str,
        seeds: Option<i64>,
        seed_offset: i64,
        vary: Option<Varied>,
        distributions: bool,
    ) -> PyResult<Asked> {
        Ok(Asked { size: size_of(size)?, seeds, seed_offset, vary, distributions })
    }

    /// Reads a text so. A sweep can be large: Ctrl-C ends it.
    fn read(self, py: Python<'_>, text: String) -> PyResult<Plan> {
        let seeds = errors::at_least_one("seeds", self.seeds)?;
        let seed_offset = errors::zero_or_more("seed_offset", self.seed_offset)?;
        let Asked { size, vary, distributions, .. } = self.clone();
        let plan = interruptible(py, move || {
            let vary = vary.as_ref().map(|(key, values)| (key.as_str(), values.as_slice()));
            let mut plan =
                Checked::parse_varied(&text, size, seeds, vary)?.with_seed_offset(seed_offset)?;
            if distributions {
                plan.keep_distributions();
            }
            Ok(plan)
        })?;
        Ok(Plan { plan: Arc::new(plan.map_err(errors::refused)?), asked: self })
    }
}

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (text, *, size="normal", seeds=None, seed_offset=0, vary=None, distributions=false))]
    fn new(
        py: Python<'_>,
        text: String,
        size: &str,
        seeds: Option<i64>,
        seed_offset: i64,
        vary: Option<Varied>,
        distributions: bool,
    ) -> PyResult<Plan> {
        Asked::new(size, seeds, seed_offset, vary, distributions)?.read(py, text)
    }

    /// The plan of a file, with the files that it names.
    #[staticmethod]
    #[pyo3(signature = (path, *, size="normal", seeds=None, seed_offset=0, vary=None, distributions=false))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        size: &str,
        seeds: Option<i64>,
        seed_offset: i64,
        vary: Option<Varied>,
        distributions: bool,
    ) -> PyResult<Plan> {
        let asked = Asked::new(size, seeds, seed_offset, vary, distributions)?;
        let in_file = |error: &dyn Display| {
            errors::PlanError::new_err(format!("plan {}: {error}", path.display()))
        };
        let text = read(&path).map_err(|error| in_file(&error))?;
        asked.read(py, text).map_err(|error| match error.is_instance_of::<errors::PlanError>(py) {
            true => in_file(error.value(py)),
            false => error,
        })
    }

    /// A plan of a paper, by the name of the plan ("sctp-thin/fig8a"), or of the figure or table
    /// ("8a").
    #[staticmethod]
    #[pyo3(signature = (name, *, size="normal", seeds=None, seed_offset=0, vary=None, distributions=false))]
    fn experiment(
        py: Python<'_>,
        name: &str,
        size: &str,
        seeds: Option<i64>,
        seed_offset: i64,
        vary: Option<Varied>,
        distributions: bool,
    ) -> PyResult<Plan> {
        let found =
            known::find(name).map_err(|error| errors::PlanError::new_err(error.to_string()))?;
        match found.as_slice() {
            [one] => Asked::new(size, seeds, seed_offset, vary, distributions)?
                .read(py, one.text.to_owned()),
            several => {
                let names: Vec<_> = several.iter().map(|one| one.name).collect();
                Err(errors::PlanError::new_err(format!(
                    "\"{name}\" is {}; say which",
                    names.join(" and ")
                )))
            }
        }
    }

    /// A plan with other settings; arguments that are not given keep their values.
    #[pyo3(signature = (*, size=None, seeds=None, seed_offset=None, vary=None, distributions=None))]
    fn replace(
        &self,
        py: Python<'_>,
        size: Option<&str>,
        seeds: Option<i64>,
        seed_offset: Option<i64>,
        vary: Option<Varied>,
        distributions: Option<bool>,
    ) -> PyResult<Plan> {
        let before = self.asked.clone();
        let asked = Asked {
            size: size.map_or(Ok(before.size), size_of)?,
            seeds: seeds.or(before.seeds),
            seed_offset: seed_offset.unwrap_or(before.seed_offset),
            vary: vary.or(before.vary),
            distributions: distributions.unwrap_or(before.distributions),
        };
        match asked == self.asked {
            true => Ok(Plan { plan: Arc::clone(&self.plan), asked }),
            false => asked.read(py, self.plan.text.clone()),
        }
    }

    /// Title of the plan, one line.
    #[getter]
    fn title(&self) -> &str {
        &self.plan.base.title
    }

    /// Question that the plan answers.
    #[getter]
    fn about(&self) -> &str {
        self.plan.base.about.trim()
    }

    /// The reproduced paper; None if the plan is of no paper.
    #[getter]
    fn paper(&self) -> Option<&str> {
        self.plan.base.paper.as_deref()
    }

    /// Figure, table or section of the paper that the plan reproduces.
    #[getter]
    fn reproduces(&self) -> Option<&str> {
        self.plan.base.reproduces.as_deref()
    }

    /// TOML text from which the plan was read.
    #[getter]
    fn text(&self) -> &str {
        &self.plan.text
    }

    /// Size of the plan: "normal", "full" or "small".
    #[getter]
    fn size(&self) -> &'static str {
        name_of(self.plan.size)
    }

    /// Number of independent runs of each cell.
    #[getter]
    fn seeds(&self) -> u64 {
        self.plan.seeds
    }

    /// The number before the first seed.
    #[getter]
    fn seed_offset(&self) -> u64 {
        self.plan.seed_offset()
    }

    /// Number of runs: cells times seeds.
    #[getter]
    fn jobs(&self) -> u64 {
        self.plan.jobs()
    }

    /// Values of the varied keys in each cell, as text.
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let cell = |texts: Vec<(String, String)>| {
            let one = PyDict::new(py);
            texts.into_iter().try_for_each(|(key, value)| one.set_item(key, value))?;
            Ok(one)
        };
        self.plan.cells.iter().map(|(one, _)| cell(one.texts())).collect()
    }

    /// Details that the paper leaves open, each with the choice made here and its reason.
    #[getter]
    fn open(&self) -> std::collections::BTreeMap<String, String> {
        self.plan.base.open.clone()
    }

    /// Fingerprint that distinguishes plans, their sizes and numbers of runs.
    #[getter]
    fn fingerprint(&self) -> String {
        ::lab::engine::journal::fingerprint(&self.plan)
    }

    fn __repr__(&self) -> String {
        format!("<thinstream.lab.Plan \"{}\": {} runs>", self.title(), self.jobs())
    }

    fn __eq__(&self, other: &Plan) -> bool {
        (&self.plan.text, &self.asked) == (&other.plan.text, &other.asked)
    }

    fn __hash__(&self) -> u64 {
        // The fingerprint is a hash already: sixteen digits.
        u64::from_str_radix(&self.fingerprint(), 16).unwrap_or_default()
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("size", self.size())?;
        named.set_item("seeds", self.asked.seeds)?;
        named.set_item("seed_offset", self.asked.seed_offset)?;
        named.set_item("vary", self.asked.vary.clone())?;
        named.set_item("distributions", self.asked.distributions)?;
        Ok((PyTuple::new(py, [self.text()])?, named))
    }
}

/// The TOML text of a plan given as JSON; values of null are left out.
#[pyfunction]
pub(crate) fn to_toml(json: &str) -> PyResult<String> {
    toml::to_string(&read_json(json)?)
        .map_err(|error| errors::PlanError::new_err(error.to_string()))
}

/// The TOML text, on a line, of a value given as JSON.
#[pyfunction]
pub(crate) fn to_toml_value(json: &str) -> PyResult<String> {
    toml::Value::try_from(read_json(json)?)
        .map(|value| value.to_string())
        .map_err(|error| errors::PlanError::new_err(error.to_string()))
}

fn read_json(json: &str) -> PyResult<serde_json::Value> {
    let mut value = serde_json::from_str(json)
        .map_err(|error| errors::PlanError::new_err(error.to_string()))?;
    drop_nulls(&mut value);
    Ok(value)
}

fn drop_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        serde_json::Value::Array(values) => {
            values.retain(|value| !value.is_null());
            values.iter_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

/// The plans of the papers: name, paper, reproduced figure or table, title, runs.
#[pyfunction]
pub(crate) fn experiments() -> PyResult<Table> {
    let checked = |one: known::Experiment| {
        let plan = Checked::parse(one.text, Size::Normal, None).map_err(errors::refused)?;
        Ok((one, plan))
    };
    let all: Vec<_> = known::all().into_iter().map(checked).collect::<PyResult<_>>()?;
    let mut columns = Columns::default();
    columns.texts("name", all.iter().map(|(one, _)| Some(one.name)));
    columns.texts("paper", all.iter().map(|(_, plan)| plan.base.paper.as_deref()));
    columns.texts("reproduces", all.iter().map(|(_, plan)| plan.base.reproduces.as_deref()));
    columns.texts("title", all.iter().map(|(_, plan)| Some(plan.base.title.as_str())));
    columns.integers("jobs", all.iter().map(|(_, plan)| i64::try_from(plan.jobs()).ok()));
    columns.table()
}

/// The application models: the papers' numbers of each, and those of the fit. `verified` is false
/// for rows that are in no paper available to us; their numbers are from memory and have columns of
/// their own, 0.5 for `<1`.
#[pyfunction]
pub(crate) fn workloads() -> PyResult<Table> {
    let all: Vec<Application> = Application::all().collect();
    let mut columns = Columns::default();
    columns.texts("name", all.iter().map(|one| Some(one.row().name)));
    columns.texts("title", all.iter().map(|one| Some(one.row().title)));
    columns.truths("verified", all.iter().map(|one| Some(one.row().verified)));
    let payloads = |one: &Application| {
        let fit = one.payloads();
        [fit.mean(), fit.quantile(0.0), fit.quantile(1.0)]
    };
    for (place, name) in ["mean", "min", "max"].into_iter().enumerate() {
        let fitted = all.iter().map(|one| Some(payloads(one)[place]));
        for (verified, column) in [(true, "payload"), (false, "remembered_payload")] {
            let known = |one: &Application| {
                (one.row().verified == verified).then(|| one.row().payload[place])
            };
            columns.numbers(&format!("{column}_{name}"), all.iter().map(known));
        }
        columns.numbers(&format!("fitted_payload_{name}"), fitted);
    }
    let intervals = |one: &Application| {
        let fit = one.intervals();
        let [median, min, max, p1, p99] = [0.5, 0.0, 1.0, 0.01, 0.99].map(|at| fit.quantile(at));
        [fit.mean(), median, min, max, p1, p99]
    };
    for (place, name) in ["mean", "median", "min", "max", "p1", "p99"].into_iter().enumerate() {
        let fitted = all.iter().map(|one| Some(intervals(one)[place]));
        for (verified, column) in [(true, "interval_ms"), (false, "remembered_interval_ms")] {
            let known = |one: &Application| {
                (one.row().verified == verified).then(|| one.row().interval_ms[place])
            };
            columns.numbers(&format!("{column}_{name}"), all.iter().map(known));
        }
        columns.numbers(&format!("fitted_interval_ms_{name}"), fitted);
    }
    columns.table()
}
