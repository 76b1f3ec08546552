"""Writes results in few words: groups of case ids, and what is known of their causes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

_MANY = 30
_OF_A_RUN = frozenset(
    {
        "after_ms",
        "answers",
        "cases",
        "count",
        "judged",
        "known_good_ms",
        "more",
        "waited_ms",
        "wrong",
    }
)


class Judged(Protocol):
    """A case with its outcome and cause, such as a Result."""

    @property
    def outcome(self) -> Any:
        """The outcome."""

    @property
    def cause(self) -> Any:
        """Its cause, None for a pass with nothing to add."""


def folded(ids: Iterable[str], universe: Sequence[str]) -> str:
    """Return ids of `universe` in few words: `P2/*` for all of a requirement, `P2/slug` for all of
    an entry; of many just how many of each requirement, which a digest goes with."""
    chosen = set(ids)
    sizes = Counter(name for one in universe for name in (_requirement(one), _entry(one)))
    named: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in universe:
        if one in chosen:
            axes = one.partition("[")[2].removesuffix("]")
            named[_requirement(one)][_entry(one)].append(axes)
    words: list[str] = []
    for requirement, entries in named.items():
        count = sum(map(len, entries.values()))
        if count == sizes[requirement] > 1:
            words.append(f"{requirement}/*")
        elif len(chosen) > _MANY:
            words.append(f"{requirement}:{count}")
        else:
            for entry, some in entries.items():
                words.append(entry if len(some) == sizes[entry] else f"{entry}[{'|'.join(some)}]")
    return " ".join(words)


def _entry(id: str) -> str:
    return id.partition("[")[0]


def _requirement(id: str) -> str:
    return id.partition("/")[0]


def grouped(results: Mapping[str, Judged], universe: Sequence[str]) -> str:
    """Return results by outcome and kind of cause, and a digest of what else the causes have."""
    groups: dict[str, list[str]] = defaultdict(list)
    for id, result in results.items():
        kind = "" if result.cause is None else f" {result.cause.kind}"
        groups[f"{result.outcome.value}{kind}"].append(id)
    words = [f"{name}: {folded(ids, universe)}" for name, ids in sorted(groups.items())]
    return "; ".join([*words, digest(results)]) if results else "-"


def digest(results: Mapping[str, Judged]) -> str:
    """Return a digest of ids, outcomes, and the members of causes."""
    rows = [[id, one.outcome.value, members(one.cause)] for id, one in sorted(results.items())]
    return "#" + hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:8]


def members(cause: object) -> Any:
    """Return the members of a cause as JSON, without texts of several words, which are the server's
    own, and without what depends on all cases of a run, on the version or on time."""
    return _stable(msgspec.to_builtins(cause))


def _stable(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {name: one for name, one in value.items() if name not in _OF_A_RUN}
        return {name: _stable(one) for name, one in kept.items() if not _is_text(one)}
    if isinstance(value, list):
        return [_stable(one) for one in value if not _is_text(one)]
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and " " in value
