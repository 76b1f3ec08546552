"""Faults of text that is not JSON, of members of a wrong type, of parsers without bounds, of names
in errors, and of two lengths (J3, J4, J7, J8, J9)."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import MessageError, RepeatedMemberError, parse_json_noting
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared import NO_RESPONSE, CrashingModels, Silent, die, kills_model
from v2_mutants.registry import Right, What, fault

_BOM = b"\xef\xbb\xbf"


# --- J3: a lenient parser that reads something else


def _rewrites(rewrite: Callable[[bytes], bytes]) -> What[JsonObject]:
    """A server that parses `rewrite(text)` if the text itself is not JSON."""

    def what(right: Right[JsonObject], text: memoryview) -> JsonObject:
        try:
            return right()
        except MessageError:
            return right(memoryview(rewrite(bytes(text))))

    return what


def _octal(text: bytes) -> bytes:
    return re.sub(rb"\[0([0-7]+)", lambda match: b"[%d" % int(match[1], 8), text)


for _name, _text, _rewrite in (
    ("leading-zero-is-octal", "A number with a leading 0 is read as octal.", _octal),
    ("hexadecimal-is-zero", "A hexadecimal number is read up to its x.",
     lambda text: re.sub(rb"0x[0-9a-f]+", b"0", text)),
    ("plus-number-is-zero", "A number with a + is read as 0.", lambda t: t.replace(b"[+10", b"[0")),
    ("nan-is-zero", "NaN in JSON is read as 0.", lambda text: text.replace(b"NaN", b"0")),
    ("infinity-is-largest", "Infinity in JSON is read as the largest FP32.",
     lambda text: text.replace(b"Infinity", b"3.4028234663852886e38")),
    ("single-quotes-kept", "Single quotes become a part of the string.",
     lambda text: re.sub(rb"'(\w*)'", rb'''"'\1'"''', text)),
    ("comment-hides-element", "The element behind a comment is read as 0.",
     lambda text: re.sub(rb"/\*.*?\*/[0-9]+", b"0", text)),
    ("line-feed-dropped", "A line feed inside a JSON string is dropped.",
     lambda text: text.replace(b"\n", b"")),
    ("invalid-utf8-replaced", "A byte that is not UTF-8 becomes a replacement character.",
     lambda text: text.replace(b"\xe9", "\ufffd".encode())),
    ("overlong-utf8-read", "Overlong UTF-8 is read as the character that it spells.",
     lambda text: text.replace(b"\xc0\xaf", b"/")),
    ("cut-off-json-completed", "Brackets that are missing at the end of the JSON are added.",
     lambda text: text + b"]}]}" if text.rstrip()[-1:].isdigit() else text),
    ("text-behind-json-ignored", "Text behind the JSON object is ignored.",
     lambda text: text.removesuffix(b"garbage")),
    ("second-document-ignored", "A second JSON object behind the first is ignored.",
     lambda text: text.removesuffix(b'{"inputs":[]}')),
    ("extra-brace-ignored", "A brace too many behind the JSON object is ignored.",
     lambda text: text[:-1] if text.endswith(b"]}}") else text),
    ("no-break-space-stripped", "A no-break space behind the JSON object is ignored.",
     lambda text: text.removesuffix(b"\xc2\xa0")),
    ("trailing-comma-adds-zero", "Behind a trailing comma of an array there is a 0.",
     lambda text: text.replace(b",]", b",0]")),
    ("leading-comma-adds-zero", "Before a leading comma of an array there is a 0.",
     lambda text: text.replace(b"[,", b"[0,")),
    ("two-commas-have-zero-between", "Between two commas of an array there is a 0.",
     lambda text: text.replace(b",,", b",0,")),
):  # fmt: skip
    fault(_name, "J3", Behavior.parse_document)(_text, _rewrites(_rewrite))


def _reads_escape(escape: bytes, as_: bytes) -> What[JsonObject]:
    return lambda right, text: right(memoryview(bytes(text).replace(escape, as_)))


for _name, _text, _escape, _as in (
    ("high-surrogate-replaced", "Half of a pair, a high surrogate", rb'"\ud800"', b'"?"'),
    ("low-surrogate-replaced", "Half of a pair, a low surrogate", rb'"\udc00"', b'"?"'),
    ("reversed-pair-replaced", "A surrogate pair in the wrong order", rb"\udc00\ud800", b"?"),
):
    fault(_name, "J3", Behavior.parse_document)(
        f"{_text}, becomes a question mark.", _reads_escape(_escape, _as)
    )


@fault("repeated-data-mixed", "J3", Behavior.parse_document)
def _(right: Right[JsonObject], text: memoryview) -> JsonObject:
    """Of two `data`, elements are taken by turns."""
    try:
        return right()
    except RepeatedMemberError as error:
        if error.member != "data":
            raise
    last = parse_json_noting(text)[0]
    first = json.loads(bytes(text), object_pairs_hook=lambda pairs: dict(pairs[::-1]))
    for one, other in zip(first["inputs"], last["inputs"], strict=True):
        pairs = zip(one["data"], other["data"], strict=False)
        other["data"] = [pair[number % 2] for number, pair in enumerate(pairs)]
    return last


@fault("byte-order-mark-not-counted", "J3", Behavior.split_body)
def _(
    right: Right[tuple[memoryview, Blobs]], request: Request, length: int | None
) -> tuple[memoryview, Blobs]:
    """A byte order mark is dropped, and the blobs start as many bytes too early."""
    text, blobs = right()
    if bytes(text[:3]) != _BOM:
        return text, blobs
    view = bytes(text[-3:]) + bytes(blobs.view)
    return (text[3:], Blobs(memoryview(view[: len(blobs.view)])))


# --- J4: members of a wrong type


def _at(document: Any, path: str) -> Any:
    """Return what is at a path such as inputs.0.name; an exception if there is nothing."""
    for step in path.split("."):
        document = document[int(step) if isinstance(document, list) else step]
    return document


def _answers_if(applies: Callable[[Any], bool]) -> type[Behavior]:
    """A server that answers a rejected request with no outputs if `applies` to its JSON."""

    class Answers(Behavior):
        def infer(self, model: ModelContract, request: Request) -> Response:
            try:
                return super().infer(model, request)
            except (Rejected, MessageError):
                try:
                    document = json.loads(bytes(self.split_body(request, self._length(request))[0]))
                except ValueError:
                    document = {}
                if not applies(document):
                    raise
                return self.json_response({"model_name": model.model, "outputs": []})

        def _length(self, request: Request) -> int | None:
            values = request.values("inference-header-content-length")
            return int(values[0]) if values and values[0].isdecimal() else None

    return Answers


def _wrong(path: str, *right: type) -> Callable[[Any], bool]:
    def applies(document: Any) -> bool:
        try:
            value = _at(document, path)
        except (LookupError, TypeError, ValueError):
            return False
        return type(value) not in right

    return applies


for _member, _path, _right in (
    ("id", "id", str),
    ("inputs", "inputs", list),
    ("input", "inputs.0", dict),
    ("name", "inputs.0.name", str),
    ("output-parameters", "outputs.0.parameters", dict),
    ("second-dimension", "inputs.1.shape.0", int),
    ("second-size", "inputs.1.parameters.binary_data_size", int),
):  # fmt: skip
    fault.several(
        f"{_member}-of-any-type",
        "J4",
        f"If {_path} has a wrong JSON type, the answer has no outputs.",
    )(_answers_if(_wrong(_path, _right)))


def _of_the_type(value: object) -> Callable[[Any], bool]:
    return lambda document: type(document) is type(value)


for _kind in (None, True, 7, "inputs"):
    fault.several(
        f"document-{json.dumps(_kind).strip(chr(34))}-answered",
        "J4",
        f"The JSON document {json.dumps(_kind)} is answered with no outputs.",
    )(_answers_if(_of_the_type(_kind)))

fault("array-of-requests-read", "J4", Behavior.parse_document)(
    "Of an array of requests, the first is served.",
    lambda right, text: (
        right(text[1:-1]) if bytes(text[:2]) == b"[{" and bytes(text[-2:]) == b"}]" else right()
    ),
)


# --- J7: parsers without bounds


def _crashes_on(applies: Callable[[bytes], bool]) -> What[JsonObject]:
    return kills_model(lambda text: applies(bytes(text)))


_MANY = 50_000


def _nested(least: int, most: int) -> Callable[[bytes], bool]:
    return lambda text: b'_member":[[' in text and least <= text.count(b"[") < most


def _has_dimensions(text: bytes) -> bool:
    match = re.search(rb'"shape":\[[0-9,]*', text)
    return match is not None and match[0].count(b",") > _MANY


for _name, _text, _applies in (
    ("nesting-of-100-crashes", "100 levels of JSON end the model.", _nested(100, 1000)),
    ("nesting-crashes", "100,000 levels of JSON end the model.", _nested(_MANY, 10 * _MANY)),
    ("nested-data-crashes", "Very deep arrays in `data` end the model.",
     lambda text: b'"data":[[' in text and text.count(b"[") > _MANY),
    ("many-outputs-crash", "Very many requested outputs end the model.",
     lambda text: text.count(b'{"name":"OUTPUT') > _MANY),
    ("many-inputs-crash", "Very many inputs end the model.",
     lambda text: text.count(b'{"name":"INPUT') > 10_000),
    ("many-dimensions-crash", "Very many dimensions end the model.", _has_dimensions),
    ("long-number-crashes", "A number of very many digits ends the model.",
     lambda text: re.search(rb"[0-9]{50000}", text) is not None),
    ("large-exponent-crashes", "A number with a very large exponent ends the model.",
     lambda text: re.search(rb"[0-9]e[0-9]{9}", text) is not None),
):  # fmt: skip
    fault(_name, "J7", Behavior.parse_document, base=CrashingModels)(_text, _crashes_on(_applies))


@fault.several("many-chunks-crash", "J7")
class _ManyChunksCrash(CrashingModels):
    """More than 65,536 chunks end the model."""

    def most_chunks(self) -> int:
        return 1 << 30

    def decode_request(self, request: Request) -> Request:
        return die() if len(request.chunk_cuts) > 1 << 16 else super().decode_request(request)


def _is_white_space(data: Buffer) -> bool:
    """Return True if data in gzip or zlib begins with a mebibyte that ends in white space."""
    start = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, 1 << 20)
    return len(start) == 1 << 20 and not start[-4096:].strip()


fault("white-space-fills-memory", "J7", Behavior.decompress, base=CrashingModels)(
    "Very much decoded white space ends the model.",
    kills_model(lambda coding, data: len(data) > 1 << 14 and _is_white_space(data)),
)


# --- J8: names in errors


class _Unwritable(Rejected):
    """An error whose text the server fails to write."""


def _unwritable(pattern: str) -> type[Behavior]:
    """A server that fails to write an error with a name of this pattern in it."""

    class Unwritable(Silent):
        def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
            for member in ("name", "datatype"):
                self._check(item.get(member) if isinstance(item, dict) else None, member)
            return super().request_input(specs, item)

        def output_name(self, model: ModelContract, item: object) -> str:
            self._check(item.get("name") if isinstance(item, dict) else None, "output")
            return super().output_name(model, item)

        def find_model(self, name: str, version: str | None) -> ModelContract:
            self._check(name, "model")
            return super().find_model(name, version)

        def rejection_response(self, rejection: Rejected) -> Response:
            lost = isinstance(rejection, _Unwritable)
            return NO_RESPONSE if lost else super().rejection_response(rejection)

        def _check(self, name: object, what: str) -> None:
            if isinstance(name, str) and re.match(pattern, f"{what} {name}", re.DOTALL):
                raise _Unwritable("the error cannot be written")

    return Unwritable


_LONG = ".{65536}"

for _name, _text, _pattern in (
    ("quote-in-output-name", "a quote in an output's name", 'output .*"'),
    ("quote-in-datatype", "a quote in a datatype", 'datatype .*"'),
    ("quote-in-model-name", "a quote in a model's name", 'model .*"'),
    ("line-break-in-input-name", "a line break in an input's name", "name .*\r\n"),
    ("line-break-in-model-name", "a line break in a model's name", "model .*\r\n"),
    ("control-in-input-name", "a control character in an input's name", "name .*\x01"),
    ("control-in-model-name", "a control character in a model's name", "model .*\x01"),
    ("markup-in-input-name", "markup in an input's name", "name .*<"),
    ("markup-in-model-name", "markup in a model's name", "model .*<"),
    ("long-input-name", "a very long name of an input", f"name {_LONG}"),
    ("long-output-name", "a very long name of an output", f"output {_LONG}"),
):
    fault.several(
        f"{_name}-unanswered",
        "J8",
        f"An error about {_text} is not sent: the connection is closed.",
    )(_unwritable(_pattern))


def _copies_bytes(written: bytes) -> type[Behavior]:
    """A server that reads bytes that are not UTF-8, and writes them again where they are so."""

    class CopiesBytes(Behavior):
        def parse_document(self, text: memoryview) -> JsonObject:
            return super().parse_document(
                memoryview(re.sub(rb"\xff\xfe?", "\ue0ff".encode(), bytes(text)))
            )

        def json_text(self, value: object) -> bytes:
            return super().json_text(value).replace(written, b"\xff\xfe")

    return CopiesBytes


for _name, _requirement, _text, _written in (
    ("bytes-of-an-id-copied", "J3", "An id that is no UTF-8 gets into JSON.", "\ue0ff".encode()),
    ("bytes-of-a-name-copied", "R2", "A name that is no UTF-8 gets into an error.", rb"\\ue0ff"),
):
    fault.several(_name, _requirement, _text)(_copies_bytes(_written))

# --- J9: two lengths


def _believes_content_length(applies: Callable[[int], bool]) -> type[Behavior]:
    """A server that ends the body where a Content-Length beside chunks says, if that `applies`."""

    class BelievesContentLength(Behavior):
        def keeps_open(self, request: Request, response: Response) -> bool:
            return self._believed(request) or super().keeps_open(request, response)

        def read_request(
            self, model: ModelContract, request: Request, length: int | None
        ) -> InferenceRequest:
            if self._believed(request):
                raise Rejected("the JSON is cut off")
            return super().read_request(model, request, length)

        def left_on_connection(self, request: Request, response: Response) -> bytes:
            return b"left\r\n" if self._believed(request) else b""

        def _believed(self, request: Request) -> bool:
            lengths = request.values("content-length")
            chunked = bool(request.values("transfer-encoding"))
            return chunked and any(applies(int(length)) for length in lengths)

    return BelievesContentLength


fault.several(
    "short-content-length-believed",
    "J9",
    "Of a body in chunks, what is beyond a Content-Length is read as the next request.",
)(_believes_content_length(lambda length: length < 100))
fault.several(
    "long-content-length-kept-open",
    "J9",
    "After a body in chunks with a Content-Length that is too long, bytes are left to read.",
)(_believes_content_length(lambda length: length >= 100))

_TWO_LENGTHS = re.compile(
    rb"(?i)(\r\nContent-Length:[^\r]*(?:\r\n[^\r]+)*?)\r\nContent-Length:[^\r]*"
)

fault("first-content-length-believed", "J9", Behavior.received)(
    "Of two Content-Lengths, the first one counts.",
    lambda right, data: _TWO_LENGTHS.sub(rb"\1", right(), count=1),
)
