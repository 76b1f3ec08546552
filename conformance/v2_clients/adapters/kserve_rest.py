"""KServe's InferenceRESTClient on the client bench.

    pip install kserve
    v2-conformance client -- python kserve_rest.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import asyncio
import base64
import json
import ssl
import struct
import sys
from importlib.metadata import version

import httpx
import numpy as np
from kserve import InferInput, InferRequest
from kserve.inference_client import InferenceRESTClient, RESTConfig
from kserve.protocol.infer_type import RequestedOutput
from kserve.utils.numpy_codec import to_np_dtype

TLS = ssl.create_default_context()  # each client would load its own, which takes 200 ms
CLIENT = {"name": "kserve.InferenceRESTClient", "version": version("kserve")}


class Unsupported(Exception):
    """The client has no way to say what the task asks for; the message names what is missing."""


def array_of(tensor):
    """The array that the caller of the client has: an input of the task, laid out as it says."""
    raw, datatype = base64.b64decode(tensor["data"]), tensor["datatype"]
    if datatype == "BYTES":
        elements = []
        while raw:
            (length,) = struct.unpack_from("<I", raw)
            elements.append(raw[4 : 4 + length])
            raw = raw[4 + length :]
        array = np.empty(len(elements), object)
        array[:] = elements
    elif datatype == "BF16":
        raise Unsupported("kserve.utils.numpy_codec: from_np_dtype has no type for BF16")
    else:
        array = np.frombuffer(raw, np.dtype(to_np_dtype(datatype)).newbyteorder("<"))
    array = array.reshape(tensor["shape"])
    if tensor["layout"] == "column-major":
        return np.asfortranarray(array)
    if tensor["layout"] == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    return array


def input_of(tensor):
    """The client's object for an input of the task."""
    parameters = dict(tensor["parameters"]) or None
    given = InferInput(tensor["name"], tensor["shape"], tensor["datatype"], parameters=parameters)
    given.set_data_from_numpy(array_of(tensor), binary_data=tensor["form"] == "binary")
    return given


def output_of(output):
    """The client's object for an output that the task asks for."""
    parameters = dict(output["parameters"])
    if output["form"] is not None:
        parameters["binary_data"] = output["form"] == "binary"
    return RequestedOutput(output["name"], parameters)


def request_of(request):
    """The client's object for a request of the task."""
    for missing in ("version", "request_compression"):
        if request[missing]:
            raise Unsupported(f"kserve: InferenceRESTClient.infer() has no {missing}")
    parameters = dict(request["parameters"])
    if request["binary_data_output"] is not None:
        parameters["binary_data_output"] = request["binary_data_output"]
    asked = request["outputs"]
    return InferRequest(
        model_name=request["model"],
        infer_inputs=[input_of(tensor) for tensor in request["inputs"]],
        request_id=request["id"],
        parameters=parameters or None,
        request_outputs=None if asked is None else [output_of(output) for output in asked],
    )


def tensor_of(output):
    """Return what the user of the client has, an output with its array, as the bench wants it."""
    array = output.as_numpy()
    if array.dtype == object:
        elements = [e if isinstance(e, bytes) else str(e).encode() for e in array.flat]
        raw = b"".join(struct.pack("<I", len(e)) + e for e in elements)
        datatype = "BYTES"
    else:
        kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
        datatype = {"b": "BOOL", "u": f"UINT{bits}", "i": f"INT{bits}", "f": f"FP{bits}"}[kind]
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    data = base64.b64encode(raw).decode()
    return {"name": output.name, "datatype": datatype, "shape": list(array.shape), "data": data}


async def answer(client, url, request, headers):
    """The line for one request of the task."""
    if coding := request["response_compression"]:
        # httpx's own way to ask for a coding
        headers = {**headers, "Accept-Encoding": coding}
    try:
        response = await client.infer(url, request_of(request), request["model"], headers or None)
        line = {"outputs": [tensor_of(output) for output in response.outputs]}
        for key in ("model_name", "model_version", "id"):
            if getattr(response, key) is not None:
                line[key] = str(getattr(response, key))
        return line
    except Unsupported as reason:
        return {"unsupported": str(reason)}
    except httpx.HTTPStatusError as error:
        return {"error": str(error), "status": error.response.status_code}
    except Exception as error:  # whatever the client raises is what its user gets
        return {"error": f"{type(error).__name__}: {error}", "status": None}


async def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    found = []
    callers = {}  # a caller that wants the same headers again passes the same dictionary again
    config = RESTConfig(protocol="v2", timeout=task["timeout_s"] / 2, verify=TLS)
    async with InferenceRESTClient(config) as client:
        for request in task["requests"]:
            headers = callers.setdefault(repr(request["headers"]), dict(request["headers"]))
            line = await answer(client, task["url"], request, headers)
            seen = {name: str(value) for name, value in headers.items()}
            found.append({**line, "headers": seen, "client": CLIENT})
    return found


def main():
    """Do every task on standard input."""
    for text in sys.stdin:
        task = json.loads(text)
        said = {"scenario": task["scenario"], "lines": asyncio.run(lines(task))}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
