"""Exercises of a client of data channels on aiortc: four kinds to a server that sends back what it gets, opens a channel of its
own, and closes a channel that says so. `exercises.py offer ADDRESS` brings an offer to the server, `answer ADDRESS` takes the server's; the
result is printed as JSON behind RESULT.
"""

import asyncio
import json
import sys

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

PATIENCE = 60.0
KINDS = {
    "ordered": {},
    "unordered": {"ordered": False},
    "once": {"maxRetransmits": 0},
    "brief": {"ordered": False, "maxPacketLifeTime": 200},
}


class Watched:
    """A channel whose events wait to be taken."""

    def __init__(self, channel) -> None:
        self.channel = channel
        self.opened, self.closed = asyncio.Event(), asyncio.Event()
        self.messages: asyncio.Queue = asyncio.Queue()
        channel.on("open", self.opened.set)
        channel.on("close", self.closed.set)
        channel.on("message", self.messages.put_nowait)

    async def answer(self, limit: float = PATIENCE) -> bytes:
        return await asyncio.wait_for(self.messages.get(), limit)


async def answered(offer: str, host: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(offer.encode())
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer.decode()


async def volley(watched: Watched, limit: float) -> int:
    for number in range(30):
        watched.channel.send(bytes([number]) * 100)
        await asyncio.sleep(0.015)
    seen: set[int] = set()
    try:
        while len(seen) < 30:
            seen.add((await watched.answer(limit))[0])
    except asyncio.TimeoutError:
        pass
    return len(seen)


async def main(what: str, host: str, port: int) -> None:
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    from_server: asyncio.Queue = asyncio.Queue()
    connection.on("datachannel", from_server.put_nowait)
    if what == "answer":
        reader, writer = await asyncio.open_connection(host, port)
        await connection.setRemoteDescription(RTCSessionDescription((await reader.read()).decode(), "offer"))
    channels = {name: Watched(connection.createDataChannel(name, **kind)) for name, kind in KINDS.items()}
    if what == "answer":
        await connection.setLocalDescription(await connection.createAnswer())
        writer.write(connection.localDescription.sdp.encode())
        writer.write_eof()
    else:
        await connection.setLocalDescription(await connection.createOffer())
        answer = await answered(connection.localDescription.sdp, host, port)
        await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    for watched in channels.values():
        await asyncio.wait_for(watched.opened.wait(), PATIENCE)
    sizes = {}
    for size in [1, 100, 1200, 16000, 65535]:
        sent = bytes(at % 251 for at in range(size))
        channels["ordered"].channel.send(sent)
        sizes[str(size)] = await channels["ordered"].answer() == sent
    volleys = {}
    for name, watched in channels.items():
        volleys[name] = await volley(watched, PATIENCE if name in ("ordered", "unordered") else 5.0)
    theirs = await asyncio.wait_for(from_server.get(), PATIENCE)
    channels["unordered"].channel.send("close")
    await asyncio.wait_for(channels["unordered"].closed.wait(), PATIENCE)
    result = {"sizes": sizes, "volleys": volleys, "from_server": theirs.label, "closed": True}
    print("RESULT", json.dumps(result), flush=True)
    await connection.close()


if __name__ == "__main__":
    host, _, port = sys.argv[2].rpartition(":")
    asyncio.run(main(sys.argv[1], host, int(port)))
