"""What the summary says of the extension: the server's claim beside what its bytes show."""

from __future__ import annotations

import pytest

from support.reports import case as case_of
from support.reports import exchange, report_of
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.verdict.extension import Extension, extension

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
BINARY = b"HTTP/1.1 200 OK\r\nINFERENCE-Header-Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}\x01"
REFUSED = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno"


def case(requirement: str, *responses: bytes) -> CaseResult:
    return case_of(f"{requirement}/x", "pass", None, *(exchange(b"", it) for it in responses))


def report(*cases: CaseResult, listed: bool = False) -> Report:
    return report_of(cases, extensions=["binary_tensor_data" if listed else "model_repository"])


def test_a_server_without_the_extension_is_said_to_show_none_of_it() -> None:
    # The canary, the second exchange, is in a form that this server answers.
    found = extension(report(case("P2", REFUSED, PLAIN), case("D11", PLAIN)))
    assert found == Extension(listed=False, accepted=False, answered=False)
    assert found.words.startswith("GET /v2 does not list binary_tensor_data, and no correct")


def test_a_server_that_does_what_it_does_not_list_is_told_so() -> None:
    found = extension(report(case("P2", BINARY)))
    assert found == Extension(listed=False, accepted=True, answered=True)
    assert "yet binary inputs are accepted" in found.words


@pytest.mark.parametrize(
    "found",
    [
        report(case("P2", BINARY), listed=True),
        report(case("P2", PLAIN)),  # the inputs at least are understood
        report(case("H6", REFUSED)),  # nothing was sent that could have been accepted
        report(case("P2")),
        report(case("P2", b"")),
        report(),
    ],
)
def test_nothing_is_said_where_claim_and_conduct_agree(found: Report) -> None:
    assert extension(found).words == ""


def test_a_header_in_a_body_is_no_header() -> None:
    body = PLAIN + b"\r\nInference-Header-Content-Length: 2\r\n"
    assert not extension(report(case("P2", body))).answered
