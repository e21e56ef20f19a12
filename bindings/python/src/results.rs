//! Results of finished runs, as tables.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ::lab::compare::{Comparison, compare};
use ::lab::engine::{self, Finished, Shard};
use ::lab::plan::{ExpectedValue, Plan as Checked, text_of};
use ::lab::statistics;
use ::lab::stored::{Manifest, Stored, Surroundings, runs};
use ::lab::verdict::judge;
use ::report::markdown::to_markdown;
use ::report::section::{PlanResults, comparisons, document};
use ::report::svg::to_svg;
use ::report::tally::counts;
use ::results::{CONFIDENCE, Labels, QuantileInterval, Runs, full_name, label_texts};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use runner::archive::{Existing, Folder, merge, read};

use crate::errors;
use crate::plan::Plan;
use crate::table::{Columns, Table, of_lab};

/// Version of the sources from which this module was built.
pub(crate) const BUILD: &str = env!("THINSTREAM_BUILD");

/// Facts about this machine and this run for the manifest.
pub(crate) fn surroundings(began: Instant, command: &str) -> Surroundings {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    Surroundings {
        commit: option_env!("THINSTREAM_COMMIT").map(str::to_owned),
        build: BUILD.to_owned(),
        host: host.map(|name| name.trim().to_owned()),
        processors: std::thread::available_parallelism().ok().map(|count| count.get() as u64),
        time_s: SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|span| span.as_secs()),
        wall_s: Some(began.elapsed().as_secs_f64()),
        command: Some(command.to_owned()),
    }
}

/// The finished runs of a plan, and numbers derived from them.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Results {
    plan: Arc<Checked>,
    finished: Finished,
    manifest: Manifest,
}

impl Results {
    pub(crate) fn new(plan: Arc<Checked>, finished: Finished, manifest: Manifest) -> Results {
        Results { plan, finished, manifest }
    }

    /// A column for each key that is varied, with the texts of these cells.
    fn keys(&self, columns: &mut Columns, cells: &[usize]) {
        let texts: Vec<Labels> = self.plan.cells.iter().map(|(cell, _)| cell.texts()).collect();
        let Some(first) = texts.first() else { return };
        for (place, (key, _)) in first.iter().enumerate() {
            let of = |cell: &usize| texts.get(*cell)?.get(place).map(|(_, value)| value.as_str());
            columns.texts(key, cells.iter().map(of));
        }
    }

    fn runs(&self) -> Runs<'_> {
        runs(&self.plan, &self.finished)
    }

    fn stored(&self) -> Stored {
        let (plan, finished) = (Checked::clone(&self.plan), self.finished.clone());
        Stored { plan, finished, manifest: self.manifest.clone() }
    }
}

fn labels_text(labels: &Labels) -> String {
    label_texts(labels).join(" ")
}

#[pymethods]
impl Results {
    /// The results of a folder written by `out` or by `thinstream lab run --out`.
    #[staticmethod]
    fn load(py: Python<'_>, folder: PathBuf) -> PyResult<Results> {
        let stored = py.detach(|| read(&folder)).map_err(errors::folder)?;
        let Stored { plan, finished, manifest } = stored;
        Ok(Results { plan: Arc::new(plan), finished, manifest })
    }

    /// Joins the finished runs of a plan's shards in these folders, and writes all to `out`. A run
    /// in several folders counts once.
    #[staticmethod]
    #[pyo3(signature = (plan, shards, out, *, anew=false))]
    fn merge(
        py: Python<'_>,
        plan: &Plan,
        shards: Vec<PathBuf>,
        out: PathBuf,
        anew: bool,
    ) -> PyResult<Results> {
        let plan = Arc::clone(&plan.plan);
        let around = surroundings(std::time::Instant::now(), "thinstream.lab.Results.merge(...)");
        let joined =
            py.detach(|| merge(&plan, &shards, &out, Existing::of(false, anew), around.clone()));
        let finished = joined.map_err(errors::folder)?;
        let manifest = Manifest::new(&plan, Shard::default(), engine::count(&finished), around);
        Ok(Results { plan, finished, manifest })
    }

    /// Writes the results to `folder`, as `out` does: journal, tables as CSV and Parquet, pictures,
    /// manifest. Other results in the folder are replaced only with `anew`.
    #[pyo3(signature = (folder, *, anew=false))]
    fn save(&self, folder: PathBuf, anew: bool) -> PyResult<()> {
        let (one, existing) = (&self.manifest, Existing::of(false, anew));
        let mut open =
            Folder::open(&folder, &self.plan, existing, &one.build).map_err(errors::folder)?;
        for (job, results) in &self.finished {
            open.add(*job, results.clone()).map_err(errors::journal)?;
        }
        let around = Surroundings::from(one.clone());
        let shard = one.shard.parse().unwrap_or_default();
        open.write_tables(&self.plan, shard, around).map(drop).map_err(errors::folder)
    }

    /// Number of runs that are finished.
    #[getter]
    fn finished(&self) -> u64 {
        engine::count(&self.finished)
    }

    /// Number of missing runs, which belong to other shards or were lost with them.
    #[getter]
    fn missing(&self) -> u64 {
        self.plan.jobs().saturating_sub(self.finished())
    }

    /// The title of the plan.
    #[getter]
    fn title(&self) -> &str {
        &self.plan.base.title
    }

    /// Origin of the results: version, commit, plan, seeds, host, time.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.manifest).map_err(errors::run)?;
        py.import("json")?.getattr("loads")?.call1((text,))
    }

    /// All numbers, one a row: the cell's keys, seed, flows, measure, labels, value, unit.
    fn rows(&self) -> PyResult<Table> {
        of_lab(self.runs().rows())
    }

    /// All histograms, a row for each bin.
    fn distributions(&self) -> PyResult<Table> {
        of_lab(self.runs().distributions())
    }

    /// All curves, a row for each point.
    fn curves(&self) -> PyResult<Table> {
        of_lab(self.runs().curves())
    }

    /// The mean of each number over the seeds of its cell, with its 95 % interval if there are
    /// several seeds.
    fn means(&self) -> PyResult<Table> {
        let cells = 0..self.plan.cells.len();
        let all: Vec<_> = cells
            .flat_map(|cell| {
                statistics::series(&self.finished, cell).into_iter().map(move |one| (cell, one))
            })
            .collect();
        let mut columns = Columns::default();
        self.keys(&mut columns, &all.iter().map(|(cell, _)| *cell).collect::<Vec<_>>());
        columns.texts("of", all.iter().map(|(_, one)| Some(&one.of)));
        columns.texts("measure", all.iter().map(|(_, one)| Some(&one.measure)));
        columns.texts("labels", all.iter().map(|(_, one)| Some(labels_text(&one.labels))));
        columns.numbers("mean", all.iter().map(|(_, one)| Some(one.mean())));
        columns.numbers("low", all.iter().map(|(_, one)| Some(one.interval()?.low)));
        columns.numbers("high", all.iter().map(|(_, one)| Some(one.interval()?.high)));
        columns.integers("seeds", all.iter().map(|(_, one)| Some(one.values.len() as i64)));
        columns.texts("unit", all.iter().map(|(_, one)| Some(one.unit.as_ref())));
        columns.table()
    }

    /// Quantiles of latency over all seeds of a cell together, in milliseconds, with 95 % intervals
    /// that assume no distribution; null if there are too few values. The plan must keep
    /// distributions.
    fn quantiles(&self, quantiles: Vec<f64>) -> PyResult<Table> {
        checked(&quantiles)?;
        let mut all = Vec::new();
        for cell in 0..self.plan.cells.len() {
            for one in statistics::latencies(&self.finished, cell) {
                let of = (one.of.as_str(), one.measure.as_str(), &one.labels);
                let pooled = statistics::pooled(&self.finished, cell, of);
                for quantile in &quantiles {
                    let value = pooled.quantile(*quantile).map(|value| value.as_millis_f64());
                    let interval = pooled.quantile_interval(*quantile, CONFIDENCE);
                    all.push((cell, one, *quantile, value, interval));
                }
            }
        }
        if all.is_empty() {
            let said = "no distributions of latency were kept: give distributions=True";
            return Err(PyValueError::new_err(said));
        }
        let mut columns = Columns::default();
        self.keys(&mut columns, &all.iter().map(|one| one.0).collect::<Vec<_>>());
        columns.texts("of", all.iter().map(|one| Some(&one.1.of)));
        columns.texts("measure", all.iter().map(|one| Some(&one.1.measure)));
        columns.texts("labels", all.iter().map(|one| Some(labels_text(&one.1.labels))));
        columns.numbers("quantile", all.iter().map(|one| Some(one.2)));
        columns.numbers("value_ms", all.iter().map(|one| one.3));
        columns.numbers("low_ms", all.iter().map(|one| Some(one.4?.low.as_millis_f64())));
        columns.numbers("high_ms", all.iter().map(|one| Some(one.4?.high.as_millis_f64())));
        columns.table()
    }

    /// The paper's numbers beside those of these results, each with a verdict: same, same
    /// direction, differs, not decided, not reported, not measured; or, of a row that is no
    /// prediction, input, fitted, bound, measured, with the state of its number in `agreement`.
    /// `kind` is the kind of the row, `claim` that of the paper's claim (a number, a direction,
    /// no effect). `what`, `where`, `paper` and `here` are text for readers; `value`, `above` and
    /// `below` are the paper's numbers, `found`, `low` and `high` those of these results.
    fn verdicts(&self) -> PyResult<Table> {
        let told = comparisons(&self.plan, &self.finished);
        let all = judge(&self.plan, &self.finished);
        let expected: Vec<_> = all
            .iter()
            .map(|one| match one.expectation.expected() {
                ExpectedValue::Number(value) => [Some(value), None, None],
                ExpectedValue::Between(above, below) => [None, above, below],
                ExpectedValue::Unreported => [None; 3],
            })
            .collect();
        let mut columns = Columns::default();
        columns.texts("what", told.iter().map(|one| Some(&one.measure)));
        columns.texts("where", told.iter().map(|one| Some(&one.case)));
        columns.texts("paper", told.iter().map(|one| one.paper.as_deref()));
        columns.texts("here", told.iter().map(|one| Some(&one.here)));
        columns.texts("verdict", all.iter().map(|one| Some(one.word.to_string())));
        columns.texts("kind", all.iter().map(|one| Some(one.expectation.kind.to_string())));
        columns.texts("claim", all.iter().map(|one| Some(one.expectation.claim().to_string())));
        columns.texts("agreement", all.iter().map(|one| Some(one.agreement.to_string())));
        columns.texts("note", all.iter().map(|one| one.expectation.note.as_deref()));
        columns.texts("source", all.iter().map(|one| Some(&one.expectation.source)));
        columns.texts("of", all.iter().map(|one| one.expectation.of.as_deref()));
        columns.texts("measure", all.iter().map(|one| Some(&one.expectation.measure)));
        for (place, name) in ["value", "above", "below"].into_iter().enumerate() {
            columns.numbers(name, expected.iter().map(|one| one[place]));
        }
        columns.numbers("found", all.iter().map(|one| one.here));
        columns.numbers("low", all.iter().map(|one| Some(one.interval?.low)));
        columns.numbers("high", all.iter().map(|one| Some(one.interval?.high)));
        columns.texts("unit", all.iter().map(|one| Some(&one.expectation.unit)));
        columns.table()
    }

    /// Compares two values of a key on equal random streams. Returns both numbers of each measure,
    /// the mean difference over the seeds with its 95 % interval, and the quantiles of the
    /// latency. See `thinstream.lab.compare`.
    fn compare(
        &self,
        key: &str,
        one: &str,
        other: &str,
        quantiles: Vec<f64>,
    ) -> PyResult<(Table, Table)> {
        checked(&quantiles)?;
        for value in [one, other] {
            let text = (key.to_owned(), text_of(value));
            if !self.plan.cells.iter().any(|(cell, _)| cell.texts().contains(&text)) {
                return Err(PyValueError::new_err(format!(
                    "no cell of the plan has {key} = {value}"
                )));
            }
        }
        let all = compare(&self.plan, &self.finished, key, (one, other), &quantiles);
        Ok((numbers(&all)?, quantile_pairs(&all)?))
    }

    /// The pictures: a dictionary each, with the cell, seed, of, measure, caption and the file
    /// (PNG).
    fn pictures<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut all = Vec::new();
        for run in self.runs().runs {
            for picture in &run.results.pictures {
                let (one, keys) = (PyDict::new(py), PyDict::new(py));
                run.cell.iter().try_for_each(|(key, value)| keys.set_item(key, value))?;
                one.set_item("cell", keys)?;
                one.set_item("seed", run.seed)?;
                one.set_item("of", &picture.of)?;
                one.set_item("measure", full_name(&picture.measure, &picture.labels))?;
                one.set_item("caption", &picture.caption)?;
                one.set_item("png", PyBytes::new(py, &picture.png))?;
                all.push(one);
            }
        }
        Ok(all)
    }

    /// The report, one page of HTML that needs no network. With `path` the page is written there,
    /// with each figure beside it as SVG; a path that ends with .md gets Markdown.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<String> {
        let study = PlanResults::new(self.stored());
        let (title, about) = (study.plan.base.title.clone(), study.plan.base.about.clone());
        let (document, problems) =
            py.detach(|| document(&title, &about, core::slice::from_ref(&study)));
        for problem in problems {
            py.import("warnings")?.getattr("warn")?.call1((problem,))?;
        }
        let Some(path) = path else { return Ok(document.to_page()) };
        let is_markdown = path.extension().is_some_and(|ending| ending == "md");
        let text = if is_markdown { to_markdown(&document, "figures") } else { document.to_page() };
        let folder = path.parent().unwrap_or(std::path::Path::new("")).join("figures");
        let write = || {
            fs::create_dir_all(&folder)?;
            for figure in document.sections.iter().flat_map(|section| &section.figures) {
                fs::write(folder.join(format!("{}.svg", figure.name())), to_svg(figure))?;
            }
            fs::write(&path, &text)
        };
        write().map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?;
        Ok(text)
    }

    /// The figures of the plan as SVG, by name.
    fn figures(&self) -> Vec<(String, String)> {
        let study = PlanResults::new(self.stored());
        let (document, _) = document("", "", core::slice::from_ref(&study));
        let figures = document.sections.iter().flat_map(|section| &section.figures);
        figures.map(|figure| (figure.name().to_owned(), to_svg(figure))).collect()
    }

    fn __repr__(&self) -> String {
        let rows = comparisons(&self.plan, &self.finished);
        let verdicts = match rows.is_empty() {
            true => String::new(),
            false => format!("; paper beside here: {}", counts(rows.iter())),
        };
        let (finished, all) = (self.finished(), self.plan.jobs());
        format!(
            "<thinstream.lab.Results of \"{}\": {finished} of {all} runs{verdicts}>",
            self.title()
        )
    }
}

fn checked(quantiles: &[f64]) -> PyResult<()> {
    match quantiles.iter().find(|one| !(0.0..=1.0).contains(*one)) {
        Some(one) => {
            Err(PyValueError::new_err(format!("{one} is no quantile: give numbers from 0 to 1")))
        }
        None => Ok(()),
    }
}

/// The columns of the cells of a comparison, one text for each of its rows.
fn cells<'a>(columns: &mut Columns, rows: impl Iterator<Item = &'a Comparison> + Clone) {
    let Some(first) = rows.clone().next() else { return };
    for (place, (key, _)) in first.keys.iter().enumerate() {
        let of = |one: &'a Comparison| one.keys.get(place).map(|(_, value)| value.as_str());
        columns.texts(key, rows.clone().map(of));
    }
}

fn numbers(all: &[Comparison]) -> PyResult<Table> {
    let rows: Vec<_> =
        all.iter().flat_map(|cell| cell.differences.iter().map(move |one| (cell, one))).collect();
    let mut columns = Columns::default();
    cells(&mut columns, rows.iter().map(|(cell, _)| *cell));
    columns.texts("of", rows.iter().map(|(_, one)| Some(&one.of)));
    columns.texts("name", rows.iter().map(|(_, one)| Some(&one.name)));
    columns.numbers("one", rows.iter().map(|(_, one)| Some(one.one)));
    columns.numbers("other", rows.iter().map(|(_, one)| Some(one.other)));
    columns.numbers("difference", rows.iter().map(|(_, one)| Some(one.difference?.mean)));
    columns.numbers("low", rows.iter().map(|(_, one)| Some(one.difference?.low)));
    columns.numbers("high", rows.iter().map(|(_, one)| Some(one.difference?.high)));
    columns.truths("beyond_chance", rows.iter().map(|(_, one)| Some(one.is_beyond_chance())));
    columns.integers("pairs", rows.iter().map(|(_, one)| Some(one.pairs as i64)));
    columns.texts("unit", rows.iter().map(|(_, one)| Some(one.unit.as_ref())));
    columns.table()
}

fn quantile_pairs(all: &[Comparison]) -> PyResult<Table> {
    let rows: Vec<_> =
        all.iter().flat_map(|cell| cell.quantiles.iter().map(move |one| (cell, one))).collect();
    let mut columns = Columns::default();
    cells(&mut columns, rows.iter().map(|(cell, _)| *cell));
    columns.texts("of", rows.iter().map(|(_, one)| Some(&one.of)));
    columns.texts("name", rows.iter().map(|(_, one)| Some(&one.name)));
    columns.numbers("quantile", rows.iter().map(|(_, one)| Some(one.quantile)));
    for (name, is_one) in [("one", true), ("other", false)] {
        let side = |pair: &::lab::compare::QuantilePair| if is_one { pair.one } else { pair.other };
        let millis = |of: fn(QuantileInterval) -> base::Duration| {
            rows.iter().map(|(_, pair)| Some(of(side(pair)?).as_millis_f64())).collect::<Vec<_>>()
        };
        columns.numbers(&format!("{name}_ms"), millis(|one| one.value));
        columns.numbers(&format!("{name}_low_ms"), millis(|one| one.low));
        columns.numbers(&format!("{name}_high_ms"), millis(|one| one.high));
    }
    columns.table()
}
