"""The pytest plugin: inert without a URL; with one, the cases are tests like any other."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

import pytest

from support.leaks import is_shown
from support.responses import http
from support.servers import answering, free_port, serving
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.report.recorder import sole_run
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import ModelContract
from v2_mutants.servers import MutantServer

OWN_TEST = "def test_of_the_vendor():\n    assert True\n"


@pytest.fixture(scope="module")
def bad() -> Iterator[str]:
    """The URL of a server with faults in H4, H6 and P4."""
    faults = ("non-numeric-header-length-raw", "binary-response-typed-json")
    with MutantServer([*faults, "negative-header-length-indexes"]) as server:
        yield server.url


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process; other plugins that it does not need only take time."""
    return pytester.runpytest("-p", "no:hypothesispytest", *arguments)


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_without_a_url_it_adds_nothing_and_loads_nothing(pytester: pytest.Pytester) -> None:
    parts = "elsewhere version runs runs.targets runs.targets.numbers protocol protocol.names"
    parts += " pytest_plugin pytest_plugin.plugin"
    pytester.makepyfile(
        "import sys\n"
        "def test_alone(request):\n"
        "    assert len(request.session.items) == 1\n"
        "    loaded = {name for name in sys.modules if name.startswith('v2_conformance.')}\n"
        f"    assert loaded <= {{f'v2_conformance.{{part}}' for part in {parts.split()}}}\n"
        "    assert 'requests' not in sys.modules\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:html", "-p", "no:metadata", "-W", "error")
    result.assert_outcomes(passed=1)


# Which tests there are


def test_cases_are_collected_by_id(pytester: pytest.Pytester, url: str) -> None:
    ids = collected(run(pytester, "--v2-url", url, "--collect-only", "-q", "--strict-markers"))
    assert sorted(ids) == sorted(f"v2-conformance::{case.id}" for case in suite_cases())


@pytest.mark.parametrize(
    ("named", "tests"),
    [
        (["v2-conformance::H6/not-a-number[letters]"], ["H6/not-a-number[letters]"]),
        (["v2-conformance::R4/obs*", "test_own.py"], ["R4/observed", "test_of_the_vendor"]),
        (["test_own.py::test_of_the_vendor"], ["test_of_the_vendor"]),
        (["test_own.py"], ["test_of_the_vendor"]),
    ],
)
def test_node_ids_name_what_runs(
    named: list[str], tests: list[str], pytester: pytest.Pytester, url: str
) -> None:
    pytester.makepyfile(test_own=OWN_TEST)
    ids = collected(run(pytester, *named, "--v2-url", url, "--collect-only", "-q"))
    assert sorted(one.partition("::")[2] for one in ids) == tests


@pytest.mark.parametrize(
    ("option", "chosen"),
    [
        (["-m", "H6"], lambda case: case.requirement == "H6"),
        (["-m", "MUST and family_E"], lambda case: case.id[0] == "E" and case.level == "MUST"),
        (["-m", "profile_raw"], lambda case: case.profile == "raw"),
        (["-m", "P4 or v2_nothing"], lambda case: case.requirement == "P4"),
        (
            ["-k", "blob-follows-json and INT32 and not UINT32"],
            lambda case: case.id.startswith("P2/blob-follows-json[INT32"),
        ),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
def test_marks_and_words_select(
    option: list[str], chosen: Callable[[Case], bool], pytester: pytest.Pytester, url: str
) -> None:
    pytester.makepyfile(OWN_TEST)
    ids = collected(run(pytester, "--v2-url", url, "--collect-only", "-q", *option))
    assert sorted(ids) == sorted(f"v2-conformance::{c.id}" for c in suite_cases() if chosen(c))


def test_last_failed_runs_the_failures_again(pytester: pytest.Pytester, bad: str, url: str) -> None:
    pytester.makepyfile(OWN_TEST)
    first = run(pytester, "--v2-url", bad, "-m", "P4 or P12").parseoutcomes()
    assert first["failed"]
    assert first["passed"]
    again = run(pytester, "--v2-url", url, "--lf").parseoutcomes()
    assert again["passed"] == first["failed"]
    assert "failed" not in again


def test_observed_cases_are_last(pytester: pytest.Pytester, url: str) -> None:
    pytester.makeconftest(
        "import pytest\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items.reverse()\n"
    )
    result = run(pytester, "--v2-url", url, "-k", "H6 or R4", "-v")
    assert result.ret == 0
    names = [line.split()[0] for line in result.outlines if " PASSED " in line]
    assert names[-1] == "v2-conformance::R4/observed"


@pytest.mark.parametrize("dist", [[], ["--dist", "each"]], ids=["load", "each"])
def test_under_xdist_the_cases_run_once_after_all_other_tests(
    pytester: pytest.Pytester, url: str, dist: list[str]
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
    result = run(pytester, "--v2-url", url, *chosen, "-n", "2", *dist)
    assert result.ret == 0
    # What workers print of their own reports has no node either, but is of other tests.
    ran = [line.rsplit(" ", 1) for line in (pytester.path / "ran").read_text().splitlines()]
    cases = [name for name, _ in ran if name.startswith("v2-conformance::")]
    assert len(set(cases)) == len(cases) > 2
    assert [name for name, _ in ran[-len(cases) :]] == cases
    assert {worker for name, worker in ran if name in cases} == {"None"}


# What is reported


def test_failures_have_a_grade_and_no_traceback(pytester: pytest.Pytester, bad: str) -> None:
    given = ["-k", "H6 and letters and not with or H4 and behind", "-rf"]
    given += ["-W", "default", "--v2-url", bad, "--v2-report-dir", "out"]
    result = run(pytester, *given)
    result.assert_outcomes(failed=1, passed=1, warnings=1, deselected=len(suite_cases()) - 2)
    result.stdout.fnmatch_lines(["*V2Warning: SHOULD: *accepted the request with 200*"])
    result = run(pytester, *given, "--v2-strict")
    result.assert_outcomes(failed=2, deselected=len(suite_cases()) - 2)
    result.stdout.fnmatch_lines(
        [
            "Inference-Header-Content-Length: *the server accepted the request with 200*",
            "FAIL SHOULD H4/negative-with-bytes-behind",
            "FAIL MUST (blocks robust) H6/not-a-number[[]letters]",
            "why: A value that is not a decimal number*",
            "repeat: pytest -p no:hypothesispytest *--v2-url http*--v2-strict *--v2-seed [0-9]*",
            "FAILED *H4/negative-with-bytes-behind - Inference-Header-*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "plugin.py" not in result.stdout.str()


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_secret_that_is_repeated_in_base64_is_in_no_report_of_pytest(
    pytester: pytest.Pytester,
    workers: list[str],
    monkeypatch: pytest.MonkeyPatch,
    start: Callable[[type[Behavior]], ReferenceServer],
) -> None:
    class Repeats(Behavior):
        def infer(self, model: ModelContract, request: Request) -> Response:
            sent = request.values("x-tenant-jwt")[0] + " db-p4ssword"
            return self.error(401, base64.b64encode(b"-" + sent.encode()).decode())

    monkeypatch.setenv("DB_PASSWORD", "db-p4ssword")
    (pytester.path / "public.yaml").write_text("public: [X-Region]\n")
    given = ["--v2-header", "X-Tenant-Jwt: t0p-s3cret-t0ken", "--v2-secret-env", "DB_PASSWORD"]
    given += ["--v2-header", "X-Region: north-by-n", "--v2-target", "public.yaml"]
    given += ["--v2-url", start(Repeats).url, "-k", "H6 and letters or P2 and INT32"]
    given += ["--v2-report-dir", "out", "--junit-xml", "out/v2.xml", "--html", "out/page.html"]
    result = run(pytester, *given, "-l", "-rA", *workers)
    assert result.ret == 1
    texts = [path.read_bytes() for path in (pytester.path / "out").rglob("*") if path.is_file()]
    texts.append(result.stdout.str().encode())
    assert len(texts) > 5
    for text in texts:
        assert is_shown(text, b"t0p-s3cret-t0ken", b"db-p4ssword") is None
    report = load_report(pytester.path / "out" / "report.json")
    assert ("X-Region", "north-by-n") in report.target.headers


@pytest.mark.parametrize(
    "selection",
    [["-k", "no_such_case"], ["-m", "M55"], ["-m", "family_Z"], ["-m", "family_Z", "-n", "2"]],
    ids=" ".join,
)
def test_a_selection_of_which_nothing_can_run_is_no_success(
    pytester: pytest.Pytester, url: str, selection: list[str]
) -> None:
    result = run(pytester, "--v2-url", url, "--v2-report-dir", "reports", *selection)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    report = pytester.path / "reports" / "report.json"
    assert not report.exists() or not load_report(report).verdict.conformant


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--v2-url localhost:8000", "is not a URL"),
        ("--v2-target missing.yaml", "cannot read missing.yaml"),
        ("--v2-url http://h --v2-profile binry", "unknown profile"),
        ("--v2-url http://h --v2-header no-colon", "a header must look like"),
        ("--v2-url http://h --v2-expect wrong.yaml", "cannot read wrong.yaml"),
        ("--v2-url GOOD v2-conformance::P2/x", "did you mean"),
        ("--v2-profile raw", "--v2-profile needs a server"),
        ("--v2-url=", "--v2-url needs a server"),
        ("--v2-url NOBODY", "connection refused"),
        ("--v2-url NOBODY -n 2", "connection refused"),
        ("--v2-url EMPTY", "none of the contract's models"),
        ("--v2-url GOOD --v2-report-dir in-use", "in-use is in use: another run"),
        ("--v2-url GOOD --v2-report-dir in-use -n 2", "in-use is in use: another run"),
    ],
)
def test_what_is_wrong_is_one_line(
    pytester: pytest.Pytester, url: str, options: str, says: str
) -> None:
    metadata = http(b'{"name":"s","version":"1","extensions":[]}')
    empty = answering(metadata, *[http(b'{"error":"no"}', 404)] * 50)
    with serving(empty) as server, sole_run(pytester.path / "in-use"):
        urls = {"NOBODY": f"http://127.0.0.1:{free_port()}", "EMPTY": server.url, "GOOD": url}
        result = run(pytester, *(urls.get(word, word) for word in options.split()))
        assert not list((pytester.path / "in-use").iterdir())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if line)
    assert says in line
    assert "Traceback" not in result.stdout.str()
