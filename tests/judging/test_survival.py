"""What surrounds a case: whether it is sent, whether it needs a canary, what a canary says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import msgspec
import pytest

from support.cases import REJECT, binding, make_case, make_get
from support.responses import exchange_of, http
from v2_conformance.judging.learning import unknown_model
from v2_conformance.judging.survival import (
    Claims,
    answers_differ,
    needs_canary,
    skipped,
    stale,
    surplus,
    survived,
    without_count,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, SeveralWrong
from v2_conformance.suite.causes.kinds import (
    Accepted,
    BytesAfterResponse,
    DatatypesUnsupported,
    ModelVersionUnknown,
    NoResponse,
    ProfileNotClaimed,
    RoleAbsent,
    TimedOut,
    WrongStatus,
)
from v2_conformance.suite.library import generated_case
from v2_conformance.suite.models import TensorSpec
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Ending

INT32 = "identity/INT32"
CASE = make_case()
WRONG = WrongStatus("200", 503, "no")
OTHER = BytesAfterResponse(2)
SILENT = NoResponse("closed", "the server closed the connection")


def claims(*profiles: str, unsupported: frozenset[str] = frozenset()) -> Claims:
    return Claims(("binary", *profiles), unsupported, {INT32: binding()}, {"mixed": "no \x1bmodel"})


# Whether a case is sent.


def test_a_profile_that_is_not_claimed_or_declared_unsupported_is_unsupported() -> None:
    raw = replace(CASE, profile="raw")
    expected = Verdict(Outcome.UNSUPPORTED, ProfileNotClaimed("raw"))
    assert skipped(raw, claims()) == expected
    assert skipped(raw, claims("raw")) is None
    assert skipped(raw, claims("raw", unsupported=frozenset({"raw"}))) == expected


def test_the_profiles_of_models_and_codings_have_to_be_claimed_as_well() -> None:
    unclaimed = partial(Verdict, Outcome.UNSUPPORTED)
    bf16 = make_case(model="identity/BF16", encoding="gzip")
    assert skipped(bf16, claims("compression")) == unclaimed(ProfileNotClaimed("bf16"))
    assert skipped(bf16, claims("bf16")) == unclaimed(ProfileNotClaimed("compression"))
    after_raw = replace(CASE, first=make_case(model="raw/fixed"))
    assert skipped(after_raw, claims()) == unclaimed(ProfileNotClaimed("raw"))


def test_datatypes_that_are_declared_unsupported_are_named_in_order() -> None:
    without = claims(unsupported=frozenset({"UINT32", "BOOL", "FP64"}))
    found = skipped(replace(CASE, model="mixed"), without)
    assert found == Verdict(Outcome.UNSUPPORTED, DatatypesUnsupported(("BOOL", "UINT32")))
    assert skipped(make_get("/v2"), without) is None


def test_a_role_that_is_absent_is_not_run_and_has_its_reason() -> None:
    mixed = skipped(replace(CASE, model="mixed"), claims())
    assert mixed == Verdict(Outcome.NOT_RUN, RoleAbsent("mixed", "no \\x1bmodel"))
    unknown = skipped(replace(CASE, model="identity/INT8"), claims())
    assert unknown == Verdict(Outcome.NOT_RUN, RoleAbsent("identity/INT8", "no such model"))


def test_a_version_in_the_url_needs_one_that_the_server_lists() -> None:
    case = replace(CASE, variations=("versioned-path",))
    verdict = skipped(case, claims())
    assert verdict == Verdict(Outcome.UNSUPPORTED, ModelVersionUnknown(INT32))
    known = {INT32: replace(binding(), version="1")}
    assert skipped(case, replace(claims(), present=known)) is None


def test_a_request_beside_it_needs_a_version_that_the_server_lists_as_well() -> None:
    beside = replace(CASE, model="identity/BYTES", variations=("versioned-path",))
    case = replace(CASE, members=(beside,))
    present = {INT32: replace(binding(), version="1"), "identity/BYTES": binding()}
    verdict = skipped(case, replace(claims(), present=present))
    assert verdict == Verdict(Outcome.UNSUPPORTED, ModelVersionUnknown("identity/BYTES"))


def test_a_role_that_is_optional_and_absent_blocks_nothing_and_has_its_reason() -> None:
    trio = skipped(replace(CASE, model="trio"), claims())
    assert trio == Verdict(Outcome.UNSUPPORTED, RoleAbsent("trio", "no such model"))


# What an exchange costs and means.


@pytest.mark.parametrize(
    ("request_size", "response_size", "expected"),
    [(0, 0, 0), (1000, 32_000 + 65_536, 0), (1000, 32_000 + 65_536 + 7, 7)],
)
def test_surplus_of_an_answer(request_size: int, response_size: int, expected: int) -> None:
    done = exchange_of(bytes(response_size), request=bytes(request_size))
    assert surplus(done) == expected
    assert surplus(done, answer=response_size) == 0


@pytest.mark.parametrize(
    ("reused", "received", "ending", "expected"),
    [
        (True, b"", Ending.CLOSED, True),
        (True, b"", Ending.RESET, True),
        (False, b"", Ending.CLOSED, False),
        (True, b"H", Ending.CLOSED, False),
        (True, b"", Ending.TIMEOUT, False),
    ],
)
def test_only_a_kept_connection_that_ends_without_a_byte_is_stale(
    reused: bool, received: bytes, ending: Ending, expected: bool
) -> None:
    assert stale(exchange_of(received, ending, reused=reused)) is expected


@pytest.mark.parametrize(
    ("reused", "status", "expected"), [(True, 408, True), (False, 408, False), (True, 400, False)]
)
def test_late_408_is_about_before(reused: bool, status: int, expected: bool) -> None:
    came = exchange_of(http(b'{"error": "no request came"}', status), Ending.COMPLETE)
    assert stale(msgspec.structs.replace(came, reused=reused)) is expected


# One verdict on several exchanges.


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (None, None),
        (WRONG, WRONG),
        (SeveralWrong(2, 20, WRONG), WRONG),
        (
            DidNotSurvive(None, OTHER, SeveralWrong(2, 20, WRONG), case_passed=False),
            DidNotSurvive(None, OTHER, WRONG, case_passed=False),
        ),
        (
            DidNotSurvive(None, OTHER, None, case_passed=True),
            DidNotSurvive(None, OTHER, None, case_passed=True),
        ),
    ],
)
def test_cause_without_its_count(cause: Cause | None, expected: Cause | None) -> None:
    assert without_count(cause) == expected


# Survival.


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
        (Verdict(Outcome.PASS, Accepted()), True),
        (Verdict(Outcome.FAIL, WRONG), False),
        (Verdict(Outcome.INCONCLUSIVE, TimedOut(1.0, 0, "in time")), False),
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
