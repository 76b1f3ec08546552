"""A plain client for the binary tensor data extension, and how to put a client on the bench.

The functions encode() and decode() and the class V2Client are a whole client in requests and
numpy. It does what the suite asks of a client, so read it before you write your own. What follows
them is the adapter: it makes the requests of the bench's task and prints what the client read.

    pip install v2-conformance requests numpy
    v2-conformance client -- python plain.py
"""

import base64
import gzip
import http.client
import json
import struct
import sys
import zlib
from urllib.parse import quote

import numpy as np
import requests
import urllib3

# Elements on the wire are little-endian, whatever the machine. BF16 has no numpy type: its elements
# are held as their 16 bits.
DTYPES = {
    "BOOL": "?",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "BF16": "<u2",
    "FP32": "<f4",
    "FP64": "<f8",
    "BYTES": "O",
}
# Header fields that say how the message is framed: only the client itself can know them.
FRAMING = {"content-length", "transfer-encoding", "content-encoding", "accept-encoding", "host"}
FRAMING |= {"inference-header-content-length", "content-type", "connection", "expect", "trailer"}
COMPRESS = {"gzip": gzip.compress, "deflate": zlib.compress}  # HTTP's deflate is the zlib format


# ---- The client


class V2Error(Exception):
    """The server answered with an error, or with what cannot be read as a response."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class Response(http.client.HTTPResponse):
    """A response behind any interim ones: Python skips 100 alone, and takes 103 for the answer."""

    def _read_status(self):
        version, status, reason = super()._read_status()
        while 100 < status < 200:
            http.client.parse_headers(self.fp)
            version, status, reason = super()._read_status()
        return version, status, reason


class Connection(urllib3.connection.HTTPConnection):
    response_class = Response


class Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = Connection


class V2Client:
    """One server and the connections to it. No call takes much longer than `timeout` seconds."""

    def __init__(self, url, timeout):
        self.url, self.timeout, self.session = url, timeout, requests.Session()
        pools = self.session.get_adapter(url).poolmanager
        pools.pool_classes_by_scheme = {**pools.pool_classes_by_scheme, "http": Pool}

    def infer(self, model, version, message, blobs, headers, coding=None, accepted=None):
        """Send what encode() made; return what decode() makes of the response."""
        if framing := [name for name in headers if name.lower() in FRAMING]:
            raise ValueError(f"a caller cannot set the header fields {', '.join(framing)}")
        headers = dict(headers)  # a copy: a header length must not stay in the caller's dictionary
        headers["Content-Type"] = "application/json"
        if blobs:  # without blobs there is no header length
            headers["Content-Type"] = "application/octet-stream"
            headers["Inference-Header-Content-Length"] = str(len(message))
        body = b"".join([message, *blobs])
        if coding:  # the header length still counts the JSON as it was before
            headers["Content-Encoding"] = coding
            body = COMPRESS[coding](body)
        headers["Accept-Encoding"] = accepted or "identity"
        url = f"{self.url}/v2/models/{quote(model, safe='')}"
        url += f"/versions/{quote(version, safe='')}/infer" if version else "/infer"
        # requests counts the body, undoes chunks, and refuses a response that ends too early. A
        # redirect is no answer.
        response = self.session.post(
            url,
            body,
            headers=headers,
            timeout=self.timeout,
            allow_redirects=False,
            stream=True,
        )
        status = response.status_code
        try:
            # White space around a value does not belong to it.
            fields = {name.lower(): value.strip() for name, value in response.headers.items()}
            # requests would undo the coding, too, but not notice that its end is missing
            received = undo(fields, response.raw.read(decode_content=False))
            if status == 200:
                return decode(fields, received)
        except Exception as error:  # any: what is read from a malformed response is no result
            raise V2Error(f"unreadable response: {error!r}", status) from error
        raise V2Error(error_text(received) or response.reason, status)


def encode(inputs, outputs, parameters, output_default=None, request_id=None):
    """The JSON and the blobs of a request. Raises ValueError for what cannot be said.

    `inputs`: (name, datatype, array, whether as a blob, parameters) for each.
    `outputs`: None, or (name, whether as a blob, or None to leave it open, parameters) for each.
    `output_default`: whether all outputs come as blobs, None to leave it open.
    """
    request, blobs = {"inputs": []}, []
    if request_id is not None:
        request["id"] = request_id
    request["parameters"] = own(parameters, "binary_data_output", output_default)
    for name, datatype, array, binary, parameters in inputs:
        blob = to_blob(datatype, array) if binary else None
        size = len(blob) if binary else None
        tensor = {"name": name, "shape": array.shape, "datatype": datatype}
        tensor["parameters"] = own(parameters, "binary_data_size", size)
        if binary:  # either a blob or `data`, and blobs in the order of the inputs
            blobs.append(blob)
        else:
            tensor["data"] = to_json(datatype, array)
        request["inputs"].append(tensor)
    if outputs is not None:
        request["outputs"] = [
            {"name": name, "parameters": own(parameters, "binary_data", binary)}
            for name, binary, parameters in outputs
        ]
    # NaN has no JSON form. Python would write one that only Python reads.
    return json.dumps(request, allow_nan=False).encode(), blobs


def own(parameters, reserved, value):
    """The caller's parameters and the reserved one, which they cannot replace."""
    if reserved in parameters:
        raise ValueError(f"a caller cannot set the parameter {reserved}")
    return parameters if value is None else {**parameters, reserved: value}


def to_blob(datatype, array):
    """The elements of an array as raw bytes: row-major and little-endian, however it lies."""
    if datatype == "BYTES":
        return b"".join(struct.pack("<I", len(element)) + element for element in array.flat)
    if datatype == "BF16" and array.dtype.kind == "f":
        array = round_to_bf16(array)
    return array.astype(DTYPES[datatype], casting="equiv").tobytes("C")


def to_json(datatype, array):
    """The elements of an array as JSON values, in row-major order."""
    if datatype == "BYTES":
        return [element.decode("utf-8") for element in array.flat]  # JSON has text only
    if datatype == "BF16" and array.dtype.kind == "u":
        array = (array.astype("u4") << 16).view("f4")
    return array.ravel().tolist()


def round_to_bf16(array):
    """BF16 bits of float32 elements: the nearest value, in the middle the even one."""
    bits = np.ascontiguousarray(array, "f4").view("u4").astype("u8")
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(array), bits >> 16 | 0x40, nearest).astype("u2")


def undo(headers, body):
    """The body of a response without its content codings, which a gateway may add unasked."""
    codings = headers.get("content-encoding", "identity").lower().split(",")
    for coding in reversed([name.strip() for name in codings]):
        if coding in ("gzip", "x-gzip", "deflate"):
            members = []
            while body or not members:  # gzip may be a series of members
                stream = zlib.decompressobj(zlib.MAX_WBITS + 32)  # + 32: of both, whichever it is
                members.append(stream.decompress(body))
                if not stream.eof:
                    raise ValueError(f"the end of the {coding} body is missing")
                body = stream.unused_data
            body = b"".join(members)
        elif coding != "identity":
            raise ValueError(f"Content-Encoding {coding}")
    return body


def decode(headers, body):
    """The JSON of a response, with an `array` in each output. Every length is checked."""
    length = headers.get("inference-header-content-length", str(len(body)))
    if not (length.isascii() and length.isdigit()) or int(length) > len(body):
        raise ValueError(f"header length {length!r} in a body of {len(body)} bytes")
    message, rest = json.loads(body[: int(length)].decode("utf-8")), body[int(length) :]
    for output in message["outputs"]:  # blobs come in this order, not in that of the request
        size = (output.get("parameters") or {}).get("binary_data_size")
        if size is None:
            array = from_json(output["datatype"], output["data"], output["shape"])
        elif "data" in output or count(size) > len(rest):
            raise ValueError(f"{output['name']}: a blob of {size} bytes, {len(rest)} are left")
        else:
            array = from_blob(output["datatype"], rest[: count(size)])
            rest = rest[count(size) :]
        # reshape() refuses a shape that has another number of elements
        output["array"] = array.reshape([count(length) for length in output["shape"]])
    names = [output["name"] for output in message["outputs"]]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"outputs that are none, or twice there: {names}")
    if rest:
        raise ValueError(f"{len(rest)} bytes after the last blob")
    return message


def from_blob(datatype, blob):
    """The elements of a blob."""
    if datatype != "BYTES":
        return np.frombuffer(blob, DTYPES[datatype])
    elements = []
    while blob:
        (length,) = struct.unpack_from("<I", blob)
        if 4 + length > len(blob):
            raise ValueError(f"element {len(elements)} is longer than what is left of the blob")
        elements.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return objects(elements)


def from_json(datatype, data, shape):
    """The elements of `data`, flat or nested as `shape`. Raises for another kind or range."""
    array = np.array(data, object)
    if array.ndim > 1 and list(array.shape) != shape:
        raise ValueError(f"data that is nested as {array.shape}, not as {shape}")
    array = array.ravel()
    elements = array.tolist()
    if datatype == "BYTES":
        return objects([element.encode() for element in elements])
    if datatype in ("FP16", "BF16", "FP32", "FP64"):
        array = array.astype("f8").astype("f4" if datatype == "BF16" else DTYPES[datatype])
        if not np.isfinite(array).all() or not {type(e) for e in elements} <= {int, float}:
            raise ValueError(f"data that is no {datatype}")
        return round_to_bf16(array) if datatype == "BF16" else array
    array = array.astype(DTYPES[datatype])
    if array.tolist() != elements:
        raise ValueError(f"data that is no {datatype}")
    return array


def objects(elements):
    """A one-dimensional array of BYTES elements, for numpy's own type drops NULs at the end."""
    array = np.empty(len(elements), object)
    array[:] = elements
    return array


def count(number):
    """A size or a length in a response, where 4.0 is as good as 4."""
    if isinstance(number, bool) or number != int(number) or number < 0:
        raise ValueError(f"{number!r} is no size")
    return int(number)


def error_text(body):
    """Return what the server says of its error: `{"error": ...}`, or any other text, or nothing."""
    text = body.decode("utf-8", "replace")
    try:
        return str(json.loads(text)["error"])
    except (ValueError, TypeError, KeyError):
        return text


# ---- The adapter


def array_of(tensor):
    """The array that the caller of the client has: an input of the task, laid out as it says."""
    raw = base64.b64decode(tensor["data"])
    dtype = "<f4" if tensor["from"] == "float32" else DTYPES[tensor["datatype"]]
    array = from_blob("BYTES", raw) if dtype == "O" else np.frombuffer(raw, dtype)
    array = array.reshape(tensor["shape"])
    if tensor["layout"] == "column-major":
        return np.asfortranarray(array)
    return (
        array.astype(array.dtype.newbyteorder(">")) if tensor["layout"] == "big-endian" else array
    )


def answer(client, request, headers):
    """Return what the client makes of one request of the task: the line for the bench."""
    form = {"binary": True, "json": False, None: None}
    inputs = [
        (t["name"], t["datatype"], array_of(t), form[t["form"]], t["parameters"])
        for t in request["inputs"]
    ]
    outputs = request["outputs"] and [
        (o["name"], form[o["form"]], o["parameters"]) for o in request["outputs"]
    ]
    try:
        message, blobs = encode(
            inputs, outputs, request["parameters"], request["binary_data_output"], request["id"]
        )
        response = client.infer(
            *(request["model"], request["version"], message, blobs, headers),
            *(request["request_compression"], request["response_compression"]),
        )
    except (V2Error, ValueError, requests.RequestException) as error:
        return {"error": str(error), "status": getattr(error, "status", None), "headers": headers}
    said = [
        {
            "name": output["name"],
            "datatype": output["datatype"],
            "shape": output["array"].shape,
            "data": base64.b64encode(to_blob(output["datatype"], output["array"])).decode(),
        }
        for output in response["outputs"]
    ]
    optional = ("model_name", "model_version", "id")
    named = {name: str(response[name]) for name in optional if response.get(name) is not None}
    return {"outputs": said, **named, "headers": headers}


def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    client = V2Client(task["url"], timeout=task["timeout_s"] / 2)
    callers = {}  # a caller that wants the same headers again passes the same dictionary again
    for request in task["requests"]:
        headers = callers.setdefault(repr(request["headers"]), dict(request["headers"]))
        line = answer(client, request, headers)
        line["client"] = {"name": "plain (requests)", "version": requests.__version__}
        yield line


def main():
    """Do every task on standard input."""
    for text in sys.stdin:
        task = json.loads(text)
        said = {"scenario": task["scenario"], "lines": list(lines(task))}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
