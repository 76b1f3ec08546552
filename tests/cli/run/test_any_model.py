"""`run --model`: what it refuses, what it prints, and how it leaves."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.first_mistakes import Small
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.cli.run.any_model import read_asked
from v2_conformance.cli.run.options import RunOptions
from v2_conformance.errors import UsageError
from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS, compute
from v2_conformance.report.files import load_report
from v2_conformance.runs import learning
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.values.samples import Given
from v2_conformance.wire.encode.deployment import Tolerance


def call(*arguments: str, directory: Path) -> int:
    return main(["run", *arguments, "--report-dir", str(directory)])


def inputs(*files: str) -> RunOptions:
    return RunOptions(models=("m",), inputs=files)


def test_tensors_come_from_numpy_and_json_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">i4").reshape(2, 3))
    np.save(tmp_path / "s.npy", np.array(["é", "b"]))
    document = {"datatype": "FP32", "shape": [2], "data": [1.5, 2]}
    (tmp_path / "b.json").write_text(json.dumps(document))
    files = [f"A={tmp_path}/a.npy", f"B={tmp_path}/b.json", f"S={tmp_path}/s.npy"]
    asked = read_asked(inputs(*files), Target("", atol=0.5))
    assert asked is not None
    assert asked.tolerance == Tolerance(atol=0.5)
    tensors = asked.choice.tensors
    assert tensors["A"].blob == np.arange(6, dtype="<i4").tobytes()
    assert (tensors["A"].datatype, tensors["A"].shape) == ("INT32", (2, 3))
    assert tensors["B"].blob == np.array([1.5, 2], "<f4").tobytes()
    assert decode_bytes(tensors["S"].blob) == ["é".encode(), b"b"]
    np.save(tmp_path / "o.npy", np.array([1j]))
    np.save(tmp_path / "u.npy", np.array(["\ud800"]))
    (tmp_path / "c.json").write_text("[1, 2]")
    (tmp_path / "l.txt").write_text('{"datatype": ["FP32"], "shape": [1], "data": [1]}')
    for name, words in (
        ("o.npy", "not a V2 datatype"),
        ("u.npy", "surrogates not allowed"),
        ("c.json", "with a datatype of V2"),
        ("l.txt", "with a datatype of V2"),
    ):
        with pytest.raises(UsageError, match=words):
            read_asked(inputs(f"A={tmp_path}/{name}"), Target(""))


def test_any_other_file_is_one_element_in_the_shape_that_the_user_says(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff")
    options = replace(inputs(f"A={tmp_path}/a.jpg"), shapes=("A=1,1",))
    asked = read_asked(options, Target(""))
    assert asked is not None
    assert asked.choice.tensors["A"] == Given("BYTES", (1, 1), b"\3\0\0\0\xff\xd8\xff")
    with pytest.raises(UsageError, match=r"the tensor of its --input has the shape \[1\]"):
        read_asked(replace(options, shapes=("A=2",)), Target(""))


class WithoutAnyList(Small):
    """A server with models of its own only, which it does not list."""

    def repository_index(self, request: Request) -> Response:
        return self.error(404, "there is no repository")


@pytest.fixture(autouse=True)
def _at_any_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_QUICK_MS", float("inf"))


class OfMany(WithoutAnyList):
    """A server that lists its models as KServe does; the first of them takes no plain request."""

    def __init__(self, profiles: Collection[str]) -> None:
        super().__init__(profiles)
        names = [f"m{number}" for number in range(1, 10)]
        self.models |= {name: replace(ORDINARY_MODELS["widener"], model=name) for name in names}

    def route(self, request: Request) -> Response:
        if request.target == "/v2/models":
            return self.json_response({"models": ["reverser", *self.models]})
        return super().route(request)

    def run_model(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        if model.model == "reverser":
            raise Rejected("the model takes other inputs")
        return compute(ORDINARY_MODELS.get(model.model, ORDINARY_MODELS["widener"]), inputs)


def test_models_that_it_finds_are_tested_instead_of_the_contract_s(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start(Small)
    assert call(server.url, "--case", "P2", directory=tmp_path) == 0
    shown, said = (" ".join(text.split()) for text in capsys.readouterr())
    assert (
        "has none of the contract's models; it lists matrix_product, reverser, widener. Testing up "
        "to 3 of them with each other's answers."
    ) in said
    assert f"v2-conformance run {server.url} --model all" in said
    assert "of 3 models, --seed" in said
    assert "requirement shown by comparing answers" in shown
    assert (tmp_path / "report.html").exists()
    expected = tmp_path / "expected.yaml"
    expected.write_text("expected: []\n")  # of the contract's models alone
    assert call(server.url, "--expect", str(expected), directory=tmp_path / "out") == 4


def test_no_more_than_three_models_that_can_be_tested_are_chosen(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start(OfMany)
    call(server.url, "--case", "P2", directory=tmp_path)
    said = " ".join(capsys.readouterr().err.split())
    assert "it lists reverser, matrix_product, widener and 9 more." in said
    report = load_report(tmp_path / "report.json")
    tested = {one.model for one in report.target.models.values()}
    assert tested == {"matrix_product", "widener", "m1"}
    assert list(report.target.absent) == ["model/reverser"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "_QUICK_MS", 0.0)
        call(server.url, "--case", "P2", directory=tmp_path)
    assert [*load_report(tmp_path / "report.json").target.models] == ["model/matrix_product"]


def test_without_any_model_it_says_how_to_go_on(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start(WithoutAnyList)
    assert call(server.url, directory=tmp_path) == 4
    shown, said = (" ".join(text.split()) for text in capsys.readouterr())
    assert shown.startswith("Nothing was tested: ")
    assert "cases" not in said  # what is not sent is not counted
    assert f"v2-conformance run {server.url} --model NAME" in shown
    assert not any(word in shown for word in ("reason", "warnings", "MUST", "CONFORMANT"))
    page = (tmp_path / "report.html").read_text()
    assert '<strong id="verdict">nothing tested</strong>' in page
    assert "Why it is not" not in page
    assert "nothing tested" in (tmp_path / "badge.json").read_text()
    assert load_report(tmp_path / "report.json").verdict.words == "nothing tested"
