import re
from pathlib import Path

import pytest


def test_the_examples_of_the_page_run(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (repository / "docs/python.md").read_text()
    first, second = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(first, names)
    shown = capsys.readouterr().out
    assert "lksctp" in shown and "thin" in shown
    assert (tmp_path / "game.html").exists()
    exec(second, names)
    shown = capsys.readouterr().out
    assert "verdict" in shown and "quantile" in shown
