"""Reports made by hand, and changes of report files."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from support.responses import answer, message_with, sized, v2
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.report.bodies import Streams
from v2_conformance.report.cause_patterns import read_pattern
from v2_conformance.report.document import CaseResult, OverallVerdict, Report, RequirementResult
from v2_conformance.report.expectations import Expectation
from v2_conformance.report.files import as_json_bytes, document_digest, load_report
from v2_conformance.report.tested import REPORT_FORMAT, SuiteInfo, TargetInfo
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import FirstDifference, describe
from v2_conformance.suite.causes.causes import CAUSES, Cause, FailedAtFirst
from v2_conformance.suite.library import digest
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.requirements import Requirement, catalogue, catalogue_version
from v2_conformance.version import judging_digest
from v2_conformance.wire.exchange import Body, Exchange, unsent
from v2_conformance.wire.response import Ending

Document = dict[str, Any]
"""report.json, or a part of it, as a JSON library reads it: for what no `Report` can be."""
_T = TypeVar("_T")

TODAY = date(2026, 6, 15)
KNOWN = {
    "H6/word[a]": "H6",
    "H6/word[b]": "H6",
    "H6/sign": "H6",
    "S1/size[a]": "S1",
    "S1/size[b]": "S1",
    "P4/type": "P4",
    "W1/raw": "W1",
}
"""The cases that expectations are tried with, each with its requirement."""

LENGTH = (b"\r\nContent-Length: ", 20)  # the last of three digits

_CAUSES: Mapping[Outcome, Cause] = {
    Outcome.FAIL: kinds.WrongStatus("200", 500, "no"),
    Outcome.FLAKY: FailedAtFirst(kinds.WrongStatus("200", 500, "no"), None),
    Outcome.DISPUTED: kinds.AnsweredInForm(("binary",)),
    Outcome.UNSUPPORTED: kinds.ProfileNotClaimed("raw"),
    Outcome.INCONCLUSIVE: kinds.TimedOut(20.0, 0, "no complete response in time"),
    Outcome.NOT_RUN: kinds.RoleAbsent("identity/INT32", "no such model"),
    Outcome.ERROR: kinds.SuiteError("ValueError: x", "judge.py:1"),
}
_ANY = Requirement("Z9", "1.0.0", "MUST", "text", "binary", "Any", "Anything.", ())


# Reports in JSON that has each message in its place


def inline(body: object) -> str:
    """The hook that encodes a message by itself."""
    assert isinstance(body, Body)
    return base64.b64encode(bytes(body)).decode()


def as_json(value: Any) -> str:
    """A part of a report, or all of it."""
    return as_json_bytes(value, inline).decode()


def from_json(text: str, kind: type[_T]) -> _T:
    """What `as_json` wrote."""
    return msgspec.json.decode(text, type=kind, dec_hook=Streams().body)


# Reports made by hand


def exchange(
    request: bytes = b"",
    response: bytes = b"",
    note: str = "",
    purpose: Purpose = Purpose.CASE,
    **members: Any,
) -> Exchange:
    """A whole exchange on a fresh connection, which stays open, unless `members` say otherwise."""
    usual = Exchange(
        purpose=purpose,
        note=note,
        request=Body(request),
        received=Body(response),
        ending=Ending.COMPLETE,
        detail="",
        sent=len(request),
        reused=False,
        open=True,
        first_byte_ms=1.25,
        duration_ms=2.5,
    )
    return msgspec.structs.replace(usual, **members)


def sent(document: str, blob: bytes = b"") -> tuple[Exchange]:
    """The exchange of a request with this JSON, and with a blob behind it."""
    head = f"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {len(document) + len(blob)}\r\n"
    head += f"{HEADER_LENGTH}: {len(document)}\r\n\r\n" if blob else "\r\n"
    return (unsent(f"{head}{document}".encode() + blob, Ending.COMPLETE),)


def case(
    case_id: str,
    outcome: str = "pass",
    message: str | None = None,
    *exchanges: Exchange,
    **members: Any,
) -> CaseResult:
    """A case; level, basis and profile are those of the requirement that its id begins with. Every
    outcome but a pass has some cause, and `message` is that in words, unless they are given."""
    came = Outcome(outcome)
    cause = members.pop("cause", _CAUSES.get(came))
    name = case_id.partition("/")[0]
    requirement = catalogue().get(name, _ANY)
    usual = {
        "id": case_id,
        "requirement": name,
        "profile": requirement.profile,
        "level": requirement.level,
        "blocks": _blocks({"level": requirement.level, "basis": requirement.basis, **members}),
        "basis": requirement.basis,
        "why": f"Why {name} is tested.",
        "content": "0123456789abcdef",
        "outcome": came,
        "cause": cause,
        "message": describe(cause) if message is None else message,
        "duration_ms": 1.5,
        "exchanges": exchanges,
    }
    return CaseResult(**{**usual, **members})


def _blocks(members: Mapping[str, Any]) -> str | None:
    blocks = "robust" if members["basis"] == "derived" else "conformant"
    return blocks if members["level"] == "MUST" else None


def row_of(**members: Any) -> RequirementResult:
    """A requirement of a report, a MUST that passed if nothing else is said."""
    usual: dict[str, Any] = {
        "level": "MUST",
        "blocks": _blocks({"level": "MUST", "basis": "text", **members}),
        "basis": "text",
        "outcome": Outcome.PASS,
        "cases": {},
        "title": "Title",
        "statement": "It must.",
        "follows": "",
        "note": "",
        "cite": (),
    }
    return RequirementResult(**{**usual, **members})


def causes_of_all_kinds() -> Iterator[Cause]:
    """One cause of each kind."""
    for kind, info in zip(CAUSES, msgspec.inspect.multi_type_info(CAUSES), strict=True):
        assert isinstance(info, msgspec.inspect.StructType)
        # A member that is as by default is left out of the report.
        yield kind(**{f.name: f.default is not True and _example(f.type) for f in info.fields})


def _example(of: msgspec.inspect.Type) -> Any:
    """Some value of a type of a cause's member."""
    match of:
        case msgspec.inspect.UnionType(types=types):
            return kinds.WrongStatus("200", 500, "no") if len(types) > 2 else _example(types[0])
        case msgspec.inspect.VarTupleType(item_type=item):
            return (_example(item),)
        case msgspec.inspect.StructType():
            return FirstDifference("OUT", "INT32", 3, 12, 40, "01", "00", "1", "0")
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType():
            return 7
        case msgspec.inspect.LiteralType(values=values):
            return values[0]
        case msgspec.inspect.FloatType():
            return 1.5
    return "text"


def passes(*others: CaseResult) -> list[CaseResult]:
    """`others`, and a case that passes for each requirement of the base profile without any."""
    there = {other.requirement for other in others}
    claimed = [r.id for r in catalogue().values() if r.profile == "binary"]
    return [*(case(f"{name}/plain[FP32]") for name in claimed if name not in there), *others]


def report_of(
    cases: Iterable[CaseResult] | None = None,
    *,
    outcomes: Mapping[str, str] | None = None,
    message: str | None = None,
    left_out: Collection[str] = (),
    planned: Mapping[str, int] | None = None,
    profiles: Collection[str] = ("binary",),
    server: tuple[str, str] = ("Server", "9.8.7"),
    extensions: Collection[str] = ("binary_tensor_data",),
    suite_version: str = "1.2.3",
    suite_catalogue: str | None = None,
    started: str = "2025-01-02T03:04:05+01:00",
    complete: bool = True,
    verdict: OverallVerdict | None = None,
    **target: Any,
) -> Report:
    """A report of `cases`, with the verdict that they amount to unless `verdict` is given.

    Without `cases` it has two for each requirement of the profiles, which pass, except that the
    second one of a requirement in `outcomes` has that outcome, and `message`. None of the cases of
    a requirement in `left_out` ran. The planned cases are those of the report and those left out,
    unless `planned` says otherwise. `target` are other members of `TargetInfo`.
    """
    names = [r.id for r in catalogue().values() if r.profile in profiles]
    if cases is None:
        cases = [c for name in names for c in _two(name, outcomes or {}, message, profiles)]
    ran = tuple(c for c in cases if c.requirement not in left_out)
    if planned is None:
        planned = Counter(c.requirement for c in ran) + Counter(dict.fromkeys(left_out, 2))
    tested = TargetInfo(
        url="http://server.example:8000",
        host="server.example:8000",
        headers=(),
        server=ServerInfo(*server, tuple(extensions)),
        profiles=tuple(profiles),
        unsupported=(),
        models={},
        absent={},
    )
    report = concluded(
        Report(
            suite=SuiteInfo(
                "v2-conformance",
                suite_version,
                suite_catalogue or digest(),
                REPORT_FORMAT,
                "" if suite_catalogue else catalogue_version(),
                judging_digest(),
            ),
            target=msgspec.structs.replace(tested, **target),
            started=started,
            duration_s=75.2,
            complete=complete,
            own=True,
            planned=dict(planned),
            verdict=OverallVerdict(False, False, (), ()),
            requirements=(),
            cases=ran,
        )
    )
    if verdict is not None:
        report = msgspec.structs.replace(report, verdict=verdict)
    assert from_json(as_json(report), Report) == report
    return report


def _two(
    name: str, outcomes: Mapping[str, str], message: str | None, profiles: Collection[str]
) -> Iterable[CaseResult]:
    level = catalogue()[name].level_for(profiles)
    for number, outcome in enumerate(("pass", outcomes.get(name, "pass")), 1):
        words = "" if outcome == "pass" else message
        yield case(f"{name}/case-{number}[INT32]", outcome, words, level=level)


def differing(offset: int, size: int = 4000, **members: Any) -> CaseResult:
    """A case that fails because the byte at `offset` of a blob of INT32 zeros came as 0x7f."""
    blob = bytearray(size)
    blob[offset] = 0x7F
    response = v2(answer(sized(size, shape=[size // 4])), bytes(blob))
    start = len(response.partition(b"\r\n\r\n")[2]) - size
    element = bytes(blob[offset - offset % 4 :][:4])
    found = FirstDifference(
        output="OUTPUT0",
        datatype="INT32",
        element=offset // 4,
        offset=offset,
        body_offset=start + offset,
        expected="00000000",
        got=element.hex(),
        expected_value="0",
        got_value=str(int.from_bytes(element, "little", signed=True)),
    )
    own = exchange(message_with(b"\x01\x02\x03\x04"), response)
    cause = kinds.WrongValue(found, elements=size // 4, differing=1)
    return case("D1/x[INT32]", "fail", None, own, cause=cause, **members)


def expectation(what: str, cause: object = None, **members: Any) -> Expectation:
    """An entry of an expectation file, for a requirement or a pattern of ids; `cause` is as a file
    has it."""
    named = (
        {"case": what} if "/" in what or "*" in what else {"requirements": tuple(what.split(", "))}
    )
    pattern = None if cause is None else read_pattern(cause)
    return Expectation(**{"line": 1, "cause": pattern, "reason": "known", **named, **members})


def saved(report: Report, path: Path) -> Path:
    """`report` in a file, with a page beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(report))
    path.with_suffix(".html").write_text("<!DOCTYPE html>")
    return path


# Report files that somebody changed


def document(report: Report) -> Document:
    """What a JSON library reads from the file of `report`."""
    found: Document = json.loads(as_json(report))
    return found


def read_document(path: Path) -> Document:
    """What a JSON library reads from a report.json, but with each message in its exchange, where
    those who forge one find it, and with the digest of that."""
    found = document(load_report(path))
    found["integrity"]["digest"] = document_digest(found)
    return found


def reconcluded(report: Document) -> None:
    """Replace verdict and requirements of a document by what its cases amount to."""
    report.pop("integrity", None)
    report.update(document(concluded(msgspec.convert(report, Report, dec_hook=Streams().body))))


def case_of(report: Document, name: str) -> Document:
    """The case with this id."""
    found: Document = next(case for case in report["cases"] if case["id"] == name)
    return found


def flipped(
    name: str, side: str, seam: bytes, after: int, number: int = 0
) -> Callable[[Document], None]:
    """A change: one bit of the byte `after` the start of `seam`, in one side of an exchange."""

    def change(report: Document) -> None:
        changed = case_of(report, name)["exchanges"][number]
        data = bytearray(base64.b64decode(changed[side]))
        data[data.index(seam) + after] ^= 1
        changed[side] = base64.b64encode(data).decode()

    return change
