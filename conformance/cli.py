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

from conformance import __version__
from conformance.errors import ConformanceError, UnreachableError, UsageError

LISTINGS = ["requirements", "cases", "faults", "models", "traceability"]
EXIT_CODES = """\
exit codes:
  0  conformant
  1  not conformant (with --strict: or warnings)
  2  wrong usage or configuration
  3  target unreachable, or the suite failed
  4  nothing ran
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
        print(f"v2-conformance: {error}", file=sys.stderr)
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
        help="claim a profile besides binary: raw, bf16 (repeatable)",
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


def _add_selftest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--workers", type=int, metavar="N", help="processes (one a core)")
    parser.add_argument("--full", action="store_true", help="every case against every fault")
    parser.set_defaults(run=_selftest)


# Imports happen in the commands: `--help` and `list` need not load what a run needs.


def _run(options: argparse.Namespace) -> int:
    from conformance.command_run import run_command

    return run_command(options)


def _serve(options: argparse.Namespace) -> int:
    from conformance.reference.server import ReferenceServer

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
    from conformance.listing import listing

    for line in listing(options.what):
        print(line)
    return 0


def _kit(options: argparse.Namespace) -> int:
    from conformance.kits import write_kit

    files = write_kit(options.server, options.directory)
    print(f"wrote {len(files)} files; next: {options.directory / 'README.md'}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from conformance.command_run import write_reports

    for path in write_reports(options.record):
        print(path)
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from conformance.selftest import faultless, lines, selftest

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
    return 1 if wrong or survivors else 0


if __name__ == "__main__":
    sys.exit(main())
