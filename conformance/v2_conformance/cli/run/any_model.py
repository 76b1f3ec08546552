"""Options of `run` for models of which nobody knows the answers, and the files that they name."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup

from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_conformance.certifying.relations import Asked
    from v2_conformance.report.document import Report
    from v2_conformance.runs.targets.target import Target
    from v2_conformance.suite.values.samples import Given

_MOST = 256 << 20
_SHOWN = 10
_Value = TypeVar("_Value")


def _tolerance(value: Any) -> float:
    """A type of option: a finite number from 0 on."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise click.BadParameter(f"expected a number from 0 on, got {value!r}")
    return number


OPTIONS = cloup.option_group(
    "Any model",
    cloup.option(
        "--model",
        "models",
        multiple=True,
        metavar="NAME",
        help="Test with this model of yours, whatever it computes, instead of the models of the "
        "contract: its answers are compared with each other, and the verdict is *consistent*. "
        "`all` stands for every model in the server's repository index. Repeatable.",
    ),
    cloup.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="INPUT=1,3,8,8",
        help="Send this input in this shape.  [default: 3 for each variable dimension]",
    ),
    cloup.option(
        "--range",
        "ranges",
        multiple=True,
        metavar="INPUT=0:1",
        help="Send values from this range.  [default: floats from 0 to 1, integers from 0 to 9]",
    ),
    cloup.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="INPUT=FILE",
        help="Send this tensor: a .npy file, or JSON with `datatype`, `shape` and `data` as in a "
        "V2 request. Repeatable.",
    ),
    cloup.option(
        "--rtol",
        type=_tolerance,
        default=0,
        metavar="R",
        help="Let floats differ by this part of their value. The verdict names it.",
    ),
    cloup.option(
        "--atol",
        type=_tolerance,
        default=0,
        metavar="A",
        help="Let floats differ by this much. The verdict names it.",
    ),
)


def read_asked(
    models: Sequence[str],
    shapes: Sequence[str],
    ranges: Sequence[str],
    inputs: Sequence[str],
    rtol: float,
    atol: float,
) -> Asked | None:
    """What the options say, None without --model. Raises UsageError."""
    from v2_conformance.certifying.relations import Asked
    from v2_conformance.suite.values.samples import Choice
    from v2_conformance.wire.encode.requests import Tolerance

    if not models:
        given = {"--shape": shapes, "--range": ranges, "--input": inputs, "--rtol": rtol}
        for option, value in (given | {"--atol": atol}).items():
            if value:
                raise UsageError(f"{option} needs --model, which says whose answers are compared")
        return None
    choice = Choice(
        _by_input("--shape", map(_shape, shapes)),
        _by_input("--range", map(_range, ranges)),
        _by_input("--input", map(_tensor, inputs)),
    )
    tolerance = Tolerance(rtol, atol) if rtol or atol else None
    return Asked(list(models), choice, tolerance)


def what_next(report: Report, target: Target) -> list[str]:
    """What to type after a run that found no model of the contract: lines for people."""
    from v2_conformance.errors import ConformanceError
    from v2_conformance.runs.learning import repository_index
    from v2_conformance.terminal_safe_text import wrapped

    try:
        names = repository_index(target)
    except ConformanceError:
        names = None
    server = report.target.server
    said = f"{server.name} {server.version}".strip() or "the server"
    lines = wrapped(f"{said} has none of the contract's models.", "  ")
    command = f"v2-conformance run {target.public_url} --model"
    if names:
        more = len(names) - _SHOWN
        listed = ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        lines += wrapped(f"Its repository index has: {listed}.", "  ")
        name = names[0]
    else:
        lines += wrapped(
            "It has no repository index that names its models: put the name of one of yours for "
            "NAME, as in /v2/models/NAME/infer.",
            "  ",
        )
        name = "NAME"
    return [
        "",
        *lines,
        *wrapped("To test it with a model of yours, whatever that computes:", "  "),
        f"  {command} {name}",
        "To certify it, deploy the models that `v2-conformance list models` prints (a kit",
        "writes them: `v2-conformance kit --help`), and run it again.",
    ]


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"{option} {text[:80]!a}: expected {example}")
    return name, value


def _by_input(option: str, given: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    found: dict[str, _Value] = {}
    for name, value in given:
        if name in found:
            raise UsageError(f"{option} has the input {name[:60]!a} twice: remove one of them")
        found[name] = value
    return found


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
    if not (math.isfinite(least) and math.isfinite(most) and least <= most):
        raise UsageError(f"--range {text[:80]!a}: expected the least and the most, such as 0:1")
    return name, (least, most)


def _tensor(text: str) -> tuple[str, Given]:
    from v2_conformance.bounded_files import read_bounded

    name, value = _named(text, "--input", "INPUT=FILE")
    path = Path(value)
    data = read_bounded(path, _MOST, UsageError)
    if data.startswith(b"\x93NUMPY"):
        return name, _of_numpy(path, data)
    return name, _of_json(path, data)


def _of_numpy(path: Path, data: bytes) -> Given:
    import numpy as np

    from v2_conformance.protocol.datatypes import datatype_of, encode_bytes
    from v2_conformance.suite.values.samples import Given

    try:
        array: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise UsageError(f"{path} is not a .npy file that can be read: {error}") from error
    shape = tuple(map(int, array.shape))
    if array.dtype.kind in "SU":
        texts = [item if isinstance(item, bytes) else item.encode() for item in array.ravel()]
        return Given("BYTES", shape, encode_bytes(texts))
    datatype = datatype_of(array.dtype)
    if datatype is None:
        raise UsageError(f"{path} has the type {array.dtype}, which no V2 datatype is")
    return Given(datatype, shape, array.astype(array.dtype.newbyteorder("<")).tobytes())


def _of_json(path: Path, data: bytes) -> Given:
    from v2_conformance.protocol.datatypes import DATATYPES, ElementError, from_json
    from v2_conformance.suite.values.samples import Given

    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is neither a .npy file nor JSON: {error}") from error
    entry = document if isinstance(document, dict) else {}
    datatype, shape = entry.get("datatype"), entry.get("shape")
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
