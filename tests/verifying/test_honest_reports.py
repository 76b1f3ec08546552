"""Reports that nobody touched hold, whatever was asked of the run and whoever the server is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from support.commands import Cli
from support.long_tests import sample
from support.servers import Start
from support.small_suite import BAD, SMALL, small_run
from v2_conformance.cli.main import main
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.report.tested import Selection
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import Verification, verify
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer

# Each closes connections, or answers late or otherwise, where `verify` could think of an edit.
VARIANTS = (
    "chunked-responses",
    "closes-after-each-response",
    "closes-after-errors",
    "closes-now-and-then",
    "compresses-unasked",
    "gateway-loses-connections",
    "http-1.0-responses-by-close",
    "interim-responses",
    "metadata-with-more",
    "metadata-without-tensors",
    "one-connection-at-a-time",
    "overloaded-now-and-then",
    "refuses-before-the-body",
    "resets-before-the-body",
    "short-idle-timeout",
    "unprocessable-for-bad-requests",
)
LIKE_EDITS = (
    "rejection-stops-listening",
    "rejection-without-response",
    "rejection-kills-model",
    "concurrent-requests-mixed",
    "error-is-plain-text",
)
WIDE = ("M7", "P2", "R1", "R3", "C6")
"""What meets every fault, besides the requirement that it breaks."""


def words_of(found: Verification) -> str:
    return " ".join(" ".join(verification_lines(found)).split())


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_report_of_a_legal_server_holds(variant: str, tmp_path: Path) -> None:
    with MutantServer(variants=[variant]) as server:
        path = small_run(tmp_path, make_target(server.url, timeout=5))
    found = verify(path, SMALL)
    assert found.exit_code == 0, words_of(found)
    assert found.verdict.conformant


class _ClosesLate(Behaviour):
    """After an error the connection is closed, and the next request is on its way by then."""

    _closing = False

    def finish(self, request: Request, response: Response) -> Response:
        self._closing = response.status >= 400
        return super().finish(request, response)

    def received(self, data: bytes) -> bytes:
        closing, self._closing = self._closing, False
        return b"" if closing else super().received(data)


def test_a_close_that_crosses_the_known_good_request_fails_the_case(
    tmp_path: Path, start: Start
) -> None:
    path = small_run(tmp_path, make_target(start(_ClosesLate).url, timeout=5))
    found = verify(path, SMALL)
    assert found.exit_code == 0, words_of(found)
    outcomes = {case.id: case.outcome for case in load_report(path).cases}
    assert outcomes[BAD] is Outcome.PASS
    assert [name for name, outcome in outcomes.items() if outcome is Outcome.FAIL] == [
        "R8/observed"
    ]


@pytest.mark.parametrize("fault", LIKE_EDITS)
@pytest.mark.parametrize("workers", ["1", "4"])
def test_the_report_of_a_broken_server_holds(fault: str, workers: str, tmp_path: Path) -> None:
    usual = ["--case", "R1", "--case", "P2", "--case", "C6", "--case", "R3", "--timeout", "1"]
    options = ["-n", workers, "--report-dir", str(tmp_path)]
    main(["run", "--fault", fault, *usual, *options])
    found = verify(tmp_path / "report.json", every_case())
    assert found.exit_code == 0, words_of(found)
    assert not any(case.other_cause for case in found.cases)


def _of_each_family() -> list[str]:
    """One fault in sixteen of each module of them, at least one."""
    families: dict[str, list[str]] = {}
    for name, fault in FAULTS.items():
        families.setdefault(fault.cls.__module__, []).append(name)
    return [name for names in families.values() for name in sample(names, 16)]


@pytest.mark.parametrize("fault", _of_each_family())
def test_the_report_of_a_server_with_any_fault_holds(fault: str, tmp_path: Path) -> None:
    known = FAULTS[fault]
    chosen = [word for name in (known.requirement, *WIDE) for word in ("--case", name)]
    usual = ["-n", "4", "--timeout", "1", "--profile", "raw", "--profile", "compression"]
    main(["run", "--fault", fault, *chosen, *usual, "--report-dir", str(tmp_path)])
    found = verify(tmp_path / "report.json", every_case())
    assert found.exit_code == 0, words_of(found)
    assert not any(case.other_cause for case in found.cases)


@pytest.mark.parametrize(
    "options",
    [
        ["--case", "H6", "--case", "R1/*"],
        ["--case", "P2", "--case", "Z*", "--profile", "compression"],
        ["--case", "P*", "--header", "Authorization: Bearer of-a-test-0123"],
        ["--case", "P*", "--header", "Host: other.example"],
        ["--case", "W*", "--profile", "raw", "-n", "4"],
    ],
    ids=lambda options: options[-1],
)
def test_the_report_of_a_run_with_these_options_holds(options: list[str], tmp_path: Path) -> None:
    main(["run", *options, "--report-dir", str(tmp_path)])
    found = verify(tmp_path / "report.json", every_case())
    assert found.exit_code == 0, words_of(found)


def test_what_a_server_declines_beside_others_has_its_canaries(tmp_path: Path) -> None:
    with MutantServer(variants=["content-length-required"]) as server:
        options = ["--case", "C*", "--case", "V2", "-n", "4", "--report-dir", str(tmp_path)]
        main(["run", server.url, *options])
    found = verify(tmp_path / "report.json", every_case())
    declined = [case for case in found.report.cases if case.exchanges]
    assert "unsupported" in {case.outcome for case in declined}
    assert found.exit_code == 0, words_of(found)


def test_large_runs_of_a_suite_hold(tmp_path: Path, server: ReferenceServer) -> None:
    path = small_run(tmp_path, make_target(server.url, timeout=5), Selection(large=True))
    packed = path.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert verify(packed, SMALL).exit_code == 0


def test_a_connection_that_was_to_be_closed_may_have_been_left_open(
    start: Start, tmp_path: Path, cli: Cli
) -> None:
    class KeepsAll(Behaviour):
        def keeps_open(self, request: Request, response: Response) -> bool:
            return True

        def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
            return super().fields_to_send(response, keep_open=True)

    asked = "V2/request-in-any-spelling[connection-options]"
    url = start(KeepsAll).url
    cli("run", url, "--case", asked, "--report-dir", tmp_path / "run", code=0)
    cli("verify", tmp_path / "run" / "report.json", code=0)
