"""The options of `run`. To add one, add a member here, and use `options.MEMBER` where it acts.

`--help` shows those in FIRST; all others are in `--help-all` without being named anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from v2_conformance.cli.command import SECONDS_OF_A_RUN, SEED, Checked, argument, option
from v2_conformance.cli.options import ReportOptions, SendingOptions
from v2_conformance.errors import UsageError
from v2_conformance.runs.targets.numbers import tolerance

FIRST = (
    # To get the first report at all: how to get in, and how to start what is to be tested.
    "--header", "--bearer-env", "--start", "--wait-ready", "--timeout",
    # To get the right one: what the server claims, and what its models are called.
    "--profile", "--target", "--model",
    # To look at a failure again while mending it.
    "--case",
    # To keep the report in CI, and failures that are known from failing it.
    "--report-dir", "--junit-xml", "--expect",
)  # fmt: skip
"""The dozen that people need, in the order in which they need them."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(SendingOptions, ReportOptions):
    """`run`. None leaves a setting of the target to the target file."""

    url: str | None = argument(
        default=None,
        help="Base URL of the server, such as http://localhost:8000.  [default: the embedded "
        "reference server, started for this run]",
    )
    profiles: tuple[str, ...] = option(
        "--profile NAME...",
        "Claim a profile besides binary: raw, compression, compression-responses or bf16. "
        "Repeatable.",
    )
    target_file: Path | None = option(
        "--target FILE",
        "Read the URL, profiles, header fields, time limit and model names from this YAML or "
        "JSON file. Options on the command line add to it or override it.",
    )
    junit_xml: Path | None = option(
        "--junit-xml FILE",
        "Also write JUnit XML: a test for each case, in a class for each family.",
    )
    secret_env: tuple[str, ...] = option(
        "--secret-env NAME...",
        "Hide the value of this environment variable in every report. Repeatable.",
    )
    max_time: float | None = option(
        "--max-time SECONDS",
        "Time limit for the whole run. Cases that are left by then do not run, and the run is "
        "incomplete.  [default: a tenth of --timeout for each case, and twenty times "
        "--timeout; at least 10 minutes]",
        type=SECONDS_OF_A_RUN,
    )
    workers: int | None = option(
        "-n, --workers N",
        "Number of cases to run at the same time. The outcome is the same for every N: a case "
        "that could disturb others runs alone, and one that fails while others run is rerun "
        "alone.  [default: one for each 10 ms of round trip to the server, up to 8]",
    )
    models: tuple[str, ...] = option(
        "--model NAME...",
        "Test with this model of yours, which may compute anything, instead of the models of "
        "the contract: its answers are compared with each other, and the verdict is *consistent*. "
        "`all` stands for every model that the server lists. Without it, a server that has none of "
        "the contract's models is tested with up to three of its own. Repeatable.",
    )
    shapes: tuple[str, ...] = option(
        "--shape INPUT=1,3,8,8...",
        "Send this input in this shape. Repeatable.  [default: 3 for each variable dimension]",
    )
    ranges: tuple[str, ...] = option(
        "--range INPUT=0:1...",
        "Send values from this range. Repeatable.  [default: floats from 0 to 1, integers "
        "from 0 to 9]",
    )
    inputs: tuple[str, ...] = option(
        "--input INPUT=FILE...",
        "Send this tensor: a .npy file, JSON with `datatype`, `shape` and `data` as in a V2 "
        "request, or any other file, such as an image, as one BYTES element. Repeatable.",
    )
    rtol: float = option(
        "--rtol R",
        "Let floats differ by this fraction of their value. The verdict names it.",
        type=Checked("R", tolerance),
        default=0,
    )
    patterns: tuple[str, ...] = option(
        "--case PATTERN...",
        "Run only the cases of this requirement, such as H6, or whose id matches this "
        "pattern, such as 'H6/*'. A run that leaves cases out is never conformant. Repeatable.",
    )
    case_files: Path | None = option(
        "--cases FILE|DIR",
        "Run the cases in this file or folder instead of the suite's own. Such a run is never "
        "conformant.",
    )
    large: bool = option(
        "--large", "Also send tensors of 64 MiB. A slow server may need a longer --timeout."
    )
    generated: int | None = option(
        "--generated N",
        "Also send N requests that are drawn from the seed, as part of the case M7/generated. "
        "The first that fails is made as small as possible.",
    )
    seed: int | None = option(
        "--seed N",
        "Send the values, ids and drawn requests of the run that printed this seed.  "
        "[default: that of --expect, else a fresh one]",
        type=SEED,
    )
    faults: tuple[str, ...] = option(
        "--fault NAME...",
        "Break the embedded server in this way; `v2-conformance list faults` lists the names. "
        "Repeatable.",
    )

    @property
    def names_server(self) -> bool:
        """Return True if a server is named; otherwise the embedded one is meant."""
        return self.url is not None or self.target_file is not None


def check_options(options: RunOptions) -> None:
    """Raise UsageError for the first contradiction."""
    embedded = not options.names_server
    own_cases = bool(options.case_files)
    contradictions: dict[str, object] = {
        "--generated adds to the suite's cases: remove --cases": options.generated and own_cases,
        "--start needs the URL that the server will have": (
            options.start_command is not None and embedded
        ),
        "--fault breaks only the embedded server: remove the URL, or use `serve`": (
            options.faults and not embedded
        ),
        **{
            f"{name} needs --model, which says whose answers are compared": (
                value and not options.models
            )
            for name, value in (
                ("--shape", options.shapes),
                ("--range", options.ranges),
                ("--input", options.inputs),
                ("--rtol", options.rtol),
            )
        },
        "--model has cases of its own: remove --cases, --large and --generated": (
            options.models and (own_cases or options.large or options.generated)
        ),
    }
    for words, is_so in contradictions.items():
        if is_so:
            raise UsageError(words)
