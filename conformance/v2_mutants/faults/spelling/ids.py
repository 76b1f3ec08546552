"""Faults of ids that are no plain words (V4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.deliveries import is_versioned
from v2_mutants.faults.shared.spellings import refuses_json
from v2_mutants.registry import Right, What, fault, then

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


for _name, _text, _change in (
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
    fault(_name, "V4", Behaviour.read_request)(_text, _changes_id(_change))

for _name, _text, _refused in (
    ("empty-id-refused", "A request with an empty id is rejected.", lambda id: id == ""),
    ("long-id-refused", "A request with an id of over 255 characters is rejected.",
     lambda id: len(id) > _LONGEST),
    ("id-beyond-ascii-refused", "A request with an id that is not ASCII is rejected.",
     lambda id: not id.isascii()),
):  # fmt: skip
    fault(_name, "V4", Behaviour.parse_document)(_text, _refuses_id(_refused))


fault("id-lost-on-a-versioned-path", "V4", Behaviour.read_request)(
    "A response on a path with the model's version has no id.",
    then(
        lambda inference, model, request, length: (
            replace(inference, id=None) if is_versioned(request) else inference
        )
    ),
)
