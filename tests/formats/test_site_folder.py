"""The folder of a site: what a new site leaves as it is, and what it replaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_publishing.site.folder import SiteFolder, replace_site

NAME = "index.html"


@pytest.mark.parametrize(("last", "kept"), [(b"a", True), (b"b", False)])
def test_a_file_is_moved_only_if_it_differs_however_large_it_is(
    tmp_path: Path, last: bytes, kept: bool
) -> None:
    page = bytes((1 << 20) + 1)
    folder = SiteFolder(tmp_path, frozenset({NAME}))
    folder.work.mkdir()
    (tmp_path / NAME).write_bytes(page + b"a")
    (folder.work / NAME).write_bytes(page + last)
    replace_site(folder, folder.work, [NAME], [])
    assert (tmp_path / NAME).read_bytes() == page + last
    assert (folder.work / NAME).exists() is kept
