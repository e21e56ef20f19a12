import pickle
from datetime import timedelta
from pathlib import Path

import pytest

import thinstream
from thinstream import lab


def built(**other: object) -> lab.PlanBuilder:
    return lab.PlanBuilder(
        title="A thin stream",
        duration="30s",
        seeds=4,
        network=lab.Network(kind="pair", rtt=timedelta(milliseconds=100)),
        flows=[
            lab.Flow(
                name="thin",
                count=2,
                transport="sctp",
                policy="lksctp",
                workload=lab.Workload(arrivals="250ms", size=100),
            )
        ],
        sweep={"network.loss": ["0%", "10%"]},
        measure={"latency": {"of": "thin", "distribution": True}, "retransmissions": {}},
    )


def test_a_plan_says_what_it_runs(plan: lab.Plan) -> None:
    assert (plan.title, plan.size, plan.seeds, plan.jobs) == ("A thin stream", "normal", 4, 8)
    assert plan.cells == [{"network.loss": "0%"}, {"network.loss": "10%"}]
    assert plan.paper is None and plan.open == {}


def test_text_file_dictionary_and_builder_give_the_same_numbers(
    text: str, results: lab.Results, tmp_path: Path
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    expected = results.rows().to_pylist()
    assert lab.run(file).rows().to_pylist() == expected
    assert lab.run(str(file)).rows().to_pylist() == expected
    assert lab.run(built()).rows().to_pylist() == expected
    assert lab.run(built().to_dict()).rows().to_pylist() == expected


def test_size_seeds_and_values_can_be_asked_for(text: str) -> None:
    assert lab.plan(text, seeds=2).jobs == 4
    varied = lab.plan(text, vary=("flow.thin.policy", ["lksctp", "thin"]))
    assert len(varied.cells) == 4 and varied.cells[-1]["flow.thin.policy"] == "thin"
    later = lab.plan(text, seeds=2, seed_offset=7)
    assert (later.seed_offset, later.jobs) == (7, 4)
    assert later.fingerprint != lab.plan(text, seeds=2).fingerprint
    assert pickle.loads(pickle.dumps(later)) == later == lab.plan(later)
    assert {row["seed"] for row in lab.run(later).rows().to_pylist()} == {8, 9}
    again = lab.plan(varied, seeds=1)
    assert (again.jobs, again.cells) == (4, varied.cells)
    small = lab.Plan.experiment("rto-wlan/analysis", size="small")
    assert (small.paper, small.size) == ("rto-wlan", "small")


def test_a_plan_survives_a_pickle(text: str) -> None:
    one = lab.plan(text, seeds=3, vary=("flow.thin.policy", ["thin"]), distributions=True)
    other = pickle.loads(pickle.dumps(one))
    assert other == one and hash(other) == hash(one)
    assert (other.seeds, other.cells, other.fingerprint) == (3, one.cells, one.fingerprint)
    assert lab.plan(text) != one


def test_what_makes_no_sense_is_refused_with_what_would(text: str, tmp_path: Path) -> None:
    with pytest.raises(thinstream.PlanError, match="duration such as 50ms"):
        lab.plan(text.replace("30s", "30 parsecs"))
    with pytest.raises(thinstream.PlanError, match="sctp-thin/fig8a"):
        lab.Plan.experiment("fig99")
    with pytest.raises(thinstream.PlanError, match="nowhere.toml: cannot be read"):
        lab.plan(tmp_path / "nowhere.toml")
    with pytest.raises(ValueError, match="normal, full, small"):
        lab.plan(text, size="tiny")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cannot hold"):
        lab.plan({"title": object()})


def test_the_papers_plans_and_the_applications_are_there() -> None:
    names = lab.experiments()["name"]
    assert "sctp-thin/fig8a" in names and len(names) > 20
    assert lab.Plan.experiment("8a").title
    rows = lab.workloads().to_pylist()
    anarchy = next(row for row in rows if "anarchy" in row["name"])
    assert anarchy["payload_mean"] > 0 and anarchy["verified"]
    casa = next(row for row in rows if row["name"] == "casa")
    assert casa["payload_mean"] is None and casa["remembered_payload_mean"] > 0 and not casa["verified"]
