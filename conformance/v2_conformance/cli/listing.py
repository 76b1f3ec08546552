"""What `v2-conformance list` prints."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import TensorSpec, contract
from v2_conformance.suite.requirements import catalogue


def listing(what: str) -> Iterator[str]:
    """The lines for requirements, cases, faults, models or traceability."""
    return {
        "requirements": _requirements,
        "cases": _cases,
        "faults": _faults,
        "models": _models,
        "traceability": _traceability,
    }[what]()


def _requirements() -> Iterator[str]:
    for item in catalogue().values():
        yield f"{item.id:<4}{item.level:<9}{item.basis:<8}{item.profile:<12}{item.title}"


def _cases() -> Iterator[str]:
    for case in suite_cases(large=True):
        yield f"{case.id}  {case.level} {case.outcome}"


def _faults() -> Iterator[str]:
    from v2_conformance.reference.faults import FAULTS

    for fault in FAULTS.values():
        yield f"{fault.requirement:<4}{fault.name}: {fault.text}"


def _models() -> Iterator[str]:
    for model in contract().values():
        inputs, outputs = _tensors(model.inputs), _tensors(model.outputs)
        note = "" if model.profile == "binary" else f"  (profile {model.profile})"
        yield f"{model.role}: {model.model}{note}"
        yield f"    {inputs}"
        yield f"    -> {outputs}, {model.does}" + (", batching" if model.batching else "")


def _traceability() -> Iterator[str]:
    from v2_conformance.maintenance.traceability import render

    yield from render().splitlines()


def _tensors(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(f"{s.name} {s.datatype} {list(s.dims)}".replace(" ,", ",") for s in specs)
