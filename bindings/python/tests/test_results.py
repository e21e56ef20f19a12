from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

from thinstream import lab


def test_tables_go_to_arrow_pandas_and_polars(results: lab.Results) -> None:
    rows = results.rows()
    assert rows.column_names == [
        "network.loss", "seed", "of", "measure", "labels", "value", "unit",
    ]  # fmt: skip
    table = rows.to_pyarrow()
    assert table.schema.field("value").type == pyarrow.float64()
    assert table.schema.field("seed").type == pyarrow.int64()
    assert table.num_rows == len(rows) == rows.num_rows > 20
    for frame in (rows.to_pandas(), rows.to_polars().to_pandas()):
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame["value"]) == rows["value"]
    assert isinstance(rows.to_polars(), polars.DataFrame)
    assert list(rows)[0] == tuple(rows.to_pylist()[0].values())
    with pytest.raises(KeyError, match="no column \\\\?\"nothing"):
        rows["nothing"]


def test_numbers_are_handed_over_without_a_copy(results: lab.Results) -> None:
    rows = results.rows()
    places = {
        pyarrow.table(rows)["value"].chunk(0).buffers()[1].address for _ in range(3)
    }
    assert len(places) == 1


def test_means_have_intervals_and_loss_makes_messages_late(results: lab.Results) -> None:
    means = results.means().to_pandas().set_index(["network.loss", "measure", "labels"])
    for loss in ("0%", "10%"):
        one = means.loc[(loss, "latency.mean", "")]
        assert one["low"] <= one["mean"] <= one["high"] and one["seeds"] == 4
    assert means.loc[("10%", "latency.mean", ""), "mean"] > 1.2 * means.loc[("0%", "latency.mean", ""), "mean"]


def test_quantiles_are_of_all_seeds(results: lab.Results) -> None:
    table = results.quantiles([0.5, 0.99, 0.99999]).to_pylist()
    lossy = [row for row in table if row["network.loss"] == "10%" and row["labels"] == ""]
    values = [row["value_ms"] for row in lossy]
    assert values == sorted(values) and lossy[0]["low_ms"] <= values[0] <= lossy[0]["high_ms"]
    assert lossy[-1]["high_ms"] is None, "so few messages say nothing of one in a hundred thousand"
    with pytest.raises(ValueError, match="no quantile"):
        results.quantiles([99.0])


def test_the_paper_stands_beside(results: lab.Results) -> None:
    (row,) = results.verdicts().to_pylist()
    assert row["verdict"] == "same" and 50 <= row["found"] < row["below"] == 60
    assert (row["paper"], row["where"]) == ("below 60 ms", "loss 0%")
    assert row["here"].endswith(" ms") and row["value"] is None
    assert (row["kind"], row["claim"], row["agreement"]) == ("prediction", "number", "same")
    assert "1 same" in repr(results)


def test_a_row_that_is_no_prediction_has_a_word_of_its_own(text: str) -> None:
    fitted = text.replace("[[expect]]", '[[expect]]\nkind = "fitted"', 1)
    results = lab.run(lab.plan(fitted))
    (row,) = results.verdicts().to_pylist()
    assert (row["verdict"], row["kind"], row["agreement"]) == ("fitted", "fitted", "same")
    assert "no prediction; fitted: 1 same" in repr(results)


def test_two_policies_are_compared_seed_by_seed(text: str) -> None:
    compared = lab.compare(text, "flow.thin.policy", "thin", "lksctp", seeds=8)
    rows = compared.numbers.to_pylist()
    late = next(
        row for row in rows if row["name"] == "latency.mean" and row["network.loss"] == "10%"
    )
    assert late["pairs"] == 8 and late["beyond_chance"] and late["high"] < 0
    assert late["difference"] == pytest.approx(late["one"] - late["other"])
    assert set(compared.quantiles["quantile"]) == {0.5, 0.9, 0.99, 0.999}
    with pytest.raises(ValueError, match="no cell of the plan has"):
        compared.results.compare("flow.thin.policy", "thin", "nothing", [0.5])


def test_a_folder_has_all_of_it(results: lab.Results, tmp_path: Path) -> None:
    results.save(tmp_path)
    loaded = lab.Results.load(tmp_path)
    assert loaded.rows().to_pylist() == results.rows().to_pylist()
    assert loaded.manifest["fingerprint"] == results.manifest["fingerprint"]
    assert loaded.distributions().num_rows == results.distributions().num_rows > 0


def test_the_report_is_one_page_with_figures(results: lab.Results, tmp_path: Path) -> None:
    page = results.report(tmp_path / "page.html")
    assert page.lower().startswith("<!doctype html>") and "A thin stream" in page
    assert (tmp_path / "page.html").read_text() == page
    figures = dict(results.figures())
    assert figures and all(svg.lstrip().startswith("<") for svg in figures.values())
    assert {path.stem for path in (tmp_path / "figures").glob("*.svg")} == set(figures)
    assert results.report(tmp_path / "page.md").count("# ") > 0


def test_pictures_are_png() -> None:
    results = lab.run(lab.Plan.experiment("partial-order/fig2", size="small"))
    pictures = results.pictures()
    assert pictures and all(one["png"].startswith(b"\x89PNG") for one in pictures)
    assert pictures[0]["caption"] and pictures[0]["seed"] >= 1
