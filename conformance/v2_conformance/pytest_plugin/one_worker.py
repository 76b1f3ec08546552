"""How xdist distributes the tests of a session: all cases of the suite to one worker.

Imported only if xdist runs, because it is not required.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling, LoadGroupScheduling, LoadScopeScheduling

from v2_conformance.pytest_plugin.items import NODE

_KINDS = {"loadfile": LoadFileScheduling, "loadscope": LoadScopeScheduling}


class OneWorkerForCases(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a worker all cases, one after the other, and distributes the other tests by `--dist`.

    If that worker crashes, another one gets the rest.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        # Without groups, each test is a scope of its own.
        self._others = _KINDS.get(config.getoption("dist"), LoadGroupScheduling)(config, log)

    def _split_scope(self, nodeid: str) -> str:
        is_case = nodeid.startswith(f"{NODE}::")
        return NODE if is_case else str(self._others._split_scope(nodeid))
