"""What a caller's request needs of a client, by the names of `--lacks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from v2_clients.bench.messages import TaskRequest
from v2_conformance.errors import UsageError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.terminal_safe_text import did_you_mean


def _forms_asked(asked: TaskRequest) -> set[str | None]:
    """The forms in which the caller wants outputs; None leaves one to the client."""
    default = {None: None, True: "binary", False: "json"}[asked.binary_data_output]
    forms = {None} if asked.outputs is None else {one.form for one in asked.outputs}
    return {form or default for form in forms}


_NEEDED: Mapping[str, Callable[[TaskRequest], object]] = {
    "version": lambda asked: asked.version is not None,
    "id": lambda asked: asked.id is not None,
    "parameters": lambda asked: asked.parameters,
    "tensor-parameters": lambda asked: (
        any(one.parameters for one in asked.inputs)
        or any(one.parameters for one in asked.outputs or ())
    ),
    "headers": lambda asked: asked.headers,
    "request-compression": lambda asked: asked.request_compression,
    "response-compression": lambda asked: asked.response_compression,
    "binary-data-output": lambda asked: asked.binary_data_output is not None,
    "named-outputs": lambda asked: asked.outputs is not None,
    "binary-inputs": lambda asked: any(one.form == "binary" for one in asked.inputs),
    "json-inputs": lambda asked: any(one.form == "json" for one in asked.inputs),
    "binary-outputs": lambda asked: "binary" in _forms_asked(asked),
    "json-outputs": lambda asked: "json" in _forms_asked(asked),
    "column-major": lambda asked: any(one.layout == "column-major" for one in asked.inputs),
    "big-endian": lambda asked: any(one.layout == "big-endian" for one in asked.inputs),
    "rounding-to-bf16": lambda asked: any(one.of is not None for one in asked.inputs),
}


FEATURES = (*_NEEDED, *DATATYPES)
"""Everything that a client may lack."""


def check_features(lacks: Iterable[str]) -> None:
    """Raise UsageError for a name that is not a feature."""
    for name in lacks:
        if name not in FEATURES:
            hint = did_you_mean(name, FEATURES, f"expected one of {', '.join(FEATURES)}")
            raise UsageError(f"unknown feature {name!r} of a client: {hint}")


def needed(asked: TaskRequest, lacks: Iterable[str]) -> list[str]:
    """Return which of the features that a client lacks a request needs, in the order given."""
    datatypes = {one.datatype for one in asked.inputs}
    return [
        name for name in lacks if name in datatypes or (name in _NEEDED and _NEEDED[name](asked))
    ]
