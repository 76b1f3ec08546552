"""Publish reports on servers and clients: `tox -e publish`, or `publish.py --work DIR [NAME …]`.
`publish.py --site` builds the site of the reports that are there, without a server. Both take the
picture of a report for README.md, which needs Chromium.

For each file of expectations/ the server is installed into an environment of its own, gets the
suite's models and is tested. For each of clients/expectations/ the client is installed likewise and
put on the bench. reports/NAME/ then has report.json.gz and packages.txt (what was installed), and
reports/README.md says what each of them does. `v2-conformance publish` makes the site of all. A
report that differs from its expectation, whose sentences would then be wrong, is an error.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from expectation import Expectation, differences, every_expectation, newest_of_each
from servers import SERVERS, ServerFailedError, inside, usable_port
from support.browser import browsing
from support.tools import find
from v2_conformance.cli.main import main as conformance
from v2_conformance.formats.registry import PAGE
from v2_conformance.kits.registry import write_kit
from v2_conformance.report.document import Report, RequirementResult
from v2_conformance.report.files import PACKED_REPORT, RECORD, REPORT, load_report, packed_bytes
from v2_conformance.report.verdict.judged import failed_musts, judged
from v2_conformance.report.verdict.standing import standing
from v2_conformance.report.words import priced
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_publishing.site_index import INDEX

REPORTS = Path(__file__).parents[2] / "reports"
README = REPORTS / "README.md"
FRONT_PAGE = REPORTS.parent / "README.md"
PICTURE = REPORTS.parent / "docs" / "report.png"
OLDER = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{name}</title>
<p>An older version. This command makes the page of its report:</p>
<pre>v2-conformance report {name}/report.json.gz</pre>
</html>
"""
"""The page of a report of which there is a newer version."""
PICTURED = REPORTS / "triton-2.51.0" / "report.html"
"""The report that the front page shows."""
BEGIN = "<!-- From here on written by `tox -e publish`, from tests/real/expectations/. -->\n"
TABLE = "<!-- Written by `tox -e publish`, from tests/real/expectations/. -->\n"
TABLE_END = "<!-- The end of what it writes. -->\n"
# Their own defaults: with any free port each publication would differ in every request.
_PORTS = {"kserve": 8080, "lite-server": 8000, "mlserver": 8080, "triton": 8000}
_MOST_SENTENCES = 3
_SINGLE_RUN_ERRORS = (ServerFailedError, subprocess.CalledProcessError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Publish what is named, by default everything; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    expectations = every_expectation()
    known = [one.name for one in expectations]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--work", type=Path, metavar="DIR", help="environments and servers' logs")
    parser.add_argument("--readme", action="store_true", help="write the two README.md alone")
    parser.add_argument("--site", action="store_true", help="and the site of what is there")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no expectation for {', '.join(unknown)}; there are: {', '.join(known)}")
    if options.readme:
        write_readmes(expectations)
        return 0
    if find("chromium") is None:
        parser.error(
            f"Chromium is needed to take {PICTURE.name} (Debian: apt-get install chromium)"
        )
    if options.site:
        write_readmes(expectations)
        return site()
    if options.work is None:
        parser.error("--work is needed")
    wrong = []
    for expected in expectations:
        if not options.names or expected.name in options.names:
            try:
                found = publish(expected, options.work.resolve() / expected.name)
            except _SINGLE_RUN_ERRORS as error:
                found = [str(error)]
            wrong += [f"{expected.name}: {line}" for line in found]
    if not wrong:
        write_readmes(expectations)
        return site()
    print(*wrong, sep="\n", file=sys.stderr)
    return 1


def publish(expected: Expectation, work: Path, folder: Path | None = None) -> list[str]:
    """Write reports/NAME/, or `folder`, from a run on a new server; what differs from `expected`,
    by line. `work` keeps the environment in environment/, and the models and server.log in
    server/."""
    folder = REPORTS / expected.name if folder is None else folder
    if expected.adapter:
        python, _ = run_client(expected, work, folder, "--jobs", "2")
    else:
        python = _environment(work / "environment", expected.package)
        server = work / "server"
        shutil.rmtree(server, ignore_errors=True)
        server.mkdir(parents=True)
        serving = SERVERS[expected.server](server, port=_port(expected.server), python=python)
        with serving as url, inside(server / "models", python):
            conformance(expected.run_arguments(url, folder.absolute()))
    (folder / RECORD).unlink()
    plain = folder / REPORT
    (folder / PACKED_REPORT).write_bytes(packed_bytes(plain))
    plain.unlink()
    packages = _pip(python, "freeze", "--disable-pip-version-check")
    (folder / "packages.txt").write_text(packages, "utf-8", newline="\n")
    return differences(expected, load_report(folder / PACKED_REPORT))


def run_client(expected: Expectation, work: Path, folder: Path, *options: str) -> tuple[Path, int]:
    """Put a client on the bench, in an environment of its own below `work`, and write the report
    to `folder`; the Python of that environment, and the command's exit code."""
    python = _environment(work / "environment", expected.package)
    adapters = work / "adapters"
    shutil.rmtree(adapters, ignore_errors=True)
    write_kit("clients", adapters)
    with inside(adapters, python):
        command, *more = expected.run_arguments("", folder.absolute())
        return python, conformance([command, *options, *more])


def site() -> int:
    """Build the site in reports/ of the reports that it has, and take the picture; the exit code.

    Those that were not made again after a change of the cases are marked as outdated. Of the older
    versions of a product, the repository has the reports alone, which any page can be made of.
    """
    code = conformance(["publish", "--outdated", str(REPORTS), str(REPORTS)])
    for product in json.loads((REPORTS / INDEX).read_text("utf-8"))["products"]:
        for name in product["reports"][:-1]:
            (REPORTS / name / PAGE.file_name).write_text(OLDER.format(name=name), "utf-8")
    PICTURE.write_bytes(picture(PICTURED))
    return code


def picture(page: Path) -> bytes:
    """Return a PNG of the top of a report, with `source_of` in it. It lacks the report's age, which
    the page counts from the day on which it is read."""
    program = find("chromium")
    assert program is not None
    with tempfile.TemporaryDirectory() as folder, browsing(program, Path(folder)) as browser:
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.open(page.absolute().as_uri(), width=1100, height=880)
        browser.evaluate(
            "document.querySelectorAll('time[data-age] + .dim').forEach(age => age.remove())"
        )
        png = base64.b64decode(browser.call("Page.captureScreenshot")["data"])
    text = b"tEXt" + source_of(page)
    end = png.rindex(b"IEND") - 4
    length, checksum = struct.pack(">I", len(text) - 4), struct.pack(">I", zlib.crc32(text))
    return png[:end] + length + text + checksum + png[end:]


def source_of(page: Path) -> bytes:
    """Return the text in a picture that says of which page it is."""
    return b"Source\0sha256 " + sha256(page.read_bytes()).hexdigest().encode()


Published = Sequence[tuple[Expectation, Report]]
"""The reports that are published: each with its expectation, which has the words for people."""


def published_reports(expectations: Iterable[Expectation]) -> Published:
    """The published reports on what is expected; a new one has none yet."""
    paths = {expected.name: REPORTS / expected.name / PACKED_REPORT for expected in expectations}
    return [(e, load_report(paths[e.name])) for e in expectations if paths[e.name].is_file()]


def write_readmes(expectations: Iterable[Expectation]) -> None:
    """Write what the two README.md say of the published reports."""
    published = published_reports(expectations)
    for path, made in ((README, readme), (FRONT_PAGE, front_page)):
        path.write_text(made(path.read_text("utf-8"), published), "utf-8", newline="\n")


def readme(text: str, published: Published) -> str:
    """`text` of reports/README.md, what follows BEGIN in it made anew, older versions last."""
    newest = newest_of_each(expected for expected, _ in published)
    ordered = sorted(published, key=lambda pair: pair[0] not in newest)
    sections = ["\n".join(_section(expected, report)) for expected, report in ordered]
    return "\n".join([text.partition(BEGIN)[0] + BEGIN, *sections])


def front_page(text: str, published: Published) -> str:
    """`text` of README.md with a new table of the newest version of each server."""
    before, _, rest = text.partition(TABLE)
    head = "| server | verdict | what is wrong first |\n|---|---|---|\n"
    newest = newest_of_each(expected for expected, _ in published if not expected.adapter)
    rows = "".join(_row(expected, report) for expected, report in published if expected in newest)
    return before + TABLE + head + rows + TABLE_END + rest.partition(TABLE_END)[2]


def _row(expected: Expectation, report: Report) -> str:
    server = f"[{expected.server} {expected.version}](reports/{expected.name}/report.html)"
    musts = [must.id for must in failed_musts(report) if must.blocks == "conformant"]
    seen = dict.fromkeys(expected.seen[name].strip() for name in musts or [*expected.seen][:1])
    return f"| {server} | {standing(report).words} | {' '.join([*seen][:_MOST_SENTENCES])} |\n"


def _section(expected: Expectation, report: Report) -> Iterator[str]:
    yield f"## {expected.server} {expected.version}: {priced(report)}\n"
    yield (
        f"`pip install {expected.package}`, profiles {', '.join(expected.profiles)}. "
        f"[Report]({expected.name}/report.html), [for programs]({expected.name}/{PACKED_REPORT}), "
        f"[what was installed]({expected.name}/packages.txt).\n"
    )
    yield f"| requirements | what the {'client' if expected.adapter else 'server'} does |"
    yield "|---|---|"
    rows = {row.id: row for row in judged(report)}
    by_sentence: dict[str, list[str]] = {}
    for requirement, sentence in expected.seen.items():
        by_sentence.setdefault(sentence, []).append(requirement)
    for sentence, requirements in by_sentence.items():
        escaped = sentence.strip().replace("|", "\\|")
        there = [rows[key] for key in requirements if key in rows]
        if there:  # not so in a report of another version of the catalogue
            yield f"| {_listed(there)} | {escaped} |"
    yield ""
    lacking = [row.id for row in rows.values() if row.outcome is Outcome.UNSUPPORTED]
    if expected.adapter and lacking:
        yield f"Not tested, because the client has no way to ask for it: {' '.join(lacking)}.\n"
    if expected.mended:
        mended = "; ".join(f"{key} {where}" for key, where in expected.mended.items())
        yield f"Mended in: {mended}.\n"
    untested = [row.id for row in rows.values() if row.outcome is Outcome.NOT_RUN]
    if untested and report.verdict.implemented:
        yield f"Not tested: {' '.join(untested)}.\n"


def _listed(requirements: Sequence[RequirementResult]) -> str:
    """The requirements by the grade at which they fail, or else by their outcome: "MUST (blocks
    robust) H6 H7, SHOULD H8"; one alone with its title."""
    by_grade: dict[str, list[str]] = {}
    for row in requirements:
        grade = row.grade if row.outcome in FAILED else row.outcome.words.upper()
        by_grade.setdefault(grade, []).append(row.id)
    title = f" {requirements[0].title}" if len(requirements) == 1 else ""
    return ", ".join(f"{grade} {' '.join(keys)}" for grade, keys in by_grade.items()) + title


def _environment(folder: Path, package: str) -> Path:
    """The Python of an environment in `folder` that has `package`, and what is named after it."""
    if not folder.is_dir():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    _pip(python, "install", "--quiet", *package.split())
    return python


def _pip(python: Path, *arguments: str) -> str:
    command = [str(python), "-m", "pip", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _port(server: str) -> int | None:
    try:
        return usable_port(_PORTS[server])
    except ServerFailedError as error:
        print(f"{error}; any free one is taken instead", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())
