"""The plain client as one class, and what it prints about a task."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from v2_clients.plain.connection import Connection
from v2_clients.plain.requests_made import RequestMaker
from v2_clients.plain.responses_read import MALFORMED, Inference, ResponseReader
from v2_clients.plain.task import Call, ClientError, calls
from v2_conformance.protocol.message import Tensor
from v2_conformance.version import __version__

CLIENT = {"name": "v2-conformance-plain", "version": __version__}
Line = dict[str, Any]


class PlainClient(RequestMaker, Connection, ResponseReader):
    """A client that meets every requirement. A mutant replaces one of its decisions.

    One instance makes all calls of a task, over connections that it keeps.
    """

    def infer(self, call: Call) -> Inference:
        """Return what the server computes. Raises ClientError, and never returns anything in
        doubt."""
        try:
            return self.inferred(call)
        except MALFORMED as error:
            raise ClientError(f"the response is malformed: {error}") from error

    def inferred(self, call: Call) -> Inference:
        """Make the request, send it, and read the answer."""
        blobs = [self.blob(tensor) if tensor.binary else None for tensor in call.inputs]
        text = self.dump(self.document(call, blobs))
        sent = self.in_order(call, blobs)
        body = self.body(text, sent)
        if call.request_compression is not None:
            body = self.coded(call.request_compression, body)
        fields = self.with_callers(call, self.fields(call, text, sent, body))
        return self.read(call, self.exchange(call, fields, body))


def run_task(
    task: Mapping[str, Any], url: str, client: Callable[[str, float], PlainClient] = PlainClient
) -> list[Line]:
    """Do a task against the server at `url` and return what the client says, a line a request.

    schemas/client-line.schema.json says what is in a line. Whatever a faulty client raises is an
    error that its caller gets.
    """
    made = client(url, float(task["timeout_s"]) / 2)
    try:
        return [_line(made, call) for call in calls(task)]
    finally:
        made.close()


def _line(client: PlainClient, call: Call) -> Line:
    try:
        inference = client.infer(call)
    except ClientError as error:
        return {"error": str(error), "status": error.status, "client": CLIENT}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "status": None, "client": CLIENT}
    return {
        "outputs": [_output(tensor) for tensor in inference.outputs],
        "model_name": inference.model_name,
        "model_version": inference.model_version,
        "id": inference.id,
        "headers": call.headers,
        "client": CLIENT,
    }


def _output(tensor: Tensor) -> Line:
    return {
        "name": tensor.name,
        "datatype": tensor.datatype,
        "shape": list(tensor.shape),
        "data": base64.b64encode(tensor.blob).decode(),
    }
