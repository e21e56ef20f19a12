//! The runs of a plan on several threads. The results do not depend on the number of threads.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use lab::engine::{EngineError, Finished, Job, Shard, Work, jobs_of};
use lab::plan::Plan;
use results::Results;

/// Runs the jobs of this shard that `done` does not name on up to `threads` threads, until
/// `stopped` is set. Each result goes to `finish` at once, from any thread, one at a time.
///
/// # Errors
/// The first failure, after the results before it; [`EngineError::Stopped`] if jobs are left.
pub fn run(
    plan: &Plan,
    shard: Shard,
    done: &BTreeSet<Job>,
    threads: usize,
    stopped: &AtomicBool,
    finish: impl FnMut(Job, Results) -> Result<(), EngineError> + Send,
) -> Result<(), EngineError> {
    run_jobs(plan, jobs_of(plan, shard, done), threads, stopped, finish)
}

/// Runs these jobs of a plan as [`run()`] does.
///
/// # Errors
/// As [`run()`].
pub fn run_jobs(
    plan: &Plan,
    jobs: Vec<Job>,
    threads: usize,
    stopped: &AtomicBool,
    finish: impl FnMut(Job, Results) -> Result<(), EngineError> + Send,
) -> Result<(), EngineError> {
    plan.check_advisors()?;
    let threads = threads.min(jobs.len());
    let work = Work::new(plan, jobs, stopped, finish);
    std::thread::scope(|scope| {
        // Where the system has no more threads, those that there are do the work.
        let more = || std::thread::Builder::new().spawn_scoped(scope, || work.take_all()).is_ok();
        let _ = (1..threads).all(|_| more());
        work.take_all();
    });
    work.end()
}

/// Runs all jobs of a plan on up to `threads` threads and keeps the results in memory.
///
/// # Errors
/// As [`run()`].
pub fn run_all(plan: &Plan, threads: usize) -> Result<Finished, EngineError> {
    let mut finished = Finished::new();
    let (all, none, stopped) = (Shard::default(), BTreeSet::new(), AtomicBool::new(false));
    run(plan, all, &none, threads, &stopped, |job, results| {
        finished.insert(job, results);
        Ok(())
    })?;
    Ok(finished)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use lab::plan::Size;

    use super::*;

    const PLAN: &str = include_str!("../../lab/tests/two-transports.toml");

    #[test]
    fn one_thread_and_many_give_the_same_and_so_do_shards_together() {
        let plan = Plan::parse(PLAN, Size::Normal, None).unwrap();
        let one = lab::engine::run_all(&plan).unwrap();
        assert_eq!(one.len(), 6);
        assert!(one.values().all(|results| results.rows.len() > 40));
        assert_eq!(one, run_all(&plan, 4).unwrap());
        let mut joined = Finished::new();
        for number in 1..=4 {
            let (shard, none) = (Shard { number, of: 4 }, BTreeSet::new());
            let before = joined.len();
            run(&plan, shard, &none, 2, &AtomicBool::new(false), |job, results| {
                assert_eq!(joined.insert(job, results), None);
                Ok(())
            })
            .unwrap();
            assert!((1..=2).contains(&(joined.len() - before)));
        }
        assert_eq!(one, joined);
    }

    #[test]
    fn runs_that_are_stopped_end_without_a_result() {
        // A year of virtual time: except for the stop, which comes with the short run beside it, it
        // would not end.
        let endless = PLAN.replace("[sweep]", "[sweep]\n\"run.duration\" = [\"5s\", \"8784h\"]");
        let plan = Plan::parse(&endless, Size::Normal, Some(1)).unwrap();
        for threads in 1..=2 {
            let stopped = AtomicBool::new(false);
            let mut finished = Vec::new();
            let finish = |job: Job, _| {
                finished.push(job.cell);
                stopped.store(true, Ordering::Relaxed);
                Ok(())
            };
            let ran = run(&plan, Shard::default(), &BTreeSet::new(), threads, &stopped, finish);
            assert!(matches!(ran, Err(EngineError::Stopped)));
            assert_eq!(finished, [0]);
        }
    }

    #[test]
    fn more_threads_than_a_system_has_are_no_failure() {
        let plan = Plan::parse(&PLAN.replace("30s", "5s"), Size::Normal, None).unwrap();
        assert_eq!(run_all(&plan, usize::MAX).unwrap(), run_all(&plan, 1).unwrap());
    }
}
