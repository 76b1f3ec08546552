"""Servers whose messages are hostile: JSON, sizes, shapes, text, redirections and wrong answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from hostile.bounds_kinds import DISCOVERY
from hostile.kit import CASES, INFER, MARK, Change, add, always, changing, line
from support.responses import v2
from v2_conformance.protocol.message import parse_json
from v2_conformance.protocol.names import HEADER_LENGTH

ONE = {"H1": "fail"}
UNREAD = {"H1": "inconclusive"}
FAILED = {"H1": "fail", "P2": "fail"}
DEEP = 100_000
MANY = 1_000_000
# What is written into the JSON of a good message, as its first member or members.
JSON: dict[str, bytes] = {
    "nested 10^5 deep": b'"x":' + b"[" * DEEP + b"]" * DEEP,
    "never closed": b'"x":' + b"[" * DEEP,
    "1e999999": b'"x":1e999999',
    "an integer of 10^6 digits": b'"x":' + b"9" * MANY,
    "10^5 members": b",".join(b'"%d":0' % n for n in range(MANY // 10)),
    "10^5 duplicate members": b",".join([b'"x":0'] * 100_000),
    "NaN": b'"x":NaN',
    "a lone surrogate": b'"x":"\\ud800"',
    "a raw NUL": b'"x":"\0"',
    "bytes that are not UTF-8": b'"x":"\xff\xfe"',
    "a trailing comma": b'"x":[1,]',
    "a string of 1 MiB": b'"x":"' + b"a" * (1 << 20) + b'"',
}
NASTY = {
    "a script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "terminal escapes": "\x1b[2J\x1b]0;title\x07\x9b31m\x1b]8;;http://e.example\x1b\\click",
    "text from right to left": "\u202egnihton\u2066\u200b\ufeff",
    "lines and commands": "a\r\n::error::forged\n##[error]forged\nconformant: true\x0b\x85\u2028",
    "Markdown": "[l](javascript:x) | `x` *b* ![i](http://e.example/i) @octocat #1 </td></table>",
    "a format string": "{0.__class__} %s %n ${HOME} $(id) `id` {{7*7}} {% raw %}",
    "a path": "../../../../etc/passwd\0.png",
}


def parts(good: bytes) -> tuple[bytes, bytes]:
    """The JSON of a good message, and its blobs."""
    head, _, body = good.partition(b"\r\n\r\n")
    lengths = re.findall(rb"(?i)%b: ([0-9]+)" % HEADER_LENGTH.encode(), head)
    size = int(lengths[0]) if lengths else len(body)
    return body[:size], body[size:]


def members(data: bytes) -> Change:
    """A good message whose JSON begins with `data`, framed truly."""

    def change(good: bytes) -> bytes:
        document, blobs = parts(good)
        document = b"{" + data + b"," + document[1:]
        return v2(document, *([blobs] if blobs else []), status=int(good[9:12]))

    return change


def outputs(change: Callable[[dict[str, object]], object]) -> Change:
    """A good answer to an inference with its first output changed."""

    def changed(good: bytes) -> bytes:
        text, blobs = parts(good)
        if not blobs or not good.startswith(b"HTTP/1.1 200"):
            return good
        document = parse_json(text)
        change(document["outputs"][0])
        return v2(json.dumps(document).encode(), blobs)

    return changed


def member(name: str, value: object) -> Change:
    return outputs(lambda output: output.update({name: value}))


def said_as(text: str) -> Change:
    """An answer with `text` wherever a server may write some."""
    known = text.encode("utf-8", "surrogatepass")
    plain = bytes(c for c in known if c >= 0x20 and c != 0x7F)

    def change(good: bytes) -> bytes:
        names = ("error", "name", "version", "id", "model_name", "platform")
        output = {"name": text, "shape": [1], "datatype": text, "data": [text]}
        document = dict.fromkeys(names, text) | {"extensions": [text], "outputs": [output]}
        return line(b"X-Nasty: " + plain)(line(b"Server: " + plain)(v2(document, status=500)))

    return change


def server_metadata(text: str) -> Change:
    def change(good: bytes) -> bytes:
        return v2({"name": text, "version": text, "extensions": [text]})

    return change


# HTTP's own

add("cookies and orders", changing(line(b"Set-Cookie: a=b; Domain=.example\r\nRefresh: 0;url=/")))

# JSON

# What is JSON all the same, in a member that nobody asked for.
IS_JSON = {"1e999999", "10^5 members", "a lone surrogate", "a string of 1 MiB"}
TWICE = {"10^5 duplicate members"}
UNIQUE = "P9/observed[unique_members]"
# The suite reads no deeper, so nothing is known of the rest.
TOO_DEEP = {"nested 10^5 deep", "never closed", "an integer of 10^6 digits"}


for name, data in JSON.items():
    if name in TWICE:  # a SHOULD
        add(f"{name} in an answer", changing(members(data), MARK), outcomes={"P9": "fail"},
            cases=(*CASES, UNIQUE), code=0)  # fmt: skip
    else:
        wanted = {} if name in IS_JSON else UNREAD if name in TOO_DEEP else ONE
        add(f"{name} in an answer", changing(members(data), MARK), outcomes=wanted)
# Lengths, sizes, shapes


def header_length(value: str) -> Change:
    right = f"{HEADER_LENGTH}: 14".encode()
    wrong = f"{HEADER_LENGTH}: {value}".encode()
    return always(v2({"outputs": []}, b"abcd").replace(right, wrong))


HUGE_MEMBERS: dict[str, Change] = {
    "a header length of 5000 digits": header_length("1" * 5000),
    "a header length of -1": header_length("-1"),
    "an output size of 10^30": member("parameters", {"binary_data_size": 10**30}),
    "an output size that is a list": member("parameters", {"binary_data_size": [32]}),
    "a shape that overflows": member("shape", [2**32, 2**32]),
    "a shape with 10^6 dimensions": member("shape", [1] * MANY),
    "a shape that is nested": member("shape", [[8]]),
    "a datatype of 10^6 characters": member("datatype", "x" * MANY),
    "a datatype that is a surrogate": member("datatype", "\ud800"),
    "a name of 10^6 characters": member("name", "x" * MANY),
    "a name that is an object": member("name", {}),
}
for name, change in HUGE_MEMBERS.items():
    add(name, changing(change, MARK), outcomes=ONE)
add("a shape with a fraction of zero", changing(member("shape", [8.0]), MARK))


def with_data(data: object, *, name: str = "OUTPUT0", times: int = 1) -> Change:
    output = {"name": name, "shape": [8], "datatype": "INT32"}
    text = json.dumps({"id": "x", "outputs": [output | {"data": "DATA"}] * times})
    return always(v2(text.replace('"DATA"', str(data)).encode()))


HUGE: dict[str, Change] = {
    "10^5 outputs": with_data([1] * 8, name="other", times=100_000),
    "10^6 elements too many": with_data([1] * MANY),
    "elements of 1e999999": with_data("[" + "1e999999," * 7 + "1e999999]"),
    "elements of 10^6 digits": with_data("[" + "9" * MANY + "]"),
    "elements nested 10^5 deep": with_data("[" * DEEP + "1" + "]" * DEEP),
}
for name, change in HUGE.items():
    unread = name in ("elements of 10^6 digits", "elements nested 10^5 deep")
    add(name, changing(change, MARK), outcomes=UNREAD if unread else ONE, mib=300)

for name, data in {"nothing": b"", "UTF-16": '{"outputs":[]}'.encode("utf-16")}.items():
    add(f"{name} for an answer", changing(always(v2(data)), MARK), outcomes=ONE)

# Text

for name, text in NASTY.items():
    add(f"{name} in answers", changing(said_as(text), INFER), outcomes=FAILED)
    add(f"{name} in metadata", changing(server_metadata(text), DISCOVERY))
