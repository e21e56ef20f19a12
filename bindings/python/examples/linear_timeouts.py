from thinstream import advice, lab


class LinearTimeouts(advice.Advisor):
    """An expiry of a thin stream's timer does not double the timeout (Petlund et al. 2009)."""

    def on_timeout(self, event: advice.Timeout, path: advice.Path) -> advice.Answer:
        return advice.Doublings(event.doublings - 1) if event.thin else None


PLAN = """
title = "Linear timeouts: a field of the policy, and the same in Python"
run = { duration = "120s", seeds = 5 }
network = { kind = "pair", rtt = "100ms", loss = "15%" }
flow = [{ name = "game", transport = "sctp", workload = { arrivals = "200ms", size = 100 }, policy = { preset = "rfc", thin-detector = "fewer-than-four" } }]
measure = { latency = { of = "game", quantiles = [0.5, 0.99] }, retransmissions = {} }
[sweep]
"how" = [{ name = "not" }, { name = "field", "flow.game.policy.backoff" = "linear" }, { name = "Python", "flow.game.advice" = "mine" }]
"""

results = lab.run(PLAN, advisors={"mine": LinearTimeouts})
rows: dict[str, list[object]] = {"not": [], "field": [], "Python": []}
for row in results.rows().to_pylist():
    rows[row.pop("how")].append(row)
print(len(rows["field"]), "numbers; the same:", rows["field"] == rows["Python"] != rows["not"])
