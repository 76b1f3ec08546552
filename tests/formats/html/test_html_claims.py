"""report.html says what the server claims, beside what its cases show."""

from __future__ import annotations

import pytest

from support.reports import case, passes, report_of
from v2_conformance.formats.html.page import render
from v2_conformance.report.verdict.claims import claims


@pytest.mark.parametrize("outcome", ["pass", "fail", "not_run"])
@pytest.mark.parametrize("extension", ["binary_tensor_data", "binary_tensor_data_2"])
def test_every_claim_is_in_the_page(outcome: str, extension: str) -> None:
    report = report_of(passes(case("P5/x", outcome)), extensions=[extension])
    page = render(report)
    for claim in claims(report):
        assert claim.shown in page
