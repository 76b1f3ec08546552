"""Every benchmark still works. What it measures is looked at by people."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TRITONCLIENT = """
import numpy
from v2_conformance.protocol.datatypes import decode_bytes, encode_bytes

def serialize_byte_tensor(array):
    return numpy.array(encode_bytes(array.tolist()), dtype=object)

def deserialize_bytes_tensor(blob):
    return numpy.array(decode_bytes(blob), dtype=object)
"""


@pytest.mark.long
def test_every_benchmark_works_with_tiny_sizes(tmp_path: Path) -> None:
    (tmp_path / "tritonclient").mkdir()
    (tmp_path / "tritonclient" / "utils.py").write_text(TRITONCLIENT)
    ended = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), "--smoke"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "BYTES decode" in ended.stdout
