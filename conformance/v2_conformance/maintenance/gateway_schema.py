"""schemas/gateway.schema.json, made of the types of gateway.json.

After a change of the types, write it anew in a checkout:

    python -m v2_conformance.maintenance.gateway_schema > schemas/gateway.schema.json
"""

from __future__ import annotations

from typing import Any

import msgspec

from v2_conformance.maintenance.report_schema import printed, tidied
from v2_conformance.report.gateway import GatewayReport


def gateway_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of gateway.json."""
    _, definitions = msgspec.json.schema_components((GatewayReport,), ref_template="#/$defs/{name}")
    shown = {name: tidied(definition, []) for name, definition in definitions.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://v2-conformance.invalid/schemas/gateway.schema.json",
        **shown.pop("GatewayReport"),
        "title": "What a gateway does",
        "$defs": dict(sorted(shown.items())),
    }


def schema_text() -> str:
    """The text of schemas/gateway.schema.json."""
    return printed(gateway_schema(), "") + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
