"""Adapters that put public clients on the client bench, and a plain client as an example.

They need no v2-conformance: each runs in the environment of its client. Whole clients come with the
codec of vectors/runners for their language, which a wheel has beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from v2_conformance.kits import Kit

ADAPTERS = Path(__file__).resolve().parent
"""The folder with the scripts."""

_RUNNERS = ADAPTERS.parents[2] / "vectors" / "runners"

NAMES = (
    "bench.py",
    "client.go",
    "codec.go",
    "codec.mjs",
    "codec.py",
    "futures_http.py",
    "kserve_rest.py",
    "node.mjs",
    "plain.py",
    "pyotritonclient_http.py",
    "triton_interface.py",
    "tritonclient_aio.py",
    "tritonclient_http.py",
)


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the adapters."""
    return ((name, _source(name).read_bytes()) for name in NAMES)


def _source(name: str) -> Path:
    """The file to copy: codecs of a checkout are in vectors/runners."""
    path = ADAPTERS / name
    return path if path.exists() else next(_RUNNERS.glob(f"*/{name}"))


KIT = Kit(Path(__file__).parent / "files", files, "v2-conformance client -- python plain.py")
