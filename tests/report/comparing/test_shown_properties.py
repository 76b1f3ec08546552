"""Which properties of a gateway an exchange shows at all."""

from __future__ import annotations

from support.reports import case, exchange, passes, report_of
from support.responses import answer, http, posting, v2
from v2_conformance.report.comparing.gateway import compare_sides
from v2_conformance.report.comparing.through import Property

REQUEST = posting(b"{}")


def _shown(response: bytes, *, unsent: int = 0) -> set[Property]:
    own = exchange(REQUEST, response, sent=len(REQUEST) - unsent)
    report = report_of(passes(case("P2/x", "pass", None, own)))
    return {row.name for row in compare_sides(report, report).properties if row.shown}


def test_only_an_error_that_came_before_the_end_of_the_request_shows_early_rejections() -> None:
    error = http(b"{}", 400)
    assert Property.EARLY_REJECTION in _shown(error, unsent=1)
    assert Property.EARLY_REJECTION not in _shown(error)
    assert Property.EARLY_REJECTION not in _shown(v2(answer()), unsent=1)
