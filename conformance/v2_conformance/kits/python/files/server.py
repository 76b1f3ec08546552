"""Every model of the contract in one handler, without a framework: `python server.py 8000`.

Each model of models.json returns INPUTi as OUTPUTi. A tensor stays the bytes that came, or becomes
bytes; only what is JSON in the request or in the response is converted.
"""

import json
import math
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

LENGTH = "Inference-Header-Content-Length"
TYPES = "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 FP32 FP64"
CODES = dict(zip(TYPES.split(), "?BHIQbhiqefd", strict=True))  # those of struct
MODELS = json.loads(Path(__file__).with_name("models.json").read_text())


def check(holds, problem):
    if not holds:
        raise ValueError(problem)


def infer(model, body, lengths):
    """Return the JSON and the blobs of the response. Raises something for a wrong request."""
    at = number(lengths, len(body))  # where the JSON ends, then where the next blob begins
    check(at <= len(body), f"the body ends before its {LENGTH}")
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
            blob, at = body[at : at + size], at + size
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
    return answer, blobs


def number(values, default):
    """Return what the values of a header field say, all of which must agree."""
    texts = {value.strip(" \t") for value in values or [str(default)]}
    check(len(texts) == 1 and all(text.isascii() and text.isdigit() for text in texts), "no length")
    return int(texts.pop())


def hexadecimal(text):
    check(text.isalnum() and b"x" not in text.lower(), "no size of a chunk")
    return int(text, 16)


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


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        try:
            self.close_connection |= "close" in self.headers.get("Connection", "").lower()
            self.reply(*self.answer(self.body()))
        except Exception as error:  # to copy has no errors, so the request is wrong
            self.close_connection = True
            self.send_error(400, f"{type(error).__name__}: {error}")

    do_GET = do_HEAD = do_POST

    def parse_request(self):
        parsed = super().parse_request()
        self.close_connection &= bool(self.raw_requestline.strip())  # an empty line comes first
        return parsed

    def answer(self, body):
        match unquote(urlsplit(self.path).path).replace("/versions/1", "").split("/"):
            case ["", "v2"]:
                extensions = ["binary_tensor_data"]
                return 200, {"name": "identity", "version": "1", "extensions": extensions}
            case ["", "v2", "health", "live" | "ready"]:
                return 200, {}
            case ["", "v2", "models", name, "infer"] if name in MODELS:
                return 200, *infer(MODELS[name], body, self.headers.get_all(LENGTH))
            case ["", "v2", "models", name, *rest] if name in MODELS and rest in ([], ["ready"]):
                return 200, MODELS[name]
        return 404, {"error": "there is nothing here"}

    def body(self):
        lengths, coding = self.headers.get_all("Content-Length"), self.headers["Transfer-Encoding"]
        check(not self.headers.defects and not (lengths and coding), "a broken head")
        if coding is None:
            return self.rfile.read(number(lengths, 0))
        chunks = []
        while size := hexadecimal(self.rfile.readline(999).partition(b";")[0].strip()):
            chunks.append(self.rfile.read(size))
            self.rfile.readline(3)
        while self.rfile.readline(9999).strip():  # trailers
            pass
        return b"".join(chunks)

    def send_error(self, code, message=None, explain=None):
        self.reply(code, {"error": str(message)})

    def reply(self, status, document, blobs=()):
        text = json.dumps(document, allow_nan=False).encode()
        body = b"".join([text, *blobs])
        self.send_response(status)
        self.send_header("Content-Type", f"application/{'octet-stream' if blobs else 'json'}")
        self.send_header("Content-Length", str(len(body)))
        if blobs:
            self.send_header(LENGTH, str(len(text)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"serving on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
