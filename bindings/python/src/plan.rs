//! Plans, and what is there to make them of.

use std::path::PathBuf;
use std::sync::Arc;

use ::lab::experiments as known;
use ::lab::plan::{Plan as Checked, Size, read};
use ::lab::workload::{Application, Fit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors;
use crate::table::{Columns, Table};

/// A plan, read and checked: what is run, what is varied, what is measured, what is expected.
///
/// `size` is "normal", "full" (the paper's own) or "small" (what tests run); `seeds` replaces the number of runs of
/// each cell; `vary` is a key and texts of values in the place of those that the plan's sweep gives it;
/// `distributions` keeps distributions of latency, which quantiles of all seeds together need.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Plan {
    pub(crate) plan: Arc<Checked>,
    seeds: Option<u64>,
    vary: Option<(String, Vec<String>)>,
    distributions: bool,
}

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

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (text, *, size="normal", seeds=None, vary=None, distributions=false))]
    fn new(
        text: &str,
        size: &str,
        seeds: Option<u64>,
        vary: Option<(String, Vec<String>)>,
        distributions: bool,
    ) -> PyResult<Plan> {
        let varied = vary.as_ref().map(|(key, values)| (key.as_str(), values.as_slice()));
        let mut plan =
            Checked::parse_varied(text, size_of(size)?, seeds, varied).map_err(errors::refused)?;
        if distributions {
            plan.keep_distributions();
        }
        Ok(Plan { plan: Arc::new(plan), seeds, vary, distributions })
    }

    /// The plan of a file, with the files that it names.
    #[staticmethod]
    #[pyo3(signature = (path, *, size="normal", seeds=None, vary=None, distributions=false))]
    fn read(
        path: PathBuf,
        size: &str,
        seeds: Option<u64>,
        vary: Option<(String, Vec<String>)>,
        distributions: bool,
    ) -> PyResult<Plan> {
        let in_file =
            |error| errors::PlanError::new_err(format!("plan {}: {error}", path.display()));
        let text = read(&path).map_err(in_file)?;
        Plan::new(&text, size, seeds, vary, distributions)
    }

    /// A plan of a paper, by the name of the plan ("sctp-thin/fig8a"), or of the figure or table ("8a").
    #[staticmethod]
    #[pyo3(signature = (name, *, size="normal", seeds=None, vary=None, distributions=false))]
    fn experiment(
        name: &str,
        size: &str,
        seeds: Option<u64>,
        vary: Option<(String, Vec<String>)>,
        distributions: bool,
    ) -> PyResult<Plan> {
        let found =
            known::find(name).map_err(|error| errors::PlanError::new_err(error.to_string()))?;
        match found.as_slice() {
            [one] => Plan::new(one.text, size, seeds, vary, distributions),
            several => {
                let names: Vec<_> = several.iter().map(|one| one.name).collect();
                Err(errors::PlanError::new_err(format!(
                    "\"{name}\" is {}; say which",
                    names.join(" and ")
                )))
            }
        }
    }

    /// What it is, on a line.
    #[getter]
    fn title(&self) -> &str {
        &self.plan.base.title
    }

    /// What is asked.
    #[getter]
    fn about(&self) -> &str {
        self.plan.base.about.trim()
    }

    /// The paper that it reproduces.
    #[getter]
    fn paper(&self) -> Option<&str> {
        self.plan.base.paper.as_deref()
    }

    /// Which figure, table or section of it.
    #[getter]
    fn reproduces(&self) -> Option<&str> {
        self.plan.base.reproduces.as_deref()
    }

    /// The text it was read from.
    #[getter]
    fn text(&self) -> &str {
        &self.plan.text
    }

    /// "normal", "full" or "small".
    #[getter]
    fn size(&self) -> &'static str {
        name_of(self.plan.size)
    }

    /// Independent runs of each cell.
    #[getter]
    fn seeds(&self) -> u64 {
        self.plan.seeds
    }

    /// Runs: cells times seeds.
    #[getter]
    fn jobs(&self) -> u64 {
        self.plan.jobs()
    }

    /// What is varied: keys and values of each cell, as text.
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let cell = |texts: Vec<(String, String)>| {
            let one = PyDict::new(py);
            texts.into_iter().try_for_each(|(key, value)| one.set_item(key, value))?;
            Ok(one)
        };
        self.plan.cells.iter().map(|(one, _)| cell(one.texts())).collect()
    }

    /// What the paper leaves open, and why it is as it is here.
    #[getter]
    fn open(&self) -> std::collections::BTreeMap<String, String> {
        self.plan.base.open.clone()
    }

    /// Tells plans, their sizes and numbers of runs apart.
    #[getter]
    fn fingerprint(&self) -> String {
        ::lab::engine::journal::fingerprint(&self.plan)
    }

    fn __repr__(&self) -> String {
        format!("<thinstream.lab.Plan \"{}\": {} runs>", self.title(), self.jobs())
    }

    fn __eq__(&self, other: &Plan) -> bool {
        self.fingerprint() == other.fingerprint()
            && (self.distributions, &self.vary) == (other.distributions, &other.vary)
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
        named.set_item("seeds", self.seeds)?;
        named.set_item("vary", self.vary.clone())?;
        named.set_item("distributions", self.distributions)?;
        Ok((PyTuple::new(py, [self.text()])?, named))
    }
}

/// The TOML text of a plan that is given as JSON; what is null is left out.
#[pyfunction]
pub(crate) fn to_toml(json: &str) -> PyResult<String> {
    let refused = |error: &dyn std::fmt::Display| errors::PlanError::new_err(error.to_string());
    let mut value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| refused(&error))?;
    drop_nulls(&mut value);
    toml::to_string(&value).map_err(|error| refused(&error))
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

/// The plans of the papers: name, paper, what it reproduces, title, runs.
#[pyfunction]
pub(crate) fn experiments() -> PyResult<Table> {
    let all: Vec<_> = known::all()
        .into_iter()
        .filter_map(|one| Some((one, Checked::parse(one.text, Size::Normal, None).ok()?)))
        .collect();
    let mut columns = Columns::default();
    columns.texts("name", all.iter().map(|(one, _)| Some(one.name)));
    columns.texts("paper", all.iter().map(|(_, plan)| plan.base.paper.as_deref()));
    columns.texts("reproduces", all.iter().map(|(_, plan)| plan.base.reproduces.as_deref()));
    columns.texts("title", all.iter().map(|(_, plan)| Some(plan.base.title.as_str())));
    columns.integers("jobs", all.iter().map(|(_, plan)| i64::try_from(plan.jobs()).ok()));
    columns.table()
}

/// The application models: what the papers report of each, and what the fit has. `verified` is false for rows that
/// stand in no paper as we have it.
#[pyfunction]
pub(crate) fn workloads() -> PyResult<Table> {
    let all: Vec<Application> = Application::all().collect();
    let mut columns = Columns::default();
    columns.texts("name", all.iter().map(|one| Some(one.row().name)));
    columns.texts("title", all.iter().map(|one| Some(one.row().title)));
    columns.truths("verified", all.iter().map(|one| Some(one.row().verified)));
    for (place, name) in ["mean", "min", "max"].into_iter().enumerate() {
        let fitted = |one: &Application| numbers(&one.payloads())[[0, 2, 3][place]];
        let reported = all.iter().map(|one| Some(one.row().payload[place]));
        columns.numbers(&format!("payload_{name}"), reported);
        columns.numbers(&format!("fitted_payload_{name}"), all.iter().map(|one| Some(fitted(one))));
    }
    for (place, name) in ["mean", "median", "min", "max", "p1", "p99"].into_iter().enumerate() {
        let reported = all.iter().map(|one| Some(one.row().interval_ms[place]));
        let fitted = all.iter().map(|one| Some(numbers(&one.intervals())[place]));
        columns.numbers(&format!("interval_ms_{name}"), reported);
        columns.numbers(&format!("fitted_interval_ms_{name}"), fitted);
    }
    columns.table()
}

/// Mean, median, smallest, largest, 1 % and 99 %.
fn numbers(fit: &Fit) -> [f64; 6] {
    let at = |quantile| fit.quantile(quantile);
    [fit.mean(), at(0.5), at(0.0), at(1.0), at(0.01), at(0.99)]
}
