"""`publish`: a site of reports that hold, or none; and never the loss of anybody's file."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of reports, each in a folder: a server in two versions, another one, a client."""
    folder = tmp_path_factory.mktemp("made")
    report_on(folder / "one-1", "One", "0.9")
    report_on(folder / "one-2", "One", "0.10")
    report_on(folder / "two", HOSTILE, "../../1")
    report_on_client(folder / "client")
    return folder


@pytest.fixture
def reports(made: Path, tmp_path: Path) -> Path:
    """The same, for a test to change; without what runs leave beside a report."""
    for path in made.glob("*/report.json"):
        folder = tmp_path / "reports" / path.parent.name
        folder.mkdir(parents=True)
        shutil.copy(path, folder)
    return tmp_path / "reports"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


Publish = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def publish(capsys: pytest.CaptureFixture[str]) -> Publish:
    """Calls the command; its exit code and what it wrote to standard error, by line."""

    def call(*arguments: object) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = main(["publish", *map(str, arguments)])
        return code, capsys.readouterr().err.splitlines()

    return call


def folder_of(site: Path, version: str) -> Path:
    (found,) = (r["id"] for r in index_of(site)["reports"] if r["version"] == version)
    return site / str(found)


def forge(path: Path, change: Callable[[Document], object], *, seal: bool = True) -> None:
    """Change a report; with `seal`, its digest is computed again."""
    report = read_document(path)
    change(report)
    if seal:
        report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    path.write_text(json.dumps(report))


def upgraded(report: Document) -> None:
    report["verdict"]["conformant"] = True
    report["verdict"]["standing"] = "conformant, robust"


# What a site has


def test_a_site_has_pages_and_an_index(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports) == (0, [])
    index = index_of(site)
    schema("site").validate(index)
    assert index["files"] == sorted(files_of(site))
    assert [(r["kind"], r["version"]) for r in index["reports"] if r["name"] == "One"] == [
        ("server", "0.9"),
        ("server", "0.10"),
    ]
    assert {r["kind"] for r in index["reports"]} == {"server", "client"}
    assert all(r["confirmed"] and r["verdict"] == "incomplete run" for r in index["reports"])
    one = next(product for product in index["products"] if product["name"] == "One")
    assert one["reports"] == ["one-0.9", "one-0.10"]
    assert one["page"] == "servers/one.html"


def test_every_link_leads_to_a_file(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports)[0] == 0
    followed = 0
    for name in files_of(site):
        if name.endswith(".html") and not name.endswith("/report.html"):
            page = Page((site / name).read_text("utf-8"))
            for link in page.links:
                parts = urlsplit(link)
                assert not parts.scheme, link
                assert not parts.netloc, link
                if parts.path:
                    assert (site / name).parent.joinpath(unquote(parts.path)).is_file(), link
                    followed += 1
    assert followed > 10


def test_pages_show_hostile_names_as_text(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports, "--base-url", "https://h.example/x")[0] == 0
    for name in ("index.html", "clients.html", *(p["page"] for p in index_of(site)["products"])):
        page = Page((site / name).read_text("utf-8"))
        assert page.policy.startswith("default-src 'none'; ")
        assert "unsafe-inline" not in page.policy
        assert all(image.startswith("data:image/svg+xml;base64,") for image in page.images)
        assert page.tags["script"] == 1, "its own script"
    hostile = next(p for p in index_of(site)["products"] if p["name"].startswith(HOSTILE[:5]))
    assert "<script>alert(1)</script>" in Page((site / hostile["page"]).read_text()).text


def test_hostile_name_stays(publish: Publish, reports: Path, site: Path, tmp_path: Path) -> None:
    before = files_of(tmp_path)
    assert publish(site, reports)[0] == 0
    new = files_of(tmp_path).keys() - before.keys()
    assert all(name.startswith("site/") for name in new)
    assert all(name.count("/") <= 2 and ".." not in name for name in new)


def test_a_page_has_trend_and_badges(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports, "--base-url", "https://h.example/a%20b/")[0] == 0
    text = Page((site / "servers" / "one.html").read_text("utf-8")).text
    assert "0.9 → 0.10" in text
    for base in ("", "https://h.example/a%20b/"):
        badge, page = f"{base}one-0.9/badge.svg", f"{base}one-0.9/report.html"
        assert f"[![V2 binary tensor data: conformance]({badge})]({page})" in text
        assert f'<a href="{page}"><img src="{badge}" alt=' in text
    assert index_of(site)["base_url"] == "https://h.example/a%20b"


def test_the_same_reports_make_the_same_site(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports)[0] == 0
    before = files_of(site)
    inodes = {path: path.stat().st_ino for path in site.rglob("*.html")}
    assert publish(site, site)[0] == 0
    assert files_of(site) == before
    # What does not change is not written again.
    assert {path: path.stat().st_ino for path in site.rglob("*.html")} == inodes


def test_a_report_keeps_its_folder_and_bytes(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports / "one-1")[0] == 0
    (site / "my-own-name").mkdir()
    data = gzip.compress((reports / "one-2" / "report.json").read_bytes(), 1)
    (site / "my-own-name" / "report.json.gz").write_bytes(data)
    (site / "my-own-name" / "report.html").write_text("<script>forged words</script>")
    (site / "my-own-name" / "packages.txt").write_text("one==0.10")
    assert publish(site, site)[0] == 0
    assert folder_of(site, "0.10") == site / "my-own-name"
    assert (site / "my-own-name" / "report.json.gz").read_bytes() == data
    assert "forged words" not in (site / "my-own-name" / "report.html").read_text("utf-8")
    assert (site / "my-own-name" / "packages.txt").read_text() == "one==0.10"


def test_unnamed_reports_go_and_others_stay(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports)[0] == 0
    (site / "README.md").write_text("mine")
    (site / "one-0.9" / "packages.txt").write_text("mine")
    assert publish(site, reports / "two")[0] == 0
    left = files_of(site)
    assert set(left) == {*index_of(site)["files"], "README.md", "one-0.9/packages.txt"}
    assert not (site / "one-0.10").exists()
    assert "clients.html" not in left


def test_nested_reports_are_left(publish: Publish, reports: Path, site: Path, made: Path) -> None:
    """What a run leaves at the top, or in a folder of a folder, is not meant."""
    assert publish(site, reports / "one-1")[0] == 0
    (site / "run" / "through").mkdir(parents=True)
    for place in (site, site / "run" / "through"):
        shutil.copy(made / "two" / "report.json", place)
    assert publish(site, site)[0] == 0
    assert [report["name"] for report in index_of(site)["reports"]] == ["One"]


def test_a_report_named_twice_is_one(publish: Publish, reports: Path, site: Path) -> None:
    packed = reports / "one-1" / "report.json.gz"
    packed.write_bytes(gzip.compress((reports / "one-1" / "report.json").read_bytes()))
    assert publish(site, reports / "one-1", packed)[0] == 0
    assert len(index_of(site)["reports"]) == 1


# What is refused


@pytest.mark.parametrize(
    ("change", "seal", "code", "why"),
    [
        (upgraded, False, 1, "the report was edited"),
        (upgraded, True, 1, "which does not follow from the cases"),
        (lambda r: r["cases"][0].update(outcome="fail"), True, 1, "it does not hold"),
        (lambda r: r["suite"].update(report=9), True, 2, "has report format 9"),
        (lambda r: r.update(another=1), True, 2, "unknown field"),
        (lambda r: r["suite"].update(catalogue="0" * 16), True, 2, "--outdated"),
    ],
    ids=["edited", "verdict", "outcome", "format", "member", "catalogue"],
)
def test_a_report_that_does_not_hold_is_refused_in_one_line_and_the_site_stays(
    publish: Publish,
    reports: Path,
    site: Path,
    change: Callable[[Document], object],
    seal: bool,
    code: int,
    why: str,
) -> None:
    assert publish(site, reports)[0] == 0
    before = files_of(site)
    bad = reports / "one-2" / "report.json"
    forge(bad, change, seal=seal)
    found, lines = publish(site, reports)
    assert found == code
    refusal, last = lines
    assert f"refused {bad}: " in refusal
    assert why in refusal
    assert "nothing was published" in last
    assert files_of(site) == before
    assert not list(site.glob(".*"))


def test_each_refused_report_has_a_line(publish: Publish, reports: Path, site: Path) -> None:
    forge(reports / "one-1" / "report.json", upgraded)
    cut = reports / "one-2" / "report.json"
    cut.write_bytes(cut.read_bytes()[:-100])
    code, lines = publish(site, reports)
    assert code == 1
    assert [line.partition("refused ")[2].partition(":")[0] for line in lines] == [
        str(reports / "one-1" / "report.json"),
        str(cut),
        "",
    ]
    assert not site.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"\x1f\x8b", gzip.compress(b"{}") + b"more", gzip.compress(b"{}"), b"\xff"],
    ids=["empty", "no-report", "cut", "trailing", "packed", "binary"],
)
def test_no_report_refused(publish: Publish, reports: Path, site: Path, content: bytes) -> None:
    path = reports / "report.json"
    path.write_bytes(content)
    code, lines = publish(site, path)
    assert (code, len(lines)) == (2, 2)
    assert not site.exists()


def test_a_record_is_refused(publish: Publish, made: Path, site: Path) -> None:
    code, lines = publish(site, made / "one-1" / "report.jsonl")
    assert code == 2
    assert "record of a run" in lines[0]


def test_one_of_two_reports(publish: Publish, reports: Path, site: Path, tmp_path: Path) -> None:
    old = reports / "one-1" / "report.json"
    new = report_on(tmp_path / "again", "One", "0.9")
    code, lines = publish(site, old, new)
    assert code == 2
    assert "--newest" in lines[0]
    assert not site.exists()


def test_other_claims_both(publish: Publish, reports: Path, site: Path, tmp_path: Path) -> None:
    raw = report_on(tmp_path / "raw", "One", "0.9", ["binary", "raw"])
    assert publish(site, reports / "one-1", raw)[0] == 0
    found = index_of(site)["reports"]
    assert {tuple(report["profiles"]) for report in found} == {("binary",), ("binary", "raw")}
    assert len({report["id"] for report in found}) == 2
    assert "Trend" not in (site / "servers" / "one.html").read_text("utf-8")


def test_newest_is_taken(publish: Publish, reports: Path, site: Path, tmp_path: Path) -> None:
    assert publish(site, reports / "one-1")[0] == 0
    (site / "one-0.9").rename(site / "own")
    assert publish(site, site)[0] == 0
    old = index_of(site)["reports"][0]
    report = json.loads((reports / "one-1" / "report.json").read_text())
    path = reports / "one-1" / "report.json"
    day = datetime.fromisoformat(report["started"])
    later = (day + timedelta(hours=1)).isoformat()
    forge(path, lambda r: r.update(started=later))
    code, _ = publish(site, site, path, "--newest")
    assert code == 0
    (found,) = index_of(site)["reports"]
    assert (found["id"], found["started"]) == ("own", later)
    assert found["digest"] != old["digest"]


def test_other_catalogue_is_outdated(publish: Publish, reports: Path, site: Path) -> None:
    old = reports / "one-1" / "report.json"
    forge(old, lambda r: r["suite"].update(catalogue="0" * 16))
    assert publish(site, reports, "--outdated")[0] == 0
    found = {r["version"]: r["confirmed"] for r in index_of(site)["reports"] if r["name"] == "One"}
    assert found == {"0.9": False, "0.10": True}
    badge = folder_of(site, "0.9") / "badge.json"
    assert json.loads(badge.read_text())["message"] == "outdated"
    for page in ("index.html", "servers/one.html"):
        assert (site / page).read_text("utf-8").count("Outdated.") == 1


def invented(report: Document) -> None:
    """A report of one case that passed, on a catalogue that nobody has."""
    report["suite"]["catalogue"] = "0" * 16
    row = next(row for row in report["requirements"] if row["id"] == "P2")
    case = next(case for case in report["cases"] if case["requirement"] == "P2")
    report.update(requirements=[{**row, "outcome": "pass"}], cases=[case], planned={"P2": 1})
    report["verdict"].update(
        conformant=True, robust=True, reasons=[], warnings=[], standing="conformant, robust"
    )
    report["verdict"]["claim"] = "certified by everybody"


def test_what_was_not_confirmed_shows_no_verdict_of_its_own_in_any_file(
    publish: Publish, reports: Path, site: Path
) -> None:
    path = reports / "one-1" / "report.json"
    forge(path, invented)
    assert publish(site, path, "--outdated", "--base-url", "https://h.example")[0] == 0
    (found,) = index_of(site)["reports"]
    assert (found["verdict"], found["confirmed"]) == ("outdated", False)
    assert {found[name] for name in ("conformant", "robust", "complete")} == {False}
    assert found["levels"] == found["requirements"] == {}
    kept = found["report"]  # the bytes that were judged
    for name, data in files_of(site).items():
        if name == kept:
            continue
        text = Page(data.decode()).text if name.endswith(".html") else data.decode()
        for words in ("✓", "conformant, robust", "certified by", "P2", "MUST hold"):
            assert words not in text, (name, words)


def other_message(report: Document) -> None:
    for case in report["cases"]:
        case["message"] = "Certified by everybody."
        case["expected"] = None


def test_messages_are_made_of_causes_again(publish: Publish, reports: Path, site: Path) -> None:
    path = reports / "one-1" / "report.json"
    forge(path, other_message)
    assert main(["verify", str(path)]) == 0
    assert publish(site, path)[0] == 0
    for name, data in files_of(site).items():
        assert name.endswith(".gz") or b"Certified" not in data, name


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda r: r.update(started="9999-12-31T23:59:59+00:00"), "started in the future"),
        (lambda r: r.update(started="9999-12-31T23:59:59-23:59"), "started in the future"),
        (lambda r: r.update(started="yesterday"), "not a time with a time zone"),
        (lambda r: r.update(started="2026-01-02T03:04:05"), "not a time with a time zone"),
        (lambda r: r["target"].update(url="http://h.example/?q"), "no run can have this target"),
        (lambda r: r["target"].update(url="javascript:alert(1)"), "no run can have this target"),
    ],
    ids=["future", "far future", "no time", "no zone", "query", "script"],
)
@pytest.mark.parametrize("catalogue", [None, "0" * 16])
def test_what_no_run_can_have_is_refused_of_any_catalogue(
    publish: Publish,
    reports: Path,
    site: Path,
    change: Callable[[Document], object],
    why: str,
    catalogue: str | None,
) -> None:
    def forged(report: Document) -> None:
        change(report)
        report["suite"]["catalogue"] = catalogue or report["suite"]["catalogue"]

    path = reports / "one-1" / "report.json"
    forge(path, forged)
    code, (refusal, _) = publish(site, path, "--outdated", "--newest")
    assert code == 1
    assert why in refusal
    assert not site.exists()


def test_outdated_lets_no_edited_report_in(publish: Publish, reports: Path, site: Path) -> None:
    path = reports / "one-1" / "report.json"
    forge(path, lambda r: r["suite"].update(catalogue="0" * 16), seal=False)
    assert publish(site, reports, "--outdated")[0] == 1


# The folder


@pytest.mark.parametrize(
    "index",
    [None, "", "[]", "{}", '{"site": {"name": "mkdocs", "format": 1}}', '{"site": 1, "files": []}'],
    ids=["none", "empty", "list", "object", "another", "number"],
)
def test_a_folder_with_files_and_no_site_is_refused_and_left(
    publish: Publish, reports: Path, site: Path, index: str | None
) -> None:
    site.mkdir()
    (site / "thesis.tex").write_text("mine")
    if index is not None:
        (site / "index.json").write_text(index)
    before = files_of(site)
    code, lines = publish(site, reports)
    assert (code, len(lines)) == (2, 1)
    assert "no site that `publish` made" in lines[0]
    assert files_of(site) == before


def test_a_site_of_a_newer_format_is_refused(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports)[0] == 0
    index = index_of(site)
    index["site"]["format"] += 1
    (site / "index.json").write_text(json.dumps(index))
    code, lines = publish(site, reports)
    assert code == 2
    assert "newer version" in lines[0]


def test_forged_index(publish: Publish, reports: Path, site: Path, tmp_path: Path) -> None:
    assert publish(site, reports)[0] == 0
    outside = tmp_path / "outside" / "report.html"
    outside.parent.mkdir()
    (site / "linked").symlink_to(outside.parent)
    mine = [outside, site / "notes.txt", site / "src" / "main.py", site / "a" / "b" / "report.html"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    index = index_of(site)
    names = ["../outside/report.html", "notes.txt", "src/main.py", "a/b/report.html"]
    index["files"] += [*names, "linked/report.html", str(outside), "src/../notes.txt", ".", ""]
    (site / "index.json").write_text(json.dumps(index))
    assert publish(site, reports / "two")[0] == 0
    assert all(path.read_text() == "mine" for path in mine)


def test_a_file_in_the_way_is_named_and_stays(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports / "one-1")[0] == 0
    before = files_of(site)
    (site / "one-0.10").write_text("mine")
    code, lines = publish(site, reports)
    assert code == 2
    assert f"{site / 'one-0.10'} is in the way" in lines[0]
    (site / "one-0.10").unlink()
    (site / "one-0.10").mkdir()
    (site / "one-0.10" / "report.html").write_text("mine")
    code, lines = publish(site, reports)
    assert code == 2
    assert (site / "one-0.10" / "report.html").read_text() == "mine"
    shutil.rmtree(site / "one-0.10")
    assert files_of(site) == before


def test_link_not_followed(publish: Publish, reports: Path, site: Path, tmp_path: Path) -> None:
    assert publish(site, reports)[0] == 0
    elsewhere = tmp_path / "elsewhere"
    (site / "one-0.9").rename(elsewhere)
    (site / "one-0.9").symlink_to(elsewhere)
    forge(reports / "one-1" / "report.json", lambda r: r.update(started="2020-01-01T00:00:00Z"))
    before = files_of(elsewhere)
    assert publish(site, reports)[0] == 2
    assert files_of(elsewhere) == before


@pytest.mark.parametrize("at", [1, 8, 15])
def test_a_move_that_fails_moves_everything_back(
    publish: Publish, reports: Path, site: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    assert publish(site, reports / "one-1", reports / "two")[0] == 0
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
    code, lines = publish(site, reports / "one-2", reports / "two", reports / "client")
    assert code == 3
    assert "No space left on device; the site is as it was" in lines[0]
    assert files_of(site) == before


def test_a_folder_that_cannot_be_written_is_one_line(publish: Publish, reports: Path) -> None:
    code, lines = publish("/proc/site", reports)
    assert (code, len(lines)) == (2, 1)
    assert "cannot write into /proc/site" in lines[0]


def test_two_builds_do_not_meet(publish: Publish, reports: Path, site: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    site.mkdir()
    descriptor = os.open(site, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        code, lines = publish(site, reports)
    finally:
        os.close(descriptor)
    assert code == 2
    assert "another `publish` is writing" in lines[0]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://", "//h", "https://h/?q", "https://h/#f", "https://u@h/", "x"],
)
def test_wrong_base_url_refused(publish: Publish, reports: Path, site: Path, url: str) -> None:
    code, lines = publish(site, reports, "--base-url", url)
    assert (code, len(lines)) == (2, 1)
    assert "--base-url" in lines[0]
    assert not site.exists()


def test_a_base_url_cannot_leave_its_snippet(publish: Publish, reports: Path, site: Path) -> None:
    assert publish(site, reports, "--base-url", "https://h/a)\"'><b>(")[0] == 0
    page = Page((site / "servers" / "one.html").read_text("utf-8"))
    assert "https://h/a%29%22%27%3E%3Cb%3E%28/one-0.9/badge.svg" in page.text
