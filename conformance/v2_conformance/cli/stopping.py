"""What a run says that somebody stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from v2_conformance.errors import StoppedError


@contextmanager
def naming_the_record(directory: Path) -> Iterator[None]:
    """Turn an interrupt into the error that says how to make a report of what was found."""
    from v2_conformance.report.files import RECORD

    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped; what was found so far: v2-conformance report {directory / RECORD}"
        ) from None
