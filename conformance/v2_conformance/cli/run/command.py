"""The command `run`: tests a server, writes the report and prints a summary."""

from __future__ import annotations

from v2_conformance.cli.command import command, takes
from v2_conformance.cli.options import OF_A_RUN
from v2_conformance.cli.run.options import FIRST, RunOptions

_EXAMPLES = {
    "v2-conformance run": "Test the embedded reference server.",
    "v2-conformance run http://localhost:8000 --profile raw": (
        "Test a server that claims the profile raw."
    ),
    "v2-conformance run http://localhost:8000 --model my-model": ("Test a server with any model."),
    "v2-conformance run --target server.yaml -n 4 --report-dir out": (
        "Test the server in a target file."
    ),
    "v2-conformance run http://localhost:8000 --case 'H6/*'": "Run only cases of H6.",
    "v2-conformance run http://localhost:8000 --expect v2-expect.yaml": (
        "Exit with 1 only if something new fails."
    ),
}
_EXIT_CODES = {
    **OF_A_RUN,
    0: f"{OF_A_RUN[0]} With --expect: every result is as expected.",
    1: f"{OF_A_RUN[1]} With --strict: there are warnings. With --expect: a result is "
    "not as expected.",
}


@command("run", examples=_EXAMPLES, exit_codes=_EXIT_CODES, first=FIRST)
@takes(RunOptions)
def run(options: RunOptions) -> int:
    """Test a server and write a report.

    Sends every case of the suite to the server, judges each answer byte by byte, writes
    report.json, report.html and the other report files, and prints a summary.
    """
    from v2_conformance.cli.run.running import run_server

    return run_server(options)
