"""examples/: made of its data file, right to the bit, and taken as the documents say."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.document_models import EXAMPLES, body_of, bytes_of, described, stems
from v2_conformance.protocol.datatypes import check_blob
from v2_conformance.protocol.names import HEADER_LENGTH

RIGHT = stems()

# Datatypes as the struct module knows them: nothing here is the suite's own.
STRUCT = {"UINT32": "I", "BOOL": "?", "FP16": "e", "FP32": "f"}


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


@pytest.mark.parametrize("stem", RIGHT)
def test_a_few_lines_of_another_decoder_read_the_same(stem: str) -> None:
    about, body = described(stem), body_of(stem)
    headers = dict(about["http"]["headers"])
    assert headers["Content-Length"] == str(len(body)) == str(about["body_size"])
    length = about["header_length"]
    assert headers.get(HEADER_LENGTH) == (None if length is None else str(length))
    document = json.loads(body[:length]) if length != 0 else None
    assert document == about["json"]
    entries: Any = about["tensors"]
    if document is not None:
        entries = document.get("inputs", document.get("outputs"))
    at = length
    for entry, tensor in zip(entries, about["tensors"], strict=True):
        assert (entry["name"], entry["shape"]) == (tensor["name"], tensor["shape"])
        layout = f"<{len(tensor['values'])}{STRUCT[tensor['datatype']]}"
        if tensor["form"] == "binary":
            size = entry["size"] if document is None else entry["parameters"]["binary_data_size"]
            assert tensor["offset"] == at
            blob = body[at : at + size]
            at += size
        else:
            flat = entry["data"]
            while isinstance(flat[0], list):
                flat = [value for row in flat for value in row]
            blob = struct.pack(layout, *flat)
        assert blob == bytes_of(tensor)
        assert len(blob) == tensor["size"] == struct.calcsize(layout)
        assert list(struct.unpack(layout, blob)) == tensor["values"]
        check_blob(tensor["datatype"], tensor["shape"], blob)
    assert at in (None, len(body))


@pytest.mark.needs("node")
def test_a_codec_in_another_language_reads_them() -> None:
    script = Path(__file__).parent / "read_examples.mjs"
    done = subprocess.run(["node", str(script), str(EXAMPLES)], capture_output=True, check=True)
    assert done.stdout.decode() == f"{len(RIGHT + stems(wrong=True))} messages\n"
