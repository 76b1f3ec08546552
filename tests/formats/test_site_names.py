"""Names of folders in a site, of servers that may call themselves anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v2_publishing.site.names import free_slugs, is_folder_name, is_site_path, slug


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("kserve", "0.21.0", "kserve-0.21.0"),
        ("Triton Inference Server", "2.51.0+cpu", "triton-inference-server-2.51.0-cpu"),
        ("../../etc", "passwd", "etc-passwd"),
        ("..", ".", "unnamed"),
        ("CON", "", "x-con"),
        ("nul.txt", "", "x-nul.txt"),
        ("index.json", "", "x-index.json"),
        ("servers", "", "x-servers"),
        ("Ünïcode", "1", "unicode-1"),
        ("日本", "1", "unnamed-1"),
        ("a\x00b/c\\d:e", "1", "a-b-c-d-e-1"),
    ],
)
def test_folder_is_named_like_its_server(name: str, version: str, expected: str) -> None:
    assert slug(name, version) == expected


@given(st.text(max_size=500), st.text(max_size=500))
def test_whatever_a_server_calls_itself_its_folder_is_in_the_site(name: str, version: str) -> None:
    found = slug(name, version)
    assert is_folder_name(found)
    assert is_site_path(f"{found}/report.html")
    assert len(found) < 120


@given(st.lists(st.text(alphabet="aAbB .-1", max_size=4), max_size=12, unique=True))
def test_no_two_servers_share_a_folder(names: list[str]) -> None:
    found = free_slugs([(slug(name), name) for name in names], {"a", "b"})
    assert len({one.casefold() for one in found} | {"a", "b"}) == len(names) + 2
    assert all(is_folder_name(one) for one in found)


def test_who_is_told_apart_keeps_the_name_when_others_go() -> None:
    both = free_slugs([("a", "A"), ("a", "a")])
    assert free_slugs([("a", "A")], {"a"}) == [both[0]]


NO_PATHS = (
    "../index.html", "/etc/passwd", "a/../b/report.html", "a/b/report.html", ".git/config",
    ".git/report.html", "a\\report.html", "a/packages.txt", "README.md", "servers/x.svg",
    "servers/../x.html", "", ".", "a/", "a/report.html\n", "con/report.html",
)  # fmt: skip


@pytest.mark.parametrize("path", NO_PATHS)
def test_nothing_else_is_a_file_of_a_site(path: str) -> None:
    assert not is_site_path(path)
