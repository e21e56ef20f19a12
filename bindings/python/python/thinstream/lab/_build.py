"""Plans put together in Python, checked by whoever checks types; docs/laboratory.md says what the keys mean."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from thinstream._native import to_toml

Time = str | timedelta
"""`"50ms"`, or a `timedelta`."""
Policy = str | Mapping[str, Any]
"""A preset's name, or a dictionary with `preset` and what differs."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Which messages, when."""

    arrivals: Time
    """`"250ms"`, `"~250ms"` (exponential), an application's name, `"greedy"` and so on."""
    size: int | str | None = None
    streams: int | None = None
    connections: int | None = None


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network: its kind, and what there is to say of its links. `rest` has keys that are not named here."""

    kind: Literal["pair", "two-path", "dumbbell", "chain", "access"]
    rtt: Time | None = None
    delay: Time | None = None
    rate: str | None = None
    queue: str | None = None
    loss: str | None = None
    jitter: str | None = None
    framing: str | None = None
    paired: bool | None = None
    paths: Sequence[Mapping[str, Any]] | None = None
    hops: Sequence[Mapping[str, Any]] | None = None
    forward: Mapping[str, Any] | None = None
    backward: Mapping[str, Any] | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A group of flows. `rest` has keys that are not named here."""

    name: str
    transport: Literal["sctp", "tcp"]
    policy: Policy
    workload: Workload | Mapping[str, Any]
    count: int | None = None
    receiver: Mapping[str, Any] | None = None
    start: Time | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Expect:
    """What a paper says, beside which the result stands. `rest` has keys that are not named here."""

    measure: str
    source: str
    of: str | None = None
    where: Mapping[str, Any] | None = None
    value: float | None = None
    above: float | None = None
    below: float | None = None
    tolerance: float | None = None
    unit: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What is to be seen. `rest` has keys that are not named here."""

    kind: Literal["lines", "bars", "cdf", "ccdf", "heat-map", "curves", "gallery", "ladder"]
    title: str
    measure: str | Sequence[str]
    x: str | None = None
    y: str | None = None
    by: Sequence[str] | None = None
    where: Mapping[str, Any] | None = None
    caption: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PlanBuilder:
    """A plan of flows over a network; `thinstream.lab.plan` checks it."""

    title: str
    network: Network
    flows: Sequence[Flow]
    measure: Mapping[str, Any]
    """`{"latency": {"of": "thin"}, "retransmissions": {}}`."""
    duration: Time
    seeds: int = 1
    warm_up: Time | None = None
    about: str | None = None
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    expect: Sequence[Expect] = ()
    figures: Sequence[Figure] = ()

    def to_dict(self) -> dict[str, Any]:
        """The dictionary with the keys of a plan."""
        return {
            "title": self.title,
            "about": self.about,
            "run": {"duration": self.duration, "seeds": self.seeds, "warm_up": self.warm_up},
            "network": _section(self.network),
            "flow": [_section(flow) for flow in self.flows],
            "sweep": dict(self.sweep),
            "measure": dict(self.measure),
            "expect": [_section(one) for one in self.expect],
            "figure": [_section(one) for one in self.figures],
        }


def _section(of: Network | Flow | Expect | Figure) -> dict[str, Any]:
    named = {key: value for key, value in vars(of).items() if key != "rest"}
    return {**named, **of.rest}


def _plain(value: object) -> object:
    """What JSON does not know."""
    if isinstance(value, timedelta):
        microseconds = value // timedelta(microseconds=1)
        return f"{microseconds}us"
    if isinstance(value, Workload):
        return vars(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a plan cannot hold {value!r}")


def to_text(plan: PlanBuilder | Mapping[str, Any]) -> str:
    """The text of a plan, as a file has it."""
    keys = plan.to_dict() if isinstance(plan, PlanBuilder) else dict(plan)
    return to_toml(json.dumps(keys, default=_plain))
