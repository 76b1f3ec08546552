"""The parts of the oracle: a file each, with rows of cases, faults or variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oracle import clients, reports, servers
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.client_variants import CLIENT_VARIANTS
from v2_mutants.faults import FAULTS
from v2_mutants.variants import VARIANTS

FILES = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """A file: the names of its rows, and how to make the row of a name, "" if it is as usual. One
    that is made `at_once` makes all of them for the first."""

    names: Callable[[], Iterable[str]]
    row: Callable[[str], str]
    at_once: bool = False


def _own_row(fault: str) -> str:
    """Return the row of a fault, "" for one that fails cases of its own requirement alone."""
    row = servers.own_row(fault)
    alone = row.startswith("fail") and fault not in read("faults")
    return "" if alone else row


PARTS: Mapping[str, Part] = {
    "embedded": Part(servers.embedded, lambda id: servers.embedded()[id], at_once=True),
    "faults": Part(lambda: FAULTS, servers.fault_row),
    "own": Part(lambda: FAULTS, _own_row),
    "sockets": Part(
        lambda: [name for name, row in read("own").items() if row == servers.NOTHING],
        servers.socket_row,
    ),
    "variants": Part(lambda: VARIANTS, servers.variant_row),
    "any_model": Part(
        lambda: [name for name in read("any_model") if name in FAULTS], servers.any_model_row
    ),
    "client_faults": Part(lambda: CLIENT_FAULTS, clients.fault_row),
    "client_variants": Part(lambda: CLIENT_VARIANTS, clients.variant_row),
    "reports": Part(reports.names, reports.row, at_once=True),
}


def names_of(part: str) -> list[str]:
    """Return the names of a part's rows, in order."""
    return list(PARTS[part].names())


def row_of(place: tuple[str, str]) -> tuple[str, str]:
    """Return the name and the row of a place: a part and a name."""
    part, name = place
    return name, PARTS[part].row(name)


def read(part: str) -> dict[str, str]:
    """Return the frozen rows of a part by name."""
    file = FILES / f"{part}.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return dict(line.split(" ", 1) for line in lines)


def write(part: str, rows: Mapping[str, str]) -> None:
    """Freeze the rows of a part that are not as usual."""
    text = "".join(f"{name} {row}\n" for name, row in rows.items() if row)
    (FILES / f"{part}.txt").write_text(text, encoding="utf-8")
