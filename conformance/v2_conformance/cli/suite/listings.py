"""Contents of the command `list`: the lines of each listing, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from v2_conformance.elsewhere import elsewhere

if TYPE_CHECKING:
    from v2_conformance.suite.models import TensorSpec


def _requirements() -> Iterator[str]:
    from v2_conformance.suite.requirements import catalogue, catalogue_version, grade

    yield f"requirement catalogue {catalogue_version()}"
    for item in catalogue().values():
        level = grade(item.level, item.blocks if item.level == "MUST" else None)
        columns = f"{item.id:<4}{level:<25}{item.basis:<8}{item.profile:<22}{item.since:<7}"
        others = ", ".join(item.superseded_by)
        yield columns + item.title + (f" (superseded by {others})" if others else "")


def _cases() -> Iterator[str]:
    from v2_conformance.suite.library import suite_cases

    for case in suite_cases(large=True):
        yield f"{case.id}  {case.grade} {case.expects}"


def _scenarios() -> Iterator[str]:
    from v2_conformance.suite.library import client_cases

    for case in client_cases():
        yield f"{case.id}  {case.grade} {case.expects}"


def _faults() -> Iterator[str]:
    for fault in elsewhere("faults").values():
        yield f"{fault.requirement + ' ':<4}{fault.name}: {fault.text}"


def _client_faults() -> Iterator[str]:
    for fault in elsewhere("client faults").values():
        yield f"{fault.requirement:<4}{fault.name}: {fault.text}"


def _variants() -> Iterator[str]:
    yield from map(_variant, elsewhere("variants").values())


def _client_variants() -> Iterator[str]:
    yield from map(_variant, elsewhere("client variants").values())


def _variant(mutant: Any) -> str:
    return f"{mutant.name}: {mutant.text} ({mutant.why})"


def _variations() -> Iterator[str]:
    from v2_conformance.suite.variations import variations

    for variation in variations().values():
        yield f"{variation.kind:<9}{variation.name}: {variation.does}"


def _relations() -> Iterator[str]:
    from v2_conformance.suite.relations import relations

    for relation in relations().values():
        yield f"{relation.name}: {relation.holds}"
        yield f"    {' '.join(relation.requirements)}"


def _models() -> Iterator[str]:
    from v2_conformance.suite.models import contract

    for model in contract().values():
        inputs, outputs = _tensors(model.inputs), _tensors(model.outputs)
        note = "" if model.profile == "binary" else f"  (profile {model.profile})"
        if model.stands_in_for is not None:
            note += f"  (stands in for {model.stands_in_for} without one of its datatypes)"
        elif model.optional:
            note += "  (optional)"
        yield f"{model.role}: {model.model}{note}"
        yield f"    {inputs}"
        yield f"    -> {outputs}, {model.does}" + (", batching" if model.batching else "")


def _tensors(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(f"{s.name} {s.datatype} {list(s.dims)}".replace(" ,", ",") for s in specs)


LISTINGS: dict[str, Callable[[], Iterator[str]]] = {
    "requirements": _requirements,
    "cases": _cases,
    "scenarios": _scenarios,
    "faults": _faults,
    "client-faults": _client_faults,
    "variants": _variants,
    "client-variants": _client_variants,
    "variations": _variations,
    "relations": _relations,
    "models": _models,
}
