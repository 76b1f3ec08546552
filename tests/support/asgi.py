"""The reference server's behaviour as an ASGI application, behind hypercorn."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from socket import create_connection
from typing import Any

import pytest

from support.http2_servers import received
from support.servers import PATIENCE_S, free_port
from v2_conformance.reference.behaviour import Behaviour

_READY_WITHIN_S = 15.0

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def application(behaviour: Behaviour) -> Callable[[Mapping[str, Any], Receive, Send], Any]:
    """An application that answers as `behaviour` does."""

    async def serve(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        fields = [(":method", scope["method"]), (":path", scope["raw_path"].decode())]
        fields += [(name.decode(), value.decode("latin-1")) for name, value in scope["headers"]]
        response = behaviour.handle(received(fields, bytes(body)))
        content = b"".join(map(bytes, response.body))
        headers = [(n.lower().encode(), v.encode("latin-1")) for n, v in response.headers]
        headers.append((b"content-length", str(len(content)).encode()))
        start = {"type": "http.response.start", "status": response.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": content})

    return serve


def _await_port(port: int) -> None:
    """Return once somebody listens there. Raises RuntimeError if nobody does in time."""
    pause = threading.Event()
    deadline = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), create_connection(("127.0.0.1", port), timeout=1):
            return
        pause.wait(0.02)
    raise RuntimeError("hypercorn did not start")


@contextlib.contextmanager
def hypercorn(behaviour: Behaviour) -> Iterator[str]:
    """The base URL of hypercorn in front of `behaviour` while the block runs."""
    asyncio_worker = pytest.importorskip("hypercorn.asyncio", reason="hypercorn is not installed")
    from hypercorn.config import Config

    config = Config()
    port = free_port()
    config.bind = [f"127.0.0.1:{port}"]
    config.accesslog = config.errorlog = None
    config.graceful_timeout = 0.2
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it cancels connections that are open at the end
    stop = asyncio.Event()

    def run() -> None:
        serving = asyncio_worker.serve(application(behaviour), config, shutdown_trigger=stop.wait)
        loop.run_until_complete(serving)
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        _await_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
