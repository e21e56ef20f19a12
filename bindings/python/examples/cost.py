"""Cost of a policy in Python: the same runs with linear timeouts as a field, in Python, and beside an object that hears
every event."""

import time

from thinstream import advice, lab

TEXT = """
title = "Thin streams with losses"
run = { duration = "600s", seeds = 4 }
network = { kind = "pair", rtt = "100ms", loss = "10%" }
flow = [{ name = "game", count = 10, transport = "sctp", workload = { arrivals = "100ms", size = 100 }, policy = { preset = "rfc", thin-detector = "fewer-than-four"MORE } }]
measure = { latency = { of = "game" } }
"""


class Counted(advice.Advisor):
    calls = 0


class Linear(Counted):
    def on_timeout(self, event: advice.Timeout, path: advice.Path) -> advice.Answer:
        Linear.calls += 1
        return advice.Doublings(event.doublings - 1) if event.thin else None


class Everything(Counted):
    def hear(self, event: object, path: object) -> None:
        Everything.calls += 1

    on_sent = on_resent = on_acknowledged = on_lost = on_timeout = hear
    on_probed = on_timer_set = on_window_changed = on_repaired = on_spurious = hear


def seconds(more: str, advisors: dict[str, advice.AdvisorFactory] | None = None) -> float:
    """The shortest of three times of all runs, on one thread."""
    text = TEXT.replace("MORE", more)
    if advisors:
        text = text.replace("count", 'advice = "mine", count')
    times = []
    for _ in range(3):
        began = time.process_time()
        lab.run(text, jobs=1, advisors=advisors)
        times.append(time.process_time() - began)
    return min(times)


if __name__ == "__main__":
    field = seconds(', backoff = "linear"')
    print(f"linear timeouts as a field: {field:.2f} s")
    policies: dict[str, type[Counted]] = {
        "linear timeouts in Python": Linear,
        "every event heard": Everything,
    }
    for name, policy in policies.items():
        took = seconds(', backoff = "linear"' if policy is Everything else "", {"mine": policy})
        events = policy.calls // 3
        each = (took - field) / events * 1e6
        print(f"{name}: {took:.2f} s, {took / field:.2f} times; {events} calls, {each:.1f} us each")
