"""Adapts cases for a server that lacks a datatype which they need and are not about.

A server without FP16 has no model `mixed`, and still has to read several inputs. So requests to
such a model go to its stand-in (cases/models.yaml).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.models import contract, stand_ins
from v2_conformance.suite.requirements import catalogue
from v2_conformance.wire.encode.inputs import input_entries

# Patterns whose values differ from tensor to tensor; others become the usual one.
_ANY_DATATYPE = frozenset({"counting", "counting_in_json"})
# Members that depend on a tensor's datatype: such a case is about it.
_OF_A_DATATYPE = frozenset({"blob", "datatype"})


def stood_in(case: Case, unsupported: Collection[str]) -> Case:
    """Return `case` as a server without the datatypes `unsupported` gets it, unchanged if nothing
    moves.

    The case keeps its id. A case that gives elements or bytes of its own is about a datatype, and
    so is one of a requirement that is; these are not sent.
    """
    if not isinstance(case, RequestCase) or case.datatypes.isdisjoint(unsupported):
        return case
    if catalogue()[case.requirement].datatypes:
        return case
    try:
        moved = _moved(case, unsupported)
        first = None if case.first is None else _moved(case.first, unsupported)
        members = [_moved(member, unsupported) for member in case.members]
    except CaseFileError:
        return case
    if moved is None or (first is None) != (case.first is None) or None in members:
        return case
    moved_members = tuple(member for member in members if member is not None)
    return replace(moved, first=first, members=moved_members)


def _moved(case: RequestCase, unsupported: Collection[str]) -> RequestCase | None:
    """Return one request of a case, sent to a model that the server can have; None if there is
    none.
    """
    if contract()[case.model].datatypes.isdisjoint(unsupported):
        return case
    role = stand_ins().get(case.model)
    if role is None:
        return None
    raw = bool(case.request.get("raw"))
    entries = [_entry(entry, raw=raw) for entry in input_entries(case.request)]
    if None in entries:
        return None
    return replace(case, model=role, request={**case.request, "inputs": entries})


def _entry(entry: Mapping[str, Any], *, raw: bool) -> Mapping[str, Any] | None:
    values, size = entry.get("values", "counting"), entry.get("size", {})
    if raw:  # no tensor is named in it
        return entry
    if not _OF_A_DATATYPE.isdisjoint(entry) or not isinstance(values, str) or "value" in size:
        return None
    if values in _ANY_DATATYPE:
        return entry
    return {member: value for member, value in entry.items() if member != "values"}
