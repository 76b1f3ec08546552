"""The public API: its names, and the examples of docs/api.md, executed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import v2_conformance
from v2_conformance import (
    ConformanceError,
    Outcome,
    Target,
    Verification,
    certify,
    load_report,
    verify,
)

MANUAL = Path(__file__).resolve().parents[1] / "docs" / "api.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.long
def test_the_examples_of_the_manual_work(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(EXAMPLES) >= 5
    for example in EXAMPLES:
        exec(compile(example.replace("http://localhost:8000", url), str(MANUAL), "exec"), {})
    printed = capsys.readouterr().out
    for shown in re.findall(
        r"#\s+(conformant, robust|disputed answered_in_form|b'POST.*')", MANUAL.read_text()
    ):
        assert shown in printed
    assert {"report.json", "report.html", "badge.svg"} <= {
        path.name for path in (tmp_path / "reports").iterdir()
    }


def test_every_public_name_is_there_and_in_the_manual() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    for name in v2_conformance.__all__:
        assert getattr(v2_conformance, name) is not None
        assert name == "__version__" or f"`{name}" in text
    assert set(dir(v2_conformance)) == set(v2_conformance.__all__)
    with pytest.raises(AttributeError, match="nope"):
        v2_conformance.nope  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = (
        "import sys, v2_conformance; print(sorted({'numpy', 'h11', 'msgspec', 'yaml', 'requests', "
        "'hypothesis', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_run_without_a_folder_leaves_no_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = []
    report = certify(url, cases=["P5"], on_case=lambda event: seen.append(event.result.case.id))
    assert [case.id for case in report.cases] == seen
    assert {case.outcome for case in report.cases} == {Outcome.PASS}
    assert not report.verdict.conformant  # not all cases ran
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_was_written_can_be_loaded_and_verified(url: str, tmp_path: Path) -> None:
    report = certify(url, cases=["H1"], report_dir=str(tmp_path))
    assert load_report(str(tmp_path / "report.json")) == report
    found = verify(tmp_path / "report.json")
    assert isinstance(found, Verification)
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("localhost:8000", "is not a URL"),
        (Target("http://localhost:1", profiles=("binary", "rwa")), "did you mean raw"),
        (Target("http://127.0.0.1:1"), "cannot be reached"),
    ],
)
def test_a_wrong_target_is_one_clear_error(target: Target | str, words: str) -> None:
    with pytest.raises(ConformanceError, match=words):
        certify(target)
