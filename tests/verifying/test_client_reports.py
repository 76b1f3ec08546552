"""Reports on clients, judged again: an honest one holds, and none that was changed does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from support.scenarios import plain
from v2_clients.bench.clients import InProcessClient
from v2_clients.plain import PlainClient, run_task
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_clients.run import client_target, make_client_plan, start_client_run
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.files import sealed, write_report
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.cases import Case
from v2_conformance.suite.client_lines import ClientName, SaidTensor
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.verification import Verification, verify
from v2_conformance.wire.exchange import Body

CHOSEN = ("K2/blobs-in-order", "K3/mixed-order*", "K5/short-blob*", "K33/one-host", "K35/json")


class Refusing(PlainClient):
    """It gives its user an error for every answer."""

    def inferred(self, call: Call) -> Inference:
        raise ClientError("no")


def run_of(folder: Path, client: InProcessClient, *patterns: str) -> Report:
    """A report on `client`."""
    target = client_target()
    plan = make_client_plan(patterns or CHOSEN)
    started = start_client_run(target, plan, folder, command=("client", "{url}"), timeout_s=2.0)
    return started.finish(client, timeout_s=2.0)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report on the plain client."""
    return run_of(tmp_path_factory.mktemp("honest"), plain())


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
    dies = InProcessClient(lambda task: [{"x": 1}])
    for number, client in enumerate((plain(Refusing), dies)):
        folder = tmp_path / str(number)
        report = run_of(folder, client)
        assert Outcome.FAIL in {case.outcome for case in report.cases}
        found = again(report, folder, cases)
        assert found.exit_code == 0, (found.edits, [c for c in found.cases if c.problem])


def test_a_client_that_cannot_do_a_thing_is_unsupported_and_conformant_says_so(
    tmp_path: Path, cases: list[Case]
) -> None:
    client = InProcessClient(
        lambda task: (
            [{"unsupported": "no API"} for _ in task.requests]
            if task.scenario.startswith("K3/")
            else run_task(msgspec.to_builtins(task), task.url)
        )
    )
    report = run_of(tmp_path, client)
    assert {c.outcome for c in report.cases if c.requirement == "K3"} == {Outcome.UNSUPPORTED}
    assert "requirements untested" in report.verdict.claim
    assert not any("K3 " in reason for reason in report.verdict.reasons)
    assert again(report, tmp_path, cases).exit_code == 0


def changed(report: Report, of: str, change: Callable[[CaseResult], CaseResult]) -> Report:
    found = tuple(change(c) if c.id.startswith(of) else c for c in report.cases)
    return msgspec.structs.replace(report, cases=found)


def other_response(case: CaseResult) -> CaseResult:
    exchange = case.exchanges[0]
    other = Body(bytes(exchange.received).replace(b"200 OK", b"201 OK"))
    first = msgspec.structs.replace(exchange, received=other)
    return msgspec.structs.replace(case, exchanges=(first, *case.exchanges[1:]))


def other_request(case: CaseResult) -> CaseResult:
    exchange = case.exchanges[0]
    data = bytearray(bytes(exchange.request))
    data[-1] ^= 1
    first = msgspec.structs.replace(exchange, request=Body(data))
    return msgspec.structs.replace(case, exchanges=(first, *case.exchanges[1:]))


def other_words(case: CaseResult) -> CaseResult:
    assert case.said is not None
    line = case.said.lines[0]
    if line.outputs:
        first = line.outputs[0]
        wrong = SaidTensor(first.name, first.datatype, first.shape, bytes(len(first.data)))
        line = msgspec.structs.replace(line, outputs=(wrong, *line.outputs[1:]))
    said = msgspec.structs.replace(case.said, lines=(line, *case.said.lines[1:]))
    return msgspec.structs.replace(case, said=said)


def said_twice(case: CaseResult) -> CaseResult:
    assert case.said is not None
    said = msgspec.structs.replace(case.said, lines=case.said.lines * 2)
    return msgspec.structs.replace(case, said=said)


def replaced(**members: object) -> Callable[[CaseResult], CaseResult]:
    return lambda case: msgspec.structs.replace(case, **members)


def exchange(**members: object) -> Callable[[CaseResult], CaseResult]:
    """The first exchange of a case has these members."""

    def change(case: CaseResult) -> CaseResult:
        first = msgspec.structs.replace(case.exchanges[0], **members)
        return msgspec.structs.replace(case, exchanges=(first, *case.exchanges[1:]))

    return change


@pytest.mark.parametrize(
    ("of", "change"),
    [
        ("K3/", other_response),
        ("K2/", other_request),
        ("K3/", other_words),
        ("K3/", said_twice),
        ("K3/", exchange(purpose=Purpose.DISCOVERY)),
        ("K3/", replaced(outcome=Outcome.UNSUPPORTED)),
        ("K5/", replaced(said=None)),
        ("K3/", replaced(exchanges=())),
        ("K3/", replaced(said=None, exchanges=())),
        ("K33/", replaced(outcome=Outcome.FAIL)),
        ("K3/", replaced(level="MAY")),
    ],
)
def test_a_changed_case_is_found(
    of: str,
    change: Callable[[CaseResult], CaseResult],
    honest: Report,
    tmp_path: Path,
    cases: list[Case],
) -> None:
    assert again(changed(honest, of, change), tmp_path, cases).exit_code == 1


def test_what_only_a_run_of_a_server_has_is_found(
    honest: Report, tmp_path: Path, cases: list[Case]
) -> None:
    with_host = msgspec.structs.replace(honest.target, host_given=True)
    for wrong in ({"seed": 5}, {"target": with_host}):
        report = msgspec.structs.replace(honest, **wrong)
        assert again(report, tmp_path, cases).exit_code == 1


def test_a_changed_target_is_found(honest: Report, tmp_path: Path, cases: list[Case]) -> None:
    target = honest.target
    other_name = msgspec.structs.replace(target.server, name="other")
    for wrong in (
        msgspec.structs.replace(target, server=other_name),
        msgspec.structs.replace(target, profiles=("client", "binary")),
        msgspec.structs.replace(target, profiles=()),
        msgspec.structs.replace(target, url="http://other.example"),
        msgspec.structs.replace(target, client=None),
    ):
        report = msgspec.structs.replace(honest, target=wrong)
        assert again(report, tmp_path, cases).exit_code == 1


def test_the_name_of_a_client_is_the_first_that_it_says(honest: Report) -> None:
    said = [case.said for case in honest.cases if case.said is not None]
    named = {line.client for one in said for line in one.lines}
    server = honest.target.server
    assert named == {ClientName(server.name, server.version)}
