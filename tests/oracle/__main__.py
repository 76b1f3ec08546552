"""`python -m oracle check|write [PART …]`, in tests/: see README.md."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence

from oracle.parts import PARTS, names_of, read, row_of, write
from support.long_tests import sample

_OFTEN = 50
_USUAL = "(no row: as usual)"


def rows(part: str, names: Sequence[str], jobs: int) -> Iterator[tuple[str, str]]:
    """Make the rows of a part, in processes of their own unless they are made at once."""
    places = [(part, name) for name in names]
    if PARTS[part].at_once:
        yield from map(row_of, places)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, initializer=gc.freeze) as pool:
        yield from pool.imap(row_of, places, chunksize=4)


def main() -> int:
    """Check or write; return 1 if a row differs."""
    parser = argparse.ArgumentParser(prog="python -m oracle", description=__doc__)
    parser.add_argument("do", choices=("check", "write"))
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []), help="by default all")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="just so many rows")
    parser.add_argument("--of", nargs="+", metavar="NAME", help="just these faults or cases")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    options = parser.parse_args()
    different = 0
    for part in options.parts or PARTS:
        frozen, names = read(part), names_of(part)
        wanted = set(options.of or sample(names, options.one_in))
        chosen = [name for name in names if name in wanted]
        different += sum(name not in names for name in frozen)
        for name in [name for name in frozen if name not in names]:
            print(f"{part}: - {name} {frozen.pop(name)}")
        started = time.monotonic()
        for number, (name, row) in enumerate(rows(part, chosen, options.jobs), 1):
            before = frozen.get(name, "")
            if before != row:
                different += 1
                print(f"{part}: - {name} {before or _USUAL}")
                print(f"{part}: + {name} {row or _USUAL}", flush=True)
            frozen[name] = row
            if options.do == "write" and (number % _OFTEN == 0 or number == len(chosen)):
                write(part, {name: frozen[name] for name in names if name in frozen})
        print(f"{part}: {len(chosen)} of {len(names)} rows, {time.monotonic() - started:.0f} s")
    return int(options.do == "check" and different > 0)


if __name__ == "__main__":
    sys.exit(main())
