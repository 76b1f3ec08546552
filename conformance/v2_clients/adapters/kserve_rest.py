"""KServe's InferenceRESTClient on the client bench.

    pip install kserve
    v2-conformance client -- python kserve_rest.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import asyncio
import ssl
from importlib.metadata import version

import httpx
from kserve import InferInput, InferRequest
from kserve.inference_client import InferenceRESTClient, RESTConfig
from kserve.protocol.infer_type import RequestedOutput
from kserve.utils.numpy_codec import to_np_dtype

import bench

TLS = ssl.create_default_context()  # each client would load its own, which takes 200 ms


def input_of(tensor):
    """Return the client's object for an input of the task."""
    if tensor["datatype"] == "BF16":
        raise bench.Unsupported("kserve.utils.numpy_codec: from_np_dtype has no type for BF16")
    parameters = dict(tensor["parameters"]) or None
    given = InferInput(tensor["name"], tensor["shape"], tensor["datatype"], parameters=parameters)
    array = bench.array_of(tensor, to_np_dtype(tensor["datatype"]))
    given.set_data_from_numpy(array, binary_data=tensor["form"] == "binary")
    return given


def requested_of(output):
    """Return the client's object for an output that the task asks for."""
    parameters = dict(output["parameters"])
    if output["form"] is not None:
        parameters["binary_data"] = output["form"] == "binary"
    return RequestedOutput(output["name"], parameters)


def request_of(request):
    """Return the client's object for a request of the task."""
    for missing in ("version", "request_compression"):
        if request[missing]:
            raise bench.Unsupported(f"kserve: InferenceRESTClient.infer() has no {missing}")
    parameters = dict(request["parameters"])
    if request["binary_data_output"] is not None:
        parameters["binary_data_output"] = request["binary_data_output"]
    asked = request["outputs"]
    return InferRequest(
        model_name=request["model"],
        infer_inputs=[input_of(tensor) for tensor in request["inputs"]],
        request_id=request["id"],
        parameters=parameters or None,
        request_outputs=None if asked is None else [requested_of(output) for output in asked],
    )


def read(output):
    """Return an output of the client's response."""
    array = output.as_numpy()
    datatype, blob = bench.blob_of(array)
    return bench.output_of(output.name, datatype, array.shape, blob)


async def line(client, url, request, headers):
    """Make a request of the task, and return its line."""
    sent = headers
    if coding := request["response_compression"]:
        # httpx's own way to ask for a coding
        sent = {**headers, "Accept-Encoding": coding}
    try:
        response = await client.infer(url, request_of(request), request["model"], sent or None)
        members = {"outputs": [read(output) for output in response.outputs]}
        members |= bench.members_of(vars(response))
    except httpx.HTTPStatusError as error:
        members = {"error": str(error), "status": error.response.status_code}
    except Exception as error:  # whatever the client raises is what its user gets
        members = bench.failed(error)
    return bench.line_of("kserve.InferenceRESTClient", version("kserve"), headers, members)


async def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    config = RESTConfig(protocol="v2", timeout=task["timeout_s"] / 2, verify=TLS)
    async with InferenceRESTClient(config) as client:
        return [await line(client, task["url"], *request) for request in bench.requests_of(task)]


if __name__ == "__main__":
    bench.serve(lambda task: asyncio.run(lines(task)))
