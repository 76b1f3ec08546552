"""Clients as commands: what they are given, and that whatever they do ends one scenario alone."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from support.scenarios import program, run_once, scenario
from v2_clients import findings
from v2_clients.bench.clients import CommandClient
from v2_clients.bench.messages import read_answer, unlike
from v2_clients.bench.tasks import asked_of
from v2_clients.judging.judge import judge_client
from v2_clients.plain import PlainClient
from v2_conformance.errors import UsageError
from v2_conformance.redaction import Mask
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.kinds import SuiteError
from v2_conformance.suite.client_lines import ClientResult, Line
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.selftest.clients import plain_client

SAYS_WHAT_IT_GOT = """
import json, sys
task = json.load(open(sys.argv[3][1:-1]))
line = {"error": json.dumps([sys.argv[1:], task["url"], task["scenario"]])}
print(json.dumps({"scenario": task["scenario"], "lines": [line]}))
"""


def says(*lines: str) -> str:
    """The program that answers with these lines to the task of a scenario made by hand."""
    answer = f'{{"scenario": "K2/made", "lines": [{", ".join(lines)}]}}'
    return f"print({answer!r})"


ANSWERS_WITH_AN_ERROR = says('{"error": "no"}')


def test_a_command_gets_the_task_in_its_arguments_without_a_shell(tmp_path: Path) -> None:
    made = scenario(tmp_path, expect={"reading": "refused"})
    mark = tmp_path / "mark"
    words = ("{url}", "{scenario}", "x{task}x", f"; touch {mark}", f"$(touch {mark})")
    result = run_once(made, program(SAYS_WHAT_IT_GOT, *words))
    assert result.outcome is Outcome.PASS, result.message
    assert result.reported is not None
    (line,) = result.reported.lines
    arguments, url, name = json.loads(line.error or "")
    assert arguments[:2] == [url, name] == [url, "K2/made"]
    assert url.startswith("http://127.0.0.1:")
    assert not os.path.exists(arguments[2][1:-1])
    assert not mark.exists()


def test_commands_reach_the_bench_without_proxies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "All_Proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PROXY_OF_MINE", "kept")
    code = """
import json, os
line = {"error": " ".join(n for n in sorted(os.environ) if "proxy" in n.lower())}
print(json.dumps({"scenario": "K2/made", "lines": [line]}))
"""
    result = run_once(scenario(tmp_path, expect={"reading": "refused"}), program(code))
    assert result.reported is not None
    assert result.reported.lines[0].error == "PROXY_OF_MINE"


@pytest.mark.parametrize("form", ["\ufeff{}", " \t{} \r", "{}"])
@pytest.mark.parametrize("number", ["404", "404.0", "4040E-1"])
def test_an_answer_is_read_as_languages_print_it(form: str, number: str) -> None:
    printed = '{ "scenario" : "x", "lines": [{ "error": "no", "status": NUMBER}]}'
    answer, garbage = read_answer(form.format(printed.replace("NUMBER", number)).encode())
    assert answer is not None
    assert garbage is None
    assert answer.checked(1) == ((Line(error="no", status=404),), None)


ANSWER = b'{"scenario": "x", "lines": []}'
OTHER_FORMS = [
    ANSWER.decode().encode("utf-16"),
    b'{\n  "scenario": "x"\n "lines": []}',
    b"[%b]" % ANSWER,
    ANSWER.replace(b'"', b"'"),
    b"INFO: " + ANSWER,
    b"\x1b[32m" + ANSWER,
]


def test_a_line_of_another_form_is_told_if_one_is_missing_and_a_log_is_none() -> None:
    for printed in OTHER_FORMS:
        assert all(read_answer(line) == (None, None) for line in printed.split(b"\n"))
        garbage = unlike(printed.split(b"\n"))
        assert garbage is not None
        assert garbage.startswith('expected a line that begins with {"')
    assert read_answer(b'{ "level": "info"}') == (None, None)
    assert unlike([b"error: no lines"]) is None


def test_what_is_wrong_with_an_answer_is_told() -> None:
    for printed, problem in (
        (b'{"level": "info"}', "a log belongs on standard error"),
        (b'{"scenario": "x", "lines": [{"na', "flush standard output"),
        (b'{ "scenario": 1}', "Expected"),
    ):
        answer, garbage = read_answer(printed)
        assert answer is None
        assert problem in (garbage or "")


GARBAGE_BYTES = "import sys; sys.stdout.buffer.write(b'{\"' + b'\\xff' * 5000 + b'\\n')"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("raise SystemExit(3)", findings.ClientDied),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", findings.ClientDied),
        ("pass", findings.ClientSaidLess),
        (says('{"error": "no", "unsupported": "x"}'), findings.ClientGarbage),
        (says('{"outputs": [{"name": "a"}]}'), findings.ClientGarbage),
        (GARBAGE_BYTES, findings.ClientGarbage),
        ("print('{\"' + '[' * 100000)", findings.ClientGarbage),
        ("import os\nwhile True: os.write(1, b'x' * 65536)", findings.ClientFlooded),
        ("import os\nwhile True: os.write(2, b'x' * 65536)", findings.ClientFlooded),
        (ANSWERS_WITH_AN_ERROR, findings.NoRequest),
        (says('{"unsupported": "no way to say it"}'), findings.ClientLacks),
    ],
)
def test_what_a_client_does_ends_its_scenario_alone(code: str, kind: type, tmp_path: Path) -> None:
    made = scenario(tmp_path, expect={"request": ["header_length"]})
    result = run_once(made, program(code))
    inner = getattr(result.cause, "finding", result.cause)
    assert isinstance(inner, kind), result.message
    outcome = Outcome.UNSUPPORTED if kind is findings.ClientLacks else Outcome.FAIL
    assert result.outcome is outcome
    assert result.message.isprintable()


@pytest.mark.parametrize(
    ("start", "basic"), [("K5/", True), ("K18/", False), ("K9/callers-headers-unchanged", False)]
)
def test_a_client_says_whether_what_it_lacks_is_an_option(start: str, basic: bool) -> None:
    case = next(c for c in client_cases() if c.id.startswith(start) and isinstance(c, ClientCase))
    code = says('{"unsupported": "no way"}').replace("K2/made", case.id)
    assert run_once(case, program(code)).cause == findings.ClientLacks("no way", basic)


@pytest.mark.parametrize("before", [4096 - 9, 65536 - 9])
def test_what_a_client_prints_is_kept_without_secrets(before: int, tmp_path: Path) -> None:
    secret = "Zk9-pQ7w_vX2-mN4-t0ken"
    code = (
        f"import sys; sys.stderr.write('{secret}' + '-' * {before} + '{secret}' + '-' * 4087)\n"
        f"print('{{\"error' + '-' * 60 + '{secret}')"
    )
    client = CommandClient((sys.executable, "-c", code), mask=Mask((secret,)))
    said = run_once(scenario(tmp_path), client).reported
    assert said is not None
    assert said.garbage is not None
    assert "t0ken" not in said.stderr + said.garbage
    assert said.stderr.startswith("*********---")


def test_a_client_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(2.5); open({str(mark)!r}, 'w')"
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(60)"
    )
    made = scenario(tmp_path, timeout_s=1)
    started = time.monotonic()
    result = run_once(made, program(code, startup_s=1.0))
    assert result.cause == findings.ClientTimedOut(2.0)
    assert time.monotonic() - started < 20
    assert not mark.exists()


LEAVES_BEHIND = {
    "in a session of its own": "subprocess.Popen({command}, start_new_session=True)",
    "of one that left, too": (
        "os.fork() or (os.setsid(), os.fork() or subprocess.Popen({command}), os._exit(0))"
    ),
    "without its variables": "subprocess.Popen({command}, env={{}}, start_new_session=True)",
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another process")
@pytest.mark.parametrize("how", LEAVES_BEHIND)
def test_nothing_that_a_client_leaves_behind_outlives_it(how: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = (
        f"import os, time; open('{mark}.new', 'w').write(str(os.getpid())); "
        f"os.rename('{mark}.new', '{mark}'); time.sleep(600)"
    )
    code = (
        "import os, subprocess, sys, time\n"
        + LEAVES_BEHIND[how].format(command=[sys.executable, "-c", child])
        + f"\nwhile not os.path.exists('{mark}'): time.sleep(0.01)\n{ANSWERS_WITH_AN_ERROR}"
    )
    made = scenario(tmp_path, expect={"reading": "refused"})
    assert run_once(made, program(code)).outcome is Outcome.PASS
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


@pytest.mark.parametrize(("waited_s", "late"), [(2.9, False), (3.1, True)])
def test_an_error_comes_within_the_callers_time(
    waited_s: float, late: bool, tmp_path: Path
) -> None:
    inputs = [{"shape": [4], "values": [0, 1, 2, 3]}]
    case = scenario(
        tmp_path,
        timeout_s=1,
        request={"model": "identity/INT32", "inputs": inputs},
        answer={"sends": 0, "then": "waits"},
        expect={"reading": "error", "in_time": True},
    )
    said = ClientResult(lines=(Line(error="timed out"),), exit=0, seconds=21.0, waited_s=waited_s)
    entry = b'{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[4],"data":[0,1,2,3]}]}'
    model = asked_of(case)[0].request.model
    head = f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(entry)}"
    found = judge_client(case, [head.encode() + b"\r\n\r\n" + entry], said).cause
    in_time = findings.ReportedError("timed out", None)
    assert found == (findings.ClientLate(3.1, 1.0) if late else in_time)


def test_a_command_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot run 'no-such-program'"):
        run_once(scenario(tmp_path), CommandClient(["no-such-program"]))
    with pytest.raises(UsageError, match="no command"):
        CommandClient([])


def test_an_error_for_a_right_answer_fails_only_who_asks_for_the_answer(tmp_path: Path) -> None:
    class Refusing(PlainClient):
        def read(self, *arguments: object) -> object:  # type: ignore[override]
            raise ValueError("cannot read")

    finding = getattr(run_once(scenario(tmp_path), plain_client(Refusing)).cause, "finding", None)
    assert isinstance(finding, findings.ErrorForAnswer)
    asked = scenario(tmp_path, expect={"request": ["header_length", "blobs"]})
    assert run_once(asked, plain_client(Refusing)).outcome is Outcome.PASS


def test_a_mistake_of_the_suite_is_no_verdict(tmp_path: Path) -> None:
    class Broken:
        def run(self, task: object, began: object, budget: object) -> object:
            raise KeyError("x")

        def close(self) -> None:
            pass

    result = run_once(scenario(tmp_path), Broken())  # type: ignore[arg-type]
    assert result.outcome is Outcome.ERROR
    assert isinstance(result.cause, SuiteError)
