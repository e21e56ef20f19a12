"""Mistakes are reported in Python's terms, with what would be right."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import thinstream
from thinstream import lab, trace


def test_texts_and_files_that_are_no_plan(tmp_path: Path, text: str) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    for wrong, told in [
        ("\n", 'the key "title" is missing'),
        ("hello\nworld", "^1:"),
        ("nowhere.toml", "plan nowhere.toml: cannot be read"),
        (tmp_path, "cannot be read"),
        (tmp_path / "bytes.toml", "UTF-8"),
        ({}, "title"),
        ({"title": float("nan")}, "a plan cannot hold"),
        (
            text.replace('"lksctp"', '"fast"'),
            '^13:10: there is no policy "fast"; there are rfc, ',
        ),
    ]:
        with pytest.raises(thinstream.PlanError, match=told):
            lab.plan(wrong)  # type: ignore[arg-type]
    for wrong in (None, 7, text.encode()):
        with pytest.raises(TypeError, match="a plan is a path, a text"):
            lab.plan(wrong)  # type: ignore[arg-type]


def test_numbers_that_are_no_counts(text: str) -> None:
    for what, seeds in [("-1", -1), ("0", 0), ("10000000 runs", 10**15)]:
        with pytest.raises(ValueError, match=what):
            lab.plan(text, seeds=seeds)
    for what, offset in [("seed_offset is -1; give 0 or more", -1)]:
        with pytest.raises(ValueError, match=what):
            lab.plan(text, seed_offset=offset)
    for jobs in (0, -1):
        with pytest.raises(ValueError, match=f"jobs is {jobs}: .* give 1 or more"):
            lab.run(text, jobs=jobs)
    with pytest.raises(TypeError):
        lab.run(text, jobs="4")  # type: ignore[arg-type]


def test_keys_and_values_that_a_plan_does_not_have(text: str) -> None:
    with pytest.raises(thinstream.PlanError, match='no section "flow" of that name'):
        lab.plan(text, vary=("flow.thick.policy", ["thin"]))
    with pytest.raises(thinstream.PlanError, match="such as network.rtt"):
        lab.compare(text, "policy", "thin", "lksctp")
    with pytest.raises(thinstream.PlanError, match="has no values"):
        lab.plan(text, vary=("flow.thin.policy", []))
    with pytest.raises(thinstream.PlanError, match="more than 100000 combinations"):
        lab.plan(text, vary=("network.rtt", [f"{time}us" for time in range(100_001)]))
    for wrong in ("flow.thin.policy", ("flow.thin.policy", "thin")):
        with pytest.raises(TypeError, match="vary is a key and its values"):
            lab.plan(text, vary=wrong)  # type: ignore[arg-type]


def test_ways_to_run_that_there_are_not(text: str, plan: lab.Plan) -> None:
    with pytest.raises(ValueError, match="there are threads, ray"):
        lab.run(text, on="slurm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="such as 1/4"):
        lab.run(text, shard="0/3")
    with pytest.raises(TypeError, match="progress is a function"):
        lab.run(text, progress=7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cell 9 with seed 1 is no run"):
        lab.run_jobs(plan, [(9, 1)])
    with pytest.raises(ValueError, match="retries is -1"):
        lab.run(text, on="ray", retries=-1)
    with pytest.raises(ValueError, match="jobs is 0"):
        lab.run(text, on="ray", jobs=0)


def test_folders_without_results(text: str, plan: lab.Plan, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("is this a folder of results", lambda: lab.Results.load(tmp_path)),
        ("is this a folder of results", lambda: lab.Results.load(tmp_path / "nowhere")),
        ("file", lambda: lab.run(text, out=tmp_path / "file")),
        ("no journal", lambda: lab.Results.merge(plan, [tmp_path], tmp_path / "whole")),
        ("no journal", lambda: lab.Collector(plan).add(b"")),
    ]
    for told, do in wrong:
        with pytest.raises(thinstream.FolderError, match=told):
            do()


def test_questions_that_results_cannot_answer(text: str, results: lab.Results, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give distributions=True"):
        lab.run(text.replace(", distribution = true", ""), seeds=1).quantiles([0.5])
    with pytest.raises(OSError, match="directory"):
        results.report(tmp_path)
    with pytest.raises(AttributeError):
        results.finished = 7  # type: ignore[misc]


def test_captures_and_choices_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(thinstream.TraceError, match="70000 is no port"):
        trace.summary(tmp_path, ports=[70000])
    with pytest.raises(thinstream.TraceError, match='"soon" is not a duration'):
        trace.summary(tmp_path, start="soon")
    with pytest.raises(thinstream.TraceError, match=os.fspath(tmp_path)):
        trace.summary(tmp_path)
