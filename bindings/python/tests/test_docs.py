import re
from pathlib import Path

import pytest


def test_the_example_of_the_readme_runs(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = examples(repository / "bindings/python/README.md")
    exec(example, {})
    shown = capsys.readouterr().out
    assert "latency.quantile" in shown and "thin" in shown


def test_the_policy_of_the_page_is_the_tested_example(repository: Path) -> None:
    *_, shown = examples(repository / "docs/python.md")
    assert shown == (repository / "bindings/python/examples/linear_timeouts.py").read_text()


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_page_run(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second, _ = examples(repository / "docs/python.md")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(first, names)
    shown = capsys.readouterr().out
    assert "lksctp" in shown and "thin" in shown
    assert (tmp_path / "game.html").exists()
    exec(second, names)
    shown = capsys.readouterr().out
    assert "verdict" in shown and "quantile" in shown
