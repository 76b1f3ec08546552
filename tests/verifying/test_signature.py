"""Signed reports: ours are read by `ssh-keygen -Y`, its are read by us, and no other key counts."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from support.commands import Cli
from v2_conformance import bounded_files
from v2_conformance.child_processes import PASSPHRASE
from v2_conformance.cli.main import main
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.digest import document_digest
from v2_conformance.report.signatures.signing import NAMESPACE
from v2_conformance.report.signatures.sshsig import SignatureFormatError, read_signature, sign
from v2_conformance.verifying.signatures.allowed_signers import matches_list, read_allowed_signers

NAME = "vendor@example.com"


def key_file(folder: Path, name: str = "key", passphrase: str | None = None) -> Path:
    """An OpenSSH private key file, as ssh-keygen writes it, with its public key beside it."""
    key = Ed25519PrivateKey.generate()
    lock: KeySerializationEncryption = NoEncryption()
    if passphrase is not None:
        lock = BestAvailableEncryption(passphrase.encode())
    path = folder / name
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, lock))
    path.chmod(0o600)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" a comment\n")
    return path


def signers(key: Path, options: str = "", name: str = NAME) -> Path:
    """A file that allows this key."""
    path = key.with_name("allowed_signers")
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])
    path.write_text(f"# who may sign\n\n{name} {options} {public} comment\n")
    return path


@pytest.fixture
def report(clean: Path, tmp_path: Path) -> Path:
    """A copy of a report of a good server."""
    path = tmp_path / "report.json"
    shutil.copy(clean, path)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return key_file(tmp_path)


@pytest.fixture
def checked(report: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], tuple[int, str]]:
    """What `verify` says of a report with a file of allowed signers: exit code and last line."""

    def check(allowed: Path, path: Path = report) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["verify", str(path), "--allowed-signers", str(allowed)])
        out, err = capsys.readouterr()
        text = (out or err).partition("the verdict holds")[2] or out or err
        return code, " ".join(text.split())

    return check


Checked = Callable[..., tuple[int, str]]


def statement_by_hand(report: Path) -> bytes:
    """What the command in docs/reports.md prints."""
    page = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()
    (line,) = [one.strip() for one in page.splitlines() if "json.dumps({" in one]
    program = line.removeprefix("python3 -c '").partition("' < report.json")[0]
    found = subprocess.run(
        [sys.executable, "-c", program], input=report.read_bytes(), capture_output=True, check=True
    )
    return found.stdout


# Both ways


@pytest.mark.needs("ssh-keygen")
def test_anybody_can_check_our_signature_with_ssh_keygen(report: Path, key: Path) -> None:
    assert main(["sign", str(report), str(key)]) == 0
    command = ["ssh-keygen", "-Y", "verify", "-f", str(signers(key)), "-I", NAME, "-n", NAMESPACE]
    command += ["-s", str(report.with_name("report.json.sig"))]
    statement = statement_by_hand(report)
    good = subprocess.run(command, input=statement, capture_output=True, check=False)
    assert good.returncode == 0, good.stderr
    assert b"Good" in good.stdout
    bad = subprocess.run(
        command, input=statement.replace(b"sha256", b"sha257"), capture_output=True, check=False
    )
    assert bad.returncode != 0


@pytest.mark.needs("ssh-keygen")
@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_what_ssh_keygen_signs_is_read(
    report: Path, key: Path, checked: Checked, algorithm: str
) -> None:
    statement = report.with_name("report.json")
    text = report.with_name("statement")
    text.write_bytes(statement_by_hand(statement))
    subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-f", key, "-n", NAMESPACE, f"-Ohashalg={algorithm}", text],
        capture_output=True,
        check=True,
    )
    text.with_name("statement.sig").rename(report.with_name("report.json.sig"))
    code, words = checked(signers(key))
    assert code == 0
    assert f"signed by {NAME}, key SHA256:" in words


@pytest.mark.needs("ssh-keygen")
def test_a_key_that_ssh_keygen_made_signs(report: Path, tmp_path: Path, checked: Checked) -> None:
    made = tmp_path / "made"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", made], check=True)
    assert main(["sign", str(report), str(made)]) == 0
    assert checked(signers(made))[0] == 0


def test_a_run_signs_its_report_and_replaces_an_older_signature(
    tmp_path: Path, key: Path, checked: Checked, server: ReferenceServer
) -> None:
    usual = ["run", server.url, "--case", "P1", "--report-dir", str(tmp_path)]
    assert main([*usual, "--sign", str(key)]) == 0
    assert checked(signers(key), tmp_path / "report.json")[0] == 0
    assert main(usual) == 0
    assert not (tmp_path / "report.json.sig").exists()
    assert main(["run", "--fuzz", "1", "--sign", str(key)]) == 2


def test_a_packed_report_has_the_same_signature(report: Path, key: Path, checked: Checked) -> None:
    packed = report.with_name("report.json.gz")
    packed.write_bytes(gzip.compress(report.read_bytes()))
    assert main(["sign", str(packed), str(key)]) == 0
    assert report.with_name("report.json.sig").exists()
    assert checked(signers(key), packed)[0] == 0
    assert checked(signers(key))[0] == 0


# Keys


def test_a_key_with_a_passphrase_is_read_with_the_variable(
    report: Path, tmp_path: Path, checked: Checked, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    locked = key_file(tmp_path, passphrase="open sesame")
    sign_it = ["sign", str(report), str(locked)]
    assert "has a passphrase" in cli(*sign_it, code=2).err
    monkeypatch.setenv(PASSPHRASE, "wrong")
    assert cli(*sign_it, code=2).err.count("\n") == 1
    assert not report.with_name("report.json.sig").exists()
    monkeypatch.setenv(PASSPHRASE, "open sesame")
    assert main(sign_it) == 0
    assert checked(signers(locked))[0] == 0


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda path: None, "cannot read"),
        (lambda path: path.mkdir(), "cannot read"),
        (lambda path: path.write_text("ssh-ed25519 AAAA x"), "is a public key"),
        (lambda path: path.write_text("hello"), "is not an OpenSSH private key"),
        (lambda path: path.write_bytes(b"\xff" * 100_000), "it has more than 64 KiB"),
        (lambda path: path.write_bytes(b"\xff" * 10_000), "is not an OpenSSH private key"),
        (
            lambda path: path.write_text(
                "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
            ),
            "cannot read",
        ),
        (
            lambda path: path.write_bytes(
                generate_private_key(SECP256R1()).private_bytes(
                    Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
                )
            ),
            "is not an Ed25519 key",
        ),
    ],
)
def test_what_is_no_key_for_it_is_one_line(
    report: Path, tmp_path: Path, cli: Cli, write: Callable[[Path], object], words: str
) -> None:
    path = tmp_path / "other"
    write(path)
    err = cli("sign", report, path, code=2).err
    assert words in err
    assert err.count("\n") == 1
    assert main(["run", "--sign", str(path), "--report-dir", str(tmp_path)]) == 2  # before it runs


def test_only_an_untouched_report_is_signed(report: Path, key: Path, clean: Path, cli: Cli) -> None:
    document = json.loads(report.read_text())
    document["duration_s"] += 1
    report.write_text(json.dumps(document))
    assert "was edited" in cli("sign", report, key, code=2).err
    assert "is the record of a run" in cli("sign", clean.with_name("report.jsonl"), key, code=2).err


# Who signed


def test_a_report_without_a_signature_is_not_confirmed(key: Path, checked: Checked) -> None:
    code, words = checked(signers(key))
    assert code == 2
    assert "not signed: there is no report.json.sig" in words


def test_a_pipe_in_the_place_of_a_signature_or_of_signers_is_not_waited_for(
    report: Path, key: Path, checked: Checked, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_files, "_PATIENCE_S", 0.1)
    os.mkfifo(report.with_name("report.json.sig"))
    code, words = checked(signers(key))
    assert code == 2
    assert "not signed: cannot read" in words
    os.mkfifo(report.with_name("signers"))
    printed = cli("verify", report, "--allowed-signers", report.with_name("signers"))
    assert printed.code == 2
    assert "nothing more came out of it" in printed.line


@pytest.mark.parametrize("reseal", [False, True])
def test_a_report_that_was_changed_has_a_wrong_signature(
    report: Path, key: Path, checked: Checked, reseal: bool
) -> None:
    assert main(["sign", str(report), str(key)]) == 0
    document = json.loads(report.read_text())
    document["started"] = "2031-01-02T03:04:05+00:00"  # which nothing else shows
    if reseal:
        document["integrity"]["digest"] = document_digest(document)
    report.write_text(json.dumps(document))
    code, words = checked(signers(key))
    assert code == 1
    assert "wrong signature" in words


def test_a_signature_of_another_report_or_of_nothing_is_wrong(
    report: Path, key: Path, checked: Checked
) -> None:
    allowed = signers(key)
    assert main(["sign", str(report), str(key)]) == 0
    beside = report.with_name("report.json.sig")
    good = beside.read_text()
    ours = read_signature(good.encode())
    body = base64.b64decode("".join(good.splitlines()[1:-1]))
    for blob in (body[:-1], body + b"x", body[:40], b"SSHSIG", b"", b"X" + body, body[:20] * 9):
        text = base64.b64encode(blob).decode()
        beside.write_text(f"-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n")
        code, words = checked(allowed)
        assert code == 1, blob
        assert "wrong signature" in words
    flipped = body[:-1] + bytes([body[-1] ^ 1])
    text = base64.b64encode(flipped).decode()
    beside.write_text(f"-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n")
    code, words = checked(allowed)
    assert (code, "did not sign the report as it is" in words) == (1, True)
    assert ours.key_type == "ssh-ed25519"
    for garbage in (b"", b"\0" * 99, good.encode().replace(b"BEGIN", b"BEGUN"), b"\xff" * 70_000):
        with pytest.raises(SignatureFormatError):
            read_signature(garbage)


def test_a_signature_for_something_else_is_none_of_a_report(
    report: Path, tmp_path: Path, checked: Checked
) -> None:
    key = Ed25519PrivateKey.generate()
    path = tmp_path / "k"
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public)
    report.with_name("report.json.sig").write_bytes(sign(statement_by_hand(report), key, "git"))
    code, words = checked(signers(path))
    assert code == 1
    assert "it is for git, not for v2-conformance" in words


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("", 0, "signed by"),
        ('namespaces="v2-conformance"', 0, "signed by"),
        ('namespaces="git,v2-*"', 0, "signed by"),
        ('Namespaces="git"', 2, "may not sign in the namespace v2-conformance"),
        ('namespaces="*,!v2-conformance"', 2, "may not sign in the namespace"),
        ('valid-after="20200101",valid-before="29991231Z"', 0, "signed by"),
        ('valid-after="29990101"', 2, "is not valid before 29"),
        ("valid-before=20200101000000Z", 2, "has not been valid since 2020-01-01 00:00:00+00:00"),
        ("cert-authority", 2, "certificate authorities (cert-authority) are not supported"),
        ("no-such-option", 2, "allowed_signers:3: unknown option 'no-such-option'"),
        ('valid-after="soon"', 2, "allowed_signers:3: expected a time such as 20301231"),
        ('valid-after="20201399"', 2, "allowed_signers:3: "),
    ],
)
def test_the_options_of_an_allowed_signer_count(
    report: Path, key: Path, checked: Checked, options: str, code: int, words: str
) -> None:
    assert main(["sign", str(report), str(key)]) == 0
    found, text = checked(signers(key, options))
    assert found == code
    assert words in text


def test_a_signer_whom_nobody_allows_is_named_by_the_key(
    report: Path, tmp_path: Path, key: Path, checked: Checked
) -> None:
    assert main(["sign", str(report), str(key)]) == 0
    other = key_file(tmp_path, "other")
    code, words = checked(signers(other))
    assert code == 2
    assert "unknown signer: the allowed signers do not have key SHA256:" in words
    both = signers(other).read_text() + signers(key, 'valid-before="20200101"').read_text()
    (tmp_path / "both").write_text(both + signers(key, name='"a@b,c@d"').read_text())
    code, words = checked(tmp_path / "both")  # one line that allows it is enough
    assert code == 0
    assert "signed by a@b,c@d" in words


def test_a_good_signature_does_not_make_a_forgery_hold(
    report: Path, key: Path, checked: Checked
) -> None:
    document = json.loads(report.read_text())
    document["verdict"].update(conformant=True)
    document["integrity"]["digest"] = document_digest(document)
    report.write_text(json.dumps(document))
    assert main(["sign", str(report), str(key)]) == 0
    code, words = checked(signers(key))
    assert code == 1
    assert "EDITED" in words


@pytest.mark.parametrize(
    "text", ["a@b", "a@b ssh-ed25519", "a@b ssh-ed25519 ***", "a@b x y z", "ssh-ed25519 AAAA"]
)
def test_a_file_of_allowed_signers_that_is_none_is_one_line(
    report: Path, tmp_path: Path, text: str, cli: Cli
) -> None:
    path = tmp_path / "allowed"
    path.write_text(text)
    for given in (path, tmp_path / "absent", tmp_path):
        ended = cli("verify", report, "--allowed-signers", given, code=2)
        assert (ended.out, ended.err.count("\n")) == ("", 1)


def test_times_without_a_zone_are_local(tmp_path: Path, key: Path) -> None:
    (line,) = read_allowed_signers(signers(key, 'valid-after="202001020304"'))
    assert line.after == datetime(2020, 1, 2, 3, 4).astimezone()
    (line,) = read_allowed_signers(signers(key, 'valid-after="20200102030405Z"'))
    assert line.after == datetime(2020, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def test_patterns_match_as_openssh_says() -> None:
    assert matches_list("v2-conformance", "git,v?-*")
    assert not matches_list("v2-conformance", "git,v2")
    assert not matches_list("v2-conformance", "*,!v2-*")
    assert not matches_list("v2-conformance", "[v]2-conformance")
    assert not matches_list("x" * 5000, "*a" * 100)
