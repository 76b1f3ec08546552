"""Servers whose messages are hostile: JSON, sizes, shapes, text, redirections and wrong answers."""

from __future__ import annotations

import json
from collections.abc import Callable

from hostile.bounds_kinds import DISCOVERY, MODEL
from hostile.http_kinds import INFER
from hostile.kit import CASES, MARK, Change, add, always, changing, line, some
from support.responses import http, v2
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
    "objects nested 10^5 deep": b'"x":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "never closed": b'"x":' + b"[" * DEEP,
    "1e999999": b'"x":1e999999',
    "an integer of 10^6 digits": b'"x":' + b"9" * MANY,
    "a fraction of 10^6 digits": b'"x":0.' + b"3" * MANY,
    "10^5 members": b",".join(b'"%d":0' % n for n in range(MANY // 10)),
    "duplicate members": b'"model_name":"a","model_name":"b","name":"a","name":"b"',
    "10^5 duplicate members": b",".join([b'"x":0'] * 100_000),
    "NaN": b'"x":NaN',
    "Infinity": b'"x":-Infinity',
    "a lone surrogate": b'"x":"\\ud800"',
    "a NUL": b'"x":"\\u0000"',
    "a raw NUL": b'"x":"\0"',
    "raw control characters": b'"x":"\x1b\x07\n"',
    "bytes that are not UTF-8": b'"x":"\xff\xfe"',
    "overlong UTF-8": b'"x":"\xc0\xaf"',
    "an encoded surrogate": b'"x":"\xed\xa0\x80"',
    "a comment": b'/* */"x":1',
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


def members(data: bytes) -> Change:
    """A good message whose JSON begins with `data`, framed truly."""

    def change(good: bytes) -> bytes:
        head, _, body = good.partition(b"\r\n\r\n")
        fields = head.decode("latin-1").split("\r\n")
        kept = [one for one in fields if not one.lower().startswith("content-length")]
        text = []
        for one in kept:
            name, _, value = one.partition(": ")
            grown = name == HEADER_LENGTH
            text.append(f"{name}: {int(value) + len(data) + 1}" if grown else one)
        body = b"{" + data + b"," + body[1:]
        lines = "\r\n".join([*text, f"Content-Length: {len(body)}", "", ""])
        return lines.encode("latin-1") + body

    return change


def outputs(change: Callable[[dict[str, object]], object]) -> Change:
    """A good answer to an inference with its first output changed."""

    def changed(good: bytes) -> bytes:
        head, _, body = good.partition(b"\r\n\r\n")
        lengths = [
            int(one.partition(b":")[2])
            for one in head.split(b"\r\n")
            if one.startswith(HEADER_LENGTH.encode())
        ]
        if not head.startswith(b"HTTP/1.1 200") or not lengths:
            return good
        document = parse_json(body[: lengths[0]])
        change(document["outputs"][0])
        return v2(json.dumps(document).encode(), body[lengths[0] :])

    return changed


def member(name: str, value: object) -> Change:
    return outputs(lambda output: output.update({name: value}))


def said_as(text: str) -> Change:
    """An answer with `text` wherever a server may write some."""
    known = text.encode("utf-8", "surrogatepass")
    plain = bytes(c for c in known if c >= 0x20 and c != 0x7F)

    def change(good: bytes) -> bytes:
        document: dict[str, object] = {
            "error": text,
            "name": text,
            "version": text,
            "extensions": [text],
            "id": text,
        }
        document |= {"model_name": text, "platform": text, "outputs": [{"name": text, "shape": [1],
                     "datatype": text, "data": [text]}]}  # fmt: skip
        return line(b"X-Nasty: " + plain)(line(b"Server: " + plain)(v2(document, status=500)))

    return change


def server_metadata(text: str) -> Change:
    def change(good: bytes) -> bytes:
        return v2({"name": text, "version": text, "extensions": [text]})

    return change


def redirect(to: str, status: int = 302) -> Change:
    return lambda good: http(b"", status, ("Location", to))


# HTTP's own

FORBIDDEN = http(
    b"", 401, ("WWW-Authenticate", 'Basic realm="x"'), ("WWW-Authenticate", "Negotiate")
)
NO_PROXY = http(b"", 407, ("Proxy-Authenticate", 'Digest realm="x", nonce="y"'))
PLACES = [("Location", f"http://192.0.2.1/{number}") for number in range(100)]
ORDERS = (
    b"Strict-Transport-Security: max-age=9",
    b"Refresh: 0;url=http://192.0.2.1",
    b'Alt-Svc: h3=":1"',
    b'Clear-Site-Data: "*"',
)
ELSEWHERE: dict[str, Change] = {
    "a redirection elsewhere": redirect("http://192.0.2.1/v2"),
    "a redirection to a file": redirect("file:///etc/passwd"),
    "a redirection to itself": redirect("/v2", 308),
    "a redirection to many places": always(http(b"", 307, *PLACES)),
    "a redirection to a script": redirect("javascript:alert(1)//\u0080"),
    "401 with challenges": always(FORBIDDEN),
    "407 with a challenge": always(NO_PROXY),
}
for name, change in ELSEWHERE.items():
    add(f"{name}, from the start", changing(change), code=3, says="answered with status")
    add(name, changing(change, INFER), outcomes=FAILED)
add("cookies", changing(line(b"Set-Cookie: a=b; Domain=.example; Max-Age=999999999")))
add("HSTS and other orders", changing(line(b"\r\n".join(ORDERS))))

# JSON

# What is JSON all the same, in a member that nobody asked for.
IS_JSON = {
    "1e999999",
    "a fraction of 10^6 digits",
    "10^5 members",
    "a lone surrogate",
    "a NUL",
    "a string of 1 MiB",
}
TWICE = {"duplicate members", "10^5 duplicate members"}
UNIQUE = "P9/observed[unique_members]"
# The suite reads no deeper, so nothing is known of the rest.
TOO_DEEP = {
    "nested 10^5 deep",
    "objects nested 10^5 deep",
    "never closed",
    "an integer of 10^6 digits",
}


def in_error(data: bytes) -> Change:
    return always(v2(b'{"error":"x",' + data + b"}", status=400))


for name, data in JSON.items():
    if name in TWICE:  # a SHOULD
        add(f"{name} in an answer", changing(members(data), MARK), outcomes={"P9": "fail"},
            cases=(*CASES, UNIQUE), code=0)  # fmt: skip
    else:
        wanted = {} if name in IS_JSON else UNREAD if name in TOO_DEEP else ONE
        add(f"{name} in an answer", changing(members(data), MARK), outcomes=wanted)
for name, data in some({name: data for name, data in JSON.items() if name not in IS_JSON}):
    add(f"{name} in the metadata", changing(members(data), DISCOVERY), code=3,
        says="not with V2", slow=True)  # fmt: skip
    add(f"{name} in a model's metadata", changing(members(data), MODEL), code=4, slow=True)
    add(f"{name} in an error", changing(in_error(data), INFER),
        outcomes=FAILED if name in TWICE | TOO_DEEP else FAILED | {"R2": "fail"},
        slow=True)  # fmt: skip

# Lengths, sizes, shapes


def header_length(value: str) -> Change:
    right = f"{HEADER_LENGTH}: 14".encode()
    wrong = f"{HEADER_LENGTH}: {value}".encode()
    return always(v2({"outputs": []}, b"abcd").replace(right, wrong))


LENGTHS = ("-1", "999999999999", str(10**30), "1e3", "0x10", "", " ", "1, 1", "NaN", "1" * 5000)
SIZES: dict[str, object] = {
    "2^31": 2**31, "2^63": 2**63, "10^30": 10**30, "-1": -1, "-2^63": -(2**63), "1.5": 1.5,
    "a string": "32", "true": True, "a list": [32], "an object": {}, "0": 0,
}  # fmt: skip
SHAPES: dict[str, object] = {
    "overflows": [2**32, 2**32], "is 2^63": [2**63], "is 10^30": [10**30], "is negative": [-8],
    "has two negatives": [-2, -4], "has 10^6 dimensions": [1] * MANY, "has a zero": [0, 8],
    "has strings": ["8"], "has null": [None], "is no list": 8, "is nested": [[8]],
    "has true": [True, 8], "is empty": [],
}  # fmt: skip
DATATYPES: tuple[object, ...] = (
    "INT31", "", "int32", "INT32\0", "INT32 ", "BYTES", "FP16", None, 32, ["INT32"], "\ud800",
    "x" * MANY, "__class__",
)  # fmt: skip
NAMES: dict[str, object] = {
    "null": None, "a number": 1, "nothing": "", "10^6 characters": "x" * MANY, "an object": {},
}  # fmt: skip
for text in LENGTHS:
    add(f"the header length {text[:40]!a}", changing(header_length(text), MARK), outcomes=ONE)
for name, value in SIZES.items():
    sized = member("parameters", {"binary_data_size": value})
    add(f"the output size {name}", changing(sized, MARK), outcomes=ONE)
for name, value in SHAPES.items():
    add(f"a shape that {name}", changing(member("shape", value), MARK), outcomes=ONE)
add("a shape with a fraction of zero", changing(member("shape", [8.0]), MARK))
for value in DATATYPES:
    add(f"the datatype {str(value)[:20]!a}", changing(member("datatype", value), MARK),
        outcomes=ONE)  # fmt: skip
for name, value in NAMES.items():
    add(f"an output whose name is {name}", changing(member("name", value), MARK), outcomes=ONE)


def with_data(data: object, *, name: str = "OUTPUT0", times: int = 1) -> Change:
    output = {"name": name, "shape": [8], "datatype": "INT32"}
    text = json.dumps({"id": "x", "outputs": [output | {"data": "DATA"}] * times})
    return always(v2(text.replace('"DATA"', str(data)).encode()))


HUGE: dict[str, Change] = {
    "10^5 outputs": with_data([1] * 8, name="other", times=100_000),
    "10^4 outputs of one name": with_data([1] * 8, times=10_000),
    "10^6 elements too many": with_data([1] * MANY),
    "elements of 1e999999": with_data("[" + "1e999999," * 7 + "1e999999]"),
    "elements of 10^6 digits": with_data("[" + "9" * MANY + "]"),
    "elements of NaN": with_data("[" + "NaN," * 7 + "NaN]"),
    "elements nested 10^5 deep": with_data("[" * DEEP + "1" + "]" * DEEP),
    "elements that are true": with_data("[" + "true," * 7 + "true]"),
}
for name, change in HUGE.items():
    unread = name in ("elements of 10^6 digits", "elements nested 10^5 deep")
    add(name, changing(change, MARK), outcomes=UNREAD if unread else ONE, mib=300)

BODIES: dict[str, bytes] = {
    "null": b"null", "a list": b"[]", "a string": b'"x"', "a number": b"1", "nothing": b"",
    "white space": b" " * 1000, "two documents": b"{}{}", "HTML": b"<html></html>",
    "UTF-16": '{"outputs":[]}'.encode("utf-16"), "UTF-8 with a mark": b"\xef\xbb\xbf{}",
    "outputs of null": b'{"outputs":null}', "outputs of numbers": b'{"outputs":[1]}',
    "outputs of null entries": b'{"outputs":[null]}',
}  # fmt: skip
for name, data in BODIES.items():
    add(f"{name} for an answer", changing(always(v2(data)), MARK), outcomes=ONE)
    add(f"{name} for metadata", changing(always(v2(data)), DISCOVERY), code=3, says="not with V2",
        slow=True)  # fmt: skip
    # Metadata that names no tensors says nothing against a model.
    code = 0 if name.startswith("outputs of ") else 4
    add(f"{name} for a model's metadata", changing(always(v2(data)), MODEL), code=code, slow=True)

# Text

for name, text in NASTY.items():
    add(f"{name} in answers", changing(said_as(text), INFER), outcomes=FAILED)
    add(f"{name} in metadata", changing(server_metadata(text), DISCOVERY))
