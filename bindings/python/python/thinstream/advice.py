"""Policies in Python: what a sender's recovery tells, and what may be asked of it.

A flow of a plan names an advisor (`advice = "mine"`), and `lab.run(plan, advisors={"mine": MyAdvisor})` hands it in. Each flow of
each run has an object of its own, whose methods hear what recovery did after each input, before packets leave; they answer
with actions. The effects of its own actions are not told to an advisor. Only methods that a class defines are called, so that
events without a method cost nothing.

Times are seconds of virtual time, to the nanosecond; windows and flights are bytes. Units are numbers of data in the ledger
of sent packets, without gaps: DATA chunks for SCTP, bytes for TCP, where a unit is a range that is named by its first byte.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from thinstream._native import Path, Unit

__all__ = [
    "Acknowledged",
    "Action",
    "Advisor",
    "AdvisorFactory",
    "Answer",
    "Cause",
    "Copy",
    "Doublings",
    "Flow",
    "Lose",
    "Lost",
    "Path",
    "Probed",
    "Repaired",
    "Resent",
    "Sent",
    "Spurious",
    "Timeout",
    "Timer",
    "TimerSet",
    "Unit",
    "Wake",
    "Window",
    "WindowChanged",
]

Cause = Literal["timeout", "fast", "early", "bundled", "probe", "copy"]
"""Evidence of a loss, or the reason of a retransmission."""


class Flow(NamedTuple):
    """The flow that an advisor is made for."""

    name: str
    """Name of the flow's group in the plan."""
    number: int
    """Number in its group, from 0."""
    seed: int
    """Seed of the run."""


class Sent(NamedTuple):
    """A packet left."""

    at: float
    path: int
    packet: int
    new: int
    """Units sent for the first time."""
    again: int
    """Units sent again."""
    bytes: int
    next_unit: int
    """The first unit not sent yet."""


class Resent(NamedTuple):
    """A unit was sent again."""

    at: float
    unit: int
    cause: Cause
    order: int
    """Number of times that it was sent again so far."""


class Acknowledged(NamedTuple):
    """Data was acknowledged."""

    at: float
    path: int
    cumulative: int
    """The first unit not acknowledged cumulatively."""
    bytes: int
    rtt: float | None
    """The sample of the round-trip time, if there is one."""
    rto: float
    """The timeout after it, back-off included."""


class Lost(NamedTuple):
    """Packets were declared lost."""

    at: float
    path: int
    packets: int
    cause: Cause


class Timeout(NamedTuple):
    """A retransmission timer expired."""

    at: float
    path: int
    next_rto: float
    """The timeout after the expiry, back-off included."""
    thin: bool
    """Whether the policy found the stream thin."""
    linear: bool
    """Whether the policy did not double the timeout."""
    doublings: int
    """Number of doublings after the expiry."""


class Probed(NamedTuple):
    """A tail loss probe left."""

    at: float
    path: int
    new: bool
    """Whether the probe carries new data."""


class TimerSet(NamedTuple):
    """A retransmission timer was set."""

    at: float
    path: int
    due: float


class WindowChanged(NamedTuple):
    """The congestion window changed."""

    at: float
    path: int
    cwnd: int
    ssthresh: int
    flight: int


class Repaired(NamedTuple):
    """Redundant copies repaired losses."""

    at: float
    path: int
    units: int


class Spurious(NamedTuple):
    """The peer reported needless retransmissions."""

    at: float
    units: int


class Action:
    """An action that an advisor may ask for. Without a path it is about the path of the event."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Doublings(Action):
    """Sets how often the timeout is doubled, 63 times at most; a running timer follows."""

    doublings: int
    path: int | None = None


@dataclass(frozen=True, slots=True)
class Timer(Action):
    """The running retransmission timer expires after this time, from 1 ms to the policy's longest timeout."""

    after: float
    path: int | None = None


@dataclass(frozen=True, slots=True)
class Lose(Action):
    """Declares a unit lost that left 1 ms ago or earlier: it is sent again, and the window falls as for any loss."""

    unit: int


@dataclass(frozen=True, slots=True)
class Copy(Action):
    """Sends a unit once more that was sent once, 1 ms ago or earlier, before any evidence of a loss."""

    unit: int


@dataclass(frozen=True, slots=True)
class Window(Action):
    """Sets the congestion window, from a full packet to 1 GiB; the controller goes on from there."""

    bytes: int
    path: int | None = None


@dataclass(frozen=True, slots=True)
class Wake(Action):
    """Calls `on_wake` after this time, 1 ms at least, instead of when it was last asked for."""

    after: float


Answer = Action | Iterable[Action] | None
"""One action, several in their order, or none."""


class Advisor:
    """A policy of one flow in one run. Its methods are called in the order of virtual time."""

    version: ClassVar[str | None] = None
    """Name of this state of the code, which a plan gives where results are kept: their folder lacks the code."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def on_sent(self, event: Sent, path: Path) -> Answer:
        """A packet left."""
        return None

    def on_resent(self, event: Resent, path: Path) -> Answer:
        """A unit was sent again."""
        return None

    def on_acknowledged(self, event: Acknowledged, path: Path) -> Answer:
        """Data was acknowledged."""
        return None

    def on_lost(self, event: Lost, path: Path) -> Answer:
        """Packets were declared lost."""
        return None

    def on_timeout(self, event: Timeout, path: Path) -> Answer:
        """A retransmission timer expired."""
        return None

    def on_probed(self, event: Probed, path: Path) -> Answer:
        """A tail loss probe left."""
        return None

    def on_timer_set(self, event: TimerSet, path: Path) -> Answer:
        """A retransmission timer was set."""
        return None

    def on_window_changed(self, event: WindowChanged, path: Path) -> Answer:
        """The congestion window changed."""
        return None

    def on_repaired(self, event: Repaired, path: Path) -> Answer:
        """Redundant copies repaired losses."""
        return None

    def on_spurious(self, event: Spurious, path: Path) -> Answer:
        """The peer reported needless retransmissions."""
        return None

    def on_wake(self, at: float, path: Path) -> Answer:
        """The time of a `Wake` has come; `path` is the first one."""
        return None

    def on_refused(self, at: float, action: Action, reason: str) -> None:
        """An action made no sense, and nothing was done. Unless a class defines this, the run ends with a `RunError`."""


AdvisorFactory = Callable[[Flow], Advisor]
"""A class of advisors, or a function that makes them."""
