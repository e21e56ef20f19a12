"""Plans put together in Python, checked by type checkers; docs/laboratory.md says what the keys mean."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from numbers import Integral, Real
from typing import Any, Literal

from thinstream._errors import PlanError
from thinstream._native import to_toml, to_toml_value

Time = str | timedelta
"""`"50ms"`, or a `timedelta`."""
Policy = str | Mapping[str, Any]
"""A preset's name, or a dictionary with `preset` and what differs."""
Value = str | float | Mapping[str, Any] | Sequence[Any] | timedelta
"""A value of a plan's key; a text is read as a plan's file would have it, or stands for itself: `"100"`, `"5%"`."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Messages, and the times at which they are due."""

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
    """A paper's number or direction, which a result is compared with. `rest` has keys that are not named here."""

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
    """A figure of the report. `rest` has keys that are not named here."""

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
    grace: Time | None = None
    about: str | None = None
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    expect: Sequence[Expect] = ()
    figures: Sequence[Figure] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)
    """Sections that are not named here: `{"small": {"seeds": 1}}`."""

    def to_dict(self) -> dict[str, Any]:
        """The dictionary with the keys of a plan."""
        run = {"duration": self.duration, "seeds": self.seeds}
        return {
            "title": self.title,
            "about": self.about,
            "run": {**run, "warm_up": self.warm_up, "grace": self.grace},
            "network": _section(self.network),
            "flow": [_section(flow) for flow in self.flows],
            "sweep": dict(self.sweep),
            "measure": dict(self.measure),
            "expect": [_section(one) for one in self.expect],
            "figure": [_section(one) for one in self.figures],
            **self.rest,
        }


def _section(of: Network | Flow | Expect | Figure) -> dict[str, Any]:
    named = {key: value for key, value in vars(of).items() if key != "rest"}
    return {**named, **of.rest}


def _plain(value: object) -> object:
    """A value that `json` cannot write, as one that it can."""
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, Workload):
        return vars(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    # Such as numpy's.
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a plan cannot hold {value!r}")


def _to_json(value: object) -> str:
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError as error:
        raise PlanError(f"a plan cannot hold it: {error}") from error


def to_text(plan: PlanBuilder | Mapping[str, Any]) -> str:
    """The text of a plan, as a file has it."""
    return to_toml(_to_json(plan.to_dict() if isinstance(plan, PlanBuilder) else dict(plan)))


def text_of(value: Value) -> str:
    """A value as it is written behind its key; a text as it is."""
    return value if isinstance(value, str) else to_toml_value(_to_json(value))


def varied_of(vary: tuple[str, Iterable[Value]]) -> tuple[str, list[str]]:
    """A key and texts of its values."""
    match vary:
        case (str(key), values) if isinstance(values, Iterable) and not isinstance(values, str):
            return key, [text_of(value) for value in values]
    raise TypeError(f'vary is a key and its values, ("network.loss", ["1%", "5%"]), not {vary!r}')
