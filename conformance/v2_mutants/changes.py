"""Changes that several mutants have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from v2_clients.plain.task import ClientError
from v2_conformance.protocol.datatypes import DATATYPES


def fail(text: str) -> NoReturn:
    """Give the client's caller an error in place of tensors. Raises ClientError."""
    raise ClientError(text)


def without(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a JSON object without some of its members."""
    return {name: value for name, value in members.items() if name not in names}


def byteswapped(datatype: str, blob: bytes) -> bytes:
    """Return numbers with the bytes of each in reverse order, and BYTES as they are."""
    numpy = DATATYPES[datatype].numpy
    return blob if numpy is None else np.frombuffer(blob, numpy).byteswap().tobytes()
