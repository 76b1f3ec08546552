"""schemas/site.schema.json, made of the types of a site's index.json.

After a change of the types, write it anew in a checkout:

    python -m v2_conformance.maintenance.site_schema > schemas/site.schema.json

Other programs rely on the members: an incompatible change needs another
`report.site_index.SITE_FORMAT`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from v2_conformance.maintenance.report_schema import printed, tidied
from v2_conformance.report.site_index import SiteIndex


def site_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of index.json."""
    _, definitions = msgspec.json.schema_components((SiteIndex,), ref_template="#/$defs/{name}")
    shown = {name: tidied(definition, []) for name, definition in definitions.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://v2-conformance.invalid/schemas/site.schema.json",
        **shown.pop("SiteIndex"),
        "title": "The index of a site of reports",
        "$defs": dict(sorted(shown.items())),
    }


def schema_text() -> str:
    """The text of schemas/site.schema.json."""
    return printed(site_schema(), "") + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
