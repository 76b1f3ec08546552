"""Faults of reading JSON that is written in another way than usual, of names like those that count
(V1, V2), and of ids that are no plain words (V4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import Reads, is_versioned, reads_zeros, refuses_json
from v2_mutants.registry import Right, What, fault, replacing, then

_FRACTION = re.compile(r'"shape"\s*:\s*\[[0-9]+[.]')
_FLOATS = ("FP16", "BF16", "FP32", "FP64")


def _inputs(document: JsonObject) -> list[JsonObject]:
    listed = document.get("inputs")
    return (
        [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )


def _in_order(document: JsonObject, *names: str) -> bool:
    """Return True if an input has all of these members, in this order."""
    for entry in _inputs(document):
        places = [list(entry).index(name) for name in names if name in entry]
        if len(places) == len(names) and places == sorted(places):
            return True
    return False


def _begins(document: JsonObject, *names: str) -> bool:
    return any(list(entry)[: len(names)] == list(names) for entry in _inputs(document))


def _integers(shape: Any) -> Any:
    """A shape with its whole floats as integers."""
    if not isinstance(shape, list):
        return shape
    return [int(size) if isinstance(size, float) else size for size in shape]


def _parameters(document: JsonObject) -> list[Any]:
    listed = document.get("outputs")
    outputs = listed if isinstance(listed, list) else []
    objects = [document, *_inputs(document), *outputs]
    return [
        item["parameters"] for item in objects if isinstance(item, dict) and "parameters" in item
    ]


def _data(text: str, document: JsonObject, *, floats: bool) -> str:
    """The data of all inputs of float or else integer datatypes, as they are written."""
    kinds = {entry.get("datatype") for entry in _inputs(document) if "data" in entry}
    if floats != (not kinds.isdisjoint(_FLOATS)) or kinds <= {"BYTES", "BOOL"}:
        return ""
    return " ".join(re.findall(r'"data"\s*:\s*\[([^"}]*)\]', text))


def _refused(name: str, text: str, when: Reads) -> None:
    fault(name, "V1", Behavior.parse_document)(text, refuses_json(when))


def _zeros(name: str, text: str, when: Reads) -> None:
    fault(name, "V1", Behavior.read_request)(text, reads_zeros(when))


for _does, _name, _text, _when in (
    (_refused, "datatype-before-name-refused",
     "An input with its datatype before its name, and that before its shape, is rejected.",
     lambda text, document: _in_order(document, "datatype", "name", "shape")),
    (_refused, "size-before-name-refused",
     "An input whose parameters stand right before its name is rejected.",
     lambda text, document: _begins(document, "parameters", "name")),
    (_refused, "outputs-before-inputs-refused",
     "A request whose outputs come before inputs that begin with their name is rejected.",
     lambda text, document: (
         [name for name in document if name in ("inputs", "outputs")] == ["outputs", "inputs"]
         and _begins(document, "name")
     )),
    (_refused, "data-before-name-refused",
     "An input whose data stand right before its name is rejected.",
     lambda text, document: _begins(document, "data", "name")),
    (_zeros, "size-beside-parameters-read",
     "An input with a member `binary_data_size` outside of its parameters is read as zeros.",
     lambda text, document: any("binary_data_size" in entry for entry in _inputs(document))),
    (_zeros, "nested-names-read",
     "An input with an array of objects as a member other than `data` is read as zeros.",
     lambda text, document: any(
         name != "data" and isinstance(value, list) and isinstance([*value, 0][0], dict)
         for entry in _inputs(document)
         for name, value in entry.items()
     )),
    (_zeros, "long-string-cut",
     "A string of more than 8,192 characters is cut off, and what follows is read as zeros.",
     lambda text, document: re.search(r'"[^"\\]{8193,}"', text) is not None),
    (_zeros, "sixth-parameter-lost", "An input with more than five parameters is read as zeros.",
     lambda text, document: any(
         len(entry.get("parameters", ())) > 5 for entry in _inputs(document)
     )),
    (_refused, "escaped-datatype-unknown", "A request with an escape in a datatype is rejected.",
     lambda text, document: re.search(r'"datatype"\s*:\s*"\\u', text) is not None),
    (_refused, "lower-case-surrogates-refused",
     "A surrogate pair in lower-case digits is rejected.",
     lambda text, document: re.search(r"\\ud[89ab][0-9a-f]{2}", text) is not None),
    (_refused, "upper-case-surrogates-refused",
     "A surrogate pair in upper-case digits is rejected.",
     lambda text, document: re.search(r"\\uD[89AB][0-9A-F]{2}", text) is not None),
):  # fmt: skip
    _does(_name, _text, _when)

fault("escaped-solidus-kept", "V1", Behavior.parse_document)(
    "The backslash before a slash is taken for a part of the text.",
    lambda right, text: right(
        memoryview(bytes(text).replace(rb"\\", rb"\u005c").replace(rb"\/", rb"\\/"))
    ),
)
fault("html-escapes-kept", "V1", Behavior.parse_document)(
    "The escapes of <, > and & are taken for text of six characters.",
    lambda right, text: right(
        memoryview(re.sub(rb"(?<!\\)\\(u00(?:3c|3e|26))", rb"\\\\\1", bytes(text)))
    ),
)
fault("hex-control-characters-refused", "V1", Behavior.parse_document)(
    r"A line feed that is written as \u000A is rejected.",
    refuses_json(lambda text, document: "\\u000A" in text),
)
fault("byte-order-marks-removed", "V1", Behavior.parse_document)(
    "U+FEFF is removed wherever it stands in the JSON.",
    lambda right, text: right(memoryview(bytes(text).replace(b"\xef\xbb\xbf", b""))),
)

for _does, _name, _text, _when in (
    (_refused, "float-without-point-refused",
     "Data of a float tensor with a whole number that has no point is rejected.",
     lambda text, document: (
         re.search(
             r"(?<![0-9.eE+-])-?[1-9][0-9]*(?![0-9.eE])", _data(text, document, floats=True)
         )
         is not None
     )),
    (_refused, "upper-case-exponent-refused",
     "Data of a float tensor with an exponent after an upper-case E are rejected.",
     lambda text, document: "E" in _data(text, document, floats=True)),
    (_refused, "signed-exponent-refused",
     "Data of a float tensor with a plus sign in an exponent are rejected.",
     lambda text, document: "e+" in _data(text, document, floats=True)),
    (_zeros, "exponent-of-integer-lost",
     "The exponent of a float that has three digits or more and no point is lost.",
     lambda text, document: (
         re.search(r"(?<![0-9.])[0-9]{3,}e-", _data(text, document, floats=True)) is not None
     )),
    (_refused, "zeros-of-fraction-refused",
     "Data of a float tensor with three zeros at the end of a fraction are rejected.",
     lambda text, document: (
         re.search(r"[.][0-9]*000(?![0-9])", _data(text, document, floats=True)) is not None
     )),
):  # fmt: skip
    _does(_name, _text, _when)

fault("negative-zero-refused", "V1", Behavior.parse_document)(
    "A negative zero without a point is rejected.",
    refuses_json(lambda text, document: re.search(r"[\[,]-0[,\]]", text) is not None),
)
fault("fraction-of-integer-read-as-digits", "V1", Behavior.read_request)(
    "Data of an integer tensor with a point and no exponent are read as zeros.",
    reads_zeros(
        lambda text, document: (
            re.search(r"[.][0-9]+(?![0-9E])", _data(text, document, floats=False)) is not None
        )
    ),
)
fault("exponent-of-integer-tensor-read-as-digits", "V1", Behavior.read_request)(
    "Data of an integer tensor with an exponent are read as zeros.",
    reads_zeros(lambda text, document: "E" in _data(text, document, floats=False)),
)
fault("negative-exponent-of-integer-tensor-lost", "V1", Behavior.read_request)(
    "Data of an integer tensor with a negative exponent are read as zeros.",
    reads_zeros(lambda text, document: "e-" in _data(text, document, floats=False)),
)

_reads_fractions_as_zeros = replacing(
    Behavior,
    Behavior.read_request,
    reads_zeros(lambda text, document: _FRACTION.search(text) is not None),
)


@fault.several("sizes-with-fraction-read-as-zeros", "V1")
class _SizesWithFractionReadAsZeros(_reads_fractions_as_zeros):  # type: ignore[misc, valid-type]
    """A shape with a fraction is accepted, but the data of the request are read as zeros."""

    def parse_document(self, text: memoryview) -> JsonObject:
        document: JsonObject = super().parse_document(text)
        for entry in _inputs(document):
            entry["shape"] = _integers(entry.get("shape"))
            size = entry.get("parameters", {}).get("binary_data_size")
            if isinstance(size, float):
                entry["parameters"]["binary_data_size"] = int(size)
        return document


for _does, _name, _text, _when in (
    (_zeros, "nested-data-beside-blobs-lost",
     "A request with nested data and blobs is read as zeros.",
     lambda text, document: any(
         isinstance(entry.get("data"), list) and isinstance([*entry["data"], 0][0], list)
         for entry in _inputs(document)
         if any("binary_data_size" in item for item in _parameters(document))
     )),
    (_refused, "space-before-colon-refused",
     "A request with white space between a name and its colon is rejected.",
     lambda text, document: re.search(r'"\s+:', text) is not None),
    (_refused, "tabs-refused",
     "A request with a tab after a carriage return and a line feed is rejected.",
     lambda text, document: "\r\n\t" in text),
):  # fmt: skip
    _does(_name, _text, _when)

_MEMBERS = ("id", "parameters", "inputs", "outputs", "name", "shape", "datatype", "data")
_PARAMETERS = ("binary_data", "binary_data_size", "binary_data_output")


def _reads_names(known: tuple[str, ...], plain: Callable[[str], str]) -> What[JsonObject]:
    """A server that compares names of members after `plain`: the first with a name counts."""

    def read(value: Any) -> Any:
        if isinstance(value, list):
            return [read(item) for item in value] if isinstance([*value, 0][0], dict) else value
        if not isinstance(value, dict):
            return value
        result: JsonObject = {}
        for name, item in value.items():
            result.setdefault(plain(name) if plain(name) in known else name, read(item))
        return result

    return then(lambda document, text: read(document))


fault("names-in-any-case", "V1", Behavior.parse_document)(
    "Names of members are compared without their case, and the first of two counts.",
    _reads_names(_MEMBERS, str.lower),
)
fault("names-up-to-an-underscore", "V1", Behavior.parse_document)(
    "An underscore at the end of a member's name is ignored, and the first of two counts.",
    _reads_names(_MEMBERS, lambda name: name.rstrip("_")),
)
fault("parameters-in-any-spelling", "V1", Behavior.parse_document)(
    "Hyphens and capitals in a parameter's name are ignored, and the first of two counts.",
    _reads_names(_PARAMETERS, lambda name: name.lower().replace("-", "_")),
)
fault("datatype-behind-data-and-shape-refused", "V1", Behavior.parse_document)(
    "An input with its name, shape and data before its datatype is rejected.",
    refuses_json(
        lambda text, document: any(
            [name for name in entry if name in ("name", "shape", "datatype", "data")]
            == ["name", "shape", "data", "datatype"]
            for entry in document.get("inputs", [])
            if isinstance(entry, dict)
        )
    ),
)


@fault("empty-parameters-of-output-are-binary", "V1", Behavior.request_outputs)
def _(
    right: Right[tuple[RequestOutput, ...]], model: ModelContract, document: JsonObject
) -> tuple[RequestOutput, ...]:
    """A listed output with empty parameters is binary."""
    listed = document.get("outputs") or [{}] * len(right())
    return tuple(
        RequestOutput(output.name, output.binary or item.get("parameters") == {})
        for output, item in zip(right(), listed, strict=True)
    )


fault("empty-parameters-of-request-are-binary", "V1", Behavior.binary_by_default)(
    "Outputs that are not listed are binary if the request's parameters are empty.",
    lambda right, document: (
        right() or (document.get("parameters") == {} and not document.get("outputs"))
    ),
)


def _reads_field(is_length: Callable[[str], bool]) -> What[list[str]]:
    """A server that takes the last field whose name looks like that of the header length."""
    return then(
        lambda values, request: (
            [value for name, value in request.headers if is_length(name.lower())][-1:] or values
        )
    )


for _name, _text, _is_length in (
    ("header-length-found-by-its-end",
     "A field whose name ends with that of the header length is taken for it.",
     lambda name: name.endswith(HEADER_LENGTH.lower())),
    ("header-length-with-underscores",
     "A field is the header length with underscores in its name, too.",
     lambda name: name.replace("_", "-") == HEADER_LENGTH.lower()),
):  # fmt: skip
    fault(_name, "V2", Behavior.header_length_values)(_text, _reads_field(_is_length))

_LONGEST = 255
_UUID = re.compile("(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _changes_id(change: Callable[[str], str]) -> What[InferenceRequest]:
    """A server that keeps the id in a way that changes some."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = right()
        given = inference.id
        return inference if given is None else replace(inference, id=change(given))

    return what


def _refuses_id(refused: Callable[[str], bool]) -> What[JsonObject]:
    """A server that refuses some ids."""
    return refuses_json(
        lambda text, document: isinstance(id := document.get("id"), str) and refused(id)
    )


for _name, _text, _id_change in (
    ("long-id-cut", f"An id is cut off after {_LONGEST} characters.", lambda id: id[:_LONGEST]),
    ("quotes-of-id-removed", "Quotes are removed from an id.", lambda id: id.replace('"', "")),
    ("spaces-of-id-trimmed", "Spaces at the ends of an id are removed.", lambda id: id.strip(" ")),
    ("id-used-as-format", "An id is used as a format string.", lambda id: id.replace("%%", "%")),
    ("ideographs-of-id-replaced", "Ideographs of an id become question marks.",
     lambda id: re.sub("[\u4e00-\u9fff]", "?", id)),
    ("id-cut-at-nul", "An id ends at its first NUL.", lambda id: id.partition("\0")[0]),
    ("id-composed", "An id is put into Unicode's composed form.",
     lambda id: unicodedata.normalize("NFC", id)),
    ("private-use-of-id-replaced", "Characters for private use in an id become U+FFFD.",
     lambda id: re.sub("[\ue000-\uf8ff]", "\ufffd", id)),
    ("uuid-in-lower-case", "An id that is a UUID is written in lower case.",
     lambda id: id.lower() if _UUID.fullmatch(id) else id),
    ("id-read-as-number", "An id of digits loses the zeros before them.",
     lambda id: str(int(id)) if re.fullmatch("[0-9]{1,9}", id) else id),
    ("id-unescaped", "An id is unescaped as a part of a URL is.", unquote),
    ("id-read-as-float", "An id that is a number with an exponent is written in another way.",
     lambda id: str(float(id)) if re.fullmatch("[0-9.]+e[0-9]+", id) else id),
    ("delete-of-id-removed", "U+007F is removed from an id.", lambda id: id.replace("\x7f", "")),
    ("byte-order-mark-of-id-removed", "U+FEFF at the start of an id is removed.",
     lambda id: id.removeprefix("\ufeff")),
):  # fmt: skip
    fault(_name, "V4", Behavior.read_request)(_text, _changes_id(_id_change))

for _name, _text, _bad_id in (
    ("empty-id-refused", "A request with an empty id is rejected.", lambda id: id == ""),
    ("long-id-refused", "A request with an id of over 255 characters is rejected.",
     lambda id: len(id) > _LONGEST),
    ("id-beyond-ascii-refused", "A request with an id that is not ASCII is rejected.",
     lambda id: not id.isascii()),
):  # fmt: skip
    fault(_name, "V4", Behavior.parse_document)(_text, _refuses_id(_bad_id))

fault("id-lost-on-a-versioned-path", "V4", Behavior.read_request)(
    "A response on a path with the model's version has no id.",
    then(
        lambda inference, model, request, length: (
            replace(inference, id=None) if is_versioned(request) else inference
        )
    ),
)
