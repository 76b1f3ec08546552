"""A codec of the binary tensor data extension in 250 lines, with numpy: an example to copy.

A tensor is (datatype, shape, data): data as bytes, row-major and little-endian. Fields are pairs.
"""

import gzip
import json
import re
import struct
import zlib
from decimal import Decimal
from math import prod

import numpy as np

HEADER_LENGTH = "Inference-Header-Content-Length"
NUMPY = {
    "BOOL": "<u1", "UINT8": "<u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8",
    "INT8": "<i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8",
    "FP16": "<f2", "BF16": "<u2", "FP32": "<f4", "FP64": "<f8", "BYTES": None,
}  # fmt: skip
FLOATS = ("FP16", "BF16", "FP32", "FP64")


class Rejected(ValueError):
    """A message that cannot be read, or tensors that cannot be written."""


def need(condition, problem):
    if not condition:
        raise Rejected(problem)


# --- elements --------------------------------------------------------------------------------


def encode_bytes(elements):
    return b"".join(struct.pack("<I", len(element)) + element for element in elements)


def decode_bytes(blob, count):
    elements, at = [], 0
    while at < len(blob):
        need(at + 4 <= len(blob), "a length is cut off")
        (length,) = struct.unpack_from("<I", blob, at)
        at += 4
        need(at + length <= len(blob), "an element ends past its blob")
        elements.append(blob[at : at + length])
        at += length
    need(len(elements) == count, "wrong number of elements")
    return elements


def check_blob(datatype, shape, blob):
    if datatype == "BYTES":
        decode_bytes(blob, prod(shape))
        return
    need(len(blob) == prod(shape) * np.dtype(NUMPY[datatype]).itemsize, "size contradicts shape")
    if datatype == "BOOL":
        need(not blob.strip(b"\0\1"), "a BOOL byte is neither 0 nor 1")


def round_to_bf16(numbers):
    single = numbers.astype("<f4")
    bits = single.view("<u4").astype("<u8")
    bits -= np.abs(single) > np.abs(numbers)  # towards zero, and a mark for what was cut off
    bits |= single != numbers
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), (bits >> 16) | 0x40, rounded).astype("<u2")


def numbers_of(datatype, blob):
    array = np.frombuffer(blob, NUMPY[datatype])
    return (array.astype("<u4") << 16).view("<f4") if datatype == "BF16" else array


def blob_of(datatype, array):
    """Return the blob of a numpy array, however it lies in memory."""
    return np.ascontiguousarray(array).astype(NUMPY[datatype]).tobytes()


def to_json(datatype, shape, blob):
    """Return `data` of a tensor in JSON."""
    if datatype == "BYTES":
        try:
            return [element.decode() for element in decode_bytes(blob, prod(shape))]
        except UnicodeDecodeError:
            raise Rejected("an element is not UTF-8") from None
    values = numbers_of(datatype, blob)
    if datatype in FLOATS:
        need(np.isfinite(values).all(), "a number is not finite")
        values = values.astype("<f8")
    return [bool(one) for one in values] if datatype == "BOOL" else values.tolist()


def flat(data, shape):
    """Return the elements of `data`, which is flat or nested by `shape`."""
    need(isinstance(data, list), "`data` is not an array")
    if any(isinstance(item, list) for item in data):
        for size in shape[1:]:
            need(all(isinstance(row, list) and len(row) == size for row in data), "wrong nesting")
            data = [item for row in data for item in row]
    need(len(data) == prod(shape), "wrong number of elements")
    return data


def from_json(datatype, shape, data):
    """Return the blob that `data` stands for."""
    values = flat(data, shape)
    if datatype == "BYTES":
        need(all(isinstance(value, str) for value in values), "expected strings")
        try:
            return encode_bytes([value.encode() for value in values])
        except UnicodeEncodeError:
            raise Rejected("an unpaired surrogate") from None
    if datatype == "BOOL":
        need(all(isinstance(value, bool) for value in values), "expected true or false")
        return bytes(values)
    need(all(type(value) in (int, Decimal) for value in values), "expected numbers")
    if datatype not in FLOATS:
        limits = np.iinfo(NUMPY[datatype])
        need(all(limits.min <= value <= limits.max for value in values), "out of range")
        need(all(value == int(value) for value in values), "expected integers")
        return np.array([int(value) for value in values], NUMPY[datatype]).tobytes()
    try:
        numbers = np.array([float(value) for value in values], "<f8")
    except OverflowError:
        raise Rejected("out of range") from None
    with np.errstate(over="ignore"):
        array = round_to_bf16(numbers) if datatype == "BF16" else numbers.astype(NUMPY[datatype])
    need(np.isfinite(numbers_of(datatype, array.tobytes())).all(), "out of range")
    return array.tobytes()


# --- messages --------------------------------------------------------------------------------


def unique(pairs):
    found = dict(pairs)
    need(len(found) == len(pairs), "a member is there twice")
    return found


def integer(text):
    return Decimal(text) if text == "-0" else int(text)  # int has no negative zero


def no_constant(name):
    raise Rejected(f"{name} is not JSON")


def parse(text):
    """Return a JSON object; numbers keep all their digits."""
    try:
        document = json.loads(
            bytes(text).decode(),
            parse_int=integer,
            parse_float=Decimal,
            parse_constant=no_constant,
            object_pairs_hook=unique,
        )
    except (ValueError, RecursionError) as error:
        raise Rejected(f"not JSON: {error}") from None
    need(isinstance(document, dict), "not an object")
    return document


def values_of(fields, name):
    return [value.strip(" \t") for key, value in fields if key.lower() == name.lower()]


def split(fields, body):
    """Return the JSON and what follows it; the JSON is None in a raw request."""
    lengths = set(values_of(fields, HEADER_LENGTH))
    if not lengths:
        return body, b""
    need(len(lengths) == 1, "conflicting header lengths")
    text = lengths.pop()
    need(re.fullmatch("[0-9]{1,19}", text), "header length is not a number")
    length = int(text)
    need(length <= len(body), "header length is past the body")
    return (body[:length] if length else None), body[length:]


def decoded(fields, body):
    """Return the body without its content coding."""
    codings = ",".join(values_of(fields, "Content-Encoding")).lower().split(",")
    for coding in reversed([name.strip() for name in codings]):
        try:
            if coding in ("gzip", "x-gzip"):
                body = gzip.decompress(body)
            elif coding == "deflate":
                body = whole(zlib.decompressobj(), body)
            else:
                need(coding in ("", "identity"), "unknown content coding")
        except (zlib.error, OSError, EOFError):
            raise Rejected("the content coding is broken") from None
    return body


def whole(stream, body):
    result = stream.decompress(body)
    need(stream.eof and not stream.unused_data, "the content coding is broken")
    return result


def member(entry, name, kind, problem, default=None):
    value = entry.get(name, default)
    need(isinstance(value, kind) and type(value) is not bool, problem)
    return value


def take(entry, shape, blobs, at):
    """Return the tensor's bytes, and where the next blob begins."""
    datatype = entry["datatype"]
    parameters = member(entry, "parameters", dict, "`parameters` is not an object", {})
    size = parameters.get("binary_data_size")
    if "binary_data_size" not in parameters:
        need("data" in entry, "neither data nor a size")
        return from_json(datatype, shape, entry["data"]), at
    need("data" not in entry, "both data and a size")
    need(type(size) in (int, Decimal) and size >= 0, "size is not a size")
    need(at + size <= len(blobs), "a blob ends past the body")
    need(size == int(size), "size is not an integer")
    size = int(size)
    blob = blobs[at : at + size]
    check_blob(datatype, shape, blob)
    return blob, at + size


def shape_of(entry):
    shape = member(entry, "shape", list, "`shape` is not an array")
    for size in shape:
        need(type(size) is int and 0 <= size < 2**63, "a dimension is not a size")
    return shape


def decode_request(model, fields, body):
    """Return the inputs by name, the outputs as pairs of name and `is binary`, and the id."""
    body = decoded(fields, body)
    text, blobs = split(fields, body)
    if text is None:
        return decode_raw(model, blobs), [(one["name"], True) for one in model["outputs"]], None
    document = parse(text)
    specs = {spec["name"]: spec for spec in model["inputs"]}
    inputs, at = {}, 0
    for entry in member(document, "inputs", list, "`inputs` is not an array"):
        need(isinstance(entry, dict), "an input is not an object")
        name = member(entry, "name", str, "`name` is not a string")
        need(name in specs and name not in inputs, "not an input, or there twice")
        spec, shape = specs[name], shape_of(entry)
        need(entry.get("datatype") == spec["datatype"], "not the model's datatype")
        need(len(shape) == len(spec["shape"]), "not the model's shape")
        need(
            all(m in (-1, n) for m, n in zip(spec["shape"], shape, strict=True)),
            "not the model's shape",
        )
        blob, at = take(entry, shape, blobs, at)
        inputs[name] = (spec["datatype"], shape, blob)
    need(len(inputs) == len(specs), "an input is missing")
    need(at == len(blobs), "bytes are left over")
    identifier = document.get("id")
    need(identifier is None or isinstance(identifier, str), "`id` is not a string")
    return inputs, wanted(model, document), identifier


def decode_raw(model, body):
    """Return the only input of a raw request."""
    need(len(model["inputs"]) == 1, "a raw request has one input")
    (spec,) = model["inputs"]
    datatype, shape = spec["datatype"], list(spec["shape"])
    if model.get("batching"):
        shape[0] = 1
    if datatype == "BYTES":
        need(prod(shape) == 1, "a raw BYTES input has one element")
        body = struct.pack("<I", len(body)) + body
    elif -1 in shape:
        at = shape.index(-1)
        each = np.dtype(NUMPY[datatype]).itemsize * prod(n for n in shape if n != -1)
        need(shape.count(-1) == 1, "more than one variable dimension")
        need(each and len(body) % each == 0, "not a whole number of elements")
        shape[at] = len(body) // each
    check_blob(datatype, shape, body)
    return {spec["name"]: (datatype, shape, body)}


def wanted(model, document):
    """Return the outputs that a request asks for, and whether each is to be binary."""
    default = flag(document, "binary_data_output", False)
    listed = member(document, "outputs", list, "`outputs` is not an array", [])
    if not listed:
        return [(spec["name"], default) for spec in model["outputs"]]
    need(all(isinstance(entry, dict) for entry in listed), "an output is not an object")
    found = [(entry.get("name"), flag(entry, "binary_data", default)) for entry in listed]
    known = [spec["name"] for spec in model["outputs"]]
    need(all(name in known for name, _ in found), "an output is not the model's")
    need(len(dict(found)) == len(found), "an output is there twice")
    return found


def flag(entry, name, default):
    value = member(entry, "parameters", dict, "`parameters` is not an object", {}).get(name)
    need(value is None or isinstance(value, bool), f"`{name}` is not a boolean")
    return default if value is None else value


def written(document, blobs):
    """Return fields and body of a message."""
    text = json.dumps(document, ensure_ascii=False).encode()
    fields = [("Content-Type", "application/octet-stream" if blobs else "application/json")]
    if blobs:
        fields.append((HEADER_LENGTH, str(len(text))))
    return fields, text + b"".join(blobs)


def entry_of(name, tensor, binary, blobs, parameters=None):
    """Return a tensor's entry in the JSON; its blob goes to `blobs`."""
    datatype, shape, blob = tensor
    entry = {"name": name, "datatype": datatype, "shape": shape}
    parameters = dict(parameters or {})
    parameters.pop("binary_data_size", None)
    if binary:
        parameters["binary_data_size"] = len(blob)
        blobs.append(blob)
    else:
        entry["data"] = to_json(datatype, shape, blob)
    if parameters:
        entry["parameters"] = parameters
    return entry


def encode_response(name, model, tensors, asked):
    """Return fields and body of the answer with these `tensors` by name."""
    document, blobs = {"model_name": name}, []
    if asked.get("id"):
        document["id"] = asked["id"]
    if asked.get("raw"):
        outputs = [(spec["name"], True) for spec in model["outputs"]]
    else:
        outputs = wanted(model, asked)
    document["outputs"] = [entry_of(n, tensors[n], binary, blobs) for n, binary in outputs]
    return written(document, blobs)


def encode_request(tensors, asked, compression=None):
    """Return fields and body of a request with `tensors`: name, tensor, `is binary`, parameters."""
    document, blobs = {}, []
    if asked.get("id"):
        document["id"] = asked["id"]
    if asked.get("parameters"):
        document["parameters"] = asked["parameters"]
    document["inputs"] = [entry_of(n, t, binary, blobs, p) for n, t, binary, p in tensors]
    if asked.get("outputs"):
        document["outputs"] = asked["outputs"]
    fields, body = written(document, blobs)
    if compression:
        fields.append(("Content-Encoding", compression))
        body = gzip.compress(body) if compression == "gzip" else zlib.compress(body)
    return fields, body


def decode_response(status, fields, body, asked=()):
    """Return the outputs by name, and the JSON; those whose names were `asked` have to be there.

    Raise Rejected with the server's words.
    """
    body = decoded(fields, body)
    if not 200 <= status < 300:
        raise Rejected(f"status {status}: {body.decode('utf-8', 'replace')}")
    text, blobs = split(fields, body)
    need(text is not None, "header length 0")
    document = parse(text)
    need("error" not in document, str(document.get("error")))
    outputs, at = {}, 0
    for entry in member(document, "outputs", list, "`outputs` is not an array"):
        need(isinstance(entry, dict), "an output is not an object")
        name = member(entry, "name", str, "`name` is not a string")
        datatype, shape = entry.get("datatype"), shape_of(entry)
        need(datatype in NUMPY and name not in outputs, "unknown datatype, or there twice")
        if entry.get("parameters") is None:
            entry.pop("parameters", None)
        if isinstance(entry.get("parameters"), dict) and "binary_data_size" in entry["parameters"]:
            entry.pop("data", None)  # a size counts, whatever else is there
        blob, at = take(entry, shape, blobs, at)
        outputs[name] = (datatype, shape, blob)
    need(outputs and set(asked) <= set(outputs), "an output is missing")
    need(at == len(blobs), "bytes are left over")
    return outputs, document
