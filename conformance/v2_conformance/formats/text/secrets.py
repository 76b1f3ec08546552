"""What a run says of secrets before it starts."""

from __future__ import annotations

from v2_conformance.runs.targets.target import Target
from v2_conformance.terminal_safe_text import wrapped


def warnings_about_secrets(target: Target) -> list[str]:
    """What cannot be hidden as a secret should be, no line over 80 columns."""
    names = target.mask.too_common
    if not names:
        return []
    several = len(names) > 1
    return wrapped(
        f"warning: the value{'s' if several else ''} of {', '.join(names)} "
        f"{'are' if several else 'is'} too short or too common to be hidden wherever "
        f"{'they stand' if several else 'it stands'}, only in the header field itself; "
        "if it is no secret, mark it with --public",
        "  ",
    )
