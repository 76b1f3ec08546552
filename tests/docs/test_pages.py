"""Pages of the documentation are true: links, commands, programs, and the places that they name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.reports import case, exchange, report_of
from support.sites import report_on
from tools import ROOT
from tools.traceability.links import suite_trace
from tools.traceability.page import PAGE, traceability_page
from v2_conformance.cli.main import main
from v2_conformance.report.files import write_report

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page: of its headings, as GitHub makes them, and its own."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    made = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


def test_the_page_of_all_links_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == traceability_page(suite_trace()), (
        "tools.traceability writes it"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"(?ms)^ *```.*?^ *```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


SOURCES = ROOT / "conformance"
PACKAGE = SOURCES / "v2_conformance"
ROOMS = sorted(
    found.stem
    for found in PACKAGE.iterdir()
    if not found.name.startswith("_") and (found.is_dir() or found.suffix == ".py")
)
EXTENDING = (DOCS / "extending.md").read_text(encoding="utf-8")
_PLACE = re.compile(r"(?<![\w./@-])(?:[\w.]+/)+(?:[\w.*-]+\.(?:py|yaml|json|md))?(?![\w*])")
PLACES = sorted(set(_PLACE.findall(EXTENDING)))


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_named(room: str) -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert re.search(rf"(?<!\w){room}(?!\w)", page)


@pytest.mark.parametrize("place", PLACES)
def test_every_place_to_add_something_exists(place: str) -> None:
    assert any(list(base.glob(place)) for base in (PACKAGE, SOURCES, ROOT))


def commands() -> list[str]:
    """The commands of the page in order."""
    text = (DOCS / "certification.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


def test_commands_that_make_a_site_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, version in (("reports/one", "1"), ("new", "2"), ("mine", "3")):
        report_on(Path(folder), "One", version)
    done = 0
    for command in commands():
        words = shlex.split(command.partition("  #")[0])
        if words[0] == "python3":
            printed = subprocess.run([sys.executable, *words[1:]], capture_output=True, check=True)
            assert printed.stdout == b""  # none of these few cases is conformant
        elif words[1] == "publish":
            # The pages of the example in the repository are there already.
            arguments = [word.replace("/tmp/site", "other") for word in words[1:]]
            if arguments[1] == "reports":
                arguments[1:3] = ["site", "site"]
            assert main(arguments) == 0, command
            done += 1
    assert done == 4


ANSWER = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256))


def test_the_program_that_reads_a_body_prints_it(tmp_path: Path) -> None:
    found = re.search(r"(?s)```python\n(.*?)```", (DOCS / "reports.md").read_text("utf-8"))
    assert found is not None
    cases = [
        case(f"P2/x{n}", "pass", None, exchange(b"POST / HTTP/1.1" * n, ANSWER * n))
        for n in range(4)
    ]
    write_report(tmp_path, report_of(cases))
    ran = subprocess.run([sys.executable, "-c", found[1]], cwd=tmp_path, capture_output=True)
    assert (ran.stdout, ran.stderr) == (ANSWER * 2, b"")


TOUR = (DOCS / "tour.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"  # exit code (\d)$")


def steps() -> Iterator[tuple[str, int, list[str]]]:
    """Each command of the page but the installation: itself, its exit code, lines it prints."""
    done: list[tuple[str, int, list[str]]] = []
    for language, text in _BLOCK.findall(TOUR):
        if language == "sh":
            for line in text.splitlines():
                code = _EXIT_CODE.search(line)
                done.append((_EXIT_CODE.sub("", line), int(code[1]) if code else 0, []))
        elif language == "text":
            done[-1][2].extend(text.splitlines())
    return (step for step in done if "pip install" not in step[0])


@pytest.mark.long
def test_every_command_of_the_tour_does_what_the_page_says(tmp_path: Path) -> None:
    environment = dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    ran = 0
    for command, code, lines in steps():
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        told = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        for line in lines:
            assert " ".join(line.split()) in told, f"{command}\n{told}"
        ran += 1
    assert ran == len(re.findall(r"(?m)^(v2-conformance|ls) ", TOUR))
