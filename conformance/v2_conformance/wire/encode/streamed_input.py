"""The one input of a `huge` case: its JSON, and the tensor that is made while it is sent."""

from __future__ import annotations

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES, blob_size
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.suite.cases import RequestCase
from v2_conformance.wire.case_data import array, integer, mapping, text
from v2_conformance.wire.encode.inputs import Described, EncodedInput, input_entries
from v2_conformance.wire.streamed import StreamedTensor

PATTERN = "offsets"
"""The value pattern of every streamed tensor: that of `suite.values.offset_pattern`."""

_MEMBERS = ("id", "inputs", "outputs", "accept_encoding")
_MOST = 1 << 40


def streamed_input(
    case: RequestCase, datatype: str, names: tuple[str, str]
) -> tuple[EncodedInput, StreamedTensor]:
    """Return the input of `case`, to a model whose input and output of this datatype have these
    names.

    Raises CaseFileError for a case that asks for anything but one tensor of the pattern.
    """
    request = mapping(case.request, "`request` of a huge case", _MEMBERS)
    entries = input_entries(request)
    if len(entries) != 1 or case.variations or case.together > 1 or case.others:
        raise CaseFileError("a huge case has one input, and sends one request")
    entry = mapping(entries[0], "`inputs[0]` of a huge case", ("shape", "values"))
    if text(entry.get("values"), "`values`") != PATTERN or DATATYPES[datatype].kind != "int":
        raise CaseFileError(f"the tensor of a huge case has integers in the pattern {PATTERN}")
    shape = tuple(
        integer(dimension, "`shape`", least=1, most=_MOST)
        for dimension in array(entry.get("shape"), "`shape`")
    )
    size = blob_size(datatype, shape) or 0
    if size > _MOST:
        raise CaseFileError(f"the tensor of a huge case has at most {_MOST} bytes")
    given, returned = names
    document = {
        "name": given,
        "shape": list(shape),
        "datatype": datatype,
        "parameters": {BINARY_DATA_SIZE: size},
    }
    tensor = StreamedTensor(returned, datatype, shape, DATATYPES[datatype].size or 1, size)
    return EncodedInput(
        Described(document), Tensor(given, datatype, shape, b""), 0, b"", True
    ), tensor
