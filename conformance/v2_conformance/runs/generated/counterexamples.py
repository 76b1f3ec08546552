"""A generated request that failed, as a case file that can be run alone, or committed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import yaml

from v2_conformance.bounded_files import write_whole
from v2_conformance.errors import unwritable
from v2_conformance.redaction import Mask
from v2_conformance.runs.generated.fuzzing import Exploration
from v2_conformance.suite.causes.causes import COUNTEREXAMPLE
from v2_conformance.version import __version__


def remove_counterexample(directory: Path) -> None:
    """Remove the counterexample of an older run."""
    (directory / COUNTEREXAMPLE).unlink(missing_ok=True)


def write_counterexample(found: Exploration, mask: Mask, directory: Path, how: str) -> Path:
    """Write the failure in `found` as a case file; its case is named after its content.

    `how` says how to find it again. Raises UsageError.
    """
    if found.entry is None or found.result is None:
        raise ValueError("nothing failed")
    entry = dict(found.entry)
    digest = hashlib.sha256(json.dumps(entry).encode()).hexdigest()[:8]
    entry["id"] = f"M7/counterexample-{digest}"
    # What the server sent is in the message: no secret of the target, and nothing like an axis.
    message = mask.text(found.result.message).replace("$", "?")
    entry["why"] = f"{entry['why']} Once the outcome was {found.result.outcome.words}: {message}"
    document = {"family": "M", "about": "A generated request that failed.", "cases": [entry]}
    text = yaml.safe_dump(document, sort_keys=False, width=100, default_flow_style=None)
    path = directory / COUNTEREXAMPLE
    header = f"# Written by v2-conformance {__version__} ({how}).\n"
    mask.check(header + text, str(path))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(path, [(header + text).encode()])
    except OSError as error:
        raise unwritable(error, f"cannot write {path}: {error.strerror}") from error
    return path
