import os
import shutil
import subprocess
from pathlib import Path

import pytest

from thinstream import lab


def command() -> str:
    found = os.environ.get("THINSTREAM") or shutil.which("thinstream")
    if found is None:
        pytest.skip("the command thinstream is not built: set THINSTREAM")
    return found


def test_tasks_of_an_array_join_to_the_whole(
    text: str, results: lab.Results, repository: Path, tmp_path: Path
) -> None:
    thinstream = command()
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    script = repository / "bindings/python/slurm/sweep.sh"
    for number in ("0", "1", "2"):
        array = {
            "SLURM_ARRAY_TASK_ID": number,
            "SLURM_ARRAY_TASK_MIN": "0",
            "SLURM_ARRAY_TASK_COUNT": "3",
            "THINSTREAM": thinstream,
        }
        subprocess.run([script, plan, tmp_path], env=os.environ | array, check=True)
    shards = sorted(tmp_path.glob("shard-*"))
    assert [shard.name for shard in shards] == ["shard-1", "shard-2", "shard-3"]
    whole = tmp_path / "whole"
    merge: list[str | Path] = [thinstream, "lab", "merge", plan, *shards, "--out", whole]
    subprocess.run(merge, check=True, stdout=subprocess.DEVNULL)
    assert lab.Results.load(whole).rows().to_pylist() == results.rows().to_pylist()
