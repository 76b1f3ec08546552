"""How the bench answers a client: the bytes of an answer, from its script and what was asked for.

The outputs are those of the task, whatever the client sent for its inputs: so a defect of the
request spoils no scenario about reading. Only what the client asked for is taken from its request:
which outputs, in which forms and codings, and the id to repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from v2_clients.bench.answered_codings import coded
from v2_clients.bench.answered_http import CASES, framed
from v2_clients.bench.requests import ClientRequest, Wishes, wishes
from v2_clients.bench.tasks import Asked, asked_of
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.content_codings import CODINGS, CodingError, acceptable
from v2_conformance.protocol.datatypes import ElementError, check_blob, to_json
from v2_conformance.protocol.message import Tensor, compose, dump_json
from v2_conformance.suite.cases import Case, ClientCase
from v2_conformance.suite.models import TensorSpec
from v2_conformance.wire.encode import from_hex
from v2_conformance.wire.encode.document import message_fields
from v2_conformance.wire.encode.inputs import EncodedInput, encode_one, input_entries
from v2_conformance.wire.encode.json_changes import change_json
from v2_conformance.wire.encode.requests import appended

_PAUSE_S, _MOST_PAUSES_S = 0.002, 0.3
_IDENTITY_LIES = ("values", "elements")


@dataclass(frozen=True)
class Answer:
    """An answer as sent: `writes`, with `pause_s` seconds between them, and `then` what happens to
    the connection. It is sent once `when` the head or the whole request has arrived.

    `outputs` are the tensors that a client has to read from it, in its order. `fields` and `body`
    are those of the message, without the fields that frame it and without chunks.
    """

    writes: tuple[bytes, ...]
    status: int
    outputs: tuple[Tensor, ...]
    document: Mapping[str, Any]
    pause_s: float = 0.0
    then: str = "keeps"
    when: str = "whole"
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def data(self) -> bytes:
        """All its bytes."""
        return b"".join(self.writes)


def answer_to(asked: Asked, script: Mapping[str, Any], request: ClientRequest) -> Answer:
    """Return the answer to a request that came.

    An answer that is sent before the body arrives knows only the head. The client's wishes can make
    a script impossible, such as a cut in a blob of an answer without blobs: then the answer is as
    the task asks. Raises CaseFileError if that is impossible as well.
    """
    script = script if request.version != "1.0" else _for_http_1_0(script)
    if script.get("redirects"):
        script = {**script, "headers": {"Location": _elsewhere(request)}}
    if not request.keeps_open:
        script = {"then": "closes", **script}
    wanted = wishes(request)
    if script.get("when") != "head":
        with suppress(CaseFileError):
            return make_answer(asked, script, wanted)
    return make_answer(asked, script, of_the_task(asked, wanted.accept_encoding))


def _elsewhere(request: ClientRequest) -> str:
    """Return the URL of a request at the bench's other name, which is another host for a client."""
    name, _, port = (request.value("host") or "").partition(":")
    other = "127.0.0.1" if name == "localhost" else "localhost"
    return f"http://{other}:{port}{request.path}"


def outputs_of(asked: Asked, script: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Return the outputs with which `script` answers a request as the task asks, without an answer
    that has them; none if it is an error. Raises CaseFileError as `make_answer` does.
    """
    outputs = [] if "error" in script else _outputs(asked, script, of_the_task(asked))
    return tuple(one.tensor for one in outputs)


def _for_http_1_0(script: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `script` without what a client of HTTP/1.0 does not know: chunks (RFC 9112, section
    6.1) and interim responses (RFC 9110, section 15.2)."""
    known = {name: value for name, value in script.items() if name != "interim"}
    delivery = known.get("delivery")
    if isinstance(delivery, Mapping) and "chunks" in delivery:
        known["delivery"] = {"slices": delivery["chunks"]}
    return known


def make_answer(asked: Asked, script: Mapping[str, Any], wanted: Wishes | None = None) -> Answer:
    """Return the answer that `script` (schemas/scenario.schema.json) gives to a request of a
    scenario.

    Without `wanted` the answer is as the task asks for it. Raises CaseFileError for a mistake of
    the scenario's author.
    """
    if wanted is None:
        wanted = of_the_task(asked)
    failed = "error" in script
    status = script.get("status", 400 if failed else 200)
    outputs = [] if failed else _outputs(asked, script, wanted)
    document = _document(asked, outputs, wanted)
    if failed:
        document = {"error": script["error"]}
    given = script.get("body", {})
    instead = from_hex(given["hex"]) if "hex" in given else None
    instead = str(given["text"]).encode() if "text" in given else instead
    written = _json(document, script) if instead is None else instead
    blobs = [(o.tensor.name, o.blob) for o in outputs if o.blob is not None]
    blobs = blobs if instead is None else []
    body, parts = compose(b"", written, blobs)
    sizes = len(written), len(body) - len(written)
    body = _tampered(body, script)
    coding = _coding(script, wanted)
    if coding is not None:
        body = coded(coding, body, script.get("encoded"))
    codings = [] if coding is None else [("Content-Encoding", coding)]
    fields = message_fields(script, *sizes, codings, binary=bool(blobs))
    spell = CASES[script.get("field_case", "usual")]
    message = tuple((spell(name), value) for name, value in fields)
    head_and_body, closes = framed(fields, body, parts, script, status)
    then = str(script.get("then", "closes" if closes else "keeps"))
    return Answer(
        writes=head_and_body,
        status=status,
        outputs=tuple(o.tensor for o in outputs),
        document=document,
        pause_s=script.get("pause_s", min(_PAUSE_S, _MOST_PAUSES_S / (len(head_and_body) or 1))),
        then=then,
        when=str(script.get("when", "whole")),
        fields=message,
        body=body,
    )


def of_the_task(asked: Asked, accept_encoding: str | None = None) -> Wishes:
    """Return what a request asks for that does just what the caller wants."""
    task = asked.request
    forms = {"binary": True, "json": False, None: None}
    listed = None
    if task.outputs is not None:
        listed = tuple((output.name, forms[output.form]) for output in task.outputs)
    return Wishes(task.id, listed, task.binary_data_output, accept_encoding)


def _outputs(asked: Asked, script: Mapping[str, Any], wanted: Wishes) -> list[EncodedInput]:
    """Return the outputs of the answer, in its order."""
    if "outputs" in script:
        entries = input_entries({"inputs": script["outputs"]})
    else:
        entries = [{"tensor": place} for place in _listed(asked, wanted)]
    return [_output(asked, position, entry, wanted) for position, entry in enumerate(entries)]


def _listed(asked: Asked, wanted: Wishes) -> Sequence[int]:
    """Return the requested outputs, by their places: those of the request as it came, or of the
    task if the request names no outputs of the model.
    """
    held = asked.outputs
    places = {asked.model.outputs[place].name: place for place in held}
    for names in (
        [name for name, _ in wanted.outputs or ()],
        [output.name for output in asked.request.outputs or ()],
    ):
        known = [places[name] for name in dict.fromkeys(names) if name in places]
        if known:
            return known
    return list(held)


def _output(asked: Asked, position: int, entry: Mapping[str, Any], wanted: Wishes) -> EncodedInput:
    given = dict(entry)
    held = asked.outputs
    place = given.pop("tensor", position)
    same = held.get(place)
    values = any(name in given for name in _IDENTITY_LIES)
    try:
        if same is None and not {"name", "datatype", "shape"} <= set(given):
            raise CaseFileError("no input has its number: it needs `name`, `datatype`, `shape`")
        if same is not None:
            given.setdefault("name", same.name)
            given.setdefault("shape", list(same.shape))
            if not values:
                given["values"] = {"hex": bytes(same.blob)}
        invented = same is None or (values and "datatype" in given)
        datatype = given["datatype"] if invented else same and same.datatype
        name = given["name"]
        spec = TensorSpec(name, str(datatype), ())
        if given.get("form") is None:
            given["form"] = "binary" if _is_binary(asked, name, wanted) else "json"
            if given["form"] == "json" and not _has_json(spec, given, same):
                given["form"] = "binary"
        return encode_one(given, asked.model, spec)
    except CaseFileError as error:
        raise CaseFileError(f"`answer.outputs[{position}]`: {error}") from error


def _is_binary(asked: Asked, name: str, wanted: Wishes) -> bool:
    """Return True if an output is asked for in binary form."""
    named = dict(wanted.outputs or ())
    flag = named.get(name)
    return bool(wanted.binary) if flag is None else flag


def _has_json(spec: TensorSpec, given: Mapping[str, Any], same: Tensor | None) -> bool:
    """Return True if JSON can express the identity's value: not if it has a NaN."""
    if same is None or any(name in given for name in ("elements", "datatype")):
        return True
    try:
        to_json(spec.datatype, same.shape, same.blob)
    except ElementError:
        return False
    return True


def _document(asked: Asked, outputs: Sequence[EncodedInput], wanted: Wishes) -> dict[str, Any]:
    document: dict[str, Any] = {
        "model_name": asked.request.model,
        "model_version": asked.request.version or "1",
    }
    if wanted.id is not None:
        document["id"] = wanted.id
    return document | {"outputs": [dict(output.entry) for output in outputs]}


def _json(document: Mapping[str, Any], script: Mapping[str, Any]) -> bytes:
    """Return the bytes of the JSON, as `json` of the script says."""
    given = script.get("json", {})
    if "text" in given:
        return str(given["text"]).encode()
    indent = given.get("indent")
    if "change" in given:
        body = change_json(dump_json(document), given["change"], indent=indent)
    else:
        body = dump_json(document, indent)
    before, after = (str(given.get(name, "")).encode() for name in ("before", "after"))
    return before + body + after


def _tampered(body: bytes, script: Mapping[str, Any]) -> bytes:
    change = script.get("body", {})
    body += appended(change.get("append", ""))
    dropped = change.get("drop", 0)
    if dropped > len(body):
        raise CaseFileError(f"`body.drop`: the body has {len(body)} bytes")
    return body[: len(body) - dropped]


def _coding(script: Mapping[str, Any], wanted: Wishes) -> str | None:
    """Return the content coding of the answer."""
    if "encoding" not in script:
        return None
    first, *named = script["encoding"].split(" ")
    if first != "accepted":
        return str(script["encoding"])
    if wanted.accept_encoding is None:
        return None
    among = named or CODINGS
    try:
        allowed = acceptable(wanted.accept_encoding, among)
    except CodingError:
        return None
    return next((coding for coding in among if coding in allowed), None)


def check_answers(cases: Iterable[Case]) -> None:
    """Raise CaseFileError unless an answer to each request of scenarios can be made, and has
    tensors, since nothing else can be expected.
    """
    for case in (one for one in cases if isinstance(one, ClientCase)):
        for number, asked in enumerate(asked_of(case)):
            try:
                answer = make_answer(asked, case.answer(number, 0))
                for tensor in answer.outputs:
                    check_blob(tensor.datatype, tensor.shape, tensor.blob)
            except (ElementError, KeyError, TypeError) as error:
                raise CaseFileError(f"{case.id}: no tensor in `answer`: {error}") from error
            except CaseFileError as error:
                raise CaseFileError(f"{case.id}: {error}") from error
