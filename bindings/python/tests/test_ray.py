import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thinstream
from thinstream import advice, lab
from thinstream.lab import _ray

ray: Any = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_cluster_gives_what_threads_give(
    plan: lab.Plan, results: lab.Results, tmp_path: Path
) -> None:
    told: list[int] = []
    ran = lab.run(plan, on="ray", out=tmp_path, progress=lambda done, _: told.append(done))
    assert ran.rows().to_pylist() == results.rows().to_pylist()
    assert told[-1] == 8 and told == sorted(told)
    assert lab.Results.load(tmp_path).rows().to_pylist() == results.rows().to_pylist()
    again: list[int] = []
    lab.run(plan, on="ray", out=tmp_path, resume=True, progress=lambda done, _: again.append(done))
    assert again == [], "nothing is left to do"


def killed_at_first(marks: str, times: int) -> Any:
    """A task whose worker is killed this many times after it did its work, before it can tell."""

    def task(plan: lab.Plan, wanted: list[tuple[int, int]], cpus: int) -> bytes:
        journal = lab.run_jobs(plan, wanted, jobs=cpus)
        cell, seed = wanted[0]
        mark = Path(marks) / f"{cell}-{seed}"
        before = mark.stat().st_size if mark.exists() else 0
        with mark.open("a") as file:
            file.write("x")
        if wanted[0] == (0, 1) and before < times:
            os.kill(os.getpid(), signal.SIGKILL)
        return journal

    return task


def run(plan: lab.Plan, task: Any, retries: int) -> lab.Results:
    return _ray.run(
        plan, cpus=1, out=None, resume=False, progress=None, retries=retries, task=task
    )


def test_nothing_is_lost_or_counted_twice_when_a_worker_is_killed(
    plan: lab.Plan, results: lab.Results, tmp_path: Path
) -> None:
    ran = run(plan, killed_at_first(str(tmp_path), 2), retries=3)
    assert (tmp_path / "0-1").stat().st_size == 3, "killed twice, done the third time"
    assert (ran.finished, ran.missing) == (8, 0)
    assert ran.rows().to_pylist() == results.rows().to_pylist()


def test_a_journal_that_is_damaged_on_the_way_is_asked_for_again(
    plan: lab.Plan, results: lab.Results, tmp_path: Path
) -> None:
    marks = str(tmp_path)

    def cut_at_first(plan: lab.Plan, wanted: list[tuple[int, int]], cpus: int) -> bytes:
        journal = lab.run_jobs(plan, wanted, jobs=cpus)
        mark = Path(marks) / f"{wanted[0]}"
        if mark.exists():
            return journal
        mark.touch()
        return journal[:-100]

    ran = run(plan, cut_at_first, retries=1)
    assert ran.rows().to_pylist() == results.rows().to_pylist()


def test_what_a_task_says_is_said_as_on_threads(plan: lab.Plan) -> None:
    def refuse(plan: lab.Plan, wanted: list[tuple[int, int]], cpus: int) -> bytes:
        raise thinstream.PlanError("this cannot be run")

    with pytest.raises(thinstream.PlanError, match="this cannot be run"):
        run(plan, refuse, retries=5)


def test_what_is_lost_for_good_is_said(plan: lab.Plan, tmp_path: Path) -> None:
    with pytest.raises(thinstream.RunError, match="1 of 8 runs were lost .* 0 retries"):
        run(plan, killed_at_first(str(tmp_path), 1000), retries=0)


def test_what_cannot_be_run_is_refused_as_on_threads(plan: lab.Plan) -> None:
    with pytest.raises(ValueError, match="give no shard"):
        lab.run(plan, on="ray", shard="1/2")


def test_policies_in_python_go_out_with_the_tasks(text: str, results: lab.Results) -> None:
    class Linear(advice.Advisor):
        def on_timeout(self, event: advice.Timeout, path: advice.Path) -> advice.Answer:
            return advice.Doublings(event.doublings - 1)

    advised = text.replace('policy = "lksctp"', 'policy = "lksctp"\nadvice = "mine"')
    there, here = (
        lab.run(advised, on=on, advisors={"mine": Linear}).rows().to_pylist()
        for on in ("ray", "threads")
    )
    assert there == here != results.rows().to_pylist()
