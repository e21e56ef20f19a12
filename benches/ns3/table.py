"""Prints what ns-3 (tab-separated lines) and the laboratory (rows.csv) say of the same dumbbell, side by side."""

import csv
import statistics
import sys

# Student's t at 97.5 %, by degrees of freedom.
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 14: 2.145, 19: 2.093, 24: 2.064, 29: 2.045}


def interval(values):
    """Mean, and half the width of its 95 % interval."""
    if len(values) < 2:
        return values[0], float("nan")
    freedom = max((f for f in T if f <= len(values) - 1), default=1)
    return statistics.mean(values), T[freedom] * statistics.stdev(values) / len(values) ** 0.5


def main():
    ns3 = {"goodput": [], "loss": [], "timeouts": []}
    for line in open(sys.argv[1], encoding="utf-8"):
        _, _, _, goodput, _, _, loss, timeouts, _ = line.split("\t")
        ns3["goodput"].append(float(goodput))
        ns3["loss"].append(float(loss))
        ns3["timeouts"].append(float(timeouts))
    here = {}
    keys = {
        ("greedy", "goodput.sum"): ("goodput", 1e-3),
        ("link forward", "link.loss"): ("loss", 1.0),
        ("greedy", "timeouts"): ("timeouts", 1.0),
    }
    for row in csv.DictReader(open(sys.argv[2], encoding="utf-8")):
        found = keys.get((row.get("flow", row.get("of")), row["measure"]))
        if found:
            name, scale = found
            policy = here.setdefault(row["flow.greedy.policy"], {})
            policy.setdefault(name, []).append(float(row["value"]) * scale)
    units = {"goodput": "Mbit/s", "loss": "%", "timeouts": "a run"}
    print("| policy | what | ns-3 | here | difference |")
    print("|---|---|---:|---:|---:|")
    for policy, measures in here.items():
        for name, unit in units.items():
            (there, wide), (mine, narrow) = interval(ns3[name]), interval(measures[name])
            change = 100 * (mine / there - 1)
            print(
                f"| {policy} | {name} ({unit}) | {there:.3f} ± {wide:.3f} | {mine:.3f} ± {narrow:.3f} | {change:+.1f} % |"
            )


if __name__ == "__main__":
    main()
