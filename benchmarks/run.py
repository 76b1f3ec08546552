"""All benchmarks as one table: `run.py [--triton URL] [--smoke]`. See README.md beside this file.

Each part runs in a process of its own, so that none sees the memory or the imports of another.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from embedded import embedded_server
from sizes import SMOKE, size

HERE = Path(__file__).parent


class Figure(NamedTuple):
    """A row of the table; `target` is empty if there is none."""

    what: str
    measured: str
    target: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--triton", metavar="URL", help="a Triton with the suite's model kit")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does each still work?")
    given = parser.parse_args()
    url = given.triton
    if given.smoke:
        os.environ[SMOKE] = "1"  # for the processes of the parts
    with embedded_server() as embedded:
        figures = _throughput("embedded server", _measure("throughput.py", embedded), "at most 2")
        figures += _whole(_measure("whole.py", embedded))
        if url:
            figures += _throughput("Triton", _measure("throughput.py", url), "")
        figures += _growth(_measure("growth.py", embedded))
        figures += _codec(_measure("codec.py"))
        figures += _memory(_measure("memory.py", embedded))
    figures += _startup(_measure("startup.py"))
    figures += _image(_measure("image.py"))
    for workers in ("8", "1")[: size(2, 1)]:
        figures += _distance(_measure("distance.py", "50", workers))
    _print_table(figures)


def _measure(script: str, *arguments: str) -> Any:
    command = [sys.executable, str(HERE / script), *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _throughput(name: str, found: dict[str, Any], target: str) -> list[Figure]:
    bare = f"{found['suite_s']:.2f} s / {found['bare_s']:.2f} s"
    return [
        Figure(
            f"{name}: {found['cases']} cases, {found['exchanges']} exchanges",
            f"{found['cases_per_s']:.0f} cases/s",
        ),
        Figure(
            f"{name}: {found['repeated_exchanges']} exchanges, suite / bare socket",
            f"{found['ratio']:.2f} ({bare})",
            target,
        ),
    ]


def _whole(found: dict[str, Any]) -> list[Figure]:
    whole = f"{found['whole_s']:.1f} s / {found['bare_s']:.2f} s"
    plugin = f"{found['pytest_s']:.1f} s / {found['run_s']:.1f} s"
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found["commands"].items())
    return [
        Figure(
            f"whole command / bare socket, {found['exchanges']} exchanges",
            f"{found['whole_ratio']:.1f} ({whole})",
            "at most 8",
        ),
        Figure("report.html", f"{found['page_s']:.2f} s", "at most 0.3 s"),
        Figure("pytest / run", f"{found['pytest_ratio']:.2f} ({plugin})", "at most 1.5"),
        Figure("report.json", f"{found['report_bytes'] / 1e6:.2f} MB", "at most 4 MB"),
        Figure("of which pauses between writes", f"at most {found['paused_s']:.1f} s"),
        Figure("report.html", f"{found['page_bytes'] / 1e6:.2f} MB", "at most 0.9 MB"),
        Figure("report.json.gz", f"{found['packed_bytes'] / 1e6:.2f} MB", "at most 1.5 MB"),
        Figure("small commands", times, "at most 0.3 s"),
    ]


def _growth(found: dict[str, Any]) -> list[Figure]:
    """One row for each quantity: what one unit of it costs, from the least to the most."""
    cases = [f"{one['seconds'] / one['cases'] * 1000:.1f}" for one in found["cases"]]
    counts = [f"{one['cases']}" for one in found["cases"]]
    sizes = [f"{one['seconds'] / one['mebibytes'] * 1000:.1f}" for one in found["sizes"]]
    ratios = [f"{one['seconds'] / one['bare_s']:.1f}" for one in found["sizes"]]
    mebibytes = [f"{one['mebibytes']}" for one in found["sizes"]]
    return [
        Figure(f"ms for each of {', '.join(counts)} cases", ", ".join(cases), "no growth"),
        Figure(f"ms for each MiB of {', '.join(mebibytes)}", ", ".join(sizes), "no growth"),
        Figure("these tensors, suite / bare socket", ", ".join(ratios)),
    ]


def _codec(found: dict[str, Any] | None) -> list[Figure]:
    if found is None:
        return [Figure("BYTES codec, tritonclient / suite", "tritonclient is not installed")]
    return [
        Figure(
            f"BYTES {name}, tritonclient / suite",
            f"{part['ratio']:.1f} ({part['theirs_s']:.3f} s / {part['ours_s']:.3f} s)",
            "at least 4",
        )
        for name, part in found.items()
    ]


def _memory(found: dict[str, Any]) -> list[Figure]:
    size, peak = found["size"] >> 20, found["peak"] >> 20
    return [
        Figure(
            f"peak memory / size of a round trip of {size} MiB",
            f"{found['ratio']:.2f} ({peak} MiB, {found['before'] >> 20} MiB of it imports)",
            "at most 2.2",
        )
    ]


def _startup(found: dict[str, Any]) -> list[Figure]:
    return [
        Figure(
            "command start to first inference request",
            f"{found['median_s']:.2f} s (worst {found['worst_s']:.2f} s)",
            "at most 0.5 s",
        )
    ]


def _image(found: dict[str, Any]) -> list[Figure]:
    return [
        Figure(
            f"--model, 3x{found['side']}x{found['side']}: {found['exchanges']} exchanges",
            f"{found['seconds']:.1f} s / {found['bare_s']:.1f} s",
            "at most 20 s",
        )
    ]


def _distance(found: dict[str, Any]) -> list[Figure]:
    away = f"{found['round_trip_s'] * 1000:.0f} ms"
    return [
        Figure(
            f"{away} away, -n {found['workers']}: whole run",
            f"{found['seconds']:.0f} s ({found['recorded']} exchanges in the report, "
            f"{found['recorded'] * found['round_trip_s']:.0f} s one by one)",
            "",
        )
    ]


def _print_table(figures: list[Figure]) -> None:
    head = Figure("what", "measured", "target")
    widths = [max(map(len, column)) for column in zip(head, *figures, strict=True)]
    line = Figure(*("-" * width for width in widths))
    for row in (head, line, *figures):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    main()
