"""Faults of reading JSON that is written in another way than usual (V1)."""

from __future__ import annotations

import re
from typing import Any

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import JsonObject
from v2_mutants.faults.shared.spellings import Reads, reads_zeros, refuses_json
from v2_mutants.registry import fault, replacing

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
    fault(name, "V1", Behaviour.parse_document)(text, refuses_json(when))


def _zeros(name: str, text: str, when: Reads) -> None:
    fault(name, "V1", Behaviour.read_request)(text, reads_zeros(when))


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

fault("escaped-solidus-kept", "V1", Behaviour.parse_document)(
    "The backslash before a slash is taken for a part of the text.",
    lambda right, text: right(
        memoryview(bytes(text).replace(rb"\\", rb"\u005c").replace(rb"\/", rb"\\/"))
    ),
)
fault("html-escapes-kept", "V1", Behaviour.parse_document)(
    "The escapes of <, > and & are taken for text of six characters.",
    lambda right, text: right(
        memoryview(re.sub(rb"(?<!\\)\\(u00(?:3c|3e|26))", rb"\\\\\1", bytes(text)))
    ),
)
fault("hex-control-characters-refused", "V1", Behaviour.parse_document)(
    r"A line feed that is written as \u000A is rejected.",
    refuses_json(lambda text, document: "\\u000A" in text),
)
fault("byte-order-marks-removed", "V1", Behaviour.parse_document)(
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

fault("negative-zero-refused", "V1", Behaviour.parse_document)(
    "A negative zero without a point is rejected.",
    refuses_json(lambda text, document: re.search(r"[\[,]-0[,\]]", text) is not None),
)
fault("fraction-of-integer-read-as-digits", "V1", Behaviour.read_request)(
    "Data of an integer tensor with a point and no exponent are read as zeros.",
    reads_zeros(
        lambda text, document: (
            re.search(r"[.][0-9]+(?![0-9E])", _data(text, document, floats=False)) is not None
        )
    ),
)
fault("exponent-of-integer-tensor-read-as-digits", "V1", Behaviour.read_request)(
    "Data of an integer tensor with an exponent are read as zeros.",
    reads_zeros(lambda text, document: "E" in _data(text, document, floats=False)),
)
fault("negative-exponent-of-integer-tensor-lost", "V1", Behaviour.read_request)(
    "Data of an integer tensor with a negative exponent are read as zeros.",
    reads_zeros(lambda text, document: "e-" in _data(text, document, floats=False)),
)


_reads_fractions_as_zeros = replacing(
    Behaviour,
    Behaviour.read_request,
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
