"""What surrounds a case: whether it is sent, what known-good requests and learned models show."""

from __future__ import annotations

import gzip
from dataclasses import replace

import msgspec
import pytest

from support.cases import REJECT, binding, make_case, make_get
from support.responses import exchange_of, http
from v2_conformance.judging.claims import Claims, answers_differ, skipped
from v2_conformance.judging.extension import Tried
from v2_conformance.judging.known_good import with_rounding
from v2_conformance.judging.learning import lost_digits, unknown_model
from v2_conformance.judging.survival import needs_canary, stale, surplus, survived
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import from_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, SeveralWrong
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.models import TensorSpec
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.rejudge import without_count
from v2_conformance.wire.encode.deployment import Address, DeployedModel, Tolerance
from v2_conformance.wire.encode.requests import Prepared, prepare
from v2_conformance.wire.response import Ending, Response

INT32 = "identity/INT32"
CASE = make_case()
WRONG = kinds.WrongStatus("200", 503, "no")
OTHER = kinds.BytesAfterResponse(2)
SILENT = kinds.NoResponse("closed", "the server closed the connection")


def claims(*profiles: str, unsupported: frozenset[str] = frozenset()) -> Claims:
    return Claims(("binary", *profiles), unsupported, {INT32: binding()}, {"mixed": "no \x1bmodel"})


# Whether a case is sent.


RAW = replace(CASE, profile="raw")
BF16 = make_case(model="identity/BF16", encoding="gzip")
VERSIONED = replace(CASE, variations=("versioned-path",))
BESIDE = replace(VERSIONED, members=(replace(VERSIONED, model="identity/BYTES"),))
WITHOUT = claims(unsupported=frozenset({"UINT32", "BOOL", "FP64"}))
LISTED = {INT32: replace(binding(), version="1"), "identity/BYTES": binding()}
WITH_VERSION = replace(claims(), present=LISTED)
MIXED = replace(CASE, model="mixed")


@pytest.mark.parametrize(
    ("case", "claimed", "outcome", "cause"),
    [
        (RAW, claims(), Outcome.UNSUPPORTED, kinds.ProfileNotClaimed("raw")),
        (RAW, claims("raw"), None, None),
        (RAW, claims("raw", unsupported=frozenset({"raw"})), Outcome.UNSUPPORTED,
         kinds.ProfileNotClaimed("raw")),
        (BF16, claims("compression"), Outcome.UNSUPPORTED, kinds.ProfileNotClaimed("bf16")),
        (BF16, claims("bf16"), Outcome.UNSUPPORTED, kinds.ProfileNotClaimed("compression")),
        (replace(CASE, first=make_case(model="raw/fixed")), claims(), Outcome.UNSUPPORTED,
         kinds.ProfileNotClaimed("raw")),
        (MIXED, WITHOUT, Outcome.UNSUPPORTED, kinds.DatatypesUnsupported(("BOOL", "UINT32"))),
        (make_get("/v2"), WITHOUT, None, None),
        (MIXED, claims(), Outcome.NOT_RUN, kinds.RoleAbsent("mixed", "no \\x1bmodel")),
        (replace(CASE, model="identity/INT8"), claims(), Outcome.NOT_RUN,
         kinds.RoleAbsent("identity/INT8", "no such model")),
        (replace(CASE, model="trio"), claims(), Outcome.UNSUPPORTED,  # which is optional
         kinds.RoleAbsent("trio", "no such model")),
        (VERSIONED, claims(), Outcome.UNSUPPORTED, kinds.ModelVersionUnknown(INT32)),
        (VERSIONED, WITH_VERSION, None, None),
        (BESIDE, WITH_VERSION, Outcome.UNSUPPORTED, kinds.ModelVersionUnknown("identity/BYTES")),
    ],
)  # fmt: skip
def test_a_case_is_sent_if_all_that_it_needs_is_claimed_and_there(
    case: Case, claimed: Claims, outcome: Outcome | None, cause: Cause | None
) -> None:
    expected = None if outcome is None else Verdict(outcome, cause)
    assert skipped(case, claimed) == expected


@pytest.mark.parametrize(
    ("request_size", "response_size", "expected"),
    [(0, 0, 0), (1000, 32_000 + 65_536, 0), (1000, 32_000 + 65_536 + 7, 7)],
)
def test_surplus_of_an_answer(request_size: int, response_size: int, expected: int) -> None:
    done = exchange_of(bytes(response_size), request=bytes(request_size))
    assert surplus(done) == expected
    assert surplus(done, answer=response_size) == 0


def test_unpacked_bytes_of_an_answer_are_surplus() -> None:
    packed = http(gzip.compress(bytes(1 << 20)), 200, ("Content-Encoding", "gzip"))
    needed = 32_000 + 65_536
    assert surplus(exchange_of(packed, request=bytes(1000))) == (1 << 20) + len(packed) - needed


LATE = http(b'{"error": "no request came"}', 408)


@pytest.mark.parametrize(
    ("reused", "received", "ending", "expected"),
    [
        (True, b"", Ending.CLOSED, True),
        (True, b"", Ending.RESET, True),
        (False, b"", Ending.CLOSED, False),
        (True, b"H", Ending.CLOSED, False),
        (True, b"", Ending.TIMEOUT, False),
        (True, LATE, Ending.COMPLETE, True),
        (False, LATE, Ending.COMPLETE, False),
        (True, http(b"", 400), Ending.COMPLETE, False),
    ],
)
def test_only_a_kept_connection_that_ends_without_a_byte_or_with_408_is_stale(
    reused: bool, received: bytes, ending: Ending, expected: bool
) -> None:
    assert stale(exchange_of(received, ending, reused=reused)) is expected


def test_a_cause_without_its_count() -> None:
    several = SeveralWrong(2, 20, WRONG)
    assert without_count(None) is None
    assert without_count(WRONG) == without_count(several) == WRONG
    died = DidNotSurvive(None, OTHER, several, case_passed=False)
    assert without_count(died) == DidNotSurvive(None, OTHER, WRONG, case_passed=False)
    survived_it = DidNotSurvive(None, OTHER, None, case_passed=True)
    assert without_count(survived_it) == survived_it


@pytest.mark.parametrize(
    ("case", "outcome", "expected"),
    [
        (CASE, Outcome.PASS, False),
        (CASE, Outcome.FAIL, True),
        (CASE, Outcome.INCONCLUSIVE, True),
        (CASE, Outcome.DISPUTED, False),
        (make_case(REJECT), Outcome.PASS, True),
        (replace(CASE, expect={"outcome": "either"}), Outcome.PASS, True),
        (replace(CASE, canary="json"), Outcome.PASS, True),
        (make_get("/v2"), Outcome.FAIL, False),
        (generated_case(), Outcome.FAIL, False),
    ],
)
def test_a_canary_follows_what_may_have_hurt(case: Case, outcome: Outcome, expected: bool) -> None:
    assert needs_canary(case, outcome) is expected


@pytest.mark.parametrize(
    ("verdict", "case_passed"),
    [
        (Verdict(Outcome.PASS), True),
        (Verdict(Outcome.PASS, kinds.Accepted()), True),
        (Verdict(Outcome.FAIL, WRONG), False),
        (Verdict(Outcome.INCONCLUSIVE, kinds.TimedOut(1.0, 0, "in time")), False),
    ],
)
@pytest.mark.parametrize(("same", "fresh"), [(OTHER, None), (None, SILENT), (OTHER, SILENT)])
def test_a_failed_canary_keeps_the_verdict_of_the_case(
    verdict: Verdict, case_passed: bool, same: Cause | None, fresh: Cause | None
) -> None:
    found = survived(msgspec.structs.replace(verdict, sent="sent"), same, fresh)
    cause = DidNotSurvive(same, fresh, verdict.cause, case_passed)
    assert found == Verdict(Outcome.FAIL, cause, "sent")


@pytest.mark.parametrize(("output", "named"), [("scores", True), ("label", False), ("", False)])
def test_a_tolerance_is_named_only_if_floats_differ(output: str, named: bool) -> None:
    outputs = [TensorSpec("scores", "FP32", (3,)), TensorSpec("label", "INT64", (1,))]
    model = unknown_model("classifier", outputs, outputs, ())
    assert ("--rtol" in describe(answers_differ(model, output))) is named


def written(datatype: str, *values: float) -> list[Tensor]:
    return [Tensor("OUT", datatype, (len(values),), from_values(datatype, values))]


@pytest.mark.parametrize(
    ("tensors", "rtol"),
    [
        (written("FP32", 1.29688, -0.5, 3.40282e38), 1e-5),
        (written("FP64", 0.1, 0.333333), 1e-5),
        (written("FP64", 0.333333333333333), 1e-14),
        (written("FP32", 0.5) + written("FP64", 1 / 3), 1e-5),
        (written("FP32", 3.4028234663852886e38), None),
        (written("FP64", float("inf")), None),
        (written("INT32", 5), None),
        ([], None),
    ],
)
def test_blobs_may_differ_by_digits_that_json_lacks(
    tensors: list[Tensor], rtol: float | None
) -> None:
    found = lost_digits(tensors)
    assert (None if found is None else found.rtol) == (
        None if rtol is None else pytest.approx(rtol)
    )


def prepared(datatype: str) -> Prepared:
    name = f"P2/blob-follows-json[{datatype}]"
    case = next(one for one in suite_cases() if one.id == name)
    assert isinstance(case, RequestCase)
    role = f"identity/{datatype}"
    return prepare(case, Address("h", ""), DeployedModel(role, "m", ("INPUT0",), ("OUTPUT0",), "1"))


def test_only_floats_may_be_rounded_and_a_given_tolerance_stays() -> None:
    integers, floats = prepared("INT32"), prepared("FP32")
    assert with_rounding(integers) == integers
    rounded = with_rounding(floats)
    assert all(one.tolerance is not None for one in rounded.expected)
    given = tuple(
        msgspec.structs.replace(one, tolerance=Tolerance(atol=5.0)) for one in floats.expected
    )
    tolerant = msgspec.structs.replace(floats, expected=given)
    assert with_rounding(tolerant) == tolerant


def test_metadata_that_is_no_json_leaves_it_open() -> None:
    def leaves_open(response: Response | None) -> bool:
        return Tried("P1", Outcome.FAIL, None, [(b"", response)]).leaves_open

    json, page = (Response(200, (), body, "content-length", 0) for body in (b"{}", b"<p>"))
    assert not leaves_open(json)
    assert leaves_open(page)
    assert leaves_open(msgspec.structs.replace(json, status=404))
    assert leaves_open(None)
