"""Hand-made cases, and the verdicts on responses to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from support.responses import exchange_of
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.verdict import Verdict
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import GetCase, ObservedCase, RequestCase
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Level
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import Prepared, get_request, prepare
from v2_conformance.wire.response import Ending
from v2_conformance.yaml_files import misfit

ADDRESS = Address("host:1")
REJECT = {"outcome": "reject"}
JSON = {"outcome": "success", "outputs": {"0": "json"}}


def make_case(
    expect: Mapping[str, Any] | None = None,
    *,
    model: str = "identity/INT32",
    requirement: str = "D1",
    level: Level = "MUST",
    case_id: str = "",
    **request: Any,
) -> RequestCase:
    """A case as the plan makes them; without `inputs` it sends the values 1, 2, 3 in binary."""
    request.setdefault("inputs", [{"shape": [3], "values": [1, 2, 3]}])
    return RequestCase(
        id=case_id or f"{requirement}/made-by-hand",
        requirement=requirement,
        why="A case of the tests.",
        level=level,
        profile="binary",
        expect=expect or {"outcome": "success", "outputs": {"0": "binary"}},
        model=model,
        request=request,
    )


def make_get(path: str, expect: Mapping[str, Any] | None = None) -> GetCase:
    """A case that gets a path; any success is right unless `expect` says more."""
    return GetCase(
        id="P1/made-by-hand",
        requirement="P1",
        why="A case of the tests.",
        level="MUST",
        profile="binary",
        expect=expect or {"outcome": "success"},
        path=path,
    )


def make_observed(what: str = "error_bodies") -> ObservedCase:
    """A case that every exchange decides."""
    return ObservedCase(
        id="R2/observed",
        requirement="R2",
        why="A case of the tests.",
        level="MUST",
        profile="binary",
        expect={"outcome": "success"},
        observed=what,
    )


def binding(role: str = "identity/INT32") -> DeployedModel:
    """The contract's own names for `role`."""
    return Target("http://host:1").binding(role)


def prepared(case: RequestCase | GetCase, address: Address = ADDRESS) -> Prepared:
    """The request of `case`, for the contract's own names."""
    if isinstance(case, GetCase):
        return Prepared(get_request(address, case.path))
    return prepare(case, address, binding(case.role))


def sent(case: RequestCase | GetCase, address: Address = ADDRESS) -> tuple[bytes, bytes]:
    """Head and body of the request of `case`, as they go over the wire."""
    head, _, body = b"".join(prepared(case, address).request.http1).partition(b"\r\n\r\n")
    return head, body


def verdict(
    received: bytes, case: RequestCase | GetCase | None = None, ending: Ending = Ending.COMPLETE
) -> Verdict:
    """The verdict, which must be the same when the recorded bytes are judged again."""
    case = case or make_case()
    found = judge(case, prepared(case), exchange_of(received, ending, "detail"))
    assert judge(case, prepared(case), exchange_of(bytes(received), ending, "detail")) == found
    assert found.message.isprintable()
    assert len(found.message) < 2000
    return found


def failure(
    received: bytes, case: RequestCase | GetCase | None = None, ending: Ending = Ending.COMPLETE
) -> Cause:
    """The cause of the failure that `received` must be."""
    found = verdict(received, case, ending)
    assert found.outcome is Outcome.FAIL, found
    assert found.cause is not None
    return found.cause


def misfit_of(case: RequestCase) -> str | None:
    """What in a case's request does not fit the schema of cases, None if all of it does."""
    entry = {
        "id": "D1/x",
        "why": "A case of the tests.",
        "model": case.model,
        "expect": case.expect,
    }
    found = misfit("case", {"family": "D", "cases": [{**entry, "request": case.request}]}, 2)
    return None if found is None else found[1]


def refusal(case: RequestCase) -> str:
    """Why `case` cannot be encoded, without its id: it does not fit its schema or a model."""
    wrong = misfit_of(case)
    if wrong is not None:
        return wrong
    with pytest.raises(CaseFileError) as error:
        prepared(case)
    message = str(error.value)
    assert message.startswith(f"{case.id}: ")
    assert "\n" not in message
    return message.removeprefix(f"{case.id}: ")


def lines(head: bytes) -> dict[str, str]:
    """The fields of a request's head."""
    fields = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name: value for name, value in fields}  # noqa: C416 (dict() would not type)


def document(body: bytes) -> dict[str, Any]:
    """The JSON object at a body's start."""
    value, _ = json.JSONDecoder().raw_decode(body.decode("latin-1"))
    assert isinstance(value, dict)
    return value
