"""An endpoint that is far away: `delayed.py PORT MILLISECONDS` is a proxy in front of a port here.

It prints its URL, and serves until it is stopped. Bytes take half a round trip each way; those that
open a connection take a whole one more, for TCP's handshake, which a proxy cannot delay.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOST = 1 << 16


@contextmanager
def delayed(port: int, round_trip_s: float) -> Iterator[str]:
    """The URL of the server at `port`, that far away, in a process of its own."""
    command = [sys.executable, __file__, str(port), str(round_trip_s * 1000)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def _serve(port: int, round_trip_s: float) -> None:
    talking: set[asyncio.Task[None] | None] = set()  # asyncio itself only has weak references

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.add(asyncio.current_task())
        try:
            await forward_both_ways(reader, writer)
        finally:
            talking.discard(asyncio.current_task())

    async def forward_both_ways(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # the server is gone
            writer.transport.abort()
            return
        half = round_trip_s / 2
        forward = asyncio.create_task(_relay(reader, forth, half, opened_s=round_trip_s))
        await _relay(back, writer, half)
        forward.cancel()  # a server that has closed reads nothing more
        for end in (writer, forth):
            end.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, half_s: float, opened_s: float = 0.0
) -> None:
    """Write what comes `half_s` seconds later, and nothing within `opened_s` seconds before."""
    loop = asyncio.get_running_loop()
    opened = loop.time() + opened_s
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def depart() -> None:
        data = b"anything"
        while data:
            try:
                data = await reader.read(_MOST)
            except OSError:  # reset
                data = b""
            under_way.put_nowait((max(loop.time(), opened) + half_s, data))

    departing = asyncio.create_task(depart())
    try:
        while True:
            at, data = await under_way.get()
            await asyncio.sleep(at - loop.time())
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        pass  # the other end is gone
    finally:
        departing.cancel()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
