"""What is a report: the types and their schema refuse the same documents, member by member."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.reports import case, causes_of_all_kinds, exchange, report_of
from v2_conformance.errors import ReportFileError
from v2_conformance.report.bodies import Streams
from v2_conformance.report.document import CitedDocument, ExpectedFailure, LongTensor, Report
from v2_conformance.report.files import load_report, pieces, sealed
from v2_conformance.report.tested import (
    AskedInput,
    AskedModel,
    Calibration,
    ClientInfo,
    Model,
    Relations,
    SampleValue,
    Selection,
)
from v2_conformance.resources import fits, schema, schema_document
from v2_conformance.suite.client_lines import ClientName, Line, Said, SaidTensor
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.exchange import Body

Place = tuple[str | int, ...]

OTHERS: tuple[Any, ...] = (None, True, -3, 3.5, "text", "é", [], ["x"], {}, {"x": 1})


SAID = Said(
    lines=(
        Line(
            outputs=(
                SaidTensor("OUTPUT0", "INT32", (1,), b"abcd"),
                SaidTensor("OUTPUT1", "UINT8", (10_000,), b""),
            ),
            model_name="m",
            model_version="1",
            id="x",
            headers={"A": "b"},
            client=ClientName("c", "1"),
        ),
        Line(error="no", status=503),
        Line(unsupported="no API"),
    ),
    garbage="{",
    ended="timeout",
    exit=1,
    stderr="x",
    seconds=2.0,
    waited_s=1.5,
)

LONG = (LongTensor(0, 1, Body(bytes(10_000))),)


CUT = Streams().cut(bytes(1000), 10)
CITED = CitedDocument("RFC 9112", "https://h.example/rfc9112", "7.1", 2)


def whole() -> Report:
    """A report that has every member at least once."""
    own = exchange(b"GET", b"HTTP", expected="status 200", entry={"id": "M7/x"}, pieces=(1, 2))
    full = msgspec.structs.replace(
        own,
        purpose=Purpose.CANARY_FRESH,
        pause_ms=5.0,
        closed_before_ms=2.0,
        shortened_ms=2.0,
        stray_before=3,
        answers=2,
    )
    long = msgspec.structs.replace(own, received=CUT)
    placed = exchange(bytes(range(100)), bytes(100))
    known = ExpectedFailure("known", "https://h.example/1")
    report = report_of(
        [
            *(case(f"D1/{cause.kind}", "fail", cause=cause) for cause in causes_of_all_kinds()),
            msgspec.structs.replace(case("K3/x"), said=SAID, said_long=LONG, cite=(CITED,)),
            case("P2/x", "fail", None, full, long, expected=known),
            case("P3/x", "pass", None, placed),
        ],
        models={"mixed": Model("mixed", ("a", "b"), ("c",), "1", True)},
        absent={"identity/BF16": "no model"},
        masked=True,
        unsupported=("bf16",),
        headers=(("Accept", "*/*"),),
    )
    asked = msgspec.structs.replace(own, purpose=Purpose.DISCOVERY)
    report = msgspec.structs.replace(
        report,
        target=msgspec.structs.replace(
            report.target,
            host_given=True,
            restart_command=True,
            client=ClientInfo(("client", "{url}"), 10.0, True, ("FP64",)),
        ),
        requirements=tuple(
            msgspec.structs.replace(row, layer="http") for row in report.requirements
        ),
        selection=Selection(("P2",), True),
        discovery=(asked,),
        calibration=(Calibration("mixed", "binary", (asked,)),),
    )
    samples = ((SampleValue((1,), Body(b"\1")), SampleValue((10,), CUT)),)
    model = AskedModel(
        "model/m", (AskedInput("a", "INT8", (-1,), True),), samples, samples, (asked,), 1e-5
    )
    report = msgspec.structs.replace(
        report, relations=Relations((model,), 0.5, 0.25), seed=7, draws=2
    )
    verdict = msgspec.structs.replace(
        report.verdict,
        warnings=("SHOULD P4 failed",),
        consistent=False,
        shown=("P3",),
        needs_identity=("E1",),
        implemented=False,
    )
    rows = report.requirements[:5]
    return sealed(msgspec.structs.replace(report, verdict=verdict, requirements=rows))


WHOLE = json.loads("".join(pieces(whole())))


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref", "").removeprefix("#/$defs/")
    definitions: dict[str, Any] = schema_document("report")["$defs"]
    return resolved(definitions[reference]) if reference else part


KINDS: dict[str, type] = {"string": str, "array": list, "object": dict}


def chosen(part: dict[str, Any], value: Any) -> dict[str, Any]:
    """The branch of a part of the schema that describes `value`."""
    part = resolved(part)
    for branch in map(resolved, part.get("anyOf", ())):
        if (branch.get("type") == "null") is not (value is None):
            continue
        if not issubclass(type(value), KINDS.get(branch.get("type", ""), object)):
            continue
        if "anyOf" in branch:
            return chosen(branch, value)
        kind = branch.get("properties", {}).get("kind", {}).get("enum")
        if kind is None or kind == [value.get("kind")]:
            return branch
    assert "anyOf" not in part, value
    return part


def places(part: dict[str, Any], value: Any, at: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every place in a document, with the place in the schema that describes it."""
    part = chosen(part, value)
    name = part.get("title", "")
    if isinstance(value, dict):
        for key, item in value.items():
            inner = part.get("properties", {}).get(key, part.get("additionalProperties", {}))
            yield (*at, key), f"{name}.{key if key in part.get('properties', {}) else '*'}"
            if isinstance(inner, dict):
                yield from places(inner, item, (*at, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            inner = part["prefixItems"][number] if "prefixItems" in part else part["items"]
            yield (*at, number), f"{at[-1]}[]"
            yield from places(inner, item, (*at, number))


def first_places() -> dict[str, Place]:
    """Each place of the schema, and the first in the document that it describes."""
    found: dict[str, Place] = {}
    for place, name in places(schema_document("report"), WHOLE):
        if "entry" not in place[:-1]:  # of which the schema says nothing
            found.setdefault(name, place)
    return found


PLACES = first_places()


def holder(report: Any, place: Place) -> Any:
    """What has the member, or item, at `place`."""
    for step in place[:-1]:
        report = report[step]
    return report


@contextlib.contextmanager
def changing(place: Place) -> Iterator[Any]:
    """What has the member, or item, at `place` of WHOLE, which is as before after the block: a copy
    for each change would take most of the time of these tests."""
    inside = holder(WHOLE, place)
    before = copy.copy(inside)
    try:
        yield inside
    finally:
        inside.clear()
        inside.update(before) if isinstance(inside, dict) else inside.extend(before)


def is_report(report: object, path: Path) -> bool:
    """Whether it is one: the types and the schema must agree."""
    path.unlink(missing_ok=True)  # some file systems wait for the disk when they write over a file
    path.write_bytes(msgspec.json.encode(report))
    try:
        load_report(path)
        problem = ""
    except ReportFileError as error:
        problem = str(error)
    assert "\n" not in problem
    damaged = "a message in the report is damaged" in problem  # of which the schema says nothing
    assert fits("report", report) is (problem == "" or damaged), (problem, report)
    return problem == ""


def test_the_whole_report_has_every_member_of_the_schema(tmp_path: Path) -> None:
    assert is_report(WHOLE, tmp_path / "report.json")
    schema("report").validate(WHOLE)
    definitions = schema_document("report")["$defs"]
    every = {
        f"{name}.{member}"
        for name, part in (
            *definitions.items(),
            ("The report of one run", schema_document("report")),
        )
        for member in part.get("properties", ())
    }
    assert every <= PLACES.keys()
    assert {c["outcome"] for c in WHOLE["cases"]} <= {o.value for o in Outcome}


def test_a_member_that_is_removed_is_missed_unless_it_may_be_left_out(tmp_path: Path) -> None:
    left_out = set()
    for name, place in PLACES.items():
        if isinstance(holder(WHOLE, place), dict):
            with changing(place) as inside:
                del inside[place[-1]]
                if is_report(WHOLE, tmp_path / "report.json"):
                    left_out.add(name)
    parts = schema_document("report")["$defs"] | {
        "The report of one run": schema_document("report")
    }
    optional = {
        f"{name}.{member}"
        for name, part in parts.items()
        for member in part.get("properties", ())
        if member not in part.get("required", ())
    }
    optional.remove("The report of one run.bodies")  # there are places in its streams
    assert {name for name in left_out if not name.endswith("*")} == optional


def test_an_unknown_member_is_refused_in_every_part(tmp_path: Path) -> None:
    for name, place in PLACES.items():
        if isinstance(holder(WHOLE, place), dict) and not name.endswith("*"):
            with changing(place) as inside:
                inside["unknown"] = 1
                assert not is_report(WHOLE, tmp_path / "report.json"), name


@pytest.mark.long
def test_a_value_of_another_type_is_refused_everywhere(tmp_path: Path) -> None:
    for name, place in PLACES.items():
        accepted = []
        for other in OTHERS:
            with changing(place) as inside:
                inside[place[-1]] = other
                if is_report(WHOLE, tmp_path / "report.json"):
                    accepted.append(type(other))
        # One type of value at most, or null as well; text may be any text.
        kinds = {kind for kind in accepted if kind is not type(None)}
        assert kinds <= {int, float} or len(kinds) <= 1, (name, accepted)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("suite", "name"), "another"),
        (("suite", "report"), 1),
        (("suite", "report"), 2),
        (("target", "host"), "a b"),
        (("target", "host"), "a\r\nb"),
        (("target", "headers", 0), ["only a name"]),
        (("target", "headers", 0), ["A", "b", "c"]),
        (("target", "headers", 0, 1), "\x1b[31m"),
        (("duration_s",), -1),
        (("planned", "P2"), -1),
        (("verdict", "reasons", 0), None),
        (("requirements", 0, "level"), "must"),
        (("requirements", 0, "basis"), "rumor"),
        (("requirements", 0, "outcome"), "fine"),
        (("requirements", 0, "cases"), {"fine": 1}),
        (("requirements", 0, "cases"), {"pass": 0}),
        (("cases", 1, "outcome"), "fine"),
        (("cases", 1, "level"), "must"),
        (("cases", 1, "duration_ms"), -0.1),
        (("cases", 1, "cause"), {"kind": "unheard_of"}),
        (("cases", 1, "cause"), {}),
        (("cases", -2, "expected", "link"), "javascript:alert(1)"),
        (("cases", -2, "exchanges", 0, "purpose"), "fun"),
        (("cases", -2, "exchanges", 0, "ending"), "happy"),
        (("cases", -2, "exchanges", 0, "sent"), -1),
        (("cases", -2, "exchanges", 0, "first_byte_ms"), -1),
        (("cases", -2, "exchanges", 0, "pieces", 0), -1),
        (("cases", -2, "exchanges", 0, "pause_ms"), -1),
        (("cases", -2, "exchanges", 0, "request"), "%%%"),
        (("cases", -2, "exchanges", 0, "response"), "é"),
        (("integrity", "digest"), "ABC"),
        (("integrity", "algorithm"), "md5"),
    ],
    ids=str,
)
def test_a_value_out_of_range_is_refused(place: Place, value: object, tmp_path: Path) -> None:
    report = copy.deepcopy(WHOLE)
    holder(report, place)[place[-1]] = value
    assert not is_report(report, tmp_path / "report.json")
