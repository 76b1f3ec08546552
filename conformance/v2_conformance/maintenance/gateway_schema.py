"""schemas/gateway.schema.json, made of the types of gateway.json.

After a change of the types, write it anew in a checkout:

    python -m v2_conformance.maintenance.gateway_schema > schemas/gateway.schema.json
"""

from __future__ import annotations

from typing import Any

from v2_conformance.maintenance.report_schema import printed, schema_of
from v2_conformance.report.gateway import GatewayReport


def gateway_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of gateway.json."""
    return schema_of(GatewayReport, "gateway", "What a gateway does")


def schema_text() -> str:
    """The text of schemas/gateway.schema.json."""
    return printed(gateway_schema(), "") + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
