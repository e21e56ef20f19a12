"""Runs the fuzz targets under libFuzzer, and keeps the record of how long each has run on today's sources.

fuzz.py SECONDS [TARGET...]  each target until it has had SECONDS of processor time, in slices, one process a core; what a
                             target has had on the same sources already (fuzz/record.tsv) counts
fuzz.py --table              the record, as a table
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "fuzz/record.tsv"
SLICE = 120
STACK = ["crates/base", "crates/recovery", "crates/endpoint"]
WEBRTC = [*STACK, "crates/sctp", "crates/layers", "crates/secure", "crates/webrtc"]
# What a target exercises: its time is counted anew once the code of one of these has changed, comments and NOT_RUN aside.
# interop/rules/tests/fuzzing.rs compares this with what the harness uses and what the crates depend on.
SOURCES = {
    "association": [*STACK, "crates/sctp"],
    "dtls": ["crates/base", "crates/secure"],
    "endpoint": [*STACK, "crates/sctp"],
    "flow": [*STACK, "crates/tcp", "crates/apps/src/edge"],
    "offload": ["crates/base", "crates/io/src"],
    "packet": ["crates/base", "crates/io/src"],
    "pair": [*STACK, "crates/sctp", "crates/layers"],
    "parser": ["crates/base", "crates/sctp/src/wire"],
    "sdp": ["crates/base", "crates/secure", "crates/sctp/src/wire", "crates/sctp/src/signalled_init.rs", "crates/webrtc/src/sdp",
            "crates/webrtc/src/sdp.rs", "crates/webrtc/src/ice.rs"],
    "segment": ["crates/base", "crates/tcp/src/wire"],
    "signalling": [*WEBRTC, "crates/io/src", "crates/thinstream/src", "crates/apps/src/browsers", "crates/apps/src/browsers.rs",
                   "crates/apps/src/http", "crates/apps/src/http.rs"],
    "stun": WEBRTC,
    "tcp_connection": [*STACK, "crates/tcp"],
    "tcp_pair": [*STACK, "crates/tcp"],
    "trace": ["crates/base", "crates/results", "crates/sctp/src/wire", "crates/tcp/src/wire", "crates/trace/src"],
}

# What no target runs, and so costs no time that was counted.
NOT_RUN = [f":(exclude,glob)**/{name}" for name in ["tests/**", "tests.rs", "benches/**", "examples/**"]]
COMMENT = r"^\s*//"


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)


class Record:
    """Processor seconds and inputs of each target, and the commit of its sources. A slice is written when it ends, so that an
    interruption loses one slice."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: dict[str, tuple[str, int, int]] = {}
        if RECORD.exists():
            for line in RECORD.read_text().splitlines():
                target, commit, seconds, inputs = line.split("\t")
                self.rows[target] = (commit, int(seconds), int(inputs))

    def is_current(self, target: str) -> bool:
        row = self.rows.get(target)
        return row is not None and not git(
            "diff", "--quiet", f"--ignore-matching-lines={COMMENT}", row[0], "HEAD", "--", *SOURCES[target], *NOT_RUN
        ).returncode

    def seconds(self, target: str) -> int:
        return self.rows[target][1] if self.is_current(target) else 0

    def add(self, target: str, commit: str, seconds: int, inputs: int) -> None:
        with self.lock:
            if self.is_current(target):
                before = self.rows[target]
                commit, seconds, inputs = before[0], before[1] + seconds, before[2] + inputs
            self.rows[target] = (commit, seconds, inputs)
            lines = ["\t".join([name, *map(str, row)]) for name, row in sorted(self.rows.items())]
            RECORD.write_text("\n".join(lines) + "\n")

    def table(self) -> str:
        lines = ["| target | minutes of processor time | inputs | sources of commit | changed since |", "|---|---:|---:|---|---|"]
        for target in sorted(SOURCES):
            if target not in self.rows:
                lines.append(f"| `{target}` | 0 | 0 | | |")
                continue
            commit, seconds, inputs = self.rows[target]
            changed = "no" if self.is_current(target) else "yes"
            lines.append(f"| `{target}` | {seconds / 60:.0f} | {inputs:,} | {commit[:12]} | {changed} |")
        return "\n".join(lines) + "\n"


def run_slice(binary: Path, target: str, seconds: int) -> tuple[int, int, int]:
    """Status, processor seconds and inputs of one run of at most `seconds` by the clock."""
    corpus, artifacts = ROOT / "fuzz/corpus" / target, ROOT / "fuzz/artifacts" / target
    corpus.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(parents=True, exist_ok=True)
    log = artifacts / "log"
    with log.open("w") as out:
        child = subprocess.Popen(
            [binary, corpus, f"-artifact_prefix={artifacts}/", f"-max_total_time={seconds}", "-max_len=8192", "-len_control=0",
             "-print_final_stats=1"], stdout=out, stderr=out)  # fmt: skip
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    inputs = [line.split()[1] for line in log.read_text(errors="replace").splitlines() if "number_of_executed_units" in line]
    return child.returncode, round(usage.ru_utime + usage.ru_stime), int(inputs[0]) if inputs else 0


def fuzz(seconds: int, chosen: list[str]) -> int:
    built = subprocess.run(["cargo", "+nightly", "fuzz", "build", "--sanitizer", "none"], cwd=ROOT)  # No room has unsafe code:
    if built.returncode != 0:  # the sanitizer would find what Rust finds, at half the speed.
        return 1
    host = subprocess.run(["rustc", "+nightly", "--print", "host-tuple"], capture_output=True, text=True).stdout.strip()
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "fuzz/target")) / host / "release"
    commit = git("rev-parse", "HEAD").stdout.strip()
    is_clean = not git("status", "--porcelain", "--", "crates", "fuzz/harness").stdout
    if not is_clean:
        print("fuzz: changes without a commit: nothing is recorded", file=sys.stderr)
    record = Record()
    spent = {target: record.seconds(target) if is_clean else 0 for target in chosen}
    failed: list[str] = []
    busy: set[str] = set()
    choice = threading.Lock()

    def work() -> None:
        while True:
            with choice:
                # The target with the least time is next, so that all have had some whenever the run ends.
                waiting = [t for t in chosen if t not in busy and t not in failed and spent[t] < seconds]
                if not waiting:
                    if not any(t in busy for t in chosen if spent[t] < seconds):
                        return
                target = min(waiting, key=lambda t: spent[t]) if waiting else None
                if target:
                    busy.add(target)
            if target is None:
                time.sleep(1)
                continue
            status, took, inputs = run_slice(folder / target, target, min(SLICE, max(1, seconds - spent[target])))
            with choice:
                busy.discard(target)
                spent[target] += took
                if status != 0:
                    failed.append(target)
                    print(f"fuzz: {target} failed: see fuzz/artifacts/{target}", flush=True)
                elif is_clean:
                    record.add(target, commit, took, inputs)
                print(f"fuzz: {target}: {spent[target]} of {seconds} s, {inputs} inputs in this slice", flush=True)

    workers = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(Record().table(), end="")
    else:
        unknown = [target for target in sys.argv[2:] if target not in SOURCES]
        if len(sys.argv) < 2 or not sys.argv[1].isdigit() or unknown:
            sys.exit(f"{__doc__}fuzz: wrong: {' '.join(unknown) or 'SECONDS is a whole number'}; targets: {' '.join(SOURCES)}")
        sys.exit(fuzz(int(sys.argv[1]), sys.argv[2:] or list(SOURCES)))
