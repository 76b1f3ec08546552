"""Conformance suite for the binary tensor data extension of the V2 / Open Inference Protocol.

The names in `__all__` are the public API; docs/api.md shows them at work. Everything else is
private and may change in any release.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from v2_conformance.version import __version__

if TYPE_CHECKING:
    from v2_conformance.certifying.servers import certify
    from v2_conformance.errors import ConformanceError
    from v2_conformance.report.document import CaseResult, Report
    from v2_conformance.report.files import load_report
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

# Where these are. They are loaded when they are first used: pytest loads this package in every
# session, of which few test a server.
_PLACES = {
    "CaseResult": "report.document",
    "Cause": "suite.causes.causes",
    "ConformanceError": "errors",
    "Outcome": "suite.outcomes",
    "Report": "report.document",
    "Target": "runs.targets.target",
    "Verification": "verifying.verification",
    "certify": "certifying.servers",
    "load_report": "report.files",
}


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
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
