"""Faults of ids that are no plain words (V4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.spellings import refuses_json
from v2_mutants.registry import Right, What, fault

_LONGEST = 255


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


for _name, _text, _change in (
    ("long-id-cut", f"An id is cut off after {_LONGEST} characters.", lambda id: id[:_LONGEST]),
    ("quotes-of-id-removed", "Quotes are removed from an id.", lambda id: id.replace('"', "")),
    ("spaces-of-id-trimmed", "Spaces at the ends of an id are removed.", lambda id: id.strip(" ")),
    ("id-used-as-format", "An id is used as a format string.", lambda id: id.replace("%%", "%")),
    ("id-read-as-latin-1", "An id with characters of two bytes in UTF-8 is read as Latin-1.",
     lambda id: id.replace("é", "é".encode().decode("latin-1"))),
    ("control-characters-of-id-removed", "Control characters are removed from an id.",
     lambda id: "".join(character for character in id if character >= " ")),
    ("byte-order-mark-of-id-removed", "U+FEFF at the start of an id is removed.",
     lambda id: id.removeprefix("\ufeff")),
):  # fmt: skip
    fault(_name, "V4", Behaviour.read_request)(_text, _changes_id(_change))

for _name, _text, _refused in (
    ("empty-id-refused", "A request with an empty id is rejected.", lambda id: id == ""),
    ("long-id-refused", "A request with an id of over 255 characters is rejected.",
     lambda id: len(id) > _LONGEST),
    ("id-beyond-ascii-refused", "A request with an id that is not ASCII is rejected.",
     lambda id: not id.isascii()),
):  # fmt: skip
    fault(_name, "V4", Behaviour.parse_document)(_text, _refuses_id(_refused))
