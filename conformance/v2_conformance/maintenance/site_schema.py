"""schemas/site.schema.json, made of the types of a site's index.json.

After a change of the types, write it anew in a checkout:

    python -m v2_conformance.maintenance.site_schema > schemas/site.schema.json

Other programs rely on the members: an incompatible change needs another
`report.site_index.SITE_FORMAT`.
"""

from __future__ import annotations

from typing import Any

from v2_conformance.maintenance.report_schema import printed, schema_of
from v2_conformance.report.site_index import SiteIndex


def site_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of index.json."""
    return schema_of(SiteIndex, "site", "The index of a site of reports")


def schema_text() -> str:
    """The text of schemas/site.schema.json."""
    return printed(site_schema(), "") + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
