"""A whole run for the public API: from a URL to a report, with or without files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from v2_conformance.certifying.seeds import seeded
from v2_conformance.certifying.servers import Plan, start
from v2_conformance.conversations.result import CaseFinished
from v2_conformance.formats.registry import file_names, write_formats
from v2_conformance.report.document import Report
from v2_conformance.report.folder_lock import sole_run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target, checked_target


def certify_into(
    target: Target | str,
    plan: Plan,
    *,
    workers: int | None,
    directory: Path | None,
    on_case: Callable[[CaseFinished], object] | None,
) -> Report:
    """See v2_conformance.certify. Without a `directory`, the record is in a temporary one."""
    tested = make_target(target) if isinstance(target, str) else checked_target(target)
    tested = seeded(tested)
    with ExitStack() as stack:
        folder = directory or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(sole_run(folder))
        started = start(tested, plan, folder, outdated=file_names())
        report = started.finish(workers=workers, on_case=on_case or (lambda event: None))
        if directory is not None:
            write_formats(directory, report)
    return report
