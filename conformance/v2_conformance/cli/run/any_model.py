"""Options of `run --model`, about models with unknown answers."""

from __future__ import annotations

import io
import json
import math
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from v2_conformance.bounded_files import read_bounded
from v2_conformance.certifying.relations import Asked
from v2_conformance.cli.run.options import RunOptions, check_options
from v2_conformance.conversations.discovery import Server
from v2_conformance.errors import ConformanceError, UsageError
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    datatype_of,
    element_count,
    encode_bytes,
    from_json,
)
from v2_conformance.report.document import Report
from v2_conformance.runs.learning import ALL, listed_models
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import ROLE, name_of
from v2_conformance.suite.values.samples import Choice, Given
from v2_conformance.terminal_safe_text import wrapped
from v2_conformance.wire.encode.deployment import Tolerance

_MOST = 256 << 20
_INSTEAD = 3
TRIED = 10
"""How many models of a server are tried until three of them can be tested."""

_Value = TypeVar("_Value")


def read_asked(options: RunOptions, target: Target) -> Asked | None:
    """Return what the options ask for, None without --model. Raises UsageError."""
    if not options.models:
        names = [name_of(role) for role in target.models]
        if names and all(role.startswith(ROLE) for role in target.models):
            models = " ".join(f"--model {shlex.quote(name)}" for name in names)
            raise UsageError(f"the target file has no model of the contract: add {models}")
        return None
    shapes = _by_input("--shape", map(_shape, options.shapes))
    tensors = _by_input("--input", map(_tensor, options.inputs))
    for name in shapes.keys() & tensors.keys():
        own, shape = tensors[name], shapes[name]
        if element_count(own.shape) != element_count(shape):
            taken = f"the tensor of its --input has the shape {list(own.shape)}"
            raise UsageError(f"--shape {name[:60]!a} has another number of elements: {taken}")
        tensors[name] = replace(own, shape=shape)
    choice = Choice(shapes, _by_input("--range", map(_range, options.ranges)), tensors)
    return Asked(list(options.models), choice, _tolerance(options, target))


def asked_instead(options: RunOptions, target: Target, server: Server) -> Asked | None:
    """Return what to ask a `server` that has none of the contract's models: some of its own models.
    None if it has one, lists none, or was to be tested otherwise."""
    if server.present or target.models or options.expectation_file:
        return None
    try:
        asking = replace(options, models=(ALL,))
        check_options(asking)
        names = listed_models(target)
    except ConformanceError:
        return None
    if not names:
        return None
    return Asked(names, tolerance=_tolerance(options, target), most=_INSTEAD)


def _tolerance(options: RunOptions, target: Target) -> Tolerance | None:
    return Tolerance(options.rtol, target.atol) if options.rtol or target.atol else None


def announced(asked: Asked, server: ServerInfo, target: Target) -> list[str]:
    """Return the lines to print before a run with models that nobody named."""
    listed = ", ".join(asked.names[:_INSTEAD])
    more = f" and {len(asked.names) - _INSTEAD} more" if len(asked.names) > _INSTEAD else ""
    return wrapped(
        f"{_name(server)} has none of the contract's models; it lists {listed}{more}. Testing up "
        f"to {_INSTEAD} of them with each other's answers. For all of them: v2-conformance run "
        f"{target.public_url} --model all",
        "  ",
    )


def what_next(report: Report, target: Target) -> list[str]:
    """Return the lines of advice to print after a run that had no model to test."""
    return [
        "",
        *wrapped(
            f"{_name(report.target.server)} lists no model that can be tested. To test it with a "
            "model of yours, put its name for NAME, as in /v2/models/NAME/infer:",
            "  ",
        ),
        f"  v2-conformance run {target.public_url} --model NAME",
        *wrapped(
            "To certify it, deploy the models that `v2-conformance list models` prints (a kit "
            "writes them: `v2-conformance kit --help`), and run it again.",
            "",
        ),
    ]


def _name(server: ServerInfo) -> str:
    return f"{server.name} {server.version}".strip() or "the server"


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"{option} {text[:80]!a}: expected {example}")
    return name, value


def _by_input(option: str, given: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    by_input: dict[str, _Value] = {}
    for name, value in given:
        if name in by_input:
            raise UsageError(f"{option} has the input {name[:60]!a} twice: remove one of them")
        by_input[name] = value
    return by_input


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, value = _named(text, "--shape", "INPUT=1,3,8,8")
    sizes = [part.strip() for part in value.split(",")]
    if not all(size.isascii() and size.isdecimal() and 0 < len(size) < 10 for size in sizes):
        raise UsageError(f"--shape {text[:80]!a}: expected sizes with commas, such as 1,3,8,8")
    return name, tuple(map(int, sizes))


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, value = _named(text, "--range", "INPUT=0:1")
    low, _, high = value.partition(":")
    try:
        least, most = float(low), float(high)
    except ValueError:
        least = most = math.nan
    if least > most:
        raise UsageError(f"--range {text[:80]!a}: {least:g} is more than {most:g}")
    if not (math.isfinite(least) and math.isfinite(most)):
        raise UsageError(f"--range {text[:80]!a}: expected MIN:MAX, such as 0:1")
    return name, (least, most)


def _tensor(text: str) -> tuple[str, Given]:
    name, value = _named(text, "--input", "INPUT=FILE")
    path = Path(value)
    data = read_bounded(path, _MOST, UsageError)
    if data.startswith(b"\x93NUMPY"):
        return name, _of_numpy(path, data)
    if path.suffix == ".json" or data.lstrip()[:1] == b"{":
        return name, _of_json(path, data)
    return name, Given("BYTES", (1,), encode_bytes([data]))


def _of_numpy(path: Path, data: bytes) -> Given:
    import numpy as np

    try:
        array: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
        texts = np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array
    except (ValueError, EOFError, OSError) as error:
        raise UsageError(f"{path} is not a .npy file that can be read: {error}") from error
    shape = tuple(map(int, array.shape))
    if texts.dtype.kind == "S":
        return Given("BYTES", shape, encode_bytes(texts.ravel().tolist()))
    datatype = datatype_of(array.dtype)
    if datatype is None:
        raise UsageError(f"{path} has the type {array.dtype}, which is not a V2 datatype")
    return Given(datatype, shape, array.astype(array.dtype.newbyteorder("<")).tobytes())


def _of_json(path: Path, data: bytes) -> Given:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    entry = document if isinstance(document, dict) else {}
    datatype, shape = str(entry.get("datatype")), entry.get("shape")
    sizes: list[Any] = shape if isinstance(shape, list) else [None]
    sized = all(type(size) is int and size >= 0 for size in sizes)
    if datatype not in DATATYPES or not sized or "data" not in entry:
        raise UsageError(
            f'{path}: expected {{"datatype": "FP32", "shape": [2, 2], "data": [1, 2, 3, 4]}}, with '
            "a datatype of V2"
        )
    try:
        blob = from_json(datatype, sizes, entry["data"])
    except ElementError as error:
        raise UsageError(f"{path}: {error}") from error
    return Given(datatype, tuple(sizes), blob)
