"""Reports of failing servers, forged with their digest computed again: none is certified.

A forger has the suite: whatever can be derived from the rest of a report is forged with it.
"""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.reports import Document, case_of, read_document, reconcluded
from support.small_suite import BAD, CUBE, FLOAT, GOOD, MIXED, MORE, RAW, SMALL, small_run
from v2_conformance.errors import ReportFileError
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.digest import document_digest
from v2_conformance.report.tested import Selection
from v2_conformance.runs.targets.make import make_target
from v2_conformance.verifying.verification import Verification, verify
from v2_mutants.servers import MutantServer

GENERATED = "M7/generated"
P1 = "P1/metadata-lists-extension"
CITED = {"document": "d", "url": "https://forged.example", "section": "1", "paragraph": 1}
Forgery = Callable[["Reports"], Document | None]

RUNS: Mapping[str, tuple[str, ...]] = {
    "good": (),
    "wrong": ("request-blobs-off-by-one",),  # wrong numbers everywhere
    "deadly": ("rejection-kills-model",),
    "left": ("rejected-body-left-on-connection",),  # the next request there is spoilt
    "untyped": ("error-is-plain-text",),  # only what is observed fails
    "mixed": ("concurrent-ids-mixed",),
}


class Reports:
    """The reports of RUNS as documents, of which each forgery gets fresh copies."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getattr__(self, name: str) -> Document:
        return self[name]

    def __getitem__(self, name: str) -> Document:
        return read_document(self._paths[name])


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Each run once. The run "large" asks for large cases of a good server;
    "less" is of one that is said to lack a datatype, which others need."""
    paths = {}
    for name, faults in RUNS.items():
        with MutantServer(faults) as server:
            target = make_target(server.url, timeout=2)
            paths[name] = small_run(tmp_path_factory.mktemp(name), target)
    more = {"large": Selection(large=True)}
    with ReferenceServer() as server:
        target = make_target(server.url, timeout=2)
        less = replace(target, unsupported=frozenset({"FP64"}))
        paths["less"] = small_run(tmp_path_factory.mktemp("less"), less)
        for name, selection in more.items():
            paths[name] = small_run(tmp_path_factory.mktemp(name), target, selection)
        few = [case for case in SMALL if case.id in (GOOD, BAD)]
        folder = tmp_path_factory.mktemp("stopped")
        paths["stopped"] = small_run(folder, target, sent=few, complete=False)
    return Reports(paths)


def verified(report: Document, folder: Path) -> Verification:
    """What verifying says of a report with its digest computed again."""
    if "integrity" in report:
        report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return verify(path, SMALL)


def words_of(found: Verification) -> str:
    return " ".join(" ".join(verification_lines(found)).split())


# What forgers do


def bad(report: Document) -> list[Document]:
    """The cases that do not help a forger."""
    harmless = ("pass", "unsupported", "disputed")
    return [case for case in report["cases"] if case["outcome"] not in harmless]


def without_bad(report: Document) -> Document:
    """The report without those cases, of which its plan says nothing either."""
    for case in bad(report):
        report["cases"].remove(case)
    report["planned"] = dict(Counter(case["requirement"] for case in report["cases"]))
    return report


def done(report: Document) -> Document:
    """The report with the verdict that its cases amount to."""
    reconcluded(report)
    report["integrity"] = {}
    return report


def passed(report: Document, *, cause: Any = None) -> Document:
    """The report in which every case is said to have passed."""
    for case in bad(report):
        case.update(outcome="pass", cause=cause, message="")
    return done(report)


def each_bad(change: Mapping[str, Any]) -> Forgery:
    """Every case of a wrong server that failed gets these members."""

    def forge(reports: Reports) -> Document:
        report = reports.wrong
        for case in bad(report):
            case.update(change)
        return done(report)

    return forge


def target(name: str, **members: Any) -> Forgery:
    """The target of a report says something else, and its cases that did not pass are left out of
    it or not, whatever is better for the forger."""

    def forge(reports: Reports) -> Document:
        report = reports[name]
        report["target"].update(members)
        return done(report)

    return forge


def server(**members: Any) -> Forgery:
    def forge(reports: Reports) -> Document:
        report = reports.good
        report["target"]["server"].update(members)
        return done(report)

    return forge


def unsupported(report: Document, *names: str) -> Document:
    """The report in which everything that failed is excused by these claims."""
    report["target"]["unsupported"] = sorted(names)
    for case in bad(report):
        model = case["id"].partition("[")[2].partition("]")[0].split(",")[0]
        cause = {"kind": "datatypes_unsupported", "datatypes": [model or "INT32"]}
        excused = {"outcome": "unsupported", "cause": cause, "message": "", "exchanges": []}
        case.update(excused)
    return done(report)


def kept(data: Any) -> bytes:
    """Bytes of an exchange, which is long if they are deflated."""
    if isinstance(data, dict):
        return zlib.decompress(base64.b64decode(data["deflated"]))
    return base64.b64decode(data)


def edited(data: Any, old: bytes, new: bytes) -> str:
    """Bytes of an exchange, replaced in base64."""
    return base64.b64encode(kept(data).replace(old, new)).decode()


def of_good(reports: Reports, *names: str, port: bool = False) -> Document:
    """A wrong report with cases of a good run: all that failed, or those named. With `port`, their
    requests are changed to say that they went to the same server."""
    report, good = reports.wrong, reports.good
    names = names or tuple(case["id"] for case in bad(report))
    hosts = [r["target"]["host"].encode() for r in (good, report)]
    for number, case in enumerate(report["cases"]):
        if case["id"] not in names:
            continue
        case = copy.deepcopy(case_of(good, case["id"]))
        for exchange in case["exchanges"] if port else ():
            exchange["request"] = edited(exchange["request"], *hosts)
        report["cases"][number] = case
    return done(report)


def dead_but_calm(reports: Reports, *, calibrated: bool = False) -> Document:
    """A killed model whose canaries are said to have been refused from the beginning."""
    report = reports.deadly
    for case in report["cases"]:
        for exchange in case["exchanges"]:
            if exchange["purpose"].startswith("canary"):
                status = base64.b64decode(exchange["response"])[9:12].decode()
                exchange["expected"] = f"status {status}"
    if calibrated:
        for one in report["calibration"]:
            exchange = one["exchanges"][0]
            broken = edited(exchange["response"], b"HTTP/1.1 200 OK", b"HTTP/1.1 500 OK")
            one["exchanges"] = [{**exchange, "response": broken}]
    return passed(report)


def slow(reports: Reports) -> Document:
    """Every exchange, and its case, took hours in a run of seconds."""
    report = reports.good
    for case in report["cases"]:
        case["duration_ms"] = 9e9
        for exchange in case["exchanges"]:
            exchange["duration_ms"] = 9e6
    return done(report)


def blaming(reports: Reports) -> Document:
    """The cause of a failure says what its forger likes, where cases are named."""
    report = reports.deadly
    for case in bad(report):
        if case["cause"]["kind"] == "did_not_survive":
            case["cause"]["beside"] = ["the suite itself, as everybody knows"]
    return done(report)


def without_canaries(purpose: str, name: str = "left", /, **fresh: Any) -> Forgery:
    """The canaries of this purpose are left out, and the others say what is in `fresh`."""

    def forge(reports: Reports) -> Document:
        report = reports[name]
        for case in bad(report):
            others = [one for one in case["exchanges"] if one["purpose"] != purpose]
            case["exchanges"] = others
            if len(others) > 1:
                others[-1].update(fresh)
        return passed(report, cause={"kind": "rejected", "status": 400})

    return forge


def half_sent(sent: Callable[[Document], int]) -> Forgery:
    """So little was sent of what was rejected that its connection could not be used again."""

    def forge(reports: Reports) -> Document:
        report = reports.left
        for case in bad(report):
            own, _, fresh = case["exchanges"]
            own.update(sent=sent(own), open=False)
            case["exchanges"] = [own, fresh] if own["sent"] else [own]
        return passed(report, cause={"kind": "rejected", "status": 400})

    return forge


def without_cause(reports: Reports) -> Document:
    """Nothing says why cases were not sent, so that it is no reason against the server."""
    report = reports.less
    for case in report["cases"]:
        if case["outcome"] == "unsupported":
            case.update(cause=None, message="")
    return done(report)


def said_by_another_build(reports: Reports) -> Document:
    """Another build is said to have made the report, since its words are not compared."""
    report = reports.wrong
    report["suite"]["judging"] = "0123456789abcdef"
    report["verdict"].update(standing="conformant, robust", reasons=[], warnings=[])
    return report


def closed(reports: Reports) -> Document:
    """The connection is said to have been closed, so that no canary could use it."""
    report = reports.left
    for case in bad(report):
        case["exchanges"] = [e for e in case["exchanges"] if "same" not in e["purpose"]]
        case["exchanges"][0]["open"] = False
    return passed(report, cause={"kind": "rejected", "status": 400})


def generated(count: int, *, said: int | None = None) -> Forgery:
    def forge(reports: Reports) -> Document:
        report = reports.wrong
        case = case_of(report, GENERATED)
        good = case_of(reports.good, GENERATED)
        hosts = [r["target"]["host"].encode() for r in (reports.good, report)]
        case.update(good)
        case["exchanges"] = case["exchanges"][:count]
        for exchange in case["exchanges"]:
            exchange["request"] = edited(exchange["request"], *hosts)
        case["cause"] = {**case["cause"], "count": count if said is None else said}
        for other in bad(report):
            report["cases"].remove(other)
        report["planned"] = dict(Counter(case["requirement"] for case in report["cases"]))
        return done(report)

    return forge


def large_for_bad(reports: Reports, kind: str = "large", **selection: bool) -> Document:
    """The cases that failed, replaced by as many that passed in a run that was asked for more."""
    report = reports.wrong
    hosts = [r["target"]["host"].encode() for r in (reports[kind], report)]
    there = {case["id"] for case in report["cases"]}
    spare = [case for case in reports[kind]["cases"] if case["id"] not in there]
    for case in bad(report):
        if case["requirement"] != "P2" or not spare:
            continue
        other = spare.pop()
        for exchange in other["exchanges"]:
            exchange["request"] = edited(exchange["request"], *hosts)
        report["cases"][report["cases"].index(case)] = other
    report["selection"] = selection
    return done(without_bad(report))


def changed(name: str, *path: Any, to: Any) -> Forgery:
    """One member of a report, at a path, is another one."""

    def forge(reports: Reports) -> Document:
        report = reports[name]
        holder: Any = report
        for step in path[:-1]:
            holder = case_of(report, step) if "/" in str(step) else holder[step]
        holder[path[-1]] = to(holder[path[-1]]) if callable(to) else to
        return done(report)

    return forge


def suite(**members: str) -> Forgery:
    return changed("good", "suite", to=lambda made: {**made, **members})


def sealed_only(name: str, change: Callable[[Document], object]) -> Forgery:
    """A change after which nothing is derived again."""

    def forge(reports: Reports) -> Document:
        report = reports[name]
        change(report)
        return report

    return forge


def each_of(name: str, case: str, members: Mapping[str, Any]) -> Forgery:
    """One case of a report gets these members."""

    def forge(reports: Reports) -> Document:
        report = reports[name]
        case_of(report, case).update(members)
        return done(report)

    return forge


def with_exchanges(report: Document, case: str, exchanges: list[Document]) -> Document:
    case_of(report, case)["exchanges"] = copy.deepcopy(exchanges)
    return report


def huge(exchange: Document) -> Document:
    """An exchange whose generated request would take all memory."""
    entry = json.dumps(exchange["entry"]).replace('"shape": [', '"shape": [99999999999, ')
    return {**exchange, "entry": json.loads(entry)}


def copied(source: str, to: str) -> Forgery:
    """What was recorded of one case is put in the place of another one's."""

    def forge(reports: Reports) -> Document:
        report = reports.wrong
        for case in bad(report):
            if case["id"] == to:
                case.update({**copy.deepcopy(case_of(reports.good, source)), "id": to})
        return done(without_bad(report))

    return forge


def another_suite(**suite: str) -> Forgery:
    """Another suite is said to have made the report, of which one passing MUST is left."""

    def forge(reports: Reports) -> Document:
        report = reports.wrong
        report["suite"].update(suite)
        report["cases"] = [case_of(report, BAD)]
        report["planned"] = {"R1": 1}
        return done(report)

    return forge


def masked(reports: Reports) -> Document:
    """What was wrong in the answers is said to be a secret."""
    report = reports.wrong
    report["target"]["headers"].append(["X-Secret", "******"])
    for case in bad(report):
        for exchange in case["exchanges"]:
            data = kept(exchange["response"])
            head, _, body = data.partition(b"\r\n\r\n")
            exchange["response"] = base64.b64encode(head + b"\r\n\r\n" + b"*" * len(body)).decode()
    return passed(report)


def revived(reports: Reports) -> Document:
    """The canary of the case that killed a model is a good one; its victims stay as they are."""
    report = reports.deadly
    good = {e["purpose"]: e for c in reports.good["cases"] for e in c["exchanges"]}
    hosts = [r["target"]["host"].encode() for r in (reports.good, report)]
    for case in bad(report):
        for number, exchange in enumerate(case["exchanges"]):
            if exchange["purpose"].startswith("canary"):
                other = copy.deepcopy(good[exchange["purpose"]])
                other["request"] = edited(other["request"], *hosts)
                case["exchanges"][number] = other
        if case["outcome"] == "fail":
            case.update(outcome="pass", cause={"kind": "rejected", "status": 400}, message="")
    return done(report)


def absent_model(role: str, case: str) -> Forgery:
    """A model is said to be absent, and its case to be excused by that."""

    def forge(reports: Reports) -> Document:
        report = reports.good
        del report["target"]["models"][role]
        report["target"]["absent"][role] = "no such model"
        cause = {"kind": "role_absent", "role": role, "reason": "no such model"}
        case_of(report, case).update(outcome="unsupported", cause=cause, message="", exchanges=[])
        return done(report)

    return forge


def renamed(reports: Reports) -> Document:
    report = reports.wrong
    for number, case in enumerate(bad(report)):
        case.update(id=f"{case['id']}+members-reversed" if number % 2 else f"Z9/{number}")
        case.update(outcome="unsupported", exchanges=[])
    return done(report)


def twice(reports: Reports) -> Document:
    report = reports.wrong
    for case in bad(report):
        report["cases"][report["cases"].index(case)] = case_of(report, BAD)
    return done(report)


def relabeled_claims(report: Document, *profiles: str) -> Document:
    """Only these profiles are claimed, so that the rest is excused."""
    report["target"]["profiles"] = list(profiles)
    cause = {"kind": "profile_not_claimed", "profile": "binary"}
    for case in bad(report):
        case.update(outcome="unsupported", cause=cause, message="", exchanges=[])
    return done(report)


def fixed_status(reports: Reports) -> Document:
    """Only the status of the answers is put right."""
    report = reports.deadly
    for case in bad(report):
        for exchange in case["exchanges"]:
            exchange["response"] = edited(exchange["response"], b" 500 ", b" 200 ")
    return passed(report)


FORGERIES: Mapping[str, Forgery] = {
    # Another suite
    "another version": another_suite(version="9.9.9"),
    "an older version": another_suite(version="0.0.1"),
    "another catalogue": another_suite(catalogue="0123456789abcdef"),
    "no catalogue": another_suite(catalogue=""),
    "another version of the catalogue": suite(catalogue_version="9.9.9"),
    # The plan
    "failures left out": lambda r: done(without_bad(r.wrong)),
    "an empty plan": lambda r: done({**without_bad(r.wrong), "planned": {}}),
    "large cases for failures": large_for_bad,
    "large cases for failures, asked for": lambda r: large_for_bad(r, large=True),
    "a selection that matches what passed": lambda r: done(
        {**without_bad(r.wrong), "selection": {"patterns": ["R1"]}}
    ),
    "a selection that matches nothing": changed("wrong", "selection", to={"patterns": ["nope"]}),
    "failures renamed": renamed,
    "passing cases twice": twice,
    "a passing case under the id of a failure": copied(MORE, GOOD),
    "a passing case of another model": copied(FLOAT, GOOD),
    "what is observed left out": lambda r: done(without_bad(r.untyped)),
    # Levels, outcomes and causes
    "failures are MAY": each_bad({"level": "MAY"}),
    "failures are SHOULD": each_bad({"level": "SHOULD"}),
    "failures are disputed by level": each_bad({"level": "DISPUTED"}),
    "failures are derived": each_bad({"basis": "derived"}),
    "failures are of another requirement": each_bad({"requirement": "L1", "level": "SHOULD"}),
    "failures are of another profile": each_bad({"profile": "raw"}),
    "failures pass": lambda r: passed(r.wrong),
    "failures are disputed": each_bad({"outcome": "disputed"}),
    "failures are unsupported": each_bad({"outcome": "unsupported"}),
    "failures were not sent": each_bad(
        {
            "outcome": "unsupported",
            "cause": {"kind": "profile_not_claimed", "profile": "raw"},
            "exchanges": [],
        }
    ),
    "the datatypes of failures": lambda r: unsupported(r.wrong),
    "failures are of no usable model": each_bad(
        {"outcome": "not_run", "cause": {"kind": "no_usable_model"}, "exchanges": []}
    ),
    "other contents": each_bad({"content": "0123456789abcdef"}),
    "other reasons": each_bad({"why": "Because."}),
    "another source": each_bad({"cite": [CITED]}),
    "what is observed passes": lambda r: passed(r.untyped),
    "what is observed is unsupported": each_of(
        "untyped", "R2/observed", {"outcome": "unsupported"}
    ),
    "the causes of what is unsupported": without_cause,
    "a passing case is expected to fail": sealed_only(
        "good", lambda r: case_of(r, BAD).update(expected={"reason": "known"})
    ),
    # Claims
    "everything but BOOL is unsupported": lambda r: unsupported(
        r.wrong, *(DATATYPES.keys() - {"BOOL"})
    ),
    "everything is unsupported": lambda r: unsupported(r.wrong, *DATATYPES),
    "INT32 is unsupported": lambda r: unsupported(r.wrong, "INT32"),
    "the profile binary is unsupported": lambda r: unsupported(r.wrong, "binary"),
    "nobody knows what is unsupported": lambda r: unsupported(r.wrong, "FP99"),
    "no profiles": lambda r: relabeled_claims(r.wrong),
    "only the profile raw": lambda r: relabeled_claims(r.wrong, "raw"),
    "an unknown profile": target("good", profiles=["binary", "rav"]),
    "a profile more": target("good", profiles=["binary", "raw"]),
    "a profile twice": target("good", profiles=["binary", "binary"]),
    "a profile both ways": target("good", profiles=["binary", "raw"], unsupported=["raw"]),
    "every coding of a profile": target(
        "good", profiles=["binary", "compression"], unsupported=["gzip", "deflate"]
    ),
    # The server
    "the server's name": server(name="Other Server"),
    "the server's name, masked in part": changed(
        "good",
        "target",
        to=lambda said: {
            **said,
            "masked": True,
            "server": {**said["server"], "name": "Other Server ******"},
        },
    ),
    "the server's version": server(version="99.0"),
    "the server's extensions": server(extensions=["binary_tensor_data", "other"]),
    "no extensions": server(extensions=[]),
    "the URL": target("good", url="http://example.com:8000"),
    "the URL and the host": target("good", url="http://example.com", host="example.com"),
    "the host": target("good", host="example.com"),
    "the path of the URL": changed("good", "target", "url", to=lambda url: url + "/prefix"),
    "a URL with a query": changed("good", "target", "url", to=lambda url: f"{url}/?q=1"),
    "a URL without a host": changed("good", "target", "url", to="http://"),
    "no HTTP": changed("good", "target", "url", to=lambda url: url.replace("http", "ftp")),
    "HTTPS": changed("good", "target", "url", to=lambda url: url.replace("http", "https")),
    "an optional model is absent": absent_model("cube/FP64", CUBE),
    "a needed model is absent": absent_model("identity/FP32", FLOAT),
    "a model is another one": changed(
        "good", "target", "models", "identity/FP32", to=lambda m: {**m, "model": "identity_int32"}
    ),
    "a tensor is another one": changed(
        "good", "target", "models", "identity/FP32", to=lambda m: {**m, "outputs": ["OTHER"]}
    ),
    "the version of a model": changed(
        "good", "target", "models", "identity/FP32", to=lambda m: {**m, "version": "7"}
    ),
    "no discovery": changed("good", "discovery", to=[]),
    "half of discovery": changed("good", "discovery", to=lambda asked: asked[:5]),
    "discovery in another order": changed("good", "discovery", to=lambda asked: asked[::-1]),
    "discovery edited": lambda r: done(
        json.loads(
            json.dumps(server(name="Other-conformance-reference")(r)).replace(
                r.good["discovery"][0]["response"],
                edited(
                    r.good["discovery"][0]["response"],
                    b"v2-conformance-reference",
                    b"Other-conformance-reference",
                ),
                1,
            )
        )
    ),
    # Canaries
    "a dead server looks calm": dead_but_calm,
    "a dead server looks calm from the start": lambda r: dead_but_calm(r, calibrated=True),
    "no calibration": changed("good", "calibration", to=[]),
    "calibration of another model": changed(
        "good", "calibration", to=lambda all: [{**one, "role": "identity/FP32"} for one in all]
    ),
    "calibration in another form": changed(
        "good", "calibration", to=lambda all: [{**one, "form": "json"} for one in all]
    ),
    "an empty calibration": changed(
        "good", "calibration", to=lambda all: [{**one, "exchanges": []} for one in all]
    ),
    "no canaries on the same connection": without_canaries("canary_same_connection"),
    "no canaries on a fresh connection": without_canaries("canary_fresh_connection", "deadly"),
    "the connection idle for a minute": without_canaries(
        "canary_same_connection", closed_before_ms=60_000.0
    ),
    "the connection closed": closed,
    "nothing sent": half_sent(lambda own: 0),
    "all but a byte sent": half_sent(lambda own: own["sent"] - 1),
    "the canary of another connection": without_canaries(
        "canary_same_connection",
        purpose="canary_same_connection",
        note="canary on the same connection",
    ),
    "a dead model revived": revived,
    "a dead model's victims left out": lambda r: done(without_bad(revived(r))),
    "the status put right": fixed_status,
    "canaries of another model": changed(
        "deadly",
        BAD,
        "exchanges",
        to=lambda own: [own[0], *({**e, "request": own[0]["request"]} for e in own[1:])],
    ),
    "a canary marked as the case's own": changed(
        "left", BAD, "exchanges", to=lambda own: [{**own[-1], "purpose": "case", "note": ""}]
    ),
    "a cause that blames what is no case": blaming,
    # Bytes
    "the requests of another run": of_good,
    "all canaries of another run": lambda r: of_good(r, BAD),
    "wrong bytes masked": masked,
    "a sample of another case": lambda r: passed(
        with_exchanges(r.mixed, MIXED, case_of(r.mixed, GOOD)["exchanges"])
    ),
    "the sample kept, the failure not": lambda r: passed(r.mixed),
    "a response cut": changed(
        "good", GOOD, "exchanges", to=lambda own: [{**own[0], "response": own[0]["response"][:80]}]
    ),
    "a request cut": changed(
        "good", GOOD, "exchanges", to=lambda own: [{**own[0], "request": own[0]["request"][:80]}]
    ),
    "exchanges of a case that sends none": lambda r: done(
        with_exchanges(r.good, "R2/observed", case_of(r.good, GOOD)["exchanges"])
    ),
    "a thousand exchanges": changed("good", GOOD, "exchanges", to=lambda own: own * 1000),
    # Generated requests
    "one generated request": generated(1),
    "one generated request, said to be all": generated(1, said=50),
    "no generated request": generated(0),
    "all but one": generated(49),
    "another number": generated(50, said=49),
    "a huge generated request": changed(
        "good", GENERATED, "exchanges", to=lambda all: [huge(all[0]), *all[1:]]
    ),
    "generated requests without a model": each_of(
        "good",
        GENERATED,
        {"outcome": "not_run", "cause": {"kind": "no_usable_model"}, "exchanges": []},
    ),
    # Times, notes, totals
    "the first byte after the end": changed(
        "good", GOOD, "exchanges", to=lambda own: [{**own[0], "first_byte_ms": 1e6}]
    ),
    "an exchange longer than its case": changed(
        "good", GOOD, "exchanges", to=lambda own: [{**own[0], "duration_ms": 1e6}]
    ),
    "no first byte": changed(
        "good", GOOD, "exchanges", to=lambda own: [{**own[0], "first_byte_ms": None}]
    ),
    "a note": changed("good", GOOD, "exchanges", to=lambda own: [{**own[0], "note": "All right."}]),
    "the note of a sample": changed(
        "good", MIXED, "exchanges", to=lambda own: [{**own[0], "note": "one of 9, 900 at a time"}]
    ),
    "a start that is no time": changed("good", "started", to="yesterday"),
    "a start in the future": changed("good", "started", to="9999-01-01T00:00:00+00:00"),
    "a start beyond all years": changed("good", "started", to="9999-12-31T23:59:59-23:59"),
    "a start before the protocol": changed("good", "started", to="1970-01-01T00:00:00+00:00"),
    "an end in the future": changed("good", "duration_s", to=1e9),
    "an end beyond all years": changed("good", "duration_s", to=1e308),
    "a run shorter than an exchange": slow,
    "a start without a zone": changed("good", "started", to="2026-01-02T03:04:05"),
    "no digest": sealed_only("good", lambda r: r.pop("integrity")),
    "only the verdict": sealed_only(
        "wrong",
        lambda r: r["verdict"].update(conformant=True, robust=True, reasons=[], warnings=[]),
    ),
    "only the words of the verdict, of another build": said_by_another_build,
    "fewer reasons": sealed_only("wrong", lambda r: r["verdict"]["reasons"].pop()),
    "only the rows": sealed_only(
        "wrong", lambda r: [row.update(outcome="pass") for row in r["requirements"]]
    ),
    "rows twice": sealed_only("good", lambda r: r["requirements"].append(r["requirements"][0])),
    "no rows": sealed_only("wrong", lambda r: r["requirements"].clear()),
    "only the totals": sealed_only(
        "wrong", lambda r: [row.update(cases={"pass": 1}) for row in r["requirements"]]
    ),
}


def test_the_suite_of_these_tests_can_be_passed(reports: Reports, tmp_path: Path) -> None:
    for name in ("good", "large"):
        found = verified(reports[name], tmp_path)
        assert found.exit_code == 0, words_of(found)
        assert found.verdict.conformant
    assert case_of(reports.good, RAW)["outcome"] == "unsupported"


@pytest.mark.parametrize("name", [*RUNS, "less", "stopped"])
@pytest.mark.long
def test_what_is_forged_here_holds_before(name: str, reports: Reports, tmp_path: Path) -> None:
    found = verified(reports[name], tmp_path)
    assert found.exit_code == 0, words_of(found)
    assert found.verdict.conformant is (name in ("good", "untyped") and not bad(reports[name]))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_never_certified(name: str, reports: Reports, tmp_path: Path) -> None:
    forged = FORGERIES[name](reports)
    assert forged is not None
    found = verified(forged, tmp_path)
    text = words_of(found)
    assert found.exit_code in (1, 2), text
    reasons = ("EDITED", "DIFFERS", "not judged again", "cannot be shown", "cannot be confirmed")
    assert any(reason in text for reason in reasons)


@pytest.mark.parametrize(
    "forge",
    [
        lambda r: done({**r.wrong, "cases": without_bad(r.wrong)["cases"]}),
        changed("stopped", "complete", to=True),
    ],
    ids=["failures left out", "a stopped run said to be whole"],
)
def test_what_is_left_out_of_the_plan_blocks_the_verdict(
    forge: Forgery, reports: Reports, tmp_path: Path
) -> None:
    forged = forge(reports)
    assert forged is not None
    found = verified(forged, tmp_path)
    assert not found.verdict.conformant
    assert "cases were left out" in " ".join(found.verdict.reasons)


# What is no report at all


def _places(document: Any) -> Iterator[Document]:
    """Every object of a document, one of each kind."""
    yield document
    for name in ("suite", "target", "verdict", "integrity"):
        yield document[name]
    yield document["target"]["server"]
    yield document["target"]["models"]["identity/FP32"]
    yield document["requirements"][0]
    yield document["requirements"][0]["cite"][0]
    yield document["calibration"][0]
    yield document["discovery"][0]
    case = case_of(document, BAD)
    yield from (case, case["cause"], case["exchanges"][0])


def test_a_member_that_no_report_has_is_refused(reports: Reports, tmp_path: Path) -> None:
    count = len(list(_places(reports.good)))
    for number in range(count):
        report = reports.good
        list(_places(report))[number]["more"] = 1
        path = tmp_path / "report.json"
        path.write_text(json.dumps(report))
        with pytest.raises(ReportFileError, match="more") as refused:
            verify(path, SMALL)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("member", ["suite", "verdict", "outcome", "response", "name", "digest"])
def test_a_member_that_is_there_twice_is_refused(
    member: str, reports: Reports, tmp_path: Path
) -> None:
    text = json.dumps(reports.good)
    key = f'"{member}": '
    path = tmp_path / "report.json"
    path.write_text(text.replace(key, f'{key}"hidden", {key}', 1))
    with pytest.raises(ReportFileError, match=f"it has a member twice: {member}") as refused:
        verify(path, SMALL)
    assert "\n" not in str(refused.value)
