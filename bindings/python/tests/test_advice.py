import runpy
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import thinstream
from thinstream import advice, lab

PLAN = """
title = "A thin stream with losses"
[run]
duration = "60s"
seeds = 3
[network]
kind = "pair"
rtt = "100ms"
loss = "15%"
[[flow]]
name = "game"
count = 2
transport = "TRANSPORT"
advice = "mine"
policy = { preset = "rfc", thin-detector = "fewer-than-four" }
workload = { arrivals = "~200ms", size = 100 }
[measure]
latency = { of = "game", quantiles = [0.5, 0.99], distribution = true }
retransmissions = {}
cost = {}
"""
SCTP = PLAN.replace("TRANSPORT", "sctp")


def rows(plan: str, policy: advice.AdvisorFactory | None = None, **how: Any) -> list[Any]:
    advisors = None if policy is None else {"mine": policy}
    return lab.run(plan, advisors=advisors, **how).rows().to_pylist()


class Linear(advice.Advisor):
    def on_timeout(self, event: advice.Timeout, path: advice.Path) -> advice.Answer:
        return advice.Doublings(event.doublings - 1) if event.thin else None


@pytest.mark.parametrize("transport", ["sctp", "tcp"])
def test_linear_timeouts_in_python_are_those_of_the_policy_to_the_digit(transport: str) -> None:
    plan = PLAN.replace("TRANSPORT", transport)
    alone = plan.replace('advice = "mine"', "")
    field = rows(alone.replace('four" }', 'four", backoff = "linear" }'))
    assert rows(plan, Linear, jobs=2) == field
    assert rows(plan, Linear, jobs=1) == field
    assert rows(alone) != field


def test_the_example_has_thirty_lines_and_gives_the_same_numbers(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = repository / "bindings/python/examples/linear_timeouts.py"
    assert len(example.read_text().splitlines()) <= 30
    runpy.run_path(str(example), run_name="__main__")
    said = capsys.readouterr().out
    assert said.endswith("the same: True\n") and int(said.split()[0]) > 20


def test_a_policy_that_knows_the_time_table_does_what_no_field_can(repository: Path) -> None:
    example = runpy.run_path(str(repository / "bindings/python/examples/handover.py"))
    plan = lab.plan(example["PLAN"], seeds=2)
    means = lab.run(plan, advisors={"handover": example["Handover"]}).means().to_pylist()
    of = {
        row["flow.game.advice"]: row["mean"]
        for row in means
        if row["labels"] == "quantile=0.999"
    }
    assert of["handover"] < of["none"] - 20


def test_each_event_comes_to_its_method_with_what_it_is(repository: Path) -> None:
    heard: dict[str, list[Any]] = {}
    flows: list[advice.Flow] = []

    class All(advice.Advisor):
        def __init__(self, flow: advice.Flow) -> None:
            super().__init__(flow)
            flows.append(flow)

        def keep(self, event: Any, path: advice.Path) -> None:
            if self.flow == flows[0]:
                heard.setdefault(type(event).__name__, []).append((event, path))

        on_sent = on_resent = on_acknowledged = on_lost = on_timeout = keep
        on_probed = on_timer_set = on_window_changed = on_repaired = on_spurious = keep

    text = PLAN.replace("TRANSPORT", "tcp").replace('preset = "rfc"', 'preset = "latency-max"')
    listened = rows(text, All, jobs=1)
    assert listened == rows(text.replace('advice = "mine"', ""))
    assert {"Sent", "Resent", "Acknowledged", "Lost", "TimerSet", "WindowChanged"} <= set(heard)
    assert sorted(flows) == [("game", number, seed) for number in (0, 1) for seed in (1, 2, 3)]
    sent, path = heard["Sent"][0]
    assert (sent.new, sent.again, sent.bytes, sent.packet) == (1, 0, 100, 0)
    (unit,) = path.units
    assert (unit.unit + unit.bytes, unit.transmissions) == (sent.next_unit, 1)
    assert unit.sent_at == sent.at and path.flight == 100 and path.packets == 1
    acknowledged, path = next(one for one in heard["Acknowledged"] if one[0].rtt is not None)
    assert 0.1 <= acknowledged.rtt and path.latest_rtt == acknowledged.rtt
    assert path.cwnd > 100 and 0 <= path.loss <= 1
    last = heard["Acknowledged"][-1][0].cumulative
    assert last >= heard["Sent"][-10][0].next_unit, "nearly all of it in the end"
    assert "Path 0" in repr(path) and "100 bytes" in repr(unit)


def test_actions_are_done_and_those_without_sense_are_told() -> None:
    refused: list[tuple[str, str]] = []

    class Wild(advice.Advisor):
        def on_sent(self, event: advice.Sent, path: advice.Path) -> advice.Answer:
            return [advice.Wake(0.02), advice.Lose(10**12), advice.Window(5000, path=0)]

        def on_wake(self, at: float, path: advice.Path) -> advice.Answer:
            return map(advice.Copy, [one.unit for one in path.units if one.transmissions == 1])

        def on_refused(self, at: float, action: advice.Action, reason: str) -> None:
            refused.append((repr(action), reason))

    def packets(of: list[Any]) -> float:
        return sum(float(row["value"]) for row in of if row["measure"] == "cost.packets")

    alone = rows(SCTP.replace('advice = "mine"', ""))
    assert packets(rows(SCTP, Wild)) > 1.5 * packets(alone)
    assert {action for action, _ in refused} == {f"Lose(unit={10**12})"}
    assert all("is not in flight" in reason for _, reason in refused)


def test_what_an_advisor_raises_ends_the_runs_and_names_its_place() -> None:
    class Broken(advice.Advisor):
        def on_timeout(self, event: advice.Timeout, path: advice.Path) -> advice.Answer:
            raise LookupError("no idea")

    with pytest.raises(
        thinstream.RunError,
        match=r'seed \d: advice of flow "game", number \d, at \d+\.\d+: LookupError: no idea',
    ) as raised:
        rows(SCTP, Broken, jobs=2)
    cause = raised.value.__cause__
    assert isinstance(cause, LookupError) and cause.__traceback__ is not None
    assert cause.__traceback__.tb_frame.f_code.co_name == "on_timeout"

    def answers(what: Any) -> advice.AdvisorFactory:
        class One(advice.Advisor):
            def on_sent(self, event: advice.Sent, path: advice.Path) -> advice.Answer:
                return what  # type: ignore[no-any-return]

        return One

    for what, said in [
        (3, "an advisor answers None, one of Doublings"),
        ([None], "an advisor answers None, one of Doublings"),
        (advice.Lose(-1), "can't convert negative"),
        (advice.Timer(float("nan")), "give seconds from now"),
        (advice.Timer(0.0), r"Timer\(after=0.0, path=0\) was refused: a timer of 0s is none"),
        (advice.Doublings(1, path=2), "there is no path 2"),
    ]:
        with pytest.raises(thinstream.RunError, match=said):
            rows(SCTP, answers(what))


def test_advisors_that_are_none_and_plans_that_name_others_are_refused() -> None:
    with pytest.raises(thinstream.PlanError, match='advice = "mine" names no advisor; a plan'):
        rows(SCTP)
    with pytest.raises(thinstream.PlanError, match="names no advisor; there are yours"):
        lab.run(SCTP, advisors={"yours": Linear})
    with pytest.raises(TypeError, match="a dictionary of classes by name"):
        lab.run(SCTP, advisors=[Linear])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match='advisor "mine" is a class, or a function'):
        lab.run(SCTP, advisors={"mine": 3})  # type: ignore[dict-item]
    with pytest.raises(thinstream.RunError, match="an advisor is a thinstream.advice.Advisor"):
        lab.run(SCTP, advisors={"mine": list})  # type: ignore[dict-item]


def test_results_are_kept_of_named_versions_only(tmp_path: Path) -> None:
    class Second(Linear):
        version = "2"

    with pytest.raises(thinstream.FolderError, match="results are kept only if"):
        rows(SCTP, Second, out=tmp_path / "none")
    named = SCTP.replace('"mine"', '{ name = "mine", version = "2" }')
    with pytest.raises(thinstream.PlanError, match='of version "2" in the plan'):
        rows(named, Linear, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    whole = rows(named, Second, out=tmp_path / "kept")
    assert whole == rows(SCTP, Linear)
    assert rows(named, Second, out=tmp_path / "kept", resume=True) == whole
    third = named.replace('"2"', '"3"')
    Second.version = "3"
    with pytest.raises(thinstream.FolderError, match="of another plan"):
        rows(third, Second, out=tmp_path / "kept", resume=True)
    shards = [tmp_path / "1", tmp_path / "2"]
    for number, folder in enumerate(shards, 1):
        rows(third, Second, out=folder, shard=f"{number}/2")
    merged = lab.Results.merge(lab.plan(third), shards, tmp_path / "merged")
    assert merged.rows().to_pylist() == whole


def test_two_advices_are_compared_on_equal_losses() -> None:
    compared = lab.compare(SCTP, "flow.game.advice", "none", "mine", advisors={"mine": Linear})
    numbers = compared.numbers.to_pylist()
    timeouts = next(row for row in numbers if row["name"] == "timeouts")
    assert timeouts["pairs"] == 3
    assert timeouts["one"] < timeouts["other"], "linear timeouts expire more often"


def test_ctrl_c_ends_runs_with_advisors() -> None:
    asked = threading.Event()

    class Slow(advice.Advisor):
        def on_acknowledged(
            self, event: advice.Acknowledged, path: advice.Path
        ) -> advice.Answer:
            asked.set()
            time.sleep(0.001)
            return None

    def press() -> None:
        asked.wait()
        signal.raise_signal(signal.SIGINT)

    # A background job of a shell inherits that the signal is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rows(SCTP.replace("60s", "8784h"), Slow, jobs=2)
    finally:
        signal.signal(signal.SIGINT, before)
    pressing.join()
