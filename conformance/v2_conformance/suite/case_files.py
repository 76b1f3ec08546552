"""cases/*.yaml → concrete cases with stable ids.

A case file says what is sent and what must come back, as data. Axes expand one entry into many, in
the order in which the file lists them: the entry is filled once for each combination of their
values, `${axis}` by the value and `${axis.member}` by a member of it. The id is
REQUIREMENT/slug[labels of the axes' values], so it is stable as long as the labels are.
`exceptions` grade some of the combinations differently, or leave them out.

Tests show that the suite's own files are right. A user's file is checked by the schema first, so
that each mistake is reported with its line; what no schema can say is checked here.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_document, own_names
from v2_conformance.suite.cases import (
    ROUNDS,
    Case,
    ClientCase,
    Expects,
    GetCase,
    ObservedCase,
    RequestCase,
)
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.requirements import LEVELS, catalogue
from v2_conformance.suite.variations import apply, variation
from v2_conformance.yaml_files import as_text, check_yaml, misfit, read_yaml

_AXIS = re.compile(r"\$\{([a-z_]+)(?:\.([a-z_]+))?\}")
# Known only when the request is encoded: the JSON's length, the blobs' and the whole body's.
_WIRE_LENGTHS = ("length", "blobs", "body")
_EXACT = {"outcome": "success", "outputs": "any"}
# A mistake in a file of cases must not fill memory: the suite's largest entry makes under 200.
_MOST_COMBINATIONS = 10_000
_NOT_CASES = (
    "generated_requests.yaml",
    "models.yaml",
    "relations.yaml",
    "requirements.yaml",
    "statements.yaml",
    "variations.yaml",
)

Kind = Literal["case", "scenario"]
Made = TypeVar("Made")
MadeCase = TypeVar("MadeCase", bound=Case)
Make = Callable[[str, Mapping[str, Any], str], Made]
"""Makes a case of a requirement, a filled entry, and the labels ("[…]", "" for none)."""

Models = Mapping[str, ModelContract]  # by role
_Axes = Mapping[str, Mapping[str, Any]]  # by name, then by label


def load_cases(path: Path) -> list[Case]:
    """Return every case of a user's file, or of a folder. Raises CaseFileError with its line."""
    return _with_last(load_entries(path, "case", case_of))


def own_cases() -> list[Case]:
    """Return every case of the suite's own files."""
    names = (name for name in own_names() if "/" not in name and name not in _NOT_CASES)
    return _with_last(own_entries(names, "case", case_of))


def make_case(entry: Mapping[str, Any]) -> Case:
    """Return the case of a valid entry without axes. Raises CaseFileError."""
    (case,) = expand(entry, "case", case_of)
    return case


def vary(case: RequestCase, names: Sequence[str], models: Models | None = None) -> RequestCase:
    """Return `case` in the variations `names`, applied in order, with the same id. Raises
    CaseFileError for one that is unknown or does not fit."""
    for name in names:
        given = variation(name)
        before = [variation(earlier) for earlier in case.variations]
        traits = {"same-answer"} if case.expects == "success" or case.next else set()
        if case.together == 1:
            traits.add("one-connection")
        expect = case.expect
        if given.either and case.expects == "success":
            expect = {**expect, "outcome": "either"}
        case = replace(
            case,
            request=apply(given, case.request, (models or contract())[case.model], before, traits),
            variations=(*case.variations, name),
            level=max(case.level, given.level, key=LEVELS.index),
            blocks=given.blocks or case.blocks,
            expect=expect,
            canary=case.canary or ("binary" if given.canary else None),
        )
    return case


# Entries and their axes


def own_entries(names: Iterable[str], kind: Kind, make: Make[Made]) -> list[Made]:
    """Return the cases of all entries of the suite's own files of these names, in their order."""
    entries = (entry for name in names for entry in own_document(name)[f"{kind}s"])
    return [case for entry in entries for case in expand(entry, kind, make)]


def load_entries(path: Path, kind: Kind, make: Make[MadeCase]) -> list[MadeCase]:
    """Return the cases of a file or folder, in order. Raises CaseFileError with its line."""
    if not path.exists():
        raise CaseFileError(f"{path}: there is no such file or folder of {kind}s")
    in_folder = sorted(one for one in path.glob("*.yaml") if one.name not in _NOT_CASES)
    files = [path] if path.is_file() else in_folder
    if not files:
        raise CaseFileError(f"{path}: it has no files of {kind}s (*.yaml)")

    def checked(requirement: str, entry: Mapping[str, Any], labels: str) -> MadeCase:
        filled = {"family": entry["id"][0], f"{kind}s": [entry]}
        wrong = misfit(kind, filled, unnamed=2)
        if wrong is not None:
            raise CaseFileError(f"{entry['id']}{labels}: {wrong[1]}")
        return make(requirement, entry, labels)

    result: dict[str, MadeCase] = {}
    for path in files:
        file = read_yaml(path, CaseFileError, path.name)
        check_yaml(file, kind, CaseFileError, unnamed=2)
        for index, entry in enumerate(file.document[f"{kind}s"]):
            try:
                if entry["id"][0] != file.document["family"]:
                    raise CaseFileError(f"{entry['id']} is not of this file's family")
                for case in expand(entry, kind, checked):
                    if case.id in result:
                        raise CaseFileError(f"the {kind} id {case.id} occurs twice")
                    result[case.id] = case
            except CaseFileError as error:
                line = file.line((f"{kind}s", index))
                raise CaseFileError(f"{path.name}:{line}: {error}") from None
    return list(result.values())


def expand(entry: Mapping[str, Any], kind: Kind, make: Make[Made]) -> Iterator[Made]:
    """Yield what `make` makes for each combination of the axes. Raises CaseFileError."""
    requirement = entry["id"].split("/")[0]
    if requirement not in catalogue():
        raise CaseFileError(f"{entry['id']}: the catalogue has no requirement {requirement}")
    axes = {name: _labeled(values) for name, values in entry.get("axes", {}).items()}
    exceptions = [_exception(entry["id"], item, axes) for item in entry.get("exceptions", ())]
    template = {key: value for key, value in entry.items() if key not in ("axes", "exceptions")}
    references = _AXIS.findall(repr(template))
    used = {name for name, _ in references}
    unused = [name for name in axes if name not in used]
    if unused:
        raise CaseFileError(f"{entry['id']}: the axis {unused[0]} is not used")
    if math.prod(map(len, axes.values())) > _MOST_COMBINATIONS:
        raise CaseFileError(f"{entry['id']}: its axes make more than {_MOST_COMBINATIONS} cases")
    for combination in itertools.product(*(values.items() for values in axes.values())):
        by_axis = dict(zip(axes, combination, strict=True))
        differing = [
            item
            for item, labels in exceptions
            if all(by_axis[axis][0] in some for axis, some in labels.items())
        ]
        if any(item.get("left_out") for item in differing):
            continue
        filled = _fill(template, by_axis) if references else template
        for item in differing:
            filled = _changed(filled, item, kind)
        labels = ",".join(label for label, _ in combination)
        yield make(requirement, filled, f"[{labels}]" if labels else "")


def _labeled(values: list[Any] | dict[str, Any]) -> dict[str, Any]:
    if isinstance(values, dict):
        return values
    labeled = {as_text(value): value for value in values}
    if len(labeled) != len(values):
        raise CaseFileError(f"two values of the axis {values} have the same label")
    return labeled


def _exception(
    id: str, item: Mapping[str, Any], axes: _Axes
) -> tuple[Mapping[str, Any], dict[str, list[str]]]:
    labels = {}
    for axis, given in item["of"].items():
        labels[axis] = list(map(as_text, given if isinstance(given, list) else [given]))
        unknown = [label for label in labels[axis] if label not in axes.get(axis, {})]
        if unknown:
            raise CaseFileError(f"{id}: the axis {axis} has no value {unknown[0]}")
    return item, labels


def _changed(entry: Mapping[str, Any], item: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    changed = {**entry, **{name: item[name] for name in ("level", "blocks") if name in item}}
    outcome = "outcome" if kind == "case" else "reading"
    expected = {outcome: item.get("outcome"), "exact": item.get("exact")}
    expected = {name: value for name, value in expected.items() if value is not None}
    if expected:
        changed["expect"] = {**entry.get("expect", {}), **expected}
    return changed


def _fill(value: Any, axes: Mapping[str, tuple[str, Any]]) -> Any:
    """Return `value` with every ${axis} replaced; one that stands alone keeps its type."""
    if isinstance(value, str):
        whole = _AXIS.fullmatch(value)
        if whole:
            return _axis_value(axes, whole, text=False)
        return _AXIS.sub(lambda match: str(_axis_value(axes, match, text=True)), value)
    if isinstance(value, dict):
        filled = {as_text(_fill(key, axes)): _fill(item, axes) for key, item in value.items()}
        if len(filled) != len(value):
            raise CaseFileError(f"two members of {list(value)} are the same for a value of an axis")
        return filled
    return [_fill(item, axes) for item in value] if isinstance(value, list) else value


def _axis_value(axes: Mapping[str, tuple[str, Any]], match: re.Match[str], *, text: bool) -> Any:
    name, member = match.groups()
    if name not in axes:
        if name in _WIRE_LENGTHS and member is None:
            return match.group()
        raise CaseFileError(f"the axis ${{{name}}} is not defined")
    label, value = axes[name]
    if member is not None:
        if not isinstance(value, dict) or member not in value:
            raise CaseFileError(f"the value {label} of the axis {name} has no {member}")
        return value[member]
    return label if text and isinstance(value, dict | list) else value


# Cases


def _with_last(cases: Sequence[Case]) -> list[Case]:
    """Tell all but the last negative case of each requirement that another one follows."""
    negative = [c for c in cases if c.negative and not (c.dangerous or c.large)]
    last = {case.requirement: case.id for case in negative}
    others = {case.id for case in negative} - set(last.values())
    return [
        replace(case, last_negative=False)
        if isinstance(case, RequestCase) and case.id in others
        else case
        for case in cases
    ]


def case_of(
    requirement: str, entry: Mapping[str, Any], labels: str, models: Models | None = None
) -> Case:
    """Return the case of a filled entry, for models by role. Raises CaseFileError."""
    models = models or contract()
    common = _common(requirement, entry, labels) | {
        "expect": entry.get("expect", {"outcome": "success"}),
        "dangerous": entry.get("dangerous", False),
        "large": entry.get("large", False),
    }
    model = entry.get("model")
    if model is not None:
        own = _in(models, entry["id"], model).profile
        common["profile"] = own if common["profile"] == "binary" else common["profile"]
    if "observed" in entry:
        return ObservedCase(**common, observed=str(entry["observed"]))
    if model is None:
        return GetCase(**common, path=entry["get"])
    canary = entry.get("canary")
    case = RequestCase(
        **common,
        model=model,
        request=entry.get("request", {}),
        canary="binary" if canary is True else canary,
        together=entry.get("together", 1),
        rounds=entry.get("rounds", ROUNDS),
    )
    case = _with_others(case, entry, models)
    names = entry.get("variations", [])
    if case.next and "pipelined" not in names:
        raise CaseFileError(f"{case.id}: `next` requires the variation pipelined")
    try:
        return vary(case, names, models)
    except CaseFileError as error:
        raise CaseFileError(f"{case.id}: {error}") from error


def _common(requirement: str, entry: Mapping[str, Any], labels: str) -> dict[str, Any]:
    """Return what every kind of case has of an entry and its requirement."""
    known = catalogue()[requirement]
    return {
        "id": entry["id"] + labels,
        "requirement": requirement,
        "why": " ".join(entry["why"].split()),
        "level": entry.get("level", known.level),
        "profile": entry.get("profile", known.profile),
        "blocks": entry.get("blocks"),
    }


def _with_others(case: RequestCase, entry: Mapping[str, Any], models: Models) -> RequestCase:
    if entry.keys().isdisjoint(("first", "members", "next")):
        return case
    first = entry.get("first")
    before = _other(case, first, {"outcome": "survives"}, models) if first is not None else None
    alongside = [_other(case, item, case.expect, models) for item in entry.get("members", [])]
    behind = tuple(_other(case, item, _EXACT, models) for item in entry.get("next", []))
    ids = [one.request.get("id") for one in (case, *([before] if before else []), *alongside)]

    def with_foreign_ids(one: RequestCase) -> RequestCase:
        foreign = sorted({str(id) for id in ids if id not in (None, one.request.get("id"))})
        return replace(one, foreign_ids=tuple(foreign))

    members = tuple(map(with_foreign_ids, alongside))
    return replace(with_foreign_ids(case), first=before, members=members, next=behind)


def _other(
    case: RequestCase, given: Mapping[str, Any], expect: Mapping[str, Any], models: Models
) -> RequestCase:
    role = given.get("model", case.model)
    _in(models, case.id, role)
    return RequestCase(
        id=case.id,
        requirement=case.requirement,
        why=case.why,
        level=case.level,
        profile=case.profile,
        blocks=case.blocks,
        expect=given.get("expect", expect),
        model=role,
        request=given["request"],
        times=given.get("times", 1),
    )


def _in(models: Models, id: str, role: str) -> ModelContract:
    if role not in models:
        raise CaseFileError(f"{id}: the contract has no model role {role!r}")
    return models[role]


_OUTCOMES: Mapping[str, Expects] = {"exact": "success", "error": "reject", "refused": "reject"}


def load_scenarios(path: Path | None = None) -> list[ClientCase | ObservedCase]:
    """Return every scenario of `path` (default: the suite's own). Raises CaseFileError."""
    if path is None:
        names = (name for name in own_names() if name.startswith("clients/"))
        return own_entries(names, "scenario", _scenario)
    return load_entries(path, "scenario", _scenario)


def _scenario(requirement: str, entry: Mapping[str, Any], labels: str) -> ClientCase | ObservedCase:
    common = _common(requirement, entry, labels)
    if "observed" in entry:
        return ObservedCase(**common, expect={"outcome": "success"}, observed=entry["observed"])
    asked = entry.get("requests", [entry.get("request")])
    requests = tuple(_request(entry, number, item) for number, item in enumerate(asked))
    readings = {_OUTCOMES.get(one["expect"].get("reading", "any"), "either") for one in requests}
    return ClientCase(
        **common,
        # What the user of the client gets of the whole, in the words of all cases.
        expect={"outcome": readings.pop() if len(readings) == 1 else "either"},
        requests=requests,
        timeout_s=entry.get("timeout_s"),
    )


def _request(entry: Mapping[str, Any], number: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of a scenario, with the answer and the expectation that hold for it."""
    what = f"{entry['id']}: request {number}"
    expect = asked.get("expect", entry.get("expect"))
    if expect is None:
        raise CaseFileError(f"{what}: nothing is expected of it (`expect`)")
    reading = expect.get("reading", "any")
    if "error" in expect and reading != "error":
        raise CaseFileError(f"{what}: `expect.error` needs `reading: error`")
    judged = {"request", "error", "members", "most_requests"} & set(expect)
    if reading == "any" and not judged:
        raise CaseFileError(f"{what}: `reading: any` needs something else that is judged")
    inputs = asked.get("inputs", [])
    if asked.get("model") not in contract():
        for place, item in enumerate([inputs["each"]] if isinstance(inputs, dict) else inputs):
            if not {"name", "datatype"} <= set(item):
                raise CaseFileError(
                    f"{what}: cases/models.yaml has no role {asked.get('model')!a:.60}, so input "
                    f"{place} needs `name` and `datatype`"
                )
    return {**asked, "expect": expect, "answer": asked.get("answer", entry.get("answer", {}))}
