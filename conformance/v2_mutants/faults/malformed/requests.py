"""Faults of parsers without bounds, of names in errors and of two lengths (J7, J8, J9)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.crashes import CrashingModels, die, kills_model
from v2_mutants.faults.shared.hangs import NO_RESPONSE, Silent
from v2_mutants.registry import What, fault

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
    fault(_name, "J7", Behaviour.parse_document, base=CrashingModels)(_text, _crashes_on(_applies))


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


fault("white-space-fills-memory", "J7", Behaviour.decompress, base=CrashingModels)(
    "Very much decoded white space ends the model.",
    kills_model(lambda coding, data: len(data) > 1 << 14 and _is_white_space(data)),
)


# --- J8: names in errors


class _Unwritable(Rejected):
    """An error whose text the server fails to write."""


def _unwritable(pattern: str) -> type[Behaviour]:
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
    ("quote-in-input-name", "a quote in an input's name", 'name .*"'),
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


# --- J9: two lengths


def _believes_content_length(applies: Callable[[int], bool]) -> type[Behaviour]:
    """A server that ends the body where a Content-Length beside chunks says, if that `applies`."""

    class BelievesContentLength(Behaviour):
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

fault("first-content-length-believed", "J9", Behaviour.received)(
    "Of two Content-Lengths, the first one counts.",
    lambda right, data: _TWO_LENGTHS.sub(rb"\1", right(), count=1),
)
