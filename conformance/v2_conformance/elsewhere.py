"""What the core reaches in other packages by name: causes and kits at import, the rest on use.

The core imports none of them, so that whoever reads how a server is tested needs only the core.
Entry points would say the same, but finding them takes time at each start.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

PLACES = {
    "bench": "v2_clients.fixture",
    "causes of clients": "v2_clients.findings",
    "client fault": "v2_mutants.client_faults:find_client_fault",
    "client faults": "v2_mutants.client_faults:CLIENT_FAULTS",
    "client variants": "v2_mutants.client_variants:CLIENT_VARIANTS",
    "faults": "v2_mutants.faults:FAULTS",
    "judge of clients": "v2_clients.rejudge",
    "kit clients": "v2_clients.adapters:KIT",
    "server": "v2_mutants.servers:MutantServer",
    "variants": "v2_mutants.variants:VARIANTS",
}
"""Each thing's module, or name in a module."""


def elsewhere(thing: str) -> Any:
    """Return a thing of another package: see PLACES."""
    return resolve_name(PLACES[thing])
