"""The runner: who is blamed, what is not run, what is repeated, and how a run gets on."""

from __future__ import annotations

import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from support.runs import CASES, chosen, message_of, outcomes, results, served, target_of
from support.servers import Peer, free_port, serving
from v2_conformance.engine import engine as runner
from v2_conformance.engine.discovery import discover, server_alive
from v2_conformance.engine.engine import Engine, Recovery, in_order, run
from v2_conformance.engine.target import Target
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Request, Response
from v2_conformance.reference.server import ReferenceServer

Start = Callable[[type[Behaviour]], ReferenceServer]


class TestBlame:
    def test_a_killed_model_is_the_killing_cases_failure_and_nobody_elses(self) -> None:
        with ReferenceServer(["overflowing-shape-kills-model"]) as server:
            found = results(target_of(server.url), chosen("S8/", "S7/", "S2/size", "P2/"))
        failed = [result for result in found.values() if result.outcome == "fail"]
        assert [result.case.id for result in failed] == [
            "S8/shape-product-overflows",
            "S8/matrix-product-overflows[two_to_64]",
            "S8/bytes-count-overflows",
        ]
        assert all("did not survive" in result.message for result in failed)
        skipped = found.pop("S8/matrix-product-overflows[wraps_to_4]")
        assert skipped.outcome == "not_run"
        assert "S8/matrix-product-overflows[two_to_64] killed" in skipped.message
        assert not skipped.exchanges
        assert set(outcomes(found).values()) == {"pass", "fail"}

    def test_other_roles_go_on_when_one_model_is_dead(self) -> None:
        with ReferenceServer(["rejection-kills-model"]) as server:
            found = results(target_of(server.url), chosen("R3/", "S12/size-zero-for", "H6/not-a-n"))
        assert found["S12/size-zero-for-elements[int32]"].outcome == "fail"
        assert found["S12/size-zero-for-elements[uint8]"].outcome == "fail"
        assert found["R3/survives-a-rejection[short_blob]"].outcome == "not_run"
        assert found["H6/not-a-number[letters]"].outcome == "not_run"
        culprits = {r.case.model: r.case.id for r in found.values() if r.outcome == "fail"}
        assert set(culprits) == {"identity/INT32", "identity/UINT8", "identity/BYTES"}
        for result in found.values():
            if result.outcome == "not_run":
                assert culprits[result.case.model] in result.message

    def test_a_server_that_stops_listening_fails_one_case(self) -> None:
        with ReferenceServer(["rejection-stops-listening"]) as server:
            found = list(results(target_of(server.url), chosen("R3/", "P2/", "S12/")).values())
        assert {result.outcome for result in found if not result.case.negative} == {"pass"}
        first, *rest = [result for result in found if result.case.negative]
        assert first.outcome == "fail"
        assert "did not survive" in first.message
        assert "fresh connection" in first.message
        assert {result.outcome for result in rest} == {"not_run"}
        assert all(first.case.id in result.message for result in rest)

    def test_a_good_request_that_kills_is_blamed_when_cases_share_the_server(
        self, start: Start
    ) -> None:
        class DiesOfLongIds(Behaviour):
            crashed = False

            def handle(self, request: Request) -> Response:
                if b"x" * 90 in bytes(request.body):
                    self.crashed = True
                    return self.error(500, "out of memory")
                return super().handle(request)

            def listening(self) -> bool:
                return not self.crashed

        server = start(DiesOfLongIds)
        found = results(target_of(server.url), chosen("H1/honoured[medium,INT32]"), workers=2)
        assert set(outcomes(found).values()) == {"fail"}
        assert "did not survive" in next(iter(found.values())).message

    def test_requests_sent_together_that_kill_the_server_are_blamed(self, start: Start) -> None:
        class DiesOfCompany(Behaviour):
            busy = 0
            crashed = False

            def handle(self, request: Request) -> Response:
                self.busy += 1
                self.crashed |= self.busy > 1
                threading.Event().wait(0.005)
                self.busy -= 1
                return super().handle(request)

            def listening(self) -> bool:
                return not self.crashed

        server = start(DiesOfCompany)
        found = list(results(target_of(server.url), chosen("C6/", "R3/")).values())
        assert [result.outcome for result in found[:1]] == ["fail"]
        assert "did not survive" in found[0].message
        assert {result.outcome for result in found[1:]} == {"not_run"}

    def test_a_server_that_went_away_by_itself_is_no_cases_fault(self) -> None:
        server = ReferenceServer(port=free_port())
        server.start()
        target = target_of(server.url)
        engine = Engine(target, discover(target))
        first, second, third = chosen("R3/")
        assert engine.run(first).outcome == "pass"
        server.stop()
        away = engine.run(second)
        assert away.outcome == "inconclusive"
        assert "no connection" in away.message
        unknown = engine.run(chosen("P2/blob-follows-json[UINT8]")[0])
        assert unknown.outcome == "inconclusive"
        server.start()
        assert engine.run(third).outcome == "pass"
        assert engine.run(unknown.case).outcome == "pass"
        engine.close()
        server.stop()


class TestOrder:
    def test_dangerous_cases_run_last_and_negative_ones_before_them(self) -> None:
        ordered = in_order(list(CASES().values()))
        assert [case.dangerous for case in ordered] == sorted(case.dangerous for case in ordered)
        safe = [case.negative for case in ordered if not case.dangerous]
        assert safe == sorted(safe)
        assert ordered[-1].dangerous

    def test_a_run_keeps_that_order_with_several_workers_too(self) -> None:
        with ReferenceServer() as server:
            found = results(target_of(server.url), chosen("S7/", "S1/", "S12/"), workers=3)
        kinds = [(CASES()[name].dangerous, CASES()[name].negative) for name in found]
        assert kinds == sorted(kinds)

    def test_parallel_workers_come_to_the_same_outcomes(self) -> None:
        cases = chosen("P", "O1", "O3", "D1", "H1/", "H5/")
        with ReferenceServer(["response-blobs-padded", "pretty-json-refused"]) as server:
            alone = results(target_of(server.url), cases)
            beside = results(target_of(server.url), cases, workers=4)
        assert outcomes(beside) == outcomes(alone)
        assert {"pass", "fail"} <= set(outcomes(alone).values())

    def test_a_run_that_is_stopped_does_not_do_the_rest_first(self, start: Start) -> None:
        class Counts(Behaviour):
            served = 0

            def handle(self, request: Request) -> Response:
                type(self).served += 1
                return super().handle(request)

        server = start(Counts)
        target = target_of(server.url)
        cases = chosen("D", "B", "M", "O")
        events = run(Engine(target, discover(target)), cases, 2)
        next(events)
        events.close()  # type: ignore[attr-defined]
        assert Counts.served < len(cases)


class TestConnections:
    def test_a_server_that_closes_after_each_response_passes(self, start: Start) -> None:
        class Closes(Behaviour):
            def keeps_open(self, request: Request, response: Response) -> bool:
                return False

        found = results(target_of(start(Closes).url), chosen("P2/", "R3/", "C5/"))
        assert set(outcomes(found).values()) == {"pass"}

    def test_a_stale_kept_connection_is_repeated_and_no_failure(self) -> None:
        def one_answer_each(peer: Peer) -> None:
            peer.send(served(peer.request()))
            peer.request()  # and closes without an answer, as an idle server may

        with serving(one_answer_each) as server:
            target = target_of(server.url)
            engine = Engine(target, discover(target))
            found = [engine.run(case) for case in chosen("P2/blob-follows-json", "R3/")]
            engine.close()
        assert {result.outcome for result in found} == {"pass"}
        assert any("repeated" in result.exchanges[0].note for result in found)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_case_that_is_never_answered_is_inconclusive_in_bounded_time(
        self, start: Start, workers: int
    ) -> None:
        release = threading.Event()

        class Hangs(Behaviour):
            def parse_length(self, text: str) -> int:
                if text == "abc" or (len(text) > 2 and request_is_long(text)):
                    release.wait(20)
                return super().parse_length(text)

        def request_is_long(text: str) -> bool:
            return text.isdigit() and int(text) > 400

        server = start(Hangs)
        started = time.perf_counter()
        found = results(
            target_of(server.url, timeout=0.7), chosen("H6/", "H1/honoured"), workers=workers
        )
        release.set()
        assert time.perf_counter() - started < 60
        hung = {name for name, result in found.items() if result.outcome != "pass"}
        assert {found[name].outcome for name in hung} == {"inconclusive"}
        assert "H6/not-a-number[letters]" in hung
        assert "H1/honoured[long,INT32]" in hung
        assert "H6/not-a-number[empty]" not in hung
        assert "in time" in found["H6/not-a-number[letters]"].message

    def test_a_model_that_never_answers_leaves_its_cases_unsent(self, start: Start) -> None:
        release = threading.Event()

        class Silent(Behaviour):
            def handle(self, request: Request) -> Response:
                if request.target.endswith("identity_int32/infer"):
                    release.wait(20)
                return super().handle(request)

        server = start(Silent)
        started = time.perf_counter()
        found = results(
            target_of(server.url, timeout=1),
            chosen("R", "S12/", "P2/blob-follows-json[UINT8]"),
        )
        release.set()
        assert time.perf_counter() - started < 30
        for result in found.values():
            silent = result.case.model == "identity/INT32"
            assert result.outcome == ("inconclusive" if silent else "pass"), result.message
            assert bool(result.exchanges) != silent
            assert not silent or "no known-good request" in result.message


class TestRecovery:
    def test_without_recovery_the_rest_is_not_run(self) -> None:
        with ReferenceServer(["rejection-stops-listening"]) as server:
            found = results(target_of(server.url), chosen("R3/"))
        assert list(outcomes(found).values()) == ["fail", "not_run", "not_run"]

    @pytest.mark.parametrize("wait", [0.0, 20.0])
    def test_a_restart_command_gets_the_run_on(self, wait: float) -> None:
        server = ReferenceServer(["rejection-stops-listening"], port=free_port())
        with server, restarting_on_request(server) as command:
            found = results(
                target_of(server.url), chosen("R3/"), recovery=Recovery(command, wait_s=wait)
            )
        assert list(outcomes(found).values()) == ["fail"] * 3
        assert all("did not survive" in result.message for result in found.values())

    def test_waiting_alone_is_enough_for_a_server_that_restarts_by_itself(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def noticed(target: Target) -> bool:
            alive = server_alive(target)
            restarts.append(threading.Timer(0.3, restart))
            restarts[-1].start()
            return alive

        def restart() -> None:
            server.stop()
            server.start()

        restarts: list[threading.Timer] = []
        monkeypatch.setattr(runner, "server_alive", noticed)
        with ReferenceServer(["rejection-stops-listening"], port=free_port()) as server:
            found = results(target_of(server.url), chosen("R3/"), recovery=Recovery(wait_s=20))
            for timer in restarts:
                timer.join()
        assert list(outcomes(found).values()) == ["fail"] * 3
        assert len(restarts) == 3

    def test_a_recovery_that_fails_leaves_the_rest_not_run(self) -> None:
        with ReferenceServer(["rejection-stops-listening"]) as server:
            found = results(
                target_of(server.url), chosen("R3/"), recovery=Recovery("exit 1", wait_s=0.3)
            )
        assert list(outcomes(found).values()) == ["fail", "not_run", "not_run"]


class TestClaims:
    def test_a_datatype_or_profile_that_is_not_claimed_is_unsupported(self) -> None:
        with ReferenceServer() as server:
            target = replace(target_of(server.url), unsupported=frozenset({"FP16"}))
            found = results(target, chosen("D8/", "D9/", "W1/", "M3/", "P2/blob-follows-json[I"))
        for result in found.values():
            other = result.case.profile != "binary" or "FP16" in result.case.datatypes
            assert result.outcome == ("unsupported" if other else "pass"), result.case.id
        assert "FP16 unsupported" in message_of("M3/", found)
        assert "raw is not claimed" in message_of("W1/", found)

    def test_a_role_that_the_server_lacks_is_not_run_and_says_so(self) -> None:
        with ReferenceServer(profiles=("binary",)) as server:
            found = results(target_of(server.url, "raw"), chosen("W8/", "W9/"))
        absent = [r for r in found.values() if r.case.model.startswith("raw/")]
        assert {result.outcome for result in absent} == {"not_run"}
        assert all("absent: no model raw_" in result.message for result in absent)

    def test_a_server_that_ignores_the_extension_fails_clearly(self, start: Start) -> None:
        class JsonOnly(Behaviour):
            def header_length(self, request: Request) -> int | None:
                return None

            def default_form(self, document: dict[str, object]) -> bool:
                return False

            def output_form(self, parameters: dict[str, object], default: bool) -> bool:
                return False

        found = results(
            target_of(start(JsonOnly).url, "bf16"),
            chosen("P", "H", "S", "O", "R", "M6/", "D11/"),
            workers=2,
        )
        assert set(outcomes(found).values()) == {"pass", "fail"}
        assert "json form, wanted binary" in message_of("M6/", found)
        request = found["P2/blob-follows-json[INT32]"]
        assert request.outcome == "fail"
        assert "status 200 wanted, 400 came" in request.message
        assert not any("did not survive" in result.message for result in found.values())

    def test_a_mistake_of_the_suite_is_an_error_and_ends_no_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError("at the wrong moment")

        monkeypatch.setattr(runner, "judge", broken)
        with ReferenceServer() as server:
            found = results(target_of(server.url), chosen("R3/"))
        assert set(outcomes(found).values()) == {"error"}
        assert "ZeroDivisionError" in next(iter(found.values())).message


@contextmanager
def restarting_on_request(server: ReferenceServer) -> Iterator[str]:
    """A shell command that returns when it has had `server` restarted."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    server.stop()
                    server.start()

        thread = threading.Thread(target=work)
        thread.start()
        code = (
            "import socket; "
            f"socket.create_connection(('127.0.0.1', {listener.getsockname()[1]})).recv(1)"
        )
        try:
            yield shlex.join([sys.executable, "-c", code])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
