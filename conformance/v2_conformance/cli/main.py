"""The command `v2-conformance`: arguments in, exit code out. The work is done elsewhere."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from v2_conformance import __version__
from v2_conformance.errors import ConformanceError, UnreachableError, UsageError
from v2_conformance.terminal_safe_text import defused

LISTINGS = ["requirements", "cases", "faults", "models", "traceability"]
EXIT_CODES = """\
exit codes:
  0  conformant
  1  not conformant (with --strict: or warnings)
  2  wrong usage or configuration
  3  target unreachable, or the suite failed
  4  nothing ran
"""
_VERIFY_EXIT_CODES = """\
exit codes:
  0  the verdict holds: judged again from the recorded bytes, everything comes out as reported
  1  it does not hold: the report was edited, or a case or the verdict comes out differently
  2  it cannot be confirmed here: no whole report, or cases that this installation does not have
     as the report has them, since another version or catalogue made it
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Every expected problem is one line on standard error and an exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = int(options.run(options))
        sys.stdout.flush()  # what cannot be written is better known here than at the exit
        return code
    except ConformanceError as error:
        print(f"v2-conformance: {defused(str(error))}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    except KeyboardInterrupt:
        print("v2-conformance: stopped", file=sys.stderr)
        return 3
    except Exception:  # Python's own exit code for it, 1, means "not conformant" here
        traceback.print_exc()
        print("v2-conformance: this is a mistake of the suite, please report it", file=sys.stderr)
        return 3


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="v2-conformance",
        description="Conformance suite for the binary tensor data extension of the V2 protocol.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"v2-conformance {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(commands.add_parser("run", help="run the suite against a server"))
    _add_serve(commands.add_parser("serve", help="run the reference server alone"))
    _add_list(commands.add_parser("list", help="list " + ", ".join(LISTINGS)))
    _add_kit(commands.add_parser("kit", help="write the models for a real server into a folder"))
    _add_report(commands.add_parser("report", help="make report.json and report.html of a record"))
    _add_diff(commands.add_parser("diff", help="what changed between two reports"))
    _add_expect(commands.add_parser("expect", help="known failures: judge a report, write a file"))
    _add_show(commands.add_parser("show", help="show one case of a report, or replay it"))
    _add_matrix(commands.add_parser("matrix", help="one page: requirements x servers"))
    _add_badge(commands.add_parser("badge", help="write badge.svg and badge.json of a report"))
    _add_verify(commands)
    _add_selftest(commands.add_parser("selftest", help="show that each fault is noticed"))
    return parser


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """The options that say where the server is and what it claims."""
    parser.add_argument("--target", type=Path, metavar="FILE", help="target file (YAML or JSON)")
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="NAME",
        help="claim a profile besides binary: raw, bf16, compression (repeatable)",
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="header field for every request, such as Authorization (repeatable)",
    )
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for one exchange (30)")
    parser.add_argument("--insecure", action="store_true", help="do not verify TLS certificates")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", help="base URL; without it the embedded server is tested")
    add_target_options(parser)
    parser.add_argument(
        "--report-dir", type=Path, default=Path("reports"), metavar="DIR", help="(reports)"
    )
    parser.add_argument("-n", "--workers", type=int, default=1, metavar="N", help="(1)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings, too")
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="PATTERN",
        help="run only the cases whose id matches, such as 'H6/*' (repeatable)",
    )
    parser.add_argument("--large", action="store_true", help="also send tensors of 64 MiB")
    parser.add_argument(
        "--cases", type=Path, metavar="FILE|DIR", help="run these case files, not the suite's"
    )
    parser.add_argument(
        "--fuzz",
        type=int,
        metavar="N",
        help="send N generated requests instead, and shrink what fails to a case file",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="repeat the --fuzz that printed it")
    parser.add_argument(
        "--expect", type=Path, metavar="FILE", help="known failures, see docs/ci.md"
    )
    parser.add_argument("--fault", action="append", default=[], help="of the embedded server")
    parser.add_argument("--restart-command", metavar="COMMAND", help="run when a case kills it")
    parser.add_argument(
        "--wait", type=float, default=0.0, metavar="S", help="seconds to wait for its recovery"
    )
    parser.set_defaults(run=_run)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8000, help="0 chooses a free one (8000)")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME")
    parser.set_defaults(run=_serve)


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=LISTINGS)
    parser.set_defaults(run=_list)


def _add_kit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="triton|kserve|mlserver")
    parser.add_argument("directory", type=Path, metavar="DIR", help="new or empty")
    parser.set_defaults(run=_kit)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", type=Path, help="report.json, or the report.jsonl of a run")
    parser.set_defaults(run=_report)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD", help="report.json, or report.jsonl")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--markdown", action="store_true", help="for a pull request")
    parser.add_argument("--strict", action="store_true", help="broken SHOULDs count, too")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever broke")
    parser.set_defaults(run=_diff)


def _add_expect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, metavar="REPORT", help="report.json, or report.jsonl")
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=Path("v2-expect.yaml"),
        metavar="FILE",
        help="expectation file (v2-expect.yaml)",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="make FILE of the report, or bring it up to date; '-' prints it",
    )
    parser.add_argument("--strict", action="store_true", help="warnings have to be expected, too")
    parser.set_defaults(run=_expect)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, help="report.json, or the report.jsonl of a run")
    parser.add_argument("case", help="its id, or a pattern or requirement that only it matches")
    parser.add_argument("--full", action="store_true", help="fold no body, however long")
    parser.add_argument(
        "--replay", type=Path, metavar="DIR", help="write the request, and what sends it, into DIR"
    )
    parser.set_defaults(run=_show)


def _add_matrix(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="report.json, …")
    parser.add_argument(
        "--output", type=Path, default=Path("matrix.html"), metavar="FILE", help="(matrix.html)"
    )
    parser.add_argument(
        "--link-base",
        default="",
        metavar="URL",
        help="where FILE's folder is published, if the page itself is shown elsewhere",
    )
    parser.set_defaults(run=_matrix)


def _add_badge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, help="report.json, or the report.jsonl of a run")
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.set_defaults(run=_badge)


def _add_verify(commands: Any) -> None:
    words = "judge a report again from its recorded bytes, without a server"
    parser = commands.add_parser(
        "verify",
        help=words,
        description=words[0].upper() + words[1:] + ".",
        epilog=_VERIFY_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("report", type=Path, help="report.json, or the report.jsonl of a run")
    parser.set_defaults(run=_verify)


def _add_selftest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--workers", type=int, metavar="N", help="processes (one a core)")
    parser.add_argument("--full", action="store_true", help="every case against every fault")
    parser.set_defaults(run=_selftest)


# Imports happen in the commands: `--help` and `list` need not load what a run needs.


def _run(options: argparse.Namespace) -> int:
    from v2_conformance.cli.run import run_command

    return run_command(options)


def _serve(options: argparse.Namespace) -> int:
    from v2_conformance.reference.server import ReferenceServer

    if not 0 <= options.port < 2**16:
        raise UsageError("--port takes a number from 0 to 65535")
    server = ReferenceServer(options.fault, port=options.port)
    try:
        server.start()
    except OSError as error:
        raise UnreachableError(
            f"cannot listen on port {options.port}: {(error.strerror or '').lower()}"
        ) from error
    try:
        print(f"serving on {server.url} (Ctrl-C stops)", flush=True)
        server.wait()  # a fault may end it, too
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0


def _list(options: argparse.Namespace) -> int:
    from v2_conformance.cli.listing import listing

    for line in listing(options.what):
        print(line)
    return 0


def _kit(options: argparse.Namespace) -> int:
    from v2_conformance.kits import write_kit

    files = write_kit(options.server, options.directory)
    print(f"wrote {len(files)} files; next: {options.directory / 'README.md'}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from v2_conformance.cli.run import write_reports

    for path in write_reports(options.record):
        print(path)
    return 0


def _diff(options: argparse.Namespace) -> int:
    from v2_conformance.cli.diff import diff_command

    return diff_command(options)


def _expect(options: argparse.Namespace) -> int:
    from v2_conformance.cli.expect import expect_command

    return expect_command(options)


def _show(options: argparse.Namespace) -> int:
    from v2_conformance.formats.case_text import show

    show(options.report, options.case, full=options.full, replay=options.replay)
    return 0


def _matrix(options: argparse.Namespace) -> int:
    from v2_conformance.formats.matrix.page import write_matrix

    for line in write_matrix(options.reports, options.output, options.link_base):
        print(line)
    return 0


def _badge(options: argparse.Namespace) -> int:
    from v2_conformance.formats.badge import write_badges
    from v2_conformance.report.recorder import load_report

    for path in write_badges(options.directory, load_report(options.report)):
        print(path)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from v2_conformance.verifying.verification import verify_command

    return verify_command(options)


def _selftest(options: argparse.Namespace) -> int:
    from v2_conformance.maintenance.selftest import faultless, idle, lines, selftest

    if options.workers is not None and options.workers < 1:
        raise UsageError("-n takes a number of processes from 1")
    wrong = faultless()
    for line in wrong:
        print(f"the reference server without faults fails {line}")
    kills = list(selftest(options.workers, full=options.full))
    for line in lines(kills):
        print(line)
    survivors = [kill.fault for kill in kills if not kill.killed]
    print(f"{len(kills)} faults, {len(kills) - len(survivors)} killed by their own requirement")
    unproven = idle(kills)
    for template in unproven:
        print(f"no fault of its requirement fails the MUST cases {template}")
    return 1 if wrong or survivors or unproven else 0


if __name__ == "__main__":
    sys.exit(main())
