"""Ends a run that fails or is stopped: without secrets, and naming its record."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from v2_conformance.errors import ConformanceError, StoppedError

if TYPE_CHECKING:
    from v2_conformance.redaction import Mask


@contextmanager
def masked_errors(mask: Mask) -> Iterator[None]:
    """Hide what `mask` hides in the messages of errors that leave the block, and in the traceback
    of a bug in the suite.
    """
    try:
        yield
    except ConformanceError as error:
        raise type(error)(mask.text(str(error))) from None
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise
    except OSError as error:
        raise OSError(error.errno, mask.text(error.strerror or "")) from None
    except Exception as error:  # any error's text may quote a request
        lines = "".join(traceback.format_exception(error))
        raise RuntimeError(mask.text(lines)) from None


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
