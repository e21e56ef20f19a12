import signal
import threading
import time
from pathlib import Path

import pytest

import thinstream
from thinstream import lab


def test_any_number_of_threads_gives_the_same(plan: lab.Plan, results: lab.Results) -> None:
    assert lab.run(plan, jobs=1).rows().to_pylist() == results.rows().to_pylist()
    assert (results.finished, results.missing) == (8, 0)


def test_progress_is_told_and_what_it_raises_ends_the_runs(plan: lab.Plan) -> None:
    told: list[tuple[int, int]] = []
    lab.run(plan, jobs=2, progress=lambda done, of: told.append((done, of)))
    assert told == [(done, 8) for done in range(1, 9)]

    def enough(done: int, of: int) -> None:
        raise LookupError(f"{done} of {of} is enough")

    with pytest.raises(LookupError, match="1 of 8 is enough"):
        lab.run(plan, progress=enough)


def test_the_interpreter_is_free_and_ctrl_c_ends_a_long_run(text: str) -> None:
    # Hours of virtual time, in one run: only an end from outside can end it soon.
    endless = lab.plan(text.replace("30s", "8784h"), seeds=1)
    turns = 0

    def press() -> None:
        nonlocal turns
        for _ in range(20):
            turns += 1
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        lab.run(endless, jobs=1)
    pressing.join()
    assert turns == 20


def test_shards_join_to_the_whole(plan: lab.Plan, results: lab.Results, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in (1, 2, 3)]
    counts = [
        lab.run(plan, shard=f"{number}/3", out=folder).finished
        for number, folder in enumerate(folders, 1)
    ]
    assert counts == [3, 3, 2]
    # One that comes twice counts once.
    whole = lab.Results.merge(plan, [*folders, folders[0]], tmp_path / "whole")
    assert whole.rows().to_pylist() == results.rows().to_pylist()
    part = lab.Results.merge(plan, folders[:2], tmp_path / "part")
    assert (part.finished, part.missing) == (6, 2)
    with pytest.raises(ValueError, match="no shard such as 1/4"):
        lab.run(plan, shard="5/4")


def test_what_is_finished_in_a_folder_stays_so(plan: lab.Plan, tmp_path: Path) -> None:
    def stop(done: int, of: int) -> None:
        if done == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        lab.run(plan, jobs=1, out=tmp_path, progress=stop)
    told: list[int] = []
    results = lab.run(
        plan, out=tmp_path, resume=True, progress=lambda done, _: told.append(done)
    )
    assert told == [4, 5, 6, 7, 8] and results.missing == 0
    assert (tmp_path / "rows.parquet").exists()
    with pytest.raises(thinstream.FolderError, match="of another plan"):
        lab.run(lab.plan(plan, seeds=2), out=tmp_path, resume=True)
    with pytest.raises(ValueError, match="give out"):
        lab.run(plan, resume=True)
    with pytest.raises(ValueError, match="give one"):
        lab.run(plan, out=tmp_path, resume=True, anew=True)


def test_results_in_a_folder_are_replaced_on_request_only(
    plan: lab.Plan, results: lab.Results, tmp_path: Path
) -> None:
    lab.run(plan, out=tmp_path)
    rows = (tmp_path / "rows.csv").read_bytes()
    other = lab.plan(plan, seeds=1)
    for refused in (lambda: lab.run(other, out=tmp_path), lambda: results.save(tmp_path)):
        with pytest.raises(thinstream.FolderError, match="anew=True replaces"):
            refused()
    assert (tmp_path / "rows.csv").read_bytes() == rows
    assert lab.run(other, out=tmp_path, anew=True).missing == 0
    assert lab.Results.load(tmp_path).finished == 2


def test_journals_come_in_any_order_and_count_once(
    plan: lab.Plan, results: lab.Results
) -> None:
    collector = lab.Collector(plan)
    wanted = collector.missing()
    assert len(wanted) == 8
    first, second = (lab.run_jobs(plan, wanted[place::2], jobs=1) for place in (0, 1))
    assert (collector.add(second), collector.add(second), collector.add(first)) == (4, 0, 4)
    assert collector.missing() == []
    assert collector.results().rows().to_pylist() == results.rows().to_pylist()
    with pytest.raises(RuntimeError, match="taken already"):
        collector.missing()


def test_a_journal_that_was_damaged_on_the_way_is_not_believed(plan: lab.Plan) -> None:
    collector = lab.Collector(plan)
    journal = bytearray(lab.run_jobs(plan, collector.missing()[:3]))
    last = journal.rindex(b"\n", 0, len(journal) - 1)
    journal[last + 40] ^= 1
    assert collector.add(bytes(journal)) == 2
    assert len(collector.missing()) == 6
    with pytest.raises(thinstream.FolderError, match="of another plan"):
        collector.add(lab.run_jobs(lab.plan(plan, seeds=1), [(0, 1)]))
    with pytest.raises(thinstream.FolderError, match="no journal"):
        collector.add(b"hello\n")
