"""Faults of a client that is answered with an error (K27, K28, K29, K31)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.message import Tensor
from v2_mutants.registry import Right, What, client_fault

client_fault("error-as-no-outputs", "K27", PlainClient.read)(
    "An error is an inference without outputs.",
    lambda right, call, answer: Inference(()) if right.client.is_error(answer) else right(),
)


@client_fault.several("error-in-success-ignored", "K27")
class _InSuccessIgnored(PlainClient):
    """An error object with status 200 is an inference without outputs."""

    def check_document(self, answer: Answer, document: JsonObject) -> None:
        return None

    def output_objects(self, document: JsonObject) -> list[JsonObject]:
        return super().output_objects({"outputs": [], **document})

    def check_outputs(self, call: Call, outputs: Sequence[Tensor]) -> None:
        return None


client_fault("error-words-in-latin-1", "K28", PlainClient.error_words)(
    "An error's words are read as Latin-1.",
    lambda right, answer: right().encode().decode("latin-1"),
)
client_fault("error-status-always-500", "K28", PlainClient.error_status)(
    "Every error has the status 500.",
    lambda right, answer: 500,
)


def parses(words: Callable[[bytes], object]) -> What[None]:
    """Return what has to parse the body of an error before it knows that there is one."""

    def what(right: Right[None], answer: Answer) -> None:
        if right.client.is_error(answer):
            raise ClientError(str(words(answer.body)), answer.status)

    return what


def _of_json(body: bytes) -> object:
    document = json.loads(body)
    return document.get("error", document) if isinstance(document, dict) else document


client_fault("error-body-must-be-json", "K29", PlainClient.check_status)(
    "An error whose body is not JSON raises the parser's own exception.",
    parses(_of_json),
)
client_fault("error-body-must-not-be-empty", "K29", PlainClient.check_status)(
    "An error without a body raises IndexError.",
    parses(lambda body: body.splitlines()[0]),
)


@client_fault("error-body-html-is-success", "K29", PlainClient.read)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """An error whose body is HTML is an inference without outputs."""
    html = right.client.is_error(answer) and answer.body.lstrip().startswith(b"<")
    return Inference(()) if html else right()


def retries(times: int) -> What[Answer]:
    """Return what sends a request again at once while the answer is 503."""

    def what(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        for _ in range(times - 1):
            if (answer := right()).status != 503:
                return answer
        return right()

    return what


client_fault("retries-without-end", "K31", PlainClient.exchange)(
    "A request that is answered with 503 is sent again at once, without end.",
    retries(sys.maxsize),  # it ends when the bench has gone
)
