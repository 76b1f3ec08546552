"""Right servers that behave otherwise than the reference server: nothing fails, nothing warns.

Each test meets a sample of the suite; with --whole-runs all of it (`tox -e variants`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests

from support.long_tests import sample
from support.runs import chosen, made, outcomes, results, said, target_of
from v2_conformance.protocol.names import HEADER_LENGTH, OPT_IN_PROFILES
from v2_conformance.runs.result import Result
from v2_conformance.runs.targets.readiness import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import Prepared, prepare
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer, mutated
from v2_mutants.variants import VARIANTS


@dataclass(frozen=True)
class Differs:
    """What does not pass against a variant.

    `declines` says which cases may be unsupported, as the server declines what they send. `warns`
    are the starts of ids of cases of level SHOULD that fail: the variant is legal, but not as
    servers should be. `reads` are those of malformed requests, of which it answers some, exactly.
    `meets` are those of slow cases that pass.
    """

    declines: Callable[[Case], bool] = lambda _: False
    warns: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    meets: tuple[str, ...] = ()


def sent(case: Case) -> Iterator[Prepared]:
    """Every request of a case, as the engine sends it."""
    if isinstance(case, RequestCase):
        target = Target("http://host:1")
        for one in (case, *case.others):
            yield prepare(one, target.address, replace(target.binding(one.model), version="1"))


def in_chunks(case: Case) -> bool:
    fields = {name for request in sent(case) for name, _ in request.request.head.fields}
    return "Transfer-Encoding" in fields


def large(case: Case) -> bool:
    return any(prepared.body_size > 2**16 for prepared in sent(case))


def in_a_name(case: Case) -> bool:
    """Return True if a request names no input of its model."""
    whole = repr((case.request, case.others)) if isinstance(case, RequestCase) else ""
    return "SUCH" in whole or case.id.startswith("J8/name-in-an-error")


def named(*starts: str) -> Callable[[Case], bool]:
    return lambda case: case.id.startswith(starts)


def varied(name: str) -> Callable[[Case], bool]:
    return lambda case: isinstance(case, RequestCase) and name in case.variations


FLOAT_CORNERS = tuple(
    f"D11/json-and-binary-agree[{datatype},binary-to-json,finite_extremes]"
    for datatype in ("FP32", "FP64")
)
DIFFERS = {
    **dict.fromkeys(
        (
            "closes-after-each-response",
            "http-1.0-responses",
            "http-1.0-responses-by-close",
            "length-by-close",
        ),
        Differs(declines=named("R8/observed")),  # no connection stays open
    ),
    **dict.fromkeys(
        ("metadata-with-more", "metadata-without-tensors"),
        Differs(declines=varied("versioned-path")),
    ),
    "header-length-without-blobs": Differs(declines=named("P9/observed[json_types]")),
    **dict.fromkeys(
        ("content-length-required", "content-length-required-by-gateway"),
        Differs(declines=lambda case: in_chunks(case) or case.id == "C1/observed"),
    ),
    "bodies-limited-by-gateway": Differs(declines=large, warns=("L1/",)),
    "bodies-over-a-mebibyte-refused": Differs(declines=large, warns=("L1/",)),
    "decoded-bodies-limited": Differs(declines=large, warns=("L1/",)),
    "expectations-refused": Differs(
        declines=lambda case: any(
            "Expect" in dict(request.request.head.fields) for request in sent(case)
        )
    ),
    "http-1.0-refused": Differs(
        declines=lambda case: "http-1.0" in getattr(case, "variations", ())
    ),
    "never-sends-continue": Differs(warns=("V2/observed",)),
    "never-compresses": Differs(
        declines=named("Z2/", "V3/long-answers-in-codings", "X1/pairs-in-coded-answers")
    ),
    "no-model-name": Differs(warns=("O20/model-name-sent",)),
    "no-empty-tensors": Differs(
        warns=tuple(f"E1/zero-elements-{way}" for way in ("accepted", "to-json", "all-in-json")),
        declines=named("E1/observed"),
    ),
    "data-before-blobs": Differs(warns=("S5/contradiction",)),
    "size-beyond-body-cut-by-shape": Differs(warns=("S2/size-against-shape-and-body[20]",)),
    "six-digit-floats": Differs(warns=FLOAT_CORNERS),
    "fifteen-digit-floats": Differs(warns=FLOAT_CORNERS[1:]),
    "no-negative-zero-in-json": Differs(
        warns=(
            *FLOAT_CORNERS,
            "D11/json-and-binary-agree[FP32,json-to-binary,finite",
            "D11/json-and-binary-agree[FP64,json-to-binary,finite",
            "D12/fp16-as-json[in,finite",
            "D12/fp16-as-json[out,finite",
        )
    ),
    "base64-for-other-bytes": Differs(warns=("B14/not-utf8-as-json",)),
    "space-around-json-refused": Differs(
        warns=tuple(f"P11/white-space-in-json[{pad}" for pad in ("leading", "trailing", "both"))
    ),
    "http-layer-with-errors-of-its-own": Differs(
        declines=lambda case: varied("many-fields")(case) or varied("long-field")(case),
        warns=(
            "V2/request-in-any-spelling[tabs-around-all-field-values]",
            "V2/request-in-any-spelling[empty-line-first]",
            "V2/request-in-any-spelling[absolute-form]",
            "V3/long-on-every-way[absolute",
        ),
        meets=("J8/model-in-an-error", "J9/"),
    ),
    "header-length-found-out": Differs(
        reads=("H3/", "H4/", "H5/", "H6/", "H7/", "H9/", "H10/"),
        warns=("H4/minus-zero", "H8/", "H12/", "H14/another-notation"),
    ),
    "sizes-found-out": Differs(
        reads=("S2/", "S6/", "S7/", "S12/", "S13/", "B6/", "B7/", "B9/"),
        warns=("S9/", "S10/fraction", "J4/wrong-type[second_size,string]"),
        declines=lambda case: case.id.endswith(("[short_size]", ",short_blob]")),
    ),
    "surplus-data-ignored": Differs(reads=("J1/",)),
    "only-input-by-any-name": Differs(declines=in_a_name),
    "raw-bodies-as-they-are": Differs(reads=("W9/", "W10/"), warns=("W10/empty-body",)),
    "last-of-two-members-counts": Differs(meets=("J3/member-twice",)),
    "first-of-two-members-counts": Differs(meets=("J3/member-twice",)),
    "ids-limited": Differs(
        warns=("V4/any-id-accepted", "V4/empty-id"),
        meets=("V4/", "P5/", "H1/", "P10/", "C7/", "O18/", "M7/"),
    ),
    "request-model-name-refused": Differs(meets=("V1/",)),
    "other-members-refused": Differs(meets=("V1/", "O15/")),
    "member-names-in-any-case": Differs(meets=("V1/",)),
    "integers-of-64-bits": Differs(meets=("D11/decimals-in",)),
    "sign-of-zero-lost": Differs(meets=("V1/negative-zero",)),
    "elements-coerced": Differs(meets=("J2/", "J10/")),
    "unknown-parameters-refused": Differs(meets=("V1/", "O15/")),
    "decoder-with-errors-of-its-own": Differs(
        warns=("V3/any-way-to-encode[gzip-in-members]",), meets=("Z5/",)
    ),
    "no-halves-in-json": Differs(meets=("V1/nested-data-beside-a-blob", "X1/")),
    "one-connection-at-a-time": Differs(meets=("C6/",)),
    "one-request-at-a-time": Differs(meets=("C6/",)),
    "mistakes-rate-limited": Differs(meets=("R3/refusals-in-a-row",)),
}
# Many pieces or bytes; only variants that treat these differently meet them in a sample.
SLOW = ("B12/", "C2/", "C3/", "C4/", "C6/", "J7/", "L1/", "M7/", "Z5/")
# What urllib3 and http.client cannot read, which is why the suite has a transport of its own.
BEYOND_AN_ORDINARY_CLIENT = {"many-fields", "interim-responses", "space-around-values"}


def cases_for(differs: Differs, *, whole: bool) -> Sequence[Case]:
    """All cases, or one of each entry, those that may not pass and those that are observed."""
    quick = {case.id: case for case in suite_cases() if not case.id.startswith(SLOW)}
    one_each = set({quick[name].template: name for name in sample(quick, 1)}.values())
    other = (*differs.warns, *differs.reads, *differs.meets)
    return [
        case
        for case in suite_cases()
        if whole
        or case.id in one_each
        or case.id.startswith(other)
        or differs.declines(case)
        or varied("expect-continue")(case)
        or varied("expect-continue-in-capitals")(case)
        or varied("http-1.0")(case)
    ]


def is_allowed(result: Result, differs: Differs) -> bool:
    case = result.case
    read = case.id.startswith(differs.reads) and not case.id.startswith(differs.warns)
    if read and result.outcome is Outcome.FAIL:
        return result.cause is not None and result.cause.lenient
    return result.outcome in allowed(case, differs)


def allowed(case: Case, differs: Differs) -> tuple[Outcome, ...]:
    if case.id.startswith(differs.warns):
        return (Outcome.FAIL,)
    usual = (Outcome.PASS, Outcome.DISPUTED)
    return (*usual, Outcome.UNSUPPORTED) if differs.declines(case) else usual


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_right_server_fails_nothing(
    variant: str, fresh_seed: int, pytestconfig: pytest.Config
) -> None:
    whole = pytestconfig.getoption("--whole-runs")
    for seed in (None, 1, fresh_seed) if whole else (fresh_seed,):
        fails_nothing(variant, seed, whole=whole)


def fails_nothing(variant: str, seed: int | None, *, whole: bool) -> None:
    differs = DIFFERS.get(variant, Differs())
    cases = cases_for(differs, whole=whole)
    with MutantServer(variants=[variant]) as server:
        target = replace(target_of(server.url, *OPT_IN_PROFILES, timeout=30), seed=seed)
        wait_until_ready(target)
        found = results(target, cases)
    wrong = {
        id: result.message or result.outcome
        for id, result in found.items()
        if not is_allowed(result, differs)
    }
    assert (seed, wrong) == (seed, {})
    failed = [result for result in found.values() if result.outcome is Outcome.FAIL]
    levels = {result.case.facts(OPT_IN_PROFILES, result.cause).level for result in failed}
    assert levels <= {"SHOULD", "MAY"}
    for start in differs.reads:
        assert any(result.case.id.startswith(start) for result in failed), start
    declined = [result for result in found.values() if result.outcome is Outcome.UNSUPPORTED]
    assert len(declined) < len(found) / 4


def test_under_forty_variants_and_more_everything_passes() -> None:
    assert DIFFERS.keys() <= VARIANTS.keys()
    other = {name for name, differs in DIFFERS.items() if not differs.meets}
    assert len(VARIANTS.keys() - other) >= 40


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_variant_hides_a_fault(variant: str) -> None:
    fault = FAULTS["request-blobs-off-by-one"]
    cases = [case for case in chosen(f"{fault.requirement}/") if not case.negative]
    with MutantServer([fault.name], variants=[variant]) as server:
        wait_until_ready(target_of(server.url, timeout=30))
        found = results(target_of(server.url, timeout=30), cases)
    assert Outcome.FAIL in outcomes(found).values()


@pytest.mark.parametrize("variant", sorted(VARIANTS.keys() - BEYOND_AN_ORDINARY_CLIENT))
def test_an_ordinary_client_understands_each_variant(variant: str) -> None:
    tensor = {"name": "INPUT0", "shape": [2], "datatype": "INT32", "data": [1, -2]}
    with MutantServer(variants=[variant]) as server, requests.Session() as session:
        wait_until_ready(target_of(server.url))
        assert "binary_tensor_data" in session.get(f"{server.url}/v2").json()["extensions"]
        url = f"{server.url}/v2/models/identity_int32/infer"
        asked = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
        answer = session.post(url, json=asked)
        end = int(answer.headers[HEADER_LENGTH])
        assert answer.content[end:] == b"\1\0\0\0\xfe\xff\xff\xff"
        (output,) = session.post(url, json={"inputs": [tensor]}).json()["outputs"]
        assert output["data"] == [1, -2]
        refused = session.post(url, json={"inputs": []})
        assert (refused.status_code // 100, type(refused.json()["error"])) == (4, str)


@pytest.mark.parametrize("backwards", [False, True])
def test_every_variant_composes_with_every_other_and_with_faults(backwards: bool) -> None:
    names = sorted(VARIANTS, reverse=backwards)
    assert mutated(sorted(FAULTS)[:5], variants=names).handle is not None


def test_what_a_server_declines_is_judged_again_from_its_bytes(tmp_path: Path) -> None:
    for variant in ("content-length-required", "bodies-limited-by-gateway"):
        cases = [*chosen("C1/", "B12/"), generated_case()]
        with MutantServer(variants=[variant]) as server:
            found, words = said(made(tmp_path, target_of(server.url), cases))
        assert (found.exit_code, "the verdict holds" in words) == (0, True), words
