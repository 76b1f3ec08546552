"""Known-good requests for each model: the canaries that show whether a server survived a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from msgspec.structs import replace

from v2_conformance.errors import CaseFileError
from v2_conformance.judging.availability import asks_to_wait, kept_waiting, plea
from v2_conformance.judging.judge import canary_problem
from v2_conformance.protocol.content_codings import known
from v2_conformance.protocol.datatypes import to_values
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import ChangedAnswer
from v2_conformance.suite.models import ModelContract
from v2_conformance.wire.encode.deployment import Address, DeployedModel, Tolerance
from v2_conformance.wire.encode.inputs import SAMPLE, input_entries
from v2_conformance.wire.encode.requests import Expected, Prepared, prepare
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

Form = Literal["binary", "binary_data_output", "gzip", "deflate", "json"]
"""How a known-good request is sent: with blobs both ways, as far as the server knows that;
with that flag instead of a list of outputs; with blobs in a content coding; or without blobs."""

# Forms a server may support: the extension both ways, binary inputs only, plain JSON.
_FORMS: Sequence[tuple[str, bool]] = (("binary", True), ("binary", False), ("json", False))


# Answers that blame the content of a request. Others, such as 401 and 404, say that the server or
# the model is no longer what it was.
_BLAMING_THE_REQUEST = frozenset(f"status {status}" for status in (400, 406, 409, 415, 422))


@lru_cache(maxsize=128)
def known_good(
    role: str, address: Address, binding: DeployedModel, form: Form = "binary"
) -> Sequence[Prepared]:
    """Return the canaries for `role` in this form, most demanding first."""
    ways = _FORMS
    if form != "binary":
        ways = _FORMS[-1:] if form == "json" else _FORMS[:1]
    if (None, None) in binding.contract.not_in_json:
        ways = [(inputs, True) for inputs, _ in ways]
    options: dict[str, Any] = {}
    if form in ("gzip", "deflate"):
        options["encoding"] = form
    unlisted = form == "binary_data_output"
    if unlisted:
        options["parameters"] = {"binary_data_output": True}
    # A report without a seed has requests with ones.
    values = "ones" if address.seed is None else "counting"
    results = []
    for inputs, binary in dict.fromkeys(ways):
        case = plain_case(
            f"canary {role}",
            binding.contract,
            values=values,
            form=inputs,
            listed=binary and not unlisted,
            options=options,
        )
        with suppress(CaseFileError):  # JSON cannot express each sample
            prepared = prepare(case, address, binding)
            # Requests of clients that left may still be computed, in one batch with this one.
            results.append(prepared if binding.known is None else with_rounding(prepared))
    return results or known_good(role, address, binding)


def own_form(case: RequestCase) -> Form:
    """Return the form of a known-good request that is closest to the request of `case`."""
    request = case.request
    if request.get("raw"):
        return "binary"
    coding = known(str(request.get("encoding", "")))
    if coding is not None:
        return "gzip" if coding == "gzip" else "deflate"
    forms = {entry.get("form", "binary") for entry in input_entries(request)}
    if not forms & {"binary", "both"}:
        return "json"
    flag = request.get("parameters", {}).get("binary_data_output")
    return "binary_data_output" if flag is True and "outputs" not in request else "binary"


def plain_case(
    name: str,
    model: ModelContract,
    *,
    values: str,
    form: str,
    listed: bool,
    options: Mapping[str, Any],
    samples: int = 0,
    special: bool = False,
) -> RequestCase:
    """Return the plainest request to a model, with all inputs in `form`: its sample set of this
    number, `special` or ordinary or, without samples, three elements for each free dimension. With
    `listed`, all outputs are named, as binary. `options` are further members of the request.
    """
    inputs: list[dict[str, Any]] = [
        {"shape": [3 if n == -1 else n for n in spec.dims], "values": values, "form": form}
        for spec in model.inputs
    ]
    if model.samples:
        sets = model.special if special else model.samples
        which = {"special": samples} if special else {}
        inputs = [
            {"shape": list(sample.shape), "values": SAMPLE, "form": form, **which}
            for sample in sets[samples]
        ]
    outputs = range(len(model.outputs))
    request: dict[str, Any] = {"inputs": inputs, **options}
    if listed:
        request["outputs"] = [{"tensor": i, "binary_data": True} for i in outputs]
    return RequestCase(
        id=name,
        requirement="",
        why="",
        level="MUST",
        profile="binary",
        expect={"outcome": "success", "outputs": {str(i): "any" for i in outputs}},
        model=model.role,
        request=request,
    )


def silence_of(exchange: Exchange) -> str:
    """Return why there was no answer that a case could be judged by, "" if there was one."""
    if exchange.ending in (Ending.TIMEOUT, Ending.REFUSED):
        return exchange.detail
    waited = f"{answer(exchange)} after {exchange.duration_ms / 1000:.1f} s"
    return waited if kept_waiting(exchange) else ""


def problem_with(prepared: Prepared, expected: str | None, exchange: Exchange) -> Cause | None:
    """Return what is wrong with the answer to a known-good request, or None.

    `expected` is None for a server that answers it exactly. Any other survives with the same answer
    as at first (see `answer`) or an exact one; two servers behind one address may blame a request
    with two statuses. A server that asks to wait is Unavailable, which does not mean that it died.
    """
    if exchange.response is not None and asks_to_wait(exchange.response):
        return plea(exchange.response)
    problem = canary_problem(prepared.expected, exchange)
    if expected is None or problem is None:
        return problem
    now = answer(exchange)
    alike = now == expected or {now, expected} <= _BLAMING_THE_REQUEST
    return None if alike else ChangedAnswer(expected, now)


def answer(exchange: Exchange) -> str:
    """Return an exchange's result in short: the status, or how it ended without one."""
    response = exchange.response
    return str(exchange.ending) if response is None else f"status {response.status}"


_UNITS = 8
_LAST_PLACE = {"FP16": 2.0**-10, "BF16": 2.0**-7, "FP32": 2.0**-23, "FP64": 2.0**-52}


def with_rounding(prepared: Prepared) -> Prepared:
    """Return a request whose answer may differ by a few units in the last place of an output's
    largest number.
    """
    return replace(prepared, expected=tuple(map(_tolerant, prepared.expected)))


def _tolerant(item: Expected) -> Expected:
    unit = _LAST_PLACE.get(item.tensor.datatype)
    if unit is None or item.tolerance is not None:
        return item
    values = filter(isfinite, to_values(item.tensor.datatype, item.tensor.blob))
    largest = max(map(abs, values), default=0.0)
    return replace(item, tolerance=Tolerance(atol=_UNITS * unit * largest))
