"""`publish`: a site of reports that hold, or none; and never the loss of anybody's file."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.pages import Page
from support.reports import Document, read_document
from support.responses import HOSTILE
from support.sites import files_of, index_of, report_on, report_on_client
from v2_conformance.cli.main import main
from v2_conformance.report.files import document_digest
from v2_conformance.resources import schema

Change = Callable[[Document], object]
OTHER = "0" * 16  # a catalogue that nobody has


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of reports, each in a folder: a server in two versions, another one, a client."""
    folder = tmp_path_factory.mktemp("made")
    report_on(folder / "one-1", "One", "0.9")
    report_on(folder / "one-2", "One", "0.10")
    report_on(folder / "two", HOSTILE, "../../1")
    report_on_client(folder / "client")
    return folder


class Publishing:
    """A site, its reports, and the command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.site, self.reports = folder / "site", folder / "reports"
        self.first = self.reports / "one-1" / "report.json"
        self.capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> list[str]:
        """Publish; return what was written to standard error, by line."""
        self.capsys.readouterr()
        ended = main(["publish", str(self.site), *map(str, arguments)])
        lines = self.capsys.readouterr().err.splitlines()
        assert ended == code, lines
        return lines


@pytest.fixture
def site(publish: Publishing) -> Path:
    return publish.site


@pytest.fixture
def publish(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Publishing:
    """With copies of the reports, without what runs leave beside them."""
    for path in made.glob("*/report.json"):
        folder = tmp_path / "reports" / path.parent.name
        folder.mkdir(parents=True)
        shutil.copy(path, folder)
    return Publishing(tmp_path, capsys)


def forge(path: Path, change: Change, *, seal: bool = True) -> None:
    """Change a report; with `seal`, its digest is computed again."""
    report = read_document(path)
    change(report)
    if seal:
        report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    path.write_text(json.dumps(report))


def with_catalogue(change: Change = lambda r: None) -> Change:
    """A change, and that of the catalogue."""
    return lambda r: (change(r), r["suite"].update(catalogue=OTHER))


def test_a_site_has_an_index_trends_badges_and_links_that_lead_to_files(
    publish: Publishing, site: Path, tmp_path: Path
) -> None:
    before = files_of(tmp_path).keys()
    assert publish(publish.reports, "--base-url", "https://h.example/a%20b/") == []
    new = files_of(tmp_path).keys() - before
    assert all(name.startswith("site/") and name.count("/") <= 2 for name in new)
    index = index_of(site)
    schema("site").validate(index)
    assert index["files"] == sorted(files_of(site))
    assert index["base_url"] == "https://h.example/a%20b"
    assert {r["kind"] for r in index["reports"]} == {"server", "client"}
    assert all(r["confirmed"] and r["verdict"] == "incomplete run" for r in index["reports"])
    one = next(product for product in index["products"] if product["name"] == "One")
    assert one["reports"] == ["one-0.9", "one-0.10"]
    text = Page((site / one["page"]).read_text("utf-8")).text
    assert "0.9 → 0.10" in text
    for base in ("", "https://h.example/a%20b/"):
        badge, page = f"{base}one-0.9/badge.svg", f"{base}one-0.9/report.html"
        assert f"[![V2 binary tensor data: conformance]({badge})]({page})" in text
        assert f'<a href="{page}"><img src="{badge}" alt=' in text
    for path in (site / name for name in index["files"]):
        if path.suffix == ".html" and path.name != "report.html":
            links = [urlsplit(link) for link in Page(path.read_text("utf-8")).links]
            assert {(parts.scheme, parts.netloc) for parts in links} == {("", "")}
            followed = [path.parent / unquote(parts.path) for parts in links if parts.path]
            assert followed
            assert all(one.is_file() for one in followed)


def test_a_report_keeps_its_folder_and_bytes(publish: Publishing, site: Path, made: Path) -> None:
    packed = publish.reports / "one-1" / "report.json.gz"
    packed.write_bytes(gzip.compress(publish.first.read_bytes()))
    publish(publish.first, packed)  # one report, named twice
    before = files_of(site)
    publish(site)
    assert files_of(site) == before
    own = site / "my-own-name"
    own.mkdir()
    data = gzip.compress((publish.reports / "one-2" / "report.json").read_bytes(), 1)
    (own / "report.json.gz").write_bytes(data)
    (own / "report.html").write_text("<script>forged words</script>")
    (own / "packages.txt").write_text("one==0.10")
    (site / "run" / "through").mkdir(parents=True)
    for place in ("", "run/through"):  # what a run leaves there is not meant
        shutil.copy(made / "two" / "report.json", site / place)
    publish(site)
    ids = {report["version"]: report["id"] for report in index_of(site)["reports"]}
    assert ids == {"0.9": "one-0.9", "0.10": "my-own-name"}
    assert (own / "report.json.gz").read_bytes() == data
    assert "forged words" not in (own / "report.html").read_text("utf-8")
    assert (own / "packages.txt").read_text() == "one==0.10"


def test_unnamed_reports_go_and_others_stay(publish: Publishing, site: Path) -> None:
    publish(publish.reports)
    (site / "README.md").write_text("mine")
    (site / "one-0.9" / "packages.txt").write_text("mine")
    publish(publish.reports / "two")
    left = files_of(site)
    assert set(left) == {*index_of(site)["files"], "README.md", "one-0.9/packages.txt"}
    assert not (site / "one-0.10").exists()


# What is refused


def upgraded(report: Document) -> None:
    report["verdict"].update(conformant=True, standing="conformant, robust")


@pytest.mark.parametrize(
    ("change", "seal", "code", "why"),
    [
        (upgraded, False, 1, "the report was edited"),
        (upgraded, True, 1, "which does not follow from the cases"),
        (lambda r: r["cases"][0].update(outcome="fail"), True, 1, "it does not hold"),
        (lambda r: r["suite"].update(report=9), True, 2, "has report format 9"),
        (lambda r: r.update(another=1), True, 2, "unknown field"),
        (with_catalogue(), True, 2, "--outdated"),
    ],
)
def test_a_report_that_does_not_hold_is_refused_in_one_line_and_the_site_stays(
    publish: Publishing, site: Path, change: Change, seal: bool, code: int, why: str
) -> None:
    publish(publish.reports)
    before = files_of(site)
    bad = publish.reports / "one-2" / "report.json"
    forge(bad, change, seal=seal)
    refusal, last = publish(publish.reports, code=code)
    assert f"refused {bad}: " in refusal
    assert why in refusal
    assert "nothing was published" in last
    assert files_of(site) == before
    assert not list(site.glob(".*"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda r: r.update(started="9999-12-31T23:59:59+00:00"), "started in the future"),
        (lambda r: r.update(started="9999-12-31T23:59:59-23:59"), "started in the future"),
        (lambda r: r.update(started="2026-01-02T03:04:05"), "not a time with a time zone"),
        (lambda r: r["target"].update(url="http://h.example/?q"), "no run can have this target"),
        (lambda r: r["target"].update(url="javascript:alert(1)"), "no run can have this target"),
    ],
)
@pytest.mark.parametrize("of_any_catalogue", [False, True])
def test_what_no_run_can_have_is_refused(
    publish: Publishing, site: Path, change: Change, why: str, of_any_catalogue: bool
) -> None:
    forge(publish.first, with_catalogue(change) if of_any_catalogue else change)
    assert why in publish(publish.first, "--outdated", "--newest", code=1)[0]
    assert not site.exists()


def test_of_two_reports_on_one_version_the_newest_is_taken_if_asked(
    publish: Publishing, site: Path
) -> None:
    publish(publish.first)
    (site / "one-0.9").rename(site / "own")
    day = datetime.fromisoformat(json.loads(publish.first.read_text())["started"])
    later = (day + timedelta(hours=1)).isoformat()
    forge(publish.first, lambda r: r.update(started=later))
    assert "--newest" in publish(site, publish.first, code=2)[0]
    publish(site, publish.first, "--newest")
    (found,) = index_of(site)["reports"]
    assert (found["id"], found["started"]) == ("own", later)


def test_other_catalogue_is_outdated(publish: Publishing, site: Path) -> None:
    forge(publish.first, with_catalogue())
    publish(publish.reports, "--outdated")
    found = {r["version"]: r["confirmed"] for r in index_of(site)["reports"] if r["name"] == "One"}
    assert found == {"0.9": False, "0.10": True}
    badge = json.loads((site / "one-0.9" / "badge.json").read_text())
    assert badge["message"] == "outdated"
    for page in ("index.html", "servers/one.html"):
        assert (site / page).read_text("utf-8").count("Outdated.") == 1
    forge(publish.first, lambda r: r["suite"].update(version="1"), seal=False)
    publish(publish.reports, "--outdated", code=1)


def invented(report: Document) -> None:
    """A report of one case that passed."""
    row = next(row for row in report["requirements"] if row["id"] == "P2")
    case = next(case for case in report["cases"] if case["requirement"] == "P2")
    report.update(requirements=[{**row, "outcome": "pass"}], cases=[case], planned={"P2": 1})
    upgraded(report)
    report["verdict"].update(robust=True, reasons=[], warnings=[], claim="certified by everybody")


def test_what_was_not_confirmed_shows_no_verdict_of_its_own_in_any_file(
    publish: Publishing, site: Path
) -> None:
    forge(publish.first, with_catalogue(invented))
    publish(publish.first, "--outdated", "--base-url", "https://h.example")
    (found,) = index_of(site)["reports"]
    assert (found["verdict"], found["confirmed"]) == ("outdated", False)
    assert {found[name] for name in ("conformant", "robust", "complete")} == {False}
    assert found["levels"] == found["requirements"] == {}
    kept = found["report"]  # the bytes that were judged
    for name, data in files_of(site).items():
        text = Page(data.decode()).text if name.endswith(".html") else data.decode("latin-1")
        for words in ("✓", "conformant, robust", "certified by", "P2", "MUST hold"):
            assert name == kept or words not in text, (name, words)


def other_message(report: Document) -> None:
    for case in report["cases"]:
        case.update(message="Certified by everybody.", expected=None)


def test_messages_are_made_of_causes_again(publish: Publishing, site: Path) -> None:
    forge(publish.first, other_message)
    assert main(["verify", str(publish.first)]) == 0
    publish(publish.first)
    for name, data in files_of(site).items():
        assert name.endswith(".gz") or b"Certified" not in data, name


# The folder


@pytest.mark.parametrize(
    "index",
    [None, "", "[]", "{}", '{"site": {"name": "mkdocs", "format": 1}}', '{"site": 1, "files": []}'],
)
def test_a_folder_with_files_and_no_site_is_refused_and_left(
    publish: Publishing, site: Path, index: str | None
) -> None:
    site.mkdir()
    (site / "thesis.tex").write_text("mine")
    if index is not None:
        (site / "index.json").write_text(index)
    before = files_of(site)
    (line,) = publish(publish.reports, code=2)
    assert "no site that `publish` made" in line
    assert files_of(site) == before


def test_a_forged_index_removes_no_file_that_publish_did_not_write(
    publish: Publishing, site: Path, tmp_path: Path
) -> None:
    publish(publish.reports)
    outside = tmp_path / "outside" / "report.html"
    outside.parent.mkdir()
    (site / "linked").symlink_to(outside.parent)
    own = ("notes.txt", "src/main.py", "a/b/report.html")
    mine = [outside, *(site / name for name in own)]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    index = index_of(site)
    index["files"] += [*own, "../outside/report.html", "linked/report.html", str(outside)]
    index["files"] += ["src/../notes.txt", ".", ""]
    (site / "index.json").write_text(json.dumps(index))
    publish(publish.reports / "two")
    assert all(path.read_text() == "mine" for path in mine)
    index["site"]["format"] += 1
    (site / "index.json").write_text(json.dumps(index))
    assert "newer version" in publish(publish.reports, code=2)[0]


def test_a_file_in_the_way_is_named_and_stays(
    publish: Publishing, site: Path, tmp_path: Path
) -> None:
    publish(publish.first)
    before = files_of(site)
    way = site / "one-0.10"
    way.write_text("mine")
    assert f"{way} is in the way" in publish(publish.reports, code=2)[0]
    way.unlink()
    way.mkdir()
    (way / "report.html").write_text("mine")
    publish(publish.reports, code=2)
    assert (way / "report.html").read_text() == "mine"
    shutil.rmtree(way)
    assert files_of(site) == before
    elsewhere = tmp_path / "elsewhere"
    (site / "one-0.9").rename(elsewhere)
    (site / "one-0.9").symlink_to(elsewhere)  # not followed
    before = files_of(elsewhere)
    forge(publish.first, lambda r: r.update(started="2020-01-01T00:00:00Z"))
    publish(publish.reports, code=2)
    assert files_of(elsewhere) == before


@pytest.mark.parametrize("at", [1, 8, 15])
def test_a_move_that_fails_moves_everything_back(
    publish: Publishing, site: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    publish(publish.reports / "one-1", publish.reports / "two")
    before = files_of(site)
    moves = 0
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        nonlocal moves
        if source.suffix != ".new":  # how each file is written
            moves += 1
            if moves == at:
                raise OSError(28, "No space left on device", str(source), None, str(target))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    lines = publish(*(publish.reports / name for name in ("one-2", "two", "client")), code=3)
    assert "No space left on device; the site is as it was" in lines[0]
    assert files_of(site) == before


def test_two_builds_do_not_meet(publish: Publishing, site: Path) -> None:
    site.mkdir()
    descriptor = os.open(site, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        (line,) = publish(publish.reports, code=2)
    finally:
        os.close(descriptor)
    assert "another `publish` is writing" in line


def test_each_refused_report_has_a_line(publish: Publishing, made: Path) -> None:
    forge(publish.first, upgraded)
    cut = publish.reports / "one-2" / "report.json"
    cut.write_bytes(cut.read_bytes()[:-100])
    record = made / "one-1" / "report.jsonl"
    lines = publish(publish.reports, record, code=1)
    named = [line.partition("refused ")[2].partition(":")[0] for line in lines]
    assert named == [str(publish.first), str(cut), str(record), ""]


def test_a_base_url_cannot_leave_its_snippet(publish: Publishing, site: Path) -> None:
    publish(publish.first, "--base-url", "https://h/a)\"'><b>(")
    page = Page((site / "servers" / "one.html").read_text("utf-8"))
    assert "https://h/a%29%22%27%3E%3Cb%3E%28/one-0.9/badge.svg" in page.text
