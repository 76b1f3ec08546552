"""What betrays a gateway is named in every report; what any server may send is no sign of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.reports import case, exchange, passes, report_of
from support.responses import answer, http, message_with, v2
from v2_conformance.formats.html.page import render
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.report.comparing.proxy_signs import ProxySign, SignKind, proxy_signs, signs_line
from v2_conformance.report.document import Report
from v2_conformance.report.tested import ClientInfo
from v2_conformance.suite.outcomes import Purpose


def of(*answers: bytes) -> Report:
    request = message_with(b"\x01\x02\x03\x04")
    cases = [case(f"P2/x[{n}]", "pass", None, exchange(request, a)) for n, a in enumerate(answers)]
    return report_of(passes(*cases))


@pytest.mark.parametrize(
    ("raw", "kind", "value"),
    [
        (http(b"", 200, ("Via", "1.1 caddy")), SignKind.VIA, "1.1 caddy"),
        (http(b"", 200, ("VIA", "1.0 a, 1.1 b")), SignKind.VIA, "1.0 a, 1.1 b"),
        (http(b"", 200, ("Server", "nginx/1.22.1")), SignKind.SERVER, "nginx/1.22.1"),
        (http(b"", 404, ("server", "Envoy")), SignKind.SERVER, "Envoy"),
        (http(b"<html>bad gateway</html>", 502), SignKind.PAGE, "502"),
        (http(b"", 504), SignKind.PAGE, "504"),
    ],
)
def test_a_sign_of_a_gateway_is_found_and_counted(raw: bytes, kind: SignKind, value: str) -> None:
    assert proxy_signs(of(raw, http(), raw)) == (ProxySign(kind, value, 2),)


@pytest.mark.parametrize(
    "raw",
    [
        http(b"", 200, ("Server", "uvicorn")),
        http(b'{"error": "busy"}', 503),
        http(b"<html>no</html>", 500),
        http(b"\r\nVia: 1.1 in the body", 200),
        http(b"", 200, ("X-Via", "1.1 x"), ("Via", "")),
        v2(answer()),
        b"",
        b"\xff\xfe",
    ],
)
def test_what_any_server_may_send_is_no_sign(raw: bytes) -> None:
    assert proxy_signs(of(raw)) == ()


def test_what_the_bench_answers_to_a_client_is_no_sign() -> None:
    report = of(http(b"<html>bad gateway</html>", 502))
    target = msgspec.structs.replace(report.target, client=ClientInfo(("client",), 10.0))
    assert proxy_signs(msgspec.structs.replace(report, target=target)) == ()


def test_discovery_shows_a_gateway_too() -> None:
    asked = exchange(b"GET /v2", http(b"{}", 200, ("Via", "1.1 x")), purpose=Purpose.DISCOVERY)
    assert (
        proxy_signs(msgspec.structs.replace(report_of(passes()), discovery=(asked,)))[0].value
        == "1.1 x"
    )


def test_summary_and_page_name_it_and_are_silent_without_it() -> None:
    with_it = of(http(b"", 200, ("Via", "1.1 <b>caddy</b>")))
    words = "a gateway is between the suite and the server: Via: 1.1 <b>caddy</b>"
    assert signs_line(proxy_signs(with_it)) == words
    summary = " ".join(" ".join(summary_lines(with_it, Path("reports"))).split())
    assert words in summary
    page = render(with_it)
    assert 'class="c-gateway"' in page
    assert "&lt;b&gt;caddy" in page
    assert "<b>caddy" not in page
    without = of(v2(answer()))
    assert 'class="c-gateway"' not in render(without)
    assert "gateway" not in " ".join(summary_lines(without, Path("reports")))


def test_long_and_many_signs_are_bounded() -> None:
    many = [http(b"", 200, ("Via", f"1.1 {n}" + "x" * 500)) for n in range(9)]
    found = proxy_signs(of(*many))
    assert len(found) == 5
    assert all(len(sign.value) <= 81 for sign in found)


def test_a_page_alone_is_no_proof() -> None:
    page = signs_line((ProxySign(SignKind.PAGE, "503", 1),))
    assert page.startswith("a gateway may be between the suite and the server: status 503")
    via = signs_line((ProxySign(SignKind.PAGE, "503", 1), ProxySign(SignKind.VIA, "1.1 a", 1)))
    assert via.startswith("a gateway is between")
