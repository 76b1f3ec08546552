"""report.html for tests: written for a browser, or read for what it has as data: its list of cases,
and what is shown of each once it is opened."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from support.reports import passes, report_of
from v2_conformance.formats.html.page import render
from v2_conformance.formats.shown import Shown
from v2_conformance.formats.templates import case_anchor
from v2_conformance.report.document import CaseResult, Report

VOID = {"meta", "link", "input", "br", "img", "hr"}


def written_page(folder: Path, report: Report) -> str:
    """The URL of report.html, written into `folder`."""
    file = folder / "report.html"
    file.write_text(render(report), "utf-8")
    return file.as_uri()


def page_of_cases(folder: Path, *cases: CaseResult) -> str:
    """The URL of a page in which these cases are as they are and all others pass."""
    return written_page(folder, report_of(passes(*cases)))


def element_of(case_id: str) -> str:
    """The JavaScript expression of a case's row in a page."""
    return f"document.getElementById({case_anchor(case_id)!r})"


def stream_of(page: str) -> str:
    """The packed cases of a page."""
    found = re.search('<script type="application/octet-stream" id="packed">([^<]*)</script>', page)
    assert found is not None
    return found[1]


def unpacked(stream: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the list of cases, and what is shown of the first of them once it is opened."""
    text = zlib.decompress(base64.b64decode(stream)).decode() if stream else "[]"
    rows, *shown = text.split("\n")
    return json.loads(rows), shown


def rows_of(page: str) -> list[dict[str, Any]]:
    """The list of cases in a page, in its order."""
    return unpacked(stream_of(page))[0]


def ids_of(page: str) -> list[str]:
    """The ids of the cases in a page, in its order."""
    return [row["id"] for row in rows_of(page)]


def shown_in(page: str) -> dict[str, Shown]:
    """By the id of its case, what is shown once it is opened."""
    rows, shown = unpacked(stream_of(page))
    return {
        row["id"]: msgspec.json.decode(text, type=Shown)
        for row, text in zip(rows, shown, strict=False)
    }


class Page(HTMLParser):
    """What a browser would make of a page; fails on tags that do not match. `rows` are those of its
    tables, by the requirement in the row's id: the words of each cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[str] = []
        self.attributes: set[str] = set()
        self.meta: dict[str, str] = {}
        self.inline: dict[str, str] = {}
        self.rows: dict[str, list[str]] = {}
        self.text = ""
        self.title = ""
        self._open: list[str] = []
        self._row = ""
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.attributes |= set(values)
        self.ids += [values["id"]] if "id" in values else []
        if tag == "a":
            self.links.append(values["href"])
        elif tag == "img":
            self.images.append(values["src"])
        elif tag == "meta":
            self.meta[values.get("http-equiv", values.get("name", ""))] = values.get("content", "")
        elif tag == "tr":
            self._row = values.get("id", "").removeprefix("req-")
            self.rows[self._row] = []
        elif tag in ("td", "th"):
            self.rows[self._row].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside in ("script", "style"):
            self.inline[inside] = data
        elif inside == "title":
            self.title += data
        else:
            self.text += data
            if {"td", "th"} & set(self._open):
                self.rows[self._row][-1] += " ".join(data.split()) + " "

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def policy(self) -> str:
        return self.meta["Content-Security-Policy"]

    def cells(self, requirement: str) -> list[str]:
        """The words of the cells behind the first one in the row of a requirement."""
        return [" ".join(cell.split()) for cell in self.rows[requirement][1:]]
