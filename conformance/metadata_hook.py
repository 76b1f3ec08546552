"""The project's address in the package's metadata: its links, and README.md with whole links, which
a package index shows outside of the repository. hatchling calls this when it builds."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")
_LINKED_IMAGE = re.compile(r"\[(!\[[^\[\]]*\]\([^)\s]+\))\]\((?![a-z]+:|#)([^)\s]+)\)")


class AddressHook(MetadataHookInterface):
    """Adds `readme` and `urls`. As long as the address is a placeholder, there are no links."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        package = root / "conformance" / "v2_conformance"
        address = runpy.run_path(str(package / "public_address.py"))
        version = runpy.run_path(str(package / "version.py"))["__version__"]
        text = (root / "README.md").read_text("utf-8")
        if address["is_known"]():
            repository = address["REPOSITORY"]
            text = whole_links(text, repository, f"v{version}")
            metadata["urls"] = {
                "Documentation": address["SITE"],
                "Source": f"https://github.com/{repository}",
                "Issues": f"https://github.com/{repository}/issues",
                "Changes": f"https://github.com/{repository}/blob/v{version}/CHANGELOG.md",
            }
        else:
            metadata["urls"] = {}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def whole_links(text: str, repository: str, tag: str) -> str:
    """Return Markdown whose links into the repository say where that is."""
    page = f"https://github.com/{repository}/blob/{tag}/"
    raw = f"https://raw.githubusercontent.com/{repository}/{tag}/"

    def linked(match: re.Match[str]) -> str:
        sign, words, path = match.groups()
        return f"{sign}[{words}]({raw if sign else page}{path})"

    text = _LINKED_IMAGE.sub(lambda match: f"[{match[1]}]({page}{match[2]})", text)
    return _LINK.sub(linked, text)
