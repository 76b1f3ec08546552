"""The documents' examples as tests see them, and servers of the models that these assume."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"

JsonObject = dict[str, Any]


def described(stem: str) -> JsonObject:
    """examples/STEM.json; a stem is such as oip-json.request."""
    found: JsonObject = json.loads((EXAMPLES / f"{stem}.json").read_text(encoding="utf-8"))
    return found


def body_of(stem: str) -> bytes:
    """examples/STEM.bin."""
    return (EXAMPLES / f"{stem}.bin").read_bytes()


def stems(*, kind: str = "", wrong: bool = False) -> list[str]:
    """The messages of one kind ("request", "response", "" for both) that are right, or wrong."""
    found = sorted(path.stem for path in EXAMPLES.glob(f"*{kind}.bin"))
    return [stem for stem in found if (described(stem)["wrong"] is not None) == wrong]


def bytes_of(tensor: JsonObject) -> bytes:
    """The bytes of a tensor of a described message."""
    return base64.b64decode(tensor["data"])
