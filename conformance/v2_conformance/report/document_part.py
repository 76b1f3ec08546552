"""The base of the parts of report.json."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

REPORT_FORMAT = 3
"""The version of the report's format, `suite.report`. It changes with every incompatible change."""

FieldText = Annotated[str, Meta(pattern="^[ -~]*$")]
"""A part of a header field."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parts of a report: frozen, without members that the schema does not know."""
