"""Sweeps on a Ray cluster.

Runs go out as tasks; what comes back are journals, lines with checksums, which a `Collector` puts together: a run counts
once however often its task was done, and it is asked at the end whether all are there.
"""

import logging
import os
from collections.abc import Callable
from typing import Any

from thinstream._errors import RunError
from thinstream._native import Collector, Plan, Results, run_jobs

_TASKS_PER_CPU = 4


def _task(plan: Plan, wanted: list[tuple[int, int]], cpus: int) -> bytes:
    return run_jobs(plan, wanted, jobs=cpus)


def run(
    plan: Plan,
    *,
    cpus: int,
    out: str | os.PathLike[str] | None,
    resume: bool,
    progress: Callable[[int, int], object] | None,
    retries: int,
    task: Callable[[Plan, list[tuple[int, int]], int], bytes] = _task,
) -> Results:
    """See `thinstream.lab.run`."""
    try:
        import ray
    except ImportError as error:
        raise ImportError('on="ray" needs Ray: pip install "thinstream[ray]"') from error
    if not ray.is_initialized():
        ray.init(logging_level=logging.WARNING, include_dashboard=False)
    remote = ray.remote(num_cpus=cpus, max_retries=retries)(task)
    shared = ray.put(plan)
    collector = Collector(plan, out=out, resume=resume)
    failure: BaseException | None = None
    # Each round asks for what is missing: all at first, then what was lost with workers for good.
    for _ in range(retries + 1):
        missing = collector.missing()
        if not missing:
            break
        processors = int(ray.cluster_resources().get("CPU", 1))
        tasks = max(1, min(len(missing), _TASKS_PER_CPU * processors // cpus))
        shares = [missing[place::tasks] for place in range(tasks)]
        waiting: list[Any] = [remote.remote(shared, share, cpus) for share in shares]
        try:
            while waiting:
                done, waiting = ray.wait(waiting, num_returns=1)
                for one in done:
                    try:
                        collector.add(ray.get(one))
                    except ray.exceptions.RayTaskError:
                        # What the task itself says, such as a plan that cannot be run.
                        raise
                    except ray.exceptions.RayError as error:
                        failure = error
                if progress is not None:
                    progress(collector.finished, plan.jobs)
        except BaseException:
            for one in waiting:
                ray.cancel(one, force=True)
            raise
    count = len(collector.missing())
    if count:
        raise RunError(f"{count} of {plan.jobs} runs were lost with their workers") from failure
    return collector.results('thinstream.lab.run(..., on="ray")')
