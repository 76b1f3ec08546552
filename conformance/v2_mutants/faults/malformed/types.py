"""Faults of shapes and datatypes that are converted instead of rejected (J5, J6)."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.suite.models import TensorSpec
from v2_mutants.registry import Right, What, fault


def _converts(member: str, given: object, to: object) -> What[RequestInput]:
    """A server that reads `to` for a member of an input that is exactly what is `given`."""

    def what(
        right: Right[RequestInput], specs: dict[str, TensorSpec], item: object
    ) -> RequestInput:
        if isinstance(item, dict) and repr(item.get(member)) == repr(given):
            item = {**item, member: to}
        return right(item=item)

    return what


for _name, _text, _given, _to in (
    ("fraction-cut", "The shape [4.5] is read as [4].", [4.5], [4]),
    ("true-is-one", "The shape [true] is read as [1].", [True], [1]),
    ("digits-read", 'The shape ["4"] is read as [4].', ["4"], [4]),
    ("null-dropped", "The shape [4, null] is read as [4].", [4, None], [4]),
    ("number-read", "The shape 4 is read as [4].", 4, [4]),
    ("text-read", 'The shape "4" is read as [4].', "4", [4]),
):
    fault(f"shape-{_name}", "J5", Behaviour.request_input)(_text, _converts("shape", _given, _to))

for _name, _text, _datatype in (
    ("left-out", "An input without a datatype has that of the model.", None),
    ("in-lower-case", "The datatype int32 is read as INT32.", "int32"),
):
    fault(f"datatype-{_name}", "J6", Behaviour.request_input)(
        _text, _converts("datatype", _datatype, "INT32")
    )
