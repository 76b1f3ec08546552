"""Print how many lines of Python each room has, beside the most that it should have.

    python tools/sizes.py

The numbers are a compass: a room that needs more says why in docs/architecture.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "conformance" / "v2_conformance"
# "base" are the modules beside the rooms.
ROOMS = {
    "protocol": 800,
    "suite": 3_100,
    "wire": 4_000,
    "judging": 3_200,
    "conversations": 700,
    "runs": 2_900,
    "redaction": 300,
    "report": 3_100,
    "verifying": 800,
    "certifying": 700,
    "formats": 2_400,
    "cli": 2_600,
    "pytest_plugin": 600,
    "reference": 1_600,
    "kits": 800,
    "base": 600,
}
TREES = {
    "v2_conformance": (CORE, 30_000),
    "v2_clients": (CORE.parent / "v2_clients", 5_500),
    "v2_publishing": (CORE.parent / "v2_publishing", 2_000),
    "v2_mutants": (CORE.parent / "v2_mutants", 10_500),
    "tools": (ROOT / "tools", 2_500),
    "tests": (ROOT / "tests", 28_000),
}


def lines(folder: Path) -> int:
    """Return how many lines all .py files below `folder` have."""
    return sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.py"))


def rooms() -> Counter[str]:
    """Return the lines of each room of the core."""
    result = Counter({path.name: lines(path) for path in CORE.iterdir() if path.is_dir()})
    result["base"] = lines(CORE) - result.total()
    return +result  # without folders that have no Python


def main() -> None:
    """Print the table."""
    print(f"{'lines':>7} {'at most':>8}")
    for room, size in rooms().most_common():
        print(_row(room, size, ROOMS.get(room)))
    for name, (folder, limit) in TREES.items():
        print(_row(name, lines(folder), limit))


def _row(name: str, size: int, most: int | None) -> str:
    limit = "-" if most is None else f"{most:,}"
    return f"{size:>7,} {limit:>8} {name}{'  over' if most and size > most else ''}"


if __name__ == "__main__":
    main()
