"""tritonclient.http on the client bench.

    pip install "tritonclient[http]"
    v2-conformance client -- python tritonclient_http.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import asyncio

import tritonclient.http as http
from triton_interface import Adapter
from tritonclient import utils

import bench

ADAPTER = Adapter(http, utils)


async def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    half = task["timeout_s"] / 2
    url = task["url"].removeprefix("http://")
    client = http.InferenceServerClient(url, connection_timeout=half, network_timeout=half)
    return [await ADAPTER.line(client.infer, *request) for request in bench.requests_of(task)]


if __name__ == "__main__":
    bench.serve(lambda task: asyncio.run(lines(task)))
