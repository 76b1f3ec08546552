"""cases/crossing.yaml: all pairs of levels meet.

After a change of the factors, write the file again in a checkout, with the extra `authoring`:

    python -m tools.crossing

The rows of the file are kept and only those are added that are still missing, so that no case
loses its id.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.crossing_factors import (
    AFTER_RAW,
    EMPTY,
    RAW,
    RULES,
    Row,
    combination,
    factors,
    is_legal,
    label,
    row_of,
)
from v2_conformance.suite.entries.case_files import load_cases
from v2_conformance.suite.models import contract

Levels = Mapping[str, Sequence[str]]

FILE = "crossing.yaml"
_SALTS = 24  # tries, of which the one with the fewest rows is taken
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


def stages() -> list[Levels]:
    """Subsets of the levels, of which each is covered by rows of its own: what a server may lack
    (optional models, profiles, versions) or reject (tensors without elements) must not be needed
    to cover the rest.
    """
    every = factors()
    filled = {**every, "size": [size for size in every["size"] if size != EMPTY]}
    uncoded = {name: every[name][:1] for name in ("coding", "answer")}
    unversioned = {"path": [path for path in every["path"] if path != "versioned-path"]}
    not_raw = {
        "form": [form for form in every["form"] if form != RAW],
        "before": [before for before in every["before"] if before != AFTER_RAW],
    }
    not_bf16 = {"datatype": [datatype for datatype in every["datatype"] if datatype != "BF16"]}
    without = {**uncoded, **unversioned, **not_raw, **not_bf16}
    needed = [model for model in every["model"] if not _is_optional(model)]
    optional = (
        ("size",),
        ("coding",),
        ("coding", "answer"),
        *((*not_raw, *more) for more in ((), ("coding",), ("answer",), ("path",))),
        *((*not_bf16, *more) for more in ((), ("coding", "answer"), ("path",), tuple(not_raw))),
    )
    return [
        {**filled, **without, "model": needed},
        {**filled, **without},
        *({**filled, **without, **{name: every[name] for name in some}} for some in optional),
        filled,
        every,
    ]


def _is_optional(model: str) -> bool:
    roles = [role for role, made in contract().items() if made.stands_in_for is None]
    return any(contract()[role].optional for role in roles if role.partition("/")[0] == model)


def within(rows: Iterable[Row], levels: Levels) -> list[Row]:
    """The rows that have only these levels."""
    return [row for row in rows if all(row[name] in some for name, some in levels.items())]


def uncovered(rows: Collection[Row], levels: Levels) -> Iterator[dict[str, str]]:
    """Yield the pairs of levels that could come together and do so in no row."""
    for names in itertools.combinations(levels, 2):
        there = {tuple(row[name] for name in names) for row in rows}
        for combined in itertools.product(*(levels[name] for name in names)):
            part = dict(zip(names, combined, strict=True))
            if combined not in there and can_be(part, levels):
                yield part


def can_be(part: Row, levels: Levels) -> bool:
    """Return True if some legal row of these levels has this part."""
    if not is_legal(part):
        return False
    missing = next((name for name in levels if name not in part), None)
    if missing is None:
        return True
    return any(can_be({**part, missing: level}, levels) for level in levels[missing])


def extended(rows: Sequence[Row]) -> list[Row]:
    """`rows`, and as few more as the library finds so that nothing is uncovered."""
    kept = list(rows)
    for levels in stages():
        present = within(kept, levels)
        if next(uncovered(present, levels), None) is not None:
            kept += _added(present, levels)
    return kept


def _added(present: Sequence[Row], levels: Levels) -> list[Row]:
    """The rows that the library adds to those `present`."""
    import covertable

    constraints = [
        {
            "operator": "fn",
            "requires": list(rule.of),
            "evaluate": lambda row, rule=rule: rule.allows(row),
        }
        for rule in RULES
    ]
    made = [
        covertable.make(
            {name: list(some) for name, some in levels.items()},
            strength=2,
            constraints=constraints,
            presets=[dict(row) for row in present],
            salt=str(salt),
        )
        for salt in range(_SALTS)
    ]
    there = {label(row) for row in present}
    return [row for row in min(made, key=len) if label(row) not in there]


def committed(directory: Path | None = None) -> list[Row]:
    """The rows of the file; none if there is no file."""
    path = (directory or ROOT / "cases") / FILE
    cases = load_cases(path) if path.exists() else []
    return [row_of(case.id.partition("[")[2].removesuffix("]")) for case in cases]


def page(rows: Sequence[Row]) -> str:
    """The text of the file with these rows."""
    entries = []
    for (suffix, profile), after in itertools.product(_PROFILES.items(), ("", "-after-another")):
        of_this = [r for r in rows if _profile(r) == profile and _is_after(r) == bool(after)]
        if of_this:
            lines = [f"  - id: X1/pairs{suffix}{after}", f"    why: {_WHY}"]
            lines += [f"    profile: {profile}"] if profile else []
            coded = profile == "compression-responses"
            entries.append("\n".join([*lines, *_entry(of_this, coded=coded, after=bool(after))]))
    return _ABOUT + "\n\n".join(entries) + "\n"


def _is_after(row: Row) -> bool:
    return row["before"] != factors()["before"][0]


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
        yield f"        {label(row)}: {_flow(combination(row))}"
    if after:
        yield "    first: {model: '${combination.first_model}', request: '${combination.first}'}"
    for member in ("model", "request", "variations"):
        yield f"    {member}: ${{combination.{member}}}"
    checks = ", checks: [encoded]" if coded else ""
    yield (
        "    expect: {outcome: '${combination.outcome}', "
        f"outputs: '${{combination.answer}}'{checks}}}"
    )


def _flow(value: Any) -> str:
    return json.dumps(value, separators=(", ", ": "))


def main() -> None:
    """Write the file."""
    text = page(extended(committed()))
    (ROOT / "cases" / FILE).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
