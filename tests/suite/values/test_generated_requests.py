"""The generated requests that every run sends: few, but with everything in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.resources import fits
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import generated_case
from v2_conformance.suite.models import contract

REQUESTS = generated_case().requests
NEEDED = [
    entry
    for entry in REQUESTS
    if (model := contract()[entry["model"]]).profile == "binary" and not model.optional
]


def features_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield what a request has: datatypes with their forms, selected outputs, the delivery."""
    model, request = contract()[entry["model"]], entry["request"]
    for position, given in enumerate(request["inputs"]):
        index = given.get("tensor", position)
        datatype = model.inputs[index].datatype
        yield "in", datatype, given.get("form", "binary")
        yield "out", datatype, entry["expect"]["outputs"].get(str(index), "none")
    by_default = str(request.get("parameters", {}).get("binary_data_output"))
    listed = request.get("outputs")
    if listed is None:
        yield "outputs", by_default, "none"
    for output in listed or ():
        yield "outputs", by_default, str(output.get("binary_data"))
    if listed is not None and len(listed) < len(model.outputs):
        yield "outputs", by_default, "some"
    delivery = request.get("delivery", "whole")
    yield "delivery", next(iter(delivery)) if isinstance(delivery, dict) else delivery
    yield "id", str("id" in request)
    yield "indent", str("json" in request)


FEATURES = {feature for entry in REQUESTS for feature in features_of(entry)}


def test_each_is_a_valid_entry_that_must_succeed() -> None:
    assert fits("case", {"family": "M", "cases": list(REQUESTS)})
    for case in map(make_case, REQUESTS):
        assert isinstance(case, RequestCase)
        assert (case.level, case.expects) == ("MUST", "success")


def test_there_are_fifty_for_the_models_that_every_server_has() -> None:
    assert len(NEEDED) == 50


def test_each_datatype_goes_and_comes_in_each_form_that_a_must_asks_for() -> None:
    for datatype in DATATYPES:
        forms = {"binary"} if datatype in ("FP16", "BF16") else {"binary", "json"}
        for way in ("in", "out"):
            assert {f[2] for f in FEATURES if f[:2] == (way, datatype)} - {"nested"} >= forms
    assert {f[2] for f in FEATURES if f[0] == "in"} == {"binary", "json", "nested"}


def test_each_selection_of_outputs_and_each_delivery_is_there() -> None:
    flags = {f[1:] for f in FEATURES if f[0] == "outputs"}
    assert flags >= {
        *((default, flag) for default in ("None", "False") for flag in ("True", "False", "None")),
        ("True", "True"),
        ("True", "False"),
        *((default, "none") for default in ("None", "True", "False")),
        *((default, "some") for default in ("None", "True", "False")),
    }
    assert {f[1] for f in FEATURES if f[0] == "delivery"} == {"whole", "slices", "chunks"}
    assert {("id", "True"), ("indent", "True")} <= FEATURES


def test_no_chunk_can_end_inside_a_length_prefix_of_bytes() -> None:
    for entry in REQUESTS:
        delivery = entry["request"].get("delivery", "whole")
        if isinstance(delivery, dict) and delivery.get("chunks") not in (None, "one", "seam"):
            model = contract()[entry["model"]]
            assert not any(
                model.inputs[given.get("tensor", i)].datatype == "BYTES" and "form" not in given
                for i, given in enumerate(entry["request"]["inputs"])
            ), entry
