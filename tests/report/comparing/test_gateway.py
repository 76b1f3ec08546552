"""Whatever a gateway does is noticed, each effect by itself; a faithful gateway is transparent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from support import faulty_gateways as gateways
from support.reports import case, exchange, passes, report_of
from support.responses import answer, http, message_with, posting, v2
from support.runs import chosen, made, target_of
from v2_conformance.errors import ReportFileError
from v2_conformance.report.comparing.gateway import (
    Effect,
    GatewayReport,
    Transparency,
    compare_sides,
)
from v2_conformance.report.comparing.through import Change, Property
from v2_conformance.report.document import Report
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.report.files import load_report
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Purpose
from v2_mutants.servers import MutantServer

BINARY = "P2/blob-follows-json[INT32]"
MALFORMED = "H6/not-a-number[letters]"
LARGE = "L1/one-mebibyte[int32]"
ACCEPTS_GZIP = "Z4/named-as-done[gzip,binary]"
CODED = "Z1/compressed-request[gzip,int32,binary]"
CHUNKED = "C1/chunked-json"
CASES = chosen(BINARY, MALFORMED, LARGE, ACCEPTS_GZIP, CODED, CHUNKED)

Gateway = Callable[[str], AbstractContextManager[str]]


def compared(
    folder: Path,
    through: Gateway,
    *faults: str,
    server: Gateway | None = None,
    cases: tuple[str, ...] = (),
) -> GatewayReport:
    """What is found of a gateway in front of the reference server."""
    run = chosen(*cases) if cases else CASES
    with MutantServer(faults) as reference:
        if server is None:
            return _compared(folder, reference.url, through, run)
        with server(reference.url) as url:
            return _compared(folder, url, through, run)


def _compared(folder: Path, url: str, through: Gateway, run: list[Case]) -> GatewayReport:
    reports: list[Report] = []
    with through(url) as gateway_url:
        for name, where in (("direct", url), ("through", gateway_url)):
            target = target_of(where, "compression", "compression-responses")
            reports.append(load_report(made(folder / name, target, run)))
    return compare_sides(*reports)


def lost(report: GatewayReport) -> dict[Property, tuple[Change, ...]]:
    return {row.name: row.how for row in report.properties if row.changed}


def effects(report: GatewayReport) -> dict[str, Effect]:
    return {one.id: one.effect for one in report.cases}


def test_a_faithful_gateway_is_transparent(tmp_path: Path) -> None:
    found = compared(tmp_path, gateways.gateway)
    assert found.transparency is Transparency.TRANSPARENT, found.reasons
    assert (found.cases, found.reasons) == ((), ())
    assert found.effects == {Effect.KEPT: len(CASES)}
    shown = {row.name for row in found.properties if row.shown}
    assert shown == set(Property) - {Property.EARLY_REJECTION}


@pytest.mark.parametrize(
    ("spoil", "kind", "change", "broken"),
    [
        (gateways.header_dropped, Property.HEADER, Change.HEADER_DROPPED, BINARY),
        (gateways.length_changed, Property.LENGTH, Change.LENGTH_WRONG, BINARY),
        (gateways.limited, Property.BODIES, Change.BODY_REFUSED, LARGE),
    ],
)
def test_what_a_gateway_does_to_answers_is_broken_and_its_property_named(
    tmp_path: Path, spoil: gateways.Spoil, kind: Property, change: Change, broken: str
) -> None:
    found = compared(tmp_path, partial(gateways.gateway, spoil=spoil))
    assert found.transparency is Transparency.NOT_TRANSPARENT
    assert lost(found) == {kind: (change,)}
    assert effects(found)[broken] is Effect.BROKEN


@pytest.mark.parametrize(
    ("spoil", "kind", "change", "changed"),
    [
        (gateways.recoded, Property.CODING, Change.RECODED, "Z4/refused-coding[no_gzip]"),
        (gateways.errors_with_200, Property.ERRORS, Change.ERROR_HIDDEN, MALFORMED),
        (gateways.errors_in_html, Property.ERRORS, Change.ERROR_REPLACED, MALFORMED),
        (gateways.closing, Property.CONNECTIONS, Change.CLOSED, BINARY),
    ],
)
def test_a_change_that_fails_no_case_costs_transparency_all_the_same(
    tmp_path: Path, spoil: gateways.Spoil, kind: Property, change: Change, changed: str
) -> None:
    found = compared(
        tmp_path, partial(gateways.gateway, spoil=spoil), cases=(BINARY, MALFORMED, "Z4/")
    )
    assert found.transparency is Transparency.NOT_TRANSPARENT
    assert lost(found) == {kind: (change,)}
    assert changed in effects(found)


@pytest.mark.parametrize(
    "change", [gateways.request_header_dropped, gateways.request_length_changed]
)
def test_spoiled_header_is_told(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    found = compared(tmp_path, partial(gateways.gateway, change=change), cases=(BINARY, MALFORMED))
    assert lost(found)[Property.HEADER] == (Change.REQUEST_SPOILED,)
    assert effects(found)[BINARY] is Effect.BROKEN


def test_a_gateway_without_an_answer_does_not_keep_connections(tmp_path: Path) -> None:
    found = compared(
        tmp_path, partial(gateways.gateway, spoil=gateways.unavailable), cases=(BINARY,)
    )
    assert lost(found) == {Property.CONNECTIONS: (Change.UNAVAILABLE,)}
    assert effects(found) == {BINARY: Effect.BROKEN}


def test_a_gateway_that_reads_whole_requests_delays_early_rejections(tmp_path: Path) -> None:
    case_id = "C5/rejected-before-the-end-of-the-body"
    found = compared(
        tmp_path, gateways.gateway, server=gateways.rejecting_early, cases=(case_id, BINARY)
    )
    assert lost(found) == {Property.EARLY_REJECTION: (Change.REJECTED_LATER,)}
    assert effects(found) == {case_id: Effect.CHANGED}


def test_gateway_that_counts_chunked_bodies_mends(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        partial(gateways.gateway, change=gateways.unchunked),
        "last-chunk-lost",
        cases=("C1/", BINARY),
    )
    mended = [one for one in found.cases if one.effect is Effect.MENDED]
    assert mended
    assert all(one.id.startswith("C1/") for one in mended)
    assert found.transparency is Transparency.UNDECIDED  # what it mends does not count against it


def test_a_rejection_by_the_gateway_hides_that_the_server_accepts(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        partial(gateways.gateway, spoil=_refusing_junk),
        "header-length-trailing-junk-ignored",
        cases=("H8/", BINARY),
    )
    hidden = [one for one in found.cases if one.effect is Effect.HIDDEN]
    assert hidden
    assert all(one.answered_by_gateway for one in hidden)


def _refusing_junk(request: bytes, found: gateways.Answer) -> gateways.Answer:
    lines = request.partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
    values = [line.partition(b":")[2].strip() for line in lines if line.startswith(b"inference-")]
    return found if all(value.isdigit() for value in values) else gateways.page(400)


def test_what_a_gateway_must_read_itself_costs_it_nothing() -> None:
    broken = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    both = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"
    error = v2(answer(), status=400)
    html = b"HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nhtml"
    for request in (broken, both + b"0\r\n\r\n"):
        direct = report_of(passes(case("C8/x", "pass", None, exchange(request, error))))
        through = report_of(passes(case("C8/x", "pass", None, exchange(request, html))))
        found = compare_sides(direct, through)
        assert effects(found) == {"C8/x": Effect.CHANGED}
        assert lost(found) == {}


@pytest.mark.parametrize(
    ("direct", "through", "effect"),
    [
        ("pass", "pass", None),
        ("pass", "fail", Effect.BROKEN),
        ("pass", "unsupported", Effect.BROKEN),
        ("pass", "not_run", Effect.BROKEN),
        ("disputed", "inconclusive", Effect.BROKEN),
        ("fail", "fail", None),
        ("fail", "pass", Effect.MENDED),
        ("flaky", "pass", Effect.MENDED),
        ("fail", "not_run", Effect.HIDDEN),
        ("fail", "unsupported", Effect.HIDDEN),
        ("fail", "inconclusive", Effect.HIDDEN),
        ("unsupported", "pass", Effect.CHANGED),
        ("not_run", "fail", Effect.CHANGED),
    ],
)
def test_effect_of_both_outcomes(direct: str, through: str, effect: Effect | None) -> None:
    own = exchange(message_with(b"\x01\x02\x03\x04"), v2(answer()))
    one, other = (
        report_of(passes(case("P2/x[INT32]", outcome, None, own))) for outcome in (direct, through)
    )
    found = effects(compare_sides(one, other))
    assert found == ({} if effect is None else {"P2/x[INT32]": effect})


def test_broken_cases_of_a_should_are_listed_and_cost_nothing() -> None:
    own = exchange(message_with(b"\x01\x02\x03\x04"), v2(answer()))
    for level, words in (
        ("SHOULD", Transparency.UNDECIDED),
        ("MUST", Transparency.NOT_TRANSPARENT),
    ):
        one, other = (
            report_of(passes(case("P2/x", outcome, None, own, level=level)))
            for outcome in ("pass", "fail")
        )
        found = compare_sides(one, other)
        assert effects(found) == {"P2/x": Effect.BROKEN}
        assert found.transparency is words


@pytest.mark.parametrize("side", [0, 1])
def test_an_incomplete_run_decides_nothing(side: int) -> None:
    reports = [report_of(passes()), report_of(passes())]
    reports[side] = msgspec.structs.replace(reports[side], complete=False)
    found = compare_sides(*reports)
    assert found.transparency is Transparency.UNDECIDED
    name = ("direct run", "run through the gateway")[side]
    assert [reason for reason in found.reasons if "incomplete" in reason] == [
        f"the {name} is incomplete"
    ]


def test_reports_of_other_cases_are_not_compared() -> None:
    with pytest.raises(ReportFileError, match="different versions of the cases"):
        compare_sides(report_of(passes()), report_of(passes(), suite_catalogue="0123456789abcdef"))
    with pytest.raises(ReportFileError, match="different profiles"):
        compare_sides(report_of(passes()), report_of(passes(), profiles=("binary", "raw")))


@pytest.mark.parametrize("purpose", [Purpose.RETRIED, Purpose.CANARY_FRESH])
def test_an_answer_that_came_only_at_another_try_costs_connections(purpose: Purpose) -> None:
    own = exchange(posting(b"{}"), v2(answer()))
    lost_one = exchange(posting(b"{}"), http(b"", 502))
    again = msgspec.structs.replace(own, purpose=purpose)
    order: tuple[RecordedExchange, ...] = (lost_one, again)
    if not purpose.own:
        order = (own, msgspec.structs.replace(lost_one, purpose=purpose), again)
    one, other = (report_of(passes(case("P2/x", "pass", None, *e))) for e in ((own,), order))
    assert lost(compare_sides(one, other)) == {Property.CONNECTIONS: (Change.UNAVAILABLE,)}
    assert lost(compare_sides(other, other)) == {}
    dead = report_of(passes(case("P2/x", "fail", None, own)))
    assert lost(compare_sides(dead, other)) == {}


def test_requests_that_are_not_the_same_are_not_compared() -> None:
    here = exchange(posting(b"{}"), v2(answer()))
    for body, lost_there in ((b"{}", {Property.CONNECTIONS: (Change.UNAVAILABLE,)}), (b"[]", {})):
        there = exchange(posting(body), http(b"", 502))
        one, other = (
            report_of(passes(case("M7/generated", "fail", None, own))) for own in (here, there)
        )
        assert lost(compare_sides(one, other)) == lost_there


def test_hostile_answers_are_compared_too() -> None:
    deep = b"[" * 100_000
    request = message_with(b"\x01\x02\x03\x04")
    answers = [
        b"",
        b"\xff\x00",
        b"HTTP/1.1 400 x\r\nContent-Length: 100000\r\n\r\n" + deep,
        b"HTTP/1.1 200 x\r\nInference-Header-Content-Length: 9" + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 x\r\nInference-Header-Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    ]
    for here in answers:
        for there in answers:
            one, other = (
                report_of(passes(case("P2/x", "pass", None, exchange(request, raw))))
                for raw in (here, there)
            )
            compare_sides(one, other)
