"""Options of `run`, `replay` and the pytest plugin: which cases are sent, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from v2_conformance.options.kinds import file_path, tolerance, whole_number
from v2_conformance.options.reports import REPORT_HELP, ReportOptions
from v2_conformance.options.rows import argument, option, repeated
from v2_conformance.options.selection import SelectionOptions
from v2_conformance.options.targets import TargetOptions


@dataclass(frozen=True, kw_only=True)
class AnyModelOptions:
    """Models whose answers are unknown."""

    SECTION: ClassVar = "Any model"

    models: tuple[str, ...] = repeated(
        "--model NAME",
        "Test with this model of yours, which may compute anything, instead of the models of the "
        "contract: its answers are compared with each other, and the verdict is *consistent*. "
        "`all` stands for every model that the server lists. Without it, a server that has none of "
        "the contract's models is tested with up to three of its own, for a minute.",
    )
    shapes: tuple[str, ...] = repeated(
        "--shape INPUT=1,3,8,8",
        "Send this input in this shape.",
        shown="3 for each variable dimension",
    )
    ranges: tuple[str, ...] = repeated(
        "--range INPUT=0:1",
        "Send values from this range.",
        shown="floats from 0 to 1, integers from 0 to 9",
    )
    inputs: tuple[str, ...] = repeated(
        "--input INPUT=FILE",
        "Send this tensor: a .npy file, or JSON with `datatype`, `shape` and `data` as in a V2 "
        "request.",
    )
    rtol: float = option(
        "--rtol R",
        "Let floats differ by this fraction of their value. The verdict names it.",
        kind=tolerance,
        default=0,
    )


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """How cases run, and how a server that dies is handled."""

    SECTION: ClassVar = "Execution"

    workers: int | None = option(
        "-n, --workers N",
        "Number of cases to run at the same time. The outcome is the same for every N: cases that "
        "could disturb others run alone, and whatever is not right beside others runs again alone.",
        kind=whole_number(least=1),
        shown="one for each 10 ms of round trip to the server, up to 8",
    )
    restart_command: str | None = option(
        "--restart-command COMMAND",
        "Run this shell command to restart the server after a case has killed it.",
    )


@dataclass(frozen=True, kw_only=True)
class CiOptions:
    """A report for CI services."""

    SECTION: ClassVar = "Reports"

    junit_xml: Path | None = option(
        "--junit-xml FILE",
        "Also write JUnit XML: a test for each case, in a class for each family.",
    )


@dataclass(frozen=True, kw_only=True)
class EmbeddedOptions:
    """The embedded server."""

    SECTION: ClassVar = "Embedded server"

    faults: tuple[str, ...] = repeated(
        "--fault NAME",
        "Break the embedded server in this way; `v2-conformance list faults` lists the names.",
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(
    TargetOptions,
    AnyModelOptions,
    SelectionOptions,
    ExecutionOptions,
    ReportOptions,
    CiOptions,
    EmbeddedOptions,
):
    """`run`."""

    url: str | None = argument(
        str,
        "Base URL of the server, such as http://localhost:8000.",
        default=None,
        shown="the embedded reference server, started for this run",
    )


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(TargetOptions, ExecutionOptions):
    """`replay`."""

    report: Path = argument(file_path, REPORT_HELP)
    url: str | None = argument(
        str, "Base URL of the server.", default=None, shown="that in the report"
    )
    patterns: tuple[str, ...] = repeated(
        "--case PATTERN",
        "Send only the failed cases of this requirement, such as H6, or those whose id matches "
        "this pattern, such as 'H6/*'.",
    )
    target_file: Path | None = option(
        "--target FILE",
        "Read the URL, credentials and model names from this target file; the report has the "
        "claims.",
    )
    workers: int = option(
        "-n, --workers N",
        "Number of cases to run at the same time.",
        kind=whole_number(least=1),
        default=1,
    )


@dataclass(frozen=True, kw_only=True)
class InitOptions(TargetOptions):
    """`target init`."""

    url: str = argument(str, "Base URL of the server, such as http://localhost:8000.")
    models: tuple[str, ...] = repeated(
        "--model NAME", "Also try this model, for a server that does not list its models."
    )
    output: Path = option(
        "--output FILE",
        "Write the target file here. A file that is already there is not replaced.",
        default=Path("target.yaml"),
    )
