import struct
from pathlib import Path

import pytest

import thinstream
from thinstream import trace


def tcp(source: int, destination: int, sequence: int, acknowledgement: int, flags: int, data: bytes) -> bytes:
    """An IPv4 packet with a TCP segment, without checksums."""
    ports = (source, destination)
    segment = struct.pack("!HHIIBBHHH", *ports, sequence, acknowledgement, 5 << 4, flags, 65535, 0, 0)
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2]) if source == 5000 else bytes([10, 0, 0, 2, 10, 0, 0, 1])
    size = 20 + len(segment) + len(data)
    return struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0, 64, 6, 0) + ends + segment + data


def write(file: Path, there: float, back: float) -> Path:
    """Twenty messages of 100 bytes, one each 100 ms; the tenth is sent again 310 ms later. Packets are captured `there`
    seconds after they left the sender, and `back` seconds after they left the receiver."""
    packets = [
        (there, tcp(5000, 6000, 0, 0, 2, b"")),
        (0.025 + back, tcp(6000, 5000, 0, 1, 18, b"")),
        (0.05 + there, tcp(5000, 6000, 1, 1, 16, b"")),
    ]
    for number in range(20):
        at = 1 + number / 10
        packets.append((at + there, tcp(5000, 6000, 1 + 100 * number, 1, 24, b"x" * 100)))
        known = 901 if 9 <= number < 13 else 1 + 100 * (number + 1)
        packets.append((at + 0.025 + back, tcp(6000, 5000, 1, known, 16, b"")))
    packets.append((2.21 + there, tcp(5000, 6000, 901, 1, 24, b"x" * 100)))
    with file.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for at, packet in sorted(packets, key=lambda one: one[0]):
            seconds, micros = int(at), round(at % 1 * 1e6)
            out.write(struct.pack("<IIII", seconds, micros, len(packet), len(packet)) + packet)
    return file


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write(tmp_path / "capture.pcap", there=0.0, back=0.025)


def test_a_thin_stream_is_known_with_what_was_sent_again(capture: Path) -> None:
    summary = trace.summary(capture)
    (stream,) = summary.streams.to_pylist()
    assert stream["thin.is_thin"] and stream["protocol"].lower() == "tcp"
    assert stream["packets.data"] == 21 and stream["retransmissions.total"] == 1
    assert stream["payload_bytes.mean"] == 100
    assert summary.streams.to_pandas()["source"][0].startswith("10.0.0.1")
    assert summary.report["connections"] == 1 and summary.damage is None
    assert repr(summary).endswith(" packets, 1 stream>"), "a line, not all of the report"


def test_latency_is_told_by_kind(capture: Path, tmp_path: Path) -> None:
    rows = {row["kind"]: row for row in trace.latency(capture).to_pylist()}
    assert rows["acknowledged"]["count"] > 0
    assert rows["acknowledged"]["max"] >= rows["acknowledged"]["p50"] == pytest.approx(50, rel=0.1)
    assert "to the application" not in rows
    receiver = write(tmp_path / "receiver.pcap", there=0.025, back=0.0)
    both = trace.latency(capture, receiver=receiver)["kind"]
    assert "to the application" in both and "acknowledged" in both


def test_connections_are_chosen_by_port_and_host(capture: Path) -> None:
    assert len(trace.summary(capture, ports=[6000], hosts=["10.0.0.1"]).streams) == 1
    assert len(trace.summary(capture, ports=[7000]).streams) == 0
    assert len(trace.summary(capture, end="500ms").streams) == 0


def test_what_can_be_read_of_a_damaged_capture_is_told(capture: Path) -> None:
    capture.write_bytes(capture.read_bytes()[:-30])
    summary = trace.summary(capture)
    assert summary.damage and len(summary.streams) == 1


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(thinstream.TraceError, match="nowhere.pcap"):
        trace.summary(tmp_path / "nowhere.pcap")
    (tmp_path / "text").write_text("hello, this is no capture at all")
    with pytest.raises(thinstream.TraceError, match="text"):
        trace.summary(tmp_path / "text")
    with pytest.raises(thinstream.TraceError, match="not an IP address"):
        trace.summary(tmp_path / "text", hosts=["somewhere"])
