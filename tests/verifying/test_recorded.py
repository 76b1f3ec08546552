"""What no exchange can have left behind is noticed, whatever the digest says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.reports import Document, case_of
from support.runs import GOOD, cases_that_differ, changed
from v2_conformance.errors import ReportFileError


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"ending": "closed"}, "does not end as the record says: closed"),
        ({"ending": "timeout", "open": False}, "does not end as the record says: timeout"),
        ({"ending": "too-large"}, "does not end as the record says: too-large"),
        ({"ending": "malformed"}, "does not end as the record says: malformed"),
        ({"ending": "refused"}, "a connection that was refused"),
        ({"response": ""}, "does not end as the record says: complete"),
        ({"open": False}, "says the connection was closed"),
        ({"sent": 10**9}, "bytes were sent, but the request has"),
        ({"sent": 3}, "says the connection was left open"),
        ({"sent": 3, "open": False}, "takes no more than one write"),
        ({"pieces": [3, 9]}, "was sent in other pieces"),
        ({"pause_ms": 3.0}, "was sent in other pieces"),
        ({"answers": 2, "open": False}, "says 2 answers, it asks for 1"),
        (
            {"ending": "left", "response": "", "first_byte_ms": None, "open": False},
            "says that the client left, but it waits",
        ),
        ({"ending": "reset"}, "does not end as the record says: reset"),
        ({"purpose": "sample"}, "not marked as its own"),
        ({"purpose": "canary_fresh_connection"}, "the note of an exchange is not"),
        ({"note": "canary on a fresh connection"}, "the note of an exchange is not"),
        ({"entry": {"id": "M7/generated"}}, "a generated request is recorded of a case"),
    ],
    ids=lambda value: str(value)[:24],
)
@pytest.mark.long
def test_a_record_that_no_exchange_can_leave_is_noticed(
    clean: Path, tmp_path: Path, entry: Document, words: str
) -> None:
    found, text = changed(
        clean, tmp_path, lambda report: case_of(report, GOOD)["exchanges"][0].update(entry)
    )
    assert cases_that_differ(found) == [GOOD]
    assert words in text


@pytest.mark.parametrize(
    ("purpose", "words"),
    [
        ("canary_same_connection", "on the same connection, but a fresh one was used"),
        ("canary_fresh_connection", "on a fresh connection, but the one before was used"),
    ],
)
def test_a_canary_on_another_connection_than_it_says_is_noticed(
    clean: Path, tmp_path: Path, purpose: str, words: str
) -> None:
    report = json.loads(clean.read_text())
    name, number = next(
        (case["id"], number)
        for case in report["cases"]
        for number, exchange in enumerate(case["exchanges"])
        if exchange["purpose"] == purpose
    )

    def other(report: Document) -> None:
        canary = case_of(report, name)["exchanges"][number]
        canary["reused"] = not canary["reused"]

    found, text = changed(clean, tmp_path, other)
    assert cases_that_differ(found) == [name]
    assert words in text


@pytest.mark.parametrize(
    "entry",
    [
        {"response": "é"},
        {"duration_ms": 10**4000},
        {"duration_ms": -1},
        {"ending": "ended"},
        {"purpose": "none"},
        {"more": 1},
        {"sent": None},
    ],
    ids=lambda value: str(value)[:24],
)
@pytest.mark.long
def test_what_is_no_record_of_an_exchange_makes_it_no_report(
    clean: Path, tmp_path: Path, entry: Document
) -> None:
    ids = [case["id"] for case in json.loads(clean.read_text())["cases"]]
    with pytest.raises(ReportFileError) as error:
        changed(clean, tmp_path, lambda report: case_of(report, GOOD)["exchanges"][0].update(entry))
    assert f"$.cases[{ids.index(GOOD)}].exchanges[0]" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.long
@pytest.mark.parametrize("name", ["ending", "purpose", "note", "request"])
def test_an_exchange_that_lacks_something_makes_it_no_report(
    clean: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ReportFileError, match=f"missing required field `{name}`"):
        changed(clean, tmp_path, lambda report: case_of(report, GOOD)["exchanges"][0].pop(name))
