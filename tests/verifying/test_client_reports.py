"""Reports on clients, judged again: an honest one holds, and none that was changed does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.scenarios import run
from v2_clients.plain import PlainClient
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.files import sealed, write_report
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.cases import Case
from v2_conformance.suite.client_lines import Line
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.verification import Verification, verify
from v2_conformance.wire.exchange import Body, Exchange
from v2_mutants.selftest.clients import plain_client

CHOSEN = ("K2/blobs-in-order", "K3/mixed-order*", "K5/short-blob*", "K33/one-host", "K35/json")


class Refusing(PlainClient):
    """It gives its user an error for every answer."""

    def inferred(self, call: Call) -> Inference:
        raise ClientError("no")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report on the plain client."""
    return run(tmp_path_factory.mktemp("honest"), plain_client(), 1, CHOSEN)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Every case of this installation."""
    return list(every_case())


def again(report: Report, folder: Path, cases: list[Case]) -> Verification:
    """What comes of judging a report again, once it has been concluded and sealed anew."""
    write_report(folder, sealed(concluded(report)))
    return verify(folder / "report.json", cases)


def test_an_honest_report_holds(honest: Report, tmp_path: Path, cases: list[Case]) -> None:
    found = again(honest, tmp_path, cases)
    assert found.exit_code == 0, (found.edits, [c for c in found.cases if c.problem or c.unjudged])
    assert {case.outcome for case in honest.cases} == {Outcome.PASS}
    assert honest.target.server.name == "v2-conformance-plain"
    assert honest.target.client is not None


def test_an_honest_report_of_failures_holds(tmp_path: Path, cases: list[Case]) -> None:
    report = run(tmp_path, plain_client(Refusing), 1, CHOSEN)
    assert Outcome.FAIL in {case.outcome for case in report.cases}
    assert again(report, tmp_path, cases).exit_code == 0


Change = Callable[[CaseResult], CaseResult]


def case(**members: Any) -> Change:
    """A case has these members."""
    return lambda case: msgspec.structs.replace(case, **members)


def exchange(change: Callable[[Exchange], Exchange]) -> Change:
    """The first exchange of a case is another."""
    return lambda case: msgspec.structs.replace(
        case, exchanges=(change(case.exchanges[0]), *case.exchanges[1:])
    )


def other_response(exchange: Exchange) -> Exchange:
    other = Body(bytes(exchange.received).replace(b"200 OK", b"201 OK"))
    return msgspec.structs.replace(exchange, received=other)


def other_request(exchange: Exchange) -> Exchange:
    data = bytearray(bytes(exchange.request))
    data[-1] ^= 1
    return msgspec.structs.replace(exchange, request=Body(data))


def lines(change: Callable[[tuple[Line, ...]], tuple[Line, ...]]) -> Change:
    """A client said other lines."""

    def changed(case: CaseResult) -> CaseResult:
        assert case.reported is not None
        said = msgspec.structs.replace(case.reported, lines=change(case.reported.lines))
        return msgspec.structs.replace(case, reported=said)

    return changed


def other_words(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    assert lines[0].outputs
    first, *rest = lines[0].outputs
    wrong = msgspec.structs.replace(first, data=bytes(len(first.data)))
    return (msgspec.structs.replace(lines[0], outputs=(wrong, *rest)), *lines[1:])


@pytest.mark.parametrize(
    ("of", "change"),
    [
        ("K3/", exchange(other_response)),
        ("K2/", exchange(other_request)),
        ("K3/", exchange(lambda one: msgspec.structs.replace(one, purpose=Purpose.DISCOVERY))),
        ("K3/", lines(other_words)),
        ("K3/", lines(lambda said: said * 2)),
        ("K3/", case(outcome=Outcome.UNSUPPORTED)),
        ("K5/", case(reported=None)),
        ("K3/", case(exchanges=())),
        ("K3/", case(reported=None, exchanges=())),
        ("K33/", case(outcome=Outcome.FAIL)),
        ("K3/", case(level="MAY")),
    ],
)
def test_a_changed_case_is_found(
    of: str, change: Change, honest: Report, tmp_path: Path, cases: list[Case]
) -> None:
    found = tuple(change(one) if one.id.startswith(of) else one for one in honest.cases)
    report = msgspec.structs.replace(honest, cases=found)
    assert again(report, tmp_path, cases).exit_code == 1


@pytest.mark.parametrize(
    "members",
    [
        {"profiles": ("client", "binary")},
        {"profiles": ()},
        {"url": "http://other.example"},
        {"client": None},
        {"host_given": True},  # only a run of a server has it
        {"server": ServerInfo("other", "1", ())},
    ],
    ids=str,
)
def test_a_changed_target_is_found(
    members: dict[str, Any], honest: Report, tmp_path: Path, cases: list[Case]
) -> None:
    target = msgspec.structs.replace(honest.target, **members)
    report = msgspec.structs.replace(honest, target=target)
    assert again(report, tmp_path, cases).exit_code == 1
