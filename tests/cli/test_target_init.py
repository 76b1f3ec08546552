"""`target init`: a target file from what a server says of itself, whatever that is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.commands import Cli
from support.responses import http
from support.servers import Script, Start, always, serving
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.targets.making import load_target, make_target

ROOT = Path(__file__).parents[2]
METADATA = {"name": "srv", "version": "1", "extensions": []}


def written(cli: Cli, output: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """The target file, and what was printed in one line."""
    ended = cli("target", "init", *arguments, "--output", output, code=code)
    return output.read_text(encoding="utf-8") if output.exists() else "", ended.said


class Renames(Behavior):
    """Calls its models otherwise, and says so in its index."""

    def repository_index(self, request: Request) -> Response:
        return self.json_response(
            [{"name": f"my-{name}", "state": "READY"} for name in self.models]
        )

    def handle(self, request: Request) -> Response:
        plain = request.target.replace("/v2/models/my-", "/v2/models/")
        if "/v2/models/" in request.target and plain == request.target:
            return self.error(404, "no such model")
        object.__setattr__(request, "target", plain)
        return super().handle(request)


def test_models_with_other_names_are_found_by_what_they_do(
    start: Start, tmp_path: Path, cli: Cli
) -> None:
    server = start(Renames)
    path = tmp_path / "target.yaml"
    text, printed = written(cli, path, server.url)
    target = load_target(path)
    assert target.url == server.url
    assert target.binding("identity/INT32").model == "my-identity_int32"
    assert target.binding("mixed").model == "my-mixed"
    assert target.binding("raw/two_outputs").model == "my-raw_two_outputs"
    found = discover(make_target(target_file=path, profiles=("raw", "bf16")))
    assert set(found.absent) <= {"batched", "raw/batched"}
    assert "metadata does not tell which model batches" in printed
    assert "# no model for batched: " in text


def test_a_model_that_the_server_does_not_have_is_named_and_nothing_written(
    start: Start, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "target.yaml"
    text, said = written(cli, path, start(Renames).url, "--model", "nope", code=2)
    assert (text, said) == (
        "",
        "v2-conformance: the server has no metadata of a model 'nope': check --model",
    )


def test_a_model_that_does_not_echo_plays_no_role(start: Start, tmp_path: Path, cli: Cli) -> None:
    """Metadata alone does not tell an identity model from any other."""

    class Negates(Behavior):
        def infer(self, model: Any, request: Request) -> Response:
            if model.model == "identity_int32":
                return self.error(400, "not now")
            return super().infer(model, request)

        def server_metadata(self, request: Request) -> Response:
            name = "x\nurl: http://evil\n\x1b[31m"
            return self.json_response({"name": name, "version": "1", "extensions": []})

    path = tmp_path / "target.yaml"
    server = start(Negates)
    text, printed = written(cli, path, server.url)
    assert load_target(path).url == server.url
    assert "\nurl: http://evil" not in text
    assert "\x1b" not in text + printed
    assert "identity/INT32" not in load_target(path).models
    assert (
        "not found: identity/INT32: identity_int32 has such tensors, but did not answer as the "
        "role's model must"
    ) in printed


def v2(models: dict[str, object], index: object = None) -> Script:
    """A server that has this metadata, lists this index, and answers no inference."""

    def answer(request: bytes) -> bytes:
        path = request.split(b" ")[1].decode()
        name = path.removeprefix("/v2/models/")
        known: dict[str, object] = {"/v2": METADATA, "/v2/models": index}
        body = known.get(path, models.get(name))
        return http(json.dumps(body).encode()) if body is not None else http(b"{}", 404)

    return always(answer)


@pytest.mark.parametrize(
    "index",
    [
        None,
        {"models": [None, 1, {}, {"name": 5}, "", "x" * 500, "../../etc", "\ud800", "a\n# b: c"]},
        {"models": ["m"] * 10_000},
        [[[[]]]],
    ],
)
def test_whatever_a_server_lists_ends_in_a_file_that_can_be_read(
    index: object, tmp_path: Path, cli: Cli
) -> None:
    hostile = {
        "m": {"inputs": [{"name": "a: [\n# }", "datatype": "INT32", "shape": [10**400, "x"]}]},
        "a%0A%23%20b%3A%20c": {"inputs": 5, "outputs": [None]},
        "identity_int32": [],
    }
    path = tmp_path / "target.yaml"
    with serving(v2(hostile, index)) as server:
        _, printed = written(cli, path, server.url)
    assert load_target(path).models == {}
    assert "models for 0 of 32 roles" in printed
    assert "not found: " not in printed
    assert f"run --target {path} --model NAME" in printed


def test_how_to_get_in_is_written_but_no_secret(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    seen = []

    class Guarded(Behavior):
        def handle(self, request: Request) -> Response:
            seen.extend(request.values("authorization"))
            return super().handle(request)

        def server_metadata(self, request: Request) -> Response:
            name = "s " + seen[-1]
            return self.json_response({"name": name, "version": "1", "extensions": []})

    monkeypatch.setenv("MY_TOKEN", "Zk9-pQ7w_vX2-token")
    path = tmp_path / "target.yaml"
    access = ["--bearer-env", "MY_TOKEN"]
    text, printed = written(cli, path, start(Guarded).url, *access)
    assert set(seen) == {"Bearer Zk9-pQ7w_vX2-token"}
    assert "Zk9-pQ7w_vX2-token" not in text + printed
    assert "wrote this file for s *****" in text
    target = load_target(path)
    assert dict(target.address.fields)["Authorization"] == "Bearer Zk9-pQ7w_vX2-token"


def test_documented_target_files_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "a-token-of-mine")
    monkeypatch.setenv("DB_PASSWORD", "a-password-of-mine")
    (tmp_path / "key.txt").write_text("a-key-of-mine")
    text = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(url: .*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        path = tmp_path / "target.yaml"
        path.write_text(block, encoding="utf-8")
        assert load_target(path).url == yaml.safe_load(block)["url"]
