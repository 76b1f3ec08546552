"""pyotritonclient.http on the client bench.

    pip install pyotritonclient
    v2-conformance client -- python pyotritonclient_http.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import asyncio

import pyotritonclient.http as http
from pyotritonclient import utils
from triton_interface import Adapter

import bench

ADAPTER = Adapter(http, utils, parameters=False)


async def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    client = http.InferenceServerClient(task["url"])  # it has no timeout to set
    return [await ADAPTER.line(client.infer, *request) for request in bench.requests_of(task)]


if __name__ == "__main__":
    bench.serve(lambda task: asyncio.run(lines(task)))
