"""A recorded request, read again: its id, and whether its answer is the inference server's."""

from __future__ import annotations

import gzip

import pytest

from v2_conformance.judging.messages.request import read_request
from v2_conformance.protocol.names import HEADER_LENGTH

TEXT = b'{"id":"a","inputs":[]}'
CHUNKS = b"5\r\n{    \r\n1\r\n}\r\n0\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked"


def request(body: bytes = TEXT, *fields: bytes, target: bytes = b"/v2/models/m/infer") -> bytes:
    lines = [b"POST " + target + b" HTTP/1.1", b"Host: h", *fields]
    if not any(field.lower().startswith(b"transfer-encoding") for field in fields):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def length(value: object) -> bytes:
    return f"{HEADER_LENGTH}: {value}".encode()


@pytest.mark.parametrize(
    "data",
    [
        request(),
        request(TEXT + b"blob", length(len(TEXT))),
        request(gzip.compress(TEXT), b"Content-Encoding: gzip"),
        request(b"5\r\n" + TEXT[:5] + b"\r\n%x\r\n" % len(TEXT[5:]) + TEXT[5:] + b"\r\n0\r\n\r\n",
                b"Transfer-Encoding: chunked"),
    ],
)  # fmt: skip
def test_the_id_of_a_request_is_found_in_every_form(data: bytes) -> None:
    read = read_request(data)
    assert (read.id(), read.plain) == ("a", True)


@pytest.mark.parametrize(
    "data",
    [
        request(b'{"inputs":[]}'),
        request(b'{"id":"","inputs":[]}'),
        request(b'{"id":7,"inputs":[]}'),
        request(rb'{"id":"a\u0000b","inputs":[]}'),
        request(b'{"id":"a","id":"b"}'),
        request(b'{"id":"a"'),
        request(TEXT, length(0)),
        request(TEXT, length("+5")),
        request(TEXT, length(len(TEXT)), length(5)),
        request(TEXT, length(99)),
        request(TEXT, b"Content-Encoding: gzip"),
        request(TEXT, b"Content-Encoding: br"),
        b"",
        b"nonsense\r\n\r\n",
    ],
)
def test_an_id_on_which_servers_may_differ_is_none(data: bytes) -> None:
    assert read_request(data).id() is None


@pytest.mark.parametrize(
    "data",
    [
        request()[:-1],
        request(b"zz\r\nabc\r\n0\r\n\r\n", b"Transfer-Encoding: chunked"),
        request(TEXT, b"Bad Name: x"),
        request(TEXT, b"X: " + b"a" * 4000),
        request(TEXT, *(b"X-%d: 1" % n for n in range(60))),
        request(target=b"/v2/models/a%2Fb/infer"),
        request(target=b"/v2/models/a%0Ab/infer"),
        request(target=b"/v2/models/a%22%5cb/infer"),
        request(target=b"http://h/v2/models/m/infer"),
        request(TEXT, b"Transfer-Encoding: chunked", b"Content-Length: 5"),
        request().replace(b"Host: h", b"host: \th"),
        request().replace(b"Content-Length: 22", b"Content-Length: 22\t"),
        b"\r\n" + request(),
        request(target=b"/v2/models/a%zz/infer"),
        request().replace(b"Host: h", b"host: h "),
        request().replace(b"Host: h", b"Host:   h"),
        request().replace(b"Content-Length: 22", b"Content-Length: 22 "),
        request(CHUNKS, b"Transfer-Encoding: CHUNKED"),
        request(CHUNKS, b"Transfer-Encoding: chunked "),
        request(CHUNKS.replace(b"5\r", b"5;a=1\r"), CHUNKED),
        request(CHUNKS.replace(b"5\r", b"05\r"), CHUNKED),
        request(CHUNKS.replace(b"0\r", b"0;a\r"), CHUNKED),
        request(CHUNKS[:-2] + b"X-Checksum: 1\r\n\r\n", CHUNKED),
        request(target=b"/v2/models/\"/infer"),
    ],
)  # fmt: skip
def test_what_http_layers_refuse_is_not_plain(data: bytes) -> None:
    assert not read_request(data).plain


@pytest.mark.parametrize(
    "data",
    [
        request(target=b"/v2/models/%6D%2d_%7E%30/infer"),
        request(TEXT, b"Content-Type: \tapplication/json\t"),
        request(TEXT, b"X: " + b"a" * 3000, *(b"X-%d: 1" % n for n in range(40))),
        request(CHUNKS, CHUNKED),
        request(CHUNKS, b"transfer-encoding:chunked"),
        request(b"B\r\nhello world\r\n0\r\n\r\n", CHUNKED),
    ],
)
def test_what_all_http_layers_pass_on_is_plain(data: bytes) -> None:
    assert read_request(data).plain
