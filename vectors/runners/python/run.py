"""Run codec.py through the vectors: `python run.py [FOLDER] [REQUIREMENT …]`. Needs numpy."""

import base64
import json
import math
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import codec as default_codec
import numpy as np

FORMS = {True: "binary", False: "json"}


def data(given):
    pieces = [{"data": given, "times": 1}] if isinstance(given, str) else given
    return b"".join(base64.b64decode(piece["data"]) * piece["times"] for piece in pieces)


class Wrong(Exception):
    """Something that a message or a tensor must not be."""


def need(condition, problem):
    if not condition:
        raise Wrong(problem)


def same(expected, got):
    """Compare a tensor (datatype, shape, bytes) with that of a vector."""
    need(got is not None, f"no {expected['name']}")
    datatype, shape, blob = got
    need(datatype == expected["datatype"], f"{expected['name']}: datatype {datatype}")
    need(list(shape) == expected["shape"], f"{expected['name']}: shape {shape}")
    readings = expected.get("one_of")
    if readings:
        size = len(blob) // max(1, len(readings[0]))
        cut = [blob[n * size : n * size + size] for n in range(len(readings[0]))]
        fits = [
            all(e is None or data(e) == c for e, c in zip(r, cut, strict=True)) for r in readings
        ]
        need(any(fits), f"{expected['name']}: none of the readings")
    elif expected.get("data") is not None:
        left, right = data(expected["data"]), bytes(blob)
        if expected.get("truth"):
            left, right = (bytes(byte != 0 for byte in blob) for blob in (left, right))
        need(left == right, f"{expected['name']}: wrong data")


def equal(wanted, got):
    """Compare values of JSON: 0 is not false, and the codec reads 0.1 as a Decimal."""
    if isinstance(wanted, float) and isinstance(got, Decimal):
        got = float(got)
    return isinstance(wanted, bool) == isinstance(got, bool) and wanted == got


def compare(codec, rules, expected, form, tensor, entry):
    """Compare a tensor of a message with that of the rules."""
    need(expected.get("form", "any") in ("any", form), f"{expected['name']} is {form}")
    if rules.get("not_finite") and form == "json":
        numbers = codec.numbers_of(expected["datatype"], data(expected["data"]))
        for value, number in zip(numbers, codec.flat(entry["data"], entry["shape"]), strict=True):
            written = isinstance(number, (int, Decimal)) and math.isfinite(float(number))
            need(np.isfinite(value) or not written, "a number for what is none")
    else:
        same(expected, tensor)
    for name, value in expected.get("parameters", {}).items():
        need(equal(value, entry.get("parameters", {}).get(name)), f"no parameter {name}")


def check(codec, rules, fields, body, key):
    """Compare a message that the codec wrote with the rules of a vector."""
    text, blobs = codec.split(fields, body)
    need(text is not None, "header length 0")
    document = codec.parse(text)
    if rules.get("read_only"):
        return
    tensors, at = [], 0
    for entry in document[key]:
        size = entry.get("parameters", {}).get("binary_data_size")
        form = "json" if size is None else "binary"
        need(not (rules.get("data_or_size") and size is not None and entry.get("data")), "both")
        if size is not None:
            blob = blobs[at : at + size]
            need(len(blob) == size, "a blob ends past the body")
            codec.check_blob(entry["datatype"], entry["shape"], blob)
            at += size
        else:
            blob = (
                None
                if rules.get("not_finite")
                else codec.from_json(entry["datatype"], entry["shape"], entry["data"])
            )
        tensors.append((form, (entry["datatype"], entry["shape"], blob), entry))
    need(at == len(blobs), "bytes are left over")
    for expected in rules.get("tensors", ()):
        found = [one for one in tensors if one[2]["name"] == expected["name"]]
        need(found, f"no {expected['name']}")
        for one in found:
            compare(codec, rules, expected, *one)
    need(not rules.get("only") or len(tensors) == len(rules["tensors"]), "more tensors")
    forms = {form for form, _, _ in tensors}
    need(not rules.get("one_form") or len(forms) < 2, "mixed forms")
    kind = codec.values_of(fields, "Content-Type")[0]
    is_json = kind == "application/json" or kind.endswith("+json")
    need(rules.get("content_type") in (None, "json" if is_json else "binary"), f"typed {kind}")
    need(rules.get("id") in (None, document.get("id")), "wrong id")
    named = document.get("model_name")
    need(named is None or rules.get("model_name") in (None, named), "wrong model_name")
    need(named is not None or not rules.get("model_name_sent"), "no model_name")
    for name, value in rules.get("parameters", {}).items():
        need(equal(value, document.get("parameters", {}).get(name)), f"no parameter {name}")
    default = codec.flag(document, "binary_data_output", False)
    need(rules.get("outputs_form", "any") in ("any", FORMS[default]), "asks for another form")
    listed = {e["name"]: codec.flag(e, "binary_data", default) for e in document.get("outputs", ())}
    if "outputs" in rules:
        need(set(listed) == {one["name"] for one in rules["outputs"]}, "asks for other outputs")
        for one in rules["outputs"]:
            need(
                one.get("form", "any") in ("any", FORMS[listed[one["name"]]]),
                "asks for another form",
            )


def decode_request(codec, vector, models):
    model, body = models[vector["model"]], data(vector["body"])
    inputs, outputs, identifier = codec.decode_request(model, vector["fields"], body)
    yield
    for expected in vector.get("tensors", ()):
        same(expected, inputs.get(expected["name"]))
    for one in vector.get("outputs", ()):
        forms = [FORMS[binary] for name, binary in outputs if name == one["name"]]
        need(
            len(forms) == 1 and one.get("form", "any") in ("any", forms[0]),
            "asked for another output",
        )
    need(vector.get("request_id") in (None, identifier), "another id")


def encode_response(codec, vector, models):
    model = models[vector["model"]]
    tensors = {t["name"]: (t["datatype"], t["shape"], data(t["data"])) for t in vector["tensors"]}
    message = codec.encode_response(vector["model"], model, tensors, vector["asked"])
    yield
    check(codec, vector["accept"], *message, "outputs")


def decode_response(codec, vector, _):
    asked = [one["name"] for one in vector.get("asked", {}).get("outputs", ())]
    try:
        outputs, document = codec.decode_response(
            vector["status"], vector["fields"], data(vector["body"]), asked
        )
    except codec.Rejected as error:
        yield str(error)
        return
    yield
    for expected in vector.get("tensors", ()):
        same(expected, outputs.get(expected["name"]))
    need(len(outputs) == len(vector.get("tensors", outputs)), "other outputs")
    for name, value in vector.get("members", {}).items():
        need(equal(value, document.get(name)), f"another {name}")


def encode_request(codec, vector, _):
    tensors = []
    for one in vector["tensors"]:
        blob = data(one["data"])
        if "float32" in one:
            blob = codec.round_to_bf16(np.frombuffer(data(one["float32"]), "<f4")).tobytes()
        elif "layout" in one:
            blob = as_laid_out(codec, one, blob)
        tensor = (one["datatype"], one["shape"], blob)
        tensors.append((one["name"], tensor, one["form"] == "binary", one.get("parameters")))
    message = codec.encode_request(tensors, vector["asked"], vector.get("compression"))
    yield
    fields, body = message
    named = codec.values_of(fields, "Content-Encoding")
    need(named == [vector[n] for n in ("compression",) if n in vector], "another content coding")
    check(codec, vector["accept"], fields, codec.decoded(fields, body), "inputs")


def as_laid_out(codec, one, blob):
    """Return the bytes that the codec makes of an array in the caller's layout."""
    if codec.NUMPY[one["datatype"]] is None:
        return blob
    array = np.frombuffer(blob, codec.NUMPY[one["datatype"]]).reshape(one["shape"])
    if one["layout"] == "big-endian":
        array = array.astype(array.dtype.newbyteorder(">"))
    return codec.blob_of(one["datatype"], np.asfortranarray(array))


def datatypes(codec, vector, _):
    datatype, shape, blob = vector["datatype"], vector["shape"], data(vector["data"])
    if "float32" in vector:
        numbers = np.frombuffer(data(vector["float32"]), "<f4")
        rounded = codec.round_to_bf16(numbers).tobytes()
        need(vector.get("free") or rounded == blob, "rounded to another number")
    yield
    codec.check_blob(datatype, shape, blob)
    words = (
        codec.numbers_of(datatype, blob)
        if codec.NUMPY[datatype]
        else (codec.decode_bytes(blob, shape[0]))
    )
    need([word(datatype, one) for one in words] == vector["values"], "other values")
    if "json" in vector:
        read = codec.parse(b'{"data":%s}' % vector["json"].encode())["data"]
        need(codec.from_json(datatype, shape, read) == blob, "read from JSON as other bytes")
        text = json.dumps(codec.to_json(datatype, shape, blob), ensure_ascii=False)
        again = codec.parse(b'{"data":%s}' % text.encode())["data"]
        need(codec.from_json(datatype, shape, again) == blob, "written as another number")
    else:
        try:
            codec.to_json(datatype, shape, blob)
        except codec.Rejected:
            return
        need(False, "written as JSON, which has no form for it")


def word(datatype, value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if datatype in ("FP16", "BF16", "FP32", "FP64"):
        return float(value).hex()
    return str(bool(value)).lower() if datatype == "BOOL" else str(int(value))


KINDS = (decode_request, encode_response, decode_response, encode_request, datatypes)


def judge(codec, vector, models):
    """Return FAIL or WARN, and what is wrong with the codec's work on a vector; None if nothing."""
    kind = next(one for one in KINDS if one.__name__ == vector["kind"])
    steps = kind(codec, vector, models)
    try:
        reported = next(steps)
        rejected = reported is not None
    except codec.Rejected as error:
        rejected, reported = True, str(error)
    except Exception as error:
        return "FAIL", f"{type(error).__name__}: {error}"
    if rejected:
        if vector["result"] == "valid":
            return "FAIL", f"rejected: {reported}"
        if vector.get("says") and vector["says"] not in reported:
            return "FAIL", f"the error lacks the server's words: {reported}"
        return ("WARN", f"rejected: {reported}") if vector.get("should") == "accept" else None
    if vector["result"] == "invalid":
        return "FAIL", "accepted"
    try:
        next(steps, None)
    except (Wrong, codec.Rejected) as error:
        return "WARN" if vector.get("free") else "FAIL", str(error)
    except Exception as error:
        return "FAIL", f"{type(error).__name__}: {error}"
    return ("WARN", "accepted") if vector.get("should") == "reject" else None


def vectors(folder, requirements=()):
    """Yield each vector with the models of its file."""
    for one in json.loads((folder / "index.json").read_text())["files"]:
        if requirements and one["family"] not in {name[0] for name in requirements}:
            continue
        file = json.loads((folder / one["path"]).read_text(encoding="utf-8"))
        for vector in file["vectors"]:
            if not requirements or vector["requirement"] in requirements:
                yield vector, file.get("models", {})


def main(folder, requirements):
    counts = Counter()
    for vector, models in vectors(folder, requirements):
        grade, words = judge(default_codec, vector, models) or ("PASS", "")
        counts[grade] += 1
        if words:
            print(f"{grade} {vector['kind']} {vector['id']}: {words}")
    passed, failed = counts["PASS"] + counts["WARN"], counts["FAIL"]
    print(f"{passed} passed, {failed} failed, {counts['WARN']} warnings")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[2]
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else here, sys.argv[2:]))
