"""What failing requests have in common that right ones lack, in words."""

from __future__ import annotations

import pytest

from support.reports import sent
from v2_conformance.report.properties import Right


@pytest.mark.parametrize(
    ("document", "shared"),
    [
        ('{"id":"7","inputs":[]}', "requests with an id"),
        ('{"inputs":[{"parameters":{"x":1}}]}', "requests with parameters on an input"),
        ('{"inputs":[{"data":[[1]]}]}', "requests with nested data"),
        *((unreadable, "") for unreadable in ("", "{", "[]", "[" * 99_999)),
    ],
)
def test_what_only_failing_requests_have_in_common_is_said(document: str, shared: str) -> None:
    plain, failing = sent("{}"), [sent(document)] * 2
    assert Right([plain] * 10).lack(failing) == shared
    assert Right([plain] * 10 + failing).lack(failing) == ""
    assert Right([]).lack([plain, plain, *failing]) == "even plain requests"
