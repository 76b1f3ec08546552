"""The time that the run of a client may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_clients.run import client_target, make_client_plan, start_client_run
from v2_conformance.errors import UsageError
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S


def test_a_run_without_time_or_without_end_is_refused_before_its_record_begins(
    tmp_path: Path,
) -> None:
    plan = make_client_plan(("K3/*",))
    for limit_s in (0, -1, LONGEST_RUN_S + 1, float("inf"), float("nan")):
        with pytest.raises(UsageError, match="--max-time must be"):
            start_client_run(
                client_target(), plan, tmp_path, command=(), timeout_s=1, limit_s=limit_s
            )
    assert not list(tmp_path.iterdir())
