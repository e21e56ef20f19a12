"""Packet captures (pcap and pcapng): which streams are thin, what was lost and sent again, how late it came.

A capture should be taken at the sender of what is analysed; with another one of the same traffic at its receiver, one-way
delays and true losses are known, too.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from thinstream._native import Table, analyse

__all__ = ["Choice", "Summary", "latency", "summary"]

_Path = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Summary:
    """Streams, latencies and the whole report of a capture."""

    streams: Table
    """A row for each direction of a connection with user data, a column for each number: `id`, `source`,
    `thin.is_thin`, `retransmissions.by_cause.timeout`, `ack_latency_ms.all.p99` and so on (docs/json.md)."""
    latencies: Table
    """Latencies, in milliseconds: a row for each stream and kind of latency that it has, with `count`, `mean`,
    `p50`, `p90`, `p99`, `p999`, `max`."""
    report: dict[str, Any]
    """All of it, as `thinstream trace summary --json` prints it."""

    @property
    def damage(self) -> str | None:
        """Place at which the capture ends early, and the reason; what came before counts."""
        damage: str | None = self.report["capture"]["damage"]
        return damage

    def __repr__(self) -> str:
        packets, streams = self.report["capture"]["packets"], len(self.streams)
        return f"<thinstream.trace.Summary of {packets} packets, {streams} stream{'' if streams == 1 else 's'}>"


def summary(
    path: _Path,
    *,
    receiver: _Path | None = None,
    hosts: Sequence[str] = (),
    ports: Sequence[int] = (),
    udp_ports: Sequence[int] = (),
    start: str = "0s",
    end: str | None = None,
    interface: str | None = None,
) -> Summary:
    """Analyses a capture; `receiver` is one of the same traffic, taken at the receivers.

    `hosts` and `ports` choose connections, `start` and `end` ("10s") packets by the time since the capture's first,
    `interface` packets of one interface. `udp_ports` carry SCTP, beside 9899.
    """
    streams, latencies, text = analyse(
        path,
        receiver=receiver,
        hosts=list(hosts),
        ports=list(ports),
        udp_ports=list(udp_ports),
        start=start,
        end=end,
        interface=interface,
    )
    return Summary(streams, latencies, json.loads(text))


class Choice(TypedDict, total=False):
    """The part of a capture that `summary` reads: hosts, ports, a span of time, an interface."""

    hosts: Sequence[str]
    ports: Sequence[int]
    udp_ports: Sequence[int]
    start: str
    end: str | None
    interface: str | None


def latency(path: _Path, *, receiver: _Path | None = None, **choice: Unpack[Choice]) -> Table:
    """Latencies as of `Summary.latencies`. Parameters are those of `summary`; delays one way and to the application
    need `receiver`."""
    return summary(path, receiver=receiver, **choice).latencies
