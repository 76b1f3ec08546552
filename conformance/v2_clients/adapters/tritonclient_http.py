"""tritonclient.http on the client bench.

    pip install "tritonclient[http]"
    v2-conformance client -- python tritonclient_http.py

The task and the printed lines are described in docs/clients.md of v2-conformance.
"""

import base64
import json
import struct
import sys
from importlib.metadata import version

import ml_dtypes  # tritonclient depends on it: its type for BF16
import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

CLIENT = {"name": "tritonclient.http", "version": version("tritonclient")}


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
    elif tensor["from"] == "float32":
        raise Unsupported(
            "tritonclient.http: InferInput.set_data_from_numpy takes BF16 only as "
            "ml_dtypes.bfloat16, so the caller rounds"
        )
    else:
        dtype = np.dtype(triton_to_np_dtype(datatype))
        array = np.frombuffer(raw, dtype if datatype == "BF16" else dtype.newbyteorder("<"))
    array = array.reshape(tensor["shape"])
    if tensor["layout"] == "column-major":
        return np.asfortranarray(array)
    if tensor["layout"] == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    return array


def input_of(tensor):
    """The client's object for an input of the task."""
    if tensor["parameters"]:
        raise Unsupported("tritonclient.http: InferInput has no parameters of the caller")
    given = http.InferInput(tensor["name"], tensor["shape"], tensor["datatype"])
    return given.set_data_from_numpy(array_of(tensor), binary_data=tensor["form"] == "binary")


def output_of(output):
    """The client's object for an output that the task asks for."""
    if output["parameters"]:
        raise Unsupported("tritonclient.http: InferRequestedOutput has no parameters of the caller")
    if output["form"] is None:
        return http.InferRequestedOutput(output["name"])
    return http.InferRequestedOutput(output["name"], binary_data=output["form"] == "binary")


def arguments_of(request, headers):
    """The arguments of InferenceServerClient.infer() for a request of the task."""
    asked = request["outputs"]
    if request["binary_data_output"] is False or (request["binary_data_output"] and asked):
        raise Unsupported(
            "tritonclient.http: infer() has no binary_data_output: it sends true whenever no "
            "outputs are named, and refuses it among its parameters"
        )
    return {
        "model_name": request["model"],
        "model_version": request["version"] or "",
        "inputs": [input_of(tensor) for tensor in request["inputs"]],
        "outputs": None if asked is None else [output_of(output) for output in asked],
        "request_id": request["id"] or "",
        "parameters": request["parameters"] or None,
        "headers": headers,
        "request_compression_algorithm": request["request_compression"],
        "response_compression_algorithm": request["response_compression"],
    }


def tensor_of(name, array):
    """Return what the user of the client has, an array, as the bench wants it."""
    if array.dtype == object:
        elements = [e if isinstance(e, bytes) else str(e).encode() for e in array.flat]
        raw = b"".join(struct.pack("<I", len(e)) + e for e in elements)
        datatype = "BYTES"
    elif array.dtype == ml_dtypes.bfloat16:
        raw, datatype = array.tobytes(), "BF16"
    else:
        kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
        datatype = {"b": "BOOL", "u": f"UINT{bits}", "i": f"INT{bits}", "f": f"FP{bits}"}[kind]
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    data = base64.b64encode(raw).decode()
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "data": data}


def line_of(result):
    """The line for a result of the client."""
    response = result.get_response()
    names = [output["name"] for output in response["outputs"]]
    line = {"outputs": [tensor_of(name, result.as_numpy(name)) for name in names]}
    optional = ("model_name", "model_version", "id")
    return line | {key: str(response[key]) for key in optional if response.get(key) is not None}


def text_of(error):
    """Return what a user reads of an error. The client's own may have a message that is no text."""
    try:
        return str(error)
    except Exception as second:
        return f"{type(second).__name__}: {second}"


def answer(client, request, headers):
    """The line for one request of the task."""
    try:
        return line_of(client.infer(**arguments_of(request, headers)))
    except Unsupported as reason:
        return {"unsupported": str(reason)}
    except InferenceServerException as error:
        status = error.status() or ""
        return {"error": text_of(error), "status": int(status) if status.isdigit() else None}
    except Exception as error:  # whatever the client raises is what its user gets
        return {"error": f"{type(error).__name__}: {error}", "status": None}


def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    half = task["timeout_s"] / 2
    url = task["url"].removeprefix("http://")
    client = http.InferenceServerClient(url, connection_timeout=half, network_timeout=half)
    callers = {}  # a caller that wants the same headers again passes the same dictionary again
    for request in task["requests"]:
        headers = callers.setdefault(repr(request["headers"]), dict(request["headers"]))
        line = answer(client, request, headers or None)
        seen = {name: str(value) for name, value in headers.items()}
        yield {**line, "headers": seen, "client": CLIENT}


def main():
    """Do every task on standard input."""
    for text in sys.stdin:
        task = json.loads(text)
        said = {"scenario": task["scenario"], "lines": list(lines(task))}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
