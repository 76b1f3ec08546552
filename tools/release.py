"""Releases: what has to be true before one, where the project's address stands, and its notes.

    python -m tools.release check v1.0.0    # exit code 1, and what is missing
    python -m tools.release notes v1.0.0    # the section of CHANGELOG.md
    python -m tools.release requirements    # freezes what the new ones stand for
    python -m tools.release address SOMEONE/NAME

In a checkout, whose root is the current folder. docs/releasing.md says when to use which.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from v2_conformance import public_address
from v2_conformance.suite.requirements import catalogue
from v2_conformance.version import __version__

_PLACEHOLDER = "/".join(("OWNER", "REPOSITORY"))
_PLACEHOLDER_SITE = ".github.io/".join(_PLACEHOLDER.split("/"))
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_SECTION = r"(?ms)^## \[{name}\][^\n]*\n(.*?)(?=^## |\Z)"
_FROZEN = Path("tests", "snapshots", "requirements.yaml")
_PLACES = (
    "*.md",
    ".github/**/*",
    "ci/*",
    "docs/*.md",
    "conformance/v2_conformance/public_address.py",
)
"""Where the address is spelled out. Everything else reads `public_address`."""


def problems(root: Path, tag: str) -> list[str]:
    """Return what keeps `tag` from being released from this checkout, nothing if it may be."""
    return [
        *_of_the_version(root, tag),
        *(f"{path}: the address is a placeholder" for path in spelled_out(root, _PLACEHOLDER)),
        *(f"{path}: the site is a placeholder" for path in spelled_out(root, _PLACEHOLDER_SITE)),
        *(
            []
            if public_address.BASE_IMAGE_SEEN
            else ["public_address.py: nobody has pulled the digest of the base image yet"]
        ),
        *(
            f"{_FROZEN}: run `python -m tools.release requirements`, which adds {row}"
            for row in requirement_rows()
            if row not in frozen_requirements(root)
        ),
    ]


def _of_the_version(root: Path, tag: str) -> Iterator[str]:
    if tag != f"v{__version__}":
        yield f"the tag is {tag}, but version.py says {__version__}"
    if notes(root, tag.removeprefix("v")) == "":
        yield f"CHANGELOG.md has no section [{tag.removeprefix('v')}]"
    if left := notes(root, "Unreleased"):
        yield f"CHANGELOG.md has {len(left.splitlines())} lines under [Unreleased]"


def requirement_rows() -> list[str]:
    """Return what each requirement stands for, which no release may change."""
    return [
        f"- {{id: {one.id}, words: 'since {one.since}: {one.level}, {one.basis}, {one.profile}'}}"
        for one in catalogue().values()
    ]


def frozen_requirements(root: Path) -> list[str]:
    """Return the rows of the requirements that were released."""
    return (root / _FROZEN).read_text("utf-8").splitlines()


def spelled_out(root: Path, text: str) -> list[str]:
    """Return the files that have `text`, among those where the address is spelled out."""
    results = {path for places in _PLACES for path in root.glob(places) if path.is_file()}
    having = [path for path in results if text in path.read_text("utf-8")]
    return sorted(path.relative_to(root).as_posix() for path in having)


def notes(root: Path, version: str) -> str:
    """Return the section of a version in CHANGELOG.md, "" if there is none, or nothing in it."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    match = re.search(_SECTION.format(name=re.escape(version)), text)
    return match[1].strip() if match else ""


def write_address(root: Path, repository: str) -> list[str]:
    """Put another address wherever the present one stands, and return the changed files."""
    before, site_before = public_address.REPOSITORY, public_address.SITE
    owner, _, name = repository.partition("/")
    site = f"https://{owner}.github.io/{name}/"
    changed = sorted({*spelled_out(root, before), *spelled_out(root, site_before)})
    for path in changed:
        text = (root / path).read_text("utf-8")
        text = text.replace(site_before, site).replace(before, repository)
        text = re.sub(rf"<!-- (.*{re.escape(site)}.*) -->", r"\1", text)  # a link to nothing before
        (root / path).write_text(text, "utf-8", newline="\n")
    return changed


def main(arguments: Sequence[str]) -> int:
    """Carry out one command of the module's docstring; the exit code."""
    root = Path.cwd()
    match list(arguments):
        case ["check", tag]:
            result = problems(root, tag)
            print(*(result or [f"{tag} may be released"]), sep="\n")
            return bool(result)
        case ["notes", tag]:
            print(notes(root, tag.removeprefix("v")))
            return 0
        case ["requirements"]:
            (root / _FROZEN).write_text("\n".join([*requirement_rows(), ""]), "utf-8")
            return 0
        case ["address", repository] if _NAME.fullmatch(repository):
            print(*write_address(root, repository), sep="\n")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
