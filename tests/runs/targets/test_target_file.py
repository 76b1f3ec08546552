"""Target files: every usable one is understood, every other is one clear line."""

from __future__ import annotations

from pathlib import Path

from v2_conformance.runs.targets.file import load_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import contract


def load(tmp_path: Path, text: str | bytes) -> Target:
    path = tmp_path / "target.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_target(path)


def test_a_file_says_all_that_a_target_has(tmp_path: Path) -> None:
    target = load(
        tmp_path,
        """
        url: https://h:1/x
        headers: {X-A: b}
        verify: false
        timeout: 2.5
        profiles: [raw]
        unsupported: [BF16, FP16]
        models:
          identity/INT32: my model/1
          mixed: {model: m, inputs: [a, b, c], outputs: [d, e, f]}
        """,
    )
    assert target.url == "https://h:1/x"
    assert target.headers == (("X-A", "b"),)
    assert target.verify is False
    assert target.limits.exchange_s == 2.5
    assert target.profiles == ("binary", "raw")
    assert target.unsupported == {"BF16", "FP16"}
    assert target.binding("identity/INT32").model == "my%20model%2F1"
    assert target.binding("identity/INT32").inputs == ("INPUT0",)
    assert target.binding("mixed").outputs == ("d", "e", "f")
    assert target.binding("identity/FP32").model == contract()["identity/FP32"].model
