# ruff: noqa: E501
"""Faults of vectors/runners/python/codec.py: text that is there once, and what replaces it.

A vector of its requirement must notice each.
"""

FAULTS = (
    ("H1", "    length = int(text)", '    length = int(text.lstrip("0") or "0") & 0xFF'),
    ("H2", "if key.lower() == name.lower()]", "if key == name]"),
    ("P2", "body[length:]\n", "body[length + 1:]\n"),
    (
        "P10",
        "length = int(text)\n",
        'length = int(text); length = len(body[:length].decode("utf-8", "replace"))\n',
    ),
    (
        "P11",
        "bytes(text).decode(),",
        'bytes(text).decode() if bytes(text).startswith(b"{\\"") else "",',
    ),
    ("P3", "        fields.append((HEADER_LENGTH, str(len(text))))", "        pass"),
    (
        "P5",
        "fields.append((HEADER_LENGTH, str(len(text))))",
        "fields.append((HEADER_LENGTH, str(len(text) + 1)))",
    ),
    (
        "P8",
        'return fields, text + b"".join(blobs)',
        'return fields, text + b"".join(blobs) + b"\\0" * bool(blobs)',
    ),
    ("S1", "return blob, at + size", "return blob, at + (size + 3) // 4 * 4"),
    (
        "S2",
        "    check_blob(datatype, shape, blob)\n    return blob, at + size",
        "    return blob, at + size",
    ),
    (
        "S8",
        "need(len(blob) == prod(shape) * np.dtype(NUMPY[datatype]).itemsize",
        "need(len(blob) == prod(shape) * np.dtype(NUMPY[datatype]).itemsize % 2**64",
    ),
    (
        "S12",
        "    check_blob(datatype, shape, blob)\n    return blob, at + size",
        "    if blob: check_blob(datatype, shape, blob)\n    return blob, at + size",
    ),
    ("D1", '"INT32": "<i4"', '"INT32": ">i4"'),
    ("D2", '"UINT64": "<u8"', '"UINT64": "<f8"'),
    ("D5", '"FP64": "<f8"', '"FP64": "<f4"'),
    ("D8", '"FP16": "<f2"', '"FP16": "<f4"'),
    (
        "D9",
        '    return (array.astype("<u4") << 16).view("<f4") if',
        '    return array.view("<f2") if',
    ),
    (
        "D11",
        "return np.array([int(value) for value in values], NUMPY[datatype]).tobytes()",
        "return np.array([int(value) for value in values], NUMPY[datatype])[::-1].tobytes()",
    ),
    (
        "D15",
        "np.array([int(value) for value in values]",
        "np.array([int(float(value)) for value in values]",
    ),
    ("K15", "    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16", "    rounded = bits >> 16"),
    ("K15", "(bits + 0x7FFF + ((bits >> 16) & 1)) >> 16", "(bits + 0x8000) >> 16"),
    ("B1", 'struct.unpack_from("<I", blob, at)', 'struct.unpack_from(">I", blob, at)'),
    (
        "B3",
        "        elements.append(blob[at : at + length])",
        "        elements.extend([blob[at : at + length]] if length else [])",
    ),
    ("B4", "[element.decode() for element", '[element.decode("latin-1") for element'),
    (
        "B5",
        "encode_bytes([value.encode() for value in values])",
        'encode_bytes([value.encode("utf-16-le") for value in values])',
    ),
    ("B6", '        need(at + length <= len(blob), "an element ends past its blob")\n', ""),
    (
        "B7",
        'need(at + length <= len(blob), "an element ends past its blob")',
        "length = length if length < 2**31 else 0",
    ),
    ("B9", '    need(len(elements) == count, "wrong number of elements")\n', ""),
    ("B11", "[element.decode() for element", '[element.rstrip(b"\\0").decode() for element'),
    ("M1", "return blob, at + size", "return blob, at"),
    (
        "M2",
        'for entry in member(document, "inputs", list, "`inputs` is not an array"):',
        'for entry in sorted(member(document, "inputs", list, ""), key=lambda e: str(e["name"]) if isinstance(e, dict) else ""):',
    ),
    ("O1", "return default if value is None else value", "return default"),
    ("O2", "return default if value is None else value", "return True"),
    (
        "O4",
        'default = flag(document, "binary_data_output", False)\n    listed',
        'default = flag(document, "binary_data_output", True)\n    listed',
    ),
    (
        "O5",
        'default = flag(document, "binary_data_output", False)\n    listed',
        "default = False\n    listed",
    ),
    ("O7", "return default if value is None else value", "return default or bool(value)"),
    (
        "O12",
        'return fields, text + b"".join(blobs)',
        'return fields, text + b"".join(reversed(blobs))',
    ),
    (
        "O13",
        "        outputs = wanted(model, asked)",
        '        outputs = wanted(model, {**asked, "outputs": []})',
    ),
    (
        "O18",
        '        document["id"] = asked["id"]\n    if asked.get("raw")',
        '        document["id"] = asked["id"][:2]\n    if asked.get("raw")',
    ),
    ("E2", "if binary:\n", "if binary and blob:\n"),
    ("W1", "(body[:length] if length else None)", "body[:length]"),
    ("W3", "        shape[at] = len(body) // each", "        shape[at] = len(body)"),
    ("W4", "        shape[0] = 1", "        pass"),
    (
        "W5",
        '    need(len(model["inputs"]) == 1, "a raw request has one input")\n    (spec,) = model["inputs"]',
        '    spec = model["inputs"][0]',
    ),
    (
        "W6",
        '        need(shape.count(-1) == 1, "more than one variable dimension")\n',
        "        shape = [1 if n == -1 and i != at else n for i, n in enumerate(shape)]; each = abs(each)\n",
    ),
    (
        "W9",
        '        need(each and len(body) % each == 0, "not a whole number of elements")\n',
        "        body = body[: len(body) // each * each]\n",
    ),
    (
        "Z1",
        "                body = gzip.decompress(body)",
        "                body = gzip.decompress(body)[:-1]",
    ),
    ("Z1", 'if coding in ("gzip", "x-gzip")', 'if coding in ("x-gzip",)'),
    ("J1", '    need(len(data) == prod(shape), "wrong number of elements")\n', ""),
    ("J5", 'need(type(size) is int and 0 <= size < 2**63, "a dimension is not a size")', "pass"),
    ("J6", '    need(len(inputs) == len(specs), "an input is missing")\n', ""),
    ("K1", "str(len(text))", "str(len(text.decode()))"),
    (
        "K3",
        "        outputs[name] = (datatype, shape, blob)",
        '        outputs[list(NUMPY)[0] if False else f"OUTPUT{len(outputs)}"] = (datatype, shape, blob)',
    ),
    ("K4", "if key.lower() == name.lower()]", "if key in (name, name.lower())]"),
    (
        "K10",
        "np.ascontiguousarray(array).astype(NUMPY[datatype]).tobytes()",
        'array.astype(NUMPY[datatype], order="K").T.tobytes()',
    ),
    (
        "K10",
        "np.ascontiguousarray(array).astype(NUMPY[datatype]).tobytes()",
        "np.ascontiguousarray(array).tobytes()",
    ),
    ("K12", "[element.decode() for element", '[element.decode("ascii", "ignore") for element'),
    ("K16", 'if asked.get("outputs"):', "if False:"),
    (
        "K21",
        '            elif coding == "deflate":',
        '            elif coding == "zlib":',
    ),
    (
        "K25",
        "    check_blob(datatype, shape, blob)\n    return blob, at + size",
        "    return blob, at + size",
    ),
    ("K27", "if not 200 <= status < 300:", "if status == 400:"),
    (
        "K28",
        "raise Rejected(f\"status {status}: {body.decode('utf-8', 'replace')}\")",
        'raise Rejected(f"status {status}")',
    ),
)
