import re
from pathlib import Path

import pytest


def test_the_first_example_of_the_page_runs(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (repository / "docs/python.md").read_text()
    example = re.search(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert example is not None
    monkeypatch.chdir(tmp_path)
    exec(example.group(1), {})
    shown = capsys.readouterr().out
    assert "lksctp" in shown and "thin" in shown
    assert (tmp_path / "game.html").exists()
