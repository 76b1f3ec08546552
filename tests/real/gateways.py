"""Make the tables of docs/gateways.md: `gateways.py --work DIR [--server NAME --python PYTHON]`.

Runs the suite on a server directly and through each configuration of nginx, HAProxy and Caddy that
is installed (tests/support/gateways.py), compares the reports, and writes the server's table.
`--server` is reference (the embedded one), triton or kserve; `--setup` chooses configurations.
A server that may not survive a run is started for each with `--fresh`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers import SERVERS
from support.gateways import SETUPS, Setup, running_gateway
from support.tools import find
from v2_conformance.cli.main import main as conformance
from v2_conformance.formats.ci.markdown import inert
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.comparing.gateway import (
    Effect,
    GatewayReport,
    Transparency,
    compare_sides,
)
from v2_conformance.report.comparing.through import Property
from v2_conformance.report.document import Report
from v2_conformance.report.files import REPORT, load_report

PAGE = Path(__file__).parents[2] / "docs" / "gateways.md"
_MARKS = {"kept": "✓", "not kept": "✗", "not shown": "–"}
_VERDICTS = {
    Transparency.TRANSPARENT: "**yes**",
    Transparency.NOT_TRANSPARENT: "no",
    Transparency.UNDECIDED: "?",
}
_COLUMNS: Mapping[Property, str] = {
    Property.HEADER: "header",
    Property.LENGTH: "length",
    Property.CODING: "coding",
    Property.BODIES: "bodies",
    Property.ERRORS: "errors",
    Property.EARLY_REJECTION: "early",
    Property.CONNECTIONS: "connections",
}
_PROFILES: Mapping[str, Sequence[str]] = {
    "reference": ("raw", "compression", "compression-responses", "bf16"),
    "triton": ("raw", "compression", "compression-responses"),
    "kserve": (),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything that is asked for, write the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="reports and logs")
    parser.add_argument("--server", choices=_PROFILES, default="reference")
    parser.add_argument("--python", type=Path, help="that of the server's environment")
    parser.add_argument("--setup", action="append", metavar="NAME", help="such as nginx-tuned")
    parser.add_argument("--fresh", action="store_true", help="start the server for each run")
    parser.add_argument("--table", action="store_true", help="write the table of what is there")
    options = parser.parse_args(arguments)
    work = options.work.resolve() / options.server
    work.mkdir(parents=True, exist_ok=True)
    if not options.table:
        chosen = [s for s in SETUPS if not options.setup or str(s) in options.setup]
        _run_all(chosen, work, options.server, options.python, fresh=options.fresh)
    found = _comparisons(work)
    text = PAGE.read_text("utf-8")
    PAGE.write_text(with_table(text, options.server, table(*found)), "utf-8", newline="\n")
    return 0


def _run_all(
    setups: Sequence[Setup], work: Path, server: str, python: Path | None, *, fresh: bool
) -> None:
    with ExitStack() as stack:
        url = ""
        for setup in (None, *setups):
            folder = work / ("direct" if setup is None else str(setup))
            if setup is not None and not find(setup.gateway):
                print(f"{setup.gateway} is not installed: {setup} is left out", file=sys.stderr)
                continue
            if setup is None and (folder / REPORT).exists():
                continue
            folder.mkdir(exist_ok=True)
            if fresh or not url:
                stack.close()
                url = stack.enter_context(_server(server, folder, python))
            if setup is None:
                _run(url, server, folder)
                continue
            (folder / "gateway").mkdir(exist_ok=True)
            with running_gateway(setup, url, folder / "gateway") as through:
                _run(through, server, folder, *(("--insecure",) if setup.tls else ()))


@contextmanager
def _server(name: str, folder: Path, python: Path | None) -> Iterator[str]:
    if name == "reference":
        with ReferenceServer() as server:
            yield server.url
        return
    workdir = folder / "server"
    workdir.mkdir()
    with SERVERS[name](workdir, None, python) as url:
        yield url


def _run(url: str, server: str, folder: Path, *more: str) -> None:
    profiles = [word for name in _PROFILES[server] for word in ("--profile", name)]
    conformance(["run", url, "--report-dir", str(folder), *profiles, *more])


def _comparisons(work: Path) -> tuple[Report, dict[str, GatewayReport]]:
    direct = load_report(work / "direct" / REPORT)
    there = [(str(s), work / str(s) / REPORT) for s in SETUPS]
    return direct, {
        name: compare_sides(direct, load_report(path)) for name, path in there if path.exists()
    }


def table(direct: Report, found: Mapping[str, GatewayReport]) -> str:
    """The table of one server, in Markdown: a row for each gateway's configuration."""
    effects = [effect for effect in Effect if effect is not Effect.KEPT]
    head = ["gateway", *_COLUMNS.values(), "transparent", *map(str, effects), "shows itself by"]
    server = direct.target.server
    lines = [f"{inert(server.name)} {inert(server.version)}, {len(direct.cases)} cases:", ""]
    lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, report in found.items():
        states = {row.name: _MARKS[row.state] for row in report.properties}
        cells = [name, *(states[column] for column in _COLUMNS)]
        cells.append(
            {"transparent": "**yes**", "not transparent": "no"}.get(report.transparency, "?")
        )
        cells += [str(report.effects.get(effect, 0)) for effect in effects]
        cells.append(inert(", ".join(sign.words for sign in report.signs)) or "nothing")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(text: str, server: str, made: str) -> str:
    """The page with the table of a server between its marks."""
    marks = f"(<!-- results: {server} -->\n).*?(<!-- end of {server} -->)"
    changed, count = re.subn(marks, lambda m: f"{m[1]}{made}\n{m[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE.name} has no place for the results of {server}")
    return changed


if __name__ == "__main__":
    sys.exit(main())
