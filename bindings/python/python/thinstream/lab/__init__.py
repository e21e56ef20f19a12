"""The laboratory: what would a mechanism do for some traffic on some network?

A plan names network, flows, measures, what is varied and what is expected (docs/laboratory.md). The same plan and seed
give the same numbers on any number of threads and machines.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from thinstream import _native
from thinstream.advice import AdvisorFactory
from thinstream._native import Collector, Plan, Results, Table, experiments, run_jobs, workloads
from thinstream.lab._build import (
    Expect,
    Figure,
    Flow,
    Network,
    PlanBuilder,
    Value,
    Workload,
    text_of,
    to_text,
    varied_of,
)

__all__ = [
    "Collector",
    "Comparison",
    "Expect",
    "Figure",
    "Flow",
    "Network",
    "Plan",
    "PlanBuilder",
    "Results",
    "Value",
    "Workload",
    "compare",
    "experiments",
    "plan",
    "run",
    "run_jobs",
    "workloads",
]

Size = Literal["normal", "full", "small"]
AnyPlan = Plan | PlanBuilder | str | os.PathLike[str] | Mapping[str, Any]


def plan(
    of: AnyPlan,
    *,
    size: Size | None = None,
    seeds: int | None = None,
    seed_offset: int | None = None,
    vary: tuple[str, Iterable[Value]] | None = None,
    distributions: bool | None = None,
) -> Plan:
    """A plan of whatever says what it is: a file's path, a text (with a line break in it), a dictionary with the keys
    of a plan, a `PlanBuilder`, or another `Plan`, of which stays what is not asked for otherwise.

    `size` is "normal", "full" (the paper's own durations and numbers of runs) or "small" (what tests run); `seeds`
    replaces the number of runs of each cell, and `seed_offset` begins them after that seed: the same plan again with other
    chance, independent of the first; `vary` gives a key other values than the plan's sweep does;
    `distributions` keeps distributions of latency, of which `Results.quantiles` are made.
    """
    varied = None if vary is None else varied_of(vary)
    if isinstance(of, Plan):
        return of.replace(
            size=size,
            seeds=seeds,
            seed_offset=seed_offset,
            vary=varied,
            distributions=distributions,
        )
    asked: dict[str, Any] = {
        "size": size or "normal",
        "seeds": seeds,
        "seed_offset": seed_offset or 0,
        "vary": varied,
        "distributions": bool(distributions),
    }
    if isinstance(of, os.PathLike) or (isinstance(of, str) and "\n" not in of):
        return Plan.read(of, **asked)
    if not isinstance(of, (str, PlanBuilder, Mapping)):
        raise TypeError(
            f"a plan is a path, a text, a dictionary, a PlanBuilder or a Plan, not {of!r}"
        )
    text = of if isinstance(of, str) else to_text(of)
    return Plan(text, **asked)


def run(
    of: AnyPlan,
    *,
    size: Size | None = None,
    seeds: int | None = None,
    seed_offset: int | None = None,
    distributions: bool | None = None,
    jobs: int | None = None,
    shard: str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    anew: bool = False,
    progress: Callable[[int, int], object] | None = None,
    on: Literal["threads", "ray"] = "threads",
    retries: int = 3,
    advisors: Mapping[str, AdvisorFactory] | None = None,
) -> Results:
    """Runs a plan, and gives what came of it.

    `jobs` is the number of threads, as many as there are processors without it. `out` is a folder for the journal of
    finished runs, tables (CSV and Parquet), pictures and manifest; with `resume` what is finished there stays so.
    Results that a folder holds already are replaced with `anew` only: without either it is refused. `shard`, such
    as "1/4", does only that part; `Results.merge` joins them. `progress` is called with the number of runs that are
    finished and that of all; what it raises ends the runs, as Ctrl-C does.

    `advisors` are classes or functions by the names that the plan's flows have in `advice`: each flow of each run gets an
    object of its own, which hears recovery's events and answers with advice (`thinstream.advice`). What it raises ends the
    runs with a `RunError` that names flow, seed and time. Results go to a folder only if the plan names the advice's version.

    With `on="ray"` the runs are tasks of the Ray cluster that `ray.init` joined, or of a local one; `jobs` is then the
    number of processors of a task. What is lost with a worker is done again, up to `retries` times.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is a function of the finished runs and all, not {progress!r}")
    chosen = plan(
        of, size=size, seeds=seeds, seed_offset=seed_offset, distributions=distributions
    )
    if on == "threads":
        return _native.run(
            chosen,
            jobs=jobs,
            shard=shard,
            out=out,
            resume=resume,
            anew=anew,
            progress=progress,
            advisors=_advisors(advisors),
        )
    if on != "ray":
        raise ValueError(f'there is no on="{on}"; there are threads, ray')
    if shard is not None:
        raise ValueError('on="ray" makes the shards itself: give no shard')
    from thinstream.lab import _ray

    cpus = 1 if jobs is None else jobs
    return _ray.run(
        chosen,
        cpus=cpus,
        out=out,
        resume=resume,
        anew=anew,
        progress=progress,
        retries=retries,
        advisors=_advisors(advisors),
    )


def _advisors(given: Mapping[str, AdvisorFactory] | None) -> dict[str, AdvisorFactory] | None:
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"advisors are a dictionary of classes by name, not {given!r}")
    return None if given is None else dict(given)


@dataclass(frozen=True)
class Comparison:
    """Two values of a key of a plan beside each other, on equal random streams."""

    numbers: Table
    """Each number of both, and the mean of their differences seed by seed with its 95 % interval; `beyond_chance` says
    whether that leaves out zero."""
    quantiles: Table
    """Quantiles of latency over all seeds, in milliseconds, with 95 % intervals that assume no distribution."""
    results: Results
    """The runs."""


def compare(
    of: AnyPlan,
    key: str,
    one: Value,
    other: Value,
    *,
    quantiles: Sequence[float] = (0.5, 0.9, 0.99, 0.999),
    size: Size | None = None,
    seeds: int | None = None,
    seed_offset: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    advisors: Mapping[str, AdvisorFactory] | None = None,
) -> Comparison:
    """Runs a plan with two values of a key, such as `"flow.NAME.policy"`, which it need not vary, and compares them by
    the differences of runs with equal seeds."""
    chosen = plan(
        of,
        size=size,
        seeds=seeds,
        seed_offset=seed_offset,
        vary=(key, [one, other]),
        distributions=True,
    )
    results = _native.run(
        chosen, jobs=jobs, progress=progress, advisors=_advisors(advisors)
    )
    numbers, tails = results.compare(key, text_of(one), text_of(other), list(quantiles))
    return Comparison(numbers, tails, results)
