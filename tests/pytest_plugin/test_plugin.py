"""The pytest plugin: inert without a URL; with one, the cases are tests like any other."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.leaks import is_shown
from support.responses import http
from support.servers import answering, free_port, serving
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.requirements import catalogue
from v2_mutants.servers import MutantServer

OWN_TEST = "def test_of_the_vendor():\n    assert True\n"


@pytest.fixture(scope="module")
def good() -> Iterator[str]:
    """The URL of a server without faults."""
    with ReferenceServer() as server:
        yield server.url


@pytest.fixture(scope="module")
def bad() -> Iterator[str]:
    """The URL of a server with two faults: in H6 (MUST) and in P4 (SHOULD)."""
    with MutantServer(["non-numeric-header-length-raw", "binary-response-typed-json"]) as server:
        yield server.url


def start(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process; other plugins that it does not need only take time."""
    return pytester.runpytest("-p", "no:hypothesispytest", *arguments)


@pytest.fixture
def server_of(
    start: Callable[[type[Behaviour]], ReferenceServer],
) -> Callable[[type[Behaviour]], ReferenceServer]:
    """The fixture `start`, whose name is taken here."""
    return start


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def junit(path: Path) -> dict[str, str]:
    """Outcome by the name of the test; each is there once."""
    cases = ElementTree.parse(path).getroot().findall(".//testcase")
    results = ([part.tag for part in case if part.tag != "properties"] for case in cases)
    found = {
        case.attrib["name"]: next(iter(tags), "passed")
        for case, tags in zip(cases, results, strict=True)
    }
    assert len(found) == len(cases)
    return found


class TestWithoutUrl:
    def test_it_adds_nothing_and_loads_nothing(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(
            "import sys\n"
            "def test_alone(request):\n"
            "    assert len(request.session.items) == 1\n"
            "    loaded = {name for name in sys.modules if name.startswith('v2_conformance')}\n"
            "    plugin = 'v2_conformance.pytest_plugin'\n"
            "    ours = {'v2_conformance', 'v2_conformance.elsewhere', 'v2_conformance.version'}\n"
            "    runs = 'v2_conformance.runs'\n"
            "    options = {runs, f'{runs}.targets', f'{runs}.targets.numbers'}\n"
            "    names = {'v2_conformance.protocol', 'v2_conformance.protocol.names'}\n"
            "    plugins = {plugin, f'{plugin}.plugin', f'{plugin}.options'}\n"
            "    assert loaded <= ours | options | names | plugins\n"
            "    assert 'requests' not in sys.modules\n"
        )
        result = pytester.runpytest_subprocess("-p", "no:html", "-p", "no:metadata", "-W", "error")
        result.assert_outcomes(passed=1)

    def test_it_can_be_switched_off(self, pytester: pytest.Pytester, good: str) -> None:
        pytester.makepyfile(OWN_TEST)
        start(pytester, "-p", "no:v2_conformance").assert_outcomes(passed=1)
        assert start(pytester, "-p", "no:v2_conformance", "--v2-url", good).ret == 4


RAW = "|".join(sorted({c.requirement for c in suite_cases() if c.profile == "raw"}))


class TestSelection:
    def test_cases_are_collected_by_id(self, pytester: pytest.Pytester, good: str) -> None:
        result = start(pytester, "--v2-url", good, "--collect-only", "-q", "--strict-markers")
        ids = collected(result)
        assert "v2-conformance::P2/blob-follows-json[INT32]" in ids
        assert sorted(ids) == sorted(f"v2-conformance::{case.id}" for case in suite_cases())

    @pytest.mark.parametrize(
        ("option", "pattern"),
        [
            (["-m", "H6"], r"H6/"),
            (["-m", "MUST and family_E"], r"E(2|4|5)/"),
            (["-m", "profile_raw"], rf"({RAW})/"),
            (["-k", "blob-follows-json and INT32 and not UINT32"], r"P2/blob-follows-json\[INT32"),
            (["-m", "P4 or v2_nothing"], r"P4/"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_marks_and_words_select(
        self, option: list[str], pattern: str, pytester: pytest.Pytester, good: str
    ) -> None:
        pytester.makepyfile(OWN_TEST)
        ids = collected(start(pytester, "--v2-url", good, "--collect-only", "-q", *option))
        assert ids
        assert all(re.match("v2-conformance::" + pattern, name) for name in ids), ids
        if option[-1] == "MUST and family_E":
            wanted = [c.id for c in suite_cases() if c.id[0] == "E" and c.level == "MUST"]
            assert len(ids) == len(wanted)
            assert catalogue()["E1"].level == "SHOULD"  # or this shows nothing

    def test_the_vendors_own_tests_run_beside(self, pytester: pytest.Pytester, good: str) -> None:
        pytester.makepyfile(OWN_TEST)
        result = start(pytester, "--v2-url", good, "-k", "vendor or P12", "-v")
        passed = result.parseoutcomes()["passed"]
        assert passed == 1 + sum(case.requirement == "P12" for case in suite_cases())
        result.stdout.fnmatch_lines(["*::test_of_the_vendor PASSED*"])

    def test_last_failed_runs_the_failures_again(
        self, pytester: pytest.Pytester, bad: str, good: str
    ) -> None:
        pytester.makepyfile(OWN_TEST)
        first = start(pytester, "--v2-url", bad, "-m", "P4 or P12").parseoutcomes()
        assert first["failed"]
        assert first["passed"]
        again = start(pytester, "--v2-url", good, "--lf").parseoutcomes()
        assert again["passed"] == first["failed"]
        assert "failed" not in again


class TestReports:
    @pytest.mark.parametrize("dist", [[], ["--dist", "each"]], ids=["load", "each"])
    def test_under_xdist_the_cases_run_once_after_all_other_tests(
        self, pytester: pytest.Pytester, good: str, dist: list[str]
    ) -> None:
        pytester.makepyfile("def test_1(): pass\ndef test_2(): pass\n")
        pytester.makeconftest(
            "def pytest_runtest_logreport(report):\n"
            "    if report.when == 'call':\n"
            "        with open('ran', 'a') as file:\n"
            "            worker = getattr(report, 'node', None)\n"
            "            print(report.nodeid, worker and worker.gateway.id, file=file)\n"
        )
        chosen = ["-k", "test_ or P12 or P1", "-p", "no:html"]
        result = start(pytester, "--v2-url", good, *chosen, "-n", "2", *dist)
        assert result.ret == 0
        # What workers print of their own reports has no node either, but is of other tests.
        ran = [line.rsplit(" ", 1) for line in (pytester.path / "ran").read_text().splitlines()]
        cases = [name for name, _ in ran if name.startswith("v2-conformance::")]
        assert len(set(cases)) == len(cases) > 2
        assert [name for name, _ in ran[-len(cases) :]] == cases
        assert {worker for name, worker in ran if name in cases} == {"None"}

    def test_run_that_stops_says_so(self, pytester: pytest.Pytester, bad: str) -> None:
        start(pytester, "--v2-url", bad, "-x", "-m", "P4", "--v2-report-dir", "out")
        report = load_report(pytester.path / "out" / "report.json")
        assert not report.complete

    @pytest.mark.parametrize("workers", [[], ["-n", "2"]])
    def test_a_secret_that_is_repeated_in_base64_is_in_no_report_of_pytest(
        self,
        pytester: pytest.Pytester,
        workers: list[str],
        monkeypatch: pytest.MonkeyPatch,
        server_of: Callable[[type[Behaviour]], ReferenceServer],
    ) -> None:
        class Repeats(Behaviour):
            def infer(self, model: ModelContract, request: Request) -> Response:
                sent = request.values("x-tenant-jwt")[0] + " db-p4ssword"
                return self.error(401, base64.b64encode(b"-" + sent.encode()).decode())

        monkeypatch.setenv("DB_PASSWORD", "db-p4ssword")
        given = ["--v2-header", "X-Tenant-Jwt: t0p-s3cret-t0ken", "--v2-secret-env", "DB_PASSWORD"]
        given += ["--v2-header", "X-Region: north-by-n", "--v2-target", "public.yaml"]
        (pytester.path / "public.yaml").write_text("public: [X-Region]\n")
        written = ["--v2-report-dir", "out", "--junit-xml", "out/v2.xml", "--html", "out/page.html"]
        given += [
            "--v2-url",
            server_of(Repeats).url,
            "-k",
            "H6 and letters or P2 and INT32",
            *written,
        ]
        result = start(pytester, *given, "-l", "-rA", *workers)
        assert result.ret == 1
        paths = (pytester.path / "out").rglob("*")
        texts = [path.read_bytes() for path in paths if path.is_file()]
        texts.append(result.stdout.str().encode())
        assert len(texts) > 5
        for text in texts:
            assert is_shown(text, b"t0p-s3cret-t0ken", b"db-p4ssword") is None
        report = load_report(pytester.path / "out" / "report.json")
        assert ("X-Region", "north-by-n") in report.target.headers


class TestFailures:
    def test_failure_has_no_traceback(self, pytester: pytest.Pytester, bad: str) -> None:
        result = start(pytester, "--v2-url", bad, "-k", "H6 and letters and not with")
        result.assert_outcomes(failed=1, deselected=len(suite_cases()) - 1)
        result.stdout.fnmatch_lines(
            [
                "FAIL MUST (blocks robust) H6/not-a-number[[]letters]",
                "Inference-Header-Content-Length: *the server accepted the request with 200*",
                "why: A value that is not a decimal number*",
            ]
        )
        assert "Traceback" not in result.stdout.str()
        assert "plugin.py" not in result.stdout.str()

    def test_failure_has_the_grade_of_what_was_judged(self, pytester: pytest.Pytester) -> None:
        with MutantServer(["negative-header-length-indexes"]) as server:
            result = start(pytester, "--v2-url", server.url, "-k", "H4/negative-with", "-rf")
        result.stdout.fnmatch_lines(
            [
                "FAIL SHOULD H4/negative-with-bytes-behind",
                "FAILED *H4/negative-with-bytes-behind - FAIL SHOULD H4/*",
            ]
        )
        assert "blocks robust" not in result.stdout.str()

    @pytest.mark.parametrize("workers", [[], ["-n", "2"]])
    @pytest.mark.long
    def test_death_is_one_failure(self, pytester: pytest.Pytester, workers: list[str]) -> None:
        with MutantServer(["rejection-stops-listening"]) as server:
            result = start(pytester, "--v2-url", server.url, "-m", "R3 or P12", "-rs", *workers)
        counts = result.parseoutcomes()
        total = sum(case.requirement in ("R3", "P12") for case in suite_cases())
        assert counts["failed"] == 1
        assert counts["skipped"] >= 3
        assert counts["failed"] + counts["skipped"] + counts.get("passed", 0) == total
        result.stdout.fnmatch_lines(["SKIPPED*not_run: not sent: R3/* killed*"])

    def test_observed_cases_are_last(self, pytester: pytest.Pytester, good: str) -> None:
        pytester.makeconftest(
            "import pytest\n"
            "@pytest.hookimpl(trylast=True)\n"
            "def pytest_collection_modifyitems(items):\n"
            "    items.reverse()\n"
        )
        result = start(pytester, "--v2-url", good, "-k", "H6 or R4", "-v")
        assert result.ret == 0
        names = [line.split()[0] for line in result.outlines if " PASSED " in line]
        assert names[-1] == "v2-conformance::R4/observed"

    @pytest.mark.parametrize("workers", [[], ["-n", "2"]])
    def test_unreachable_server_line(self, pytester: pytest.Pytester, workers: list[str]) -> None:
        pytester.makepyfile(OWN_TEST)
        url = f"http://127.0.0.1:{free_port()}"
        result = start(pytester, "--v2-url", url, *workers)
        assert result.ret == 4
        lines = [line for line in result.errlines if line]
        assert len(lines) == 1
        assert "connection refused" in lines[0]
        assert "Traceback" not in result.stdout.str()

    @pytest.mark.parametrize("selection", [["-k", "no_such_case"], ["-m", "M55"]], ids=" ".join)
    def test_a_selection_that_matches_nothing_is_no_success(
        self, pytester: pytest.Pytester, good: str, selection: list[str]
    ) -> None:
        result = start(pytester, "--v2-url", good, "--v2-report-dir", "reports", *selection)
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
        report = pytester.path / "reports" / "report.json"
        assert not report.exists() or not load_report(report).verdict.conformant

    def test_server_without_models_is_usage_error(self, pytester: pytest.Pytester) -> None:
        metadata = http(b'{"name":"s","version":"1","extensions":[]}')
        replies = answering(metadata, *[http(b'{"error":"no"}', 404)] * 50)
        with serving(replies) as server:
            result = start(pytester, "--v2-url", server.url)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        lines = [line for line in result.errlines if line]
        assert len(lines) == 1
        assert "none of the contract's models" in lines[0]

    @pytest.mark.parametrize(
        "options",
        [
            ["--v2-url", "localhost:8000"],
            ["--v2-target", "missing.yaml"],
            ["--v2-url", "http://h", "--v2-profile", "binry"],
            ["--v2-url", "http://h", "--v2-header", "no colon"],
        ],
        ids=" ".join,
    )
    def test_wrong_options_are_lines(self, pytester: pytest.Pytester, options: list[str]) -> None:
        result = start(pytester, *options)
        assert result.ret == 4
        assert len([line for line in result.errlines if line]) == 1
