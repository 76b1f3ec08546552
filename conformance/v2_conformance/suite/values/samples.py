"""Samples: known values for the inputs of a model of which only the metadata is known.

They are small and harmless: what a model does with them does not matter, only that it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from itertools import count as counted
from math import ceil, floor, isfinite, prod

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    FLOATS,
    ElementError,
    Shape,
    decode_bytes,
    encode_bytes,
    from_values,
    to_values,
)
from v2_conformance.suite.models import Sample, TensorSpec

SIZES = (3, 1, 2)
"""The sizes to try for a variable dimension: the first that the model takes is used. Three is the
same for every dimension, so that those that have to agree do."""

_SETS = 2  # so that the answer to another request is noticed
_STEPS = 16
# Between the steps of a usual range: no smaller type can hold it, so a detour through one shows.
_BETWEEN = 0.3141592
_DIGITS = 9  # of so many, even the simplest JSON parser makes the nearest double (D11)
# Text as people write it: a server that changes characters gives the model another one, and some
# cut a message after its last "}".
_TEXTS = (
    '{"Z\u00fcrich": [\U0001f642]}',
    " e\u0301\r\n\t",
    '<b>%41&amp;"\\',
    "alpha",
    "be",
    "\u65e5",
    "6",
)
_WORDS = tuple(text.encode() for text in _TEXTS)
# Other texts as long as those: requests at once have to differ in values alone as well.
_OTHER_LETTERS = bytes.maketrans(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    b"bcdefghijklmnopqrstuvwxyzaBCDEFGHIJKLMNOPQRSTUVWXYZA1234567890",
)
_LARGEST_DEFAULT = 9  # an index into almost any table
_MOST_ELEMENTS = 1 << 24


@dataclass(frozen=True)
class Given:
    """A tensor of the user's own."""

    datatype: str
    shape: Shape
    blob: bytes


@dataclass(frozen=True)
class Choice:
    """The user's choices for inputs, by name: shapes, ranges of values (least, most), tensors."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tensors: Mapping[str, Given] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The inputs that it is about."""
        return {*self.shapes, *self.ranges, *self.tensors}


def make_samples(
    inputs: Sequence[TensorSpec], choice: Choice, variable: int
) -> tuple[tuple[Sample, ...], ...]:
    """Sets of values, one for each of `inputs`; variable dimensions are of size `variable`.

    There is a single set if the user gave all of them. Raises ElementError for a range that the
    datatype does not have, a shape of very many elements, or what the user gave for an input and
    that does not fit it.
    """
    for spec in inputs:
        _check(spec, choice)
    given = [choice.tensors.get(spec.name) for spec in inputs]
    sets = 1 if all(given) else _SETS
    return tuple(_set(inputs, choice, variable, number) for number in range(sets))


def _set(
    inputs: Sequence[TensorSpec], choice: Choice, variable: int, number: int
) -> tuple[Sample, ...]:
    """Return set `number`. If the values allow it, no input begins with the bytes of another:
    otherwise a server that mixes up two inputs would not be noticed."""
    made: list[Sample] = []
    for spec in inputs:
        own = choice.tensors.get(spec.name)
        if own is not None:
            made.append(Sample(own.shape, own.blob))
            continue
        for turn in range(_STEPS):
            sample = _sample(spec, choice, variable, 5 * number + turn)
            pairs = [sorted((sample.blob, one.blob), key=len) for one in made]
            if not any(long.startswith(short) for short, long in pairs):
                break
        made.append(sample)
    return tuple(made)


def _check(spec: TensorSpec, choice: Choice) -> None:
    shape = choice.shapes.get(spec.name)
    if shape is not None and not spec.takes(shape):
        taken, got = list(spec.dims), list(shape)
        raise ElementError(
            f"{spec.name}: the model takes the shape {taken}, got {got}; --input {spec.name}=FILE "
            "sends a tensor of any shape"
        )
    if spec.name in choice.ranges:
        _check_range(spec, *choice.ranges[spec.name])


def _check_range(spec: TensorSpec, low: float, high: float) -> None:
    """Raise ElementError for a range that has numbers beyond those of the datatype, or none."""
    name, datatype = spec.name, spec.datatype
    if datatype in ("BYTES", "BOOL"):
        raise ElementError(f"{name} is {datatype}, which has no range: use --input")
    given = f"--range {name}={low:g}:{high:g}"
    ends = [low, high] if spec.datatype in FLOATS else [ceil(low), floor(high)]
    if ends[0] > ends[1]:
        raise ElementError(f"{given} has no whole number, and {name} is {datatype}")
    try:
        beyond = not all(map(isfinite, to_values(datatype, from_values(datatype, ends))))
    except ElementError:
        beyond = True
    if beyond:
        raise ElementError(f"{given} is not within the numbers of {datatype}, which {name} takes")


def fits(spec: TensorSpec, given: Given) -> bool:
    """Return True if a tensor of the user's own is what the metadata says of the input."""
    return given.datatype == spec.datatype and spec.takes(given.shape)


def _sample(spec: TensorSpec, choice: Choice, variable: int, turn: int) -> Sample:
    usual = tuple(variable if size == -1 else size for size in spec.dims)
    shape = choice.shapes.get(spec.name, usual)
    count = prod(shape)
    if count > _MOST_ELEMENTS:
        raise ElementError(f"{spec.name}: {count} elements are too many for a sample")
    steps = [(7 * place + 3 + turn) % _STEPS for place in _places(count, _STEPS)]
    if spec.datatype == "BYTES":
        words = [_WORDS[place] for place in _places(count, len(_WORDS))]
        for _ in range(turn):
            words = [word.translate(_OTHER_LETTERS) for word in words]
        return Sample(shape, from_values("BYTES", words))
    if spec.datatype == "BOOL":
        return Sample(shape, from_values("BOOL", [step % 7 < 3 for step in steps]))
    largest = 1 if spec.datatype in FLOATS else _LARGEST_DEFAULT
    low, high = choice.ranges.get(spec.name, (0, largest))
    values: list[float]
    if spec.datatype in FLOATS:
        values = [_between(low, high, (step + _BETWEEN) / _STEPS) for step in steps]
    else:
        least, count = ceil(low), floor(high) - ceil(low) + 1
        values = [least + step * count // _STEPS for step in steps]
    return Sample(shape, from_values(spec.datatype, values))


def _places(count: int, of: int) -> Iterator[int]:
    """Yield `count` numbers below `of` in order, but begin each block of so many anywhere. With a
    fixed period, all rows of a tensor could be equal, and a mix-up of rows would not show."""
    for block in range(ceil(count / of)):
        first, size = _first(block, of), min(of, count - block * of)
        yield from ((first + place) % of for place in range(size))


def _first(block: int, of: int) -> int:
    """Return a number below `of`: 0 for the first block, pseudo-random for the others."""
    mixed = block * 0x9E3779B1 & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 15) * 0x85EBCA77 & 0xFFFFFFFF
    return (mixed ^ mixed >> 13) * of >> 32


def _between(low: float, high: float, part: float) -> float:
    number = float(f"{low * (1 - part) + high * part:.{_DIGITS}g}")
    return min(max(number, low), high)


def repeated(sample: Sample, datatype: str, count: int) -> bytes:
    """Return `count` elements: all rows of a tensor, repeated, each time from another row on, so
    that the repetition has no period. Raises CaseFileError if it has no elements."""
    if not count:
        return b""
    if not sample.blob:
        raise CaseFileError("there are no elements to repeat")
    size = DATATYPES[datatype].size
    if size is None:
        elements = [encode_bytes([text]) for text in decode_bytes(sample.blob)]
    else:
        elements = [sample.blob[at : at + size] for at in range(0, len(sample.blob), size)]
    row = prod(sample.shape[1:])
    starts = (row * _first(block, len(elements) // row) for block in counted())
    turned = chain.from_iterable(elements[start:] + elements[:start] for start in starts)
    return b"".join(islice(turned, count))
