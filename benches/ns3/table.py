"""Prints what ns-3 (files of tab-separated lines) and the laboratory (rows.csv) say of the same dumbbell, side by side."""

import csv
import pathlib
import statistics
import sys

# Student's t at 97.5 %, by degrees of freedom.
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 14: 2.145, 19: 2.093, 24: 2.064, 29: 2.045}
UNITS = {"goodput": "Mbit/s", "loss": "%", "timeouts": "a run"}


def interval(values):
    """Mean, and half the width of its 95 % interval."""
    if len(values) < 2:
        return values[0], float("nan")
    freedom = max((f for f in T if f <= len(values) - 1), default=1)
    return statistics.mean(values), T[freedom] * statistics.stdev(values) / len(values) ** 0.5


def of_ns3(path):
    """Goodput, loss and timeouts by seed."""
    found = {name: [] for name in UNITS}
    for line in open(path, encoding="utf-8"):
        _, _, _, goodput, _, _, loss, timeouts, _ = line.split("\t")
        found["goodput"].append(float(goodput))
        found["loss"].append(float(loss))
        found["timeouts"].append(float(timeouts))
    return found


def of_lab(path):
    """Goodput, loss and timeouts by seed, for each policy and delay of acknowledgements."""
    keys = {
        ("greedy", "goodput.sum"): ("goodput", 1e-3),
        ("link forward", "link.loss"): ("loss", 1.0),
        ("greedy", "timeouts"): ("timeouts", 1.0),
    }
    found = {}
    for row in csv.DictReader(open(path, encoding="utf-8")):
        key = keys.get((row.get("flow", row.get("of")), row["measure"]))
        if key:
            case = row["flow.greedy.policy"], row["flow.greedy.receiver.delayed_ack"]
            found.setdefault(case, {}).setdefault(key[0], []).append(float(row["value"]) * key[1])
    return found


def main():
    print("| policy | delayed acknowledgements | what | ns-3 | here | difference |")
    print("|---|---|---|---:|---:|---:|")
    for (policy, delay), measures in of_lab(sys.argv[2]).items():
        ns3 = of_ns3(pathlib.Path(sys.argv[1], f"{policy.split()[-1]}-{delay}.tsv"))
        for name, unit in UNITS.items():
            (there, wide), (mine, narrow) = interval(ns3[name]), interval(measures[name])
            # Of next to none there is no share.
            change = f"{100 * (mine / there - 1):+.1f} %" if there > 0 else "-"
            values = f"{there:.3f} ± {wide:.3f} | {mine:.3f} ± {narrow:.3f}"
            print(f"| {policy} | {delay} | {name} ({unit}) | {values} | {change} |")


if __name__ == "__main__":
    main()
