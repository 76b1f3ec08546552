"""Options of the commands for clients, kits, the reference server and the suite itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from v2_conformance.options.kinds import folder_path, seconds_of_a_run, whole_number, words
from v2_conformance.options.reports import ReportOptions
from v2_conformance.options.rows import argument, flag, option, repeated
from v2_conformance.protocol.names import LARGEST_SEED


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """Choice of the scenarios that a client runs."""

    SECTION: ClassVar = "Selection"

    patterns: tuple[str, ...] = repeated(
        "--scenario PATTERN",
        "Run only the scenarios of this requirement, such as K3, or whose id matches this pattern, "
        "such as 'K3/*'. A run that leaves scenarios out is never conformant.",
    )
    profiles: tuple[str, ...] = repeated("--profile NAME", "Claim a profile besides client: bf16.")
    lacks: tuple[str, ...] = repeated(
        "--lacks FEATURE",
        "A feature that the client does not have, such as column-major or FP64, so that no "
        "scenario runs that needs it. The report names it. docs/clients.md lists the features.",
    )
    files: Path | None = option(
        "--scenarios FILE|DIR",
        "Run the scenarios in this file or folder instead of the suite's own. Such a run is never "
        "conformant.",
    )


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """How a client is run, and which values are secret."""

    SECTION: ClassVar = "Client"

    timeout: float = option(
        "--timeout SECONDS",
        "Time limit of the client for each request. The command as a whole has 20 seconds more.",
        default=10,
    )
    jobs: int = option(
        "-n, --jobs N",
        "Number of scenarios to run at the same time, each with a server and a process of its own. "
        "The outcome and the order in the report are the same for every N.",
        kind=whole_number(least=1, most=64),
        default=1,
    )
    max_time: float | None = option(
        "--max-time SECONDS",
        "Time limit for the whole run. The scenarios that are left then do not run, and the run is "
        "incomplete. The same happens if the client hangs in 8 scenarios in a row.",
        kind=seconds_of_a_run,
        shown="3 seconds for each scenario and 10 minutes more, with the usual --timeout",
    )
    secret_env: tuple[str, ...] = repeated(
        "--secret-env NAME", "A value to hide in every report, in this environment variable."
    )


@dataclass(frozen=True, kw_only=True)
class ClientOptions(ScenarioOptions, BenchOptions, ReportOptions):
    """`client`."""

    command: tuple[str, ...] = argument(
        words,
        "The command that runs the client, after `--`; no shell reads it. It reads a task from "
        "each line of its standard input and prints a line with its answer. With {task}, {url} or "
        "{scenario} in it, it is run for each scenario: they stand for a JSON file with the task, "
        "the base URL and the scenario's id.",
        several=True,
    )


@dataclass(frozen=True, kw_only=True)
class KitOptions:
    """`kit`."""

    name: str = argument(
        str,
        "The server: kserve, mlserver, onnx (any server of ONNX models), openvino or triton; or "
        "clients.",
    )
    directory: Path = argument(
        folder_path,
        "New or empty folder. Its README.md will say what to do with the files.",
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """`serve`."""

    port: int = option(
        "--port PORT",
        "Listen on this port of 127.0.0.1; 0 chooses a free one.",
        kind=whole_number(least=0, most=2**16 - 1),
        default=8000,
    )
    faults: tuple[str, ...] = repeated(
        "--fault NAME",
        "Break the server in this way; `v2-conformance list faults` lists the names.",
    )
    variants: tuple[str, ...] = repeated(
        "--variant NAME",
        "Make the server behave in this way, which is also legal; `v2-conformance list variants` "
        "lists the names.",
    )


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """`list`."""

    what: str = argument(
        str,
        "One of requirements, cases, scenarios (for clients), faults and variants (of the embedded "
        "server), client-faults, client-variants (of the plain client), variations (of "
        "requests), relations (which `run --model` tests) and models (that a server must have).",
    )


@dataclass(frozen=True, kw_only=True)
class SelftestOptions:
    """`selftest`."""

    workers: int | None = option(
        "-n, --workers N",
        "Number of processes.",
        kind=whole_number(least=1),
        shown="one for each core",
    )
    full: bool = flag("--full", "Run every case against every fault.")
    seed: int | None = option(
        "--seed N",
        "Send the values of the selftest that printed this seed.",
        kind=whole_number(least=0, most=LARGEST_SEED),
        shown="a fresh one",
    )
    any_model: bool = flag(
        "--any-model",
        "Instead, show which faults `run --model` notices, on models that are not identity models.",
    )
