"""What is published of real servers. No server is started here, and nothing is installed."""

from __future__ import annotations

import publish
from expectation import every_expectation


def test_the_front_page_and_the_readme_say_what_the_reports_say() -> None:
    published = publish.published_reports(every_expectation())
    # `tests/real/publish.py --readme` writes both, `--site` takes the picture.
    for path, made in ((publish.README, publish.readme), (publish.FRONT_PAGE, publish.front_page)):
        text = path.read_text(encoding="utf-8")
        assert text == made(text, published)
    assert publish.source_of(publish.PICTURED) in publish.PICTURE.read_bytes()
