"""Faults of a client that is answered with an error (K27, K28, K29, K31)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from v2_conformance.reference.client.connection import Answer
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.responses_read import Inference
from v2_conformance.reference.client.task import Call, ClientError
from v2_conformance.reference.client_faults.registry import client_fault


@client_fault(
    "status-ignored", breaks="K27", text="Whatever the status, the body is read for outputs."
)
class _StatusIgnored(PlainClient):
    def is_error(self, answer: Answer) -> bool:
        return False


@client_fault(
    "status-only-400-and-500", breaks="K27", text="Only the statuses 400 and 500 are errors."
)
class _Only400And500(PlainClient):
    def is_error(self, answer: Answer) -> bool:
        return answer.status in (400, 500)


@client_fault("status-of-the-server-alone", breaks="K27", text="Only statuses from 500 are errors.")
class _OfTheServerAlone(PlainClient):
    def is_error(self, answer: Answer) -> bool:
        return answer.status >= 500


@client_fault(
    "status-redirect-is-no-error", breaks="K27", text="A status from 300 to 399 is no error."
)
class _RedirectIsNoError(PlainClient):
    def is_error(self, answer: Answer) -> bool:
        return answer.status >= 400


@client_fault("error-as-no-outputs", breaks="K27", text="An error is an inference without outputs.")
class _AsNoOutputs(PlainClient):
    def read(self, call: Call, answer: Answer) -> Inference:
        if self.is_error(answer):
            return Inference(())
        return super().read(call, answer)


@client_fault(
    "error-in-success-ignored",
    breaks="K27",
    text="An error object with status 200 is an inference without outputs.",
)
class _InSuccessIgnored(PlainClient):
    def check_document(self, answer: Answer, document: JsonObject) -> None:
        return None

    def output_objects(self, document: JsonObject) -> list[JsonObject]:
        return super().output_objects({"outputs": [], **document})


@client_fault("error-words-lost", breaks="K28", text="The caller is not told what the server said.")
class _WordsLost(PlainClient):
    def error_words(self, answer: Answer) -> str:
        return "the inference failed"


@client_fault(
    "error-words-cut", breaks="K28", text="The caller is told the first word of an error."
)
class _WordsCut(PlainClient):
    def error_words(self, answer: Answer) -> str:
        return super().error_words(answer).partition(" ")[0]


@client_fault("error-words-in-latin-1", breaks="K28", text="An error's words are read as Latin-1.")
class _WordsInLatin1(PlainClient):
    def error_words(self, answer: Answer) -> str:
        return super().error_words(answer).encode().decode("latin-1")


@client_fault("error-status-lost", breaks="K28", text="The caller is not told the status.")
class _StatusLost(PlainClient):
    def error_status(self, answer: Answer) -> int | None:
        return None


@client_fault("error-status-always-500", breaks="K28", text="Every error has the status 500.")
class _StatusAlways500(PlainClient):
    def error_status(self, answer: Answer) -> int | None:
        return 500


class _Parsed(PlainClient):
    """A client that has to parse the body of an error before it knows that there is one."""

    def check_status(self, answer: Answer) -> None:
        if self.is_error(answer):
            raise ClientError(str(self.parsed(answer.body)), answer.status)

    def parsed(self, body: bytes) -> object:
        raise NotImplementedError


@client_fault(
    "error-body-must-be-json",
    breaks="K29",
    text="An error whose body is not JSON raises the parser's own exception.",
)
class _MustBeJson(_Parsed):
    def parsed(self, body: bytes) -> object:
        document = json.loads(body)
        return document.get("error", document) if isinstance(document, dict) else document


@client_fault(
    "error-body-must-have-error",
    breaks="K29",
    text="An error whose JSON has no member error raises KeyError.",
)
class _MustHaveError(_Parsed):
    def parsed(self, body: bytes) -> object:
        try:
            document = json.loads(body)
        except ValueError:
            return body
        return document["error"]


@client_fault(
    "error-body-must-be-utf-8",
    breaks="K29",
    text="An error whose body is not UTF-8 raises UnicodeDecodeError.",
)
class _MustBeUtf8(_Parsed):
    def parsed(self, body: bytes) -> object:
        return body.decode()


@client_fault(
    "error-body-must-not-be-empty",
    breaks="K29",
    text="An error without a body raises IndexError.",
)
class _MustNotBeEmpty(_Parsed):
    def parsed(self, body: bytes) -> object:
        return body.splitlines()[0]


@client_fault(
    "error-body-html-is-success",
    breaks="K29",
    text="An error whose body is HTML is an inference without outputs.",
)
class _HtmlIsSuccess(PlainClient):
    def read(self, call: Call, answer: Answer) -> Inference:
        if self.is_error(answer) and answer.body.lstrip().startswith(b"<"):
            return Inference(())
        return super().read(call, answer)


# --- retries ----------------------------------------------------------------------------------


@client_fault(
    "retries-without-end",
    breaks="K31",
    text="A request that is answered with 503 is sent again at once, without end.",
)
class _WithoutEnd(PlainClient):
    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        # It ends when the bench has gone.
        while (answer := super().exchange(call, fields, body)).status == 503:
            continue
        return answer


@client_fault(
    "retries-two-hundred-times",
    breaks="K31",
    text="A request that is answered with 503 is sent 200 times.",
)
class _TwoHundredTimes(PlainClient):
    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        for _ in range(199):
            if (answer := super().exchange(call, fields, body)).status != 503:
                return answer
        return super().exchange(call, fields, body)


@client_fault("busy-is-no-error", breaks="K31", text="503 is an inference without outputs.")
class _BusyIsNoError(PlainClient):
    def read(self, call: Call, answer: Answer) -> Inference:
        return Inference(()) if answer.status == 503 else super().read(call, answer)
