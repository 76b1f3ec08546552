"""What is published of real servers. No server is started here, and nothing is installed."""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import publish
from expectation import Expectation, client_expectation_files, expectation_files, load_expectation
from support.reports import case, passes, report_of
from support.sites import report_on, report_on_client
from v2_conformance.cli.main import main as conformance
from v2_conformance.kits.registry import KITS
from v2_conformance.report.document import Report
from v2_conformance.report.words import priced

EXPECTATIONS = [
    load_expectation(path) for path in (*expectation_files(), *client_expectation_files())
]


def some(**changes: Any) -> Expectation:
    expected = Expectation(
        path=Path("some-1.0.yaml"),
        server="some",
        version="1.0",
        package="some==1.0",
        profiles=("binary",),
        survives=True,
        verdict="not conformant",
        requirements={},  # neither is published
        cases={},
        seen={"H6": "Refused.", "H7": "Refused.", "H8": "Refused.", "O6": "As JSON | binary."},
        reasons={},
    )
    return replace(expected, **changes)


def some_report(**outcomes: str) -> Report:
    """A report in which these requirements have these outcomes, by their first cases."""
    cases = [case(f"{name}/x", outcome) for name, outcome in outcomes.items()]
    return report_of(passes(*cases), profiles=("binary", "large"), server=("some", "1.0"))


def test_the_front_page_and_the_readme_say_what_the_reports_say() -> None:
    published = publish.published_reports(EXPECTATIONS)
    # `tests/real/publish.py --readme` writes both, `--site` takes the picture.
    for path, made in ((publish.README, publish.readme), (publish.FRONT_PAGE, publish.front_page)):
        text = path.read_text(encoding="utf-8")
        assert text == made(text, published)
    assert publish.source_of(publish.PICTURED) in publish.PICTURE.read_bytes()


def test_requirements_with_one_sentence_share_a_row_and_one_alone_has_its_title() -> None:
    report = some_report(H6="fail", H7="fail", H8="fail", O6="disputed", L1="not_run")
    expected = some(mended={"H6": "2.0"})
    text = publish.readme(f"By hand.\n{publish.BEGIN}old\n", [(expected, report)])
    assert "Mended in: H6 2.0.\n" in text
    assert text.startswith(f"By hand.\n{publish.BEGIN}\n## some 1.0: {priced(report)}\n")
    assert "old" not in text
    assert "| MUST (blocks robust) H6 H7, SHOULD H8 | Refused. |" in text
    assert "| DISPUTED O6 binary_data_output true, output listed " in text
    assert "As JSON \\| binary. |" in text
    assert "Not tested: L1.\n" in text


def test_the_front_page_names_what_blocks_conformant_alone() -> None:
    report = some_report(P9="fail", H6="fail", H8="fail")
    text = publish.front_page(f"{publish.TABLE}{publish.TABLE_END}", [(some(), report)])
    words = "from correct requests: breaks clients (1); from malformed requests: breaks clients (1)"
    assert f"| not conformant; {words} | P9 |\n" in text


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """`publish` with everything that installs, starts or tests replaced, and what they saw."""
    seen: dict[str, Any] = {}

    @contextmanager
    def serve(workdir: Path, port: int | None, python: Path) -> Iterator[str]:
        seen.update(empty=not list(workdir.iterdir()), port=port, python=python)
        (workdir / "models").mkdir()
        yield "http://127.0.0.1:8000"

    def run(arguments: list[str]) -> int:
        seen.update(arguments=arguments, folder=Path.cwd())
        folder = Path(arguments[arguments.index("--report-dir") + 1])
        folder.mkdir(parents=True)
        for name in ("report.jsonl", "report.json", "report.html"):
            (folder / name).touch()
        return 1

    monkeypatch.setattr(publish, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(publish, "SERVERS", {"triton": serve})
    monkeypatch.setattr(publish, "conformance", run)
    monkeypatch.setattr(publish, "_port", lambda server: 8000)
    monkeypatch.setattr(publish, "_environment", lambda folder, package: folder / package)
    monkeypatch.setattr(publish, "_pip", lambda python, *arguments: "some==1.0\n")
    monkeypatch.setattr(publish, "load_report", lambda path: {})
    monkeypatch.setattr(publish, "differences", lambda expected, report: ["H6: other"])
    return seen


def test_a_published_folder_has_the_report_without_its_record(
    published: dict[str, Any], tmp_path: Path
) -> None:
    left_over = tmp_path / "work" / "server" / "models"
    left_over.mkdir(parents=True)
    newest = next(one for one in EXPECTATIONS if one.name == "triton-2.51.0")
    assert publish.publish(newest, tmp_path / "work") == ["H6: other"]
    names = {path.name for path in (tmp_path / "reports" / newest.name).iterdir()}
    assert names == {"report.json.gz", "report.html", "packages.txt"}
    assert published["empty"]
    assert published["python"] == tmp_path / "work" / "environment" / newest.package
    assert published["folder"] == left_over
    *words, option, _folder = published["arguments"]
    assert ["v2-conformance", *words] == shlex.split(KITS["triton"].command)
    assert option == "--report-dir"


def test_profiles_that_an_older_version_lacks_are_left_out_of_the_command() -> None:
    expected = some(server="triton", profiles=("binary", "raw", "compression-responses"))
    words = expected.run_arguments("http://127.0.0.1:1", Path("reports"))
    claimed = [words[at + 1] for at, word in enumerate(words) if word == "--profile"]
    assert claimed == ["raw", "compression-responses"]


@pytest.mark.needs("chromium")
def test_the_site_is_made_of_the_published_reports_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report_on(tmp_path / "first" / "made", "Some", "1.0")
    site = tmp_path / "reports"
    assert conformance(["publish", str(site), str(first)]) == 0
    (site / "own-1.0").mkdir()
    second = report_on_client(tmp_path / "second" / "made")
    (site / "own-1.0" / "report.json.gz").write_bytes(gzip.compress(second.read_bytes()))
    monkeypatch.setattr(publish, "REPORTS", site)
    monkeypatch.setattr(publish, "README", tmp_path / "README.md")
    monkeypatch.setattr(publish, "FRONT_PAGE", tmp_path / "README.md")
    monkeypatch.setattr(publish, "PICTURE", tmp_path / "report.png")
    monkeypatch.setattr(publish, "PICTURED", site / "some-1.0" / "report.html")
    (tmp_path / "README.md").touch()
    assert publish.main(["--site"]) == 0
    assert publish.source_of(publish.PICTURED) in publish.PICTURE.read_bytes()
    assert "some-1.0/report.html" in (site / "index.html").read_text("utf-8")
    assert "own-1.0/report.html" in (site / "clients.html").read_text("utf-8")


def test_a_client_runs_in_the_folder_of_its_adapter_with_its_own_python(
    published: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def run(arguments: list[str]) -> int:
        seen.update(arguments=arguments, files={path.name for path in Path.cwd().iterdir()})
        seen.update(first=os.environ["PATH"].partition(os.pathsep)[0])
        return 1

    monkeypatch.setattr(publish, "conformance", run)
    expected = some(adapter="plain.py", profiles=("client", "bf16"))
    before = Path.cwd(), os.environ["PATH"]
    python, code = publish.run_client(expected, tmp_path / "work", tmp_path / "report")
    assert (Path.cwd(), os.environ["PATH"]) == before
    assert code == 1
    assert seen["first"] == str(python.parent)
    assert "plain.py" in seen["files"]
    # no path of this machine, for the report has the command
    assert seen["arguments"][-3:] == ["--", "python", "plain.py"]
    assert seen["arguments"][3:5] == ["--profile", "bf16"]
