"""Reads the tasks of v2-conformance's client bench and prints the answers, for the adapters here.

docs/clients.md of v2-conformance describes both.
"""

import base64
import json
import struct
import sys

import numpy as np


class Unsupported(Exception):
    """The client has no way to say what the task asks for; the message names what is missing."""


def array_of(tensor, dtype):
    """Return an input of the task as its caller has it: an array that lies in memory as it says.

    `dtype` is numpy's type of its elements; those of BYTES are Python's bytes.
    """
    raw = base64.b64decode(tensor["data"])
    if tensor["datatype"] == "BYTES":
        elements = []
        while raw:
            (length,) = struct.unpack_from("<I", raw)
            elements.append(raw[4 : 4 + length])
            raw = raw[4 + length :]
        array = np.empty(len(elements), object)
        array[:] = elements
    else:
        array = np.frombuffer(raw, np.dtype(dtype).newbyteorder("<"))
    array = array.reshape(tensor["shape"])
    if tensor["layout"] == "column-major":
        return np.asfortranarray(array)
    if tensor["layout"] == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    return array


def blob_of(array):
    """Return what the user of a client has, an array, as its datatype and its bytes in a line."""
    if array.dtype == object:
        elements = [e if isinstance(e, bytes) else str(e).encode() for e in array.flat]
        return "BYTES", b"".join(struct.pack("<I", len(e)) + e for e in elements)
    kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
    names = {"b": "BOOL", "u": f"UINT{bits}", "i": f"INT{bits}", "f": f"FP{bits}", "V": "BF16"}
    return names[kind], array.astype(array.dtype.newbyteorder("<")).tobytes()


def output_of(name, datatype, shape, blob):
    """Return an output for a line."""
    data = base64.b64encode(blob).decode()
    return {"name": name, "datatype": datatype, "shape": list(shape), "data": data}


def members_of(response):
    """Return the members of a response, a dictionary, that a line may have."""
    optional = ("model_name", "model_version", "id")
    return {key: str(response[key]) for key in optional if response.get(key) is not None}


def failed(error, status=None):
    """Return the line for an exception, which is what the client's user gets."""
    if isinstance(error, Unsupported):
        return {"unsupported": str(error)}
    return {"error": f"{type(error).__name__}: {error}", "status": status}


def requests_of(task):
    """Yield the requests of a task, each with its caller's headers: a caller that wants the same
    headers again passes the same dictionary again."""
    callers = {}
    for request in task["requests"]:
        yield request, callers.setdefault(repr(request["headers"]), dict(request["headers"]))


def line_of(client, version, headers, members):
    """Return a whole line: what came of a request, beside the headers as they are now."""
    seen = {name: str(value) for name, value in headers.items()}
    return {**members, "headers": seen, "client": {"name": client, "version": version}}


def serve(lines):
    """Do every task on standard input. `lines` makes the requests of a task in their order, all
    with one client, and returns a line for each."""
    for text in sys.stdin:
        task = json.loads(text)
        print(json.dumps({"scenario": task["scenario"], "lines": lines(task)}), flush=True)
