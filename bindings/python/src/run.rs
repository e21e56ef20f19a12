//! Runs: on threads while the interpreter is free, and what others did brought together.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ::lab::engine::{self, EngineError, Finished, Job, Journal, Shard, journal};
use ::lab::plan::Plan as Checked;
use ::lab::stored::Manifest;
use ::results::Results as OfRun;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use runner::archive::{Existing, Folder};
use runner::threads as on_many;

use crate::advisor;
use crate::errors;
use crate::interrupt::{PATIENCE, lock};
use crate::plan::Plan;
use crate::results::{BUILD, Results, surroundings};

/// A plan with the advisors of its flows, until they are stopped.
struct Advised {
    plan: Arc<Checked>,
    stopped: Arc<AtomicBool>,
}

impl Advised {
    fn new(plan: &Arc<Checked>, advisors: Option<&Bound<'_, PyDict>>) -> PyResult<Advised> {
        let stopped = Arc::new(AtomicBool::new(false));
        let plan = if advisors.is_some() {
            let advisors = advisor::factories(advisors, &stopped)?;
            let plan = Checked::clone(plan).with_advisors(&advisors);
            Arc::new(plan.map_err(errors::refused)?)
        } else {
            plan.check_advisors().map_err(errors::refused)?;
            Arc::clone(plan)
        };
        Ok(Advised { plan, stopped })
    }
}

/// Runs all jobs that `done` does not name; passes each result to `finish` on this thread.
fn on_threads(
    py: Python<'_>,
    Advised { plan, stopped }: Advised,
    (shard, threads): (Shard, usize),
    done: BTreeSet<Job>,
    mut finish: impl FnMut(Job, OfRun) -> PyResult<()>,
) -> PyResult<()> {
    let (give, take) = channel();
    let stop = Arc::clone(&stopped);
    let worker = std::thread::spawn(move || {
        on_many::run(&plan, shard, &done, threads, &stop, |job, results| {
            give.send((job, results)).map_err(|_| EngineError::Stopped)
        })
    });
    let take = Mutex::new(take);
    let mut each = || -> PyResult<()> {
        loop {
            match py.detach(|| lock(&take).recv_timeout(PATIENCE)) {
                Ok((job, results)) => {
                    finish(job, results)?;
                    py.check_signals()?;
                }
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    };
    // Where it ends early, runs that are under way end soon, and unheard.
    each().inspect_err(|_| stopped.store(true, Ordering::Relaxed))?;
    let ran = py.detach(|| worker.join());
    ran.map_err(|_| PyRuntimeError::new_err("a run ended in a panic; this is a bug"))?
        .map_err(errors::failed)
}

fn threads(jobs: Option<i64>) -> PyResult<usize> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let asked = errors::at_least_one("jobs", jobs)?;
    Ok(asked.map_or_else(all, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX)))
}

fn shard_of(text: Option<&str>) -> PyResult<Shard> {
    text.map_or(Ok(Shard::default()), |text| text.parse().map_err(PyValueError::new_err))
}

/// Finished runs, in a folder or in memory.
struct Store {
    folder: Option<Folder>,
    finished: Finished,
    began: Instant,
}

impl Store {
    fn open(plan: &Checked, out: Option<PathBuf>, (resume, anew): (bool, bool)) -> PyResult<Store> {
        let existing = match (resume, anew) {
            (true, true) => {
                return Err(PyValueError::new_err("resume goes on, anew begins again: give one"));
            }
            _ => Existing::of(resume, anew),
        };
        let folder = match out {
            Some(path) => Some(Folder::open(&path, plan, existing, BUILD).map_err(errors::folder)?),
            None if existing != Existing::Refuse => {
                let name = if resume { "resume" } else { "anew" };
                return Err(PyValueError::new_err(format!("{name} needs a folder: give out")));
            }
            None => None,
        };
        let finished = folder.as_ref().map_or_else(Finished::new, |one| one.finished().clone());
        Ok(Store { folder, finished, began: Instant::now() })
    }

    fn add(&mut self, job: Job, results: OfRun) -> PyResult<()> {
        if let Some(folder) = &mut self.folder {
            folder.add(job, results.clone()).map_err(errors::journal)?;
        }
        self.finished.insert(job, results);
        Ok(())
    }

    fn conclude(mut self, plan: Arc<Checked>, shard: Shard, command: &str) -> PyResult<Results> {
        let around = surroundings(self.began, command);
        let count = engine::count(&self.finished);
        let manifest = Manifest::new(&plan, shard, count, around.clone());
        let finished = match self.folder {
            Some(folder) => folder.write_tables(&plan, shard, around).map_err(errors::folder)?,
            None => {
                engine::conclude(&plan, &mut self.finished);
                self.finished
            }
        };
        Ok(Results::new(plan, finished, manifest))
    }
}

/// Runs a plan on threads; see `thinstream.lab.run`.
#[pyfunction]
#[pyo3(signature = (plan, *, jobs=None, shard=None, out=None, resume=false, anew=false, progress=None, advisors=None))]
#[allow(clippy::too_many_arguments)] // The keywords of a function of Python.
pub(crate) fn run(
    py: Python<'_>,
    plan: &Plan,
    jobs: Option<i64>,
    shard: Option<&str>,
    out: Option<PathBuf>,
    resume: bool,
    anew: bool,
    progress: Option<Py<PyAny>>,
    advisors: Option<Bound<'_, PyDict>>,
) -> PyResult<Results> {
    let (plan, shard) = (&plan.plan, shard_of(shard)?);
    let threads = threads(jobs)?;
    let advised = Advised::new(plan, advisors.as_ref())?;
    let mut store = Store::open(plan, out, (resume, anew))?;
    let mine =
        (0..).zip(engine::jobs(plan)).filter(|(index, _)| index % shard.of == shard.number - 1);
    let (all, done) = (mine.count(), store.finished.keys().copied().collect());
    on_threads(py, advised, (shard, threads), done, |job, results| {
        store.add(job, results)?;
        match &progress {
            Some(call) => call.call1(py, (store.finished.len(), all)).map(drop),
            None => Ok(()),
        }
    })?;
    store.conclude(Arc::clone(plan), shard, "thinstream.lab.run(...)")
}

/// Runs these jobs, cell and seed each, and returns their journal: lines with checksums, for a
/// `Collector`.
#[pyfunction]
#[pyo3(signature = (plan, wanted, *, jobs=None, advisors=None))]
pub(crate) fn run_jobs<'py>(
    py: Python<'py>,
    plan: &Plan,
    wanted: Vec<(usize, u64)>,
    jobs: Option<i64>,
    advisors: Option<Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let plan = &plan.plan;
    let wanted: BTreeSet<Job> = wanted.into_iter().map(|(cell, seed)| Job { cell, seed }).collect();
    if let Some(Job { cell, seed }) = wanted.iter().find(|job| !has(plan, job)) {
        return Err(PyValueError::new_err(format!(
            "cell {cell} with seed {seed} is no run of this plan"
        )));
    }
    let others = engine::jobs(plan).into_iter().filter(|job| !wanted.contains(job)).collect();
    let mut journal = Journal::begin(Vec::new(), plan, BUILD).map_err(errors::journal)?;
    let how = (Shard::default(), threads(jobs)?);
    let advised = Advised::new(plan, advisors.as_ref())?;
    on_threads(py, advised, how, others, |job, results| {
        journal.add(job, &results).map_err(errors::journal)
    })?;
    Ok(PyBytes::new(py, &journal.into_inner()))
}

fn has(plan: &Checked, job: &Job) -> bool {
    job.cell < plan.cells.len() && plan.seed_range().contains(&job.seed)
}

/// Joins runs of several processes: journals in any order, repeated or not; each run counts once.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Collector {
    plan: Arc<Checked>,
    store: Mutex<Option<Store>>,
}

#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (plan, *, out=None, resume=false, anew=false))]
    fn new(plan: &Plan, out: Option<PathBuf>, resume: bool, anew: bool) -> PyResult<Collector> {
        let store = Store::open(&plan.plan, out, (resume, anew))?;
        Ok(Collector { plan: Arc::clone(&plan.plan), store: Mutex::new(Some(store)) })
    }

    /// Takes the runs of a journal; returns the number of new ones. A damaged line, and all lines
    /// after it, are ignored.
    fn add(&self, journal: &[u8]) -> PyResult<usize> {
        let contents = journal::read(journal).map_err(errors::journal)?;
        contents.check(&self.plan, BUILD).map_err(errors::journal)?;
        self.with(|store| {
            let before = store.finished.len();
            for (job, results) in contents.finished {
                if has(&self.plan, &job) && !store.finished.contains_key(&job) {
                    store.add(job, results)?;
                }
            }
            Ok(store.finished.len() - before)
        })
    }

    /// Cell and seed of each missing run, in the best order of running them.
    fn missing(&self) -> PyResult<Vec<(usize, u64)>> {
        self.with(|store| {
            let all = engine::jobs(&self.plan).into_iter();
            let missing = all.filter(|job| !store.finished.contains_key(job));
            Ok(missing.map(|job| (job.cell, job.seed)).collect())
        })
    }

    /// Number of runs whose results were collected.
    #[getter]
    fn finished(&self) -> PyResult<usize> {
        self.with(|store| Ok(store.finished.len()))
    }

    /// Results of the finished runs; writes tables and manifest if there is a folder. The collector
    /// is then empty.
    #[pyo3(signature = (command="thinstream.lab.run(...)"))]
    fn results(&self, command: &str) -> PyResult<Results> {
        let store = lock(&self.store).take().ok_or_else(emptied)?;
        store.conclude(Arc::clone(&self.plan), Shard::default(), command)
    }
}

fn emptied() -> PyErr {
    PyRuntimeError::new_err("the results of this collector were taken already")
}

impl Collector {
    fn with<T>(&self, act: impl FnOnce(&mut Store) -> PyResult<T>) -> PyResult<T> {
        lock(&self.store).as_mut().map_or_else(|| Err(emptied()), act)
    }
}
