//! Runs of a plan: done on threads, kept in a folder, and stopped on request without losing those
//! that are finished.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Once, mpsc};
use std::time::Instant;

use ::lab::engine::{self, EngineError, Finished, Shard};
use ::lab::plan::Plan;
use ::lab::stored::{Manifest, Stored};
use ::report::section::PlanResults;
use runner::archive::{Existing, Folder, FolderError};
use runner::threads;

use super::pages::Page;
use super::{BUILD, surroundings, typed};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::live::Progress;

/// Runs of a plan, to be done.
pub(super) struct Work<'a> {
    pub(super) plan: &'a Plan,
    pub(super) shard: Shard,
    pub(super) jobs: Option<u64>,
    /// Beginning of the line of progress.
    pub(super) what: &'a str,
    /// Command line for the manifest.
    pub(super) command: String,
}

/// Results of the work, complete or stopped.
pub(super) struct Done {
    /// The finished runs, and conclusions from them.
    pub(super) finished: Finished,
    /// The failure to report if the user stopped the work before all runs were finished.
    pub(super) stopped: Option<Failure>,
    /// Tables that could not be written; the results are complete nevertheless.
    pub(super) failures: Failures,
}

impl Work<'_> {
    /// Runs the jobs that are not finished.
    pub(super) fn run(self, mut folder: Option<Folder>) -> Result<Done, Failure> {
        let began = Instant::now();
        let Work { plan, shard, .. } = self;
        let mut finished = folder.as_ref().map_or_else(Finished::new, |one| one.finished().clone());
        let done = finished.keys().copied().collect();
        let count_of_threads = self.jobs.map_or_else(super::processors, |jobs| jobs as usize);
        let (count, all) = (AtomicU64::new(finished.len() as u64), plan.jobs().div_ceil(shard.of));
        let (mut progress, mut failures) = (Progress::new(), Failures::default());
        let stopped = stop_on_request();
        let ran = threads::run(plan, shard, &done, count_of_threads, stopped, |job, results| {
            if let Some(open) = &mut folder
                && let Err(error) = open.add(job, results.clone())
            {
                // The numbers are worth having without their folder.
                failures.keep::<()>(Err(Failure::File(error.to_string())));
                folder = None;
            }
            finished.insert(job, results);
            let count = count.fetch_add(1, Ordering::Relaxed) + 1;
            let seconds = began.elapsed().as_secs_f64();
            progress.show(&format!("{}{count} of {all} runs, {seconds:.0} s", self.what));
            Ok(())
        });
        drop(progress);
        match ran {
            Ok(()) => {}
            Err(EngineError::Stopped) => {
                let why = interrupted(self.what, count.into_inner(), all, folder.is_some());
                engine::conclude(plan, &mut finished);
                return Ok(Done { finished, stopped: Some(Failure::Interrupted(why)), failures });
            }
            Err(error) => return Err(Failure::usage(error)),
        }
        engine::conclude(plan, &mut finished);
        if let Some(folder) = folder {
            let around = surroundings(began, self.command);
            let written = folder.write_tables(plan, shard, around);
            failures.keep(written.map_err(|error| Failure::File(error.to_string())));
        }
        Ok(Done { finished, stopped: None, failures })
    }
}

/// The message of a command that was interrupted.
fn interrupted(what: &str, count: u64, all: u64, is_kept: bool) -> String {
    match is_kept {
        true => format!("interrupted: {what}{count} of {all} runs done; --resume goes on"),
        false => {
            format!("interrupted: {what}{count} of {all} runs done; --out DIR would keep them")
        }
    }
}

/// Set once the user asks the process to end. The second time it ends at once: what is in journals
/// stays.
pub(super) fn stop_on_request() -> &'static AtomicBool {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(|| {
        let (ready, listening) = mpsc::channel();
        let wait = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(take_requests(ready));
            }
        };
        // Without the thread, the process ends as any does.
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
        // A request from now on is noticed; a closed channel means that none can come.
        let _ = listening.recv();
    });
    &STOPPED
}

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Waits for both requests; tells `ready` once it listens.
async fn take_requests(ready: mpsc::Sender<()>) {
    let mut asked = std::pin::pin!(apps::interrupted());
    std::future::poll_fn(|context| {
        let polled = asked.as_mut().poll(context);
        let _ = ready.send(());
        polled
    })
    .await;
    STOPPED.store(true, Ordering::Relaxed);
    apps::interrupted().await;
    std::process::exit(i32::from(Failure::Interrupted(String::new()).exit_code()));
}

/// A folder that cannot be used, with the options that help.
pub(super) fn unusable(error: FolderError) -> Failure {
    let resume = if error.can_resume() { "--resume goes on with them, " } else { "" };
    match error.would_lose() {
        true => Failure::usage(format!(
            "{error}; {resume}--anew removes them, --out DIR names another folder"
        )),
        false => Failure::usage(error),
    }
}

/// Runs a plan that the command made itself; its numbers go to a folder and a page, if these are
/// asked for.
pub(crate) fn run_made(
    plan: &Plan,
    jobs: Option<u64>,
    out: Option<(&Path, Existing)>,
    page: Option<&Page>,
) -> Result<(Finished, Failures), Failure> {
    let began = Instant::now();
    let shard = Shard::default();
    let open = |(path, existing)| Folder::open(path, plan, existing, BUILD);
    let folder = out.map(open).transpose().map_err(unusable)?;
    let work = Work { plan, shard, jobs, what: "", command: typed() };
    let Done { finished, stopped, mut failures } = work.run(folder)?;
    stopped.map_or(Ok(()), Err)?;
    if let Some(page) = page {
        let around = surroundings(began, typed());
        let manifest = Manifest::new(plan, shard, engine::count(&finished), around);
        let stored = Stored { plan: plan.clone(), finished: finished.clone(), manifest };
        failures.keep(page.write(vec![PlanResults::new(stored)]));
    }
    Ok((finished, failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_interrupts_is_told_how_far_it_came_and_how_to_go_on() {
        let kept = interrupted("fig8a (1 of 45): ", 30, 480, true);
        assert_eq!(kept, "interrupted: fig8a (1 of 45): 30 of 480 runs done; --resume goes on");
        assert!(interrupted("", 30, 480, false).contains("30 of 480 runs done; --out DIR"));
    }
}
