"""Conformance suite for the binary tensor data extension of the V2 / Open Inference Protocol.

The names in `__all__` are the public API; docs/api.md shows them at work. Everything else is
private and may change in any release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from v2_conformance.version import __version__

if TYPE_CHECKING:
    from v2_conformance.conversations.steps import CaseFinished
    from v2_conformance.errors import ConformanceError
    from v2_conformance.report.document import CaseResult, Report
    from v2_conformance.runs.targets.target import Target
    from v2_conformance.suite.causes.causes import Cause
    from v2_conformance.suite.outcomes import Outcome
    from v2_conformance.verifying.verification import Verification

__all__ = [
    "CaseResult",
    "Cause",
    "ConformanceError",
    "Outcome",
    "Report",
    "Target",
    "Verification",
    "__version__",
    "certify",
    "load_report",
    "verify",
]

# Where the types are. They are loaded when they are first used: pytest loads this package in every
# session, of which few test a server.
_TYPES = {
    "CaseResult": "report.document",
    "Cause": "suite.causes.causes",
    "ConformanceError": "errors",
    "Outcome": "suite.outcomes",
    "Report": "report.document",
    "Target": "runs.targets.target",
    "Verification": "verifying.verification",
}


def certify(
    target: Target | str,
    *,
    cases: Sequence[str] = (),
    large: bool = False,
    workers: int | None = None,
    report_dir: Path | str | None = None,
    on_case: Callable[[CaseFinished], object] | None = None,
) -> Report:
    """Run the suite against a server and return the report, which includes the verdict.

    `target` is a base URL, or a Target that says more: profiles, header fields, model names. With
    `cases`, ids or patterns such as "H6/*" or requirements, only those run; then the verdict says
    that the run is incomplete. `large` adds tensors of 64 MiB. `workers` is how many cases run at
    the same time; by default more the farther away the server is. `report_dir` gets the files that
    the command `run` writes; by default no file is left. `on_case` is called after each case.

    Raises UsageError for a wrong target, UnreachableError if no V2 server answers there, and
    NothingRanError if no case matches: all are ConformanceErrors.
    """
    from v2_conformance.certifying.servers import certify_into, plan_of

    return certify_into(
        target,
        plan_of(cases, large=large),
        workers=workers,
        directory=None if report_dir is None else Path(report_dir),
        on_case=on_case,
    )


def load_report(path: Path | str) -> Report:
    """Read a report.json, or the record of a run (report.jsonl), finished or not.

    Raises ReportFileError, a ConformanceError, for whatever is neither.
    """
    from v2_conformance.report.files import load_report as load

    return load(Path(path))


def verify(path: Path | str) -> Verification:
    """Judge a report again from its recorded bytes, without a server.

    `exit_code` of what it returns is 0 if the verdict holds, 1 if it does not, and 2 if this
    installation cannot confirm it. Raises ReportFileError, a ConformanceError, for a file that is
    not a report.
    """
    from v2_conformance.suite.library import every_case
    from v2_conformance.verifying.verification import verify as judge_again

    return judge_again(Path(path), every_case())


def __getattr__(name: str) -> Any:
    if name not in _TYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_TYPES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
