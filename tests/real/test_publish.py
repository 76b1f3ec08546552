"""What is published of real servers. No server is started here, and nothing is installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import publish
from expectation import Expectation, client_expectation_files, expectation_files, load_expectation
from support.reports import case, passes, report_of
from v2_conformance.report.document import Report
from v2_conformance.report.words import priced

EXPECTATIONS = [
    load_expectation(path) for path in (*expectation_files(), *client_expectation_files())
]


def some(**changes: Any) -> Expectation:
    expected = Expectation(
        path=Path("some-1.0.yaml"),
        server="some",
        version="1.0",
        package="some==1.0",
        profiles=("binary",),
        survives=True,
        verdict="not conformant",
        requirements={},  # neither is published
        cases={},
        seen={"H6": "Refused.", "H7": "Refused.", "H8": "Refused.", "O6": "As JSON | binary."},
        reasons={},
    )
    return replace(expected, **changes)


def some_report(**outcomes: str) -> Report:
    """A report in which these requirements have these outcomes, by their first cases."""
    cases = [case(f"{name}/x", outcome) for name, outcome in outcomes.items()]
    return report_of(passes(*cases), profiles=("binary", "large"), server=("some", "1.0"))


def test_the_front_page_and_the_readme_say_what_the_reports_say() -> None:
    published = publish.published_reports(EXPECTATIONS)
    # `tests/real/publish.py --readme` writes both, `--site` takes the picture.
    for path, made in ((publish.README, publish.readme), (publish.FRONT_PAGE, publish.front_page)):
        text = path.read_text(encoding="utf-8")
        assert text == made(text, published)
    assert publish.source_of(publish.PICTURED) in publish.PICTURE.read_bytes()


def test_requirements_with_one_sentence_share_a_row_and_one_alone_has_its_title() -> None:
    report = some_report(H6="fail", H7="fail", H8="fail", O6="disputed", L1="not_run")
    expected = some(mended={"H6": "2.0"})
    text = publish.readme(f"By hand.\n{publish.BEGIN}old\n", [(expected, report)])
    assert "Mended in: H6 2.0.\n" in text
    assert text.startswith(f"By hand.\n{publish.BEGIN}\n## some 1.0: {priced(report)}\n")
    assert "old" not in text
    assert "| MUST (blocks robust) H6 H7, SHOULD H8 | Refused. |" in text
    assert "| DISPUTED O6 binary_data_output true, output listed " in text
    assert "As JSON \\| binary. |" in text
    assert "Not tested: L1.\n" in text


def test_the_front_page_names_what_blocks_conformant_alone() -> None:
    report = some_report(P9="fail", H6="fail", H8="fail")
    text = publish.front_page(f"{publish.TABLE}{publish.TABLE_END}", [(some(), report)])
    words = "from correct requests: breaks clients (1); from malformed requests: breaks clients (1)"
    assert f"| not conformant; {words} | P9 |\n" in text


def test_profiles_that_an_older_version_lacks_are_left_out_of_the_command() -> None:
    expected = some(server="triton", profiles=("binary", "raw", "compression-responses"))
    words = expected.run_arguments("http://127.0.0.1:1", Path("reports"))
    claimed = [words[at + 1] for at, word in enumerate(words) if word == "--profile"]
    assert claimed == ["raw", "compression-responses"]
