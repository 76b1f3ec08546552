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


def test_many_failures_may_have_two_things_in_common() -> None:
    with_id, with_data = sent('{"id":"7","inputs":[]}'), sent('{"inputs":[{"data":[1]}]}')
    right = Right([with_id, with_data] * 10)
    failing = [sent('{"id":"7","inputs":[{"data":[1]}]}')] * 10
    assert right.lack(failing) == "requests with an id and with JSON inputs"
    assert right.lack(failing[:9]) == ""
