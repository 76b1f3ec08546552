"""The sentences on what a response breaks: one example of every finding, in full."""

from __future__ import annotations

from typing import get_args

import pytest

from v2_conformance.suite import findings as found
from v2_conformance.suite import transport_findings
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.findings import FirstDifference
from v2_conformance.suite.wording import describe

LENGTH = "Inference-Header-Content-Length"
NUMBER = FirstDifference("OUTPUT0", "INT32", 1, 5, 125, "02000000", "02010000", "2", "258")
TEXT = FirstDifference("OUTPUT0", "BYTES", 1, 11, None, "64", "58", "2 bytes, b'cd'", "…")
REFUSED = found.WrongStatus("200", 503, "")
LOST = found.HeaderLengthMissing()

SENTENCES: list[tuple[Cause, str]] = [
    (found.WrongStatus("200", 500, "no"), "expected status 200, got 500: no"),
    (REFUSED, "expected status 200, got 503: (empty body)"),
    (
        found.AcceptedInvalidRequest(200, "{}"),
        "expected an error status, but the server accepted the request with 200: {}",
    ),
    (
        found.InvalidErrorBody(400, "not JSON at byte 0", "oops"),
        'rejected with status 400, but the body is not {"error": string}: not JSON at byte 0: oops',
    ),
    (
        found.RepeatedMember("id"),
        "an object of the response's JSON has the member 'id' more than once",
    ),
    (
        found.MixedForms(("OUTPUT0",), ("OUTPUT1", "OUTPUT2")),
        "expected all outputs in the same form, since they were requested alike, got 'OUTPUT0' in "
        "binary form and 'OUTPUT1', 'OUTPUT2' in json form",
    ),
    (
        found.WrongModelName("mymodel", "other"),
        "expected the model_name 'mymodel', got 'other'",
    ),
    (found.WrongModelName("mymodel", None), "expected the model_name 'mymodel', got none"),
    (
        transport_findings.LengthRequired("no"),
        "answered with 411: a server may ask for a Content-Length, and the case sends its body in "
        "chunks: no",
    ),
    (
        transport_findings.VariationDeclined("http-1.0", 505, "no"),
        "answered with 505: a server may refuse a request in the variation http-1.0: no",
    ),
    (
        transport_findings.ChunksToOldClient(),
        "the response is in chunks, but a client of HTTP/1.0 cannot read them",
    ),
    (
        transport_findings.BodyNotTaken(70166, 2147483648, "Broken pipe"),
        "the server closed the connection after 70166 of the request's 2147483648 bytes, as it "
        "may: a server may limit the size of bodies (Broken pipe)",
    ),
    (
        transport_findings.BodyTooLarge(70166, 65536, ""),
        "answered with 413: a server may limit the size of bodies, and the case sends 70166 bytes, "
        "more than 65536: (empty body)",
    ),
    (
        transport_findings.ConnectionRefused("Connection refused"),
        "no connection: Connection refused",
    ),
    (
        transport_findings.TimedOut(20.04, 1, "no complete response in time"),
        "no complete response in time (20.0 s, 1 byte received)",
    ),
    (
        transport_findings.ConnectionClosed(17, "the server closed the connection"),
        "the connection ended without a complete response after 17 bytes (the server closed the "
        "connection)",
    ),
    (transport_findings.NotHttp("no status line"), "the response is not HTTP: no status line"),
    (transport_findings.ResponseTooLarge("its head"), "the response is too large: its head"),
    (
        transport_findings.ContentLengthTooLong(129, "9999"),
        "the message is complete after 129 bytes of body, but Content-Length promises 9999",
    ),
    (transport_findings.BytesAfterResponse(1), "1 byte followed the end of the response"),
    (transport_findings.BytesAfterResponse(2), "2 bytes followed the end of the response"),
    (
        transport_findings.NoContentLength("chunked"),
        "no Content-Length: the response is delimited by chunked",
    ),
    (
        found.UndeclaredCoding("gzip"),
        "the body seems to be in gzip, but no Content-Encoding says so",
    ),
    (
        found.UnrequestedCoding(("br", "x"), ("deflate", "gzip")),
        "Content-Encoding is 'br, x', but the request allows deflate or gzip",
    ),
    (
        found.UnrequestedCoding(("gzip",), ()),
        "Content-Encoding is 'gzip', but the request asked for no coding",
    ),
    (
        found.BrokenCoding("gzip", "it ends early"),
        "Content-Encoding is gzip, but the body is not: it ends early",
    ),
    (
        found.NotEncoded(),
        "a server need not encode a response, and this one came without a coding",
    ),
    (
        found.RepeatedHeaderLength(("117", "118")),
        f"the message has {LENGTH} 2 times: '117', '118'",
    ),
    (found.InvalidHeaderLength("0x10"), f"{LENGTH} is '0x10', not a decimal number"),
    (
        found.HeaderLengthPastBody(130, 129),
        f"{LENGTH} is 130, but the whole body has 129 bytes: the JSON cannot be longer than the "
        "body",
    ),
    (LOST, f"the response has no {LENGTH} header"),
    (
        found.HeaderLengthUnexpected("117"),
        f"{LENGTH} is '117', but no blob follows the JSON",
    ),
    (
        found.BodyNotJson(129, "not JSON at byte 117"),
        f"without {LENGTH} the whole body (129 bytes) must be JSON, but it is not: not JSON at "
        "byte 117",
    ),
    (
        found.HeaderLengthNotJson(116, "not JSON at byte 116", 117),
        f"{LENGTH} says that the JSON is the first 116 bytes, but they are not exactly one JSON "
        "object: not JSON at byte 116 (an object ends after 117 bytes)",
    ),
    (
        found.HeaderLengthNotJson(1, "not JSON at byte 0", None),
        f"{LENGTH} says that the JSON is the first 1 byte, but they are not exactly one JSON "
        "object: not JSON at byte 0",
    ),
    (
        found.SchemaViolation("response", "$.outputs[0]", "3 is not of type 'object'"),
        "the JSON breaks the response schema at $.outputs[0]: 3 is not of type 'object'",
    ),
    (
        found.LeftoverBytes(117, 12, 130),
        "1 byte left over: JSON 117 + sizes 12 = 129, but the body has 130",
    ),
    (found.TooManyDimensions("OUTPUT0", 5000), "OUTPUT0 has a shape of 5000 dimensions"),
    (found.DataAndSize("OUTPUT0"), "OUTPUT0 has both `data` and `binary_data_size`"),
    (found.NoDataNoSize("OUTPUT0"), "OUTPUT0 has neither `data` nor `binary_data_size`"),
    (
        found.BlobPastBody("OUTPUT0", 12, 117, 128),
        "OUTPUT0 declares 12 bytes from byte 117, but the body ends after 128 bytes",
    ),
    (
        found.InvalidTensor("OUTPUT0", "INT32", "[3]", "element 2 is 3.5, not an integer"),
        "OUTPUT0 INT32 [3]: element 2 is 3.5, not an integer",
    ),
    (found.MissingOutput("OUTPUT0", ("A", "B")), "expected OUTPUT0, got 'A', 'B'"),
    (found.MissingOutput("OUTPUT0", ()), "expected OUTPUT0, got none"),
    (
        found.UnrequestedOutputs(("X",)),
        "the response has outputs that were not requested: 'X'",
    ),
    (
        found.WrongForm("OUTPUT0", "binary", "json"),
        "OUTPUT0: expected binary form, got json form",
    ),
    (
        found.WrongDatatype("OUTPUT0", "INT32", "UINT32"),
        "OUTPUT0: expected datatype INT32, got UINT32",
    ),
    (
        found.WrongShape("OUTPUT0", (3,), (3, 1)),
        "OUTPUT0: expected shape [3], got [3, 1]",
    ),
    (
        found.WrongElementCount("OUTPUT0", 1, 3),
        "OUTPUT0 BYTES: expected 1 element, got 3",
    ),
    (
        found.WrongValue(NUMBER, 3, 2),
        "OUTPUT0 INT32: element 1 of 3 (byte 5 of its blob, byte 125 of the body): expected "
        "02000000 (2), got 02010000 (258), bytes in wire order; 2 elements differ",
    ),
    (
        found.WrongBytesElement(TEXT, 2, None, 1, 2, 17, "64", "58" * 16 + "…"),
        "OUTPUT0 BYTES: element 1 of 2: expected 2 bytes, got 17; from its byte 1: expected 64, "
        "got 58585858585858585858585858585858…",
    ),
    (
        found.WrongContentType("application/json", "text/html"),
        "expected Content-Type application/json, got 'text/html'",
    ),
    (
        found.WrongContentType("application/json", None),
        "expected Content-Type application/json, got none",
    ),
    (found.WrongId("'x'", "None"), "expected the id 'x', got None"),
    (
        found.MetadataNotJson("not JSON at byte 0"),
        "the server metadata is not JSON: not JSON at byte 0",
    ),
    (
        found.ExtensionNotListed(()),
        "expected 'binary_tensor_data' in `extensions`, got none",
    ),
    (
        transport_findings.StreamReset(2, 1),
        "the server reset the stream with INTERNAL_ERROR (0x2), without a complete response, after "
        "1 byte",
    ),
    (
        transport_findings.GoneAway(99, 0),
        "the server ended the connection with GOAWAY, 0x63, without a complete response, after "
        "0 bytes",
    ),
]


@pytest.mark.parametrize(
    ("cause", "words"), SENTENCES, ids=lambda value: getattr(value, "kind", "")
)
def test_a_finding_in_words(cause: Cause, words: str) -> None:
    assert describe(cause) == words


def test_every_finding_has_its_example_here() -> None:
    modules = (found.__name__, transport_findings.__name__)
    of_responses = {cls for cls in get_args(Cause) if cls.__module__ in modules}
    assert {type(cause) for cause, _ in SENTENCES} == of_responses
