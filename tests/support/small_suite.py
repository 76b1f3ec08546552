"""A suite of a few cases, of which every report is whole: a good server is conformant by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.runs import made
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases

GOOD = "P2/blob-follows-json[INT32]"
FLOAT = "P2/blob-follows-json[FP32]"
BAD = "R3/survives-a-rejection[wrong_name]"  # rejected; then two canaries of identity/INT32
MORE = "D1/signed-integers[INT32,many]"
CUBE = "X1/pairs[FP64.cube]"  # of a model that a server need not have
RAW = "W1/fixed-shape"
MIXED = "C6/unlike-ids"
ABSOLUTE = "V2/request-in-any-spelling[absolute-form]"
_LARGE = ("INT8", "INT16", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FP64", "BOOL", "BYTES")
_USUAL = (GOOD, FLOAT, BAD, MORE, CUBE, RAW, MIXED, "P1/metadata-lists-extension", "M7/generated")
_OBSERVED = ("R1/observed", "R2/observed", "R8/observed")


_KNOWN = {case.id: case for case in suite_cases()}
SMALL: tuple[Case, ...] = (
    *(_KNOWN[name] for name in (*_USUAL, "R1/unknown-model", ABSOLUTE, *_OBSERVED)),
    *(replace(_KNOWN[f"P2/blob-follows-json[{name}]"], large=True) for name in _LARGE),
)
"""The suite: its large cases are not, so that runs of them are short."""


def small_run(folder: Path, target: Target) -> Path:
    """The report of a run of SMALL without its large cases."""
    planned = [case for case in SMALL if not case.large]
    return made(folder, target, planned, planned=planned)
