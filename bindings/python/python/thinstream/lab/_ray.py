"""Sweeps on a Ray cluster.

Runs go out as tasks; what comes back are journals, lines with checksums, which a `Collector` puts together: a run counts
once however often its task was done. What a task took and did not bring back, because its worker died or its journal was
damaged on the way, is asked for again.
"""

import logging
import os
from collections.abc import Callable
from typing import Any

from thinstream._errors import RunError
from thinstream._native import Collector, Plan, Results, run_jobs
from thinstream.advice import AdvisorFactory

# A share of the runs is this part of what a processor would do: so that those that end early find more to do, and little
# is lost with a worker.
_SHARES_PER_PROCESSOR = 4

_Run = tuple[int, int]
_Task = Callable[[Plan, list[_Run], int], bytes]


def _task_of(advisors: dict[str, AdvisorFactory] | None) -> _Task:
    def task(plan: Plan, share: list[_Run], cpus: int) -> bytes:
        return run_jobs(plan, share, jobs=cpus, advisors=advisors)

    return task


def run(
    plan: Plan,
    *,
    cpus: int,
    out: str | os.PathLike[str] | None,
    resume: bool,
    anew: bool = False,
    progress: Callable[[int, int], object] | None,
    retries: int,
    advisors: dict[str, AdvisorFactory] | None = None,
    task: _Task | None = None,
) -> Results:
    """See `thinstream.lab.run`."""
    if cpus < 1:
        raise ValueError(f"jobs is {cpus}: nothing would run; give 1 or more")
    if retries < 0:
        raise ValueError(f"retries is {retries}: give 0 or more")
    try:
        import ray
    except ImportError as error:
        raise ImportError('on="ray" needs Ray: pip install "thinstream[ray]"') from error
    if not ray.is_initialized():
        ray.init(logging_level=logging.WARNING, include_dashboard=False)
    # Retries are ours: Ray sees workers that died, not journals that were damaged.
    remote = ray.remote(num_cpus=cpus, max_retries=0)(task or _task_of(advisors))
    shared = ray.put(plan)
    collector = Collector(plan, out=out, resume=resume, anew=anew)
    missing = collector.missing()
    processors = int(ray.cluster_resources().get("CPU", 1))
    count = min(len(missing), max(1, _SHARES_PER_PROCESSOR * processors // cpus))
    shares = [missing[place::count] for place in range(count)]
    # What is under way: which runs, and how often they may fail yet.
    waiting: dict[Any, tuple[list[_Run], int]] = {
        remote.remote(shared, share, cpus): (share, retries) for share in shares
    }
    try:
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            share, left = waiting.pop(done)
            failure: BaseException | None = None
            brought = 0
            try:
                brought = collector.add(ray.get(done))
            except ray.exceptions.RayTaskError:
                # What the task itself says, such as a plan that cannot be run: it would say so again.
                raise
            except ray.exceptions.RayError as error:
                failure = error
            if progress is not None:
                progress(collector.finished, plan.jobs)
            if brought == len(share):
                continue
            lost = sorted(set(share).intersection(collector.missing()))
            if left == 0:
                raise RunError(
                    f"{len(lost)} of {plan.jobs} runs were lost with their workers or on the way,"
                    f" and {retries} retries did not bring them"
                ) from failure
            waiting[remote.remote(shared, lost, cpus)] = (lost, left - 1)
    except BaseException:
        for one in waiting:
            ray.cancel(one, force=True)
        raise
    return collector.results('thinstream.lab.run(..., on="ray")')
