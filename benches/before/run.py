#!/usr/bin/env python3
"""Compares what messages and packets cost with the tree before it was restructured: processor time, alternately on one core,
and instructions, by valgrind. Prints the tables of docs/performance.md.

run.py  builds the tree before as it was released, the same with today's settings of the release profile, and today's tree
        (seven minutes on two cores), then measures (eight; nothing else should run meanwhile)
"""

import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
TREE = TARGET / "before/tree"
BEFORE = "82924778"
# The tree before had no example that counts SCTP's instructions: its first version, which needs nothing that came later.
FIRST_COUNT = "c8e6ddce:crates/sctp/examples/instructions.rs"
UNITS = [f"--config=profile.release.package.{name}.codegen-units=1" for name in ["base", "recovery", "sctp", "tcp"]]
CORE = max(os.sched_getaffinity(0))
RUNS = 9


def run(*words: str | Path, cwd: Path = ROOT, target: Path | None = None) -> str:
    env = {**os.environ, "CARGO_INCREMENTAL": "0"} | ({"CARGO_TARGET_DIR": str(target)} if target else {})
    return subprocess.run(words, cwd=cwd, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def prepare() -> None:
    """The tree before, with two of its examples mended."""
    if not TREE.exists():
        run("git", "worktree", "prune")
        run("git", "worktree", "add", "--detach", TREE, BEFORE)
    (TREE / "crates/sctp/examples/instructions.rs").write_text(run("git", "show", FIRST_COUNT))
    # Pages of code that ran counted as memory of flows.
    speed = TREE / "crates/lab/examples/dumbbell_speed.rs"
    today = (ROOT / "crates/lab/examples/dumbbell_speed.rs").read_text()
    function = re.compile(r"^fn resident_kib\(\) -> u64 \{.*?^\}", re.MULTILINE | re.DOTALL)
    [counted] = function.findall(today)
    speed.write_text(function.sub(lambda _: counted, speed.read_text()))


class Build:
    """Examples of one tree under one set of settings."""

    def __init__(self, name: str, tree: Path, prefix: str, counts: str, settings: list[str]) -> None:
        self.folder = TARGET / "before" / name
        for crate, example in [("sctp", "cost"), ("sctp", "memory"), ("lab", "dumbbell_speed")]:
            self.make(tree, prefix + crate, example, settings)
        # Both protocols may call their example the same: a folder for each.
        self.sctp = self.make(tree, f"{prefix}sctp", counts.format("sctp"), settings)
        self.tcp = self.make(tree, f"{prefix}tcp", counts.format("tcp"), settings)

    def make(self, tree: Path, package: str, example: str, settings: list[str]) -> Path:
        folder = self.folder / "release/examples"
        run("cargo", "build", "--release", "--locked", "-q", *settings, "-p", package, "--example", example, cwd=tree, target=self.folder)
        kept = self.folder / f"{package}-{example}"
        kept.write_bytes((folder / example).read_bytes())
        kept.chmod(0o755)
        return kept

    def example(self, name: str) -> Path:
        return next(path for path in self.folder.glob(f"*{name}") if path.is_file())


def on_core(*words: str | Path) -> tuple[str, float]:
    """Output of a program that runs on one core, and its seconds of user time."""
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, [CORE]))
    printed = child.stdout.read() if child.stdout else ""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{words[0]} ended with {child.returncode}")
    return printed, usage.ru_utime


def counted(*words: str | Path) -> tuple[int, int, str]:
    """Instructions, misses of a first-level instruction cache of 32 KiB, and the program's output."""
    log = TARGET / "before/cachegrind"
    sizes = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64"]
    printed = run("valgrind", "--tool=cachegrind", "--cache-sim=yes", *sizes, "--cachegrind-out-file=/dev/null", f"--log-file={log}", *words)
    text = log.read_text()
    numbers = [re.search(rf"{name}:\s+([\d,]+)", text) for name in ["I +refs", "I1 +misses"]]
    refs, misses = (int(found.group(1).replace(",", "")) for found in numbers if found)
    return refs, misses, printed


def each(program: Path, less: list[str], more: list[str]) -> float:
    """Instructions of a message or segment: the difference of two lengths, which leaves the set-up out."""
    (less_refs, _, less_printed), (more_refs, _, more_printed) = counted(program, *less), counted(program, *more)
    return (more_refs - less_refs) / (int(more_printed.split()[0]) - int(less_printed.split()[0]))


def medians(builds: list[Build], measure: Callable[[Build], list[float]]) -> list[list[float]]:
    """Median of each number over alternating runs, by build."""
    runs: list[list[list[float]]] = [[] for _ in builds]
    for _ in range(RUNS):
        for build, of_build in zip(builds, runs, strict=True):
            of_build.append(measure(build))
    return [[statistics.median(column) for column in zip(*of_build, strict=True)] for of_build in runs]


def change(before: float, now: float) -> str:
    return f"{(now / before - 1) * 100:+.1f} %"


def instructions(before: Build, profile: Build, now: Build) -> None:
    print("| instructions of a message or segment | before | before, today's profile | now | to before | to before, today's profile |")
    print("|---|---:|---:|---:|---:|---:|")
    rows: list[tuple[str, str, list[str], list[str], list[str]]] = [
        ("SCTP, bulk, 1 KiB, `thin`", "sctp", ["bulk", "1024", "5"], ["bulk", "1024", "15"], ["thin"]),
        ("SCTP, bulk, 64 KiB, `thin`", "sctp", ["bulk", "65536", "5"], ["bulk", "65536", "15"], ["thin"]),
        ("SCTP, thin, 1,000 associations, `thin`", "sctp", ["thin", "1000", "4"], ["thin", "1000", "8"], ["thin"]),
        ("SCTP, thin, 1,000 associations, `rfc`", "sctp", ["thin", "1000", "4"], ["thin", "1000", "8"], ["rfc"]),
        ("TCP, bulk, `thin-rdb`", "tcp", ["bulk", "5000"], ["bulk", "15000"], ["thin-rdb"]),
        ("TCP, thin, `thin-rdb`", "tcp", ["thin", "2000"], ["thin", "6000"], ["thin-rdb"]),
    ]
    for name, protocol, less, more, preset in rows:
        # The first version of SCTP's example knew `rfc` alone by name, its default was `thin`.
        old = [] if protocol == "sctp" and preset == ["thin"] else preset
        counts = [
            each(build.sctp if protocol == "sctp" else build.tcp, less + words, more + words)
            for build, words in [(before, old), (profile, old), (now, preset)]
        ]
        print(f"| {name} | {' | '.join(f'{count:,.0f}' for count in counts)} | {change(counts[0], counts[2])} | {change(counts[1], counts[2])} |")


def memory(builds: list[Build]) -> None:
    print("| memory | before | now | |\n|---|---:|---:|---:|")
    printed = [run(build.example("memory")) for build in builds]
    before, now = (int(number) for text in printed for number in re.findall(r"after 4 thin messages: +(\d+)", text))
    print(f"| bytes of an SCTP association and end, after four thin messages | {before:,} | {now:,} | {change(before, now)} |")


def processor_time(builds: list[Build]) -> None:
    def measure(build: Build) -> list[float]:
        rates = re.findall(r"(\d+) MB per", on_core(build.example("cost"), "throughput", "thin")[0])
        thin = on_core(build.example("cost"), "thin")[0]
        micros = {
            (int(count), preset.lower()): float(value)
            for count, preset, value in re.findall(r"(\d+) associations, (\w+): +([\d.]+) us", thin)
        }
        segments = [on_core(build.tcp, kind, "1000000", "thin-rdb")[1] for kind in ["bulk", "thin"]]
        return [*map(float, rates), *(micros[key] for key in [(10_000, "thin"), (10_000, "rfc"), (100, "thin")]), *segments]

    print("| traffic | before | before, today's profile | now | to before | to before, today's profile |")
    print("|---|---:|---:|---:|---:|---:|")
    names = [
        "SCTP, bulk, 1 KiB, `thin`, MB a second of processor time", "SCTP, bulk, 64 KiB, `thin`, MB a second of processor time",
        "SCTP, thin, 10,000 associations, `thin`, µs", "SCTP, thin, 10,000 associations, `rfc`, µs",
        "SCTP, thin, 100 associations, `thin`, µs", "TCP, bulk, `thin-rdb`, µs a segment", "TCP, thin, `thin-rdb`, µs a segment",
    ]  # fmt: skip
    for name, (before, profile, now) in zip(names, zip(*medians(builds, measure), strict=True), strict=True):
        figures = " | ".join(f"{value:,.0f}" if "MB" in name else f"{value:.2f}" for value in [before, profile, now])
        print(f"| {name} | {figures} | {change(before, now)} | {change(profile, now)} |", flush=True)


def many_flows(builds: list[Build]) -> None:
    print("| scenario | flows | instructions, before | now | misses, before | now | ns a packet sent, before | now | | KiB a flow, before | now |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for scenario, flows, timed, short in [
        ("fixed", "10", "20", "3"), ("fixed", "1000", "20", "3"), ("thin", "10", "10002", "1002"), ("thin", "1000", "102", "12"),
    ]:  # fmt: skip

        def measure(build: Build, words: tuple[str, ...] = (scenario, flows, timed)) -> list[float]:
            columns = on_core(build.example("dumbbell_speed"), *words)[0].splitlines()[-1].split()
            return [float(columns[9]), float(columns[3])]

        counts = [counted(build.example("dumbbell_speed"), scenario, flows, short)[:2] for build in builds]
        (before, now) = medians(builds, measure)
        pairs = [f"{counts[0][k] / 1e6:.1f} | {counts[1][k] / 1e6:.1f}" for k in [0, 1]]
        time = f"{before[0]:.0f} | {now[0]:.0f} | {change(before[0], now[0])}"
        print(f"| {scenario} | {flows} | {' | '.join(pairs)} | {time} | {before[1]:.1f} | {now[1]:.1f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(f"{__doc__}run.py: wrong: {' '.join(sys.argv[1:])}: it takes no arguments")
    prepare()
    before = Build("released", TREE, "", "instructions", [])
    profile = Build("profile", TREE, "", "instructions", UNITS)
    now = Build("now", ROOT, "thinstream-", "{}_instructions", [])
    print(f"before: {BEFORE}, now: {run('git', 'rev-parse', '--short', 'HEAD').strip()}\n")
    processor_time([before, profile, now])
    print()
    many_flows([before, now])
    print()
    instructions(before, profile, now)
    print()
    memory([before, now])
