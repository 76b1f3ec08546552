"""(case, request, transcript) → verdict. Pure: no I/O, so recorded bytes can be judged again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from v2_conformance.judging.compare import compare
from v2_conformance.judging.response import (
    Difference,
    Finding,
    ReadMessage,
    Untested,
    codings_of,
    decode_body,
    read_document,
    read_message,
    validate,
)
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import (
    HEADER_LENGTH,
    JSON_TYPE,
    OCTET_STREAM,
    MessageError,
    parse_json,
)
from v2_conformance.suite.cases import Case
from v2_conformance.wire.encode import Expected, Prepared, input_entries
from v2_conformance.wire.http1 import (
    CLOSED,
    MALFORMED,
    REFUSED,
    TIMEOUT,
    Response,
    Transcript,
)

PASS = "pass"
FAIL = "fail"
DISPUTED = "disputed"
UNSUPPORTED = "unsupported"
INCONCLUSIVE = "inconclusive"
NOT_RUN = "not_run"
ERROR = "error"
OUTCOMES = (PASS, FAIL, DISPUTED, UNSUPPORTED, INCONCLUSIVE, NOT_RUN, ERROR)

EXTENSION = "binary_tensor_data"


@dataclass(frozen=True)
class Verdict:
    """A case's outcome, and in words what was sent, what was wanted and what came.

    `difference` is the first differing element where values were compared and are not the same.
    """

    outcome: str
    message: str = ""
    difference: Difference | None = None


def judge(case: Case, prepared: Prepared, transcript: Transcript) -> Verdict:
    """The verdict on one exchange, from nothing but its bytes."""
    response = transcript.response
    if response is None:
        return _without_response(case, prepared, transcript)
    try:
        if response.excess:
            raise Finding(f"{response.excess} bytes came after the end of the response")
        return _judge(case, prepared, decode_body(response, prepared.codings))
    except Finding as finding:
        outcome = INCONCLUSIVE if isinstance(finding, Untested) else FAIL
        return Verdict(outcome, f"{_sent(case, prepared)}: {finding}", finding.difference)


def judge_success(
    expected: tuple[Expected, ...], response: Response, *, truth: bool = False
) -> ReadMessage:
    """Finding unless the response carries the expected outputs (`truth`: see compare)."""
    if response.status != 200:
        raise Finding(f"status 200 wanted, {response.status} came: {_text(response.body)}")
    message = read_message(response)
    for item in expected:
        _judge_output(item, message, truth=truth)
    return message


def _judge(case: Case, prepared: Prepared, response: Response) -> Verdict:
    if case.get:
        return _judge_get(case, response)
    rejected = response.status >= 400
    if case.outcome == "reject" or (case.outcome == "either" and rejected):
        _judge_rejection(response, body=case.level != "MAY" and not _free(case))
        _checks(case, prepared, response, None)
        return Verdict(PASS, f"rejected with status {response.status}")
    if _free(case) and response.status == 200:
        read_document(response)
        return Verdict(PASS, "answered in strict JSON")
    truth = case.expect.get("compare") == "truth"
    message = judge_success(prepared.expected, response, truth=truth)
    try:
        _checks(case, prepared, response, message)
    except Finding as finding:
        if case.level != "MAY":
            raise
        return Verdict(PASS, f"free, not done here: {finding}")
    if case.outcome == "disputed":
        forms = {output.form for output in message.outputs}
        return Verdict(DISPUTED, f"the server answered in {' and '.join(sorted(forms))} form")
    return Verdict(PASS, "accepted" if case.outcome == "either" else "")


def _judge_get(case: Case, response: Response) -> Verdict:
    if response.status != 200:
        raise Finding(f"status 200 wanted, {response.status} came: {_text(response.body)}")
    _checks(case, Prepared(()), response, None)
    return Verdict(PASS)


def _free(case: Case) -> bool:
    return case.expect.get("compare") == "nothing"


def _judge_rejection(response: Response, *, body: bool) -> None:
    """Finding unless it is an error status, with `body` also {"error": string} (R1, R2)."""
    if response.status < 400:
        raise Finding(
            f"an error status wanted, but the server accepted it with {response.status}: "
            f"{_text(response.body)}"
        )
    if not body:
        return
    try:
        document = parse_json(response.body)
    except MessageError as error:
        raise Finding(
            f'rejected with status {response.status}, but the body is not {{"error": string}}: '
            f"{error}: {_text(response.body)}"
        ) from error
    validate("error", document)


def _judge_output(item: Expected, message: ReadMessage, *, truth: bool) -> None:
    label = ascii(item.tensor.name)[1:-1]
    found = [output for output in message.outputs if output.tensor.name == item.tensor.name]
    if not found:
        names = ascii([output.tensor.name for output in message.outputs][:20])
        raise Finding(f"{label} is missing; the response has {names}")
    for output in found:
        if item.form not in ("any", output.form):
            raise Finding(f"{label} came in {output.form} form, wanted {item.form}")
        compare(item.tensor, output, truth=truth)


def _without_response(case: Case, prepared: Prepared, transcript: Transcript) -> Verdict:
    sent = _sent(case, prepared)
    came = len(transcript.received)
    if transcript.ending == REFUSED:
        return Verdict(INCONCLUSIVE, f"{sent}: no connection: {transcript.detail}")
    partial = transcript.partial
    if transcript.ending in (TIMEOUT, CLOSED) and partial is not None and _whole(prepared, partial):
        return Verdict(
            FAIL,
            f"{sent}: the message is complete with {len(partial.body)} bytes of body, but "
            f"Content-Length promises {partial.value('content-length')}",
        )
    if transcript.ending == TIMEOUT:
        return Verdict(
            INCONCLUSIVE,
            f"{sent}: {transcript.detail} ({transcript.duration_s:.1f} s, {came} bytes came)",
        )
    if transcript.ending == CLOSED:
        return Verdict(
            FAIL,
            f"{sent}: the connection ended without a complete response, {came} bytes came "
            f"({transcript.detail})",
        )
    what = "is not HTTP" if transcript.ending == MALFORMED else "is too large"
    return Verdict(FAIL, f"{sent}: what came {what}: {ascii(transcript.detail)[1:-1]}")


def _whole(prepared: Prepared, partial: Response) -> bool:
    """Whether the part of a response that came is a whole V2 message already."""
    if partial.framing != "content-length":
        return False
    try:
        read_message(decode_body(partial, prepared.codings))
    except Finding:
        return False
    return True


def _sent(case: Case, prepared: Prepared) -> str:
    if case.get:
        return f"sent GET {case.get}"
    inputs = [_shown_input(entry) for entry in input_entries(case.request)]
    if len(inputs) > 3:
        inputs = [*inputs[:2], f"{len(inputs) - 2} more"]
    blobs = sum(part.end - part.start for part in prepared.parts if part.kind == "blob")
    text = f"sent to {case.model} {', '.join(inputs) or 'no inputs'}, {blobs} blob bytes in all"
    if "encoding" in case.request:
        text += f", Content-Encoding {case.request['encoding']}"
    if "header_length" in case.request:
        text += f", {_header_line(prepared)}"
    return text


def _shown_input(entry: Mapping[str, Any]) -> str:
    text = f"{entry['shape']} {entry.get('form', 'binary')}"
    size = entry.get("size", {})
    if "value" in size:
        text += f" of declared size {size['value']!a}"
    return text


def _header_line(prepared: Prepared) -> str:
    """The header length as it went out, if at all."""
    head = bytes(prepared.pieces[0]).partition(b"\r\n\r\n")[0].decode()
    name = HEADER_LENGTH.lower()
    lines = [ascii(x)[1:-1] for x in head.split("\r\n") if x.lower().startswith(name)]
    return " and ".join(lines) or f"no {HEADER_LENGTH}"


def _text(body: Buffer, limit: int = 200) -> str:
    """The start of a body as printable ASCII: whatever a server sends stays one harmless line."""
    text = ascii(bytes(body[:limit]).decode("latin-1"))
    plain = text[1:-1].replace("\\'", "'") or "(empty body)"
    return plain + ("…" if len(body) > limit else "")


# The checks that a case can ask for by name, beyond what every response has to fulfil.
Check = Callable[[Case, Prepared, Response, ReadMessage | None], None]


def _checks(
    case: Case, prepared: Prepared, response: Response, message: ReadMessage | None
) -> None:
    for name in case.expect.get("checks", ()):
        CHECKS[name](case, prepared, response, message)


def _typed(wanted: str) -> Check:
    def check(case: Case, prepared: Prepared, response: Response, message: object) -> None:
        came = response.value("content-type")
        if came is None or came.split(";")[0].strip().lower() != wanted:
            raise Finding(f"Content-Type {wanted} wanted, {came!a} came")

    return check


def _id_echo(case: Case, prepared: Prepared, _: Response, message: ReadMessage | None) -> None:
    came = None if message is None else message.document.get("id")
    if came != prepared.request_id:
        raise Finding(f"the id {prepared.request_id!a} wanted back, {came!a} came")


def _only_requested(
    case: Case, prepared: Prepared, _: Response, message: ReadMessage | None
) -> None:
    wanted = {item.tensor.name for item in prepared.expected}
    extra = (
        [o.tensor.name for o in message.outputs if o.tensor.name not in wanted] if message else []
    )
    if extra:
        raise Finding(f"outputs came that were not asked for: {extra[:20]!a}")


def _header_length_sent(_: Case, __: Prepared, response: Response, ___: object) -> None:
    if not response.values(HEADER_LENGTH):
        raise Finding(f"no {HEADER_LENGTH} header was sent")


def _no_header_length(_: Case, __: Prepared, response: Response, ___: object) -> None:
    came = response.value(HEADER_LENGTH)
    if came is not None:
        raise Finding(f"{HEADER_LENGTH} {came!a} came where no blob follows")


def _client_error(_: Case, __: Prepared, response: Response, ___: object) -> None:
    if not 400 <= response.status < 500:
        raise Finding(f"a 4xx status wanted for a mistake of the client, {response.status} came")


def _content_length(_: Case, __: Prepared, response: Response, ___: object) -> None:
    if response.framing != "content-length":
        raise Finding(f"no Content-Length: the response was framed by {response.framing}")


def _encoded(_: Case, __: Prepared, response: Response, ___: object) -> None:
    if not codings_of(response):
        raise Untested("a server need not encode a response, and this one came without a coding")


def _not_encoded(_: Case, __: Prepared, response: Response, ___: object) -> None:
    came = codings_of(response)
    if came:
        raise Finding(f"Content-Encoding is {', '.join(came)!a} where none was asked for")


def _lists_extension(_: Case, __: Prepared, response: Response, ___: object) -> None:
    try:
        document = parse_json(response.body)
    except MessageError as error:
        raise Finding(f"the server metadata is not JSON: {error}") from error
    validate("server_metadata", document)
    if EXTENSION not in document["extensions"]:
        raise Finding(f"`extensions` is {document['extensions'][:20]!a}, without {EXTENSION!r}")


CHECKS: dict[str, Check] = {
    "octet_stream_type": _typed(OCTET_STREAM),
    "json_type": _typed(JSON_TYPE),
    "id_echo": _id_echo,
    "only_requested": _only_requested,
    "header_length_sent": _header_length_sent,
    "no_header_length": _no_header_length,
    "client_error": _client_error,
    "content_length_sent": _content_length,
    "encoded": _encoded,
    "not_encoded": _not_encoded,
    "lists_extension": _lists_extension,
}


def canary_verdict(expected: tuple[Expected, ...], transcript: Transcript) -> str:
    """What is wrong with a canary's answer, "" where it is exact."""
    response = transcript.response
    if response is None:
        return f"no complete response: {transcript.ending} ({transcript.detail})"
    try:
        if response.excess:
            raise Finding(f"{response.excess} bytes came after the end of the response")
        exact = tuple(replace(item, form="any") for item in expected)
        judge_success(exact, decode_body(response))
    except Finding as finding:
        return str(finding)
    return ""
