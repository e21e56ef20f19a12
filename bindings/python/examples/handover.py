"""A satellite is replaced by the next every 15 s, and nothing arrives for 300 ms. No field of a policy knows the time table:
this one does, and sends again what left in the gap as soon as that is over."""

from thinstream import advice, lab

PERIOD, GAP = 15.0, 0.3


class Handover(advice.Advisor):
    def __init__(self, flow: advice.Flow) -> None:
        super().__init__(flow)
        self.awake = False

    def on_sent(self, event: advice.Sent, path: advice.Path) -> advice.Answer:
        if self.awake:
            return None
        self.awake = True
        return advice.Wake(PERIOD - event.at % PERIOD + GAP + 0.001)

    def on_wake(self, at: float, path: advice.Path) -> advice.Answer:
        gone = [unit.unit for unit in path.units if at - GAP - 0.01 < unit.sent_at <= at - 0.001]
        return [*map(advice.Lose, gone), advice.Wake(PERIOD)]


GAPS = [f"{at}s..{at}.3s" for at in range(15, 600, 15)]
PLAN = f"""
title = "A game over a satellite"
run = {{ duration = "600s", seeds = 5 }}
network = {{ kind = "pair", rtt = "40ms", jitter = "5ms", loss = "0.5%", blackouts = {GAPS} }}
flow = [{{ name = "game", transport = "sctp", policy = "latency", workload = {{ arrivals = "100ms", size = 100 }} }}]
measure = {{ latency = {{ of = "game", quantiles = [0.99, 0.999] }}, cost = {{ of = "game" }} }}
[sweep]
"flow.game.advice" = ["none", "handover"]
"""

if __name__ == "__main__":
    means = lab.run(PLAN, advisors={"handover": Handover}).means()
    for row in means.to_pylist():
        if row["measure"] in ("latency.mean", "latency.quantile", "cost.packets"):
            what = row["measure"], row["labels"]
            print(row["flow.game.advice"], *what, f"{row['mean']:.1f}", row["unit"])
