from pathlib import Path

import pytest

from thinstream import lab

PLAN = """
title = "A thin stream"
[run]
duration = "30s"
seeds = 4
[network]
kind = "pair"
rtt = "100ms"
[[flow]]
name = "thin"
count = 2
transport = "sctp"
policy = "lksctp"
workload = { arrivals = "250ms", size = 100 }
[sweep]
"network.loss" = ["0%", "10%"]
[measure]
latency = { of = "thin", distribution = true }
retransmissions = {}
[[expect]]
where = { "network.loss" = "0%" }
measure = "latency.max"
below = 60
unit = "ms"
source = "half a round trip and what the hosts take"
"""


@pytest.fixture(scope="session")
def text() -> str:
    return PLAN


@pytest.fixture(scope="session")
def plan() -> lab.Plan:
    return lab.plan(PLAN)


@pytest.fixture(scope="session")
def results(plan: lab.Plan) -> lab.Results:
    return lab.run(plan, jobs=2)


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parents[3]
