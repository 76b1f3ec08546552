"""What the suite runs for its user never learns the passphrase of the key that signs reports."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from support.scenarios import program, scenario
from support.servers import free_port
from v2_conformance.bench.scenarios import run_scenario
from v2_conformance.child_processes import PASSPHRASE
from v2_conformance.errors import UnreachableError
from v2_conformance.redaction import Mask
from v2_conformance.runs.targets.restarting import restart
from v2_conformance.runs.targets.started import started_server
from v2_conformance.runs.targets.target import Target

SECRET = "correct-horse-7-battery"
# Says its variables so that no mask finds them.
SAYS = f"import os, sys; sys.stderr.write('got ' + str(len(os.environ.get('{PASSPHRASE}', ''))))"
COMMAND = f"{shlex.quote(sys.executable)} -c {shlex.quote(SAYS)}"


@pytest.fixture(autouse=True)
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, SECRET)


def test_a_client_does_not_get_the_passphrase(tmp_path: Path) -> None:
    said = run_scenario(scenario(tmp_path), program(SAYS)).said
    assert said is not None
    assert said.stderr == "got 0"


def test_a_server_does_not_get_the_passphrase(tmp_path: Path) -> None:
    target = Target(f"http://127.0.0.1:{free_port()}")
    log = tmp_path / "server.log"
    with (
        pytest.raises(UnreachableError, match="it printed: got 0"),
        started_server(COMMAND, target, log),
    ):
        pass


@pytest.mark.parametrize("mask", [Mask(), Mask(("another-secret-9",))])
def test_a_restart_command_does_not_get_the_passphrase(
    mask: Mask, capfd: pytest.CaptureFixture[str]
) -> None:
    restart(COMMAND, mask, 60)
    assert capfd.readouterr().err == "got 0"


def test_the_passphrase_is_masked_always() -> None:
    target = Target("http://127.0.0.1:1")
    assert SECRET not in target.mask.text(f"the passphrase {SECRET}")
    assert target.hidden_beside_fields
