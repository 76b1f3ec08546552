"""cases/crossing.yaml: all pairs of levels meet.

After a change of the factors, write the file again in a checkout:

    python -m tools.crossing

The rows of the file are kept and only those are added that are still missing, so that no case
loses its id.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tools import ROOT
from tools.crossing_factors import (
    AFTER_RAW,
    EMPTY,
    RAW,
    Row,
    combination,
    factors,
    is_legal,
    label,
    row_of,
)
from v2_conformance.suite.case_files import load_cases

Levels = Mapping[str, Sequence[str]]

FILE = "crossing.yaml"
_ABOUT = """\
# Written by tools/crossing.py, which keeps the rows that are here: change the factors in
# tools/crossing_factors.py, not this file.
#
# The label of a case has the levels of its factors, without those that every request has anyway:
# a whole JSON document that is written plainly, blobs in and out, and some elements in one tensor.

family: X
about: Requests in which two unusual but legal things come together.
cases:
"""
_PROFILES = {
    "": "",
    "-raw": "raw",
    "-in-codings": "compression",
    "-in-coded-answers": "compression-responses",
}
_WHY = (
    "Everything that the name of this case lists is legal. A server with a separate "
    "code path for each of these things breaks where two paths meet."
)


# What a server may lack or, of tensors without elements, reject: the levels that need it.
_OPTIONAL: Mapping[str, Collection[str]] = {
    "models": ("trio", "cube", "batched"),
    "empty": (EMPTY,),
    "codings": factors()["coding"][1:],
    "answers": factors()["answer"][1:],
    "versions": ("versioned-path",),
    "raw": (RAW, AFTER_RAW),
    "bf16": ("BF16",),
}
# What servers have of that for which the crossing is complete. More sets would need more rows.
_SERVERS = (
    "",
    "models",
    "models empty",
    "models codings",
    "models codings answers",
    "models raw",
    "models raw codings",
    "models raw answers",
    "models raw versions",
    "models bf16",
    "models bf16 codings answers",
    "models bf16 versions",
    "models bf16 raw",
    "models codings answers versions raw bf16",
    "models empty codings answers versions raw bf16",
)


def stages() -> list[Levels]:
    """Return the levels without what a server may lack: each subset has rows of its own."""
    return [_without(set(_OPTIONAL) - set(server.split())) for server in _SERVERS]


def _without(lacked: Collection[str]) -> Levels:
    gone = {level for name in lacked for level in _OPTIONAL[name]}
    return {name: [one for one in some if one not in gone] for name, some in factors().items()}


def within(rows: Iterable[Row], levels: Levels) -> list[Row]:
    """The rows that have only these levels."""
    return [row for row in rows if all(row[name] in some for name, some in levels.items())]


def uncovered(rows: Collection[Row], levels: Levels) -> Iterator[dict[str, str]]:
    """Yield the pairs of levels that could come together and do so in no row."""
    for names in itertools.combinations(levels, 2):
        there = {tuple(row[name] for name in names) for row in rows}
        for combined in itertools.product(*(levels[name] for name in names)):
            part = dict(zip(names, combined, strict=True))
            if combined not in there and completed(part, levels) is not None:
                yield part


def completed(part: Row, levels: Levels, rows: Collection[Row] = ()) -> Row | None:
    """Return a legal row of these levels with this part, with what is rare in `rows`; or None."""
    if not is_legal(part):
        return None
    missing = next((name for name in levels if name not in part), None)
    if missing is None:
        return part

    def met(level: str) -> int:
        theirs = [row for row in rows if row[missing] == level]
        return sum(any(row[name] == one for row in theirs) for name, one in part.items())

    for level in sorted(levels[missing], key=met):
        if (row := completed({**part, missing: level}, levels, rows)) is not None:
            return row
    return None


def extended(rows: Sequence[Row]) -> list[Row]:
    """`rows`, and one more for each pair that is left uncovered."""
    kept = list(rows)
    for levels in stages():
        while part := next(uncovered(within(kept, levels), levels), None):
            made = completed(part, levels, kept)
            assert made is not None, part
            kept.append(made)
    return kept


def committed(directory: Path | None = None) -> list[Row]:
    """The rows of the file; none if there is no file."""
    path = (directory or ROOT / "cases") / FILE
    cases = load_cases(path) if path.exists() else []
    return [row_of(case.id.partition("[")[2].removesuffix("]")) for case in cases]


def page(rows: Sequence[Row]) -> str:
    """The text of the file with these rows."""
    entries = []
    first = factors()["before"][0]
    for (suffix, profile), after in itertools.product(_PROFILES.items(), ("", "-after-another")):
        own = [r for r in rows if _profile(r) == profile and (r["before"] != first) == bool(after)]
        if own:
            lines = [f"  - id: X1/pairs{suffix}{after}", f"    why: {_WHY}"]
            lines += [f"    profile: {profile}"] if profile else []
            coded = profile == "compression-responses"
            entries.append("\n".join([*lines, *_entry(own, coded=coded, after=bool(after))]))
    return _ABOUT + "\n\n".join(entries) + "\n"


def _profile(row: Row) -> str:
    """The profile of a row's case. Those of its models and codings belong to it without it."""
    if row["form"] == RAW:
        return "raw"
    if row["answer"] != factors()["answer"][0]:
        return "compression-responses"
    return "" if row["coding"] == factors()["coding"][0] else "compression"


def _entry(rows: Sequence[Row], *, coded: bool, after: bool) -> Iterator[str]:
    yield "    axes:"
    yield "      combination:"
    for row in rows:
        yield f"        {label(row)}: {json.dumps(combination(row))}"
    if after:
        yield "    first: {model: '${combination.first_model}', request: '${combination.first}'}"
    for member in ("model", "request", "variations"):
        yield f"    {member}: ${{combination.{member}}}"
    checks = ", checks: [encoded]" if coded else ""
    yield (
        "    expect: {outcome: '${combination.outcome}', "
        f"outputs: '${{combination.answer}}'{checks}}}"
    )


def main() -> None:
    """Write the file."""
    text = page(extended(committed()))
    (ROOT / "cases" / FILE).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
