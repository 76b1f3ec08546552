"""Test the newest public versions that have no published report, and propose what was found.

    python tests/real/fresh.py --work DIR --words FILE

For each server and client of expectations/, pip says which version of its package is the newest. If
none of the expectations is about it, it is installed and tested like the newest one that is. Then
reports/NAME-VERSION/ has its report, which is verified; an expectation is drafted from the one
before, with its version and package; and FILE says in words what differs. A person reads these, and
corrects the draft where lines differ, before a pull request is merged.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import publish
from expectation import Expectation, every_expectation, newest_of_each
from servers import ServerFailedError
from v2_conformance.cli.main import main as conformance
from v2_conformance.report.files import PACKED_REPORT, load_report
from v2_conformance.report.verdict.standing import standing


def newest_package(package: str) -> str:
    """Return NAME==VERSION of the newest release of what `package` names, as pip finds it."""
    first, *others = package.split()
    name = first.partition("==")[0]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps"]
    command += ["--ignore-installed", "--report", "-", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    (found,) = json.loads(done.stdout)["install"]
    return " ".join([f"{name}=={found['metadata']['version']}", *others])


def report_on_newest(before: Expectation, package: str, work: Path) -> str:
    """Test `package` as `before` was tested; what there is to say, "" if the server in it is of
    a version that has a report. Writes the report, and a draft of its expectation."""
    work.mkdir(parents=True, exist_ok=True)
    found = work / "report"
    shutil.rmtree(found, ignore_errors=True)
    lines = publish.publish(replace(before, package=package), work, found)
    report = load_report(found / PACKED_REPORT)
    tested = report.target.server
    version = re.sub(r"[^A-Za-z0-9.+-]", "-", tested.version) or "unknown"
    name = f"{before.kind}-{version}"
    folder = publish.REPORTS / name
    if folder.exists():
        return ""
    if conformance(["verify", str(found / PACKED_REPORT)]) != 0:
        raise SystemExit(f"{package}: its report cannot be confirmed")
    shutil.copytree(found, folder)
    draft = before.path.with_name(f"{name}.yaml")
    draft.write_text(drafted(before.path.read_text("utf-8"), version, package), "utf-8")
    old = publish.REPORTS / before.name / PACKED_REPORT
    with redirect_stdout(StringIO()) as compared:
        conformance(["diff", "--markdown", str(old), str(folder / PACKED_REPORT)])
    said = "\n".join(f"- {line}" for line in lines) or "Nothing."
    return (
        f"## {name}: {standing(report).words}\n\n`{package}`. What differs from the expectations "
        f"that were written for {before.version}:\n\n{said}\n\n{compared.getvalue()}\n"
    )


def drafted(text: str, version: str, package: str) -> str:
    """An expectation file with another version and package; its verdicts are for a person."""
    text = re.sub(r"(?m)^version: .*$", f'version: "{version}"', text)
    return re.sub(r"(?m)^package: .*$", f"package: {package}", text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Test what is new; the exit code is 1 if something could not be tested."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("--words", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    expectations = every_expectation()
    known = {one.package for one in expectations}
    words, failed = [], []
    for before in newest_of_each(expectations):
        try:
            package = newest_package(before.package)
            if package not in known:
                work = options.work.resolve() / before.kind
                words.append(report_on_newest(before, package, work))
        except (ServerFailedError, subprocess.CalledProcessError) as error:
            failed.append(f"- {before.kind}: {error}")
    if any(words) and publish.site() != 0:
        failed.append("- the site cannot be built of these reports")
    if failed:
        words.append("## Not tested\n\n" + "\n".join(failed) + "\n")
        print(*failed, sep="\n", file=sys.stderr)
    options.words.write_text("".join(words), "utf-8", newline="\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
