"""Every benchmark, as one table: `run.py [--triton URL]`. See README.md beside it.

Each part runs in a process of its own, so that none sees the memory or the imports of another.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from embedded import embedded_server

HERE = Path(__file__).parent
Row = tuple[str, str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--triton", metavar="URL", help="a Triton with the suite's model kit")
    url = parser.parse_args().triton
    with embedded_server() as embedded:
        rows = _throughput("embedded server", _measure("throughput.py", embedded), "at most 2.5")
        if url:
            rows += _throughput("Triton", _measure("throughput.py", url), "")
        rows += _codec(_measure("codec.py"))
        rows += _memory(_measure("memory.py", embedded))
    rows += _startup(_measure("startup.py"))
    _print([("what", "measured", "target"), *rows])


def _measure(script: str, *arguments: str) -> Any:
    command = [sys.executable, str(HERE / script), *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _throughput(name: str, found: dict[str, Any], target: str) -> list[Row]:
    bare = f"{found['suite_s']:.2f} s / {found['bare_s']:.2f} s"
    return [
        (
            f"{name}: {found['cases']} cases, {found['exchanges']} exchanges",
            f"{found['cases_per_s']:.0f} cases/s",
            "",
        ),
        (
            f"{name}: {found['repeated_exchanges']} exchanges, suite / bare socket",
            f"{found['ratio']:.2f} ({bare})",
            target,
        ),
    ]


def _codec(found: dict[str, Any] | None) -> list[Row]:
    if found is None:
        return [("BYTES codec against tritonclient", "tritonclient is not installed", "")]
    return [
        (
            f"BYTES {name}, tritonclient / suite",
            f"{part['ratio']:.1f} ({part['theirs_s']:.3f} s / {part['ours_s']:.3f} s)",
            "at least 2",
        )
        for name, part in found.items()
    ]


def _memory(found: dict[str, Any]) -> list[Row]:
    size, peak = found["size"] >> 20, found["peak"] >> 20
    return [
        (
            f"peak memory / size of a round trip of {size} MiB",
            f"{found['ratio']:.2f} ({peak} MiB, {found['before'] >> 20} of them imports)",
            "at most 2.5",
        )
    ]


def _startup(found: dict[str, Any]) -> list[Row]:
    return [
        (
            "command start to first inference request",
            f"{found['median_s']:.2f} s (worst {found['worst_s']:.2f} s)",
            "below 1 s",
        )
    ]


def _print(rows: list[Row]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


if __name__ == "__main__":
    main()
