"""Reports on the newest versions are proposed with what differs. Nothing is installed here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import fresh
import publish
from expectation import Expectation, load_expectation
from support.sites import report_on
from v2_conformance.cli.main import main as conformance
from v2_conformance.report.files import PACKED_REPORT, packed_bytes

TRITON = Path(__file__).parent / "expectations" / "triton-2.51.0.yaml"


@pytest.fixture
def proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of reports, and one expectation; what is installed "is" some server in 2.0."""
    reports = tmp_path / "reports"
    expected = tmp_path / "some-1.0.yaml"
    text = TRITON.read_text("utf-8").replace("server: triton", "server: some")
    expected.write_text(fresh.drafted(text, "1.0", "some==1.0"), "utf-8")
    monkeypatch.setattr(publish, "REPORTS", reports)
    monkeypatch.setattr(fresh, "every_expectation", lambda: [load_expectation(expected)])
    monkeypatch.setattr(fresh, "newest_package", lambda package: "some==2.0")
    packed(tmp_path / "first", "1.0")
    assert conformance(["publish", str(reports), str(tmp_path / "first")]) == 0

    def run(one: Expectation, work: Path, folder: Path) -> list[str]:
        assert one.package == "some==2.0"
        packed(folder, "2.0")
        return ["H6: expected fail, got pass"]

    monkeypatch.setattr(publish, "publish", run)
    return tmp_path


def packed(folder: Path, version: str) -> None:
    plain = report_on(folder, "some", version)
    (folder / PACKED_REPORT).write_bytes(packed_bytes(plain))
    plain.unlink()


def test_a_new_version_gets_a_report_a_draft_and_words(
    proposed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = proposed / "words.md"
    assert fresh.main(["--work", str(proposed / "work"), "--words", str(words)]) == 0
    text = words.read_text("utf-8")
    assert text.startswith("## some-2.0: ")
    assert "- H6: expected fail, got pass" in text
    assert (proposed / "reports" / "some-2.0" / "report.html").is_file()
    draft = load_expectation(proposed / "some-2.0.yaml")
    assert (draft.version, draft.package) == ("2.0", "some==2.0")
    # The report is there now, so the next week has nothing to say.
    assert fresh.main(["--work", str(proposed / "work"), "--words", str(words)]) == 0
    assert words.read_text("utf-8") == ""

    def fails(*_: object) -> list[str]:
        raise subprocess.CalledProcessError(1, ["pip"])

    monkeypatch.setattr(publish, "publish", fails)
    assert fresh.main(["--work", str(proposed / "work"), "--words", str(words)]) == 1
    assert "- some: " in words.read_text("utf-8")
