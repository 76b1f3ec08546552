"""Checks that options of `run` do not contradict each other."""

from __future__ import annotations

from v2_conformance.cli.run.options import RunOptions
from v2_conformance.errors import UsageError


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
