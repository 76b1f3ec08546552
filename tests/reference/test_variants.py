"""Right servers that behave otherwise than the reference server: nothing fails, nothing warns.

Each meets the suite in memory, all but its heaviest cases; with --whole-runs (`tox -e variants`)
with three seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from support.memory import in_memory, run_in_memory
from support.runs import chosen
from v2_conformance.conversations.steps import Result
from v2_conformance.protocol.names import OPT_IN_PROFILES
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import Prepared, prepare
from v2_mutants.faults import FAULTS
from v2_mutants.variants import VARIANTS


@dataclass(frozen=True)
class Differs:
    """What does not pass against a variant.

    `declines` says which cases may be unsupported, as the server declines what they send. `warns`
    are the starts of ids of cases of level SHOULD that fail: the variant is legal, but not as
    servers should be. `reads` are those of malformed requests, of which it answers some, exactly.
    """

    declines: Callable[[Case], bool] = lambda _: False
    warns: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


def sent(case: Case) -> Iterator[Prepared]:
    """Every request of a case, as the engine sends it."""
    if isinstance(case, RequestCase):
        target = Target("http://host:1")
        for one in (case, *case.others):
            yield prepare(one, target.address, replace(target.binding(one.model), version="1"))


def has_field(name: str) -> Callable[[Case], bool]:
    return lambda case: any(name in dict(one.request.head.fields) for one in sent(case))


def needs_chunks(case: Case) -> bool:
    return has_field("Transfer-Encoding")(case) or case.id == "C1/observed"


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
    # No connection stays open.
    "closes-after-each-response": Differs(declines=named("R8/observed")),
    "http-1.0-responses": Differs(declines=named("R8/observed")),
    "http-1.0-responses-by-close": Differs(declines=named("R8/observed")),
    "length-by-close": Differs(declines=named("R8/observed")),
    "metadata-with-more": Differs(declines=varied("versioned-path")),
    "metadata-without-tensors": Differs(declines=varied("versioned-path")),
    "header-length-without-blobs": Differs(declines=named("P9/observed[json_types]")),
    "content-length-required": Differs(declines=needs_chunks),
    "content-length-required-by-gateway": Differs(declines=needs_chunks),
    "bodies-limited-by-gateway": Differs(declines=large, warns=("L1/",)),
    "bodies-over-a-mebibyte-refused": Differs(declines=large, warns=("L1/",)),
    "decoded-bodies-limited": Differs(declines=large, warns=("L1/",)),
    "expectations-refused": Differs(declines=has_field("Expect")),
    "http-1.0-refused": Differs(declines=varied("http-1.0")),
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
    "seven-digit-floats": Differs(warns=(FLOAT_CORNERS[0], "D11/decimals-out[FP32_9")),
    "fifteen-digit-floats": Differs(warns=(FLOAT_CORNERS[1], "D11/decimals-out[FP64_17")),
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
    ),
    "header-length-found-out": Differs(
        reads=("H3/", "H4/", "H5/", "H6/", "H7/", "H9/", "H10/"),
        warns=("H4/minus-zero", "H8/", "H12/", "H14/another-notation"),
    ),
    "sizes-found-out": Differs(
        reads=("S2/", "S6/", "S7/", "S12/", "S13/", "B6/prefix-past-the-declared-size", "B9/"),
        warns=("S9/", "S10/fraction", "J4/wrong-type[second_size,string]"),
        declines=lambda case: case.id.endswith(("[short_size]", ",short_blob]")),
    ),
    "surplus-data-ignored": Differs(reads=("J1/",)),
    "only-input-by-any-name": Differs(declines=in_a_name),
    "raw-bodies-as-they-are": Differs(reads=("W9/", "W10/"), warns=("W10/empty-body",)),
    "ids-limited": Differs(warns=("V4/any-id-accepted", "V4/empty-id")),
    "decoder-with-errors-of-its-own": Differs(warns=("V3/any-way-to-encode[gzip-in-members]",)),
}
# With many bytes, they take longer than all others; the oracle has them.
HEAVY = (
    "B12/long-text", "C2/chunk-sizes", "C3/many", "J7/bomb", "J7/very-many", "L1/four-mebibytes-on",
    "M3/json-among-binary[uint32", "P14/no-content-type-with-a-long-body", "R3/long-body",
    "V3/json-of-any-size", "V3/json-part-of-any-size", "V3/long-answers", "V3/long-on-every-way",
    "V3/many-elements", "V3/text-of-any-size", "Z5/expands",
)  # fmt: skip


def is_allowed(result: Result, differs: Differs) -> bool:
    case = result.case
    read = case.id.startswith(differs.reads) and not case.id.startswith(differs.warns)
    if read and result.outcome is Outcome.FAIL:
        return result.cause is not None and result.cause.root.lenient
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
    for seed in (None, 1, fresh_seed) if pytestconfig.getoption("--whole-runs") else (None,):
        fails_nothing(variant, seed)


def fails_nothing(variant: str, seed: int | None) -> None:
    differs = DIFFERS.get(variant, Differs())
    cases = [case for case in in_memory(suite_cases()) if not case.id.startswith(HEAVY)]
    run = run_in_memory(cases, variants=[variant], seed=seed)
    found = {result.case.id: result for result in run}
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
    assert len(VARIANTS.keys() - DIFFERS.keys()) >= 40


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_variant_hides_a_fault(variant: str) -> None:
    fault = FAULTS["request-blobs-off-by-one"]
    cases = [case for case in chosen(f"{fault.requirement}/") if not case.negative]
    found = run_in_memory(cases, faults=[fault.name], variants=[variant])
    assert Outcome.FAIL in {result.outcome for result in found}
