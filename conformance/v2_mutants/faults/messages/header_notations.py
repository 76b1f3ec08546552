"""Faults of header lengths that are written in the notation of a programming language (H)."""

from __future__ import annotations

import re
from collections.abc import Callable

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.registry import What, fault


def _reads(pattern: str, read: Callable[[str], int]) -> What[int]:
    """A server that reads a value of this pattern as `read` does."""
    return lambda right, text: read(text) if re.fullmatch(pattern, text) else right()


fault("minus-zero-is-zero", "H4", Behaviour.parse_header_length)(
    "The header length -0 is read as 0.", _reads("-0", lambda text: 0)
)


def _digits(text: str) -> int:
    """The number that decimal digits of any script make, as Python's int() does."""
    return int(text.encode("latin-1").decode())


for _name, _text, _pattern, _read in (
    ("plus", "with a plus sign", r"\+[0-9]+", int),
    ("hexadecimal", "in hexadecimal", "0x[0-9a-f]+", lambda t: int(t, 16)),
    ("underscore", "with an underscore", "[0-9]+_[0-9]+", int),
    ("exponent", "with an exponent", r"[0-9.]+e2", lambda t: round(float(t))),
    ("arabic", "in Arabic digits", "(Ù[\xa0-\xa9])+", _digits),
    ("fullwidth", "in fullwidth digits", "(ï¼[\x90-\x99])+", _digits),
    ("hexadecimal-digits", "in digits such as a3", "[0-9a-f]*[a-f][0-9a-f]*", lambda t: int(t, 16)),
    ("octal", "in octal", "0[0-7]+", lambda t: int(t, 8)),
    ("quoted", "in quotes", '"[0-9]+"', lambda t: int(t[1:-1])),
    ("spaced", "with a space in it", "[0-9]+ [0-9]", lambda t: int(t.replace(" ", ""))),
    ("parameter", "with a parameter", "[0-9]+;x", lambda t: int(t[:-2])),
    ("no-break-space", "behind a no-break space", "Â\xa0[0-9]+", lambda t: int(t[2:])),
):
    fault(f"header-length-{_name}-read", "H14", Behaviour.parse_header_length)(
        f"A header length {_text} is read.", _reads(_pattern, _read)
    )
