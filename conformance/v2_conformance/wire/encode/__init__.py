"""From a case to the bytes of its request.

Nothing here checks a case. Each is checked against schemas/case.schema.json once its axes are
filled in: the suite's own by its tests, those of users when they are read (suite/case_files).
What a schema cannot say, such as that the JSON has the place that is changed, is a CaseFileError
where it is met.
"""

from __future__ import annotations


def from_hex(value: str | bytes) -> bytes:
    """Return the bytes of hexadecimal digits, with or without spaces between them. Bytes, which the
    bench passes, are returned as they are."""
    return value if isinstance(value, bytes) else bytes.fromhex(value)
