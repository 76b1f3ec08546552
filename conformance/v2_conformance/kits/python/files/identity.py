"""Inference with models that return INPUTi as OUTPUTi, from bytes to bytes and in any framework.

A tensor stays the bytes that came, or becomes bytes; only what is JSON in the request or in the
response is converted.
"""

import json
import math
import struct

TYPES = "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 FP32 FP64"
CODES = dict(zip(TYPES.split(), "?BHIQbhiqefd", strict=True))  # those of struct


def infer(model, body, at):
    """Return the body of the response and where its JSON ends, None if no blobs follow, to a `body`
    whose JSON ends `at` its header length or else its own. Raises something for a wrong body."""
    check(at <= len(body), "the JSON ends after the body")
    request = json.loads(body[:at].decode(), parse_constant=lambda name: check(False, name))
    specs = {spec["name"]: spec for spec in model["inputs"]}
    tensors = {}
    for entry in request["inputs"]:
        name, datatype, shape = entry["name"], entry["datatype"], entry["shape"]
        size = parameter(entry, "binary_data_size", int)
        check(name not in tensors and datatype == specs[name]["datatype"], f"wrong input {name}")
        check(len(shape) == len(specs[name]["shape"]), f"wrong rank of {name}")
        check(all(type(n) is int and n >= 0 for n in shape), f"wrong shape of {name}")
        check(("data" in entry) != (size is not None), f"{name} needs data or a size")
        if size is None:
            blob = to_blob(datatype, flat(entry["data"], shape))
        else:
            check(0 <= size <= len(body) - at, f"{name} is longer than the body")
            blob, at = body[at : at + size], at + size  # the next blob begins behind this one
        check(len(from_blob(datatype, blob)) == math.prod(shape), f"{name} contradicts its shape")
        tensors[name] = blob, {"datatype": datatype, "shape": shape}
    check(at == len(body) and tensors.keys() == specs.keys(), "bytes are left, or inputs missing")
    default = parameter(request, "binary_data_output", bool)
    answer = {"model_name": model["name"], "model_version": "1", "outputs": []}
    if "id" in request:
        check(type(request["id"]) is str, "id must be a string")
        answer["id"] = request["id"]
    blobs = []
    for asked in request.get("outputs") or model["outputs"]:
        blob, entry = tensors.pop(asked["name"].replace("OUTPUT", "INPUT"))  # only once
        binary = parameter(asked, "binary_data", bool)
        if default if binary is None else binary:
            entry["parameters"] = {"binary_data_size": len(blob)}
            blobs.append(blob)
        else:
            values = from_blob(entry["datatype"], blob)
            entry["data"] = [v.decode() if type(v) is bytes else v for v in values]
        answer["outputs"].append({"name": asked["name"], **entry})
    text = json.dumps(answer, allow_nan=False).encode()
    return b"".join([text, *blobs]), len(text) if blobs else None


def parameter(entry, name, kind):
    value = entry.get("parameters", {}).get(name)
    check(value is None or type(value) is kind, f"{name} must be of the type {kind.__name__}")
    return value


def flat(data, shape):
    """Return the elements of an array that is flat, or nested as `shape` says."""
    check(type(data) is list, "data must be an array")
    if len(shape) < 2 or not any(type(row) is list for row in data):
        return data
    rows = [flat(row, shape[1:]) for row in data]
    check([*map(len, rows)] == [math.prod(shape[1:])] * shape[0], "data against its shape")
    return [element for row in rows for element in row]


def to_blob(datatype, values):
    if datatype == "BYTES":
        return b"".join(struct.pack("<I", len(v)) + v for v in map(str.encode, values))
    kinds = {"BOOL": [bool], "FP16": [int, float], "FP32": [int, float], "FP64": [int, float]}
    right = all(type(v) in kinds.get(datatype, [int]) and math.isfinite(v) for v in values)
    check(right, f"not elements of {datatype}")
    return struct.pack(f"<{len(values)}{CODES[datatype]}", *values)


def from_blob(datatype, blob):
    if datatype != "BYTES":
        check(datatype != "BOOL" or not blob.strip(b"\0\1"), "a BOOL is 0 or 1")
        return [value for (value,) in struct.iter_unpack(f"<{CODES[datatype]}", blob)]
    values, at = [], 0
    while at < len(blob):
        start, at = at + 4, at + 4 + struct.unpack_from("<I", blob, at)[0]
        check(at <= len(blob), "an element ends after its tensor")
        values.append(blob[start:at])
    return values


def check(holds, problem):
    if not holds:
        raise ValueError(problem)
