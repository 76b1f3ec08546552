"""A client for the binary tensor data extension in Python: the codec beside it and requests, with
its adapter for the client bench.

    pip install requests numpy
    v2-conformance client -- python plain.py
"""

import http.client
from urllib.parse import quote

import codec
import requests
import urllib3

import bench

# Header fields that say how the message is framed: only the client itself can know them.
FRAMING = {"content-length", "transfer-encoding", "content-encoding", "accept-encoding", "host"}
FRAMING |= {"inference-header-content-length", "content-type", "connection", "expect", "trailer"}


# ---- The client. Tensors are those of the codec.


class Response(http.client.HTTPResponse):
    """A response after any interim ones: Python skips 100 alone, and takes 103 for the answer."""

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

    def infer(self, model, message, headers, version=None, accepted=None):
        """Send a `message` of codec.encode_request(); return what codec.decode_response() does.

        An exception has the `status` of the response, if there is one.
        """
        if framing := [name for name in headers if name.lower() in FRAMING]:
            raise ValueError(f"a caller cannot set the header fields {', '.join(framing)}")
        fields, body = message
        url = f"{self.url}/v2/models/{quote(model, safe='')}"
        url += f"/versions/{quote(version, safe='')}/infer" if version else "/infer"
        # requests counts the body, undoes chunks, and refuses a response that ends too early. A
        # redirect is not an answer.
        response = self.session.post(
            url,
            body,
            headers={**headers, **dict(fields), "Accept-Encoding": accepted or "identity"},
            timeout=self.timeout,
            allow_redirects=False,
            stream=True,
        )
        try:
            # requests would undo the coding, too, but not notice that its end is missing
            received = response.raw.read(decode_content=False)
            answered = response.raw.headers.items()
            return codec.decode_response(response.status_code, answered, received)
        except Exception as error:  # any: what is read from a malformed response is not a result
            error.status = response.status_code
            raise


def with_reserved(parameters, reserved, value):
    """Return a caller's parameters with the reserved one, which the caller cannot set."""
    if reserved in parameters:
        raise ValueError(f"a caller cannot set the parameter {reserved}")
    return parameters if value is None else {**parameters, reserved: value}


# ---- The adapter


def tensor_of(tensor):
    """Return an input of the task for the codec."""
    datatype = tensor["datatype"]
    array = bench.array_of(tensor, "<f4" if tensor["from"] else codec.NUMPY[datatype])
    if datatype == "BYTES":
        return datatype, tensor["shape"], codec.encode_bytes(array.flat)
    array = codec.round_to_bf16(array) if tensor["from"] else array
    return datatype, tensor["shape"], codec.blob_of(datatype, array)


def encoded(request):
    """Return the message for a request of the task."""
    inputs = []
    for one in request["inputs"]:
        own = with_reserved(one["parameters"], "binary_data_size", None)
        inputs.append((one["name"], tensor_of(one), one["form"] == "binary", own))
    default = request["binary_data_output"]
    asked = {"id": request["id"], "outputs": []}
    asked["parameters"] = with_reserved(request["parameters"], "binary_data_output", default)
    for one in request["outputs"] or ():
        binary = None if one["form"] is None else one["form"] == "binary"
        own = with_reserved(one["parameters"], "binary_data", binary)
        asked["outputs"].append({"name": one["name"], "parameters": own})
    return codec.encode_request(inputs, asked, request["request_compression"])


def line(client, request, headers):
    """Make a request of the task, and return its line."""
    how = {"version": request["version"], "accepted": request["response_compression"]}
    try:
        outputs, response = client.infer(request["model"], encoded(request), headers, **how)
        members = {"outputs": [bench.output_of(name, *tensor) for name, tensor in outputs.items()]}
        members |= bench.members_of(response)
    except (codec.Rejected, ValueError, OSError, urllib3.exceptions.HTTPError) as error:
        members = bench.failed(error, getattr(error, "status", None))
    return bench.line_of("plain (requests)", requests.__version__, headers, members)


def lines(task):
    """Make the requests of a task in their order, all with one client; a line for each."""
    client = V2Client(task["url"], timeout=task["timeout_s"] / 2)
    return [line(client, *request) for request in bench.requests_of(task)]


if __name__ == "__main__":
    bench.serve(lines)
