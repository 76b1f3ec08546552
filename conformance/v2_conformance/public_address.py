"""Where the project is public. This file alone says it; edit it with

    python -m tools.release address SOMEONE/NAME

which also writes the pages, workflows and templates that have to spell the address out. As long as
the placeholder is here, pages link to nothing outside, and `release check` refuses a release.
"""

from __future__ import annotations

REPOSITORY = "OWNER/REPOSITORY"
"""The repository on github.com. Its issues take complaints, and its releases have the packages."""
SITE = "https://OWNER.github.io/REPOSITORY/"
"""Where the documentation site is, with a slash at its end."""
BASE_IMAGE_SEEN = False
"""True once somebody has pulled the digest in the Containerfile and in ci/ and has run it: no image
registry could be reached when it was written. `release check` refuses a release before that."""


def is_known() -> bool:
    """Return True if the address is not a placeholder."""
    return not REPOSITORY.startswith("OWNER/")


def requirement_page(requirement: str) -> str:
    """Return the address of a requirement's page; "" without a site, or if it is not an id."""
    plain = requirement.isascii() and requirement.isalnum()
    return f"{SITE}standard/{requirement}.html" if plain and is_known() else ""


def of_the_manual() -> str:
    """Return where the manual is, for people: an address, or the folder in the repository."""
    return SITE if is_known() else "README.md and docs/ of the repository"
