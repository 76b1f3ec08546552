"""Codecs of public packages behind the interface of vectors/runners/python/codec.py.

None of them knows HTTP: header fields that a server or client reads around them are read here.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[2] / "vectors"
KSERVE, TRITON = "kserve", "tritonclient"


def runner() -> tuple[ModuleType, ModuleType]:
    """Return the Python runner and its codec."""
    sys.path.insert(0, str(FOLDER / "runners" / "python"))
    try:
        return import_module("run"), import_module("codec")
    finally:
        sys.path.pop(0)


def failed(name: str) -> list[dict[str, Any]]:
    """Return the vectors that a public codec fails."""
    run, codec = runner()
    public = SimpleNamespace(**vars(codec))
    own: Any = {KSERVE: _Kserve, TRITON: _Triton}[name](codec)
    for kind in own.kinds:
        setattr(public, kind, _refusing(codec, getattr(own, kind)))
    return [
        vector
        for vector, models in run.vectors(FOLDER)
        if vector["kind"] in own.kinds
        and own.takes(vector)
        and (run.judge(public, vector, models) or ("PASS",))[0] == "FAIL"
    ]


def _refusing(codec: ModuleType, method: Any) -> Any:
    """Return `method` with any exception as a refusal: so its caller sees it."""

    def called(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception as error:
            raise codec.Rejected(f"{type(error).__name__}: {error}") from error

    return called


def _lengths(vector: dict[str, Any]) -> list[str]:
    return [v for n, v in vector["fields"] if n.lower() == "inference-header-content-length"]


def _names(vector: dict[str, Any]) -> set[str]:
    return {name.lower() for name, _ in vector["fields"]}


class _Kserve:
    """InferRequest.from_bytes and InferResponse.to_rest, as the server's endpoint calls them."""

    kinds = ("decode_request", "encode_response")

    def __init__(self, codec: ModuleType) -> None:
        self.codec = codec

    def takes(self, vector: dict[str, Any]) -> bool:
        if {"raw", "bf16", "response-coding"} & set(vector.get("flags", ())):
            return False
        if vector["kind"] == "encode_response":
            return True
        # Without the header another reader is called, and codings are the web server's.
        return len(_lengths(vector)) == 1 and "content-encoding" not in _names(vector)

    def decode_request(self, model: Any, fields: Any, body: bytes) -> Any:
        from kserve.protocol.infer_type import InferRequest

        (text,) = _lengths({"fields": fields})
        request = InferRequest.from_bytes(body, int(text), "model")
        inputs = {i.name: self._tensor(i) for i in request.inputs}
        # As the server's model does, which alone knows what its inputs are.
        specs = {spec["name"]: spec["datatype"] for spec in model["inputs"]}
        self.codec.need({n: t[0] for n, t in inputs.items()} == specs, "not the model's inputs")
        document = {"parameters": request.parameters or {}}
        if request.request_outputs:
            document["outputs"] = [
                {"name": o.name, "parameters": o.parameters or {}} for o in request.request_outputs
            ]
        return inputs, self.codec.wanted(model, document), request.id

    def _tensor(self, given: Any) -> Any:
        array = given.as_numpy()
        if given.datatype == "BYTES":
            elements = [e if isinstance(e, bytes) else str(e).encode() for e in array.flat]
            return given.datatype, list(array.shape), self.codec.encode_bytes(elements)
        return given.datatype, list(array.shape), self.codec.blob_of(given.datatype, array)

    def encode_response(self, name: str, model: Any, tensors: Any, asked: Any) -> Any:
        import json

        from kserve.protocol.infer_type import InferOutput, InferResponse, RequestedOutput

        outputs = [self._output(InferOutput, key, tensor) for key, tensor in tensors.items()]
        listed = [RequestedOutput(o["name"], o.get("parameters")) for o in asked.get("outputs", ())]
        response = InferResponse(
            asked.get("id", ""),
            name,
            outputs,
            use_binary_outputs=asked.get("parameters", {}).get("binary_data_output", False),
            requested_outputs=listed or None,
        )
        body, length = response.to_rest()
        if length is None:
            text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            return [("Content-Type", "application/json")], text
        kind = ("Content-Type", "application/octet-stream")
        return [kind, (self.codec.HEADER_LENGTH, str(length))], body

    def _output(self, kind: Any, name: str, tensor: Any) -> Any:
        datatype, shape, blob = tensor
        made = kind(name, list(shape), datatype)
        if datatype == "BYTES":
            count = int(np.prod(shape))
            array = np.array(self.codec.decode_bytes(blob, count) or [], object).reshape(shape)
        else:
            dtype = "?" if datatype == "BOOL" else self.codec.NUMPY[datatype]
            array = np.frombuffer(blob, dtype).reshape(shape)
        made.data = array
        return made


class _Triton:
    """InferResult.from_response_body, as a user calls it."""

    kinds = ("decode_response",)

    def __init__(self, codec: ModuleType) -> None:
        self.codec = codec

    def takes(self, vector: dict[str, Any]) -> bool:
        # Errors are read elsewhere in the client.
        return vector["status"] == 200 and "bf16" not in vector.get("flags", ())

    def decode_response(self, status: int, fields: Any, body: bytes, asked: Any) -> Any:
        from tritonclient.http import InferResult

        lengths = _lengths({"fields": fields})
        coding = [v for n, v in fields if n.lower() == "content-encoding"]
        result = InferResult.from_response_body(
            body,
            header_length=int(lengths[0]) if lengths else None,
            content_encoding=coding[0] if coding else None,
        )
        response = result.get_response()
        outputs = {o["name"]: self._tensor(result.as_numpy(o["name"])) for o in response["outputs"]}
        return outputs, response

    def _tensor(self, array: Any) -> Any:
        if array.dtype == object:
            elements = [e if isinstance(e, bytes) else str(e).encode() for e in array.flat]
            return "BYTES", list(array.shape), self.codec.encode_bytes(elements)
        kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
        named = {"b": "BOOL", "u": f"UINT{bits}", "i": f"INT{bits}", "f": f"FP{bits}"}
        return named[kind], list(array.shape), self.codec.blob_of(named[kind], array)
