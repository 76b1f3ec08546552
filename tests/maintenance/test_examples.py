"""examples/: made of its data file, right to the bit, and taken as the documents say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.document_models import EXAMPLES, stems


def test_the_files_are_what_the_data_file_says(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "examples.yaml", tmp_path)
    (tmp_path / "gone.request.bin").write_bytes(b"of an example that was taken out")
    command = [sys.executable, "-m", "tools.examples", str(tmp_path)]
    subprocess.run(command, check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in EXAMPLES.iterdir() if path.suffix != ".md"}
    assert sorted(made) == sorted(kept), "run: python -m tools.examples examples"
    for name, data in kept.items():
        assert made[name] == data, name


@pytest.mark.needs("node")
def test_a_codec_in_another_language_reads_them() -> None:
    script = Path(__file__).parent / "read_examples.mjs"
    done = subprocess.run(["node", str(script), str(EXAMPLES)], capture_output=True, check=True)
    assert done.stdout.decode() == f"{len(stems() + stems(wrong=True))} messages\n"
