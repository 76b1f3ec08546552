"""Mistakes in an output of a response: one type for each finding, with its numbers and words."""

from __future__ import annotations

from typing import Literal

from v2_conformance.suite.causes.base import CauseBase, FirstDifference, counted

_WRONG_VALUE = "wrong_value"  # one finding in all datatypes and forms
_BIT_FOR_BIT = {
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), "D1"),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32", "UINT64"), "D2"),
    "FP32": "D3",
    "FP64": "D5",
    "BOOL": "D6",
    "FP16": "D8",
    "BF16": "D9",
}
"""The requirement about the bytes of each datatype."""


class TooManyDimensions(CauseBase, frozen=True):
    """An output's shape has absurdly many dimensions."""

    says = "{output} has a shape of {dimensions} dimensions"
    output: str
    dimensions: int


class DataAndSize(CauseBase, frozen=True):
    """An output has both `data` and `binary_data_size`."""

    says = "{output} has both `data` and `binary_data_size`"
    output: str


class NoDataNoSize(CauseBase, frozen=True):
    """An output has neither `data` nor `binary_data_size`."""

    says = "{output} has neither `data` nor `binary_data_size`"
    output: str


class BlobPastBody(CauseBase, frozen=True):
    """An output's declared size goes past the end of the body."""

    says = "{output} declares {size:byte} from byte {start}, but the body ends after {body:byte}"
    output: str
    size: int
    start: int
    body: int


class InvalidTensor(CauseBase, frozen=True, omit_defaults=True):
    """An output's bytes or JSON are not a tensor of its datatype and shape.

    `sign` says what they may be instead: elements of another size, another number of elements,
    BYTES without lengths, or blobs in another order than their outputs.
    """

    says = "{output} {datatype} {shape}: {problem}"
    output: str
    datatype: str
    shape: str
    problem: str
    sign: Literal["element_size", "element_count", "prefixes", "blob_order"] | None = None

    @property
    def shows(self) -> str | None:
        if self.sign == "element_size":
            return _BIT_FOR_BIT.get(self.datatype)
        shown = {"element_count": "O10", "prefixes": "B2", "blob_order": "O12"}
        return shown.get(self.sign or "")

    @property
    def finding_kind(self) -> str:
        return _WRONG_VALUE


class MissingOutput(CauseBase, frozen=True):
    """An expected output is not in the response."""

    says = "expected {output}, got {got:list}"
    stable = ("output",)
    output: str
    got: tuple[str, ...]

    @property
    def shows(self) -> str | None:
        return "O13"


class UnrequestedOutputs(CauseBase, frozen=True):
    """The response has outputs that the request does not ask for."""

    says = "the response has outputs that were not requested: {outputs:list}"
    outputs: tuple[str, ...]


class WrongForm(CauseBase, frozen=True):
    """An output came in the other form: binary or json."""

    says = "{output}: expected {expected} form, got {got} form"
    stable = ("got",)
    output: str
    expected: str
    got: str


class MixedForms(CauseBase, frozen=True):
    """Outputs that were requested alike came in different forms: `binary` and `json` name them."""

    says = (
        "expected all outputs in one form, because they were requested alike, got {binary:list} "
        "in binary form and {json:list} in JSON form"
    )
    binary: tuple[str, ...]
    json: tuple[str, ...]


class WrongDatatype(CauseBase, frozen=True):
    """An output has another datatype."""

    says = "{output}: expected datatype {expected}, got {got}"
    stable = ("got",)
    misleads = True
    output: str
    expected: str
    got: str


class WrongShape(CauseBase, frozen=True):
    """An output has another shape."""

    says = "{output}: expected shape {expected:shape}, got {got:shape}"
    stable = ("got",)
    misleads = True
    output: str
    expected: tuple[int, ...]
    got: tuple[int, ...]

    @property
    def wrong_output(self) -> str:
        return self.output


class WrongElementCount(CauseBase, frozen=True):
    """A BYTES output has another number of elements."""

    says = "{output} BYTES: expected {expected:element}, got {got}"
    misleads = True
    output: str
    expected: int
    got: int

    @property
    def finding_kind(self) -> str:
        return _WRONG_VALUE

    @property
    def wrong_output(self) -> str:
        return self.output


class _WrongElements(CauseBase, frozen=True):
    """Elements of an output differ, of which `difference` is the first."""

    difference: FirstDifference
    elements: int

    @property
    def finding_kind(self) -> str:
        return _WRONG_VALUE

    @property
    def first_difference(self) -> FirstDifference:
        return self.difference

    @property
    def wrong_output(self) -> str:
        return self.difference.output


class WrongValue(_WrongElements, frozen=True, omit_defaults=True):
    """Elements of a fixed-size datatype differ: `differing` of `elements`. `column_major` says that
    they are the right ones in column-major order."""

    differing: int
    column_major: bool = False

    @property
    def shows(self) -> str | None:
        if self.column_major:
            return "D10"
        first = self.difference
        pairs = [first.expected[n : n + 2] for n in range(0, len(first.expected), 2)]
        if len(pairs) > 1 and "".join(reversed(pairs)) == first.got:
            return _BIT_FOR_BIT.get(first.datatype)
        return None

    def words(self) -> str:
        first = self.difference
        place = f"element {first.element} of {self.elements}"
        if first.body_offset is not None:
            place += f" (byte {first.offset} of its blob, byte {first.body_offset} of the body)"
        return (
            f"{first.output} {first.datatype}: {self._sign()}{place}: expected {first.expected} "
            f"({first.expected_value}), got {first.got} ({first.got_value}), bytes in wire order; "
            f"{'1 element differs' if self.differing == 1 else f'{self.differing} elements differ'}"
        )

    def _sign(self) -> str:
        if self.column_major:
            return "the elements are the right ones in column-major order: "
        return "the bytes are in big-endian order: " if self.shows is not None else ""


class WrongBytesElement(_WrongElements, frozen=True):
    """A BYTES element differs from its byte `at` on.

    `start` is where the element begins in the response's body, None for an output in JSON form.
    Lengths are in bytes. `expected` and `got` are hex of at most 16 bytes, cut off with "…".
    """

    start: int | None
    at: int
    expected_length: int
    got_length: int
    expected: str
    got: str

    def words(self) -> str:
        first = self.difference
        place = f" (from byte {self.start} of the body)" if self.start is not None else ""
        return (
            f"{first.output} BYTES: element {first.element} of {self.elements}{place}: expected "
            f"{counted(self.expected_length, 'byte')}, got {self.got_length}; from its byte "
            f"{self.at}: expected {self.expected}, got {self.got}"
        )
