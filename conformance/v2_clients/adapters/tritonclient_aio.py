"""tritonclient.http.aio on the client bench.

    pip install "tritonclient[http]"
    v2-conformance client -- python tritonclient_aio.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import asyncio

import tritonclient.http.aio as http
from triton_interface import Adapter
from tritonclient import utils

import bench

ADAPTER = Adapter(http, utils)


async def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    url = task["url"].removeprefix("http://")
    # conn_timeout is that of a whole request: total in aiohttp.ClientTimeout
    async with http.InferenceServerClient(url, conn_timeout=task["timeout_s"] / 2) as client:
        return [await ADAPTER.line(client.infer, *request) for request in bench.requests_of(task)]


if __name__ == "__main__":
    bench.serve(lambda task: asyncio.run(lines(task)))
