"""tritonclient_futures on the client bench.

    pip install tritonclient-futures "tritonclient[http]==2.24.0"
    v2-conformance client -- python futures_http.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import asyncio

import tritonclient_futures as http
from triton_interface import Adapter
from tritonclient import utils

import bench

ADAPTER = Adapter(http, utils, parameters=False)


async def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    # It has no timeout to set.
    with http.InferenceServerClient(task["url"].removeprefix("http://")) as client:
        return [await ADAPTER.line(client.infer, *request) for request in bench.requests_of(task)]


if __name__ == "__main__":
    bench.serve(lambda task: asyncio.run(lines(task)))
