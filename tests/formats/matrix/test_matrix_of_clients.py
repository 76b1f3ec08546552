"""The matrix of reports on clients: the same page, which says what its columns are."""

from __future__ import annotations

import msgspec

from support.reports import report_of
from v2_conformance.report.document import Report
from v2_conformance.report.tested import ClientInfo
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render


def of_client() -> Report:
    report = report_of()
    target = msgspec.structs.replace(report.target, client=ClientInfo(("client",), 10.0))
    return msgspec.structs.replace(report, target=target)


def test_the_page_says_whether_its_columns_are_servers_or_clients() -> None:
    server, client = column_of(report_of(), ""), column_of(of_client(), "")
    for columns, word in (
        ([server], "server"),
        ([client, client], "client"),
        ([server, client], "implementation"),
    ):
        page = render([(str(number), column) for number, column in enumerate(columns)])
        assert f"<h1>Requirements by {word}</h1>" in page
        assert f"<h2>{word.capitalize()}s</h2>" in page
