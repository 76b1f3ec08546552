"""A folder of vectors: one file for each kind and family, and an index. The same every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from tools import ROOT
from tools.vectors.clients import decode_response, encode_request
from tools.vectors.datatypes import elements_of_request, elements_of_scenario
from tools.vectors.made import FLAGS, Message, cited
from tools.vectors.packed_bytes import NoVectorError
from tools.vectors.servers import (
    MadeRequest,
    decode_request,
    encode_response,
    model_of,
    requests_of,
)
from v2_conformance.bounded_files import write_whole
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import catalogue, catalogue_version, families

KINDS = ("decode_request", "encode_response", "decode_response", "encode_request", "datatypes")
FOLDER = ROOT / "vectors"
INDEX = "index.json"
_SCHEMA = "https://v2-conformance.invalid/schemas/{name}.schema.json"
_WORDS = frozenset({"id", "requirement", "comment", "also", "flags", "level", "blocks"})
_ABOUT_REQUESTS = frozenset("HSCVXJ")
"""Families that are about requests alone: what is right in their answers is right in all others."""
_ABOUT_ELEMENTS = frozenset("DBK")


class VectorSet:
    """Vectors as they are made: of those with the same message that ask the same, the first stays.

    In `decode_request` a message may come once for each family: it is the point of one, and the
    plain case of another.
    """

    def __init__(self) -> None:
        self.vectors: dict[tuple[str, str], list[Message]] = {}
        self._known: dict[bytes, Message] = {}

    def add(self, *kinds: Iterable[Message]) -> None:
        """Add the vectors of one case, if it is one."""
        for vectors in kinds:
            with suppress(NoVectorError):
                for vector in vectors:
                    self._add(vector)

    def _add(self, vector: Message) -> None:
        kind, family = vector["kind"], vector["requirement"][0]
        told = {name: value for name, value in vector.items() if name not in _WORDS}
        if kind == "decode_request":
            told["family"] = family
        if kind == "datatypes":
            told = {name: told[name] for name in ("datatype", "data")} | {"f": told.get("float32")}
        key = msgspec.json.encode(told, order="sorted")
        first = self._known.setdefault(key, vector)
        if first is vector:
            self.vectors.setdefault((kind, family), []).append(vector)
        elif kind == "decode_request":
            first["flags"] = tuple(sorted({*first["flags"], *vector["flags"]}))
            first["also"] = (*first["also"], vector["id"])


def make_vectors() -> VectorSet:
    """Return the vectors of all cases."""
    made = VectorSet()
    for case in requests_of(suite_cases()):
        try:
            request = MadeRequest(case)
        except NoVectorError:
            continue
        family = case.requirement[0]
        made.add(
            decode_request(request),
            encode_response(request) if family not in _ABOUT_REQUESTS else (),
            elements_of_request(request) if family in _ABOUT_ELEMENTS else (),
        )
    for other in client_cases():
        if isinstance(other, ClientCase):
            made.add(decode_response(other), encode_request(other), elements_of_scenario(other))
    return made


def files_of(made: VectorSet) -> Mapping[str, bytes]:
    """Return the files of a folder by their paths, which are the same for the same vectors."""
    files: dict[str, bytes] = {}
    listed = []
    for kind in KINDS:
        for family in families():
            vectors = made.vectors.get((kind, family), [])
            if vectors:
                path = f"{kind}/{family}.json"
                files[path] = _written(_file(family, vectors))
                counts = _counts(vectors)
                listed.append({"path": path, "kind": kind, "family": family, "counts": counts})
    everything = {
        kind: [v for (k, _), vectors in made.vectors.items() if k == kind for v in vectors]
        for kind in KINDS
    }
    index = {
        "schema": _SCHEMA.format(name="vectors-index"),
        "catalogue_version": catalogue_version(),
        "seed": None,
        "counts": {kind: _counts(vectors) for kind, vectors in everything.items()},
        "files": listed,
        "flags": FLAGS,
    }
    files[INDEX] = msgspec.json.format(msgspec.json.encode(index), indent=2) + b"\n"
    return files


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into `folder`, and remove those of kinds that are not there any more."""
    for kind in KINDS:
        for path in folder.glob(f"{kind}/*.json"):
            if f"{kind}/{path.name}" not in files:
                path.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (content,))


def _file(family: str, vectors: list[Message]) -> Message:
    about = {vector["requirement"] for vector in vectors}
    used = {v["model"] for v in vectors if "model" in v}
    known = dict(map(model_of, contract()))
    plain = [
        {name: value for name, value in v.items() if value or name not in ("flags", "also")}
        for v in vectors
    ]
    models = {name: known[name] for name in sorted(used)}
    return {
        "schema": _SCHEMA.format(name="vectors"),
        "catalogue_version": catalogue_version(),
        "family": family,
        "about": families()[family],
        "requirements": {name: cited(name) for name in catalogue() if name in about},
        "models": models,
        "vectors": plain,
    }


def _written(file: Message) -> bytes:
    """Return a file with each requirement, model and vector on a line of its own."""
    members = []
    for name, value in file.items():
        text = _line(value)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(map(_line, value)) + "\n]"
        if isinstance(value, dict):
            text = "{\n" + ",\n".join(f"{_line(k)}: {_line(v)}" for k, v in value.items()) + "\n}"
        members.append(f"{_line(name)}: {text}")
    return ("{" + ",\n".join(members) + "}\n").encode()


def _line(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _counts(vectors: Iterable[Message]) -> dict[str, int]:
    by = Counter(vector["result"] for vector in vectors)
    return {"vectors": by.total(), **{name: by[name] for name in ("valid", "invalid", "either")}}
